import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { Unavailable } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call, OwnCall, SignedInCall } from '../../kernel/principal.ts'
import { token } from '../../kernel/token.ts'
import { hourStart, monthOf, secondOf } from '../month.ts'
import type { UnixSeconds, UsageClusterId } from '../types.ts'
import { maxEvents, parseClusterUid, parseEvent } from './event-rules.ts'
import { makeGroupCommit } from './group-commit.ts'
import type { Verdict } from './plan.ts'
import type { UsageClusterStore } from './ports.ts'
import { UsageClusterUnknown, UsageEventsInvalid } from './ports.ts'
import type { RecentlyHeard } from './recently-heard.ts'
import type { ClusterEvents, RecordEvents } from './recording.ts'
import type { EventRefusal, EventResult, RefusalReason, ReportedEvent, UsageEvent } from './types.ts'

/** Events of one cluster of an owner. */
export interface EventReport {
  readonly ownerId: AccountId
  readonly clusterUid: string
  /** 1 to 1,000. */
  readonly events: readonly ReportedEvent[]
}

export type ReportFailure = Failure<'UsageClusterUnknown'> | Failure<'UsageEventsInvalid'>
type Verdicts = readonly (readonly Verdict[])[]

/** What became of events in this process, for the metrics. */
export type EventTally = Record<'accepted' | 'repeated' | RefusalReason | 'terminated', number>
export const UsageEventTallyToken = token<EventTally>('usage.EventTally')
export const newEventTally = (): EventTally => ({ accepted: 0, repeated: 0, invalid: 0, 'too-early': 0, 'too-late': 0, conflict: 0, terminated: 0 })

/** Records reports, from a request or from the message bus. An event that is refused changes nothing and does not concern the others. */
export interface EventReports {
  /** Records a report with others that arrive at the same time. Resolves after the commit. Throws `Unavailable`. */
  record(report: EventReport): Outcome<ReportFailure, readonly EventResult[]>
  /** Records the report of a request. Under an Idempotency-Key it has a transaction of its own, which stores the answer. */
  recordFor(call: SignedInCall<readonly EventResult[]>, report: EventReport): Outcome<ReportFailure, readonly EventResult[]>
}
export const EventReportsToken = token<EventReports>('usage.EventReports')

export interface ReportDeps {
  readonly clusters: Pick<UsageClusterStore, 'isKnown' | 'ensure'>
  readonly clock: Clock
  readonly caches: Caches
  readonly ownCall: OwnCall
  readonly recent: RecentlyHeard
  readonly recordEvents: RecordEvents
  readonly tally: EventTally
  /** How many transactions may be under way at the same time. */
  readonly transactions: number
}

type Parsed = readonly Either<EventRefusal, UsageEvent>[]

/** For this long a cluster that was known is not looked up again. */
const knownMilliseconds = 60_000
const maxKnown = 20_000
const maxGroup = 2000

export const makeEventReports = (deps: ReportDeps): EventReports => {
  const { clock, recent, recordEvents, ownCall, tally, transactions } = deps
  const clusterOf = makeClusterOf(deps)
  const group = makeGroupCommit<ClusterEvents, readonly Verdict[]>({
    run: (batches) => recordEvents(ownCall('usage.recordEvents'), batches),
    weightOf: ({ events }) => events.length,
    maxWeight: maxGroup,
    maxRuns: transactions,
    isCommon: (error) => error instanceof Unavailable,
  })

  const report = async ({ ownerId, clusterUid, events }: EventReport, recordThose: (batch: ClusterEvents, parsed: Parsed) => Promise<readonly Verdict[]>): Outcome<ReportFailure, readonly EventResult[]> => {
    if (events.length === 0 || events.length > maxEvents) return left(UsageEventsInvalid(`A report has 1 to ${maxEvents} events.`))
    const uid = parseClusterUid(clusterUid)
    if (uid === undefined) return left(UsageEventsInvalid('clusterUID must be a UUID: the UID of the namespace kube-system.'))
    const now = clock.now()
    const parsed = events.map((event) => parseEvent(event, now))
    const valid = validOf(parsed)
    const clusterId = await clusterOf(ownerId, uid, valid[0]?.at)
    if (isLeft(clusterId)) return clusterId
    const verdicts = clusterId.right === undefined ? [] : await recordThose({ clusterId: clusterId.right, events: valid }, parsed)
    const results = resultsOf(events, parsed, verdicts)
    for (const result of results) tally[result.result === 'refused' ? result.reason : result.result] += 1
    return right(results)
  }

  const record: EventReports['record'] = (given) =>
    report(given, async (batch) => {
      const isNew = batch.events.map((event) => !recent.changesNothing(batch.clusterId, event))
      const remaining = batch.events.filter((_, index) => isNew[index])
      const verdicts = remaining.length === 0 ? [] : await group({ ...batch, events: remaining })
      let next = 0
      return isNew.map((isRecorded) => (isRecorded ? (verdicts[next++] ?? 'accepted') : 'accepted'))
    })
  return {
    record,
    recordFor: (call, given) =>
      call.keyed === undefined
        ? record(given)
        : report(given, async (batch, parsed) => {
            const [verdicts = []] = await recordEvents(storing(call, (all) => resultsOf(given.events, parsed, all[0] ?? [])), [batch])
            return verdicts
          }),
  }
}

/** Returns a call whose transaction has another result, from which the answer is made. */
const storing = (call: SignedInCall<readonly EventResult[]>, answerOf: (verdicts: Verdicts) => readonly EventResult[]): Call<Verdicts> => {
  const { keyed, ...rest } = call
  if (keyed === undefined) return rest
  const { answer, ...change } = keyed
  return { ...rest, keyed: answer === undefined ? change : { ...change, answer: (verdicts) => answer(answerOf(verdicts)) } }
}

const validOf = (parsed: Parsed): readonly UsageEvent[] => parsed.flatMap((each) => (isLeft(each) ? [] : [each.right]))

const resultsOf = (events: readonly ReportedEvent[], parsed: Parsed, verdicts: readonly Verdict[]): readonly EventResult[] => {
  let next = 0
  return events.map(({ id }, index): EventResult => {
    const each = parsed[index]
    if (each !== undefined && isLeft(each)) return { id, result: 'refused', ...each.left }
    const verdict = verdicts[next++] ?? 'accepted'
    return verdict === 'conflict'
      ? { id, result: 'refused', reason: 'conflict', message: 'An event with another content was received before. The first one counts.' }
      : { id, result: verdict }
  })
}

interface KnownCluster {
  readonly id: UsageClusterId | undefined
  readonly until: number
}

/** Returns the row of a cluster that its owner knows; undefined if no event is to be recorded and there is none yet. */
const makeClusterOf = ({ clusters, clock, caches }: ReportDeps) => {
  const known = caches.make<string, KnownCluster>({ maxEntries: maxKnown })
  return async (ownerId: AccountId, clusterUid: string, heard: UnixSeconds | undefined): Outcome<Failure<'UsageClusterUnknown'>, UsageClusterId | undefined> => {
    const key = `${ownerId}/${clusterUid}`
    const found = known.get(key)
    const now = clock.now()
    const isFresh = found !== undefined && found.until > now.getTime()
    if (isFresh && (found.id !== undefined || heard === undefined)) return right(found.id)
    if (!isFresh && !(await clusters.isKnown(ownerId, clusterUid))) {
      return left(UsageClusterUnknown(`The account has no cluster with the UID ${clusterUid}. Import the cluster, or bind it to a contract.`))
    }
    const id = heard === undefined ? undefined : await clusters.ensure(ownerId, clusterUid, hourStart(heard), monthOf(secondOf(now)))
    known.set(key, { id, until: now.getTime() + knownMilliseconds })
    return right(id)
  }
}
