import test from 'ava'
import { parse } from 'yaml'
import { credentialPlace } from '../../core/clusters/connections.ts'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { SecretBoxPort } from '../../core/kernel/secret.ts'
import { listOrganizationAudit } from '../../plugins/audit/audit.routes.ts'
import {
  checkCluster,
  clusterExists,
  connectCluster,
  getClientConfig,
  getCluster,
  getClusterStatus,
  importCluster as importClusterRoute,
  listOwnerClusters,
  listUserClusters,
  reconfigureCluster,
  removeCluster,
  updateCluster,
  validateImport,
} from '../../plugins/clusters/clusters.routes.ts'
import type { Client } from '../../plugins/kit/client.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { Person } from './cluster-fixture.ts'
import { expectStatus, importCluster, makePeople } from './cluster-fixture.ts'

/** The cluster routes through the whole service. Each tenant case has its other-organization twin. */
let service: TestService
let fake: FakeKubernetes
let people: ReturnType<typeof makePeople>
let owner: Person
/** The typed client of the owner. */
let client: Client
let org: string
let stranger: Person
let otherOrg: string

test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
  client = clientAs(service, owner)
  org = await people.organization(owner)
  stranger = await people.person('stranger')
  otherOrg = await people.organization(stranger)
})

test.after.always(async () => {
  await service.stop()
  await fake.stop()
})

const as = (person: Person, body?: unknown) => ({ token: person.token, ...(body === undefined ? {} : { body }) })
let made = 0
/** A fake, imported under an owner's new organization. */
const imported = async (
  target: FakeKubernetes = fake,
): Promise<{ org: string; name: string; at: string; params: { owner: string; cluster: string } }> => {
  const name = `c-${(made += 1)}`
  const within = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, within, name, target.kubeconfig()), 200)
  return { org: within, name, at: `${within}/${name}`, params: { owner: within, cluster: name } }
}

test('check, validate, import, list, get and exist tell one story', async (t) => {
  const body = {
    basicInfo: { name: 'prod', displayName: 'Production' },
    provider: { name: 'generic', accessConfig: fake.kubeconfig() },
    components: { gitopsEngine: true, featureSets: [{ name: 'core', features: ['x'] }] },
  }
  const home = await people.organization(owner)
  const params = { owner: home }
  const checked = await valueOf(client.call(checkCluster, { params, body }))
  t.like(checked, { id: 0, uid: fake.uid, status: { phase: 'NotImported' }, kubernetesVersion: 'v1.34.2' })
  const before = await valueOf(client.call(validateImport, { params, body }))
  t.like(before, {
    alreadyImported: false,
    displayName: { valid: true },
    clusterId: { valid: true },
    clusterMetadata: { uid: fake.uid, ownerType: 'org' },
  })
  t.deepEqual(await valueOf(client.call(listOwnerClusters, { params })), { items: [], total: 0 })
  const got = await valueOf(client.call(importClusterRoute, { params, body }))
  t.like(got, {
    name: 'prod',
    displayName: 'Production',
    ownerName: home,
    provider: 'Generic',
    endpoint: fake.url,
    status: { phase: 'Active', response: { phase: 'Active' } },
    spec: { name: 'prod', uid: fake.uid },
    metadata: { name: 'prod' },
  })
  const after = await valueOf(client.call(validateImport, { params, body }))
  t.like(after, { alreadyImported: true, displayName: { valid: false }, clusterId: { valid: false } })
  const single = await valueOf(client.call(getCluster, { params: { owner: home, cluster: 'prod' } }))
  t.is(single.id, got.id)
  const { metadata: _metadata, spec: _spec, ...flat } = single
  const {
    items: [listed, ...others],
  } = await valueOf(client.call(listOwnerClusters, { params }))
  t.deepEqual(others, [])
  t.deepEqual({ ...listed, age: '' }, { ...flat, age: '' })
  t.deepEqual(await valueOf(client.call(listOwnerClusters, { params, query: { provider: 'EKS' } })), {
    items: [],
    total: 0,
  })
  t.deepEqual((await service.send('GET', `/api/v1/clustersv2/${home}?provider=Nowhere`, as(owner))).json, [])
  t.is((await service.send('GET', `/api/v1/clustersv2/${home}?provider=&page=abc`, as(owner))).json.length, 1)
  t.deepEqual(await valueOf(client.call(clusterExists, { params: { owner: home, cluster: 'prod' } })), { exist: true })
  t.deepEqual(await valueOf(client.call(clusterExists, { params: { owner: home, cluster: 'none' } })), { exist: false })
})

test('the list is whole unless a limit is given', async (t) => {
  const home = await people.organization(owner)
  const fakes = await Promise.all([1, 2, 3].map(() => startFakeKubernetes()))
  t.teardown(async () => void (await Promise.all(fakes.map((each) => each.stop()))))
  for (const [index, each] of fakes.entries())
    await expectStatus(importCluster(service.send, owner.token, home, `c${index}`, each.kubeconfig()), 200)
  const names = async (query: string): Promise<string[]> =>
    (await expectStatus(service.send('GET', `/api/v1/clustersv2/${home}${query}`, as(owner)), 200)).json.map(
      ({ name }: { name: string }) => name,
    )
  t.deepEqual(await names(''), ['c0', 'c1', 'c2'])
  t.deepEqual(await names('?limit=2'), ['c0', 'c1'])
  t.deepEqual(await names('?limit=2&page=2'), ['c2'])
  t.deepEqual(await names('?limit=2&page=3'), [])
})

const refusedImports: readonly (readonly [string, () => object, RegExp])[] = [
  ['no name', () => ({ basicInfo: {}, provider: { accessConfig: fake.kubeconfig() } }), /name/],
  [
    'a name that is no label',
    () => ({ basicInfo: { name: 'Prod_1' }, provider: { accessConfig: fake.kubeconfig() } }),
    /name/,
  ],
  [
    'a reserved name',
    () => ({ basicInfo: { name: 'import' }, provider: { accessConfig: fake.kubeconfig() } }),
    /reserved/,
  ],
  ['no access config', () => ({ basicInfo: { name: 'a' }, provider: { credential: 'aws' } }), /access config/],
  [
    'another owner in the body',
    () => ({ basicInfo: { name: 'a', ownerID: 1 }, provider: { accessConfig: fake.kubeconfig() } }),
    /ownerID/,
  ],
  [
    'another UID in the body',
    () => ({ basicInfo: { name: 'a', clusterUID: 'other' }, provider: { accessConfig: fake.kubeconfig() } }),
    /clusterUID/,
  ],
  [
    'a token that the cluster refuses',
    () => ({ basicInfo: { name: 'a' }, provider: { accessConfig: fake.kubeconfig({ token: 'wrong' }) } }),
    /refused/,
  ],
  [
    'no server at the address',
    () => ({
      basicInfo: { name: 'a' },
      provider: { accessConfig: fake.kubeconfig({ server: 'https://127.0.0.1:1' }) },
    }),
    /cannot be reached from here/,
  ],
  [
    'a metadata address',
    () => ({
      basicInfo: { name: 'a' },
      provider: { accessConfig: fake.kubeconfig({ server: 'https://169.254.169.254' }) },
    }),
    /never allowed/,
  ],
  [
    'a kubeconfig that is none',
    () => ({ basicInfo: { name: 'a' }, provider: { accessConfig: 'hello' } }),
    /kubeconfig/,
  ],
]
for (const [what, body, message] of refusedImports) {
  test(`an import is refused with 422 for: ${what}`, async (t) => {
    const answer = await service.send('POST', `/api/v1/clustersv2/${org}/import`, as(owner, body()))
    t.is(answer.status, 422, answer.text)
    t.regex(answer.json.message, message)
    t.false(answer.text.includes(fake.token))
  })
}

test('two imports of one name at the same time: one cluster', async (t) => {
  const home = await people.organization(owner)
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => importCluster(service.send, owner.token, home, 'same', fake.kubeconfig())),
  )
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422, 422])
  t.is((await valueOf(client.call(listOwnerClusters, { params: { owner: home } }))).items.length, 1)
  const again = await importCluster(service.send, owner.token, home, 'other-name', fake.kubeconfig())
  t.is(again.status, 422)
  t.regex(again.json.message, /already imported as same/)
  await expectStatus(importCluster(service.send, stranger.token, otherOrg, 'same', fake.kubeconfig()), 200)
})

test('status follows the cluster through every state', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const { at, params } = await imported(own)
  const look = async (): Promise<unknown> => {
    // `connect` without an access config looks anew, whatever is fresh.
    const { status } = await valueOf(
      client.call(connectCluster, { params, query: { operation: 're-connect' }, body: {} }),
    )
    return [status.phase, status.reason]
  }
  t.deepEqual(await look(), ['Active', undefined])
  own.isReady = false
  t.deepEqual(await look(), ['NotReady', 'Unknown'])
  own.isReady = true
  own.acceptsToken = false
  t.deepEqual(await look(), ['NotConnected', 'AuthIssue'])
  own.acceptsToken = true
  const { uid } = own
  own.uid = 'another'
  t.deepEqual(await look(), ['Lost', 'ClusterNotFound'])
  own.uid = uid
  t.deepEqual(await look(), ['Active', undefined])
  await own.stop()
  t.deepEqual(await look(), ['NotConnected', 'Unknown'])
  t.is((await valueOf(client.call(getClusterStatus, { params }))).status.phase, 'NotConnected')
  const proxied = await service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner))
  t.true(proxied.status >= 500)
  t.regex(proxied.json.message, /cannot be reached from here/)
  const line = service
    .logLines()
    .find(({ msg, requestId }) => msg === 'request' && requestId === proxied.headers['x-request-id'])
  t.like(line, { owner: params.owner, cluster: params.cluster, status: proxied.status })
  t.regex(String(line?.['cause']), /ECONNREFUSED|refuses connections|cannot be reached from here/)
})

test('a new credential replaces the old one at once, if it leads to the same cluster', async (t) => {
  const own = await startFakeKubernetes()
  const other = await startFakeKubernetes()
  t.teardown(async () => void (await Promise.all([own.stop(), other.stop()])))
  const { at, params } = await imported(own)
  await expectStatus(service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner)), 200)
  const elsewhere = await service.send(
    'PUT',
    `/api/v1/clusters/${at}`,
    as(owner, { provider: 'Generic', accessConfig: other.kubeconfig() }),
  )
  t.is(elsewhere.status, 422)
  t.regex(elsewhere.json.message, /another cluster/)
  t.is(
    own.seen
      .filter(({ url }) => url === '/version')
      .at(-1)
      ?.headers.find(([name]) => name === 'authorization')?.[1],
    `Bearer ${own.token}`,
  )
  const former = own.token
  Object.assign(own, { token: 'fake-rotated' })
  t.true((await service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner))).status >= 500)
  const put = await valueOf(
    client.call(updateCluster, {
      params,
      body: { displayName: 'Rotated', provider: 'Generic', accessConfig: own.kubeconfig() },
    }),
  )
  t.is(put.displayName, 'Rotated')
  await expectStatus(service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner)), 200)
  t.not(former, own.token)
  t.is(
    (
      await service.send(
        'PUT',
        `/api/v1/clusters/${at}`,
        as(owner, { name: 'renamed', provider: 'Generic', accessConfig: own.kubeconfig() }),
      )
    ).status,
    422,
  )
})

test('reconfigure changes the record, and remove deletes it', async (t) => {
  const { org: home, at, name, params } = await imported()
  const changed = await valueOf(
    client.call(reconfigureCluster, { params, body: { basicInfo: { displayName: 'Two', impersonateUsers: true } } }),
  )
  t.like(changed, { displayName: 'Two' })
  await expectStatus(service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner)), 200)
  const seen = fake.seen.filter(({ headers }) =>
    headers.some(([key, value]) => key === 'impersonate-group' && value === `moorage:org:${home}`),
  )
  t.true(seen.length > 0)
  t.is((await service.send('POST', `/api/v1/clustersv2/${at}/remove`, as(owner, { name: 'other' }))).status, 422)
  t.is((await client.call(removeCluster, { params, query: { notify: 'false' }, body: { name } })).status, 200)
  t.is((await service.send('GET', `/api/v1/clusters/${at}`, as(owner))).status, 404)
  await expectStatus(importCluster(service.send, owner.token, home, name, fake.kubeconfig()), 200)
})

test('invalid access configs are 422 under any field name and change nothing', async (t) => {
  const [own, other] = [await startFakeKubernetes(), await startFakeKubernetes()]
  t.teardown(async () => void (await Promise.all([own.stop(), other.stop()])))
  const { at, name } = await imported(own)
  const connect = (body: object): Promise<ServiceAnswer> =>
    service.send('POST', `/api/v1/clustersv2/${at}/connect`, as(owner, body))
  const unreadable = ['hello', 'apiVersion: v1\nkind: Config\n', '{', Buffer.from(own.kubeconfig()).toString('base64')]
  const wrong: readonly object[] = [
    ...['accessConfig', 'kubeConfig', 'kubeconfig'].flatMap((key) =>
      [...unreadable, other.kubeconfig(), own.kubeconfig({ token: 'wrong' })].map((text) => ({ [key]: text })),
    ),
    { accessConfig: own.kubeconfig(), kubeConfig: other.kubeconfig() },
    { credential: 'unknown' },
    { credential: 'unknown', accessConfig: own.kubeconfig() },
    { name: 'another' },
    { name: 'another', accessConfig: own.kubeconfig() },
    { accessConfig: 7 },
    { kubeConfig: {} },
  ]
  for (const body of wrong) {
    const answer = await connect(body)
    t.is(answer.status, 422, JSON.stringify(body).slice(0, 80))
    t.false(answer.text.includes(own.token))
  }
  t.is((await service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner))).status, 200)
  Object.assign(own, { token: 'fake-rotated' })
  for (const body of [
    { kubeConfig: own.kubeconfig() },
    { name, kubeconfig: own.kubeconfig(), accessConfig: '' },
    { name },
    {},
  ]) {
    t.is((await expectStatus(connect(body), 200)).json.status.phase, 'Active')
    t.is((await service.send('GET', `/api/v1/clusters/${at}/proxy/version`, as(owner))).status, 200)
  }
})

test('client-config leads where its caller reached the service', async (t) => {
  const { params } = await imported()
  const { port } = new URL(service.baseUrl)
  const hosts: readonly (readonly [host: string, server: string])[] = [
    [`LOCALHOST:${port}`, `https://localhost:${port}`],
    ['platform.example:8443', 'https://platform.example:8443'],
    ['platform.example', 'https://platform.example:80'],
  ]
  for (const [host, server] of hosts) {
    const config = await valueOf(client.call(getClientConfig, { params, headers: { host } }))
    t.is(
      parse(config).clusters[0].cluster.server,
      `${server}/api/v1/clusters/${params.owner}/${params.cluster}/proxy`,
      host,
    )
  }
})

test('routes disclose nothing to anonymous callers', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const { org: home, at, name, params } = await imported(own)
  const body = { basicInfo: { name: 'x' }, provider: { accessConfig: own.kubeconfig() } }
  const requests: readonly (readonly [string, string, unknown?])[] = [
    ['GET', `/api/v1/clustersv2/${home}`],
    ['POST', `/api/v1/clustersv2/${home}/check`, body],
    ['POST', `/api/v1/clustersv2/${home}/validate`, body],
    ['POST', `/api/v1/clustersv2/${home}/import`, body],
    ['GET', `/api/v1/clusters/${at}`],
    ['PUT', `/api/v1/clusters/${at}`, { provider: 'Generic', accessConfig: own.kubeconfig() }],
    ['GET', `/api/v1/clusters/${at}/client-config`],
    ['GET', `/api/v1/clustersv2/${at}/status`],
    ['GET', `/api/v1/clustersv2/${at}/exist`],
    ['POST', `/api/v1/clustersv2/${at}/connect`, { accessConfig: own.kubeconfig() }],
    ['POST', `/api/v1/clustersv2/${at}/reconfigure`, { basicInfo: { displayName: 'mine' } }],
    ['POST', `/api/v1/clustersv2/${at}/remove`, {}],
    ['GET', `/api/v1/clusters/${at}/proxy/version`],
    // The stranger's own organization with a name of ours.
    ['GET', `/api/v1/clusters/${otherOrg}/${at.split('/')[1]}`],
    ['GET', `/api/v1/clusters/${otherOrg}/${at.split('/')[1]}/proxy/version`],
  ]
  const seen = own.seen.length
  for (const [method, path, sent] of requests) {
    const answer = await service.send(method, path, as(stranger, sent))
    t.true([403, 404].includes(answer.status), `${method} ${path}: ${answer.status}`)
    t.false(answer.text.includes(own.uid), path)
    t.is((await service.send(method, path, sent === undefined ? {} : { body: sent })).status, 401, path)
  }
  t.is(own.seen.length, seen)
  t.is((await valueOf(client.call(getCluster, { params }))).displayName, name)
})

test('/user/clusters lists own clusters, and with all=true visible ones', async (t) => {
  const member = await people.person('member')
  const outsider = await people.person('outsider')
  const { org: home, name } = await imported()
  await people.teamWithRole(owner, home, [member], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
  await expectStatus(importCluster(service.send, member.token, member.login, 'mine', fake.kubeconfig()), 200)
  const names = async (person: Person, query: { readonly all?: string }) =>
    (await valueOf(clientAs(service, person).call(listUserClusters, { query }))).map((each) => each.name).sort()
  t.deepEqual(await names(member, {}), ['mine'])
  t.deepEqual(await names(member, { all: 'true' }), [name, 'mine'].sort())
  t.deepEqual(await names(member, { all: 'false' }), ['mine'])
  t.deepEqual(await names(outsider, { all: 'true' }), [])
  const confined = await service.tokenFor(member.login, ['read:user'])
  t.is((await service.send('GET', '/api/v1/user/clusters', { token: confined })).status, 403)
})

test('audit rows, logs and answers of changes contain no credential', async (t) => {
  const { org: home, params } = await imported()
  await valueOf(client.call(reconfigureCluster, { params, body: { basicInfo: { displayName: 'Audited' } } }))
  await valueOf(client.call(updateCluster, { params, body: { provider: 'Generic', accessConfig: fake.kubeconfig() } }))
  await valueOf(client.call(removeCluster, { params, body: {} }))
  const audit = await client.call(listOrganizationAudit, { params: { orgname: home } })
  const actions = audit.ok ? audit.value.items.map(({ action }) => action) : []
  for (const action of ['cluster.imported', 'cluster.changed', 'cluster.connected', 'cluster.removed'])
    t.true(actions.includes(action), action)
  for (const text of [audit.text, service.logText()]) {
    t.false(text.includes(fake.token))
    t.false(text.includes(Buffer.from(fake.token).toString('base64')))
  }
})

test('a stored credential needs its key and its own record', async (t) => {
  const first = await imported()
  const second = await imported()
  const store = service.running.container.resolve(ClusterStorePort)
  const sealedOf = async ({ params }: { params: { owner: string; cluster: string } }) => {
    const { id } = await valueOf(client.call(getCluster, { params }))
    return (await store.sealed(id as ClusterId, 1))!
  }
  const [one, other] = [await sealedOf(first), await sealedOf(second)]
  t.false(Buffer.from(one.box).includes(fake.token))
  const box = service.running.container.resolve(SecretBoxPort)
  t.true((await box.open(one.box, credentialPlace(one.ownerId, one.ref))).reveal().includes(fake.token))
  await t.throwsAsync(box.open(one.box, credentialPlace(other.ownerId, other.ref)))
})
