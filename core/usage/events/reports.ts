import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { Unavailable } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import type { Call, OwnCall, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import { hourStart, monthOf, secondOf } from '../month.ts'
import type { Arrival } from './intake.ts'
import type { UnixSeconds, UsageClusterId } from '../types.ts'
import { maxEvents, parseEvent } from './event-rules.ts'
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
export type EventCounters = Record<'accepted' | 'repeated' | RefusalReason | 'terminated', number>
export const UsageEventCountersPort = portKey<EventCounters>('usage.EventCounters')
export const newEventCounters = (): EventCounters => ({
  accepted: 0,
  repeated: 0,
  invalid: 0,
  'too-early': 0,
  'too-late': 0,
  conflict: 0,
  terminated: 0,
})

/**
 * Records reports, from a request or from the message bus. An event that is refused changes nothing and does not
 * concern the others.
 */
export interface EventReports {
  /** Records a report with others that arrive at the same time. Resolves after the commit. Throws `Unavailable`. */
  record(report: EventReport): Outcome<ReportFailure, readonly EventResult[]>
  /**
   * Records the report of a request. Under an Idempotency-Key it has a transaction of its own, which stores the answer.
   */
  recordFor(
    call: SignedInCall<readonly EventResult[]>,
    report: EventReport,
  ): Outcome<ReportFailure, readonly EventResult[]>
}
export const EventReportsPort = portKey<EventReports>('usage.EventReports')

export interface ReportDeps {
  readonly clusters: Pick<UsageClusterStore, 'isKnown' | 'ensure'>
  readonly clock: Clock
  readonly caches: Caches
  readonly ownCall: OwnCall
  readonly recent: RecentlyHeard
  readonly recordEvents: RecordEvents
  readonly counters: EventCounters
  /** Receives each report whose cluster is known. */
  readonly onReport?: (arrival: Arrival) => void
  /** How many transactions may be under way at the same time. */
  readonly transactions: number
}

type Parsed = readonly Either<EventRefusal, UsageEvent>[]

/** For this long a cluster that was known is not looked up again. */
const knownMilliseconds = 60_000
const maxKnown = 20_000
/** A full batch has a transaction of its own: of two in one, the senders of both would wait for both. */
const maxGroup = 1000

export const makeEventReports = (deps: ReportDeps): EventReports => {
  const { clock, recent, recordEvents, ownCall, counters, onReport, transactions } = deps
  const clusterOf = makeClusterOf(deps)
  const group = makeGroupCommit<ClusterEvents, readonly Verdict[]>({
    run: (batches) => recordEvents(ownCall('usage.recordEvents'), batches),
    weightOf: ({ events }) => events.length,
    maxWeight: maxGroup,
    maxRuns: transactions,
    isCommon: (error) => error instanceof Unavailable,
  })

  const report = async (
    { ownerId, clusterUid, events }: EventReport,
    recordThose: (batch: ClusterEvents, parsed: Parsed) => Promise<readonly Verdict[]>,
  ): Outcome<ReportFailure, readonly EventResult[]> => {
    if (events.length === 0 || events.length > maxEvents)
      return left(UsageEventsInvalid(`A report has 1 to ${maxEvents} events.`))
    const uid = uuidOf(clusterUid)
    if (uid === undefined)
      return left(UsageEventsInvalid('clusterUID must be a UUID: the UID of the namespace kube-system.'))
    const now = clock.now()
    const parsed = events.map((event) => parseEvent(event, now))
    const valid = validOf(parsed)
    const clusterId = await clusterOf(ownerId, uid, valid[0]?.at)
    if (isLeft(clusterId)) return clusterId
    const verdicts =
      clusterId.right === undefined ? [] : await recordThose({ clusterId: clusterId.right, events: valid }, parsed)
    const results = resultsOf(events, parsed, verdicts)
    for (const result of results) counters[result.result === 'refused' ? result.reason : result.result] += 1
    onReport?.({ ownerId, clusterUid: uid, events, results, at: now })
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
            const [verdicts = []] = await recordEvents(
              storing(call, (all) => resultsOf(given.events, parsed, all[0] ?? [])),
              [batch],
            )
            return verdicts
          }),
  }
}

/** Returns a call whose transaction has another result, from which the answer is made. */
const storing = (
  call: SignedInCall<readonly EventResult[]>,
  answerOf: (verdicts: Verdicts) => readonly EventResult[],
): Call<Verdicts> => {
  const { keyed, ...rest } = call
  if (keyed === undefined) return rest
  const { answer, ...change } = keyed
  return {
    ...rest,
    keyed: answer === undefined ? change : { ...change, answer: (verdicts) => answer(answerOf(verdicts)) },
  }
}

const validOf = (parsed: Parsed): readonly UsageEvent[] => {
  const valid: UsageEvent[] = []
  for (const each of parsed) if (!isLeft(each)) valid.push(each.right)
  return valid
}

const resultsOf = (
  events: readonly ReportedEvent[],
  parsed: Parsed,
  verdicts: readonly Verdict[],
): readonly EventResult[] => {
  let next = 0
  return events.map(({ id }, index): EventResult => {
    const each = parsed[index]
    if (each !== undefined && isLeft(each)) return { id, result: 'refused', ...each.left }
    const verdict = verdicts[next++] ?? 'accepted'
    return verdict === 'conflict'
      ? {
          id,
          result: 'refused',
          reason: 'conflict',
          message: 'An event with another content was received before. The first one counts.',
        }
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
  return async (
    ownerId: AccountId,
    clusterUid: string,
    heard: UnixSeconds | undefined,
  ): Outcome<Failure<'UsageClusterUnknown'>, UsageClusterId | undefined> => {
    const key = `${ownerId}/${clusterUid}`
    const found = known.get(key)
    const now = clock.now()
    const isFresh = found !== undefined && found.until > now.getTime()
    if (isFresh && (found.id !== undefined || heard === undefined)) return right(found.id)
    if (!isFresh && !(await clusters.isKnown(ownerId, clusterUid))) {
      return left(
        UsageClusterUnknown(
          `The account has no cluster with the UID ${clusterUid}. Import the cluster, or bind it to a contract.`,
        ),
      )
    }
    const id =
      heard === undefined
        ? undefined
        : await clusters.ensure(ownerId, clusterUid, hourStart(heard), monthOf(secondOf(now)))
    known.set(key, { id, until: now.getTime() + knownMilliseconds })
    return right(id)
  }
}

/** Work that is done for several callers at once. */
export type GroupCommit<Item, Result> = (item: Item) => Promise<Result>

export interface GroupCommitOptions<Item, Result> {
  /** Does the work for items that came together, and returns their results in the same order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly weightOf: (item: Item) => number
  /** The most weight of the items of one run. An item that is heavier runs alone. */
  readonly maxWeight: number
  /** How many runs may be under way at the same time. */
  readonly maxRuns: number
  /** Reports whether an error concerns all items alike, so that trying each alone is of no use. */
  readonly isCommon: (error: unknown) => boolean
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects the items that arrive while earlier ones are being worked on, and does the work for all of them at once. An
 * item never waits for others to arrive. If a run of several items fails, each of them is tried alone, so that none
 * fails for another's fault.
 *
 * @internal
 */
export const makeGroupCommit = <Item, Result>({
  run,
  weightOf,
  maxWeight,
  maxRuns,
  isCommon,
}: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> => {
  const waiting: Waiting<Item, Result>[] = []
  let runs = 0

  const take = (): readonly Waiting<Item, Result>[] => {
    let weight = 0
    let count = 0
    for (const { item } of waiting) {
      weight += weightOf(item)
      if (count > 0 && weight > maxWeight) break
      count += 1
    }
    return waiting.splice(0, count)
  }
  const settle = async (group: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (group.length === 1 || isCommon(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await settle([one])
    }
  }
  const next = (): void => {
    while (runs < maxRuns && waiting.length > 0) {
      runs += 1
      void settle(take()).finally(() => {
        runs -= 1
        next()
      })
    }
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // Those that arrive in the same turn of the event loop run together.
      if (runs < maxRuns && waiting.length === 1) queueMicrotask(next)
    })
}

/** A message with events from the bus. */
export interface UsageMessage {
  /** The account that sent it, as the bus says; never from the message itself. */
  readonly ownerId: AccountId | undefined
  readonly body: Uint8Array
  /** It was set aside before. */
  readonly isAside: boolean
  /** How often it was delivered, this time included; from the start again once it is set aside. */
  readonly deliveries: number
}

/**
 * What becomes of a message: it is acknowledged, never delivered again, or delivered again later. If the reason
 * concerns only its sender, it is set aside until then, so that it does not take the place of messages of others.
 */
export type MessageOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'never' }
  | { readonly kind: 'later' | 'aside'; readonly seconds: number }

/** Records the events of a message. Returns after the commit; never throws. */
export type HandleUsageMessage = (message: UsageMessage) => Promise<MessageOutcome>

/** Receives messages with events for as long as the service runs. */
export interface UsageIntake {
  /** Starts receiving, with unlimited retries; never throws. */
  start(): void
  /**
   * Returns the number of messages of the bus that are not handled yet; undefined while the bus is away, or without
   * one.
   */
  lag(): Promise<number | undefined>
}
export const UsageIntakePort = portKey<UsageIntake>('usage.UsageIntake')

/** Issues credentials with which a program of an account publishes events. */
export interface UsageCredentials {
  /** Throws `Unavailable` while the bus is away. */
  issue(
    call: Call,
    owner: { readonly ownerId: AccountId; readonly login: string; readonly notAfter: Date | undefined },
  ): Outcome<
    Failure<'BusHasNoCredentials' | 'BusRefused'>,
    { readonly endpoints: readonly string[]; readonly file: Secret<Uint8Array> }
  >
}
export const UsageCredentialsPort = portKey<UsageCredentials>('usage.UsageCredentials')

const retrySeconds = 5
/**
 * The first and the longest wait of a message that was set aside. An account may import a cluster after it has begun to
 * report, and its clock may be a day ahead.
 */
const shortestAsideSeconds = 60
const longestAsideSeconds = 3600
/** With those waits, a message is tried for 30 hours. */
const asideDeliveries = 36

const asideSeconds = (deliveries: number): number =>
  Math.min(shortestAsideSeconds * 2 ** (deliveries - 1), longestAsideSeconds)

/** A sender can cause many lines of the log. */
const quietMilliseconds = 60_000
const maxQuiet = 1_000

export interface MessageDeps {
  readonly reports: Pick<EventReports, 'record'>
  /** Returns a report; undefined if the text is none. */
  readonly decode: (body: Uint8Array) => Omit<EventReport, 'ownerId'> | undefined
  readonly counters: EventCounters
  readonly clock: Clock
  readonly caches: Caches
  readonly log: Log
}

/** Returns a function that logs at most one line a minute for each account and text. */
const makeWarn = ({ log, clock, caches }: MessageDeps) => {
  const logged = caches.make<string, { readonly at: number }>({ maxEntries: maxQuiet })
  return (ownerId: AccountId | undefined, fields: Readonly<Record<string, unknown>>, text: string): void => {
    const key = `${ownerId ?? 0}/${text}`
    const at = clock.now().getTime()
    const last = logged.get(key)
    if (last !== undefined && Math.abs(at - last.at) < quietMilliseconds) return
    logged.set(key, { at })
    log.warn({ owner: ownerId, ...fields }, text)
  }
}

export const makeHandleUsageMessage = (deps: MessageDeps): HandleUsageMessage => {
  const { reports, decode, counters } = deps
  const warn = makeWarn(deps)
  const never = (ownerId: AccountId | undefined, reason: string): MessageOutcome => {
    counters.terminated += 1
    warn(ownerId, { reason }, 'a message with usage events is not acceptable')
    return { kind: 'never' }
  }
  const aside = ({ ownerId, isAside, deliveries }: UsageMessage, reason: string): MessageOutcome => {
    if (isAside && deliveries >= asideDeliveries) return never(ownerId, reason)
    warn(
      ownerId,
      { reason },
      'a message with usage events is set aside; the first 100 of each account are tried again for 30 hours',
    )
    return { kind: 'aside', seconds: isAside ? asideSeconds(deliveries) : shortestAsideSeconds }
  }
  return async (message) => {
    const { ownerId, body } = message
    const report = decode(body)
    if (ownerId === undefined || report === undefined) return never(ownerId, 'it is no report')
    try {
      const results = await reports.record({ ...report, ownerId })
      if (isLeft(results))
        return results.left.tag === 'UsageClusterUnknown'
          ? aside(message, results.left.message)
          : never(ownerId, results.left.message)
      const refused = results.right.filter((result) => result.result === 'refused')
      // A sender over the bus does not get the results.
      const tooEarly = refused.find(({ reason }) => reason === 'too-early')
      if (tooEarly !== undefined) return aside(message, `The event ${tooEarly.id} is refused: ${tooEarly.message}`)
      const [first] = refused
      if (first !== undefined) {
        warn(
          ownerId,
          { cluster: report.clusterUid, refused: refused.length, event: first.id, reason: first.message },
          'events of a message are refused',
        )
      }
      return { kind: 'done' }
    } catch (error) {
      warn(ownerId, { reason: (error as Error).message }, 'a message with usage events cannot be recorded at present')
      return { kind: 'later', seconds: retrySeconds }
    }
  }
}
