import type { Brand, ClusterId, OrgId, SessionId, TokenId, UserId } from '../kernel/ids.ts'

export type RememberedId = Brand<number, 'RememberedId'>

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
  /** A BCP 47 tag; empty when the user chose none. */
  readonly language: string
  /** How a user interface looks for the user. The words are the interface's: nothing here reads them. */
  readonly theme: string
  readonly diffViewStyle: string
  readonly hideActivity: boolean
  readonly website: string
  readonly location: string
  readonly description: string
  readonly lastLoginAt: Date | undefined
  readonly createdAt: Date
  readonly followersCount: number
  readonly followingCount: number
  /** The name of the user's picture, where there is one. */
  readonly avatarDigest: string | undefined
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

/** In what order all users are listed. */
export const userOrders = ['alphabetically', 'reversealphabetically', 'newest', 'oldest', 'recentlogin', 'leastrecentlogin'] as const
export type UserOrder = (typeof userOrders)[number]

/** What a list of all users is narrowed to and ordered by; what is absent narrows nothing. */
export interface UserListing {
  /** Exactly this one, without regard to case. */
  readonly login?: string
  readonly isActive?: boolean
  readonly isAdmin?: boolean
  readonly restricted?: boolean
  readonly prohibitLogin?: boolean
  readonly hasSecondFactor?: boolean
  readonly visibility?: UserVisibility
  /** By login unless told. */
  readonly order?: UserOrder
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
    | 'theme'
    | 'diffViewStyle'
    | 'hideActivity'
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

/** An address with the user whom it belongs to. */
export interface UserEmail {
  readonly email: EmailRecord
  readonly login: string
}

export interface EmailRecord {
  readonly id: number
  readonly userId: UserId
  readonly email: string
  readonly verified: boolean
  /** Since when, where it is verified. */
  readonly verifiedAt: Date | undefined
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
  /** The name of that organization, where it was read along. */
  readonly onlyOrgName?: string
  /** The one cluster whose Kubernetes API it is for. */
  readonly onlyClusterId?: ClusterId
  /** That cluster as `owner/name`, where it was read along. */
  readonly onlyClusterName?: string
  /** When the value that counts now was made. */
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly lastUsedAt: Date | undefined
}

/** What takes the place of a token's value, and the life that begins with it. */
export interface NewTokenValue {
  /** SHA-256 of the value, 32 bytes. */
  readonly hash: Uint8Array
  readonly lastEight: string
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}

export interface NewAccessToken {
  readonly userId: UserId
  readonly name: string
  /** SHA-256 of the value, 32 bytes. */
  readonly hash: Uint8Array
  readonly lastEight: string
  readonly scopeWords: readonly string[]
  readonly onlyOrgId: OrgId | undefined
  readonly onlyClusterId?: ClusterId
  /** Who made it: the user, or the site admin at the command line. */
  readonly createdBy: UserId | undefined
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}

export interface SessionRecord {
  readonly id: SessionId
  readonly userId: UserId
  /** Belongs to a remembered login, which opens a new session when this one is over. */
  readonly remember: boolean
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  /** In a list: of its remembered login, where there is one. */
  readonly expiresAt: Date
}

export interface NewSession {
  readonly userId: UserId
  /** SHA-256 of the session's key, 32 bytes. */
  readonly hash: Uint8Array
  /** The remembered login that it was opened with or by. */
  readonly rememberedId?: RememberedId | undefined
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
  /** An administrator demands a new password before anything else; tokens are not concerned. */
  readonly mustChangePassword: boolean
}

/** Who looks at users: it decides which of them are shown. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
}

/** Whether a user is shown to a viewer at all. A shut account is there for its owner and site admins alone. */
export const maySee = (viewer: Viewer, user: Pick<User, 'id' | 'visibility' | 'isActive'>): boolean =>
  viewer.isSiteAdmin ||
  viewer.userId === user.id ||
  (user.isActive && (user.visibility === 'public' || (user.visibility === 'limited' && viewer.userId !== undefined)))

/** What every entry of the audit log about a user's own account begins with; it stands in that account's log. */
export const auditedUser = (user: { readonly id: UserId; readonly login: string }) =>
  ({ objectType: 'user', objectId: user.id, objectName: user.login, tenantId: user.id }) as const
