import type { AccountId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { portKey } from '../../kernel/port-key.ts'

/** A deactivated account that can still be reactivated. */
export interface DeactivatedAccount {
  readonly userId: UserId
  readonly login: string
  readonly fullName: string
  readonly primaryEmail: string
  readonly deactivatedAt: Date
  /** Undefined if that account no longer exists. */
  readonly deactivatedBy: string | undefined
}

/**
 * The life cycle of accounts: those that wait for the confirmation of their address, and those that are deactivated.
 * Both are inactive, and activating an account in any way ends either state.
 */
export interface AccountLifeStore {
  /** Marks a self-registered account whose address is not confirmed yet. The account is inactive. */
  markUnconfirmed(id: UserId, since: Date): Promise<void>
  /** Activates an account that waits for confirmation. Returns false, without a change, if it does not wait. */
  confirm(id: UserId): Promise<boolean>
  /** Returns at most `limit` accounts with ids above `after` that have waited since before `at`, by id. */
  unconfirmedBefore(at: Date, after: UserId | 0, limit: number): Promise<readonly UserId[]>
  /** Locks the account's row until the transaction ends. Returns its state, or undefined if it is in neither. */
  lockState(id: UserId): Promise<'unconfirmed' | 'deactivated' | undefined>
  /** Deactivates an account, pending deletion. Returns false, without a change, if it is already deactivated. */
  deactivate(id: UserId, by: UserId, at: Date): Promise<boolean>
  /** Returns when the account was deactivated; undefined if it is not. */
  deactivatedAt(id: UserId): Promise<Date | undefined>
  /** Reactivates a deactivated account. Returns false, without a change, if it is not deactivated. */
  reactivate(id: UserId): Promise<boolean>
  /** Lists the deactivated accounts by login. */
  deactivated(page: PageRequest): Promise<Page<DeactivatedAccount>>
  /** Returns at most `limit` accounts with ids above `after` that were deactivated before `at`, by id. */
  deactivatedBefore(at: Date, after: UserId | 0, limit: number): Promise<readonly UserId[]>
}

/** A part of a walk over all rows, by id. */
export interface SearchTermsPart {
  /** Those whose search terms are not what they would be written with today. */
  readonly outdated: readonly number[]
  /** The last id that was read. Undefined if no row is left. */
  readonly last: number | undefined
}

/** Finds and replaces search terms of users and addresses that an instance of an earlier release wrote without them. */
export interface SearchTermStore {
  /** Reads at most `limit` users, in the order of their ids, from the first above `after` on. */
  usersAfter(after: number, limit: number): Promise<SearchTermsPart>
  /** Like `usersAfter`, for the addresses of users. */
  emailsAfter(after: number, limit: number): Promise<SearchTermsPart>
  /** Writes the terms of a user again, in a transaction that holds the lock on the user's row. */
  replaceUser(id: number): Promise<void>
  /** Writes the terms of an address again. Does nothing if it no longer exists. */
  replaceEmail(id: number): Promise<void>
}

/** Pictures of users and organizations, each a PNG stored under the digest of its bytes. */
export interface AvatarStore {
  /** Replaces the account's picture. `digest` is the SHA-256 of the bytes in base64url, 43 characters. */
  put(accountId: AccountId, digest: string, bytes: Uint8Array, at: Date): Promise<void>
  /** Returns false if there was none. */
  remove(accountId: AccountId): Promise<boolean>
  /**
   * Returns a picture by digest. Anyone who knows the digest may see it: it cannot be guessed, and profiles that show
   * the picture include it.
   */
  byDigest(digest: string): Promise<Uint8Array | undefined>
}

/** Names content by its SHA-256 in base64url. */
export interface ContentDigest {
  of(bytes: Uint8Array): string
}
export const ContentDigestPort = portKey<ContentDigest>('identity.ContentDigest')

/** How many rows per page each user interface shows to a user. Lists of this API use `limit` instead. */
export interface PageSizes {
  readonly productUi: number
  readonly consoleUi: number
  readonly platformUi: number
}

/** The page sizes that users have set. */
export interface PageSizeStore {
  /** Returns undefined if the user has set none. */
  find(userId: UserId): Promise<PageSizes | undefined>
  put(userId: UserId, sizes: PageSizes): Promise<void>
}

/** The site admins' rules for new accounts. */
export interface SiteRules {
  /** Whether users may register themselves. False until an admin changes it. */
  readonly isRegistrationOpen: boolean
  /** Domains in ASCII, lower case, sorted. Empty means that every domain is allowed. Site admins are exempt. */
  readonly allowedDomains: readonly string[]
}

/** The rules of the whole site. Changes must run in a transaction. */
export interface SiteRulesStore {
  read(): Promise<SiteRules>
  setRegistrationOpen(isOpen: boolean): Promise<void>
  /** Returns false if the domain was already present. */
  addDomain(domain: string): Promise<boolean>
  /** Returns false if the domain was not present. */
  removeDomain(domain: string): Promise<boolean>
}
