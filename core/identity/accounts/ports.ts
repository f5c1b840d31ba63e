import type { AccountId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { token } from '../../kernel/token.ts'

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

/** Pictures of users and organizations, each a PNG under the digest of its bytes. */
export interface AvatarStore {
  /** Replaces the account's picture. `digest` is the SHA-256 of the bytes in base64url, 43 characters. */
  put(accountId: AccountId, digest: string, bytes: Uint8Array, at: Date): Promise<void>
  /** False when there was none. */
  remove(accountId: AccountId): Promise<boolean>
  /** Whoever knows the digest may see the picture: it cannot be guessed, and profiles that show it name it. */
  byDigest(digest: string): Promise<Uint8Array | undefined>
}

/** The name of some bytes: SHA-256 in base64url. */
export interface ContentDigest {
  of(bytes: Uint8Array): string
}
export const ContentDigestToken = token<ContentDigest>('identity.ContentDigest')

/** How many rows a page of each user interface shows to a user. Lists of this interface take `limit` instead. */
export interface PageSizes {
  readonly productUi: number
  readonly consoleUi: number
  readonly platformUi: number
}

/** What users chose. */
export interface PageSizeStore {
  /** Undefined while the user chose nothing. */
  find(userId: UserId): Promise<PageSizes | undefined>
  put(userId: UserId, sizes: PageSizes): Promise<void>
}

/** What a site admin decided about new accounts. */
export interface SiteRules {
  /** Whether people may make accounts for themselves. Closed until an admin opens it. */
  readonly isRegistrationOpen: boolean
  /** Domains in ASCII, lower case, in order. Empty: addresses of every domain are fine. Site admins are not bound by it. */
  readonly allowedDomains: readonly string[]
}

/** The rules of the whole site, one set of rows; changes belong into a transaction. */
export interface SiteRulesStore {
  read(): Promise<SiteRules>
  setRegistrationOpen(isOpen: boolean): Promise<void>
  /** False when it was there already. */
  addDomain(domain: string): Promise<boolean>
  /** False when it was not there. */
  removeDomain(domain: string): Promise<boolean>
}
/** Outside of a transaction, for reading. */
export const SiteRulesStoreToken = token<SiteRulesStore>('identity.SiteRulesStore')
