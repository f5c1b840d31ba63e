import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { token } from '../../kernel/token.ts'
import type { EventReport, EventReports, EventTally } from './reports.ts'

/** A message with events from the bus. */
export interface UsageMessage {
  /** The account that sent it, as the bus says; never from the message itself. */
  readonly ownerId: AccountId | undefined
  readonly body: Uint8Array
  /** How often it was delivered, this time included. */
  readonly deliveries: number
}

/** What becomes of a message: it is acknowledged, never delivered again, or delivered again later. */
export type MessageFate = { readonly kind: 'done' } | { readonly kind: 'never' } | { readonly kind: 'later'; readonly seconds: number }

/** Records the events of a message. Returns after the commit; never throws. */
export type HandleUsageMessage = (message: UsageMessage) => Promise<MessageFate>

/** Receives messages with events for as long as the service runs. */
export interface UsageIntake {
  /** Starts receiving, with unlimited retries; never throws. */
  start(): void
}
export const UsageIntakeToken = token<UsageIntake>('usage.UsageIntake')

/** Issues credentials with which a program of an account publishes events. */
export interface UsageCredentials {
  /** Throws `Unavailable` while the bus is away. */
  issue(
    call: Call,
    owner: { readonly ownerId: AccountId; readonly login: string; readonly notAfter: Date | undefined },
  ): Outcome<Failure<'BusHasNoCredentials' | 'BusRefused'>, { readonly endpoints: readonly string[]; readonly file: Secret<Uint8Array> }>
}
export const UsageCredentialsToken = token<UsageCredentials>('usage.UsageCredentials')

const retrySeconds = 5
/** An account may import a cluster after it has begun to report. */
const unknownClusterSeconds = 60
const unknownClusterDeliveries = 10

export interface MessageDeps {
  readonly reports: Pick<EventReports, 'record'>
  /** Returns a report; undefined if the text is none. */
  readonly decode: (body: Uint8Array) => Omit<EventReport, 'ownerId'> | undefined
  readonly tally: EventTally
  readonly log: Log
}

export const makeHandleUsageMessage = ({ reports, decode, tally, log }: MessageDeps): HandleUsageMessage => {
  const never = (ownerId: AccountId | undefined, reason: string): MessageFate => {
    tally.terminated += 1
    log.warn({ owner: ownerId, reason }, 'a message with usage events is not acceptable')
    return { kind: 'never' }
  }
  return async ({ ownerId, body, deliveries }) => {
    const report = decode(body)
    if (ownerId === undefined || report === undefined) return never(ownerId, 'it is no report')
    try {
      const results = await reports.record({ ...report, ownerId })
      if (!isLeft(results)) return { kind: 'done' }
      const isUnknown = results.left.tag === 'UsageClusterUnknown' && deliveries < unknownClusterDeliveries
      return isUnknown ? { kind: 'later', seconds: unknownClusterSeconds } : never(ownerId, results.left.message)
    } catch (error) {
      log.warn({ owner: ownerId, reason: (error as Error).message }, 'a message with usage events cannot be recorded at present')
      return { kind: 'later', seconds: retrySeconds }
    }
  }
}
