import type { AccountId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Mail } from '../kernel/mail.ts'
import { token } from '../kernel/token.ts'

/** The server could not take the mail now; a later attempt makes sense. `message` is a class such as `timeout`, never content. */
export const MailDelayed = defineFailure('MailDelayed', 'Unavailable')
/** The server said that it will never take this mail. `message` is a class such as `recipient-refused`, never content. */
export const MailRefused = defineFailure('MailRefused', 'Unprocessable')

/** Hands one mail to whatever carries it away. */
export interface Mailer {
  /**
   * `messageRef` is the same at each attempt at the same mail, so that a reader's program can tell a repetition.
   * Right means that the mail was taken over. It never waits longer than `mailLeaseSeconds`.
   */
  send(mail: Mail, messageRef: string): Outcome<Failure<'MailDelayed'> | Failure<'MailRefused'>, void>
}
export const MailerToken = token<Mailer>('mail.Mailer')

/** A mail that this process alone may send until its lease ends. */
export interface ClaimedMail {
  readonly id: number
  /** Random, the same for the life of the mail. */
  readonly ref: string
  readonly accountId: AccountId | undefined
  /** This attempt included. */
  readonly attempts: number
  readonly createdAt: Date
  /** Unseals the content. Throws when the key is gone or the row was tampered with. */
  open(): Promise<Mail>
}

/** Mail that transactions left behind. */
export interface MailQueue {
  /** Takes up to `limit` mails that are due at `now`, longest due first; nobody else gets them before `leasedUntil`. */
  claim(limit: number, now: Date, leasedUntil: Date): Promise<readonly ClaimedMail[]>
  /** Removes it: it was sent, or it never will be. */
  remove(mail: ClaimedMail): Promise<void>
  /** Due again at `notBefore`. Does nothing when another attempt has begun since. */
  postpone(mail: ClaimedMail, notBefore: Date, errorClass: string): Promise<void>
}
export const MailQueueToken = token<MailQueue>('mail.MailQueue')

/** Tells the sender in this process that a commit left mail behind. */
export interface MailBell {
  /** Never throws and never waits. */
  ring(): void
}
export const MailBellToken = token<MailBell>('mail.MailBell')

/** Sends what is due. Answers what became of how many. */
export type DeliverMail = (signal: AbortSignal) => Promise<DeliveryCount>
export interface DeliveryCount {
  readonly sent: number
  readonly postponed: number
  readonly givenUp: number
}
export const DeliverMailToken = token<DeliverMail>('mail.DeliverMail')
