import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { OrgId, RoleId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { PermissionRef } from '../kernel/access.ts'
import type { Principal } from '../kernel/principal.ts'
import { OwnersTeamFixed, TeamLevelRefused, TeamRolesRefused, TeamTypeUnknown } from './failures.ts'
import type { MembershipStore, PermissionLevels, TeamStore } from './ports.ts'
import { rightsOf } from './rights.ts'
import type { Rights } from './rights.ts'
import { teamTypes } from './types.ts'
import type { Team, TeamPermission } from './types.ts'

export const maxRolesOfTeam = 50
export const defaultTeamType = 'kubernetes'

export const isOwnersTeam = (team: Pick<Team, 'permission'>): boolean => team.permission === 'owner'

export const parseTeamType = (type: string): Either<Failure<'TeamTypeUnknown'>, string> =>
  (teamTypes as readonly string[]).includes(type)
    ? right(type)
    : left(TeamTypeUnknown(`There is no team type "${type}".`))

/** `owner` belongs to the team Owners alone. */
export const parseNewPermission = (permission: TeamPermission): Either<Failure<'TeamLevelRefused'>, TeamPermission> =>
  permission === 'owner' ? left(TeamLevelRefused('Only the team Owners has the permission "owner".')) : right(permission)

/** What may be changed of the team Owners: its description and roles, nothing else. */
export const guardOwnersTeam = (
  team: Team,
  changes: { readonly name?: string; readonly permission?: TeamPermission },
): Either<Failure<'OwnersTeamFixed'>, void> => {
  if (!isOwnersTeam(team)) return right(undefined)
  if (changes.name !== undefined && changes.name !== team.name) {
    return left(OwnersTeamFixed('The team Owners cannot be renamed.'))
  }
  return changes.permission !== undefined && changes.permission !== 'owner'
    ? left(OwnersTeamFixed('The team Owners cannot be lowered.'))
    : right(undefined)
}

/** Reads what the roles carry; refuses more roles than a team takes, and any that is not the organization's. */
export const readRoles = async (
  teams: TeamStore,
  orgId: OrgId,
  roleIds: readonly RoleId[],
): Outcome<Failure<'TeamRolesRefused'>, ReadonlyMap<RoleId, readonly PermissionRef[]>> => {
  if (roleIds.length > maxRolesOfTeam) return left(TeamRolesRefused(`A team has at most ${maxRolesOfTeam} roles.`))
  if (roleIds.length === 0) return right(new Map())
  const roles = await teams.rolePermissions(orgId, roleIds)
  const unknown = roleIds.filter((id) => !roles.has(id))
  return unknown.length > 0
    ? left(TeamRolesRefused(`The organization has no role ${unknown.join(', ')}.`))
    : right(roles)
}

/** Everything that a team's roles carry. */
export const permissionsOfTeam = async (
  teams: TeamStore,
  team: Pick<Team, 'orgId' | 'roleIds'>,
): Promise<readonly PermissionRef[]> => {
  const roles = await readRoles(teams, team.orgId, team.roleIds)
  if (isLeft(roles)) throw new Error('A team carries a role that its organization does not have.')
  return [...roles.right.values()].flat()
}

/** The caller's rights, as they are inside the transaction. */
export const rightsIn = async (
  stores: { readonly memberships: MembershipStore },
  catalogue: PermissionLevels,
  principal: Principal,
  orgId: OrgId,
): Promise<Rights> =>
  rightsOf(principal.isSiteAdmin, await stores.memberships.standing(orgId, principal.userId), catalogue)
