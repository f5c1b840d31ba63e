import type { AccountId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { portKey } from '../kernel/port-key.ts'
import type { Secret } from '../kernel/secret.ts'

/** One message to one recipient, as content. The adapter renders it as text and as HTML. */
export interface Mail {
  /** An address in canonical form. */
  readonly to: string
  /** One line without control characters. */
  readonly subject: string
  /** Plain text, one entry per paragraph. User-chosen values (names) are allowed: they are escaped where needed. */
  readonly paragraphs: readonly string[]
  /** The call to action: a link that may itself be a credential, so it is sealed until it is sent. */
  readonly action?: { readonly label: string; readonly url: Secret }
  /** The account that the mail is about, for the log and for clean-up when the account is removed. */
  readonly accountId?: AccountId
}

/**
 * Adds mail to the surrounding transaction. It is sent if, and only if, the transaction commits, at least once, even
 * after a restart.
 */
export interface MailOutbox {
  post(mail: Mail): Promise<void>
}

/**
 * The server could not accept the mail now and may accept it later. `message` is a class such as `timeout`, never
 * content.
 */
export const MailDelayed = defineFailure(
  'MailDelayed',
  'Unavailable',
  'The mail server did not accept the mail for now.',
)
/** The server rejected the mail permanently. `message` is a class such as `recipient-refused`, never content. */
export const MailRefused = defineFailure('MailRefused', 'Unprocessable', 'The mail server refused the mail.')

/** Sends one mail. */
export interface Mailer {
  /**
   * `messageRef` is the same for each attempt to send the same mail, so that a mail client can detect a duplicate.
   * Right means that the mail was accepted. Never waits longer than `mailLeaseSeconds`.
   */
  send(mail: Mail, messageRef: string): Outcome<Failure<'MailDelayed'> | Failure<'MailRefused'>, void>
}
export const MailerPort = portKey<Mailer>('mail.Mailer')

/** A mail that only this process may send until its lease ends. */
export interface ClaimedMail {
  readonly id: number
  /** Random; does not change for the life of the mail. */
  readonly ref: string
  readonly accountId: AccountId | undefined
  /** Includes this attempt. */
  readonly attempts: number
  readonly createdAt: Date
  /** Unseals the content. Throws if the key is missing or the row was tampered with. */
  open(): Promise<Mail>
}

/** Mail committed by transactions. */
export interface MailQueue {
  /**
   * Claims up to `limit` mails that are due at `now`, longest due first; no other process gets them before
   * `leasedUntil`.
   */
  claim(limit: number, now: Date, leasedUntil: Date): Promise<readonly ClaimedMail[]>
  /** Removes a mail that was sent or never will be. */
  remove(mail: ClaimedMail): Promise<void>
  /** Makes the mail due again at `notBefore`. Does nothing if another attempt has started since. */
  postpone(mail: ClaimedMail, notBefore: Date, errorClass: string): Promise<void>
  /** Returns the number of mails that are not sent yet, and the age of the oldest in seconds; 0 if there is none. */
  lag(): Promise<{ readonly count: number; readonly oldestSeconds: number }>
}
export const MailQueuePort = portKey<MailQueue>('mail.MailQueue')

/** Notifies the sender in this process of committed mail. */
export interface OutboxNotifier {
  /** Never throws and never waits. */
  ring(): void
}
export const OutboxNotifierPort = portKey<OutboxNotifier>('mail.OutboxNotifier')

/** Sends due mail. Returns counts by result. */
export type DeliverMail = (signal: AbortSignal) => Promise<DeliveryCount>
export interface DeliveryCount {
  readonly sent: number
  readonly postponed: number
  readonly givenUp: number
}
export const DeliverMailPort = portKey<DeliverMail>('mail.DeliverMail')
