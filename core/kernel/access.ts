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

/** How a standing names a permission. */
export const permissionKey = ({ namespace, action }: PermissionRef): string => `${namespace}/${action}`

export const byPermissionKey = (a: PermissionRef, b: PermissionRef): number => (permissionKey(a) < permissionKey(b) ? -1 : 1)

/** A permission that a custom role can carry; contributed by the plugin that owns the namespace. */
export interface PermissionDefinition extends PermissionRef {
  readonly description: string
  /** The lowest team level that includes this permission without any custom role. */
  readonly level: 'read' | 'write' | 'admin' | 'owner'
  /** Permissions that make sense only together with this one; required ones must be in the same role. */
  readonly associated?: readonly (PermissionRef & { readonly required: boolean })[]
}

/**
 * One way to hold a relation. A relation is the union of its terms; there is no negation.
 * `level`: a team of the owning organization gives at least this level (one's own account counts as `owner`).
 * `permission`: a custom role gives it (a level that includes the permission does too).
 * `direct`: granted on the object itself, to the caller or to one of the caller's teams.
 * `owner`: the object belongs to the caller's own account. `self`: the object is the caller.
 * `member`: membership of the owning organization. `signed-in`: any caller, unless the owning organization is private.
 */
export type RelationTerm =
  | { readonly by: 'level'; readonly atLeast: 'read' | 'write' | 'admin' | 'owner' }
  | { readonly by: 'permission'; readonly namespace: string; readonly action: string }
  | { readonly by: 'direct'; readonly relation: string }
  | { readonly by: 'owner' }
  | { readonly by: 'self' }
  | { readonly by: 'member' }
  | { readonly by: 'signed-in' }

/**
 * Relations of one object type, as data. A site admin holds every relation.
 * Several plugins may contribute to one type (authz adds `can_create_role` to `organization`): the contributions are
 * joined, and the same relation twice is refused at start.
 */
export interface ObjectTypeDefinition {
  /** A type of the specification (`cluster`), or an internal one (`role`). */
  readonly type: string
  /** Whether the allowed-permissions routes accept it; all contributions to a type agree. */
  readonly listed: boolean
  /** What an access token must be allowed for these relations to be of use to it. */
  readonly scope: ScopeCategory
  /** The relations below that only look: a token needs level read for them, and write for all others. */
  readonly reading: readonly string[]
  readonly relations: Readonly<Record<string, readonly RelationTerm[]>>
}

/** The organization lets nobody in without a second factor, and the caller has none. */
export const SecondFactorDemanded = defineFailure('SecondFactorDemanded', 'Forbidden')
/** The organization takes no token that lives as long as this one. */
export const TokenLifeTooLong = defineFailure('TokenLifeTooLong', 'Forbidden')

/** What an organization demands of a member beyond rights, and how the member stands to it. */
export interface EntryRules {
  /** From then on a second factor is needed; undefined when none ever is. */
  readonly secondFactorFrom: Date | undefined
  /** The member has a second factor, or is an account that can have none. */
  readonly hasSecondFactor: boolean
  /** 0: tokens may live for ever. */
  readonly maxTokenLifeDays: number
}

export type EntryRefusal = Failure<'SecondFactorDemanded'> | Failure<'TokenLifeTooLong'>

/** Why the member is not let into the organization now; undefined when nothing is in the way. */
export const entryRefusal = (principal: Principal, rules: EntryRules | undefined, now: Date): EntryRefusal | undefined => {
  if (rules === undefined) return undefined
  if (rules.secondFactorFrom !== undefined && !rules.hasSecondFactor && rules.secondFactorFrom.getTime() <= now.getTime()) {
    return SecondFactorDemanded(
      'This organization asks its members for a second factor. Enrol one for your account at /user/settings/security/twofa/enroll, then try again.',
    )
  }
  return livesTooLong(principal, rules.maxTokenLifeDays)
    ? TokenLifeTooLong(`This organization takes only tokens that live no longer than ${rules.maxTokenLifeDays} days. Make one that expires sooner.`)
    : undefined
}

const livesTooLong = (principal: Principal, maxDays: number): boolean => maxDays !== 0 && tokenLifeDays(principal) > maxDays

/** Longer than any organization allows, and still an integer of 32 bits. */
const forEver = 2 ** 31 - 1

/**
 * How long the caller's token lives, from its making to its end; 0 for a caller without a token. Whole days count: a
 * clock that is a little ahead when a token is made does no harm.
 */
const tokenLifeDays = ({ method, tokenCreatedAt, tokenExpiresAt }: Principal): number => {
  if (method !== 'token') return 0
  if (tokenCreatedAt === undefined || tokenExpiresAt === undefined) return forEver
  return Math.min(forEver, Math.floor((tokenExpiresAt.getTime() - tokenCreatedAt.getTime()) / dayMilliseconds))
}

/** What a list over organizations needs to leave out those that would not let the caller in. */
export interface Entrant {
  readonly at: Date
  readonly tokenLifeDays: number
}

const longAgo = new Date(0)

/** The caller as such a list sees them; for a site admin no demand has begun yet and no token is too old. */
export const entrantOf = (principal: Principal, now: Date): Entrant =>
  principal.isSiteAdmin ? { at: longAgo, tokenLifeDays: 0 } : { at: now, tokenLifeDays: tokenLifeDays(principal) }

/**
 * Names one object as a request does: by id, or by the names in its path.
 * An `account` is an organization or a person's own account; relations on it are those of type `organization`.
 */
export type ObjectLocator =
  | { readonly type: 'organization'; readonly name: string }
  | { readonly type: 'account'; readonly name: string }
  | { readonly type: 'team'; readonly id: number }
  | { readonly type: 'role'; readonly id: number; readonly org: string }
  | { readonly type: 'robot_ac'; readonly org: string; readonly name: string }
  | { readonly type: 'cluster'; readonly owner: string; readonly name: string }

/** The type whose relations a locator is checked by. */
export const objectTypeOf = ({ type }: Pick<ObjectLocator, 'type'>): string => (type === 'account' ? 'organization' : type)

export const levels = ['none', 'read', 'write', 'admin', 'owner'] as const
/** How much a team may do in its organization; a higher level includes the lower ones. */
export type Level = (typeof levels)[number]

/** Whether a level includes another. */
export const reaches = (level: Level, atLeast: Level): boolean => levels.indexOf(level) >= levels.indexOf(atLeast)

/** What one person holds in one account, by every path that the organization's teams and roles give. */
export interface Standing {
  readonly accountId: AccountId
  readonly accountKind: 'organization' | 'user'
  readonly accountName: string
  /** The organization lets every signed-in user see that it exists (public or limited). */
  readonly isOpen: boolean
  /** Visible to everyone, so that a token limited to public objects may see it. */
  readonly isPublic: boolean
  /** A member of the organization, or the account is the person's own. Without it nothing below counts. */
  readonly isMember: boolean
  /** The highest level of the person's teams; `owner` in one's own account. */
  readonly level: Level
  /** Permissions of the custom roles of the person's teams, as `namespace/action`. */
  readonly permissions: ReadonlySet<string>
  readonly teamIds: readonly TeamId[]
  /** What the organization demands of the member beyond rights; absent when it demands nothing. */
  readonly entry?: EntryRules
}

/** What authorization found on the way, so that a handler need not look it up again. */
export interface AccessGrant {
  readonly objectType: string
  /** The object's id; for an organization or account, its AccountId. */
  readonly objectId: number
  /** The object's name as stored. */
  readonly objectName: string
  /** The organization or user that owns the object. */
  readonly ownerId: AccountId
  /** Set when the owner is an organization. */
  readonly orgId?: OrgId
  /** The row version of a cluster, as it stood in the same query: what was opened for it is still good. */
  readonly objectVersion?: number
  /** What the caller holds in the owner's account. */
  readonly standing: Standing
}
