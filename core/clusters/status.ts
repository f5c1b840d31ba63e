import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import { factsOf } from './facts.ts'
import type { ClusterApi, ClusterConnections, ClusterStore } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import type { Cluster, ClusterFacts, ClusterStatus } from './types.ts'

/** What one look at a cluster gave. */
export type Observation =
  | { readonly kind: 'answered'; readonly facts: ClusterFacts }
  | { readonly kind: 'refused-credential'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }

/** The state of a recorded cluster after one look at it. */
export const judge = (recordedUid: string, seen: Observation): ClusterStatus => {
  if (seen.kind === 'refused-credential') return { phase: 'NotConnected', reason: 'AuthIssue', message: seen.message }
  if (seen.kind === 'unreachable') return { phase: 'NotConnected', reason: 'Unknown', message: seen.message }
  if (seen.facts.uid !== recordedUid)
    return { phase: 'Lost', reason: 'ClusterNotFound', message: 'Another cluster answers at the recorded address.' }
  if (!seen.facts.isReady)
    return { phase: 'NotReady', reason: 'Unknown', message: 'The API server answers but reports that it is not ready.' }
  return { phase: 'Active', reason: undefined, message: '' }
}

/** A record without a credential waits for someone to connect it. */
export const registered: ClusterStatus = {
  phase: 'Registered',
  reason: 'MissingComponent',
  message: 'No credential is stored; connect the cluster with an access config.',
}

export const notImported: ClusterStatus = { phase: 'NotImported', reason: undefined, message: '' }

/** A status is as good as new for so long. */
const freshSeconds = 10

/** Looks at a cluster now, unless it was looked at just before, and keeps what was seen. Requests at the same time share one look. */
export const makeRefreshStatus = (deps: {
  readonly clusters: Pick<ClusterStore, 'get' | 'observe'>
  readonly connections: ClusterConnections
  readonly api: ClusterApi
  readonly clock: Clock
}) => {
  const underWay = new Map<ClusterId, Promise<Cluster>>()

  const observe = async (cluster: Cluster): Promise<Observation | undefined> => {
    const connection = await deps.connections.open(cluster.id)
    if (isLeft(connection)) return undefined
    // Not the caller's signal: others may be waiting for the same look.
    const survey = await deps.api.survey(connection.right.credential, new AbortController().signal)
    if (!isLeft(survey)) return { kind: 'answered', facts: factsOf(survey.right) }
    const kind = survey.left.tag === 'CredentialRefused' ? 'refused-credential' : 'unreachable'
    return { kind, message: survey.left.message }
  }

  const look = async (cluster: Cluster): Promise<Cluster> => {
    const seen = await observe(cluster)
    const status = seen === undefined ? registered : judge(cluster.uid, seen)
    const facts = seen?.kind === 'answered' && seen.facts.uid === cluster.uid ? seen.facts : undefined
    await deps.clusters.observe(cluster.id, status, facts, deps.clock.now())
    return (await deps.clusters.get(cluster.id)) ?? { ...cluster, status }
  }

  const isFresh = ({ checkedAt }: Cluster): boolean =>
    checkedAt !== undefined && Math.abs(deps.clock.now().getTime() - checkedAt.getTime()) < freshSeconds * 1000

  return async (id: ClusterId, options: { readonly evenIfFresh: boolean } = { evenIfFresh: false }): Outcome<Failure<'ClusterMissing'>, Cluster> => {
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(ClusterMissing('There is no such cluster.'))
    if (isFresh(cluster) && !options.evenIfFresh) return right(cluster)
    const shared = underWay.get(id) ?? look(cluster).finally(() => underWay.delete(id))
    underWay.set(id, shared)
    return right(await shared)
  }
}
export type RefreshStatus = ReturnType<typeof makeRefreshStatus>
