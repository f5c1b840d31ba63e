import type { UserId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'

/** An account that was shut to be deleted, while it can still come back. */
export interface DeactivatedAccount {
  readonly userId: UserId
  readonly login: string
  readonly fullName: string
  readonly primaryEmail: string
  readonly deactivatedAt: Date
  /** Undefined when that account is gone. */
  readonly deactivatedBy: string | undefined
}

/**
 * The beginning and the end of accounts: those that wait for their address to be confirmed, and those that were
 * deactivated. Both are inactive, and making an account active in any way ends either state.
 */
export interface AccountLifeStore {
  /** Marks an account that its owner made and whose address nobody confirmed yet; it is inactive. */
  markUnconfirmed(id: UserId, since: Date): Promise<void>
  /** Makes an account active that waits for confirmation. False, and no change, when it does not wait. */
  confirm(id: UserId): Promise<boolean>
  /** At most `limit` accounts beyond `after` that have waited since before `at`, by id. */
  unconfirmedBefore(at: Date, after: UserId | 0, limit: number): Promise<readonly UserId[]>
  /** Holds the account's row until the transaction ends; which state it is in, undefined when in neither. */
  lockState(id: UserId): Promise<'unconfirmed' | 'deactivated' | undefined>
  /** Shuts an account to be deleted: inactive from now on. False, and no change, when it is deactivated already. */
  deactivate(id: UserId, by: UserId, at: Date): Promise<boolean>
  /** When the account was deactivated; undefined when it is not. */
  deactivatedAt(id: UserId): Promise<Date | undefined>
  /** Makes a deactivated account active. False, and no change, when it is not deactivated. */
  reactivate(id: UserId): Promise<boolean>
  /** By login. */
  deactivated(page: PageRequest): Promise<Page<DeactivatedAccount>>
  /** At most `limit` accounts beyond `after` that were deactivated before `at`, by id. */
  deactivatedBefore(at: Date, after: UserId | 0, limit: number): Promise<readonly UserId[]>
}
