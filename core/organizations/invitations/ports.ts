import type { Brand, OrgId, TeamId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { token } from '../../kernel/token.ts'
import type { MembershipRole } from '../types.ts'

export type InvitationId = Brand<number, 'InvitationId'>

/** An e-mail address in canonical form. */
export interface InvitedAddress {
  readonly text: string
  /** What addresses are compared by: `text` without regard to case. */
  readonly key: string
}

/** An offer of membership to whoever reads the mail of an address. */
export interface Invitation {
  readonly id: InvitationId
  readonly orgId: OrgId
  readonly address: InvitedAddress
  readonly role: MembershipRole
  /** Teams of the organization, ascending; those that were deleted since are gone from here. */
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

/** Invitations, each read and change within one organization, or by the hash of the token. */
export interface InvitationStore {
  /** Those that have not expired at `now`, newest first. */
  list(orgId: OrgId, now: Date, page: PageRequest): Promise<Page<Invitation>>
  find(orgId: OrgId, id: InvitationId): Promise<Invitation | undefined>
  findByHash(hash: Uint8Array): Promise<Invitation | undefined>
  /** How many have not expired at `now`, the one to `exceptKey` left out. */
  countPending(orgId: OrgId, exceptKey: string, now: Date): Promise<number>
  /** Takes the place of the organization's invitation to the same address, whose token is worth nothing then. */
  put(invitation: NewInvitation): Promise<InvitationId>
  remove(orgId: OrgId, id: InvitationId): Promise<boolean>
  /** Uses it up: one conditional delete, true once for each token and never at or after its expiry. */
  take(hash: Uint8Array, now: Date): Promise<boolean>
  /** Removes at most `limit` that have expired; answers how many. */
  removeExpired(now: Date, limit: number): Promise<number>
  /** The member of the organization who holds the address, confirmed; and whether the member shows it to others. */
  memberWithAddress(orgId: OrgId, key: string): Promise<{ readonly userId: UserId; readonly showsAddress: boolean } | undefined>
  /** Whether the user holds the address and has confirmed it. */
  holdsAddress(userId: UserId, key: string): Promise<boolean>
  /** What the inviter is now, apart from memberships. */
  inviter(userId: UserId): Promise<{ readonly isSiteAdmin: boolean; readonly isActive: boolean } | undefined>
}
export const InvitationStoreToken = token<InvitationStore>('organizations.InvitationStore')

/** Reads what people write as an e-mail address. */
export interface AddressReader {
  /** Undefined when it is no address. */
  read(text: string): InvitedAddress | undefined
}
export const AddressReaderToken = token<AddressReader>('organizations.AddressReader')

/** Makes the tokens of invitations. */
export interface InvitationTokens {
  /** More than 160 random bits, as letters and digits. */
  make(): Secret
  /** SHA-256, 32 bytes. */
  digest(value: string): Uint8Array
}
export const InvitationTokensToken = token<InvitationTokens>('organizations.InvitationTokens')
