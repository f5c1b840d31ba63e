import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields, toWireJson } from '../../kernel/json.ts'
import type { Log } from '../../kernel/log.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { CloudAMetering, MeteredSubscriptions, MeteringCounters, UsageDigests, UsageLedger } from './ports.ts'
import { MeteringFailed, MeteringThrottled, UsageRefused } from './ports.ts'
import { sendUsage, sentElsewhere } from './send-usage.ts'
import type { MeterUsage, ProviderResult, SentUsage } from './types.ts'

/** Codes with which the provider refuses a request because of what it contains, or of how many there are. */
const refusals: ReadonlySet<string> = new Set(
  [
    'CustomerNotEntitled',
    'DuplicateRequest',
    'IdempotencyConflict',
    'InvalidEndpointRegion',
    'InvalidProductCode',
    'InvalidTag',
    'InvalidUsageAllocations',
    'InvalidUsageDimension',
    'Throttling',
    'TimestampOutOfBounds',
  ].map((name) => `${name}Exception`),
)

/** The code with which the provider says that a dry run would have succeeded. */
const dryRunPassed = 'DryRunOperation'

export interface CloudADeps {
  readonly provider: CloudAMetering
  readonly digests: UsageDigests
  readonly ledger: Pick<UsageLedger, 'begin' | 'settle'>
  readonly subscriptions: MeteredSubscriptions
  readonly counters: MeteringCounters
  readonly clock: Clock
  readonly log: Log
}

/** Returns the id of the record at the provider, which is empty for a dry run. */
export type ReportCloudA = (
  askedBy: string,
  usage: MeterUsage,
) => Outcome<Failure<'UsageRefused'> | Failure<'MeteringFailed'> | Failure<'MeteringThrottled'>, string>
export const ReportCloudAPort = portKey<ReportCloudA>('metering.ReportCloudA')

const hourMilliseconds = 3600 * 1000

/** Returns the texts of allocations in an order that does not depend on that of the request. */
const allocationTexts = ({ allocations }: MeterUsage): readonly string[] =>
  (allocations ?? [])
    .map(({ quantity, tags }) =>
      toWireJson([
        quantity,
        tags.map(({ key, value }) => [key, value]).sort((a, b) => (String(a) < String(b) ? -1 : 1)),
      ]),
    )
    .sort()

/**
 * Returns usage with its key. The key has everything that is sent: the provider refuses one client token with other
 * content.
 *
 * @internal
 */
export const sentCloudA = (
  digests: UsageDigests,
  usage: MeterUsage,
  by: Pick<SentUsage, 'askedBy' | 'subscriptionRef'>,
): SentUsage => {
  const { productCode, dimension, timestamp, quantity, isDryRun } = usage
  const start = new Date(Math.floor(timestamp.getTime() / hourMilliseconds) * hourMilliseconds)
  return {
    key: digests.key([
      'cloudA',
      productCode,
      dimension,
      timestamp.toISOString(),
      quantity === undefined ? '' : String(quantity),
      String(isDryRun),
      String(usage.allocations !== undefined),
      ...allocationTexts(usage),
    ]),
    cloud: 'cloudA',
    scope: digests.digest(['cloudA', productCode, dimension]),
    start,
    end: new Date(start.getTime() + hourMilliseconds),
    product: productCode,
    dimension,
    quantity: String(quantity ?? 0),
    consumer: '',
    ...by,
  }
}

/** Said with the failure of a repeated request. */
const doubt = 'An earlier request with this usage was not answered: the provider may have recorded it.'

const failureOf = (
  result: Exclude<ProviderResult<string>, { readonly kind: 'accepted' }>,
  isDoubtful = false,
): Failure<'UsageRefused'> | Failure<'MeteringFailed'> | Failure<'MeteringThrottled'> => {
  const { code } = result
  const message = isDoubtful ? `${result.message} ${doubt}` : result.message
  if (result.kind === 'refused' && result.retryAfterSeconds !== undefined)
    return MeteringThrottled(message, { origin: { code }, retryAfterSeconds: result.retryAfterSeconds })
  if (result.kind === 'refused' && refusals.has(code))
    return UsageRefused(message, {
      origin: { code },
      ...(code === 'ThrottlingException' ? { retryAfterSeconds: 1 } : {}),
    })
  const error = result.kind === 'failed' ? result.cause : undefined
  return MeteringFailed(message, { origin: { code, ...definedFields({ error }) } })
}

/**
 * Reports usage of cloud A. Usage that was accepted before is answered from the record, also after the time in which
 * the provider would take it again. A dry run is neither recorded nor answered from the record.
 */
export const makeReportCloudA =
  (deps: CloudADeps): ReportCloudA =>
  async (askedBy, usage) => {
    const subscriptionRef = usage.isDryRun ? '' : ((await deps.subscriptions.current()) ?? '')
    const sent = sentCloudA(deps.digests, usage, { askedBy, subscriptionRef })
    const ask = async (): Promise<ProviderResult<string>> => {
      const result = await deps.provider.report(usage, sent.key)
      const hasPassed = usage.isDryRun && result.kind === 'refused' && result.code === dryRunPassed
      return hasPassed ? { kind: 'accepted', answer: '', attempts: result.attempts } : result
    }
    if (usage.isDryRun) {
      const result = await ask()
      return result.kind === 'accepted' ? right(result.answer) : left(failureOf(result))
    }
    const begun = await deps.ledger.begin(sent, false, deps.clock.now())
    if (begun.kind === 'busy') return left(sentElsewhere())
    if (begun.kind !== 'send') {
      deps.counters.count('repeated')
      return right(begun.kind === 'accepted' ? begun.answer : '')
    }
    const result = await sendUsage(deps, sent, begun.isDoubtful, ask, (recordId) => recordId)
    return result.kind === 'accepted' ? right(result.answer) : left(failureOf(result, begun.isDoubtful))
  }
