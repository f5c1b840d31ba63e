import type { MeteringCounters, UsageDigests } from '../../core/marketplace/metering/ports.ts'
import { ownCodes } from '../../core/marketplace/metering/ports.ts'
import type { ProviderResult } from '../../core/marketplace/metering/types.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import { createHash } from 'node:crypto'
import { RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible'
import { v5 } from 'uuid'
import { toWireJson } from '../../core/kernel/json.ts'

type Failed = Extract<ProviderResult<never>, { readonly kind: 'failed' }>
type Refused = Extract<ProviderResult<never>, { readonly kind: 'refused' }>

/** Of texts of others, at most this is passed on. */
const longestText = 1000

const shortened = (text: unknown): string => String(text ?? '').slice(0, longestText)

/** A code that a provider may have. */
const codeForm = /^[A-Za-z][\w.-]{0,63}$/

/** Codes whose messages repeat what was signed. */
const repeatsSigned = /signature/i

/** Returns the provider's own refusal, without what was signed. */
export const refused = (code: unknown, message: unknown, attempts: number): Refused | Failed => {
  const text = shortened(code)
  if (!codeForm.test(text)) return badAnswer(new Error('the code of the answer is not one'), attempts)
  const said = repeatsSigned.test(text)
    ? 'The provider does not accept the signature of the request.'
    : shortened(message)
  return { kind: 'refused', code: text, message: said, attempts }
}

/** A wait that a provider does not name, and the longest that is passed on. */
const [usualWaitSeconds, longestWaitSeconds] = [1, 3600]

/** Returns a refusal with the wait that a 429 of a provider asks for in seconds. An HTTP date counts as none. */
export const throttledFor = (result: Refused | Failed, retryAfter: string | null | undefined): Refused | Failed => {
  if (result.kind !== 'refused') return result
  const asked = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : usualWaitSeconds
  return { ...result, retryAfterSeconds: Math.min(Math.max(usualWaitSeconds, asked), longestWaitSeconds) }
}

const causeOf = (error: unknown): Failed['cause'] => {
  const { name, message } = error as { readonly name?: unknown; readonly message?: unknown }
  return { name: shortened(name ?? 'Error'), message: shortened(message ?? error) }
}

const failed = (
  code: string,
  message: string,
  error: unknown,
  rest: Pick<Failed, 'mayBeRecorded' | 'attempts'>,
): Failed => {
  const cause = causeOf(error)
  return { kind: 'failed', code, message, ...rest, ...(cause && { cause }) }
}

const repeat = 'The usage may be recorded: repeat the same request, which is counted once.'

/** The provider's answer cannot be read. */
export const badAnswer = (error: unknown, attempts: number): Failed =>
  failed(ownCodes.badAnswer, `The answer of the provider cannot be read. ${repeat}`, withoutBody(error), {
    mayBeRecorded: true,
    attempts,
  })

/** The message of a parser repeats the text that it could not read. */
const withoutBody = (error: unknown): unknown =>
  error instanceof SyntaxError ? { name: error.name, message: 'The answer is not JSON.' } : error

/** The provider did not answer in time. */
const late = (error: unknown, attempts: number): Failed =>
  failed(ownCodes.timeout, `The provider did not answer. ${repeat}`, error, { mayBeRecorded: true, attempts })

/** The service lacks what it needs to send. */
export const notConfigured = (message: string, error: unknown = new Error(message)): Failed =>
  failed(ownCodes.notConfigured, message, error, { mayBeRecorded: false, attempts: 0 })

const links = (error: unknown): readonly unknown[] => {
  const found: unknown[] = []
  for (let at = error; at instanceof Error && found.length < 6; at = at.cause) {
    found.push(at)
    if (at instanceof AggregateError) found.push(...at.errors)
  }
  return found
}

/** Codes of errors before a connection exists. */
const beforeSending: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/** Returns what an error of the connection means. Of several attempts, an earlier one may have reached the provider. */
export const unreached = (error: unknown, attempts: number): Failed => {
  const chain = links(error)
  if (chain.some((link) => link instanceof EgressRefused))
    return failed(
      ownCodes.unreachable,
      'The address of the provider is not one that this service may connect to.',
      error,
      {
        mayBeRecorded: false,
        attempts,
      },
    )
  const hasNotSent =
    attempts <= 1 && chain.some((link) => beforeSending.includes((link as { readonly code?: unknown }).code))
  if (!hasNotSent) return late(error, attempts)
  return failed(ownCodes.unreachable, 'The provider cannot be reached. Nothing was sent.', error, {
    mayBeRecorded: false,
    attempts,
  })
}

/** Loads a provider's package at its first use. */
export const loadProvider = async <M>(name: string, load: () => Promise<M>): Promise<M | Failed> => {
  try {
    return await load()
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    // A missing dependency of the package is a fault, not a choice of the operator.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !String(message).includes(`'${name}'`)) throw error
    return notConfigured(`This installation cannot report usage yet: its operator must run \`npm install ${name}\`.`)
  }
}

/** Sends at most so many requests a second. Others wait, at most `deadlineMilliseconds` with what they wait for. */
export interface Pace {
  run<A>(work: () => Promise<ProviderResult<A>>): Promise<ProviderResult<A>>
}

const throttled: Refused = {
  kind: 'refused',
  code: ownCodes.throttled,
  message: 'This service has too many requests to the provider in its queue. Nothing was sent.',
  attempts: 0,
}

/** @param perSecond the limit of the provider, for all that share its account, is somewhat higher. */
export const makePace = (perSecond: number, deadlineMilliseconds: number): Pace => {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 })
  const maxQueueSize = Math.ceil((perSecond * deadlineMilliseconds) / 2000)
  const queue = new RateLimiterQueue(limiter, { maxQueueSize })
  return {
    async run(work) {
      try {
        await queue.removeTokens(1)
      } catch {
        return throttled
      }
      return within(deadlineMilliseconds, work)
    },
  }
}

/** Returns the result of work, or that it is late. The work is not awaited any more. Never rejects. */
export const within = async <A>(
  milliseconds: number,
  work: () => Promise<ProviderResult<A>>,
): Promise<ProviderResult<A>> => {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<ProviderResult<A>>((resolve) => {
    timer = setTimeout(() => resolve(late(new Error('The deadline has passed.'), 1)), milliseconds)
  })
  try {
    return await Promise.race([work(), end])
  } catch (error) {
    return late(error, 1)
  } finally {
    clearTimeout(timer)
  }
}

/** The namespace of keys of usage. It never changes: usage that was sent would be sent again. */
const namespace = '6e0d9d0e-5a1c-4b6b-9c55-0d1f3d7b1c21'

/** UsageDigests by UUID version 5 and SHA-256. */
export const usageDigests: UsageDigests = {
  key: (texts) => v5(toWireJson(texts), namespace),
  digest: (texts) => createHash('sha256').update(toWireJson(texts)).digest('hex'),
}

/** MeteringTally in the memory of this process. */
export const makeMeteringCounters = (): MeteringCounters => {
  const counts = { accepted: 0, refused: 0, unknown: 0, failed: 0, partial: 0, repeated: 0 }
  return {
    count: (outcome) => {
      counts[outcome] += 1
    },
    counts: () => ({ ...counts }),
  }
}
