import type { Clock } from '../../kernel/clock.ts'
import type { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { MeteringFailed, ownCodes } from './ports.ts'
import type { MeteredSubscriptions, MeteringCounters, UsageLedger } from './ports.ts'
import type { MeteringCall, ProviderResult, SentUsage, UsageState } from './types.ts'

interface SendDeps {
  readonly ledger: Pick<UsageLedger, 'settle'>
  readonly subscriptions: Pick<MeteredSubscriptions, 'reported'>
  readonly counters: MeteringCounters
  readonly clock: Clock
  readonly log: Log
}

/** A refusal says nothing about an earlier request whose answer was lost. */
const stateOf = (result: ProviderResult<unknown>, isDoubtful: boolean): UsageState => {
  if (result.kind === 'accepted') return 'accepted'
  return isDoubtful || (result.kind === 'failed' && result.mayBeRecorded) ? 'unknown' : 'refused'
}

const outcomeOf = (result: ProviderResult<unknown>): MeteringCall['outcome'] =>
  result.kind === 'failed' && result.mayBeRecorded ? 'unknown' : result.kind

/**
 * Sends usage and records what became of it. What the provider said is the result, also where it cannot be recorded:
 * then it is in the log, and the usage counts as sent without an answer.
 *
 * @param isDoubtful it was sent before without an answer.
 * @param answerText what of the answer is recorded.
 */
export const sendUsage = async <A>(
  { ledger, subscriptions, counters, clock, log }: SendDeps,
  sent: SentUsage,
  isDoubtful: boolean,
  ask: () => Promise<ProviderResult<A>>,
  answerText: (answer: A) => string,
): Promise<ProviderResult<A>> => {
  const begunAt = performance.now()
  const result = await ask()
  const call: MeteringCall = {
    outcome: outcomeOf(result),
    code: result.kind === 'accepted' ? '' : result.code,
    answer: result.kind === 'accepted' ? answerText(result.answer) : '',
    attempts: result.attempts,
    milliseconds: Math.round(performance.now() - begunAt),
  }
  counters.count(call.outcome)
  try {
    await ledger.settle(sent, stateOf(result, isDoubtful), call, clock.now())
  } catch (error) {
    log.error({ usage: sent.key, ...call, error }, 'what a provider said to usage was not recorded')
  }
  if (result.kind === 'accepted' && sent.subscriptionRef !== '')
    try {
      await subscriptions.reported(sent.subscriptionRef)
    } catch (error) {
      log.error({ subscription: sent.subscriptionRef, error }, 'usage of a subscription was not counted')
    }
  return result
}

/** Another request has sent the same usage for longer than a request takes. */
export const sentElsewhere = (): Failure<'MeteringFailed'> =>
  MeteringFailed('Other requests are sending this usage. It may be recorded: repeat the same request.', {
    origin: { code: ownCodes.timeout },
  })
