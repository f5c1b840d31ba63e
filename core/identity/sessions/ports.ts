import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call, Principal } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { token } from '../../kernel/token.ts'
import type { RememberedId } from '../types.ts'

/** What a browser was given so that it need not ask for the password again; of its series and secret only hashes are kept. */
export interface RememberedLogin {
  readonly id: RememberedId
  readonly userId: UserId
  /** SHA-256 of the secret that counts now, 32 bytes. */
  readonly secretHash: Uint8Array
  /** SHA-256 of the secret before it; undefined until the first change. */
  readonly previousHash: Uint8Array | undefined
  readonly rotatedAt: Date | undefined
  readonly createdAt: Date
  /** From then on the password is needed again, however often it was used. */
  readonly expiresAt: Date
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
}

/** Remembered logins. Each has at least one session, over or not, and ends with any of them: `SessionStore` sees to that. */
export interface RememberedLoginStore {
  /** Without regard to its end. */
  bySeries(hash: Uint8Array): Promise<RememberedLogin | undefined>
  /** The current state, locked until the transaction ends. */
  lock(id: RememberedId): Promise<RememberedLogin | undefined>
  insert(login: NewRememberedLogin): Promise<RememberedId>
  /** Puts `next` in the place of `expected`, which becomes the previous one: one conditional update, false where `expected` counts no more. */
  rotate(id: RememberedId, expected: Uint8Array, next: Uint8Array, at: Date): Promise<boolean>
  /** Notes when and from where it was used last. */
  markUsed(id: RememberedId, at: Date, sourceIp: string, userAgent: string): Promise<void>
}

/** A session that a remembered login opened. */
export interface ResumedSession {
  readonly principal: Principal
  readonly sessionKey: Secret
  /** What the browser keeps from now on; undefined where what it has still counts, or another answer of this moment brings it. */
  readonly remembered: RememberedCookie | undefined
  readonly busPass: Secret | undefined
}

/** The value of a remember cookie, and for how long. */
export interface RememberedCookie {
  readonly value: Secret
  readonly validSeconds: number
}

/** Opens sessions for browsers that were told to remember their login. */
export interface SessionResumption {
  /**
   * Proves whose login the cookie `value` is and opens a session of its own key; the cookie's secret changes by one
   * conditional update. A secret that was changed less than 30 seconds ago still opens a session, for tabs that load at
   * once; an older one was copied, so everything that the user has open ends, with audit and mail.
   * Failures: NotAuthenticated (unknown, over, stolen, disabled account): the cookie is worth nothing then.
   */
  resume(call: Call, value: Secret): Outcome<Failure<'NotAuthenticated'>, ResumedSession>
}
export const SessionResumptionToken = token<SessionResumption>('identity.SessionResumption')

/** Passes for the message bus, which browsers carry to its websocket in a cookie. */
export interface BusPasses {
  /**
   * A bearer JWT that lets the user, and nobody else, onto the bus for `validSeconds` from now, as far as the user's own
   * subjects go. Undefined where the bus gives none, or does not answer soon: a sign-in never waits or fails for it. Never
   * throws. Asked outside of transactions.
   */
  passFor(user: { readonly userId: UserId; readonly login: string }, validSeconds: number): Promise<Secret | undefined>
}
export const BusPassesToken = token<BusPasses>('identity.BusPasses')
