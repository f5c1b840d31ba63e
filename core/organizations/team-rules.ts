import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { PermissionRef } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId, RoleId, TeamId, UserId } from '../kernel/ids.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import type { PermissionLevels, Rights } from '../kernel/rights.ts'
import { rightsOfSubject, subjectIn } from '../kernel/rights.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import {
  LastOwner,
  OrganizationMissing,
  OwnersTeamFixed,
  TeamLevelRefused,
  TeamMissing,
  TeamRolesRefused,
  TeamTypeUnknown,
} from './failures.ts'
import type { OrganizationStores, TeamStore } from './ports.ts'
import type { Organization, Team, TeamPermission } from './types.ts'
import { teamTypes } from './types.ts'

const maxRolesOfTeam = 50
export const defaultTeamType = 'kubernetes'

export const isOwnersTeam = (team: Pick<Team, 'permission'>): boolean => team.permission === 'owner'

export const parseTeamType = (type: string): Either<Failure<'TeamTypeUnknown'>, string> =>
  (teamTypes as readonly string[]).includes(type)
    ? right(type)
    : left(TeamTypeUnknown(`There is no team type "${type}".`))

/** Parses a team's permission. `owner` is reserved for the team Owners. */
export const parseNewPermission = (permission: TeamPermission): Either<Failure<'TeamLevelRefused'>, TeamPermission> =>
  permission === 'owner'
    ? left(TeamLevelRefused('Only the team Owners has the permission "owner".'))
    : right(permission)

/** Checks a change to the team Owners: only its description and roles may change. */
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

/**
 * Returns the permissions of the roles. Refuses more roles than a team may have, and any role of another organization.
 */
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

/** Returns all permissions of a team's roles. */
export const permissionsOfTeam = async (
  teams: TeamStore,
  team: Pick<Team, 'orgId' | 'roleIds'>,
): Promise<readonly PermissionRef[]> => {
  const roles = await readRoles(teams, team.orgId, team.roleIds)
  if (isLeft(roles)) throw new Error('A team carries a role that its organization does not have.')
  return [...roles.right.values()].flat()
}

/**
 * Returns the requested permission of a team; undefined if it is unchanged or absent. Answers show a
 * custom team as `read` and `isCustom`, so both mean custom, and `read` alone is that of a client which knows no custom
 * teams.
 */
export const requestedPermission = (
  {
    permission,
    isCustom,
  }: { readonly permission?: TeamPermission | undefined; readonly isCustom?: boolean | undefined },
  current: TeamPermission | undefined,
): Either<Failure<'TeamLevelRefused'>, TeamPermission | undefined> => {
  if (isCustom === true) {
    const isSame = permission === undefined || permission === 'read' || permission === 'custom'
    return isSame ? right('custom') : left(TeamLevelRefused(`A custom team cannot have the level ${permission}.`))
  }
  if (isCustom === false) {
    if (permission === 'custom') return left(TeamLevelRefused('A team with the permission custom is custom.'))
    return right(permission ?? (current === 'custom' ? 'read' : undefined))
  }
  return right(permission === 'read' && current === 'custom' ? undefined : permission)
}

/** Returns the caller's rights as seen inside the transaction, in an organization that it has locked. */
export const rightsIn = async (
  stores: Pick<OrganizationStores, 'rights'>,
  catalogue: PermissionLevels,
  principal: Principal,
  orgId: OrgId,
): Promise<Rights> => rightsOfSubject(await subjectIn(stores.rights, principal, orgId), catalogue)

export interface TeamChangeDeps {
  readonly unitOfWork: UnitOfWork<OrganizationStores>
  readonly catalogue: PermissionLevels
}

/** A team whose organization is locked, and the caller's rights there. */
export interface LockedTeam {
  readonly stores: OrganizationStores
  readonly team: Team
  readonly organization: Organization
  readonly rights: Rights
}

/**
 * Runs a change of one team with its organization locked. The team is read again after the lock, so that the rules see
 * the state that will be changed.
 */
export const withLockedTeam = <F extends Failure, A>(
  deps: TeamChangeDeps,
  call: SignedInCall<A>,
  id: TeamId,
  work: (held: LockedTeam) => Outcome<F | Failure<'TeamMissing'>, A>,
): Outcome<F | Failure<'TeamMissing'>, A> =>
  deps.unitOfWork.run<F | Failure<'TeamMissing'>, A>(call, async (stores) => {
    const orgId = (await stores.teams.findById(id))?.orgId
    const isHeld = orgId !== undefined && (await stores.organizations.lock(orgId))
    const team = isHeld ? await stores.teams.findById(id) : undefined
    const organization = team === undefined ? undefined : await stores.organizations.findById(team.orgId)
    if (team === undefined || organization === undefined) return left(TeamMissing('The team does not exist.'))
    const rights = await rightsIn(stores, deps.catalogue, call.principal, team.orgId)
    return work({ stores, team, organization, rights })
  })

/** The dependencies of a change that is also open to members who do not meet the organization's requirements. */
export interface MemberChangeDeps extends TeamChangeDeps {
  readonly clock: Clock
}

export interface LockedOrganization {
  readonly stores: OrganizationStores
  readonly organization: Organization
  readonly rights: Rights
}

/** Runs a change of memberships with the organization locked and the caller's current rights. */
export const withLockedOrganization = <F extends Failure, A>(
  deps: TeamChangeDeps,
  call: SignedInCall<A>,
  id: OrgId,
  work: (held: LockedOrganization) => Outcome<F | Failure<'OrganizationMissing'>, A>,
): Outcome<F | Failure<'OrganizationMissing'>, A> =>
  deps.unitOfWork.run<F | Failure<'OrganizationMissing'>, A>(call, async (stores) => {
    const organization = (await stores.organizations.lock(id)) ? await stores.organizations.findById(id) : undefined
    if (organization === undefined) return left(OrganizationMissing('The organization does not exist.'))
    return work({ stores, organization, rights: await rightsIn(stores, deps.catalogue, call.principal, id) })
  })

/**
 * Removes a user from one team, inside a transaction that holds the organization's lock. Refuses to remove the last
 * owner. The caller must decide whether the user still belongs to the organization.
 */
export const leaveTeam = async (
  stores: Pick<OrganizationStores, 'teams'>,
  team: Team,
  userId: UserId,
): Outcome<Failure<'LastOwner'>, void> => {
  if (isOwnersTeam(team) && !(await stores.teams.staysLedWithout(team.id, userId))) {
    return left(LastOwner('An organization must have at least one active owner. Make another member an owner first.'))
  }
  await stores.teams.removeMember(team.id, userId)
  return right(undefined)
}
