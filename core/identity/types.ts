import type { Brand, ClusterId, OrgId, SessionId, TokenId, UserId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SessionProof } from '../kernel/principal.ts'

export type RememberedId = Brand<number, 'RememberedId'>

export const userVisibilities = ['public', 'limited', 'private'] as const
/** Who may see that a user exists: everyone, signed-in users, or only the user and site admins. */
export type UserVisibility = (typeof userVisibilities)[number]

/** A user's account. */
export interface User {
  readonly id: UserId
  /** The name in its original spelling, unique without regard to case across users and organizations. */
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
  /** A BCP 47 tag; empty if the user has set none. */
  readonly language: string
  /** The theme of a user interface. The values belong to the interface; the service does not interpret them. */
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
  /** The name of the user's picture; undefined if there is none. */
  readonly avatarDigest: string | undefined
  /** Incremented by each change. */
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

/** The sort orders of the list of all users. */
export const userOrders = [
  'alphabetically',
  'reversealphabetically',
  'newest',
  'oldest',
  'recentlogin',
  'leastrecentlogin',
] as const
export type UserOrder = (typeof userOrders)[number]

/** The filter and order of a list of all users. An absent filter matches all. */
export interface UserListing {
  /** Matches exactly this login, without regard to case. */
  readonly login?: string
  readonly isActive?: boolean
  readonly isAdmin?: boolean
  readonly restricted?: boolean
  readonly prohibitLogin?: boolean
  readonly hasSecondFactor?: boolean
  readonly visibility?: UserVisibility
  /** Defaults to the order by login. */
  readonly order?: UserOrder
}

/** The fields of a user that only an administrator changes. */
export type AdminChanges = Pick<
  UserChanges,
  | 'isAdmin'
  | 'isActive'
  | 'prohibitLogin'
  | 'restricted'
  | 'mustChangePassword'
  | 'allowCreateOrganization'
  | 'visibility'
>

/** The fields of a user that can be changed independently. An absent one is unchanged. */
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
  /** The key by which addresses are unique: `text` without regard to case. */
  readonly key: string
}

/** An address with its user. */
export interface UserEmail {
  readonly email: EmailRecord
  readonly login: string
}

export interface EmailRecord {
  readonly id: number
  readonly userId: UserId
  readonly email: string
  readonly verified: boolean
  /** When the address was verified; undefined if it is not. */
  readonly verifiedAt: Date | undefined
  readonly isPrimary: boolean
}

/** An access token as stored, without its value. */
export interface AccessTokenRecord {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
  readonly lastEight: string
  /** The scope words as granted. */
  readonly scopeWords: readonly string[]
  readonly onlyOrgId: OrgId | undefined
  /** The name of that organization, if it was loaded. */
  readonly onlyOrgName?: string
  /** The cluster to whose Kubernetes API the token is restricted. */
  readonly onlyClusterId?: ClusterId
  /** That cluster as `owner/name`, if it was loaded. */
  readonly onlyClusterName?: string
  /** When the current value was created. */
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly lastUsedAt: Date | undefined
}

/** The new value of a token, and the lifetime that starts with it. */
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
  /** The token with which it is made: it belongs to the same application and ends with the same session. */
  readonly madeWith?: TokenId
  /** The application that it is made for: such a token is not listed. */
  readonly applicationId?: number
  /** The session with which it ends. */
  readonly sessionId?: SessionId | undefined
  /** The creator: the user, or the site admin at the command line. */
  readonly createdBy: UserId | undefined
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}

export interface SessionRecord {
  readonly id: SessionId
  readonly userId: UserId
  /** Whether the session belongs to a remembered login, which opens a new session when this one has expired. */
  readonly remember: boolean
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  /** In a list: the expiry of its remembered login, if any. */
  readonly expiresAt: Date
}

export interface NewSession {
  readonly userId: UserId
  /** SHA-256 of the session's key, 32 bytes. */
  readonly hash: Uint8Array
  /** The remembered login that the session was opened with or by. */
  readonly rememberedId?: RememberedId | undefined
  readonly sourceIp: string
  readonly userAgent: string
  readonly createdAt: Date
  /** By what the sign-in proved the user; undefined if a release that did not record it remembered the sign-in. */
  readonly proof: SessionProof | undefined
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

/** The facts about an account that the check of a credential needs. */
export interface AccountState {
  readonly userId: UserId
  readonly login: string
  readonly isSiteAdmin: boolean
  /** Active and not prohibited from signing in. */
  readonly isEnabled: boolean
  /** An administrator requires a new password before any other operation. Tokens are not affected. */
  readonly mustChangePassword: boolean
}

/** A viewer of users: determines which of them are shown. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
}

/** Reports whether a viewer may see a user. An inactive account is visible only to its owner and to site admins. */
export const maySee = (viewer: Viewer, user: Pick<User, 'id' | 'visibility' | 'isActive'>): boolean =>
  viewer.isSiteAdmin ||
  viewer.userId === user.id ||
  (user.isActive && (user.visibility === 'public' || (user.visibility === 'limited' && viewer.userId !== undefined)))

export const UserMissing = defineFailure('UserMissing', 'NotFound', 'The user does not exist.')

/** Returns the same message for a user who does not exist and for one who may not be seen. */
export const userMissing = (): Failure<'UserMissing'> => UserMissing('The user does not exist.')
