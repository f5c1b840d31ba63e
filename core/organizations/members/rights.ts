import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Level, PermissionRef } from '../../kernel/access.ts'
import { reaches, permissionKey } from '../../kernel/access.ts'
import type { Failure } from '../../kernel/failure.ts'
import { BeyondOwnRights } from '../failures.ts'
import type { PermissionLevels } from '../ports.ts'
import type { MembershipRole, Standing, TeamPermission } from '../types.ts'

/** What one caller may do in one organization, once for a use case. */
export interface Rights {
  /** Owners, and site admins everywhere. */
  readonly isOwner: boolean
  readonly level: Level
  holds(permission: PermissionRef): boolean
}

/** The level that a team's permission stands for; a custom team has none of its own. */
export const levelOfTeam = (permission: TeamPermission): Level => (permission === 'custom' ? 'none' : permission)

/** Joins a standing with the catalogue: a level includes every permission of that level and below. */
export const rightsOf = (isSiteAdmin: boolean, standing: Standing, catalogue: PermissionLevels): Rights => ({
  isOwner: isSiteAdmin || standing.level === 'owner',
  level: isSiteAdmin ? 'owner' : standing.level,
  holds: (permission) => {
    if (isSiteAdmin || standing.permissions.has(permissionKey(permission))) return true
    const needed = catalogue.levelOf(permission)
    return needed !== undefined && reaches(standing.level, needed)
  },
})

/** Nobody gives more than they hold: no level above one's own, only permissions that one holds. Owners hold all. */
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

/** Only owners change a team, or take rights from a member, of their own level or above. */
export const mayChange = (rights: Rights, level: Level): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.isOwner || level === 'none' || !reaches(level, rights.level)
    ? right(undefined)
    : left(BeyondOwnRights(`The level "${level}" is not below yours, so only owners may change it.`))

/** The permission itself, for commands that several routes lead to. */
export const mustHold = (rights: Rights, action: string): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.holds({ namespace: 'org_mgmt', action })
    ? right(undefined)
    : left(BeyondOwnRights(`You may not "${action}" here.`))

/** The level of the team that a role puts someone into. */
export const levelOfRole = (role: MembershipRole): Level => (role === 'member' ? 'read' : role)
