import type { User } from '../identity/types.ts'
import type { Standing as FullStanding, EntryRules } from '../kernel/access.ts'
import { levels } from '../kernel/access.ts'
import type { OrgId, RoleId, TeamId, TokenId, UserId } from '../kernel/ids.ts'

/** Who sees an organization: everyone, everyone signed in, or its members. Site admins see all. */
export const visibilities = ['public', 'limited', 'private'] as const
export type Visibility = (typeof visibilities)[number]

export interface Organization {
  readonly id: OrgId
  readonly name: string
  readonly fullName: string
  /** A contact address; no identity, so it need not be unique. */
  readonly email: string
  readonly description: string
  readonly website: string
  readonly location: string
  readonly visibility: Visibility
  /** 0 for an ordinary organization. */
  readonly orgType: number
  readonly fleetEndpoint: string
  /** The name of the picture, where there is one. */
  readonly avatarDigest: string | undefined
  readonly createdAt: Date
  readonly version: number
}

/** The fields that whoever may edit an organization decides. Empty text means that nothing is told. */
export type OrganizationProfile = Pick<
  Organization,
  'fullName' | 'email' | 'description' | 'website' | 'location' | 'visibility' | 'fleetEndpoint'
>

/** A team's level; `custom` gives only what the team's roles carry. */
export const teamPermissions = [...levels, 'custom'] as const
export type TeamPermission = (typeof teamPermissions)[number]

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

/** A team as it is shown: with its organization. */
export interface TeamInOrganization {
  readonly team: Team
  readonly organization: Organization
}

/** What one user holds in one organization, by all of the user's teams together. */
export type Standing = Pick<FullStanding, 'isMember' | 'level' | 'permissions'>

/** The role in which someone is a member; the wire's word for the level of the user's teams. */
export const membershipRoles = ['member', 'admin', 'owner'] as const
export type MembershipRole = (typeof membershipRoles)[number]

/** An account as a membership change needs to know it. */
export interface AccountSummary {
  readonly id: number
  readonly kind: 'user' | 'organization'
  readonly name: string
  /** Whether a user may act: active and not prohibited. */
  readonly isActive: boolean
  /** What decides who sees a user; absent for an organization. */
  readonly seenAs?: Pick<User, 'visibility' | 'isActive'>
}

/** A membership's own facts. */
export interface Membership {
  readonly userId: UserId
  readonly isPublic: boolean
  /** What the organization demands of the member; absent when it demands nothing. */
  readonly entry?: EntryRules
}

/** An access token that is confined to one organization, without its secret. Instants in UTC. */
export interface OrganizationToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
  readonly lastEight: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | undefined
  readonly expiresAt: Date | undefined
}

/** Something that still refers to an organization and keeps it from being deleted. */
export interface BlockingObject {
  readonly type: string
  readonly name: string
}

/** The key by which team names are unique within an organization. */
export const teamNameKey = (name: string): string => name.toLowerCase()
