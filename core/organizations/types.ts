import type { User } from '../identity/types.ts'
import type { AccessContext, EntryRules, Level } from '../kernel/access.ts'
import type { OrgId, RoleId, TeamId, TokenId, UserId } from '../kernel/ids.ts'

/** Who sees an organization: everyone, every signed-in user, or its members. Site admins see all. */
export const visibilities = ['public', 'limited', 'private'] as const
export type Visibility = (typeof visibilities)[number]

/**
 * The type of a client organization: a customer, for whom the owner of a hub runs databases on shared clusters. Its
 * name is that of its namespaces, so it is neither renamed nor deleted as other organizations are.
 */
export const clientOrgType = 2

/** The fields that an editor of the organization sets. Empty text means not set. */
export interface OrganizationProfile {
  readonly fullName: string
  /** A contact address. It is not an identity, so it need not be unique. */
  readonly email: string
  readonly description: string
  readonly website: string
  readonly location: string
  readonly visibility: Visibility
  readonly fleetEndpoint: string
}

/** The profile of a new organization. */
export const emptyProfile: OrganizationProfile = {
  fullName: '',
  email: '',
  description: '',
  website: '',
  location: '',
  visibility: 'public',
  fleetEndpoint: '',
}

export interface Organization extends OrganizationProfile {
  readonly id: OrgId
  readonly name: string
  /** 0 for an ordinary organization, 2 for a client organization. */
  readonly orgType: number
  /** The name of the picture; undefined if there is none. */
  readonly avatarDigest: string | undefined
  readonly createdAt: Date
  readonly version: number
}

/** A team's level. `custom` gives only the permissions of the team's roles. */
export type TeamPermission = Level | 'custom'

export const teamTypes = ['', 'kubernetes'] as const

export interface Team {
  readonly id: TeamId
  readonly orgId: OrgId
  readonly name: string
  readonly description: string
  readonly permission: TeamPermission
  readonly type: string
  /** Roles of the same organization, ascending. */
  readonly roleIds: readonly RoleId[]
  readonly createdAt: Date
  readonly version: number
}

/** A team with its organization, for display. */
export interface TeamInOrganization {
  readonly team: Team
  readonly organization: Organization
}

/** What one user holds in one organization through all of the user's teams. */
export type MemberRights = Pick<AccessContext, 'isMember' | 'level' | 'permissions'>

/** The role of a member: the wire name of the level of the user's teams. */
export type MembershipRole = 'member' | 'admin' | 'owner'

/** The facts about an account that a membership change needs. */
export interface AccountSummary {
  readonly id: number
  readonly kind: 'user' | 'organization'
  readonly name: string
  /** Reports whether a user may act: active and not prohibited. */
  readonly isActive: boolean
  /** The fields that decide who may see a user; absent for an organization. */
  readonly seenAs?: Pick<User, 'visibility' | 'isActive'>
}

/** The fields of a membership. */
export interface Membership {
  readonly userId: UserId
  readonly isPublic: boolean
  /** Set if the directory of the organization manages the membership: it does not end with that of the last team. */
  readonly isProvisioned?: true
  /** What the organization requires of the member; absent if nothing. */
  readonly entry?: EntryRules
}

/** An access token that is restricted to one organization, without its secret. Instants are in UTC. */
export interface OrganizationToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
  readonly lastEight: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | undefined
  readonly expiresAt: Date | undefined
}

/** An object that refers to an organization and prevents its deletion. */
export interface BlockingObject {
  readonly type: string
  readonly name: string
}

/** Returns the key by which team names are unique within an organization. */
export const teamNameKey = (name: string): string => name.toLowerCase()
