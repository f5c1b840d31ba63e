import type { UserId } from '../../kernel/ids.ts'

/** What a code that was sent by mail is good for. */
export type LinkCodeKind = 'email-confirmation' | 'password-reset'

export interface LinkCode {
  readonly userId: UserId
  /** The address that it was sent to, in lower case. */
  readonly emailKey: string
}

export interface NewLinkCode extends LinkCode {
  readonly kind: LinkCodeKind
  /** SHA-256 of the code, 32 bytes. */
  readonly hash: Uint8Array
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Codes that went out by mail; only their hashes are kept. */
export interface LinkCodeStore {
  insert(code: NewLinkCode): Promise<void>
  /** One that is open and has not expired at `now`. */
  find(kind: LinkCodeKind, hash: Uint8Array, now: Date): Promise<LinkCode | undefined>
  /** Uses it up by one conditional update: of several at once one gets true. */
  use(kind: LinkCodeKind, hash: Uint8Array, now: Date): Promise<boolean>
  /** Closes the user's open codes of a kind; with `emailKey`, those that were sent there. */
  closeAll(userId: UserId, kind: LinkCodeKind, emailKey: string | undefined, now: Date): Promise<void>
  /** When codes of any kind were sent to an address after `since`, by whomever, oldest first; at most 100. */
  sentSince(emailKey: string, since: Date): Promise<readonly Date[]>
  /** Drops those that were made before `at`, at most 1,000; answers how many. */
  purge(at: Date): Promise<number>
}
