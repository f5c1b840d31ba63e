import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { isAccepted } from '../clusters/hubs/managed-cluster-types.ts'
import type { Hub, HubChangeFailure, HubEdit, HubObject, Hubs } from '../clusters/hubs/ports.ts'
import { managedClusterKind, namespaceKind, spokeNameLabel } from '../clusters/hubs/ports.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { mapWithin } from '../kernel/concurrency.ts'
import { at, isObject, listAt, textAt } from '../kernel/json.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { recordChange, recordPart } from '../kernel/unit-of-work.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOf } from './audit.ts'
import type { JoinRules } from './join-requests.ts'
import { judgeJoinRequests, signingRequestKind } from './join-requests.ts'
import type { CertificateRequestReader } from './ports.ts'

/** Some clusters may not join the hub. The others of the request were accepted. `errors` has one entry for each, with the reason. */
export const SpokesNotAccepted = defineFailure('SpokesNotAccepted', 'Unprocessable')

/** One cluster may not join. */
const NotAcceptable = defineFailure('NotAcceptable', 'Unprocessable')
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
  const condition = { type: 'Approved', status: 'True', reason: 'AcceptedByPlatform', message: 'The cluster was accepted by the platform.', lastUpdateTime: now.toISOString() }
  return { ...body, status: { ...status, conditions: [...(listAt(body, 'status', 'conditions') as readonly Json[]), condition] } }
}

type Listed = ReturnType<Hub['list']>

/** Reads what a hub says about all clusters of a request, with one list for many of them, when the first of them needs it. */
const makeBatch = (hub: Hub, clusters: readonly string[]) => {
  const lists = new Map<number, Listed>()
  let leaving: Listed | undefined

  const listRequests = (from: number): Listed =>
    hub.list(signingRequestKind, { labelSelector: `${spokeNameLabel} in (${clusters.slice(from, from + clustersInList).join(',')})` })

  return {
    /** Returns the certificate requests with the label of a cluster of the request. */
    async requestsOf(cluster: string): Listed {
      const index = clusters.indexOf(cluster)
      const from = index - (index % clustersInList)
      const listing = lists.get(from) ?? listRequests(from)
      lists.set(from, listing)
      const listed = await listing
      return isLeft(listed) ? listed : right(listed.right.filter(({ body }) => textAt(body, 'metadata', 'labels', spokeNameLabel) === cluster))
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
 * Accepts clusters that ask to join a hub: approves the certificate requests of their agents, and then sets `hubAcceptsClient`.
 * Accepting a spoke again succeeds. If some clusters may not join, the others are accepted all the same.
 */
export const makeAcceptSpokes = ({ hubs, requests, clock, unitOfWork }: Deps) => {
  const readRequests = async (listed: Awaited<Listed>) => {
    if (isLeft(listed)) return listed
    return right(await Promise.all(listed.right.map(async (object) => ({ object, subject: await requests.subjectOf(textAt(object.body, 'spec', 'request')) }))))
  }

  const approve = async (hub: Hub, batch: Batch, rules: JoinRules, managed: HubObject, progress: Progress): Step<void> => {
    const { cluster: name } = progress
    const cluster = { name, registeredAt: textAt(managed.body, 'metadata', 'creationTimestamp') }
    for (let attempt = 1; ; attempt += 1) {
      const read = await readRequests(await (attempt === 1 ? batch.requestsOf(name) : hub.list(signingRequestKind, { labelSelector: `${spokeNameLabel}=${name}` })))
      if (isLeft(read)) return read
      const judged = judgeJoinRequests(cluster, read.right, rules)
      // A spoke without a request that is to be approved stays a spoke, unless it is unclear which request is its own.
      if (isLeft(judged)) return isAccepted(managed) && !judged.left.isAmbiguous ? right(undefined) : refused(judged.left.reason)
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
    if (leaving.right.some((namespace) => namespace.name === name)) return refused('Its namespace on the hub is being deleted.')
    if (at(cluster.right.body, 'metadata', 'annotations', cloudIdentity) === undefined) {
      const approved = await approve(hub, batch, rules, cluster.right, progress)
      if (isLeft(approved)) return approved
    }
    const judge = (object: HubObject): Either<Refusal, HubEdit | undefined> =>
      object.isDeleting ? refused(deleting) : right(isAccepted(object) ? undefined : { merge: { spec: { hubAcceptsClient: true } } })
    const edited = await hub.edit<Refusal>(managedClusterKind, { name }, judge, cluster.right)
    if (isLeft(edited)) return edited
    if (edited.right === 'missing') return refused('It does not exist on the hub.')
    progress.isAccepted = edited.right === 'changed'
    return right(undefined)
  }

  return async (call: SignedInCall, { grant, clusters, ...rules }: Acceptance): Outcome<HubChangeFailure | Failure<'SpokesNotAccepted'>, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const refusals: string[] = []
    const done: Progress[] = []
    let failure: HubChangeFailure | undefined
    const distinct = [...new Set(clusters)]
    const batch = makeBatch(hub, distinct)
    await mapWithin(distinct, concurrentClusters, async (cluster) => {
      // The hub does not answer, or refuses the credential: it is not asked for the others.
      if (failure !== undefined) return
      const progress: Progress = { cluster, approved: [], isAccepted: false }
      done.push(progress)
      const accepted = await accept(hub, batch, rules, progress)
      if (isRight(accepted)) return
      const { tag, message } = accepted.left
      if (tag === 'NotAcceptable' || tag === 'HubRefused' || tag === 'HubConflict') refusals.push(`${cluster}: ${message}`)
      else failure = accepted.left
    })
    const entries = done
      .filter((each) => each.isAccepted || each.approved.length > 0)
      .map(({ cluster, approved, isAccepted: accepted }) => auditOf(hub, accepted ? 'cluster.spoke_accepted' : 'cluster.spoke_requests_approved', { spoke: cluster, requests: approved }))
    if (failure === undefined && refusals.length === 0) return recordChange(unitOfWork, call, ...entries)
    await recordPart(unitOfWork, call, entries)
    const message = distinct.length === 1 ? `The cluster cannot be accepted. ${refusals[0] ?? ''}` : `${refusals.length} of ${distinct.length} clusters cannot be accepted.`
    return left(failure ?? SpokesNotAccepted(message, { errors: refusals.sort() }))
  }
}
