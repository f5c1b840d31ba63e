import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock, TimeTrust } from '../../../kernel/clock.ts'
import { laterByDays } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { makeOwnCall } from '../../../kernel/principal.ts'
import type { Entropy } from '../../../kernel/secret.ts'
import type { MarketplaceSettings, MarketplaceUnitOfWork } from '../../ports.ts'
import type { MeteredCloud } from '../types.ts'
import { amountOf, hourMilliseconds, isFinal, sendHour, windowMilliseconds } from './hour-rules.ts'
import type { SendHourDeps } from './hour-rules.ts'
import type { HourlySettings, MeteredDimension, MeteredHour, MeteredHourStore, UsedHours } from './ports.ts'

/** Events of usage are accepted for this long after what they say. */
const lateDays = 35

interface LateUsageDeps extends SendHourDeps {
  readonly settings: HourlySettings
  readonly used: UsedHours
  readonly hours: MeteredHourStore
  readonly clock: Clock
  readonly timeTrust: TimeTrust
  readonly log: Log
}

/** An hour whose usage can be read again: not one that an earlier release has fixed. */
type SeenHour = MeteredHour & { readonly seen: number }
const isSeen = (hour: MeteredHour): hour is SeenHour => hour.seen !== undefined

const monthOf = ({ hour }: MeteredHour): string => hour.toISOString().slice(0, 7)

/** Returns runs of hours that follow each other in one month. */
const runsOf = (hours: readonly SeenHour[]): readonly (readonly SeenHour[])[] => {
  const runs: SeenHour[][] = []
  for (const hour of hours) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    const follows =
      last !== undefined &&
      last.hour.getTime() + hourMilliseconds === hour.hour.getTime() &&
      monthOf(last) === monthOf(hour)
    if (follows) run?.push(hour)
    else runs.push([hour])
  }
  return runs
}

/** Returns an hour with the amount that is read now. Usage that has become less is not taken back. */
const seenAgain = (hour: MeteredHour, amount: number): MeteredHour => ({
  ...hour,
  seen: amount,
  counted: Math.max(hour.counted, amount),
  late: hour.late + Math.max(0, amount - hour.counted),
})

/**
 * Returns an hour with what becomes of its late usage: whole units are the next report where the provider adds one to
 * an hour that it has recorded; else it is lost. Cloud A takes one quantity for an hour, and refuses another.
 */
const assigned = (hour: MeteredHour, cloud: MeteredCloud, now: Date): MeteredHour => {
  const isOver = now.getTime() - hour.hour.getTime() > windowMilliseconds[cloud]
  if (hour.state === 'pending' && !isOver) return hour
  if (cloud === 'cloudA' || isOver || hour.state === 'lost') {
    const lost = hour.lost + hour.late + hour.difference * hour.unit
    return lost === hour.lost ? hour : { ...hour, late: 0, difference: 0, lost, isMailed: false }
  }
  const difference = hour.unit === 0 || hour.difference > 0 ? 0 : Math.floor(hour.late / hour.unit)
  if (difference === 0) return hour
  return { ...hour, late: hour.late - difference * hour.unit, difference, differences: hour.differences + 1 }
}

/** Reads the usage of hours again. Where the sum of several has not changed, they are not read one by one. */
const readAgain = async (
  deps: LateUsageDeps,
  dimension: MeteredDimension,
  run: readonly SeenHour[],
  signal: AbortSignal,
): Promise<readonly MeteredHour[]> => {
  const [first, last] = [run[0], run.at(-1)]
  if (first === undefined || last === undefined) return []
  signal.throwIfAborted()
  const end = new Date(last.hour.getTime() + hourMilliseconds)
  const amount = amountOf(await deps.used.amountsBetween(first.hour, end), dimension)
  if (amount === run.reduce((sum, { seen }) => sum + BigInt(seen), 0n)) return run
  if (run.length === 1) return [seenAgain(first, Number(amount))]
  const middle = run.length >> 1
  const before = await readAgain(deps, dimension, run.slice(0, middle), signal)
  return [...before, ...(await readAgain(deps, dimension, run.slice(middle), signal))]
}

/** Sends the report of late usage of an hour. What is sent is written before, so that it is sent again as it was. */
const sendDifference = async (deps: LateUsageDeps, product: string, given: MeteredHour): Promise<MeteredHour> => {
  const { dimension, hour, difference: quantity, differences } = given
  const sent = await sendHour(deps, product, { dimension, hour, quantity, difference: differences })
  if (!isLeft(sent)) return { ...given, difference: 0, added: given.added + quantity }
  const reason = sent.left.origin?.code ?? sent.left.tag
  deps.log.warn({ dimension, hour: hour.toISOString(), quantity, reason }, 'late usage of an hour is not reported yet')
  if (!isFinal(reason)) return given
  return { ...given, difference: 0, lost: given.lost + quantity * given.unit, isMailed: false }
}

/**
 * Finds usage that arrived after its hour was fixed. Where the provider takes it, the difference is reported as a new
 * record; elsewhere it is recorded as lost. Nothing is done while the clock is not reliable.
 */
export const makeFindLateUsage =
  (deps: LateUsageDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const { settings, hours, clock, timeTrust, cloud, log } = deps
    const { product, dimensions } = settings
    if (product === undefined || !timeTrust.isTrusted()) return
    for (const dimension of dimensions) {
      const stored = await hours.listSince(dimension.name, laterByDays(clock.now(), -lateDays))
      const known = new Map(stored.map((hour) => [hour.hour.getTime(), hour]))
      for (const run of runsOf(stored.filter(isSeen)))
        for (const read of await readAgain(deps, dimension, run, signal)) {
          signal.throwIfAborted()
          const now = clock.now()
          const fixed = assigned(read, cloud, now)
          if (fixed !== known.get(read.hour.getTime())) await hours.saveLate(fixed, now)
          if (fixed.lost > read.lost)
            log.error(
              { dimension: fixed.dimension, hour: fixed.hour.toISOString(), amount: fixed.lost - read.lost },
              'late usage of an hour was not reported to the provider, which does not take it',
            )
          if (fixed.difference > 0) await hours.saveLate(await sendDifference(deps, product, fixed), clock.now())
        }
    }
  }

interface MailLossesDeps {
  readonly marketplace: Pick<MarketplaceSettings, 'alertsTo'>
  readonly hours: MeteredHourStore
  readonly unitOfWork: MarketplaceUnitOfWork
  readonly entropy: Entropy
}

/** Hours that a mail names one by one. */
const mostNamed = 50

/** Returns the quantity of an hour that is lost, with late usage, in units. */
const lostOf = ({ state, quantity, lost, unit }: MeteredHour): number =>
  (state === 'lost' ? quantity : 0) + (unit === 0 ? 0 : lost / unit)

/** Sends the operator one mail about usage that was lost since the mail before. */
export const makeMailLosses = ({ marketplace, hours, unitOfWork, entropy }: MailLossesDeps) => {
  const ownCall = makeOwnCall(entropy)
  return async (): Promise<void> => {
    const lost = await hours.listUnmailed()
    if (lost.length === 0) return
    const lines = lost
      .slice(0, mostNamed)
      .map((hour) => `${hour.hour.toISOString()} ${hour.dimension}: ${lostOf(hour).toFixed(3)}`)
    const more = lost.length - lines.length
    if (marketplace.alertsTo !== '')
      await unitOfWork.run<never, void>(ownCall('metering.mailLosses'), async ({ mail }) => {
        await mail.post({
          to: marketplace.alertsTo,
          subject: 'Usage was not reported to the marketplace',
          paragraphs: [
            'The provider has not recorded the usage of these hours, and does not take it any more. Claim it from the ' +
              'provider by other means.',
            ...lines,
            ...(more === 0 ? [] : [`${more} more hours are not listed.`]),
          ],
        })
        return right(undefined)
      })
    await hours.setMailed(lost)
  }
}
