import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../../kernel/failure.ts'
import { definedFields } from '../../../kernel/json.ts'
import type { ReportCloudA } from '../cloud-a.ts'
import type { ReportCloudC } from '../cloud-c.ts'
import type { MeteredCloud } from '../types.ts'
import type { LateAmounts, MeteredDimension, MeteredHour, UsedAmounts } from './ports.ts'

export const hourMilliseconds = 3600 * 1000

/**
 * How long after its start an hour is sent: cloud A takes what is at most six hours old; cloud C accepts late reports
 * of up to 30 days.
 */
export const windowMilliseconds: Readonly<Record<MeteredCloud, number>> = {
  cloudA: 5.75 * hourMilliseconds,
  cloudC: 30 * 24 * hourMilliseconds,
}

const finalCodes: ReadonlySet<string> = new Set([
  'DuplicateRequestException',
  'TimestampOutOfBoundsException',
  'UsageOverlaps',
])

/** A core for an hour in milli-core-seconds, and a GiB for an hour in MiB-seconds. */
export const units = { cpu: 3600n * 1000n, memory: 3600n * 1024n } as const

/** Reports whether an hour is never taken after a refusal with this code. */
export const isFinal = (code: string): boolean => finalCodes.has(code)

/** An hour without late usage. */
export const nothingLate: LateAmounts = { late: 0, lost: 0, difference: 0, differences: 0, added: 0, isMailed: true }

/** Returns what a dimension counts of usage: milli-core-seconds or MiB-seconds. */
export const amountOf = (amounts: UsedAmounts, { measure }: Pick<MeteredDimension, 'measure'>): bigint =>
  measure === 'cpu' ? amounts.milliCpuSeconds : amounts.mebibyteSeconds

/** Returns the quantity of an hour, and what is less than one unit. */
export const quantityOf = (
  amount: bigint,
  { measure }: Pick<MeteredDimension, 'measure'>,
  restBefore: number,
): Pick<MeteredHour, 'quantity' | 'rest'> => {
  const whole = amount + BigInt(restBefore)
  return { quantity: Number(whole / units[measure]), rest: Number(whole % units[measure]) }
}

export interface SendHourDeps {
  readonly cloud: MeteredCloud
  readonly reportCloudA: ReportCloudA
  readonly reportCloudC: ReportCloudC
}

/** The name under which the record has what the jobs send. */
const askedBy = 'metering.reportHours'

/** A quantity of an hour as it is sent. `difference`: the number of an addition to what was sent of the hour before. */
interface HourQuantity extends Pick<MeteredHour, 'dimension' | 'hour' | 'quantity'> {
  readonly difference?: number
}

/** Sends a quantity of an hour to the provider. */
export const sendHour = (
  { cloud, reportCloudA, reportCloudC }: SendHourDeps,
  product: string,
  { dimension, hour, quantity, difference }: HourQuantity,
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
        ...definedFields({ difference }),
      })
