import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import {
  createNamed,
  deleteNamed,
  editNamed,
  getNamed,
  listKnown,
  listKnownCharts,
  listNamed,
  listNamedCharts,
  listNamedVersions,
} from '../../plugins/packages/repositories/chart-repositories.routes.ts'
import type { Client } from '../../plugins/kit/client.ts'
import { makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { minimalChart } from '../support/charts/archive.ts'
import { startRepository, type RepositoryServer } from '../support/charts/repository-server.ts'
import { reply, startServer } from '../support/charts/https-server.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { startService, type TestService } from '../support/service.ts'

const password = 'canary-repository-password'
const authorization = `Basic ${Buffer.from(`reader:${password}`).toString('base64')}`

let service: TestService
let database: SqlDatabase
let repository: RepositoryServer
let url: string
let ann: Person
let bob: Person
let viewer: Person
let org: string
/** The typed clients of these people. */
let annCalls: Client
let bobCalls: Client
let viewerCalls: Client

test.before(async () => {
  const bytes = await minimalChart()
  repository = await startRepository(
    [
      { name: 'web', version: '1.0.0', bytes },
      { name: 'web', version: '1.1.0', bytes },
      { name: 'db', version: '2.0.0', bytes },
    ],
    { authorization },
  )
  url = `${repository.url}/stable`
  const databaseUrl = `sqlite:${await migratedSqlitePath()}`
  service = await startService({
    settings: { MOORAGE_DATABASE_URL: databaseUrl, MOORAGE_EGRESS_ALLOW: 'localhost', MOORAGE_LOG_LEVEL: 'trace' },
  })
  database = await openPatiently(databaseUrl)
  const people = makePeople(service)
  ;[ann, bob, viewer] = [await people.person('ann'), await people.person('bob'), await people.person('viewer')]
  ;[annCalls, bobCalls, viewerCalls] = [clientAs(service, ann), clientAs(service, bob), clientAs(service, viewer)]
  org = await people.organization(ann)
  await people.teamWithRole(ann, org, [viewer], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
})
test.after.always(async () => {
  await Promise.all([service.stop(), repository.close()])
  await database.close()
})

const as = (
  person: Person,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
) => service.send(method, `/api/v1${path}`, { token: person.token, headers, ...(body === undefined ? {} : { body }) })
const own = (account: string, name = ''): string => `/orgs/${account}/chartrepositories${name === '' ? '' : `/${name}`}`
const credentials = () => ({ username: 'reader', password, ca: repository.authorityPem })
const create = (name: string, more: object = {}) =>
  annCalls.call(createNamed, { params: { orgname: org }, body: { name, url, ...credentials(), ...more } })
const at = (repository: string) => ({ orgname: org, repository })

test('a repository is named, shown without its credentials, changed and forgotten', async (t) => {
  const made = await create('life', { description: 'Our charts' })
  t.is(made.status, 201, made.text)
  const params = at('life')
  const { created_at, updated_at, ...fields } = (await valueOf(made)).value
  t.deepEqual(fields, {
    name: 'life',
    url,
    plain_http: false,
    description: 'Our charts',
    username: 'reader',
    credentials: ['password', 'ca'],
  })
  t.true(created_at instanceof Date && updated_at instanceof Date)
  t.is((await create('life')).status, 422)
  const shown = await annCalls.call(getNamed, { params })
  t.deepEqual(await valueOf(shown), await valueOf(made))
  const headers = { 'if-match': String(shown.headers['etag']) }
  const changed = await valueOf(annCalls.call(editNamed, { params, headers, body: { description: '', password: '' } }))
  t.like(changed.value, { description: '', username: 'reader', credentials: ['ca'] })
  t.is((await annCalls.call(editNamed, { params, headers, body: { description: 'x' } })).status, 412)
  const listed = await valueOf(annCalls.call(listNamed, { params: { orgname: org } }))
  t.true(listed.items.some(({ name }) => name === 'life'))
  const remove = async () => (await annCalls.call(deleteNamed, { params })).status
  t.deepEqual([await remove(), await remove()], [204, 404])
  t.is((await as(ann, 'GET', own(org, 'life'))).status, 404)
  t.is((await as(ann, 'PATCH', own(org, 'life'), {})).status, 404)
})

test('charts and versions are read with the stored credentials', async (t) => {
  t.is((await create('reading')).status, 201)
  const charts = await valueOf(viewerCalls.call(listNamedCharts, { params: at('reading') }))
  t.deepEqual(
    charts.map(({ name, version }) => [name, version]),
    [
      ['db', '2.0.0'],
      ['web', '1.1.0'],
    ],
  )
  const versions = await valueOf(viewerCalls.call(listNamedVersions, { params: { ...at('reading'), chart: 'web' } }))
  t.deepEqual(
    versions.map(({ version }) => version),
    ['1.1.0', '1.0.0'],
  )
  const [first] = versions
  t.deepEqual(
    [first?.appVersion, first?.created, first?.digest?.slice(0, 7), first?.urls],
    ['1.0', '2026-11-21T08:00:00.000Z', 'sha256:', ['charts/web-1.1.0.tgz']],
  )
  t.is((await as(viewer, 'GET', `${own(org, 'reading')}/charts/nothing/versions`)).status, 404)
  t.is((await as(viewer, 'GET', `${own(org, 'nothing')}/charts`)).status, 404)
})

// Serial: it counts what the repository of the file was asked.
test.serial('the wider routes serve known repositories and call no other address', async (t) => {
  t.is((await create('known')).status, 201)
  const mine = await valueOf(annCalls.call(listKnown))
  t.deepEqual(
    mine.filter(({ name }) => name === 'known'),
    [{ name: 'known', url, username: 'reader', owner: org }],
  )
  t.deepEqual(await valueOf(bobCalls.call(listKnown)), [])
  const query = `url=${encodeURIComponent(url)}`
  const charts = await valueOf(viewerCalls.call(listKnownCharts, { query: { url } }))
  t.deepEqual(
    charts.map(({ name }) => name),
    ['db', 'web'],
  )
  t.is(
    (await as(viewer, 'GET', `/chartrepositories/charts/web/versions?${query}/`)).status,
    200,
    'a slash at the end is the same address',
  )
  const asked = repository.seen.length
  const stranger = await startServer((_request, response) => void response.end('entries: {}'), { isPlain: true })
  t.teardown(stranger.close)
  for (const path of ['/chartrepositories/charts', '/chartrepositories/charts/web/versions']) {
    t.is((await as(bob, 'GET', `${path}?${query}`)).status, 400, "another's repository")
    for (const address of [
      stranger.url,
      `${repository.url}/other`,
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'nonsense',
    ]) {
      t.is((await as(ann, 'GET', `${path}?url=${encodeURIComponent(address)}`)).status, 400, address)
    }
    t.is((await as(ann, 'GET', path)).status, 400)
  }
  t.deepEqual([stranger.seen.length, repository.seen.length], [0, asked])
})

test('a member of another organization sees and changes nothing', async (t) => {
  t.is((await create('private')).status, 201)
  for (const [method, path, body] of [
    ['GET', own(org)],
    ['POST', own(org), { name: 'intruder', url }],
    ['GET', own(org, 'private')],
    ['PATCH', own(org, 'private'), { description: 'x' }],
    ['DELETE', own(org, 'private')],
    ['GET', `${own(org, 'private')}/charts`],
    ['GET', `${own(org, 'private')}/charts/web/versions`],
  ] as const) {
    const answer = await as(bob, method, path, body)
    t.true([403, 404].includes(answer.status), `${method} ${path} ${answer.status}`)
    const nothing = await as(bob, method, path.replace(/private/, 'no-such-name'), body)
    t.deepEqual([answer.status, answer.json.message], [nothing.status, nothing.json.message])
  }
  t.is((await as(ann, 'GET', own(org, 'private'))).status, 200)
})

test('a member who may view clusters views repositories, and changes none', async (t) => {
  t.is((await create('watched')).status, 201)
  t.is((await as(viewer, 'GET', own(org, 'watched'))).status, 200)
  t.is((await as(viewer, 'POST', own(org), { name: 'mine', url })).status, 403)
  t.is((await as(viewer, 'PATCH', own(org, 'watched'), { url: 'https://evil.example' })).status, 403)
  t.is((await as(viewer, 'DELETE', own(org, 'watched'))).status, 403)
})

test('a person has repositories of the own account', async (t) => {
  t.is(
    (await bobCalls.call(createNamed, { params: { orgname: bob.login }, body: { name: 'own', url, ...credentials() } }))
      .status,
    201,
  )
  t.deepEqual(
    (await valueOf(bobCalls.call(listKnown))).map(({ owner }) => owner),
    [bob.login],
  )
  t.true([403, 404].includes((await as(ann, 'GET', own(bob.login))).status))
  t.is((await bobCalls.call(deleteNamed, { params: { orgname: bob.login, repository: 'own' } })).status, 204)
})

test('stored credentials do not move to another host', async (t) => {
  t.is((await create('moving')).status, 201)
  const move = async (body: { url: string; username?: string; password?: string }) =>
    (await valueOf(annCalls.call(editNamed, { params: at('moving'), body }))).value
  t.deepEqual((await move({ url: `${repository.url}/elsewhere` })).credentials, ['password', 'ca'])
  const moved = await move({ url: 'https://evil.example/stable' })
  t.deepEqual([moved.username, moved.credentials], ['', []])
  t.deepEqual((await move({ url, username: 'reader', password })).credentials, ['password'])
})

const refused: Readonly<Record<string, object>> = {
  'a name with a slash': { name: 'a/b' },
  'a name in capitals': { name: 'Upper' },
  'no address': { url: undefined },
  'a file': { url: 'file:///etc/passwd' },
  'a user name in the address': { url: 'https://user:hunter2@charts.example.com' },
  'a fragment': { url: 'https://charts.example.com/#x' },
  'a query of a registry': { url: 'oci://charts.example.com/x?y=1' },
  'a long address': { url: `https://charts.example.com/${'x'.repeat(600)}` },
  'a password without a name': { username: '', password: 'hunter2' },
  'a line break in the password': { password: 'hunter2\nx' },
  'a colon in the user name': { username: 'a:b' },
  'a token and a user name': { token: 'hunter2' },
  'a token with a space': { username: '', password: '', token: 'hunter2 x' },
  'an authority that is no certificate': { ca: 'hunter2' },
  'a certificate without a key': { certificate: 'hunter2' },
  'a key that does not fit': { certificate: 'hunter2', key: 'hunter2' },
  'plain http of an https address': { plain_http: true },
  'a password that is a number': { password: 12 },
}
for (const [what, fields] of Object.entries(refused)) {
  test(`${what} is refused without a stored or repeated value`, async (t) => {
    const answer = await as(ann, 'POST', own(org), {
      name: 'refused',
      url: 'https://charts.example.com',
      username: 'reader',
      password: 'hunter2',
      ...fields,
    })
    t.is(answer.status, 422, answer.text)
    t.false(answer.text.includes('hunter2'))
    t.is((await as(ann, 'GET', own(org, 'refused'))).status, 404)
  })
}

test('no credential is in an answer, the log, the audit log or a column', async (t) => {
  const answers = [
    await create('sealed'),
    await as(ann, 'PATCH', own(org, 'sealed'), { password: `${password}-2` }),
    await as(ann, 'GET', own(org)),
    await as(ann, 'GET', '/chartrepositories'),
  ]
  const rows = JSON.stringify(
    [
      await database.query((k) => k('chart_repositories').select('*')),
      await database.query((k) => k('audit_events').select('*')),
    ],
    (_, value: unknown) =>
      typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
        ? Buffer.from(value.data as number[]).toString('latin1')
        : value,
  )
  for (const text of [...answers.map((answer) => answer.text), service.logText(), rows])
    t.false(text.includes(password))
  const actions = await database.query<{ action: string }>((k) =>
    k('audit_events')
      .where('object_type', 'chart_repository')
      .where('object_name', 'sealed')
      .select('action')
      .orderBy('id'),
  )
  t.deepEqual(
    actions.map(({ action }) => action),
    ['chart_repository.created', 'chart_repository.changed'],
  )
})

test('an unreachable or invalid repository is reported as such', async (t) => {
  const down = await startServer((_request, response) => reply(response, 503), { isPlain: true })
  t.teardown(down.close)
  t.is((await create('down', { url: down.url, username: '', password: '', ca: '' })).status, 201)
  const answer = await as(ann, 'GET', `${own(org, 'down')}/charts`)
  t.is(answer.status, 422)
  t.regex(answer.json.message as string, /did not answer as a chart repository/)
  t.is(
    (await create('inside', { url: 'https://169.254.169.254/latest', username: '', password: '', ca: '' })).status,
    201,
  )
  t.is((await as(ann, 'GET', `${own(org, 'inside')}/charts`)).status, 422)
  t.is((await create('registry', { url: 'oci://localhost:1/charts', username: '', password: '', ca: '' })).status, 201)
  t.is((await as(ann, 'GET', `${own(org, 'registry')}/charts`)).status, 422)
})
