import type { Either } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import { portKey } from '../kernel/port-key.ts'

/** The kind of secret that is guessed. Each kind has its own counters. */
export type AttemptKind = 'password' | 'one-time-code' | 'passkey' | 'reset-code'

/** One attempt to prove a secret that can be guessed. */
export interface Attempt {
  readonly kind: AttemptKind
  /** The owner of the secret. For an unknown name, the name as sent, in lower case. */
  readonly subject: UserId | string
  /** Canonical IP text. */
  readonly sourceIp: string
  /**
   * What the caller has already proven to be of the subject, such as a session. Its attempts are counted apart, so that
   * the failures of anonymous callers do not lock it.
   */
  readonly provenBy?: string | undefined
}

/**
 * The result of a guarded attempt. A locked subject, known or not, is one case; an address with too many failures is
 * another.
 */
export type Guarded<E, A> =
  /** The check ran: the secret was correct, or the check revealed nothing. */
  | { readonly kind: 'judged'; readonly answer: Either<E, A> }
  /** `hasLocked`: this attempt locked the subject, and its owner is to be notified: of the 1st, 2nd, 4th, … lock. */
  | { readonly kind: 'wrong'; readonly hasLocked: boolean }
  | { readonly kind: 'subject-locked' | 'address-blocked'; readonly retryAfterSeconds: number }

/**
 * Counts failed attempts in the shared store, across instances and restarts, in its own statements. Locks are never
 * permanent. If the store does not respond, a counter in this process is used, with half the limits.
 *
 * Wrong passwords are counted by subject and network, and by subject over all networks from which it has not signed in
 * lately: a lock by anonymous callers does not reach the networks that the subject uses, nor what a caller has proven.
 */
export interface AttemptThrottle {
  /**
   * Runs the costly `check` unless the subject is locked or the address blocked, and counts its result. Undefined is a
   * wrong guess. A value resets the failures of this kind from the same network (the address keeps its own). Left or a
   * throw is not counted. For one subject no more checks run concurrently than there are failures left; the others wait, so that
   * concurrent guesses gain nothing over sequential ones.
   */
  guard<E, A>(attempt: Attempt, check: () => Promise<Either<E, A | undefined>>): Promise<Guarded<E, A>>
  /** Resets every failure and lock of a user, of one kind or of all. Returns true if there was a lock. */
  unlock(userId: UserId, kind?: AttemptKind): Promise<boolean>
}
export const AttemptThrottlePort = portKey<AttemptThrottle>('identity.AttemptThrottle')

/** Called once when an attempt locks an existing account, to notify its owner and the audit log. Never throws. */
export type OnLocked = (attempt: Attempt & { readonly subject: UserId }) => void
export const OnLockedPort = portKey<OnLocked>('identity.OnLocked')

/** A counter that has not expired. */
export interface AttemptCount {
  readonly points: number
  readonly millisecondsLeft: number
}

/** Counters in the shared store, keyed by a digest of 32 bytes. The store's clock determines expiry. */
export interface AttemptCounters {
  find(key: Uint8Array): Promise<AttemptCount | undefined>
  /** Adds atomically and returns the sum. A missing or expired counter restarts and lasts `milliseconds`. */
  add(key: Uint8Array, points: number, milliseconds: number): Promise<AttemptCount>
  /** Overwrites the counter. */
  put(key: Uint8Array, points: number, milliseconds: number): Promise<void>
  /** Returns true if there was a counter that had not expired. */
  remove(key: Uint8Array): Promise<boolean>
  /**
   * Removes the counters whose keys begin with a prefix of 16 bytes. Returns true if one that had not expired had at
   * least `points`.
   */
  removeAll(prefix: Uint8Array, points: number): Promise<boolean>
  /** Deletes at most 1,000 expired counters and returns their number. */
  purge(): Promise<number>
}

/**
 * Requests that need no proof and are therefore limited: registrations and password resets, by source IP address, and
 * notices of such requests, by e-mail address. Invitations to organizations, which send mail to addresses that others
 * chose: by inviting user, by organization and address, and by address across organizations. Confirmations of
 * addresses, by the user who names them. Checks whether an account has an address, by user and by source IP address.
 * Challenges for a sign-in with a passkey, by source IP address.
 * Searches for the identity provider of an address, by source IP address. Codes that devices show, by the user who
 * types them.
 */
export type AllowanceKind =
  | 'sign-up'
  | 'sign-up-notice'
  | 'password-reset'
  | 'invitation'
  | 'invitation-address'
  | 'invitation-mailbox'
  | 'email-confirmation'
  | 'address-check'
  | 'address-check-network'
  | 'passkey-challenge'
  | 'provider-search'
  | 'user-code'

/**
 * Counts in the shared store, across instances. If it does not respond, counts in this process, with half the limits.
 */
export interface Allowances {
  /** Takes one. Returns the seconds to wait if none is left. */
  take(kind: AllowanceKind, subject: string): Promise<number | undefined>
}
export const AllowancesPort = portKey<Allowances>('identity.Allowances')
