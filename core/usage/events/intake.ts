import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { EventResult, ReportedEvent } from './types.ts'
import { dayOf, daySeconds, secondOf } from '../month.ts'
import type { IntakeCounts, IntakeSum, RefusedEvent, UsageOverviewStore } from '../overview-ports.ts'
import { isRobotLogin } from '../../organizations/ports.ts'

/** What arrived of one cluster at once. */
export interface Arrival {
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly events: readonly ReportedEvent[]
  /** One for each event, in order. */
  readonly results: readonly EventResult[]
  readonly at: Date
}

/** Counts what arrives in memory, so that no report costs a statement more, and writes the sums from time to time. */
export interface IntakeSums {
  note(arrival: Arrival): void
  /** Writes what was counted since the last time. What cannot be written is written the next time. */
  flush(): Promise<void>
}
export const IntakeSumsPort = portKey<IntakeSums>('usage.IntakeSums')

/** Refused events that are kept of one cluster between two writes, and of all: the sums have them all. */
const mostRefusedOfCluster = 20
const mostRefused = 1_000

export const makeIntakeSums = (store: Pick<UsageOverviewStore, 'addIntake' | 'addRefused'>): IntakeSums => {
  let sums = new Map<string, IntakeSum>()
  let refused: RefusedEvent[] = []
  const add = (sum: IntakeSum): void => {
    const key = `${sum.ownerId} ${sum.clusterUid} ${sum.day}`
    const known = sums.get(key)
    sums.set(key, known === undefined ? sum : { ...sum, ...addedCounts(known, sum) })
  }
  return {
    note({ ownerId, clusterUid, events, results, at }) {
      add({ ownerId, clusterUid, day: dayOf(secondOf(at)), ...countsOf(events, results, at) })
      let kept = refused.filter((each) => each.ownerId === ownerId && each.clusterUid === clusterUid).length
      for (const [index, result] of results.entries()) {
        if (result.result !== 'refused' || kept >= mostRefusedOfCluster || refused.length >= mostRefused) continue
        kept += 1
        refused.push({
          ownerId,
          clusterUid,
          eventId: result.id.slice(0, 255),
          type: (events[index]?.type ?? '').slice(0, 64),
          reason: result.reason,
          message: result.message,
          receivedAt: at,
        })
      }
    },
    async flush() {
      const [waiting, events] = [[...sums.values()], refused]
      sums = new Map()
      refused = []
      try {
        for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
          await store.addIntake(next)
          waiting.shift()
        }
        if (events.length > 0) await store.addRefused(events)
      } catch (error) {
        for (const sum of waiting) add(sum)
        refused = [...events, ...refused].slice(0, mostRefused)
        throw error
      }
    },
  }
}

const addedCounts = (a: IntakeCounts, b: IntakeCounts): IntakeCounts => ({
  accepted: a.accepted + b.accepted,
  repeated: a.repeated + b.repeated,
  refused: a.refused + b.refused,
  late: a.late + b.late,
})

const countsOf = (events: readonly ReportedEvent[], results: readonly EventResult[], at: Date): IntakeCounts => {
  const counts = { accepted: 0, repeated: 0, refused: 0, late: 0 }
  for (const [index, { result }] of results.entries()) {
    counts[result] += 1
    const time = Date.parse(events[index]?.time ?? '')
    if (result === 'accepted' && at.getTime() - time > daySeconds * 1000) counts.late += 1
  }
  return counts
}

/** Without a first day, so many days. */
const shownDays = 35
const mostShown = 1_000

export interface IntakeInput {
  readonly ownerId: AccountId
  /** Days since the epoch, both included. */
  readonly from: number | undefined
  readonly to: number | undefined
}

/** Returns what arrived of the clusters of an account by day. The last minute may be missing. */
export const makeListIntake =
  ({ overview, clock }: { readonly overview: Pick<UsageOverviewStore, 'intakeOf'>; readonly clock: Clock }) =>
  async (_call: SignedInCall<never>, { ownerId, from, to }: IntakeInput): Outcome<never, readonly IntakeSum[]> => {
    const last = to ?? dayOf(secondOf(clock.now()))
    return right(await overview.intakeOf(ownerId, from ?? last - shownDays + 1, last))
  }

/** Returns the newest refused events of an account. */
export const makeListRefused =
  ({ overview }: { readonly overview: Pick<UsageOverviewStore, 'refusedOf'> }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId }: { readonly ownerId: AccountId },
  ): Outcome<never, readonly RefusedEvent[]> =>
    right(await overview.refusedOf(ownerId, mostShown))

const keptSumsDays = 430
const keptRefusedDays = 35

/** Removes sums after 14 months and refused events after 35 days. */
export const makeExpireIntake =
  ({ overview, clock }: { readonly overview: Pick<UsageOverviewStore, 'removeIntake'>; readonly clock: Clock }) =>
  (): Promise<void> =>
    overview.removeIntake(dayOf(secondOf(clock.now())) - keptSumsDays, laterByDays(clock.now(), -keptRefusedDays))

/** Only programs in clusters report usage in this deployment, and the caller is a person. */
export const UsageReporterRefused = defineFailure(
  'UsageReporterRefused',
  'Forbidden',
  'Only robot accounts may report usage on this deployment.',
)

/** Who may report usage, apart from the right to do so: who reports decides what is billed. */
export interface UsageReporters {
  /** People may, beside robot accounts. */
  readonly includePeople: boolean
}
export const UsageReportersPort = portKey<UsageReporters>('usage.Reporters')

/** Returns a use case for those who may report usage; others are refused before it does anything. */
export const makeForReporters =
  ({ includePeople }: UsageReporters) =>
  <A, I, F extends Failure, R>(useCase: (call: SignedInCall<A>, input: I) => Outcome<F, R>) =>
  async (call: SignedInCall<A>, input: I): Outcome<F | Failure<'UsageReporterRefused'>, R> =>
    includePeople || isRobotLogin(call.principal.login)
      ? useCase(call, input)
      : left(
          UsageReporterRefused(
            'Usage is reported by programs in clusters, with a token of a robot account of the ' +
              'organization that owns the cluster, and not by people.',
          ),
        )
