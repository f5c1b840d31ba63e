import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock, TimeTrust } from '../../../kernel/clock.ts'
import type { Failure } from '../../../kernel/failure.ts'
import type { Log } from '../../../kernel/log.ts'
import type { ReportCloudA } from '../cloud-a.ts'
import type { ReportCloudC } from '../cloud-c.ts'
import type { MeteredCloud } from '../types.ts'
import type {
  HourlySettings,
  MeteredDimension,
  MeteredHour,
  MeteredHourStore,
  UsedAmounts,
  UsedHours,
} from './ports.ts'

const hourMilliseconds = 3600 * 1000
/** Reports of clusters arrive up to this much later. */
const closedAfterMilliseconds = 10 * 60 * 1000
/** Hours of one dimension that one run adds. */
const mostHours = 48

/**
 * How long after its start an hour is sent: cloud A takes what is at most six hours old; cloud C accepts late reports
 * of up to 30 days.
 */
const windowMilliseconds: Readonly<Record<MeteredCloud, number>> = {
  cloudA: 5.75 * hourMilliseconds,
  cloudC: 30 * 24 * hourMilliseconds,
}

/** Refusals after which the hour is never taken. */
const final: ReadonlySet<string> = new Set([
  'DuplicateRequestException',
  'TimestampOutOfBoundsException',
  'UsageOverlaps',
])

/** A core for an hour in milli-core-seconds, and a GiB for an hour in MiB-seconds. */
const units = { cpu: 3600n * 1000n, memory: 3600n * 1024n } as const

/** Returns the quantity of an hour, and what is less than one unit. @internal */
export const quantityOf = (
  amounts: UsedAmounts,
  { measure }: Pick<MeteredDimension, 'measure'>,
  restBefore: number,
): Pick<MeteredHour, 'quantity' | 'rest'> => {
  const amount = (measure === 'cpu' ? amounts.milliCpuSeconds : amounts.mebibyteSeconds) + BigInt(restBefore)
  return { quantity: Number(amount / units[measure]), rest: Number(amount % units[measure]) }
}

export interface HourlyDeps {
  readonly cloud: MeteredCloud
  readonly settings: HourlySettings
  readonly used: UsedHours
  readonly hours: MeteredHourStore
  readonly reportCloudA: ReportCloudA
  readonly reportCloudC: ReportCloudC
  readonly clock: Clock
  readonly timeTrust: TimeTrust
  readonly log: Log
}

/** The name under which the record has what the job sends. */
const askedBy = 'metering.reportHours'

const send = (
  { cloud, reportCloudA, reportCloudC }: HourlyDeps,
  product: string,
  { dimension, hour, quantity }: MeteredHour,
): Promise<Either<Failure, unknown>> =>
  cloud === 'cloudA'
    ? reportCloudA(askedBy, {
        productCode: product,
        timestamp: hour,
        dimension,
        isDryRun: false,
        quantity,
        allocations: undefined,
      })
    : reportCloudC(askedBy, {
        name: '',
        serviceName: product,
        dimension,
        start: hour,
        end: new Date(hour.getTime() + hourMilliseconds),
        labels: {},
        value: { int64: BigInt(quantity) },
      })

/**
 * Adds the hours of a dimension that have ended. The first one is the last that has ended when the service first runs.
 */
const addClosed = async (deps: HourlyDeps, dimension: MeteredDimension): Promise<void> => {
  const { hours, used, clock } = deps
  const now = clock.now()
  const lastStart =
    Math.floor((now.getTime() - closedAfterMilliseconds) / hourMilliseconds) * hourMilliseconds - hourMilliseconds
  let newest = await hours.newest(dimension.name)
  for (let added = 0; added < mostHours; added += 1) {
    const start = newest === undefined ? lastStart : newest.hour.getTime() + hourMilliseconds
    if (start > lastStart) return
    const hour = new Date(start)
    const amounts = await used.amountsOf(hour)
    newest = {
      dimension: dimension.name,
      hour,
      state: 'pending',
      ...quantityOf(amounts, dimension, newest?.rest ?? 0),
      reason: '',
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
    const sent = isLate ? undefined : await send(deps, product, hour)
    if (sent !== undefined && !isLeft(sent)) {
      await hours.setState(hour, 'reported', '', now)
      continue
    }
    const failure = sent?.left
    const reason = failure?.origin?.code ?? failure?.tag ?? (hour.reason === '' ? 'TooLate' : hour.reason)
    const isLost = isLate || final.has(reason)
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
