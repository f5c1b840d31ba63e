import type { TokenId, UserId } from '../kernel/ids.ts'

/** A token that ends soon, and whoever is to be told. */
export interface ExpiringToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly login: string
  /** The user's primary address, verified. */
  readonly email: string
  readonly name: string
  readonly lastEight: string
  readonly expiresAt: Date
}

export interface ExpiredToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
}

/** What becomes of access tokens at their end. */
export interface TokenExpiryStore {
  /**
   * Tokens of active users that end after `now` and within `days`, were made more than `days` before their end, and
   * whose owner has had no warning of this or of fewer days. At most `limit`, soonest first.
   */
  dueWarnings(days: number, now: Date, limit: number): Promise<readonly ExpiringToken[]>
  /** False when a warning of this or of fewer days was noted already. */
  markWarned(id: TokenId, days: number): Promise<boolean>
  /** Tokens that ended before `at`; at most `limit`, longest ended first. */
  endedBefore(at: Date, limit: number): Promise<readonly ExpiredToken[]>
}
