import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { HubKind, HubObject } from '../clusters/hubs/ports.ts'
import { at, listAt, textAt } from '../kernel/json.ts'
import type { RequestSubject } from './ports.ts'

export const signingRequestKind: HubKind = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', plural: 'certificatesigningrequests' }

const addOnLabel = 'open-cluster-management.io/addon-name'
const clientSigner = 'kubernetes.io/kube-apiserver-client'
const agentPrefix = 'system:open-cluster-management:'
const sharedOrganization = 'system:open-cluster-management:managed-clusters'

/** The identities with which clusters ask to join: bootstrap tokens, the bootstrap service accounts, and the gRPC server of the hub. */
const bootstrapUsers = [
  /^system:bootstrap:/,
  /^system:serviceaccount:open-cluster-management:(?:agent-registration-bootstrap|cluster-bootstrap)$/,
  /^system:serviceaccount:open-cluster-management-hub:grpc-server-sa$/,
]
const bootstrapGroups: readonly unknown[] = [
  'system:bootstrappers:managedcluster',
  'system:serviceaccounts:open-cluster-management',
  'system:serviceaccounts:open-cluster-management-hub',
]

/** How the join requests of a cluster are judged. */
export interface JoinRules {
  /** Also approves requests that did not come from a bootstrap identity. Their subject must be that of the cluster all the same. */
  readonly skipsApproveCheck: boolean
  /** The common names of the agents that may join, of any cluster. */
  readonly requesters: readonly string[]
}

/** A cluster that asks to join. */
export interface JoiningCluster {
  readonly name: string
  /** When the hub got its ManagedCluster, as the API server wrote it. */
  readonly registeredAt: string
}

/** A certificate request and its subject; undefined if that cannot be read. */
export interface ReadRequest {
  readonly object: HubObject
  readonly subject: RequestSubject | undefined
}

interface JoinRequest {
  readonly object: HubObject
  readonly agent: string
  readonly state: 'pending' | 'approved' | 'denied'
}

const stateOf = ({ body }: Pick<HubObject, 'body'>): JoinRequest['state'] => {
  const has = (type: string): boolean => listAt(body, 'status', 'conditions').some((condition) => textAt(condition, 'type') === type)
  if (has('Denied') || has('Failed')) return 'denied'
  return has('Approved') || textAt(body, 'status', 'certificate') !== '' ? 'approved' : 'pending'
}

/** The API server wrote who sent the request into it; the sender has no influence on that. */
const isFromBootstrap = ({ body }: HubObject): boolean =>
  bootstrapUsers.some((user) => user.test(textAt(body, 'spec', 'username'))) && listAt(body, 'spec', 'groups').some((group) => bootstrapGroups.includes(group))

/** Reports whether a subject is that of an agent of this cluster and of nothing else. */
export const isAgentOf = (cluster: string, { commonName, organizations }: RequestSubject): boolean => {
  const group = `${agentPrefix}${cluster}`
  const own = organizations.filter((name) => name !== sharedOrganization)
  return own.length === 1 && own[0] === group && commonName.startsWith(`${group}:`) && /^[^:]+$/.test(commonName.slice(group.length + 1))
}

const isOfAgent = ({ object: { body } }: ReadRequest): boolean =>
  at(body, 'metadata', 'labels', addOnLabel) === undefined && textAt(body, 'spec', 'signerName') === clientSigner

/** The agent sends its request and the ManagedCluster at the same time, in any order. */
const registrationMilliseconds = 60_000

/**
 * Reports whether a request was settled before the cluster registered: it is of a cluster that had the name before and was removed, or
 * of an agent that lost its certificate since. The hub keeps such requests for an hour.
 */
const isOfEarlierCluster = ({ body }: HubObject, registeredAt: string): boolean =>
  stateOf({ body }) !== 'pending' && Date.parse(textAt(body, 'metadata', 'creationTimestamp')) + registrationMilliseconds < Date.parse(registeredAt)

/** Why a cluster may not join. `isAmbiguous`: several agents ask to join in its name, and it is not known which one is the cluster's. */
export interface JoinRefusal {
  readonly reason: string
  readonly isAmbiguous: boolean
}
const refuse = (reason: string, isAmbiguous = false): Either<JoinRefusal, never> => left({ reason, isAmbiguous })

/**
 * Judges the certificate requests that carry the label of a cluster, and returns those to approve: none if one was approved
 * before. Requests of add-ons, for other signers and of an earlier cluster of the name are ignored, and so are requests whose subject is
 * not an agent of the cluster: approving those would create other identities. If several agents ask to join as one cluster, only those that `requesters` names are
 * approved.
 */
export const judgeJoinRequests = (
  { name: cluster, registeredAt }: JoiningCluster,
  found: readonly ReadRequest[],
  rules: JoinRules,
): Either<JoinRefusal, readonly HubObject[]> => {
  const ofAgents = found.filter((request) => isOfAgent(request) && !isOfEarlierCluster(request.object, registeredAt))
  const requests = ofAgents.flatMap(({ object, subject }): readonly JoinRequest[] => {
    const counts = subject !== undefined && isAgentOf(cluster, subject) && (rules.skipsApproveCheck || isFromBootstrap(object))
    return counts ? [{ object, agent: subject.commonName, state: stateOf(object) }] : []
  })
  if (rules.skipsApproveCheck && ofAgents.length === 0) return right([])
  if (ofAgents.length === 0) return refuse('It has no join request.')
  if (requests.length === 0) return refuse('None of its join requests is that of an agent of this cluster, sent with a bootstrap identity of the hub.')
  return judgeAgents(`${agentPrefix}${cluster}`, requests, rules)
}

const judgeAgents = (group: string, requests: readonly JoinRequest[], { requesters, skipsApproveCheck }: JoinRules): Either<JoinRefusal, readonly HubObject[]> => {
  const named = requesters.filter((name) => name === group || name.startsWith(`${group}:`))
  const chosen = requests.filter(({ agent }) => named.length === 0 || named.includes(agent) || named.includes(group))
  const pending = chosen.filter(({ state }) => state === 'pending').map(({ object }) => object)
  const agents = new Set(requests.filter(({ state }) => state !== 'denied').map(({ agent }) => agent))
  if (!skipsApproveCheck && named.length === 0 && agents.size > 1 && pending.length > 0)
    return refuse(`Several agents ask to join with this name: ${[...agents].sort().join(', ')}. Name those to approve in requesters.`, true)
  if (pending.length > 0 || chosen.some(({ state }) => state === 'approved')) return right(pending)
  return refuse(chosen.length > 0 ? 'Its join request was denied.' : 'None of the requesters that are named for it asks to join.')
}
