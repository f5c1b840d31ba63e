import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { ClusterUnreachable, CredentialRefused, type ClusterAnswer, type ReachFailure } from '../../core/clusters/ports.ts'
import type { ClusterSurvey, NodeFacts } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'

/** Asks for one path. */
export type Get = (target: string) => Outcome<ReachFailure, ClusterAnswer>

const Namespace = t.type({ metadata: t.type({ uid: t.string }) })
const Version = t.type({ gitVersion: t.string })
const Groups = t.type({ groups: t.array(t.type({ name: t.string })) })
const Resources = t.type({ resources: t.array(t.type({ name: t.string, kind: t.string })) })
const Nodes = t.type({
  metadata: t.partial({ remainingItemCount: t.number }),
  items: t.array(
    t.type({
      metadata: t.partial({ labels: t.record(t.string, t.string) }),
      spec: t.union([t.partial({ providerID: t.string }), t.undefined]),
    }),
  ),
})
const Items = t.type({ items: t.array(t.unknown) })

/** Nodes of one kind of machine look alike, and each is tens of kilobytes. */
const nodeSample = 20
const hubGroup = 'cluster.open-cluster-management.io'
const agentGroup = 'operator.open-cluster-management.io'

const read = <A>(codec: t.Type<A, unknown, unknown>, answer: Either<ReachFailure, ClusterAnswer>): A | undefined => {
  if (isLeft(answer) || answer.right.status !== 200) return undefined
  const decoded = codec.decode(answer.right.json)
  return isLeft(decoded) ? undefined : decoded.right
}

/** Kubernetes makes UUIDs; the column takes so much of ASCII. */
const uidPattern = /^[\x21-\x7e]{1,64}$/

const uidOf = (answer: ClusterAnswer): Either<ReachFailure, string> => {
  const namespace = read(Namespace, right(answer))
  if (namespace !== undefined && uidPattern.test(namespace.metadata.uid)) return right(namespace.metadata.uid)
  if (answer.status === 403)
    return left(CredentialRefused('The credential may not read the namespace kube-system, whose UID identifies the cluster.'))
  return left(ClusterUnreachable('What answers at that address is not a Kubernetes API server.'))
}

const nodesOf = (nodes: t.TypeOf<typeof Nodes> | undefined): readonly NodeFacts[] =>
  (nodes?.items ?? []).map((node) => ({ providerId: node.spec?.providerID ?? '', labels: node.metadata.labels ?? {} }))

/** Looks at a cluster. Only the identity is demanded; whatever else may not be read is taken as absent. */
export const survey = async (get: Get): Outcome<ReachFailure, ClusterSurvey> => {
  const first = await get('/api/v1/namespaces/kube-system')
  if (isLeft(first)) return first
  const uid = uidOf(first.right)
  if (isLeft(uid)) return uid
  const [version, ready, groupList, apps] = await Promise.all([get('/version'), get('/readyz'), get('/apis'), get('/apis/apps/v1')])
  const groups = read(Groups, groupList)?.groups.map((group) => group.name) ?? []
  const servesDeployments = read(Resources, apps)?.resources.some(({ name }) => name === 'deployments') ?? false
  const [nodes, hub, agents] = await Promise.all([
    get(`/api/v1/nodes?limit=${nodeSample}`),
    groups.includes(hubGroup) ? get(`/apis/${hubGroup}/v1`) : undefined,
    groups.includes(agentGroup) ? get(`/apis/${agentGroup}/v1/klusterlets?limit=1`) : undefined,
  ])
  const listed = read(Nodes, nodes)
  return right({
    uid: uid.right,
    kubernetesVersion: (read(Version, version)?.gitVersion ?? '').replace(/[^\x21-\x7e]/g, '').slice(0, 64),
    isReady: !isLeft(ready) && ready.right.status === 200,
    nodes: nodesOf(listed),
    nodeCount: (listed?.items.length ?? 0) + (listed?.metadata.remainingItemCount ?? 0),
    groups,
    servesManagedClusters: hub !== undefined && (read(Resources, hub)?.resources.some(({ kind }) => kind === 'ManagedCluster') ?? false),
    servesDeployments,
    hasKlusterlet: agents !== undefined && (read(Items, agents)?.items.length ?? 0) > 0,
  })
}
