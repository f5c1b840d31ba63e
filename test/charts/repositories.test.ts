import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { chartUrl } from '../../adapters/charts/repositories/http-repository.ts'
import { challengeOf, mayHoldToken, nextPage, TagsUnreadable } from '../../adapters/charts/repositories/oci-registry.ts'
import type { RepositoryAccess, RepositoryCredentials } from '../../core/chart-repositories/types.ts'
import type { ClusterRequest, MemberCluster } from '../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { archiveOf, chartYaml, minimalChart } from '../support/charts/archive.ts'
import { countingSocket } from '../support/charts/counting-socket.ts'
import type { TestServer } from '../support/charts/https-server.ts'
import { startServer } from '../support/charts/https-server.ts'
import { startRegistry } from '../support/charts/registry-server.ts'
import type { ServedChart } from '../support/charts/repository-server.ts'
import { sha256, startRepository } from '../support/charts/repository-server.ts'
import { outcomeOf, sourceWorld } from './source-world.ts'

const served = async (...versions: readonly string[]): Promise<readonly ServedChart[]> =>
  Promise.all(versions.map(async (version) => ({ name: 'web', version, bytes: await minimalChart('web', version) })))

test('a chart comes from a repository by https, the newest stable version unless told', async (t) => {
  const charts = await served('1.0.0', '1.2.0', '1.10.0', '2.0.0-rc.1')
  const authorization = `Basic ${Buffer.from('reader:hunter2').toString('base64')}`
  const server = await startRepository(charts, { authorization })
  const access = {
    url: `${server.url}/stable`,
    isPlainHttp: false,
    credentials: { username: 'reader', password: secret('hunter2'), authorityPem: server.authorityPem },
  }
  const world = sourceWorld({
    named: { internal: access, locked: { ...access, credentials: { authorityPem: server.authorityPem } } },
  })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  const from = { kind: 'ChartRepository', name: 'internal' }
  const found = await world.fetch(from)
  if ('tag' in found) return t.fail(found.message)
  t.is(found.ref.version, '1.10.0')
  t.is(found.digest, `sha256:${sha256(charts[2]?.bytes ?? new Uint8Array())}`)
  t.is(found.size, charts[2]?.bytes.length ?? 0)
  t.deepEqual(found.chart.values, { replicas: 1 })
  t.is(outcomeOf(await world.fetch(from, 'web', '~1.2')), '1.2.0')
  t.is(outcomeOf(await world.fetch(from, 'web', '>0.0.0-0')), '2.0.0-rc.1')
  t.is(outcomeOf(await world.fetch(from, 'web', '3')), 'ChartMissing')
  t.is(outcomeOf(await world.fetch(from, 'nothing')), 'ChartMissing')
  t.is(outcomeOf(await world.fetch(from, '../web')), 'ChartMissing')
  t.is(outcomeOf(await world.fetch({ ...from, name: 'locked' })), 'ChartSourceRefused', 'without the credentials')
  t.is(outcomeOf(await world.fetch(from, 'web', '', 2)), 'ChartMissing', 'another tenant has no such repository')
  t.is(
    outcomeOf(await world.fetch({ ...from, namespace: 'somebody' })),
    'ChartMissing',
    "another account's is never found",
  )
})

test('an index is requested again and read once', async (t) => {
  const server = await startRepository(await served('1.0.0'), { isPlain: true })
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  const from = { name: `${server.url}/stable/` }
  t.is(outcomeOf(await world.fetch(from)), '1.0.0')
  t.is(outcomeOf(await world.fetch(from)), '1.0.0')
  const asked = server.seen.filter(({ path }) => path === '/stable/index.yaml')
  t.is(asked.length, 2)
  t.is(typeof asked[1]?.headers['if-none-match'], 'string')
  server.serve(await served('1.0.0', '1.1.0'))
  t.is(outcomeOf(await world.fetch(from)), '1.1.0')
})

test('an archive that is not the one of the index is refused', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const server = await startRepository([], { isPlain: true })
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  for (const digest of ['a'.repeat(64), '0'.repeat(64), 'abc', '[]']) {
    server.serve([{ ...chart, digest }])
    t.is(outcomeOf(await world.fetch({ name: `${server.url}/stable` })), 'ChartRefused', digest)
  }
  server.serve([{ ...chart, digest: `"sha256:${sha256(chart.bytes).toUpperCase()}"` }])
  t.is(outcomeOf(await world.fetch({ name: `${server.url}/stable` })), '1.0.0')
})

test('an archive of another chart, a hostile archive, and one that is missing are refused', async (t) => {
  const other = await minimalChart('other')
  const linked = await archiveOf([
    { name: 'linked/Chart.yaml', content: chartYaml('linked') },
    { name: 'linked/x', type: 'symlink', linkname: '/etc/passwd' },
  ])
  const server = await startRepository(
    [
      { name: 'web', version: '1.0.0', bytes: other },
      { name: 'linked', version: '1.0.0', bytes: linked },
      { name: 'gone', version: '1.0.0', bytes: other, url: 'nowhere.tgz' },
    ],
    { isPlain: true },
  )
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  const from = { name: `${server.url}/stable` }
  t.is(outcomeOf(await world.fetch(from)), 'ChartRefused')
  t.is(outcomeOf(await world.fetch(from, 'linked')), 'ChartRefused')
  t.is(outcomeOf(await world.fetch(from, 'gone')), 'ChartMissing')
})

test('what is no repository is said so', async (t) => {
  const texts: Readonly<Record<string, string>> = {
    '/html/index.yaml': '<html></html>',
    '/list/index.yaml': '- a',
    '/broken/index.yaml': 'entries: [',
    '/aliases/index.yaml': 'a: &a [*a]\nentries: *a',
  }
  const server = await startServer(
    (request, response) => {
      const text = texts[request.url ?? '']
      if (text === undefined) response.writeHead(request.url === '/down/index.yaml' ? 503 : 404)
      response.end(text)
    },
    { isPlain: true },
  )
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  for (const path of ['html', 'list', 'broken', 'aliases'])
    t.is(outcomeOf(await world.fetch({ name: `${server.url}/${path}` })), 'ChartRefused', path)
  for (const path of ['down', 'nothing'])
    t.is(outcomeOf(await world.fetch({ name: `${server.url}/${path}` })), 'ChartSourceUnreachable', path)
})

test('entries of an index that cannot be installed are omitted', async (t) => {
  const bytes = await minimalChart()
  const text = `entries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web.tgz]}\n  - {name: web, version: nonsense, urls: [x.tgz]}\n  - {name: web, version: 9.0.0}\n  - text\n  - {name: web, version: 1.0.0, urls: [twice.tgz]}\n  broken: text\n`
  const server = await startServer(
    (request, response) => void response.end(request.url?.endsWith('index.yaml') === true ? text : bytes),
    { isPlain: true },
  )
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch({ name: server.url })), '1.0.0')
  t.is(server.seen.at(-1)?.path, '/web.tgz')
  const listed = await world.reader.charts(
    { url: server.url, isPlainHttp: false, credentials: {} },
    new AbortController().signal,
  )
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ name, version }) => [name, version]) : [], [
    ['web', '1.0.0'],
  ])
})

test('an index with aliases, merges or a further document is read as helm reads it, and stays bounded', async (t) => {
  const bytes = await minimalChart()
  const indexes: Readonly<Record<string, string>> = {
    aliases:
      'apiVersion: v1\nentries:\n  other:\n  - &one {name: web, version: 1.0.0, urls: &urls [web.tgz], keywords: [a]}\n  web: [*one, {<<: *one, version: 0.9.0}, {version: 0.8.0, urls: *urls}]\n',
    trailing: 'apiVersion: v1\nentries:\n  web: [{name: web, version: 1.0.0, urls: [web.tgz]}]\n---\n',
    second:
      '# made by a tool\n---\nentries:\n  web: [{name: web, version: 1.0.0, urls: [web.tgz]}]\n---\nentries: {}\n',
    // 1,000 names with 1,000 entries each.
    growing: `entries:\n  web: &all [${'{version: 1.0.0,urls: [web.tgz]},'.repeat(1000)}]\n${Array.from({ length: 1000 }, (_, index) => `  c${index}: *all\n`).join('')}`,
    doubling: `a: &a [x]\n${Array.from({ length: 40 }, (_, index) => `a${index}: &a${index} [${`*a${index === 0 ? '' : index - 1},`.repeat(9)}]\n`).join('')}entries: {web: [{version: 1.0.0, urls: [web.tgz], keywords: *a39}]}\n`,
  }
  const server = await startServer(
    (request, response) => {
      const [, name = ''] = (request.url ?? '').split('/')
      response.end(request.url?.endsWith('index.yaml') === true ? indexes[name] : bytes)
    },
    { isPlain: true },
  )
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  const expected: Readonly<Record<string, string>> = {
    aliases: '1.0.0',
    trailing: '1.0.0',
    second: '1.0.0',
    growing: 'ChartRefused',
    doubling: '1.0.0',
  }
  for (const [name, outcome] of Object.entries(expected))
    t.is(outcomeOf(await world.fetch({ name: `${server.url}/${name}` })), outcome, name)
  const listed = await world.reader.versions(
    { url: `${server.url}/aliases`, isPlainHttp: false, credentials: {} },
    'web',
    new AbortController().signal,
  )
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ version, keywords }) => [version, keywords]) : [], [
    ['1.0.0', ['a']],
    ['0.9.0', ['a']],
    ['0.8.0', []],
  ])
})

test('charts of another host are fetched without the credentials, and never from inside', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const elsewhere = await startServer((_request, response) => void response.end(chart.bytes), { isPlain: true })
  const server = await startRepository(
    [
      { ...chart, url: `${elsewhere.url}/web.tgz` },
      { ...chart, version: '2.0.0', url: 'http://127.0.0.1:1/web.tgz' },
      { ...chart, version: '3.0.0', url: 'file:///etc/passwd' },
    ],
    { isPlain: true, authorization: 'Bearer abc' },
  )
  const world = sourceWorld({
    named: { internal: { url: `${server.url}/stable`, isPlainHttp: false, credentials: { token: secret('abc') } } },
  })
  t.teardown(async () => Promise.all([server.close(), elsewhere.close(), world.close()]))
  const from = { kind: 'ChartRepository', name: 'internal' }
  t.is(outcomeOf(await world.fetch(from, 'web', '1.0.0')), '1.0.0')
  t.is(server.seen[0]?.authorization, 'Bearer abc')
  t.is(elsewhere.seen[0]?.authorization, undefined)
  t.is(outcomeOf(await world.fetch(from, 'web', '2.0.0')), 'ChartSourceRefused')
  t.is(outcomeOf(await world.fetch(from, 'web', '3.0.0')), 'ChartSourceRefused')
})

test('an index may name places in a registry', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const registry = await startRegistry([chart], { isPlain: true })
  const server = await startRepository([{ ...chart, url: `oci://localhost:${registry.port}/team/web:1.0.0` }], {
    isPlain: true,
  })
  const world = sourceWorld()
  t.teardown(async () => Promise.all([server.close(), registry.close(), world.close()]))
  t.is(
    outcomeOf(await world.fetch({ name: `${server.url}/stable` })),
    'ChartSourceRefused',
    'another host than the repository is asked by https alone',
  )
  t.is(registry.seen.length, 0)
})

test('sources that are none are refused', async (t) => {
  const world = sourceWorld()
  t.teardown(world.close)
  for (const from of [
    { kind: 'Local', name: '/etc' },
    { kind: 'GitRepository', name: 'x' },
    { kind: 'HelmRepository', name: 'x' },
    { name: '/etc/passwd' },
    { name: 'file:///etc' },
    { name: 'https://u:p@localhost/' },
    { name: 'ftp://localhost/' },
    { name: 'https://localhost:1' },
    { name: 'https://127.0.0.1:1' },
    { name: `https://localhost/${'x'.repeat(2000)}` },
  ]) {
    t.is(outcomeOf(await world.fetch(from)), 'ChartSourceRefused', JSON.stringify(from).slice(0, 80))
  }
})

test('charts of this service itself are found by name and version', async (t) => {
  const chart = (version: string) => ({
    name: 'own',
    version,
    files: { 'Chart.yaml': chartYaml('own', '', version), 'values.yaml': `of: "${version}"\n` },
  })
  const world = sourceWorld({ embedded: new Map([['editors', [chart('1.0.0'), chart('1.1.0')]]]) })
  t.teardown(world.close)
  const found = await world.fetch({ kind: 'Embed', name: 'editors' }, 'own')
  t.is('tag' in found ? found.tag : found.chart.values['of'], '1.1.0')
  t.is(outcomeOf(await world.fetch({ kind: 'Embed', name: 'editors' }, 'own', '1.0.0')), '1.0.0')
  t.is(outcomeOf(await world.fetch({ kind: 'Embed', name: 'other' }, 'own')), 'ChartMissing')
})

test('addresses of an index are taken from the repository', (t) => {
  const of = (base: string, written: string): string => chartUrl(base, written).href
  t.is(of('https://a.example/stable', 'charts/x.tgz'), 'https://a.example/stable/charts/x.tgz')
  t.is(of('https://a.example/stable/', 'x.tgz'), 'https://a.example/stable/x.tgz')
  t.is(of('https://a.example/stable?key=1', 'x.tgz'), 'https://a.example/stable/x.tgz?key=1')
  t.is(of('https://a.example/stable?key=1', 'x.tgz?own=2'), 'https://a.example/stable/x.tgz?own=2')
  t.is(of('https://a.example/stable', '/x.tgz'), 'https://a.example/x.tgz')
  t.is(of('https://a.example/stable', 'https://b.example/x.tgz'), 'https://b.example/x.tgz')
})

type Answer = { readonly status: number; readonly json: unknown } | 'down'

/** A cluster that holds just these objects for the caller, by path. */
const clusterWith = (objects: Readonly<Record<string, Answer>>) => {
  const asked: string[] = []
  const cluster: MemberCluster = {
    id: 1 as ClusterId,
    ownerId: 1 as AccountId,
    ownerName: 'acme',
    name: 'pier',
    uid: 'uid',
    request: async ({ method, target }: ClusterRequest) => {
      asked.push(`${method} ${target}`)
      const answer = objects[target] ?? { status: 404, json: {} }
      return answer === 'down' ? left(ClusterUnreachable('down')) : right({ ...answer, text: '' })
    },
    relay: () => Promise.reject(new Error('not used')),
  }
  return { cluster, asked }
}

const ok = (json: unknown): Answer => ({ status: 200, json })
const object = (spec: object): Answer => ok({ spec })
const fluxRepositorySecret = (data: Readonly<Record<string, string>>): Answer =>
  ok({
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  })
const repositoryPath = '/apis/source.toolkit.fluxcd.io/v1/namespaces/flux/helmrepositories/charts'
const secretPath = '/api/v1/namespaces/flux/secrets/login'
const from = { kind: 'HelmRepository', apiGroup: 'source.toolkit.fluxcd.io', namespace: 'flux', name: 'charts' }
const chart = async () => ({ name: 'web', version: '1.0.0', bytes: await minimalChart() })
const authorization = `Basic ${Buffer.from('reader:hunter2').toString('base64')}`

test('a repository of the cluster is read as the caller, with its Secret', async (t) => {
  const server = await startRepository([await chart()], { authorization })
  const { cluster, asked } = clusterWith({
    [repositoryPath]: object({
      url: `${server.url}/stable/`,
      secretRef: { name: 'login' },
      certSecretRef: { name: 'ca' },
    }),
    [secretPath]: fluxRepositorySecret({ username: 'reader', password: 'hunter2' }),
    '/api/v1/namespaces/flux/secrets/ca': fluxRepositorySecret({ 'ca.crt': server.authorityPem }),
  })
  const world = sourceWorld({ cluster })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(from)), '1.0.0')
  t.deepEqual(asked, [`GET ${repositoryPath}`, `GET ${secretPath}`, 'GET /api/v1/namespaces/flux/secrets/ca'])
})

test('the older version of the object is read where the newer one is not served', async (t) => {
  const server = await startRepository([await chart()], { isPlain: true })
  const { cluster } = clusterWith({
    [repositoryPath.replace('/v1/', '/v1beta2/')]: object({ url: `${server.url}/stable` }),
  })
  const world = sourceWorld({ cluster })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(from)), '1.0.0')
})

test('a registry of the cluster, by a docker configuration', async (t) => {
  const server = await startRegistry([await chart()], { authorization, isPlain: true })
  const config = JSON.stringify({
    auths: {
      'other.example': { auth: 'eDp5' },
      [`localhost:${server.port}`]: { auth: Buffer.from('reader:hunter2').toString('base64') },
    },
  })
  const spec = { url: `oci://localhost:${server.port}/team`, type: 'oci', secretRef: { name: 'login' } }
  const objects = {
    [repositoryPath]: object({ ...spec, insecure: true }),
    [secretPath]: fluxRepositorySecret({ '.dockerconfigjson': config }),
  }
  const world = sourceWorld({ cluster: clusterWith(objects).cluster })
  const secure = sourceWorld({ cluster: clusterWith({ ...objects, [repositoryPath]: object(spec) }).cluster })
  t.teardown(async () => Promise.all([server.close(), world.close(), secure.close()]))
  t.is(outcomeOf(await world.fetch(from)), '1.0.0')
  t.is(outcomeOf(await secure.fetch(from)), 'ChartSourceRefused', 'without TLS only where the object says so')
})

const outcomes: Readonly<Record<string, readonly [Readonly<Record<string, Answer>>, string]>> = {
  'an object that is not there': [{}, 'ChartMissing'],
  'an object that the caller may not read': [{ [repositoryPath]: { status: 403, json: {} } }, 'ChartSourceRefused'],
  'a Secret that the caller may not read': [
    {
      [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: 'login' } }),
      [secretPath]: { status: 403, json: {} },
    },
    'ChartSourceRefused',
  ],
  'a Secret that is not there': [
    { [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: 'login' } }) },
    'ChartSourceRefused',
  ],
  'a Secret of a name that leads elsewhere': [
    { [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: '../../x' } }) },
    'ChartSourceRefused',
  ],
  'a cluster that does not answer': [{ [repositoryPath]: 'down' }, 'ClusterUnreachable'],
  'an address of this machine': [{ [repositoryPath]: object({ url: 'https://127.0.0.1/' }) }, 'ChartSourceRefused'],
  'an address of metadata': [
    { [repositoryPath]: object({ url: 'http://169.254.169.254/latest' }) },
    'ChartSourceRefused',
  ],
  'no address': [{ [repositoryPath]: object({}) }, 'ChartSourceRefused'],
  'a type that does not fit the address': [
    { [repositoryPath]: object({ url: 'https://charts.example', type: 'oci' }) },
    'ChartSourceRefused',
  ],
  'credentials of a cloud': [
    { [repositoryPath]: object({ url: 'oci://charts.example', type: 'oci', provider: 'aws' }) },
    'ChartSourceRefused',
  ],
  'an object that is text': [{ [repositoryPath]: ok('text') }, 'ChartSourceRefused'],
}
for (const [what, [objects, expected]] of Object.entries(outcomes)) {
  test(`${what}: ${expected}`, async (t) => {
    const world = sourceWorld({ cluster: clusterWith(objects).cluster, allow: [] })
    t.teardown(world.close)
    t.is(outcomeOf(await world.fetch(from)), expected)
  })
}

test('names that could lead elsewhere in the API are not asked for', async (t) => {
  const { cluster, asked } = clusterWith({})
  const world = sourceWorld({ cluster })
  t.teardown(world.close)
  for (const bad of [
    { name: '../secrets/x' },
    { namespace: 'a/b' },
    { name: 'a?x=1' },
    { name: '' },
    { namespace: '..' },
  ])
    t.is(outcomeOf(await world.fetch({ ...from, ...bad })), 'ChartSourceRefused')
  t.deepEqual(asked, [])
})

const ociRegistryServed = (...versions: readonly string[]) =>
  Promise.all(versions.map(async (version) => ({ name: 'web', version, bytes: await minimalChart('web', version) })))
const basic = `Basic ${Buffer.from('robot:hunter2').toString('base64')}`
const robot: RepositoryCredentials = { username: 'robot', password: secret('hunter2') }

const access = (server: TestServer, credentials: RepositoryCredentials, isPlainHttp = false): RepositoryAccess => ({
  url: `oci://localhost:${server.port}/team`,
  isPlainHttp,
  credentials: isPlainHttp ? credentials : { ...credentials, authorityPem: server.authorityPem },
})
const ociRegistryFrom = { kind: 'ChartRepository', name: 'internal' }

test('a chart comes from a registry by its token', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0', '1.2.0+build.5', '2.0.0-rc1'), {
    authorization: basic,
  })
  const world = sourceWorld({
    named: {
      internal: access(server, robot),
      stranger: access(server, { username: 'robot', password: secret('wrong') }),
      nobody: access(server, {}),
    },
  })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), '1.2.0+build.5')
  t.is(outcomeOf(await world.fetch(ociRegistryFrom, 'web', '1.2.0+build.5')), '1.2.0+build.5')
  t.is(outcomeOf(await world.fetch(ociRegistryFrom, 'web', '~1.0')), '1.0.0')
  t.is(outcomeOf(await world.fetch(ociRegistryFrom, 'web', '9.9.9')), 'ChartMissing')
  t.is(outcomeOf(await world.fetch(ociRegistryFrom, 'nothing')), 'ChartMissing')
  t.is(outcomeOf(await world.fetch(ociRegistryFrom, 'UPPER')), 'ChartSourceRefused')
  for (const name of ['stranger', 'nobody'])
    t.is(outcomeOf(await world.fetch({ ...ociRegistryFrom, name })), 'ChartSourceRefused')
  t.true(server.seen.some(({ path }) => path.startsWith('/token?service=registry&scope=')))
  t.false(
    server.seen.filter(({ path }) => path.startsWith('/v2/')).some(({ authorization }) => authorization === basic),
    'the password goes to the token endpoint alone',
  )
})

test('a registry that wants the password itself gets it', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), {
    authorization: basic,
    isBasic: true,
    isPlain: true,
  })
  const world = sourceWorld({ named: { internal: access(server, robot, true) } })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), '1.0.0')
})

test('all pages of tags are read', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0', '1.1.0', '1.2.0', '1.3.0', '1.4.0'), {
    isPlain: true,
    pageSize: 2,
  })
  const world = sourceWorld({ named: { internal: access(server, {}, true) } })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), '1.4.0')
  const listed = await world.reader.versions(access(server, {}, true), 'web', new AbortController().signal)
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ version }) => version) : [], [
    '1.4.0',
    '1.3.0',
    '1.2.0',
    '1.1.0',
    '1.0.0',
  ])
  const charts = await world.reader.charts(access(server, {}, true), new AbortController().signal)
  t.is(charts._tag === 'Left' ? charts.left.tag : '', 'ChartSourceRefused')
})

test('the next page of tags is on the same host, and pages are bounded', async (t) => {
  const charts = await ociRegistryServed('1.0.0', '1.1.0', '1.2.0')
  const thief = await startServer((_request, response) => void response.end('{"tags":["9.0.0"]}'), { isPlain: true })
  const paged = { isPlain: true, authorization: basic, pageSize: 1 }
  const [away, endless, unreadable] = [
    await startRegistry(charts, { ...paged, link: (next) => `<${thief.url}${next}>; rel=next` }),
    await startRegistry(charts, { ...paged, link: () => '</v2/team/web/tags/list?n=1>; rel="next"' }),
    await startRegistry(charts, { ...paged, link: () => 'rel="next"' }),
  ]
  const world = sourceWorld({
    named: {
      away: access(away, robot, true),
      endless: access(endless, robot, true),
      unreadable: access(unreadable, robot, true),
    },
  })
  t.teardown(async () => Promise.all([thief, away, endless, unreadable, world].map((each) => each.close())))
  for (const name of ['away', 'endless', 'unreadable']) {
    const fetched = await world.fetch({ ...ociRegistryFrom, name })
    t.is(outcomeOf(fetched), 'ChartSourceUnreachable', name)
    t.is(
      outcomeOf(await world.fetch({ ...ociRegistryFrom, name }, 'web', '1.1.0')),
      '1.1.0',
      'a version that is named needs no list',
    )
  }
  t.is(thief.seen.length, 0)
  t.true(endless.seen.length < 120)
})

test('links to the next page', (t) => {
  const [base, origin] = [new URL('https://r.example/v2/team/web/tags/list?n=1000'), 'https://r.example']
  const next = (link: string): string | undefined => nextPage(link, base, origin)?.href
  const there = `${origin}/v2/team/web/tags/list?next_page=a%2Cb,c`
  for (const link of [
    '</v2/team/web/tags/list?next_page=a%2Cb,c>; rel="next"',
    '<?next_page=a%2Cb,c>;rel=next',
    `<${there}>; title="a, <b>"; rel="last next"`,
    `<http://r.example/v2/team/web/tags/list?next_page=a%2Cb,c> ; REL = "NEXT"`,
    `</first>; rel="first", <list?next_page=a%2Cb,c>; rel="next", </last>; rel="last"`,
  ])
    t.is(next(link), there, link)
  for (const link of ['', '</x>; rel="prev"', '</x>; title="next"', '</next>']) t.is(next(link), undefined, link)
  for (const link of [
    '<https://other.example/x>; rel="next"',
    '<//other.example/x>; rel=next',
    '<https://r.example:8443/x>; rel=next',
    '<https://[>; rel=next',
    'rel=next',
    'x'.repeat(20_000),
  ])
    t.throws(() => next(link), { instanceOf: TagsUnreadable }, link.slice(0, 60))
})

test('a registry whose bytes are not what its manifest names is refused', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), { isPlain: true, isLying: true })
  const world = sourceWorld({ named: { internal: access(server, {}, true) } })
  t.teardown(async () => Promise.all([server.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), 'ChartRefused')
})

test('blobs elsewhere are fetched without credentials, and never from inside', async (t) => {
  const [chart] = await ociRegistryServed('1.0.0')
  if (chart === undefined) return t.fail()
  const store = await startServer((_request, response) => void response.end(chart.bytes), { isPlain: true })
  const socket = await countingSocket()
  const outside = await startRegistry([chart], {
    isPlain: true,
    authorization: basic,
    blobRedirect: `${store.url}/blob`,
  })
  const inside = await startRegistry([chart], {
    isPlain: true,
    authorization: basic,
    blobRedirect: `http://127.0.0.1:${socket.port}/`,
  })
  const world = sourceWorld({ named: { internal: access(outside, robot, true), inside: access(inside, robot, true) } })
  t.teardown(async () => Promise.all([store, socket, outside, inside, world].map((each) => each.close())))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), '1.0.0')
  t.deepEqual(
    store.seen.map(({ authorization }) => authorization),
    [undefined],
  )
  t.is(outcomeOf(await world.fetch({ ...ociRegistryFrom, name: 'inside' })), 'ChartSourceRefused')
  t.is(socket.reached(), 0)
})

test('a token endpoint elsewhere does not get the password', async (t) => {
  const thief = await startServer((_request, response) => void response.end('{"token":"x"}'), { isPlain: true })
  const server = await startRegistry(await ociRegistryServed('1.0.0'), {
    isPlain: true,
    authorization: basic,
    realm: `${thief.url}/token`,
  })
  const world = sourceWorld({ named: { internal: access(server, robot, true) } })
  t.teardown(async () => Promise.all([server.close(), thief.close(), world.close()]))
  t.is(outcomeOf(await world.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.deepEqual(
    thief.seen.map(({ authorization }) => authorization),
    [undefined],
  )
})

test('without TLS only what the operator opened is asked, and only where the repository says so', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), { isPlain: true })
  const closed = sourceWorld({ allow: [], named: { internal: access(server, {}, true) } })
  const secure = sourceWorld({ named: { internal: { ...access(server, {}, true), isPlainHttp: false } } })
  t.teardown(async () => Promise.all([server.close(), closed.close(), secure.close()]))
  t.is(outcomeOf(await closed.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.is(outcomeOf(await secure.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.is(server.seen.length, 0)
})

test('challenges', (t) => {
  t.deepEqual(
    challengeOf(
      'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    ),
    {
      scheme: 'bearer',
      realm: 'https://auth.example/token',
      service: 'registry.example',
      scope: 'repository:a/b:pull,push',
    },
  )
  t.deepEqual(challengeOf('basic realm="x"'), { scheme: 'basic' })
  for (const header of ['', 'Digest realm="x"', 'Bearer', 'Bearer service="x"', `Bearer realm="${'x'.repeat(5000)}"`])
    t.is(challengeOf(header), undefined)
})

test('who may be shown the credentials for a token', (t) => {
  const may = (registry: string, realm: string): boolean => mayHoldToken(new URL(registry), new URL(realm))
  t.true(may('https://ghcr.io', 'https://ghcr.io/token'))
  t.true(may('https://registry-1.docker.io', 'https://auth.docker.io/token'))
  t.true(may('https://registry.gitlab.com', 'https://gitlab.com/jwt/auth'))
  t.false(may('https://ghcr.io', 'https://evil.io/token'))
  t.false(may('https://registry-1.docker.io', 'http://auth.docker.io/token'))
  t.false(may('https://registry-1.docker.io', 'https://auth.docker.io.evil.com/token'))
  t.false(may('https://10.0.0.1', 'https://11.0.0.1/token'))
  t.false(may('https://ghcr.io', 'https://ghcr.io:8443/token'))
})
