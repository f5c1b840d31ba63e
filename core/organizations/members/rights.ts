import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Level, PermissionRef } from '../../kernel/access.ts'
import type { Failure } from '../../kernel/failure.ts'
import type { Rights } from '../../kernel/rights.ts'
import { excessOf, isBelow } from '../../kernel/rights.ts'
import { BeyondOwnRights } from '../failures.ts'
import type { MembershipRole, TeamPermission } from '../types.ts'

/** Returns the level of a team's permission. A custom team has no level of its own. */
export const levelOfTeam = (permission: TeamPermission): Level => (permission === 'custom' ? 'none' : permission)

/** Checks that the caller gives no more than the caller holds: a level, and permissions of roles. */
export const mayGive = (rights: Rights, level: Level, permissions: Iterable<PermissionRef>): Either<Failure<'BeyondOwnRights'>, void> => {
  const excess = excessOf(rights, level, permissions)
  if (excess.level !== undefined) {
    return left(BeyondOwnRights(`Your own level is "${rights.level}", so you cannot give the level "${excess.level}".`))
  }
  const [first] = excess.permissions
  return first === undefined
    ? right(undefined)
    : left(BeyondOwnRights(`You do not hold "${first.action}" of ${first.namespace}, so you cannot give it.`))
}

/**
 * Checks that the caller may change a team, or take rights from a member. At the caller's own level or above, only
 * owners may.
 */
export const mayChange = (rights: Rights, level: Level): Either<Failure<'BeyondOwnRights'>, void> =>
  isBelow(rights, level)
    ? right(undefined)
    : left(BeyondOwnRights(`The level "${level}" is not below yours, so only owners may change it.`))

/** Checks the permission itself, for commands that several routes use. */
export const mustHold = (rights: Rights, action: string): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.holds({ namespace: 'org_mgmt', action })
    ? right(undefined)
    : left(BeyondOwnRights(`You may not "${action}" here.`))

/** Returns the level of the team that a role puts a user into. */
export const levelOfRole = (role: MembershipRole): Level => (role === 'member' ? 'read' : role)
