import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Level, PermissionRef } from '../../kernel/access.ts'
import { reaches, permissionKey } from '../../kernel/access.ts'
import type { Failure } from '../../kernel/failure.ts'
import { BeyondOwnRights } from '../failures.ts'
import type { PermissionLevels } from '../ports.ts'
import type { MembershipRole, Standing, TeamPermission } from '../types.ts'

/** The rights of one caller in one organization, computed once per use case. */
export interface Rights {
  /** True for owners, and for site admins in every organization. */
  readonly isOwner: boolean
  readonly level: Level
  holds(permission: PermissionRef): boolean
}

/** Returns the level of a team's permission. A custom team has no level of its own. */
export const levelOfTeam = (permission: TeamPermission): Level => (permission === 'custom' ? 'none' : permission)

/** Combines a standing with the catalogue: a level includes every permission of that level and below. */
export const rightsOf = (isSiteAdmin: boolean, standing: Standing, catalogue: PermissionLevels): Rights => ({
  isOwner: isSiteAdmin || standing.level === 'owner',
  level: isSiteAdmin ? 'owner' : standing.level,
  holds: (permission) => {
    if (isSiteAdmin || standing.permissions.has(permissionKey(permission))) return true
    const needed = catalogue.levelOf(permission)
    return needed !== undefined && reaches(standing.level, needed)
  },
})

/**
 * Checks that the caller gives no level above the caller's own, and only permissions that the caller holds. Owners hold
 * all.
 */
export const mayGive = (
  rights: Rights,
  level: Level,
  permissions: Iterable<PermissionRef>,
): Either<Failure<'BeyondOwnRights'>, void> => {
  if (rights.isOwner) return right(undefined)
  if (!reaches(rights.level, level)) {
    return left(BeyondOwnRights(`Your own level is "${rights.level}", so you cannot give the level "${level}".`))
  }
  for (const permission of permissions) {
    if (!rights.holds(permission)) {
      return left(BeyondOwnRights(`You do not hold "${permission.action}" of ${permission.namespace}, so you cannot give it.`))
    }
  }
  return right(undefined)
}

/**
 * Checks that the caller may change a team, or take rights from a member. At the caller's own level or above, only
 * owners may.
 */
export const mayChange = (rights: Rights, level: Level): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.isOwner || level === 'none' || !reaches(level, rights.level)
    ? right(undefined)
    : left(BeyondOwnRights(`The level "${level}" is not below yours, so only owners may change it.`))

/** Checks the permission itself, for commands that several routes use. */
export const mustHold = (rights: Rights, action: string): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.holds({ namespace: 'org_mgmt', action })
    ? right(undefined)
    : left(BeyondOwnRights(`You may not "${action}" here.`))

/** Returns the level of the team that a role puts a user into. */
export const levelOfRole = (role: MembershipRole): Level => (role === 'member' ? 'read' : role)
