import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { getOrMake } from '../kernel/cache.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import { definedFields } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { factsOf } from './connections.ts'
import type { ReadSetOfSpoke } from './hubs/hub-of-spoke.ts'
import type { ClusterApi, ClusterConnections, ClusterStore } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import { impersonation } from '../formats/kubernetes/proxy-headers.ts'
import { impersonated } from './proxy/requests.ts'
import type { Cluster, ClusterConnection, ClusterFacts, ClusterStatus } from './types.ts'

/** The result of one survey of a cluster. */
export type Observation =
  | { readonly kind: 'answered'; readonly facts: ClusterFacts }
  | { readonly kind: 'refused-credential'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }
  /** The result holds for the caller only: through a hub, a cluster sees the caller and may refuse the survey. */
  | { readonly kind: 'refused-caller'; readonly message: string }

/** Returns the status of a recorded cluster after a survey. */
export const judge = (recordedUid: string, seen: Observation): ClusterStatus => {
  if (seen.kind === 'refused-credential' || seen.kind === 'refused-caller')
    return { phase: 'NotConnected', reason: 'AuthIssue', message: seen.message }
  if (seen.kind === 'unreachable') return { phase: 'NotConnected', reason: 'Unknown', message: seen.message }
  if (seen.facts.uid !== recordedUid)
    return { phase: 'Lost', reason: 'ClusterNotFound', message: 'Another cluster answers at the recorded address.' }
  if (!seen.facts.isReady)
    return { phase: 'NotReady', reason: 'Unknown', message: 'The API server answers but reports that it is not ready.' }
  return { phase: 'Active', reason: undefined, message: '' }
}

/** A record without a connection. */
const registered = (message: string): ClusterStatus => ({ phase: 'Registered', reason: 'MissingComponent', message })

export const notImported: ClusterStatus = { phase: 'NotImported', reason: undefined, message: '' }

/** Seconds for which a status counts as current. */
const freshSeconds = 10

/**
 * Surveys a cluster and reads its cluster set from its hub, unless that was done just before, and stores the result.
 * Concurrent requests share one survey.
 */
export const makeRefreshStatus = (deps: {
  readonly clusters: Pick<ClusterStore, 'get' | 'observe' | 'observeSet'>
  readonly readSetOfSpoke: ReadSetOfSpoke
  readonly connections: ClusterConnections
  readonly api: ClusterApi
  readonly clock: Clock
}) => {
  const underWay = new Map<string, Promise<Cluster>>()

  const survey = async (
    { link, credential, via }: ClusterConnection,
    { principal }: SignedInCall<never>,
  ): Promise<Observation> => {
    const as = impersonated({ link, ...definedFields({ via }) }, principal)
    const through = via === undefined || as === undefined ? undefined : { via, headers: impersonation(as) }
    // The caller's signal is not used, because others may wait for the same survey.
    const surveyed = await deps.api.survey(credential, new AbortController().signal, through)
    if (!isLeft(surveyed)) return { kind: 'answered', facts: factsOf(surveyed.right) }
    const { tag, message } = surveyed.left
    if (tag !== 'CredentialRefused') return { kind: 'unreachable', message }
    return { kind: via === undefined ? 'refused-credential' : 'refused-caller', message }
  }

  const keep = async (cluster: Cluster, status: ClusterStatus, facts: ClusterFacts | undefined): Promise<Cluster> => {
    await deps.clusters.observe(cluster.id, status, facts, deps.clock.now())
    return (await deps.clusters.get(cluster.id)) ?? { ...cluster, status }
  }

  const observeSet = async (cluster: Cluster, call: SignedInCall<never>): Promise<void> => {
    const clusterSet = await deps.readSetOfSpoke(call, cluster)
    if (clusterSet !== undefined && clusterSet !== cluster.clusterSetName)
      await deps.clusters.observeSet(cluster.id, clusterSet)
  }

  const look = async (cluster: Cluster, call: SignedInCall<never>): Promise<Cluster> => {
    const opened = await deps.connections.open(cluster.id)
    if (isLeft(opened)) return keep(cluster, registered(opened.left.message), undefined)
    const [seen] = await Promise.all([survey(opened.right, call), observeSet(cluster, call)])
    const status = judge(cluster.uid, seen)
    if (seen.kind === 'refused-caller') return { ...cluster, status }
    return keep(cluster, status, seen.kind === 'answered' && seen.facts.uid === cluster.uid ? seen.facts : undefined)
  }

  const isFresh = ({ checkedAt }: Cluster): boolean =>
    checkedAt !== undefined && Math.abs(deps.clock.now().getTime() - checkedAt.getTime()) < freshSeconds * 1000

  /** Through a hub, the answer may depend on the caller. */
  const sharingKey = ({ id, hasCredential }: Cluster, { principal }: SignedInCall<never>): string =>
    hasCredential ? `${id}` : `${id}/${principal.userId}`

  return async (
    call: SignedInCall<never>,
    { id, evenIfFresh = false }: { readonly id: ClusterId; readonly evenIfFresh?: boolean },
  ): Outcome<Failure<'ClusterMissing'>, Cluster> => {
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(ClusterMissing('The cluster does not exist.'))
    if (isFresh(cluster) && !evenIfFresh) return right(cluster)
    const key = sharingKey(cluster, call)
    return right(await getOrMake(underWay, key, () => look(cluster, call).finally(() => underWay.delete(key))))
  }
}
export type RefreshStatus = ReturnType<typeof makeRefreshStatus>
