import type { AccessContext, Level, PermissionRef } from './access.ts'
import { permissionKey, reaches } from './access.ts'
import type { AccountId, UserId } from './ids.ts'
import type { Principal } from './principal.ts'
import { portKey } from './port-key.ts'

/** The lowest level that includes a permission, from all plugins' catalogues; undefined for an unknown permission. */
export interface PermissionLevels {
  levelOf(permission: PermissionRef): Exclude<Level, 'none'> | undefined
}
export const PermissionLevelsPort = portKey<PermissionLevels>('kernel.PermissionLevels')

/** The caller within one account: the rights that count for this call (see `subjectOf`). */
export interface Subject {
  readonly userId: UserId
  readonly isSiteAdmin: boolean
  /**
   * The token is restricted to one organization or to public objects: relations on the caller's own objects do not
   * count.
   */
  readonly isConfined: boolean
  readonly context: AccessContext
}

type Caller = Pick<Principal, 'userId' | 'isSiteAdmin' | 'scopes' | 'onlyOrgId' | 'onlyClusterId'>

/**
 * Returns the rights that count for a call. Outside its organization, the holder of a token restricted to one
 * organization has the rights of an anonymous caller, who sees only what is public; this also applies to site admins.
 * A token for public objects has an anonymous caller's rights in every account. A token restricted to a cluster has
 * rights on that cluster only. `object` is the object in question, if there is exactly one.
 */
export const subjectOf = (
  caller: Caller,
  context: AccessContext,
  object?: { readonly type: string; readonly id: number },
): Subject => {
  const { userId, scopes, onlyOrgId, onlyClusterId } = caller
  const isElsewhere = onlyClusterId !== undefined && (object?.type !== 'cluster' || object.id !== onlyClusterId)
  const isConfined = scopes.publicOnly || onlyOrgId !== undefined || isElsewhere
  const isOutside = scopes.publicOnly || (onlyOrgId !== undefined && onlyOrgId !== context.accountId) || isElsewhere
  return isOutside
    ? { userId, isConfined, isSiteAdmin: false, context: strangerTo(context) }
    : { userId, isConfined, isSiteAdmin: caller.isSiteAdmin, context }
}

const strangerTo = (context: AccessContext): AccessContext => ({
  ...context,
  isOpen: context.isPublic,
  isMember: false,
  level: 'none',
  permissions: new Set(),
  teamIds: [],
})

/** What a user may do, and give to others, in one account. */
export interface Rights {
  /** True for owners, and for site admins in every account. */
  readonly isOwner: boolean
  readonly level: Level
  holds(permission: PermissionRef): boolean
}

/** The rights of a user who holds nothing. */
export const noRights: Rights = { isOwner: false, level: 'none', holds: () => false }

/**
 * Combines what a user holds with the catalogue: a level includes every permission of that level and below. Only
 * members hold something; site admins hold all.
 */
export const rightsOf = (
  isSiteAdmin: boolean,
  held: Pick<AccessContext, 'isMember' | 'level' | 'permissions'>,
  levels: PermissionLevels,
): Rights => {
  if (!isSiteAdmin && !held.isMember) return noRights
  return {
    isOwner: isSiteAdmin || held.level === 'owner',
    level: isSiteAdmin ? 'owner' : held.level,
    holds: (permission) => {
      if (isSiteAdmin || held.permissions.has(permissionKey(permission))) return true
      const needed = levels.levelOf(permission)
      return needed !== undefined && reaches(held.level, needed)
    },
  }
}

/** What a gift contains beyond the rights of its giver. */
export interface Excess {
  /** The level of the gift, if the giver's is lower. */
  readonly level: Level | undefined
  readonly permissions: readonly PermissionRef[]
}

/**
 * Returns the part of a gift that its giver does not hold: a level above the giver's, and permissions. Owners hold
 * everything. Each part that gives rights (by roles, teams, invitations, robot accounts, tokens) applies this rule,
 * with rights that are read inside the transaction of the change.
 */
export const excessOf = (giver: Rights, level: Level, permissions: Iterable<PermissionRef>): Excess =>
  giver.isOwner
    ? { level: undefined, permissions: [] }
    : {
        level: reaches(giver.level, level) ? undefined : level,
        permissions: [...permissions].filter((permission) => !giver.holds(permission)),
      }

/**
 * Reports whether a team or member of this level may be changed. Only owners may change their own level or one above.
 */
export const isBelow = (rights: Rights, level: Level): boolean =>
  rights.isOwner || level === 'none' || !reaches(level, rights.level)

/** What a user holds in an account, as a transaction sees it. */
export interface HeldRights {
  readonly isSiteAdmin: boolean
  readonly context: AccessContext
}

/**
 * Reads rights inside the transaction of a change that is judged on them. What it returns holds until the transaction
 * ends, if the account was locked before: changes that take rights lock the account, or the user, and wait.
 */
export interface RightsStore {
  /**
   * Locks the account until the transaction ends. Every change of memberships, teams and roles takes this lock first.
   * Returns false if the account does not exist.
   */
  lock(accountId: AccountId): Promise<boolean>
  /**
   * Returns what the user holds in the account now, and keeps the user's own state (site admin, active) from changing.
   * Returns undefined if the account does not exist, or if the user does not exist or may not act.
   */
  of(accountId: AccountId, userId: UserId): Promise<HeldRights | undefined>
}

/** Returns the caller as the transaction sees it; undefined if the account does not exist or the caller may not act. */
export const subjectIn = async (
  rights: RightsStore,
  principal: Principal,
  accountId: AccountId,
): Promise<Subject | undefined> => {
  const held = await rights.of(accountId, principal.userId)
  return held && subjectOf({ ...principal, isSiteAdmin: principal.isSiteAdmin && held.isSiteAdmin }, held.context)
}

/** Returns the rights of a subject. No subject has no rights. */
export const rightsOfSubject = (subject: Subject | undefined, levels: PermissionLevels): Rights =>
  subject === undefined ? noRights : rightsOf(subject.isSiteAdmin, subject.context, levels)
