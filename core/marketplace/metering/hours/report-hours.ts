import { isLeft } from 'fp-ts/lib/Either.js'
import type { Clock, TimeTrust } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import type { MeteredSubscriptions } from '../ports.ts'
import {
  amountOf,
  hourMilliseconds,
  isFinal,
  nothingLate,
  quantityOf,
  sendHour,
  units,
  windowMilliseconds,
} from './hour-rules.ts'
import type { SendHourDeps } from './hour-rules.ts'
import type { HourlySettings, MeteredDimension, MeteredHourStore, UsedHours } from './ports.ts'

/** Reports of clusters arrive up to this much later. */
const closedAfterMilliseconds = 10 * 60 * 1000
/** Hours of one dimension that one run adds. */
const mostHours = 48

export interface HourlyDeps extends SendHourDeps {
  readonly settings: HourlySettings
  readonly used: UsedHours
  readonly hours: MeteredHourStore
  readonly subscriptions: Pick<MeteredSubscriptions, 'current'>
  readonly clock: Clock
  readonly timeTrust: TimeTrust
  readonly log: Log
}

/**
 * Adds the hours of a dimension that have ended. The first one is the last that has ended when the service first runs.
 */
const addClosed = async (deps: HourlyDeps, dimension: MeteredDimension): Promise<void> => {
  const { hours, used, subscriptions, clock } = deps
  const now = clock.now()
  const lastStart =
    Math.floor((now.getTime() - closedAfterMilliseconds) / hourMilliseconds) * hourMilliseconds - hourMilliseconds
  let newest = await hours.newest(dimension.name)
  for (let added = 0; added < mostHours; added += 1) {
    const start = newest === undefined ? lastStart : newest.hour.getTime() + hourMilliseconds
    if (start > lastStart) return
    const hour = new Date(start)
    const amount = amountOf(await used.amountsBetween(hour, new Date(start + hourMilliseconds)), dimension)
    newest = {
      dimension: dimension.name,
      hour,
      state: 'pending',
      ...quantityOf(amount, dimension, newest?.rest ?? 0),
      reason: '',
      subscriptionRef: (await subscriptions.current()) ?? '',
      unit: Number(units[dimension.measure]),
      seen: Number(amount),
      counted: Number(amount),
      ...nothingLate,
    }
    await hours.add(newest, now)
  }
}

/** Sends the pending hours of a dimension, the oldest first, until the provider does not answer. */
const sendPending = async (
  deps: HourlyDeps,
  product: string,
  dimension: MeteredDimension,
  signal: AbortSignal,
): Promise<void> => {
  const { hours, clock, cloud, log } = deps
  for (const hour of await hours.pending(dimension.name)) {
    signal.throwIfAborted()
    const now = clock.now()
    const isLate = now.getTime() - hour.hour.getTime() > windowMilliseconds[cloud]
    const sent = isLate ? undefined : await sendHour(deps, product, hour)
    if (sent !== undefined && !isLeft(sent)) {
      await hours.setState(hour, 'reported', '', now)
      continue
    }
    const failure = sent?.left
    const reason = failure?.origin?.code ?? failure?.tag ?? (hour.reason === '' ? 'TooLate' : hour.reason)
    const isLost = isLate || isFinal(reason)
    await hours.setState(hour, isLost ? 'lost' : 'pending', reason, now)
    if (isLost)
      log.error(
        { dimension: hour.dimension, hour: hour.hour.toISOString(), quantity: hour.quantity, reason },
        'usage of an hour was not reported to the provider, which does not take it any more',
      )
    else {
      log.warn(
        { dimension: hour.dimension, hour: hour.hour.toISOString(), reason },
        'usage of an hour is not reported yet',
      )
      return
    }
  }
}

/**
 * Reports the usage of each hour that has ended, once. Hours that could not be reported are sent again, as long as the
 * provider takes them. Nothing is done while the clock is not reliable: an hour that is sent cannot be changed.
 */
export const makeReportHours =
  (deps: HourlyDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const { product, dimensions } = deps.settings
    if (product === undefined || !deps.timeTrust.isTrusted()) return
    for (const dimension of dimensions) {
      signal.throwIfAborted()
      await addClosed(deps, dimension)
      await sendPending(deps, product, dimension, signal)
    }
  }
