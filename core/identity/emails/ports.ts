import type { UserId } from '../../kernel/ids.ts'

/** The purpose of a code that was sent by mail. */
export type LinkCodeKind = 'email-confirmation' | 'password-reset'

export interface LinkCode {
  readonly userId: UserId
  /** The address that the code was sent to, in lower case. */
  readonly emailKey: string
}

export interface NewLinkCode extends LinkCode {
  readonly kind: LinkCodeKind
  /** SHA-256 of the code, 32 bytes. */
  readonly hash: Uint8Array
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Codes sent by mail. Only their hashes are stored. */
export interface LinkCodeStore {
  insert(code: NewLinkCode): Promise<void>
  /** Returns a code that is open and has not expired at `now`. */
  find(kind: LinkCodeKind, hash: Uint8Array, now: Date): Promise<LinkCode | undefined>
  /** Uses up the code with one conditional update: of several concurrent calls one returns true. */
  use(kind: LinkCodeKind, hash: Uint8Array, now: Date): Promise<boolean>
  /** Closes the user's open codes of a kind; with `emailKey`, only those sent to that address. */
  closeAll(userId: UserId, kind: LinkCodeKind, emailKey: string | undefined, now: Date): Promise<void>
  /** Returns when codes of any kind were sent to an address after `since`, for any user, oldest first; at most 100. */
  sentSince(emailKey: string, since: Date): Promise<readonly Date[]>
  /** Deletes at most 1,000 codes created before `at` and returns their number. */
  purge(at: Date): Promise<number>
}
