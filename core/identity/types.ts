import type { OrgId, SessionId, TokenId, UserId } from '../kernel/brand.ts'

export const userVisibilities = ['public', 'limited', 'private'] as const
/** Who may see that a user exists: anyone, the signed-in, or only the user and site admins. */
export type UserVisibility = (typeof userVisibilities)[number]

/** A person's account. */
export interface User {
  readonly id: UserId
  /** The name as it was written; unique without regard to case over users and organizations. */
  readonly login: string
  readonly fullName: string
  readonly primaryEmail: string
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly prohibitLogin: boolean
  readonly restricted: boolean
  readonly mustChangePassword: boolean
  readonly allowCreateOrganization: boolean
  readonly hideEmail: boolean
  readonly visibility: UserVisibility
  /** A BCP 47 tag. */
  readonly language: string
  readonly website: string
  readonly location: string
  readonly description: string
  readonly lastLoginAt: Date | undefined
  readonly createdAt: Date
  readonly followersCount: number
  readonly followingCount: number
  /** Grows by one with each change. */
  readonly version: number
}

export interface NewUser {
  readonly login: string
  readonly fullName: string
  readonly passwordPhc: string
  readonly mustChangePassword: boolean
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly restricted: boolean
  readonly visibility: UserVisibility
  readonly createdAt: Date
}

/** The fields of a user that change by themselves; an absent one stays as it is. */
export type UserChanges = Partial<
  Pick<
    User,
    | 'fullName'
    | 'isAdmin'
    | 'isActive'
    | 'prohibitLogin'
    | 'restricted'
    | 'mustChangePassword'
    | 'allowCreateOrganization'
    | 'hideEmail'
    | 'visibility'
    | 'language'
    | 'website'
    | 'location'
    | 'description'
  >
>

/** An address in canonical form: the domain in ASCII, lower case. */
export interface EmailAddress {
  readonly text: string
  /** What addresses are unique by: `text` without regard to case. */
  readonly key: string
}

export interface EmailRecord {
  readonly id: number
  readonly userId: UserId
  readonly email: string
  readonly verified: boolean
  readonly isPrimary: boolean
}

/** An access token as it is kept: its value is not. */
export interface AccessTokenRecord {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
  readonly lastEight: string
  /** Scope words as granted. */
  readonly scopeWords: readonly string[]
  readonly onlyOrgId: OrgId | undefined
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly lastUsedAt: Date | undefined
}

export interface NewAccessToken {
  readonly userId: UserId
  readonly name: string
  /** SHA-256 of the value, 32 bytes. */
  readonly hash: Uint8Array
  readonly lastEight: string
  readonly scopeWords: readonly string[]
  readonly onlyOrgId: OrgId | undefined
  /** Who made it: the user, or the site admin at the command line. */
  readonly createdBy: UserId | undefined
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}

export interface SessionRecord {
  readonly id: SessionId
  readonly userId: UserId
  readonly remember: boolean
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

export interface NewSession {
  readonly userId: UserId
  /** SHA-256 of the session's key, 32 bytes. */
  readonly hash: Uint8Array
  readonly remember: boolean
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

/** What a credential's check needs to know of its account. */
export interface AccountState {
  readonly userId: UserId
  readonly login: string
  readonly isSiteAdmin: boolean
  /** Active and not prohibited from signing in. */
  readonly isEnabled: boolean
}

/** Who looks at users: it decides which of them are shown. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
}
