import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call, Principal, SessionProof } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { RememberedId } from '../types.ts'

/**
 * A remembered login, with which a browser signs in without the password. Only hashes of its series and secret are
 * stored.
 */
export interface RememberedLogin {
  readonly id: RememberedId
  readonly userId: UserId
  /** SHA-256 of the current secret, 32 bytes. */
  readonly secretHash: Uint8Array
  /** SHA-256 of the previous secret; undefined until the first rotation. */
  readonly previousHash: Uint8Array | undefined
  readonly rotatedAt: Date | undefined
  readonly createdAt: Date
  /** The instant from which the password is required again, regardless of use. */
  readonly expiresAt: Date
  /** By what the sign-in that is remembered proved its user; undefined if its release did not record it. */
  readonly proof: SessionProof | undefined
}

export interface NewRememberedLogin {
  readonly userId: UserId
  /** SHA-256 of the series, 32 bytes. */
  readonly seriesHash: Uint8Array
  readonly secretHash: Uint8Array
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly proof: SessionProof | undefined
}

/**
 * Remembered logins. Each has at least one session, expired or not, and ends with any of them; `SessionStore` ensures
 * that.
 */
export interface RememberedLoginStore {
  /** Also returns an expired login. */
  bySeries(hash: Uint8Array): Promise<RememberedLogin | undefined>
  /** Returns the current state, locked until the transaction ends. */
  lock(id: RememberedId): Promise<RememberedLogin | undefined>
  insert(login: NewRememberedLogin): Promise<RememberedId>
  /**
   * Replaces the secret `expected` by `next`; `expected` becomes the previous one. One conditional update: returns
   * false if `expected` is no longer current.
   */
  rotate(id: RememberedId, expected: Uint8Array, next: Uint8Array, at: Date): Promise<boolean>
  /** Records when and from where it was last used. */
  markUsed(id: RememberedId, at: Date, sourceIp: string, userAgent: string): Promise<void>
}

/** A session that a remembered login opened. */
export interface ResumedSession {
  readonly principal: Principal
  readonly sessionKey: Secret
  /**
   * The new value for the browser; undefined if its current value is still valid, or a concurrent response delivers the
   * new one.
   */
  readonly remembered: RememberedCookie | undefined
  readonly busPass: Secret | undefined
}

/** The value of a remember cookie, and its lifetime. */
export interface RememberedCookie {
  readonly value: Secret
  readonly validSeconds: number
}

/** Opens sessions for browsers with a remembered login. */
export interface SessionResumption {
  /**
   * Authenticates the cookie `value` and opens a session with its own key; one conditional update rotates the cookie's
   * secret. A secret that was rotated less than 30 seconds ago still opens a session, for tabs that load concurrently.
   * An older one is a copy, so all of the user's sessions and remembered logins end, with audit and mail.
   * Failure: NotAuthenticated (unknown, expired, stolen, disabled account); the cookie is then invalid.
   */
  resume(call: Call, value: Secret): Outcome<Failure<'NotAuthenticated'>, ResumedSession>
  /** Returns the user whom a valid cookie `value` remembers, and changes nothing. Undefined for any other value. */
  userOf(value: Secret): Promise<UserId | undefined>
}
export const SessionResumptionPort = portKey<SessionResumption>('identity.SessionResumption')

/** Passes for the message bus. Browsers send them to its websocket in a cookie. */
export interface BusPasses {
  /**
   * Returns a bearer JWT that admits only this user to the bus for `validSeconds` from now, limited to the user's own
   * subjects. Returns undefined if the bus issues none, or does not respond soon: a sign-in never waits or fails for
   * it. Never throws. Must be called outside transactions.
   */
  passFor(user: { readonly userId: UserId; readonly login: string }, validSeconds: number): Promise<Secret | undefined>
}
export const BusPassesPort = portKey<BusPasses>('identity.BusPasses')
