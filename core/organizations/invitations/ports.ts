import type { Either } from 'fp-ts/lib/Either.js'
import type { Brand, OrgId, TeamId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { MembershipRole } from '../types.ts'

export type InvitationId = Brand<number, 'InvitationId'>

/** An e-mail address in canonical form. */
export interface InvitedAddress {
  readonly text: string
  /** The key by which addresses compare: `text` without regard to case. */
  readonly key: string
}

/** An offer of membership to the user of an e-mail address. */
export interface Invitation {
  readonly id: InvitationId
  readonly orgId: OrgId
  readonly address: InvitedAddress
  readonly role: MembershipRole
  /** Teams of the organization, ascending. Deleted teams are omitted. */
  readonly teamIds: readonly TeamId[]
  readonly inviterId: UserId
  readonly inviterLogin: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

export type NewInvitation = Omit<Invitation, 'id' | 'inviterLogin'> & {
  /** SHA-256 of the token, 32 bytes. */
  readonly hash: Uint8Array
}

/** Invitations. Each read and change is limited to one organization, or to the hash of a token. */
export interface InvitationStore {
  /** Lists those that have not expired at `now`, newest first. */
  list(orgId: OrgId, now: Date, page: PageRequest): Promise<Page<Invitation>>
  find(orgId: OrgId, id: InvitationId): Promise<Invitation | undefined>
  findByHash(hash: Uint8Array): Promise<Invitation | undefined>
  /** Returns the number of invitations that have not expired at `now`, not counting the one to `exceptKey`. */
  countPending(orgId: OrgId, exceptKey: string, now: Date): Promise<number>
  /** Replaces the organization's invitation to the same address; the earlier token becomes invalid. */
  put(invitation: NewInvitation): Promise<InvitationId>
  remove(orgId: OrgId, id: InvitationId): Promise<boolean>
  /**
   * Consumes the invitation with one conditional delete. Returns true once per token, and never at or after its expiry.
   */
  take(hash: Uint8Array, now: Date): Promise<boolean>
  /** Deletes at most `limit` expired invitations and returns their number. */
  removeExpired(now: Date, limit: number): Promise<number>
  /** Returns the member of the organization with this confirmed address, and whether the member shows it to others. */
  memberWithAddress(
    orgId: OrgId,
    key: string,
  ): Promise<{ readonly userId: UserId; readonly showsAddress: boolean } | undefined>
  /** Reports whether the user has the address and has confirmed it. */
  holdsAddress(userId: UserId, key: string): Promise<boolean>
}
export const InvitationStorePort = portKey<InvitationStore>('organizations.InvitationStore')

/** Parses an e-mail address. */
export interface AddressReader {
  /** Left is the sentence that says what is wrong with the text. */
  read(text: string): Either<string, InvitedAddress>
  /** Returns the address as people read it: an internationalized domain in Unicode. */
  readable(address: string): string
}
export const AddressReaderPort = portKey<AddressReader>('organizations.AddressReader')

/** Generates the tokens of invitations. */
export interface InvitationTokens {
  /** Returns a token with more than 160 random bits, as letters and digits. */
  make(): Secret
  /** Returns the SHA-256, 32 bytes. */
  digest(value: string): Uint8Array
}
export const InvitationTokensPort = portKey<InvitationTokens>('organizations.InvitationTokens')
