import type { AccountId } from '../kernel/ids.ts'
import { token } from '../kernel/token.ts'

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
