import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { clusterInfoReader } from '../../../adapters/kubernetes/kubeconfig.ts'
import type { Authorizer } from '../../../core/authz/ports.ts'
import { makeSpokeHubs } from '../../../core/clusters/hubs/hub-of-spoke.ts'
import { NotAHub, type Hub, type HubKey, type HubKind, type Hubs } from '../../../core/clusters/hubs/ports.ts'
import type { Cluster } from '../../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../../core/kernel/ids.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'

/** Which hub manages a cluster, when the agents report its UID, and when only the cluster itself says so. */

const kubeconfigOf = (server: string): string => JSON.stringify({ clusters: [{ name: 'hub', cluster: { server } }] })
const secretOf = (server: string): FreeObject => ({ data: { kubeconfig: btoa(kubeconfigOf(server)) } })
const hubServer = 'https://hub.example.com:6443'

interface Case {
  /** Objects of the hub and of the spoke, by `plural/namespace/name`. */
  readonly onHub?: Readonly<Record<string, FreeObject>>
  readonly onSpoke?: Readonly<Record<string, FreeObject>>
  readonly record?: Partial<Cluster>
  readonly others?: readonly Partial<Cluster>[]
}

const ofKind = (objects: Readonly<Record<string, FreeObject>>): Pick<Hub, 'get' | 'list'> => {
  const objectOf = (path: string) => {
    const [, namespace = '', name = ''] = path.split('/')
    return { namespace, name, uid: path, resourceVersion: '1', isDeleting: false, body: objects[path]! }
  }
  return {
    get: async ({ plural }: HubKind, { namespace = '', name }: HubKey) =>
      right(`${plural}/${namespace}/${name}` in objects ? objectOf(`${plural}/${namespace}/${name}`) : undefined),
    list: async ({ plural }: HubKind) => {
      const found = Object.keys(objects).filter((path) => path.startsWith(`${plural}/`))
      return found.length === 0 && plural === 'klusterlets' ? left(NotAHub('not served')) : right(found.map(objectOf))
    },
  }
}

const recordOf = (id: number, name: string, more: Partial<Cluster>): Cluster =>
  ({
    id: id as ClusterId,
    ownerId: 1 as AccountId,
    ownerName: 'org',
    name,
    uid: `uid-${name}`,
    endpoint: `https://${name}.example.com`,
    managers: [],
    hubClusterUid: '',
    managedClusterName: '',
    hasCredential: true,
    ...more,
  }) as Cluster

const fixture = ({ onHub = {}, onSpoke = {}, record = {}, others = [] }: Case) => {
  const hub = recordOf(1, 'hub', { managers: ['OCMHub'], endpoint: hubServer })
  const spoke = recordOf(2, 'spoke', record)
  const records = [hub, spoke, ...others.map((other, index) => recordOf(10 + index, `other-${index}`, other))]
  const authorizer = {
    authorize: async (_principal: unknown, { name }: { name: string }) =>
      right({ objectId: records.find((each) => each.name === name)?.id }),
  } as unknown as Authorizer
  const hubs = {
    open: async () => right(ofKind(onHub)),
    openSpoke: async () => right(ofKind(onSpoke)),
  } as unknown as Hubs
  const found = makeSpokeHubs({
    authorizer,
    clusterInfo: clusterInfoReader,
    clusters: { listOf: async () => records },
    hubs,
  })
  return {
    found,
    spoke,
    call: { principal: {}, signal: new AbortController().signal } as unknown as SignedInCall<never>,
  }
}
const find = async (given: Case): Promise<string | undefined> => {
  const { found, spoke, call } = fixture(given)
  return (await found.find(call, spoke))?.managedClusterName
}
const byAgents = (given: Case): Promise<string | undefined> => {
  const { found, spoke, call } = fixture(given)
  return found.nameByAgents(call, spoke, 'uid-hub')
}

const accepted = (uid?: string): FreeObject => ({
  spec: { hubAcceptsClient: true },
  ...(uid === undefined ? {} : { status: { clusterClaims: [{ name: 'id.k8s.io', value: uid }] } }),
})
const klusterlet = (clusterName: string, more: object = {}): FreeObject => ({ spec: { clusterName, ...more } })
const agentSecret = 'secrets/open-cluster-management-agent/hub-kubeconfig-secret'
const bootstrap = 'secrets/open-cluster-management-agent/bootstrap-hub-kubeconfig'
const plain: Case = {
  onHub: { 'managedclusters//c2': accepted() },
  onSpoke: { 'klusterlets//klusterlet': klusterlet('c2'), [agentSecret]: secretOf(hubServer) },
}

test('a cluster whose agent reports its UID is found by it', async (t) => {
  t.is(
    await find({ onHub: { 'managedclusters//c1': accepted('other'), 'managedclusters//c2': accepted('uid-spoke') } }),
    'c2',
  )
  t.is(await byAgents({ onHub: { 'managedclusters//c2': accepted('uid-spoke') } }), undefined, 'it has no agents')
})

test('a plain spoke is found by the agents on it', async (t) => {
  for (const nameIn of [find, byAgents]) {
    t.is(await nameIn(plain), 'c2')
    t.is(
      await nameIn({
        ...plain,
        onSpoke: { 'klusterlets//klusterlet': klusterlet('c2'), [bootstrap]: secretOf(`${hubServer}/`) },
      }),
      'c2',
    )
    t.is(
      await nameIn({
        ...plain,
        onSpoke: {
          'klusterlets//edge': klusterlet('c2', { namespace: 'agents' }),
          'secrets/agents/hub-kubeconfig-secret': secretOf(hubServer),
        },
      }),
      'c2',
    )
    const published = { data: { kubeconfig: kubeconfigOf('https://public.example.com') } }
    t.is(
      await nameIn({
        onHub: { ...plain.onHub, 'configmaps/kube-public/cluster-info': published },
        onSpoke: { ...plain.onSpoke, [agentSecret]: secretOf('https://public.example.com') },
      }),
      'c2',
    )
    t.is(await nameIn({ ...plain, record: { uid: '' } }), 'c2')
  }
})

const unfound: readonly (readonly [string, Case])[] = [
  [
    'a record without UID, and a cluster without the claim',
    { onHub: { 'managedclusters//c2': accepted() }, record: { uid: '' } },
  ],
  ['a record without UID, and an empty claim', { onHub: { 'managedclusters//c2': accepted('') }, record: { uid: '' } }],
  [
    'agents of another hub',
    { ...plain, onSpoke: { ...plain.onSpoke, [agentSecret]: secretOf('https://elsewhere.example.com') } },
  ],
  ['agents without a kubeconfig', { ...plain, onSpoke: { 'klusterlets//klusterlet': klusterlet('c2') } }],
  [
    'agents with a kubeconfig that is none',
    { ...plain, onSpoke: { ...plain.onSpoke, [agentSecret]: { data: { kubeconfig: '%' } } } },
  ],
  [
    'agents that state the name of a cluster with another UID',
    { ...plain, onHub: { 'managedclusters//c2': accepted('other') } },
  ],
  [
    'agents that state the name of a cluster that another record has',
    { ...plain, others: [{ hubClusterUid: 'uid-hub', managedClusterName: 'c2' }] },
  ],
  ['agents that the hub has not accepted', { ...plain, onHub: { 'managedclusters//c2': { spec: {} } } }],
  ['agents that the hub does not know', { ...plain, onHub: {} }],
  [
    'hosted agents, which manage another cluster',
    {
      ...plain,
      onSpoke: {
        ...plain.onSpoke,
        'klusterlets//klusterlet': klusterlet('c2', { deployOption: { mode: 'SingletonHosted' } }),
      },
    },
  ],
  ['a record without a credential', { ...plain, record: { hasCredential: false } }],
]
for (const [what, given] of unfound) {
  test(`no hub is found for: ${what}`, async (t) => {
    t.is(await find(given), undefined)
    t.is(await byAgents(given), undefined)
  })
}
