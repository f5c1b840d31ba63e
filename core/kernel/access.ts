import { dayMilliseconds } from './clock.ts'
import type { Failure } from './failure.ts'
import { defineFailure } from './failure.ts'
import type { AccountId, OrgId, TeamId } from './ids.ts'
import type { Principal, ScopeCategory } from './principal.ts'

/** Names one permission of the catalogue. */
export interface PermissionRef {
  /** `org_mgmt`, `cluster_mgmt`, ... */
  readonly namespace: string
  /** `edit`, `view clusters`, ... unique within the namespace. */
  readonly action: string
}

/** Returns the form in which a context names a permission. */
export const permissionKey = ({ namespace, action }: PermissionRef): string => `${namespace}/${action}`

export const byPermissionKey = (a: PermissionRef, b: PermissionRef): number =>
  permissionKey(a) < permissionKey(b) ? -1 : 1

/** A permission that a custom role can carry. It is contributed by the plugin that owns the namespace. */
export interface PermissionDefinition extends PermissionRef {
  readonly description: string
  /** The lowest team level that includes this permission without any custom role. */
  readonly level: 'read' | 'write' | 'admin' | 'owner'
  /** Permissions that are useful only together with this one. A required one must be in the same role. */
  readonly associated?: readonly (PermissionRef & { readonly required: boolean })[]
}

/**
 * One way to hold a relation. A relation is the union of its terms; there is no negation.
 * `level`: a team of the owning organization gives at least this level (the caller's own account counts as `owner`).
 * `permission`: a custom role gives it, or a level that includes the permission.
 * `direct`: granted on the object itself, to the caller or to one of the caller's teams.
 * `container`: held on the object that contains this one.
 * `owner`: the object belongs to the caller's own account. `self`: the object is the caller.
 * `member`: membership of the owning organization. `signed-in`: any caller, unless the owning organization is private.
 */
export type RelationTerm =
  | { readonly by: 'level'; readonly atLeast: 'read' | 'write' | 'admin' | 'owner' }
  | { readonly by: 'permission'; readonly namespace: string; readonly action: string }
  | { readonly by: 'direct'; readonly relation: string }
  | { readonly by: 'container'; readonly relation: string }
  | { readonly by: 'owner' }
  | { readonly by: 'self' }
  | { readonly by: 'member' }
  | { readonly by: 'signed-in' }

/**
 * Where the objects of a type are, and how a request names one. The adapter of the owning part registers their rows.
 * Organizations and users are accounts, which have no place.
 */
export interface ObjectPlace {
  /**
   * `account`: in an account, which the request names too. `any-account`: in an account; the object's id is unique over
   * all accounts, so the request names the object alone. `caller`: in the caller's own account; no request names one.
   * Otherwise in an object of the given type, which the request names as that type demands.
   */
  readonly in: 'account' | 'any-account' | 'caller' | { readonly type: string }
  /** How the object is named within its place. */
  readonly key: 'name' | 'id'
  /**
   * `container`: the objects are not in this database; they live in a member cluster, for example. Authorization then
   * finds the container alone, and only the place itself knows whether the object exists.
   */
  readonly rows: 'own' | 'container'
  /**
   * The answer to a caller outside the account. `hidden` (the default): the object does not exist. `denied`:
   * AccessDenied, whether the object or the account exists or not.
   */
  readonly outsiders?: 'hidden' | 'denied'
}

/**
 * The relations of one object type, as data. A site admin holds every relation. Several plugins may contribute to one
 * type (authz adds `can_create_role` to `organization`). The contributions are merged; a relation that is defined twice
 * is an error at start-up.
 */
export interface ObjectTypeDefinition {
  /** A type of the specification (`cluster`), or an internal one (`role`). */
  readonly type: string
  /** Given once, by the plugin that owns the type. A type without a place has no objects, or is a kind of account. */
  readonly place?: ObjectPlace
  /** Whether the allowed-permissions routes accept it. All contributions to a type must agree. */
  readonly listed: boolean
  /** The scope category that an access token needs for these relations. */
  readonly scope: ScopeCategory
  /** The read-only relations. A token needs level read for them, and level write for all others. */
  readonly reading: readonly string[]
  readonly relations: Readonly<Record<string, readonly RelationTerm[]>>
}

/** The organization requires a second factor, and the caller has none. */
export const SecondFactorDemanded = defineFailure(
  'SecondFactorDemanded',
  'Forbidden',
  'The organization demands a second factor of its members.',
)
/** The organization does not accept tokens with a lifetime as long as this one's. */
export const TokenLifeTooLong = defineFailure(
  'TokenLifeTooLong',
  'Forbidden',
  'The organization accepts only tokens with a shorter life.',
)

/** The organization requires a sign-in with a passkey, and the caller signed in otherwise. */
export const PasskeyDemanded = defineFailure(
  'PasskeyDemanded',
  'Forbidden',
  'The organization demands of its members that they sign in with a passkey.',
)

/** What an organization requires of a member beyond rights, and the member's state with respect to it. */
export interface EntryRules {
  /** The instant from which a second factor is required; undefined if none is required. */
  readonly secondFactorFrom: Date | undefined
  /** The member has a second factor, or is an account that cannot have one. */
  readonly hasSecondFactor: boolean
  /** Sessions must have been opened with a passkey, and the owner of a token must have one. */
  readonly requiresPasskey: boolean
  /** The member has a passkey, or is an account that cannot have one. It is read only if it is required. */
  readonly hasPasskey: boolean
  /** In days; 0 means no limit. */
  readonly maxTokenLifeDays: number
}

export type EntryRefusal = Failure<'SecondFactorDemanded'> | Failure<'PasskeyDemanded'> | Failure<'TokenLifeTooLong'>

/** Returns the reason why the member may not enter the organization now, or undefined if there is none. */
export const entryRefusal = (
  principal: Principal,
  rules: EntryRules | undefined,
  now: Date,
): EntryRefusal | undefined => {
  if (rules === undefined) return undefined
  if (
    rules.secondFactorFrom !== undefined &&
    !rules.hasSecondFactor &&
    rules.secondFactorFrom.getTime() <= now.getTime()
  ) {
    return SecondFactorDemanded(
      'This organization asks its members for a second factor. Enrol one for your account at ' +
        '/user/settings/security/twofa/enroll, then try again.',
    )
  }
  if (rules.requiresPasskey && !isPasskeyProven(principal, rules.hasPasskey)) {
    return PasskeyDemanded(
      'This organization asks its members to sign in with a passkey. Add one at /account, sign out, and sign in again ' +
        'with the passkey, or with the passkey after the password.',
    )
  }
  return livesTooLong(principal, rules.maxTokenLifeDays)
    ? TokenLifeTooLong(
        `This organization takes only tokens that live no longer than ${rules.maxTokenLifeDays} days. Make ` +
          'one that expires sooner.',
      )
    : undefined
}

/** A token signs in without a person, so that its owner must have the passkey. HTTP Basic can be phished. */
const passkeyProofOf = ({ method, sessionProof }: Principal): EntryContext['passkeyProof'] =>
  method === 'token' ? 'owned' : sessionProof === 'passkey' ? 'given' : 'none'

const isPasskeyProven = (principal: Principal, hasPasskey: boolean): boolean => {
  const proof = passkeyProofOf(principal)
  return proof === 'given' || (proof === 'owned' && hasPasskey)
}

const livesTooLong = (principal: Principal, maxDays: number): boolean =>
  maxDays !== 0 && tokenLifeDays(principal) > maxDays

/** Longer than any organization's limit, and within 32 bits. */
const forEver = 2 ** 31 - 1

/**
 * Returns the lifetime of the caller's token, from creation to expiry, in whole days; 0 for a caller without a token.
 * Rounding to whole days tolerates a clock that is slightly ahead when a token is created.
 */
const tokenLifeDays = ({ method, tokenCreatedAt, tokenExpiresAt }: Principal): number => {
  if (method !== 'token') return 0
  if (tokenCreatedAt === undefined || tokenExpiresAt === undefined) return forEver
  return Math.min(forEver, Math.floor((tokenExpiresAt.getTime() - tokenCreatedAt.getTime()) / dayMilliseconds))
}

/** The facts that a list over organizations needs to omit those that the caller may not enter. */
export interface EntryContext {
  readonly at: Date
  readonly tokenLifeDays: number
  /** Whether a passkey proved the caller; `owned`: if the account has one. */
  readonly passkeyProof: 'given' | 'owned' | 'none'
}

const longAgo = new Date(0)

/** Returns the caller as such a list needs it. For a site admin no requirement has started and no token is too old. */
export const entryContext = (principal: Principal, now: Date): EntryContext =>
  principal.isSiteAdmin
    ? { at: longAgo, tokenLifeDays: 0, passkeyProof: 'given' }
    : { at: now, tokenLifeDays: tokenLifeDays(principal), passkeyProof: passkeyProofOf(principal) }

/** Names an object within its place: a team by its id, a cluster by its name. */
export type ObjectKey = { readonly name: string } | { readonly id: number }

/**
 * Names one object as a request does. Type `account` is an organization or a user's own account, by its name; its
 * relations are those of type `organization`.
 */
export type ObjectLocator = ObjectKey & {
  readonly type: string
  /**
   * The name of the account that owns the object. Absent if the object is an account, or if its id tells the account.
   */
  readonly account?: string
  /** The object of the same account that contains this one, by the key of its own type. */
  readonly within?: ObjectKey
}

/** Returns the type whose relations apply to a locator. */
export const objectTypeOf = ({ type }: Pick<ObjectLocator, 'type'>): string =>
  type === 'account' ? 'organization' : type

export const levels = ['none', 'read', 'write', 'admin', 'owner'] as const
/** A team's level in its organization. A higher level includes the lower ones. */
export type Level = (typeof levels)[number]

/** Reports whether a level includes another. */
export const reaches = (level: Level, atLeast: Level): boolean => levels.indexOf(level) >= levels.indexOf(atLeast)

/** What one user holds in one account through the organization's teams and roles. */
export interface AccessContext {
  readonly accountId: AccountId
  readonly accountKind: 'organization' | 'user'
  readonly accountName: string
  /** Every signed-in user may see that the organization exists (public or limited). */
  readonly isOpen: boolean
  /** Visible to everyone, so a token limited to public objects may see it. */
  readonly isPublic: boolean
  /**
   * The user is a member of the organization, or the account is the user's own. If false, the fields below do not
   * count.
   */
  readonly isMember: boolean
  /** The highest level of the user's teams; `owner` in the user's own account. */
  readonly level: Level
  /** Permissions of the custom roles of the user's teams, as `namespace/action`. */
  readonly permissions: ReadonlySet<string>
  readonly teamIds: readonly TeamId[]
  /** What the organization requires of the member beyond rights; absent if nothing. */
  readonly entry?: EntryRules
}

/** The facts that authorization has loaded, so that a use case does not load them again. */
export interface AccessGrant {
  readonly objectType: string
  /**
   * The object's id. For an organization or account, its AccountId; for an object without a row, its container's id.
   */
  readonly objectId: number
  /** The object's name as stored. */
  readonly objectName: string
  /** The organization or user that owns the object. */
  readonly ownerId: AccountId
  /** Set when the owner is an organization. */
  readonly orgId?: OrgId
  /** The row version of a cluster, from the same query. A connection opened for this version is still valid. */
  readonly objectVersion?: number
  /** The object that contains this one; absent if its type has no container. */
  readonly container?: {
    readonly objectType: string
    readonly id: number
    readonly name: string
    readonly version?: number
  }
  /** What the caller holds in the owner's account. */
  readonly context: AccessContext
}
