import type { OrgId, TeamId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'

/** What a directory says of a user. */
export interface UserContent {
  /** Unique in the organization, without regard to case. */
  readonly userName: string
  readonly externalId: string | undefined
  /** The full name of the account. */
  readonly fullName: string
  /** The address of the account. */
  readonly email: string
  readonly displayName: string
  /** All addresses, for look-ups. */
  readonly emails: readonly string[]
  readonly isActive: boolean
  /** The attributes as they are kept: those above but `active` included. */
  readonly attributes: FreeObject
}

/** A user whom the directory of an organization manages. The account was made for the directory. */
export interface ProvisionedUser {
  readonly id: UserId
  readonly orgId: OrgId
  readonly userName: string
  readonly externalId: string | undefined
  readonly attributes: FreeObject
  /** The account is active, and a member of the organization. */
  readonly isActive: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Increases with each change, also of the account. */
  readonly version: number
}

/** A team that the directory of an organization manages. */
export interface ProvisionedGroup {
  readonly id: TeamId
  readonly orgId: OrgId
  /** Unique among the groups of the organization, without regard to case. */
  readonly displayName: string
  /** The name of the team, which is made from `displayName`. */
  readonly teamName: string
  readonly externalId: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Increases with each change, also of the team. */
  readonly version: number
}

/** What a directory says of a group, beside its members. */
export type GroupContent = Pick<ProvisionedGroup, 'displayName' | 'externalId'>

/** A change of the members of a group. `replace` names all of them. */
export interface MemberChange {
  readonly verb: 'add' | 'remove' | 'replace'
  readonly userIds: readonly UserId[]
}

/** A member of a provisioned group. */
export interface GroupMember {
  readonly groupId: TeamId
  readonly userId: UserId
}

/** The indexed condition of a list of users. A text is compared without regard to case, except `externalId` and `id`. */
export interface UserLookup {
  readonly by: 'id' | 'userName' | 'externalId' | 'displayName' | 'email'
  readonly value: string
}

/** The indexed condition of a list of groups. */
export interface GroupLookup {
  readonly by: 'id' | 'displayName' | 'externalId' | 'member'
  readonly value: string
}

/** A piece of a list, as SCIM counts: the first row is 1. */
export interface Window {
  readonly startIndex: number
  readonly count: number
}

export interface Listed<A> {
  readonly items: readonly A[]
  readonly total: number
}

/** The most provisioned users of one organization. */
export const maxProvisionedUsers = 100_000
/** The most rows among which a condition without an index is searched. */
export const maxSearchedRows = 10_000
/** The most members that one answer shows, of all of its groups. */
export const maxShownMembers = 10_000

/** Returns the key by which user names and addresses are compared. */
export const directoryKey = (text: string): string => text.toLowerCase()

/** Returns the id that a text is; undefined if no row can have it. */
export const rowIdOf = (text: string): number | undefined => {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined
  return id !== undefined && Number.isSafeInteger(id) ? id : undefined
}
