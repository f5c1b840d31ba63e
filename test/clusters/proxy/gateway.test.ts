// process: waiting - uses components
import { isLeft } from 'fp-ts/lib/Either.js'
import { ClusterStorePort } from '../../../core/clusters/ports.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import { kubectl, kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { untilAllowed } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import { runCommand } from '../../support/components/run-command.ts'
import { startStubKubelet, type StubKubelet } from '../../support/components/stub-kubelet.ts'
import type { GatewayHub, HubRequest } from '../../support/hub/gateway/troubled-hub.ts'
import { startGatewayHub } from '../../support/hub/gateway/troubled-hub.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { newCluster } from '../cluster-store.suite.ts'
import { clientKubeconfig, expectStatus, importCluster, makePeople, type Person } from '../cluster-fixture.ts'

/** Spokes without a credential of their own, behind a hub with a cluster gateway, in front of a real kube-apiserver. */
const test = needing('kubernetes', 'kubelet', 'kubectl')

const gatewayRoot = '/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways'
const connecting = ['view clusters', 'connect to clusters'].map((action) => ({ namespace: 'cluster_mgmt', action }))

let cluster: ControlPlaneAccess
let kubelet: StubKubelet
let service: TestService
let people: ReturnType<typeof makePeople>
const endings: (() => void | Promise<void>)[] = []

test.before(async () => {
  cluster = (await kubernetes())!
  kubelet = await startStubKubelet(cluster)
  endings.push(() => kubelet.stop())
  service = await startService()
  endings.push(() => service.stop())
  people = makePeople(service)
})
test.after.always(async () => {
  for (const end of endings.toReversed()) await end()
})

interface Place {
  readonly hub: GatewayHub
  readonly owner: Person
  readonly ownerId: number
  readonly org: string
  readonly orgId: number
  readonly namespace: string
}

/** Creates a record without a credential, as an import through a hub does. */
const plantSpoke = async (
  { hub, orgId }: Pick<Place, 'hub' | 'orgId'>,
  name: string,
  changes: Parameters<typeof newCluster>[0] = {},
): Promise<ClusterId> => {
  const uid = ((await cluster.request('GET', '/api/v1/namespaces/kube-system')).body as { metadata: { uid: string } })
    .metadata.uid
  const planted = await service.running.container.resolve(ClusterStorePort).insert(
    newCluster({
      ownerId: orgId as never,
      name,
      uid,
      hubClusterUid: hub.uid,
      managedClusterName: 'reef',
      impersonatesUsers: false,
      checkedAt: undefined,
      importedBy: undefined,
      ref: `ref-${hub.uid}-${name}`,
      sealedCredential: undefined,
      ...changes,
    }),
  )
  if (isLeft(planted)) throw new Error(planted.left.message)
  return planted.right.id
}

/** Lets a user of the hub do everything in a namespace of the spoke. */
const allow = async (hub: GatewayHub, userId: number, namespace: string): Promise<void> => {
  const user = hub.nameOnSpoke(`ace.user.${userId}`)
  const binding = {
    metadata: { name: `user-${userId}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  }
  const { status } = await cluster.request(
    'POST',
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
    binding,
  )
  if (status !== 201) throw new Error(`the binding was answered with ${status}`)
  await untilAllowed(cluster, user, { namespace, verb: 'create', resource: 'configmaps' })
}

const idOf = async (person: Person): Promise<number> =>
  (await expectStatus(service.send('GET', '/api/v1/user', { token: person.token }), 200)).json.id as number

/** An organization with a hub, a spoke `spoke` behind it, and a namespace there for the owner. */
const place = async (end: (run: () => Promise<void>) => void): Promise<Place> => {
  const hub = await startGatewayHub(cluster)
  end(() => hub.stop())
  hub.clusters.add('reef')
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  const [ownerId, orgId] = [
    await idOf(owner),
    (await expectStatus(service.send('GET', `/api/v1/orgs/${org}`, { token: owner.token }), 200)).json.id as number,
  ]
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', hub.kubeconfig()), 200)
  const namespace = await cluster.createNamespace()
  await allow(hub, ownerId, namespace)
  await plantSpoke({ hub, orgId }, 'spoke')
  return { hub, owner, ownerId, org, orgId, namespace }
}

const through = (
  { org }: Place,
  person: Person,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1/clusters/${org}/spoke/proxy${path}`, {
    token: person.token,
    headers,
    ...(body === undefined ? {} : { body }),
  })
const gatewayRequests = ({ hub }: Place): readonly HubRequest[] =>
  hub.seen.filter(({ url }) => url.startsWith(gatewayRoot))
const spokeStatus = ({ org }: Place, person: Person): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clustersv2/${org}/spoke/status`, { token: person.token })

test('gateway requests carry hub credential and caller, no client headers', async (t) => {
  const at = await place(t.teardown)
  const { owner, ownerId, orgId, hub, namespace } = at
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const created = await through(
    at,
    owner,
    'POST',
    path,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'chart' }, data: { tide: 'low' } },
    { 'X-Remote-User': 'root' },
  )
  t.is(created.status, 201, created.text)
  for (const name of [
    'Impersonate-User',
    'Impersonate-Group',
    'Impersonate-Uid',
    'Impersonate-Extra-ace.appscode.com%2Forg-id',
  ])
    t.is((await through(at, owner, 'GET', path, undefined, { [name]: '1' })).status, 403, name)
  t.is(
    (
      await through(
        at,
        owner,
        'PATCH',
        `${path}/chart`,
        { data: { tide: 'high' } },
        { 'Content-Type': 'application/merge-patch+json' },
      )
    ).json.data.tide,
    'high',
  )
  t.is((await through(at, owner, 'GET', `${path}/chart`)).json.data.tide, 'high')
  t.deepEqual(((await cluster.request('GET', `${path}/chart`)).body as { data: object }).data, { tide: 'high' })
  const sent = gatewayRequests(at)
  t.deepEqual(
    sent.map(({ method, url }) => `${method} ${url}`),
    [
      `POST ${gatewayRoot}/reef/proxy${path}`,
      `PATCH ${gatewayRoot}/reef/proxy${path}/chart`,
      `GET ${gatewayRoot}/reef/proxy${path}/chart`,
    ],
  )
  for (const { headers } of sent) {
    t.is(headers['authorization'], `Bearer ${hub.token}`)
    t.deepEqual(
      Object.entries(headers)
        .filter(([name]) => name.startsWith('impersonate-'))
        .sort(),
      [
        ['impersonate-extra-ace.appscode.com%2forg-id', `${orgId}`],
        ['impersonate-user', `ace.user.${ownerId}`],
      ],
    )
  }
})

test("platform rights open a spoke, and the spoke's rights limit the caller", async (t) => {
  const at = await place(t.teardown)
  const [member, connector, stranger] = [
    await people.person('member'),
    await people.person('connector'),
    await people.person('stranger'),
  ]
  await people.teamWithRole(at.owner, at.org, [member], connecting.slice(0, 1))
  await people.teamWithRole(at.owner, at.org, [connector], connecting)
  const path = `/api/v1/namespaces/${at.namespace}/configmaps`
  t.is((await through(at, member, 'GET', path)).status, 403)
  t.is((await through(at, stranger, 'GET', path)).status, 404)
  t.deepEqual(gatewayRequests(at), [])
  const denied = await through(at, connector, 'GET', path)
  t.is(denied.status, 403)
  t.is(denied.json.reason, 'Forbidden')
  await allow(at.hub, await idOf(connector), at.namespace)
  t.is((await through(at, connector, 'GET', path)).status, 200)
})

test('a hub of another account is not used, whatever UID a record names', async (t) => {
  const [mine, theirs] = [await place(t.teardown), await place(t.teardown)]
  await plantSpoke({ hub: theirs.hub, orgId: mine.orgId }, 'borrowed')
  const seen = theirs.hub.seen.length
  const answer = await service.send('GET', `/api/v1/clusters/${mine.org}/borrowed/proxy/version`, {
    token: mine.owner.token,
  })
  t.is(answer.status, 500)
  t.regex(answer.json.message, /import the hub/)
  t.is(theirs.hub.seen.length, seen)
})

test('a hub that is its own spoke or lacks a credential is not used', async (t) => {
  const at = await place(t.teardown)
  await plantSpoke(at, 'itself', { uid: at.hub.uid })
  const uid = 'hub-without-credential'
  await plantSpoke(at, 'bare-hub', { uid, hubClusterUid: at.hub.uid, managedClusterName: 'reef' })
  await plantSpoke(at, 'behind', { uid: 'behind', hubClusterUid: uid })
  await plantSpoke(at, 'misnamed', { uid: 'misnamed', managedClusterName: '..' })
  for (const name of ['itself', 'behind', 'misnamed']) {
    const answer = await service.send('GET', `/api/v1/clusters/${at.org}/${name}/proxy/version`, {
      token: at.owner.token,
    })
    t.is(answer.status, 500, name)
    t.regex(answer.json.message, /store an access config/, name)
  }
  t.deepEqual(gatewayRequests(at), [])
})

test("a hub's replaced credential applies from the next request", async (t) => {
  const at = await place(t.teardown)
  const { hub, owner, org } = at
  const path = `/api/v1/namespaces/${at.namespace}/configmaps`
  t.is((await through(at, owner, 'GET', path)).status, 200)
  const former = hub.token
  hub.token = 'replaced-token'
  const refused = await through(at, owner, 'GET', path)
  t.is(refused.status, 500)
  t.regex(refused.json.message, /The hub refused the stored credential/)
  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${org}/hub/connect`, {
      token: owner.token,
      body: { accessConfig: hub.kubeconfig() },
    }),
    200,
  )
  const before = hub.seen.length
  t.is((await through(at, owner, 'GET', path)).status, 200)
  t.false(hub.seen.slice(before).some(({ headers }) => headers['authorization'] === `Bearer ${former}`))
  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${org}/hub/remove`, { token: owner.token, body: {} }),
    200,
  )
  const [gone, seen] = [await through(at, owner, 'GET', path), hub.seen.length]
  t.regex(gone.json.message, /import the hub/)
  t.is(hub.seen.length, seen)
})

test('a credential of its own, stored later, is used instead of the hub', async (t) => {
  const at = await place(t.teardown)
  const path = `/api/v1/namespaces/${at.namespace}/configmaps`
  t.is((await through(at, at.owner, 'GET', path)).status, 200)
  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${at.org}/spoke/connect`, {
      token: at.owner.token,
      body: { accessConfig: cluster.kubeconfig() },
    }),
    200,
  )
  const seen = at.hub.seen.length
  t.is((await through(at, at.owner, 'GET', '/api/v1/namespaces/kube-system')).status, 200)
  t.is(at.hub.seen.length, seen)
})

test('each failure on the way is named, and answers of the spoke pass', async (t) => {
  const at = await place(t.teardown)
  const { hub, owner } = at
  const path = `/api/v1/namespaces/${at.namespace}/configmaps`
  const expectFailure = async (message: RegExp): Promise<void> => {
    const { status, json } = await through(at, owner, 'GET', path)
    t.is(status, 500)
    t.is(json.kind, 'Status')
    t.regex(json.message, message)
  }
  hub.trouble = 'no-gateway'
  await expectFailure(/does not serve gateway\.open-cluster-management\.io\. Install the cluster gateway/)
  hub.trouble = 'gateway-down'
  await expectFailure(/cluster gateway of the hub does not answer/)
  hub.trouble = 'may-not-impersonate'
  await expectFailure(/may not impersonate users/)
  hub.trouble = 'gateway-credential-refused'
  await expectFailure(/refused the credential of the cluster gateway/)
  hub.trouble = 'none'
  hub.clusters.delete('reef')
  await expectFailure(/does not know the cluster reef/)
  hub.clusters.add('reef')
  const missing = await through(at, owner, 'GET', `${path}/absent`)
  t.deepEqual([missing.status, missing.json.reason], [404, 'NotFound'])
  const noGroup = await through(at, owner, 'GET', `/apis/no.such.group/v1/namespaces/${at.namespace}/things`)
  t.deepEqual([noGroup.status, noGroup.text], [404, '404 page not found\n'])
  const denied = await through(at, owner, 'GET', '/api/v1/nodes')
  t.deepEqual([denied.status, denied.json.reason], [403, 'Forbidden'])
  await hub.stop()
  await expectFailure(/through its hub\. The hub cannot be reached from here/)
})

test('a refusal to one caller is not stored as the status of a spoke', async (t) => {
  const at = await place(t.teardown)
  const refused = await expectStatus(spokeStatus(at, at.owner), 200)
  t.deepEqual([refused.json.status.phase, refused.json.status.reason], ['NotConnected', 'AuthIssue'], refused.text)
  const stored = await service.send('GET', `/api/v1/clusters/${at.org}/spoke`, { token: at.owner.token })
  t.is(stored.json.status.phase, 'Active')
  await allow(at.hub, at.ownerId, 'kube-system')
  t.teardown(() =>
    cluster.request(
      'DELETE',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/user-${at.ownerId}`,
    ),
  )
  const surveyed = await expectStatus(spokeStatus(at, at.owner), 200)
  t.is(surveyed.json.status.phase, 'Active', surveyed.text)
  t.true(gatewayRequests(at).every(({ headers }) => headers['impersonate-user'] === `ace.user.${at.ownerId}`))
  at.hub.trouble = 'no-gateway'
  const lost = await until('a new survey', async () => {
    const { json } = await spokeStatus(at, at.owner)
    return json.status.phase === 'Active' ? undefined : json.status
  })
  t.is(lost.phase, 'NotConnected')
})

test('paths cannot leave the cluster', async (t) => {
  const at = await place(t.teardown)
  const outside = ['/api/..%2f..%2f..%2fother', '/api/v1/namespaces/a%2F..%2F..', '/api//v1', '/api/v1/%5c..%5c']
  for (const path of outside) t.is((await through(at, at.owner, 'GET', path)).status, 400, path)
  t.deepEqual(gatewayRequests(at), [])
})

test('helm releases are read through the gateway', async (t) => {
  const at = await place(t.teardown)
  const listed = await service.send(
    'GET',
    `/api/v1/clusters/${at.org}/spoke/helm/v3/releases?namespace=${at.namespace}`,
    { token: at.owner.token },
  )
  t.is(listed.status, 200, listed.text)
  t.true(gatewayRequests(at).length > 0)
})

test('kubectl works with the client-config of a spoke, and removal ends watches', async (t) => {
  const at = await place(t.teardown)
  const { namespace, owner, org, hub } = at
  const path = (await kubectl())!
  const file = await clientKubeconfig(service, owner, org, 'spoke')
  t.teardown(file.remove)
  const run = (words: readonly string[], input?: string) =>
    runCommand(path, ['--kubeconfig', file.path, '--namespace', namespace, ...words], {
      timeoutMilliseconds: 60_000,
      ...(input === undefined ? {} : { input }),
    })
  const applied = await run(
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'chart' }, data: { depth: '3' } }),
  )
  t.is(applied.stdout, 'configmap/chart created\n', applied.stderr)
  await kubelet.runPod(namespace, 'web')
  const executed = await run(['exec', '-i', 'web', '--', 'cat'], 'through the gateway')
  t.is(executed.stdout, 'through the gateway', executed.stderr)
  const watch = (name: string) =>
    fetch(
      `${service.baseUrl}/api/v1/clusters/${org}/${name}/proxy/api/v1/namespaces/${namespace}/configmaps?watch=true`,
      { headers: { Authorization: `Bearer ${owner.token}` } },
    )
  const [ofSpoke, ofHub] = [await watch('spoke'), await watch('hub')]
  const readers = [ofSpoke, ofHub].map((answer) => answer.body!.getReader())
  for (const reader of readers) t.regex(Buffer.from((await reader.read()).value!).toString(), /"chart"/)
  // A change of the record of the hub, or of the spoke, ends nothing that is under way.
  for (const name of ['hub', 'spoke'])
    await expectStatus(
      service.send('POST', `/api/v1/clustersv2/${org}/${name}/reconfigure`, {
        token: owner.token,
        body: { basicInfo: { displayName: 'Renamed' } },
      }),
      200,
    )
  t.is((await through(at, owner, 'GET', `/api/v1/namespaces/${namespace}/configmaps/chart`)).status, 200)
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'between' } })
  for (const reader of readers) t.regex(Buffer.from((await reader.read()).value!).toString(), /"between"/)
  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${org}/spoke/remove`, { token: owner.token, body: {} }),
    200,
  )
  await t.throwsAsync(
    async () => {
      while (!(await readers[0]!.read()).done);
      throw new Error('the watch ended as if it were whole')
    },
    { message: /terminated|aborted/ },
  )
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'later' } })
  let seen = ''
  while (!seen.includes('"later"')) seen += Buffer.from((await readers[1]!.read()).value!).toString()
  await readers[1]!.cancel()
  await until('the exchanges to end', () => (hub.openExchanges() === 0 ? true : undefined))
  t.pass()
})
