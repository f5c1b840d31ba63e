import { request, type IncomingHttpHeaders } from 'node:http'
import test from 'ava'
import fc from 'fast-check'
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { openPatiently } from '../support/databases.ts'
import type { MetricsFixture } from './metrics-fixture.ts'
import { idOf, metricsOfPier, startMetricsFixture } from './metrics-fixture.ts'

let fixture: MetricsFixture

test.before(async () => {
  fixture = await startMetricsFixture()
})
test.after.always(() => fixture.stop())

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly json: unknown
}

/** Sends a request whose target is not changed by a client. */
const raw = (target: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(
      fixture.service.baseUrl,
      {
        method,
        path: `/api/v1/tsproxy/auth/${target}`,
        headers: { authorization: `Bearer ${fixture.owner.token}`, ...headers },
      },
      (res) => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            json: text === '' ? undefined : JSON.parse(text),
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end()
  })

const identifier = (): string => `${fixture.orgId}.${fixture.uid}`

test('a member gets the tenant, in the body and in a header', async (t) => {
  const { status, json, headers } = await raw(`${identifier()}/api/v1/query`)
  t.is(status, 200)
  t.deepEqual(json, { owner: fixture.org, clusterName: 'pier', tenantID: `user.${fixture.orgId}` })
  t.is(headers['x-moorage-tenant'], `user.${fixture.orgId}`)
  t.is(headers.etag, undefined)
})

test('any path and any query is accepted behind the identifier', async (t) => {
  const tails = [
    '',
    '/',
    '/api/v1/label/__name__/values',
    '/api/v1/label/a%2Fb/values',
    '//',
    '/../../admin',
    '/%2e%2e/%00',
    '/api/v1/query?query=up%7Bjob%3D%22a%22%7D&limit=0&page=x&time=1.5',
    '/api/v1/series?match[]=up&match[]=down',
    `/${'a'.repeat(4000)}`,
    '/%zz',
  ]
  for (const tail of tails) t.is((await raw(identifier() + tail)).status, 200, tail)
  t.is((await raw(`${identifier()}.p-8xk2c/api/v1/query`)).status, 200, 'a project of the cluster')
  for (const path of fc.sample(fc.webPath(), 40)) t.is((await raw(identifier() + path)).status, 200, path)
})

test('a proxy can add headers to the request', async (t) => {
  const headers = { 'if-none-match': '*', 'content-type': 'application/x-www-form-urlencoded', range: 'bytes=0-1' }
  t.is((await raw(`${identifier()}/api/v1/query`, headers)).status, 200)
  t.is((await raw(`${identifier()}/x`, {}, 'HEAD')).status, 200)
  t.is((await raw(`${identifier()}/api/v1/query`, {}, 'POST')).status, 405)
})

test('any malformed identifier is 400', async (t) => {
  const { uid, orgId } = fixture
  const malformed = [
    '1',
    '1.2.3.4',
    `a.${uid}`,
    `-1.${uid}`,
    `0.${uid}`,
    `01.${uid}`,
    `+1.${uid}`,
    `1e3.${uid}`,
    `9223372036854775808.${uid}`,
    `99999999999999999999.${uid}`,
    `${orgId}..x`,
    `${orgId}.${uid}.`,
    `${orgId}.${uid}.a.b`,
    `${orgId}.${uid}.UPPER`,
    `${orgId}.${uid}.${'a'.repeat(21)}`,
    `${orgId}.${uid.toUpperCase()}`,
    `${orgId}.${uid}%00`,
    `${orgId}.${uid.slice(1)}`,
    '.',
    '%2e%2e',
    '%F0%9F%9A%A2',
    'a'.repeat(300),
  ]
  for (const each of malformed) t.is((await raw(`${each}/api/v1/query`)).status, 400, each)
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[\w.~-]{1,60}$/), async (text) => {
      const isWellFormed = /^[1-9]\d{0,15}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.|$)/.test(text)
      fc.pre(!isWellFormed && text !== '.' && text !== '..')
      return (await raw(`${text}/x`)).status === 400
    }),
    { numRuns: 40 },
  )
})

test('missing objects are 404 and foreign ones 401', async (t) => {
  const { owner, people, importAgain, uid, hook, orgId } = fixture
  t.is((await hook(owner.token, `999999999.${uid}/x`)).status, 404)
  t.is((await hook(owner.token, `${orgId}.00000000-0000-4000-8000-00000000dead/x`)).status, 404)
  const other = await people.person('other')
  const otherOrg = await people.organization(other)
  await importAgain(other, otherOrg)
  const otherId = await idOf(fixture.service, otherOrg)
  const theirs = await hook(owner.token, `${otherId}.${uid}/x`)
  t.is(theirs.status, 401)
  t.false(theirs.text.includes(otherOrg))
  t.is((await hook(other.token, `${otherId}.${uid}/x`)).status, 200)
  t.is((await hook(other.token, `${orgId}.${uid}/x`)).status, 401)
  t.is((await hook(other.token, `${orgId}.00000000-0000-4000-8000-00000000dead/x`)).status, 401, 'nor what it lacks')
  t.is(
    (await fixture.service.send('GET', `/api/v1/tsproxy/auth/${orgId}.${uid}/x`)).status,
    401,
    'without a credential',
  )
})

test('a change of membership counts from the next request on', async (t) => {
  const { owner, people, service, hook, org, orgId, uid } = fixture
  const member = await people.person('member')
  const teams = await service.send('GET', `/api/v1/orgs/${org}/teams`, { token: owner.token })
  const [team] = teams.json as unknown as readonly { id: number }[]
  const path = `${orgId}.${uid}/api/v1/query`
  for (let round = 0; round < 3; round += 1) {
    t.is((await hook(member.token, path)).status, 401)
    await expectStatus(
      service.send('PUT', `/api/v1/teams/${team?.id}/members/${member.login}`, { token: owner.token }),
      204,
    )
    t.is((await hook(member.token, path)).status, 200)
    await expectStatus(
      service.send('DELETE', `/api/v1/orgs/${org}/members/${member.login}`, { token: owner.token }),
      204,
    )
  }
  t.is((await hook(member.token, path)).status, 401)
})

test('the name of a tenant outlives a new name of its account', async (t) => {
  const { people, importAgain, service, uid, hook } = fixture
  const owner = await people.person('renamer')
  const org = await people.organization(owner)
  await importAgain(owner, org)
  const id = await idOf(service, org)
  const before = await expectStatus(hook(owner.token, `${id}.${uid}/x`), 200)
  await expectStatus(
    service.send('POST', `/api/v1/orgs/${org}/rename`, { token: owner.token, body: { new_name: `${org}-two` } }),
    204,
  )
  const after = await expectStatus(hook(owner.token, `${id}.${uid}/x`), 200)
  t.is(after.json.tenantID, before.json.tenantID)
  t.is(after.json.owner, `${org}-two`)
})

test('a token without scope or for another organization does not read', async (t) => {
  const { owner, people, service, orgId, uid, hook } = fixture
  const path = `${orgId}.${uid}/x`
  const second = await people.organization(owner)
  const created = await expectStatus(
    service.send('POST', '/api/v1/user/settings/tokens/access-tokens', {
      token: owner.token,
      body: { name: 'confined', org: second },
    }),
    201,
  )
  t.is((await hook(created.json.token as string, path)).status, 403)
  for (const [scopes, status] of [
    [['read:cluster'], 200],
    [['read:organization'], 403],
    [['public-only', 'read:cluster'], 403],
  ] as const)
    t.is((await hook(await service.tokenFor(owner.login, scopes), path)).status, status, scopes.join())
})

test('a client organization is named as one, and only its own members read', async (t) => {
  const { people, importAgain, service, uid, hook, register } = fixture
  const client = await people.person('client')
  const clientOrg = await people.organization(client)
  await importAgain(client, clientOrg)
  const id = await idOf(service, clientOrg)
  const database = await openPatiently(service.databaseUrl)
  await database.query((k) => k('organizations').where('id', id).update({ org_type: 2 }))
  await database.close()
  const told = await expectStatus(hook(client.token, `${id}.${uid}/x`), 200)
  t.is(told.json.clientOrg, 'true')
  t.is((await hook(fixture.owner.token, `${id}.${uid}/x`)).status, 401, 'the provider is no member')
  const body = { metrics: metricsOfPier, clusterUID: uid, clientOrgID: String(id), issueToken: true }
  t.is((await register('dashB', fixture.owner.token, body)).status, 404, 'it is not the provider’s')
  const teams = await service.send('GET', `/api/v1/orgs/${clientOrg}/teams`, { token: client.token })
  const [team] = teams.json as unknown as readonly { id: number }[]
  await expectStatus(
    service.send('PUT', `/api/v1/teams/${team?.id}/members/${fixture.owner.login}`, { token: client.token }),
    204,
  )
  const registered = await expectStatus(register('dashB', fixture.owner.token, body), 200)
  t.is(registered.json.datasource, `${id}.${uid}`)
  t.is(registered.json.projectName, `user.${id}`)
  const notClient = { ...body, clientOrgID: String(fixture.orgId) }
  t.is((await register('dashB', fixture.owner.token, notClient)).status, 404, 'an ordinary organization is no client')
})
