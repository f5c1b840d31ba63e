import { left, right } from 'fp-ts/lib/Either.js'
import type { Cache } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { definedFields, isObject, listAt, toWireJson } from '../../kernel/json.ts'
import type { Log } from '../../kernel/log.ts'
import { portKey } from '../../kernel/port-key.ts'
import type {
  MeteredSubscriptions,
  MeteringSettings,
  MeteringCounters,
  ServiceControl,
  UsageDigests,
  UsageLedger,
} from './ports.ts'
import { MeteringFailed, MeteringThrottled, ownCodes, UsageInvalid, UsageOverlaps } from './ports.ts'
import { sendUsage, sentElsewhere } from './send-usage.ts'
import type { ProviderResult, ReportAnswer, SentUsage, ServiceOperation, UsageReport } from './types.ts'

/** How long a check that found no error stands for others of the consumer. */
const checkedMilliseconds = 60_000

interface PassedCheck {
  readonly at: number
}

export interface CloudCDeps {
  readonly provider: ServiceControl
  readonly settings: MeteringSettings
  readonly digests: UsageDigests
  readonly ledger: Pick<UsageLedger, 'begin' | 'settle'>
  readonly subscriptions: MeteredSubscriptions
  /** The last check without errors, by service and consumer. */
  readonly passed: Cache<string, PassedCheck>
  readonly counters: MeteringCounters
  readonly clock: Clock
  readonly log: Log
}

/** Returns the answer of the provider. */
export type ReportCloudC = (
  askedBy: string,
  report: UsageReport,
) => Outcome<
  Failure<'MeteringFailed'> | Failure<'MeteringThrottled'> | Failure<'UsageInvalid'> | Failure<'UsageOverlaps'>,
  ReportAnswer
>
export const ReportCloudCPort = portKey<ReportCloudC>('metering.ReportCloudC')

const valueText = ({ value }: Pick<UsageReport, 'value'>): string =>
  'int64' in value ? `int64 ${value.int64}` : `double ${value.double}`

const labelTexts = ({ labels }: Pick<UsageReport, 'labels'>): readonly string[] =>
  Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flat()

/** Returns a report as the provider takes it. @internal */
export const operationOf = (digests: UsageDigests, consumerId: string, report: UsageReport): ServiceOperation => {
  const { serviceName, dimension, start, end, labels, value, name, difference } = report
  const metricName = dimension.startsWith(`${serviceName}/`) ? dimension : `${serviceName}/${dimension}`
  return {
    serviceName,
    operationId: digests.key([
      'cloudC',
      consumerId,
      metricName,
      start.toISOString(),
      end.toISOString(),
      valueText(report),
      ...labelTexts(report),
      // Two additions of the same quantity are two operations.
      ...(difference === undefined ? [] : [`difference ${difference}`]),
    ]),
    operationName: name === '' ? `${serviceName}/report` : name,
    consumerId,
    metricName,
    start,
    end,
    labels,
    value,
  }
}

const sentOf = (
  digests: UsageDigests,
  operation: ServiceOperation,
  by: Pick<SentUsage, 'askedBy' | 'subscriptionRef'>,
): SentUsage => ({
  key: operation.operationId,
  cloud: 'cloudC',
  scope: digests.digest(['cloudC', operation.consumerId, operation.metricName, ...labelTexts(operation)]),
  start: operation.start,
  end: operation.end,
  product: operation.serviceName,
  dimension: operation.metricName,
  quantity: 'int64' in operation.value ? String(operation.value.int64) : String(operation.value.double),
  consumer: operation.consumerId,
  ...by,
})

const failedAs = (
  { code, message, ...rest }: Exclude<ProviderResult<unknown>, { readonly kind: 'accepted' }>,
  error: FreeObject | undefined,
): Failure<'MeteringFailed'> | Failure<'MeteringThrottled'> => {
  const origin = { code, ...definedFields({ error: (rest.kind === 'failed' ? rest.cause : undefined) ?? error }) }
  return rest.kind === 'refused' && rest.retryAfterSeconds !== undefined
    ? MeteringThrottled(message, { origin, retryAfterSeconds: rest.retryAfterSeconds })
    : MeteringFailed(message, { origin })
}

/** Why nothing is reported, with the failure that says so. */
interface CheckRefusal {
  readonly result: Exclude<ProviderResult<never>, { readonly kind: 'accepted' }>
  readonly error?: FreeObject
}

/**
 * Checks that usage of the consumer is taken, at most once a minute. If the check fails, the last one that found no
 * error counts, however old it is.
 */
const check = async (
  { provider, passed }: Pick<CloudCDeps, 'provider' | 'passed'>,
  operation: ServiceOperation,
): Promise<CheckRefusal | undefined> => {
  const key = toWireJson([operation.serviceName, operation.consumerId])
  const last = passed.get(key)
  if (last !== undefined && performance.now() - last.at < checkedMilliseconds) return undefined
  const result = await provider.check(operation)
  if (result.kind === 'failed' && last !== undefined) return undefined
  if (result.kind !== 'accepted') {
    const message = `${result.message} Nothing was reported: the check comes first.`
    return { result: result.kind === 'failed' ? { ...result, message, mayBeRecorded: false } : { ...result, message } }
  }
  const [first] = result.answer
  if (first === undefined) {
    passed.set(key, { at: performance.now() })
    return undefined
  }
  passed.delete(key)
  const message = `The provider takes no usage of the consumer: ${first.code}. Nothing was reported.`
  return {
    result: { kind: 'refused', code: first.code, message, attempts: result.attempts },
    error: { checkErrors: result.answer.map(({ code, detail }) => ({ code, detail })) },
  }
}

const notConfigured = (): Failure<'MeteringFailed'> =>
  MeteringFailed('The consumer to whom usage is charged is not configured on this deployment.', {
    origin: { code: ownCodes.notConfigured },
  })

const overlapText = (start: Date, end: Date, state: string): string =>
  `Usage of this metric from ${start.toISOString()} to ${end.toISOString()} was reported before` +
  (state === 'accepted'
    ? '.'
    : ', and its answer was lost: the provider may have counted it. Repeat that report unchanged first.')

const errorsOf = (answer: ReportAnswer): readonly Json[] => listAt(answer, 'reportErrors') as readonly Json[]

/**
 * Reports usage of cloud C. Usage that was accepted before is answered from the record. Other usage of the same metric
 * and labels for a part of the time is refused, since the provider would add it.
 */
export const makeReportCloudC =
  (deps: CloudCDeps): ReportCloudC =>
  async (askedBy, report) => {
    const { settings, digests, ledger, counters, clock, log } = deps
    if (report.end <= report.start) return left(UsageInvalid('The endTime must be after the startTime.'))
    if (settings.consumerId === undefined) return left(notConfigured())
    const operation = operationOf(digests, settings.consumerId, report)
    const subscriptionRef = (await deps.subscriptions.current()) ?? ''
    const sent = sentOf(digests, operation, { askedBy, subscriptionRef })
    const begun = await ledger.begin(sent, report.difference === undefined, clock.now())
    if (begun.kind === 'busy') return left(sentElsewhere())
    if (begun.kind === 'overlap') return left(UsageOverlaps(overlapText(begun.start, begun.end, begun.state)))
    if (begun.kind === 'accepted') {
      counters.count('repeated')
      return right(answerOf(begun.answer))
    }
    const sending = makeSending(deps, operation)
    const result = await sendUsage(deps, sent, begun.isDoubtful, sending.ask, (answer) => toWireJson(answer))
    if (result.kind === 'accepted') return right(result.answer)
    const partial = sending.partial()
    if (partial === undefined) return left(failedAs(result, sending.error()))
    counters.count('partial')
    log.error({ usage: sent.key, reportErrors: toWireJson(errorsOf(partial)) }, 'a provider did not record usage')
    return settings.isStrict ? left(failedAs(result, { reportErrors: errorsOf(partial) })) : right(partial)
  }

/** The check and the report of an operation, and what was found beside the result. */
const makeSending = (deps: CloudCDeps, operation: ServiceOperation) => {
  let error: FreeObject | undefined
  let partial: ReportAnswer | undefined
  return {
    ask: async (): Promise<ProviderResult<ReportAnswer>> => {
      const refused = await check(deps, operation)
      error = refused?.error
      if (refused !== undefined) return refused.result
      const result = await deps.provider.report(operation)
      if (result.kind !== 'accepted' || errorsOf(result.answer).length === 0) return result
      partial = result.answer
      const message = 'The provider did not record the usage: its answer lists errors.'
      return { kind: 'refused', code: 'ReportErrors', message, attempts: result.attempts }
    },
    error: () => error,
    /** An answer that lists errors: the operation is not recorded, and may be sent again. */
    partial: () => partial,
  }
}

const answerOf = (text: string): ReportAnswer => {
  const answer: unknown = JSON.parse(text)
  return isObject(answer) ? answer : {}
}
