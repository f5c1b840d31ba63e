import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubEdit, HubKind, HubObject, Hubs } from '../../clusters/hubs/ports.ts'
import { managedClusterKind, namespaceKind, spokeNameLabel } from '../../clusters/hubs/ports.ts'
import { isAccepted } from '../../clusters/hub-types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import { getOrMake } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { at, isObject, listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { recordChange, recordPart } from '../../kernel/unit-of-work.ts'
import type { CertificateRequestReader, RequestSubject } from './ports.ts'
import { checkSpokeName } from './spoke-names.ts'
import { auditOf } from './spoke-records.ts'

export const signingRequestKind: HubKind = {
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
}

const addOnLabel = 'open-cluster-management.io/addon-name'
const clientSigner = 'kubernetes.io/kube-apiserver-client'
const agentPrefix = 'system:open-cluster-management:'
const sharedOrganization = 'system:open-cluster-management:managed-clusters'

/**
 * The identities with which clusters ask to join: bootstrap tokens, the bootstrap service accounts, and the gRPC server
 * of the hub.
 */
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
  /**
   * Also approves requests that did not come from a bootstrap identity. Their subject must be that of the cluster all
   * the same.
   */
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
  const has = (type: string): boolean =>
    listAt(body, 'status', 'conditions').some((condition) => textAt(condition, 'type') === type)
  if (has('Denied') || has('Failed')) return 'denied'
  return has('Approved') || textAt(body, 'status', 'certificate') !== '' ? 'approved' : 'pending'
}

/** The API server wrote who sent the request into it; the sender has no influence on that. */
const isFromBootstrap = ({ body }: HubObject): boolean =>
  bootstrapUsers.some((user) => user.test(textAt(body, 'spec', 'username'))) &&
  listAt(body, 'spec', 'groups').some((group) => bootstrapGroups.includes(group))

/** Reports whether a subject is that of an agent of this cluster and of nothing else. @internal */
export const isAgentOf = (cluster: string, { commonName, organizations }: RequestSubject): boolean => {
  const group = `${agentPrefix}${cluster}`
  const own = organizations.filter((name) => name !== sharedOrganization)
  return (
    own.length === 1 &&
    own[0] === group &&
    commonName.startsWith(`${group}:`) &&
    /^[^:]+$/.test(commonName.slice(group.length + 1))
  )
}

const isOfAgent = ({ object: { body } }: ReadRequest): boolean =>
  at(body, 'metadata', 'labels', addOnLabel) === undefined && textAt(body, 'spec', 'signerName') === clientSigner

/** The agent sends its request and the ManagedCluster at the same time, in any order. */
const registrationMilliseconds = 60_000

/** The reason of our approvals, which follow the registration of the cluster. */
const ownReason = 'AcceptedByPlatform'

/** Returns when we approved a request, by the clock of the hub; NaN if we did not. */
const approvedByUsAt = ({ body }: Pick<HubObject, 'body'>): number =>
  Date.parse(
    textAt(
      listAt(body, 'status', 'conditions').find((condition) => textAt(condition, 'reason') === ownReason),
      'lastTransitionTime',
    ),
  )

/**
 * Reports whether a request was settled before the cluster registered: it is of a cluster that had the name before and
 * was removed, or of an agent that lost its certificate since. The hub keeps such requests for an hour.
 */
const isOfEarlierCluster = ({ body }: HubObject, registeredAt: string): boolean =>
  stateOf({ body }) !== 'pending' &&
  (approvedByUsAt({ body }) < Date.parse(registeredAt) ||
    Date.parse(textAt(body, 'metadata', 'creationTimestamp')) + registrationMilliseconds < Date.parse(registeredAt))

/**
 * Why a cluster may not join. `isAmbiguous`: several agents ask to join in its name, and it is not known which one is
 * the cluster's.
 */
export interface JoinRefusal {
  readonly reason: string
  readonly isAmbiguous: boolean
}
const refuse = (reason: string, isAmbiguous = false): Either<JoinRefusal, never> => left({ reason, isAmbiguous })

/**
 * Judges the certificate requests that carry the label of a cluster, and returns those to approve: none if one was
 * approved before. Requests of add-ons, for other signers and of an earlier cluster of the name are ignored, and so are
 * requests whose subject is not an agent of the cluster: approving those would create other identities. If several
 * agents ask to join as one cluster, only those that `requesters` names are approved.
 *
 * @internal
 */
export const judgeJoinRequests = (
  { name: cluster, registeredAt }: JoiningCluster,
  found: readonly ReadRequest[],
  rules: JoinRules,
): Either<JoinRefusal, readonly HubObject[]> => {
  const ofAgents = found.filter((request) => isOfAgent(request) && !isOfEarlierCluster(request.object, registeredAt))
  const requests = ofAgents.flatMap(({ object, subject }): readonly JoinRequest[] => {
    const counts =
      subject !== undefined && isAgentOf(cluster, subject) && (rules.skipsApproveCheck || isFromBootstrap(object))
    return counts ? [{ object, agent: subject.commonName, state: stateOf(object) }] : []
  })
  if (rules.skipsApproveCheck && ofAgents.length === 0) return right([])
  if (ofAgents.length === 0) return refuse('It has no join request.')
  if (requests.length === 0)
    return refuse(
      'None of its join requests is that of an agent of this cluster, sent with a bootstrap identity of the hub.',
    )
  return judgeAgents(`${agentPrefix}${cluster}`, requests, rules)
}

const judgeAgents = (
  group: string,
  requests: readonly JoinRequest[],
  { requesters }: JoinRules,
): Either<JoinRefusal, readonly HubObject[]> => {
  const named = requesters.filter((name) => name === group || name.startsWith(`${group}:`))
  const chosen = requests.filter(({ agent }) => named.length === 0 || named.includes(agent) || named.includes(group))
  const pending = chosen.filter(({ state }) => state === 'pending').map(({ object }) => object)
  const agents = new Set(requests.filter(({ state }) => state !== 'denied').map(({ agent }) => agent))
  if (named.length === 0 && agents.size > 1 && pending.length > 0)
    return refuse(
      `Several agents ask to join with this name: ${[...agents].sort().join(', ')}. Name those to approve ` +
        'in requesters.',
      true,
    )
  if (pending.length > 0 || chosen.some(({ state }) => state === 'approved')) return right(pending)
  return refuse(
    chosen.length > 0 ? 'Its join request was denied.' : 'None of the requesters that are named for it asks to join.',
  )
}

/**
 * Some clusters may not join the hub. The others of the request were accepted. `errors` has one entry for each, with
 * the reason.
 */
export const SpokesNotAccepted = defineFailure(
  'SpokesNotAccepted',
  'Unprocessable',
  'Some of the clusters were not accepted; `errors` has a reason for each.',
)

/** One cluster may not join. */
const NotAcceptable = defineFailure(
  'NotAcceptable',
  'Unprocessable',
  'A cluster cannot be accepted; the message says why.',
)
type Refusal = Failure<'NotAcceptable'>

/** A cluster that registers by the identity of its cloud has no certificate request. */
const cloudIdentity = 'agent.open-cluster-management.io/managed-cluster-arn'
const concurrentClusters = 8
/** How many clusters one list of certificate requests is about: its address has their names. */
const clustersInList = 50
/** How often the requests of one cluster are judged and approved before another writer wins. */
const maxAttempts = 5

export interface Acceptance extends JoinRules {
  readonly grant: AccessGrant
  /** DNS-1123 labels. */
  readonly clusters: readonly string[]
}

interface Deps {
  readonly hubs: Hubs
  readonly requests: CertificateRequestReader
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}

/** What was done for one cluster, also if it failed later. */
interface Progress {
  readonly cluster: string
  readonly approved: string[]
  isAccepted: boolean
}
type Step<A> = Outcome<HubChangeFailure | Refusal, A>

const refused = (reason: string): Either<Refusal, never> => left(NotAcceptable(reason))
const deleting = 'It is being deleted.'

/** Returns the request with its approval; the API server takes it only if the request is still as it was read. */
const approval = ({ body }: HubObject, now: Date): FreeObject => {
  const status = isObject(body['status']) ? body['status'] : {}
  const condition = {
    type: 'Approved',
    status: 'True',
    reason: ownReason,
    message: 'The cluster was accepted by the platform.',
    lastUpdateTime: now.toISOString(),
  }
  return {
    ...body,
    status: { ...status, conditions: [...(listAt(body, 'status', 'conditions') as readonly Json[]), condition] },
  }
}

/** What the audit log keeps of the clusters that were changed. */
const entriesOf = (hub: Hub, done: readonly Progress[]) =>
  done
    .filter((each) => each.isAccepted || each.approved.length > 0)
    .map(({ cluster, approved, isAccepted: accepted }) =>
      auditOf(hub, accepted ? 'cluster.spoke_accepted' : 'cluster.spoke_requests_approved', {
        spoke: cluster,
        requests: approved,
      }),
    )

type Listed = ReturnType<Hub['list']>

/**
 * Reads what a hub says about all clusters of a request, with one list for many of them, when the first of them needs
 * it.
 */
const makeBatch = (hub: Hub, clusters: readonly string[]) => {
  const lists = new Map<number, Listed>()
  let leaving: Listed | undefined

  const listRequests = (from: number): Listed =>
    hub.list(signingRequestKind, {
      labelSelector: `${spokeNameLabel} in (${clusters.slice(from, from + clustersInList).join(',')})`,
    })

  return {
    /** Returns the certificate requests with the label of a cluster of the request. */
    async requestsOf(cluster: string): Listed {
      const index = clusters.indexOf(cluster)
      const from = index - (index % clustersInList)
      const listed = await getOrMake(lists, from, () => listRequests(from))
      return isLeft(listed)
        ? listed
        : right(listed.right.filter(({ body }) => textAt(body, 'metadata', 'labels', spokeNameLabel) === cluster))
    },
    /** Returns the namespaces that are being deleted. */
    async leavingNamespaces(): Listed {
      leaving ??= hub.list(namespaceKind, { fieldSelector: 'status.phase=Terminating', isMetadataOnly: true })
      return leaving
    },
  }
}
type Batch = ReturnType<typeof makeBatch>

/**
 * Accepts clusters that ask to join a hub: approves the certificate requests of their agents, and then sets
 * `hubAcceptsClient`. Accepting a spoke again succeeds. If some clusters may not join, the others are accepted all the
 * same.
 */
export const makeAcceptSpokes = ({ hubs, requests, clock, unitOfWork }: Deps) => {
  const readRequests = async (listed: Awaited<Listed>) => {
    if (isLeft(listed)) return listed
    return right(
      await Promise.all(
        listed.right.map(async (object) => ({
          object,
          subject: await requests.subjectOf(textAt(object.body, 'spec', 'request')),
        })),
      ),
    )
  }

  const approve = async (
    hub: Hub,
    batch: Batch,
    rules: JoinRules,
    managed: HubObject,
    progress: Progress,
  ): Step<void> => {
    const { cluster: name } = progress
    const cluster = { name, registeredAt: textAt(managed.body, 'metadata', 'creationTimestamp') }
    for (let attempt = 1; ; attempt += 1) {
      const read = await readRequests(
        await (attempt === 1
          ? batch.requestsOf(name)
          : hub.list(signingRequestKind, { labelSelector: `${spokeNameLabel}=${name}` })),
      )
      if (isLeft(read)) return read
      const judged = judgeJoinRequests(cluster, read.right, rules)
      // A spoke without a request that is to be approved stays a spoke, unless it is unclear which request is its own.
      if (isLeft(judged))
        return isAccepted(managed) && !judged.left.isAmbiguous ? right(undefined) : refused(judged.left.reason)
      let isChanged = false
      for (const object of judged.right) {
        const done = await hub.replaceWithin(signingRequestKind, object, 'approval', approval(object, clock.now()))
        if (isLeft(done) && done.left.tag !== 'HubConflict' && done.left.tag !== 'HubRefused') return done
        if (isLeft(done) && attempt === maxAttempts) return done
        if (isRight(done) && done.right !== undefined) progress.approved.push(object.name)
        // It was approved, denied or removed by another request: all of them are judged again.
        isChanged ||= isLeft(done) || done.right === undefined
      }
      if (!isChanged) return right(undefined)
    }
  }

  const accept = async (hub: Hub, batch: Batch, rules: JoinRules, progress: Progress): Step<void> => {
    const { cluster: name } = progress
    const [cluster, leaving] = await Promise.all([hub.get(managedClusterKind, { name }), batch.leavingNamespaces()])
    if (isLeft(cluster)) return cluster
    if (isLeft(leaving)) return leaving
    if (cluster.right === undefined) return refused('It does not exist on the hub.')
    if (cluster.right.isDeleting) return refused(deleting)
    if (leaving.right.some((namespace) => namespace.name === name))
      return refused('Its namespace on the hub is being deleted.')
    if (at(cluster.right.body, 'metadata', 'annotations', cloudIdentity) === undefined) {
      const named = checkSpokeName(name)
      if (isLeft(named) && !isAccepted(cluster.right)) return refused(named.left.message)
      const approved = await approve(hub, batch, rules, cluster.right, progress)
      if (isLeft(approved)) return approved
    }
    const judge = (object: HubObject): Either<Refusal, HubEdit | undefined> =>
      object.isDeleting
        ? refused(deleting)
        : right(isAccepted(object) ? undefined : { merge: { spec: { hubAcceptsClient: true } } })
    const edited = await hub.edit<Refusal>(managedClusterKind, { name }, judge, cluster.right)
    if (isLeft(edited)) return edited
    if (edited.right === 'missing') return refused('It does not exist on the hub.')
    progress.isAccepted = edited.right === 'changed'
    return right(undefined)
  }

  return async (
    call: SignedInCall,
    { grant, clusters, ...rules }: Acceptance,
  ): Outcome<HubChangeFailure | Failure<'SpokesNotAccepted'>, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const refusals: string[] = []
    const done: Progress[] = []
    let failure: HubChangeFailure | undefined
    const distinct = [...new Set(clusters)]
    const batch = makeBatch(hub, distinct)
    await mapWithin(distinct, concurrentClusters, async (cluster) => {
      // The hub does not answer, or refuses the credential: the others are not read.
      if (failure !== undefined) return
      const progress: Progress = { cluster, approved: [], isAccepted: false }
      done.push(progress)
      const accepted = await accept(hub, batch, rules, progress)
      if (isRight(accepted)) return
      const { tag, message } = accepted.left
      if (tag === 'NotAcceptable' || tag === 'HubRefused' || tag === 'HubConflict')
        refusals.push(`${cluster}: ${message}`)
      else failure = accepted.left
    })
    const entries = entriesOf(hub, done)
    if (failure === undefined && refusals.length === 0) return recordChange(unitOfWork, call, ...entries)
    await recordPart(unitOfWork, call, entries)
    const message =
      distinct.length === 1
        ? `The cluster cannot be accepted. ${refusals[0] ?? ''}`
        : `${refusals.length} of ${distinct.length} clusters cannot be accepted.`
    return left(failure ?? SpokesNotAccepted(message, { errors: refusals.sort() }))
  }
}
