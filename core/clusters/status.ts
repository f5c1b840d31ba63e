import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { Call } from '../kernel/principal.ts'
import { factsOf } from './facts.ts'
import type { ClusterApi, ClusterConnections, ClusterStore } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import type { Cluster, ClusterFacts, ClusterStatus } from './types.ts'

/** The result of one survey of a cluster. */
export type Observation =
  | { readonly kind: 'answered'; readonly facts: ClusterFacts }
  | { readonly kind: 'refused-credential'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }

/** Returns the status of a recorded cluster after a survey. */
export const judge = (recordedUid: string, seen: Observation): ClusterStatus => {
  if (seen.kind === 'refused-credential') return { phase: 'NotConnected', reason: 'AuthIssue', message: seen.message }
  if (seen.kind === 'unreachable') return { phase: 'NotConnected', reason: 'Unknown', message: seen.message }
  if (seen.facts.uid !== recordedUid)
    return { phase: 'Lost', reason: 'ClusterNotFound', message: 'Another cluster answers at the recorded address.' }
  if (!seen.facts.isReady)
    return { phase: 'NotReady', reason: 'Unknown', message: 'The API server answers but reports that it is not ready.' }
  return { phase: 'Active', reason: undefined, message: '' }
}

/** A record without a credential, which is not connected yet. */
const registered: ClusterStatus = {
  phase: 'Registered',
  reason: 'MissingComponent',
  message: 'No credential is stored; connect the cluster with an access config.',
}

export const notImported: ClusterStatus = { phase: 'NotImported', reason: undefined, message: '' }

/** Seconds for which a status counts as current. */
const freshSeconds = 10

/** Surveys a cluster, unless it was surveyed just before, and stores the result. Concurrent requests share one survey. */
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
    // The caller's signal is not used, because others may wait for the same survey.
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

  return async (
    _call: Call<never>,
    { id, evenIfFresh = false }: { readonly id: ClusterId; readonly evenIfFresh?: boolean },
  ): Outcome<Failure<'ClusterMissing'>, Cluster> => {
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(ClusterMissing('The cluster does not exist.'))
    if (isFresh(cluster) && !evenIfFresh) return right(cluster)
    const shared = underWay.get(id) ?? look(cluster).finally(() => underWay.delete(id))
    underWay.set(id, shared)
    return right(await shared)
  }
}
export type RefreshStatus = ReturnType<typeof makeRefreshStatus>
