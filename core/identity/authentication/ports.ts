import type { Either } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../kernel/ids.ts'
import { token } from '../../kernel/token.ts'

/** What is guessed at. Each kind has counters of its own. */
export type AttemptKind = 'password' | 'one-time-code' | 'reset-code'

/** One try to prove something that can be guessed. */
export interface Attempt {
  readonly kind: AttemptKind
  /** Whose secret is tried; for a name that nobody has, the name as it was sent, in lower case. */
  readonly subject: UserId | string
  /** Canonical IP text. */
  readonly sourceIp: string
}

/** How a guarded attempt ended. A locked subject, known or not, is one case; an address with too many failures the other. */
export type Guarded<E, A> =
  /** The check ran: it was right, or nothing could be learnt. */
  | { readonly kind: 'judged'; readonly answer: Either<E, A> }
  /** `hasLocked`: it was the one that locked the subject. */
  | { readonly kind: 'wrong'; readonly hasLocked: boolean }
  | { readonly kind: 'subject-locked' | 'address-blocked'; readonly retryAfterSeconds: number }

/**
 * Counts failed attempts on the shared store, so that they hold across instances and restarts, in statements of their
 * own. Locks are never permanent. When the store does not answer, a counter in this process decides, at half the limits.
 */
export interface AttemptThrottle {
  /**
   * Runs the costly `check` unless the subject is locked or the address blocked, and counts how it ended: undefined is a
   * wrong guess, a value forgets the subject's failures of this kind (the address keeps its own), Left or a throw counts
   * for nothing. Of one subject no more checks run at once than there are failures left; the others wait, so that a
   * crowd of guesses gets no further than one after the other.
   */
  guard<E, A>(attempt: Attempt, check: () => Promise<Either<E, A | undefined>>): Promise<Guarded<E, A>>
  /** Forgets every failure and lock of a user, of one kind or of all. True when there was a lock. */
  unlock(userId: UserId, kind?: AttemptKind): Promise<boolean>
}
export const AttemptThrottleToken = token<AttemptThrottle>('identity.AttemptThrottle')

/** Told once when an attempt locked an account that exists, so that its owner and the audit log learn of it. Never throws. */
export type OnLocked = (attempt: Attempt & { readonly subject: UserId }) => void
export const OnLockedToken = token<OnLocked>('identity.OnLocked')

/** A counter that has not expired. */
export interface AttemptCount {
  readonly points: number
  readonly millisecondsLeft: number
}

/** Counters on the shared store, by a digest of 32 bytes. Expiry is judged by the store's clock. */
export interface AttemptCounters {
  find(key: Uint8Array): Promise<AttemptCount | undefined>
  /** Adds in one step and answers the sum. A counter that is missing or expired starts anew, to last `milliseconds`. */
  add(key: Uint8Array, points: number, milliseconds: number): Promise<AttemptCount>
  /** Whatever was there. */
  put(key: Uint8Array, points: number, milliseconds: number): Promise<void>
  /** True when there was one that had not expired. */
  remove(key: Uint8Array): Promise<boolean>
  /** Drops expired counters, at most 1,000; answers how many. */
  purge(): Promise<number>
}

/**
 * What anybody may ask for without proving anything, so that there is only so much of it: accounts and password
 * resets, by the IP address that asks, and notices of such requests, by the e-mail address that they go to. Invitations
 * to organizations as well: mail to addresses that others chose, by the inviting person, by organization and address, and
 * by address, whichever organizations they are. Confirmations of addresses, by the user who names them. And questions
 * whether an account has an address, by the user and by the IP address that ask.
 */
export type AllowanceKind =
  | 'sign-up' | 'sign-up-notice' | 'password-reset' | 'invitation' | 'invitation-address' | 'invitation-mailbox' | 'email-confirmation'
  | 'address-check' | 'address-check-network'

/** Counts on the shared store, across instances; when that does not answer, in this process, at half the limits. */
export interface Allowances {
  /** Takes one; the seconds to wait when none is left. */
  take(kind: AllowanceKind, subject: string): Promise<number | undefined>
}
export const AllowancesToken = token<Allowances>('identity.Allowances')
