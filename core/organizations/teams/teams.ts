import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Level } from '../../kernel/access.ts'
import { entryContext } from '../../kernel/access.ts'
import { changedFields, isSameSet, isUnchanged, definedFields } from '../../kernel/json.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, RoleId, TeamId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { PermissionLevels } from '../../kernel/rights.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfTeam } from '../audit.ts'
import { OrganizationMissing, OwnersTeamFixed, TeamChanged, TeamMissing } from '../failures.ts'
import { levelOfTeam, mayChange, mayGive, mustHold } from '../member-rules.ts'
import { parseTeamName } from '../organization-rules.ts'
import type { OrganizationStore, OrganizationStores, TeamChanges, TeamStore } from '../ports.ts'
import type { TeamInOrganization, TeamPermission } from '../types.ts'
import type { LockedTeam, TeamChangeDeps } from '../team-rules.ts'
import {
  defaultTeamType,
  guardOwnersTeam,
  withLockedTeam,
  isOwnersTeam,
  parseNewPermission,
  parseTeamType,
  readRoles,
  rightsIn,
  requestedPermission,
} from '../team-rules.ts'

export interface CreateTeamInput {
  readonly orgId: OrgId
  readonly name: string
  readonly description: string
  /** Defaults to `custom` for a team with roles, else to `read`. */
  readonly permission: TeamPermission | undefined
  /** Whether the team has only the permissions of its roles; undefined if `permission` says so. */
  readonly isCustom?: boolean | undefined
  readonly type: string | undefined
  readonly roleIds: readonly RoleId[]
}

type CreateTeamFailure = Failure<
  | 'TeamNameRefused'
  | 'TeamNameTaken'
  | 'TeamTypeUnknown'
  | 'TeamLevelRefused'
  | 'TeamRolesRefused'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
>

/** Creates a team that gives no more than the caller holds. */
export const makeCreateTeam =
  (deps: {
    readonly unitOfWork: UnitOfWork<OrganizationStores>
    readonly catalogue: PermissionLevels
    readonly clock: Clock
  }) =>
  async (
    call: SignedInCall<TeamInOrganization>,
    { orgId, ...input }: CreateTeamInput,
  ): Outcome<CreateTeamFailure, TeamInOrganization> => {
    const name = parseTeamName(input.name)
    if (isLeft(name)) return name
    const type = parseTeamType(input.type ?? defaultTeamType)
    if (isLeft(type)) return type
    const roleIds = [...new Set(input.roleIds)]
    const requested = requestedPermission(input, undefined)
    if (isLeft(requested)) return requested
    const permission = parseNewPermission(
      requested.right ?? (roleIds.length > 0 && input.isCustom !== false ? 'custom' : 'read'),
    )
    if (isLeft(permission)) return permission
    return deps.unitOfWork.run<CreateTeamFailure, TeamInOrganization>(call, async (stores) => {
      const organization = (await stores.organizations.lock(orgId))
        ? await stores.organizations.findById(orgId)
        : undefined
      if (organization === undefined) return left(OrganizationMissing('The organization does not exist.'))
      const rights = await rightsIn(stores, deps.catalogue, call.principal, orgId)
      const isAllowed = mustHold(rights, 'create teams')
      if (isLeft(isAllowed)) return isAllowed
      const roles = await readRoles(stores.teams, orgId, roleIds)
      if (isLeft(roles)) return roles
      const given = mayGive(rights, levelOfTeam(permission.right), [...roles.right.values()].flat())
      if (isLeft(given)) return given
      const inserted = await stores.teams.insert({
        orgId,
        name: name.right,
        description: input.description,
        permission: permission.right,
        type: type.right,
        createdAt: deps.clock.now(),
      })
      if (isLeft(inserted)) return inserted
      await stores.teams.replaceRoles({ id: inserted.right, orgId }, roleIds)
      const team = await stores.teams.findById(inserted.right)
      if (team === undefined) throw new Error('The team that was just inserted is not there.')
      await stores.audit.record(auditOfTeam(team, 'team.created', { permission: team.permission, roles: roleIds }))
      return right({ team, organization })
    })
  }

type Stores = {
  readonly organizations: OrganizationStore
  readonly teams: TeamStore
}

/** Returns a team with its organization. */
export const makeGetTeam =
  (deps: Stores) =>
  async (_call: SignedInCall, id: TeamId): Outcome<Failure<'TeamMissing'>, TeamInOrganization> => {
    const team = await deps.teams.findById(id)
    const organization = team === undefined ? undefined : await deps.organizations.findById(team.orgId)
    return team === undefined || organization === undefined
      ? left(TeamMissing('The team does not exist.'))
      : right({ team, organization })
  }

/** Lists the teams of an organization, Owners first, then by name. */
export const makeListTeams =
  (deps: Pick<Stores, 'teams'>) =>
  async (
    _call: SignedInCall,
    { orgId, page }: { readonly orgId: OrgId; readonly page: PageRequest },
  ): Outcome<Failure<'OrganizationMissing'>, Page<TeamInOrganization>> => {
    const listed = await deps.teams.list(orgId, page)
    // Every organization has the team Owners.
    return listed.total === 0 ? left(OrganizationMissing('The organization does not exist.')) : right(listed)
  }

export interface SearchTeamsInput {
  readonly orgId: OrgId
  /** The level of the caller in the organization. */
  readonly level: Level
  readonly text: string
  readonly includesDescription: boolean
  readonly page: PageRequest
}

/** Searches teams. Owners and site admins search all teams, others their own. */
export const makeSearchTeams =
  (deps: Pick<Stores, 'teams'>) =>
  async (
    call: SignedInCall,
    { orgId, level, page, ...query }: SearchTeamsInput,
  ): Outcome<never, Page<TeamInOrganization>> => {
    const { userId, isSiteAdmin } = call.principal
    const seesAll = isSiteAdmin || level === 'owner'
    return right(await deps.teams.search(orgId, { ...query, memberId: seesAll ? undefined : userId }, page))
  }

/** Lists the caller's teams within the token's reach, in the organizations that the caller may enter now. */
export const makeListOwnTeams =
  (deps: Pick<Stores, 'teams'> & { readonly clock: Clock }) =>
  async (call: SignedInCall, page: PageRequest): Outcome<never, Page<TeamInOrganization>> => {
    const { userId, onlyOrgId, scopes } = call.principal
    const entry = entryContext(call.principal, deps.clock.now())
    return right(await deps.teams.listOfUser(userId, { onlyOrgId, onlyPublic: scopes.publicOnly, entry }, page))
  }

/** An absent field is unchanged. */
export interface TeamEdit {
  readonly name?: string
  readonly description?: string
  readonly permission?: TeamPermission
  /**
   * Whether the team has only the permissions of its roles. Without it, `read` does not change the permission of a
   * custom team.
   */
  readonly isCustom?: boolean
  readonly type?: string
  readonly roleIds?: readonly RoleId[]
}

export interface EditTeamInput {
  readonly id: TeamId
  readonly change: TeamEdit
  /** If set, the change applies to this version of the team only. */
  readonly expectedVersion: number | undefined
}

type TeamFormFailure = Failure<'TeamNameRefused' | 'TeamTypeUnknown' | 'TeamLevelRefused' | 'OwnersTeamFixed'>
type EditTeamFailure =
  | TeamFormFailure
  | Failure<'TeamNameTaken' | 'TeamRolesRefused' | 'BeyondOwnRights' | 'TeamMissing' | 'TeamChanged'>

/** Changes a team below the caller into one that gives no more than the caller holds. */
export const makeEditTeam =
  (deps: TeamChangeDeps) =>
  (
    call: SignedInCall<TeamInOrganization>,
    { id, change: input, expectedVersion }: EditTeamInput,
  ): Outcome<EditTeamFailure, TeamInOrganization> =>
    withLockedTeam<EditTeamFailure, TeamInOrganization>(deps, call, id, async (held) => {
      const { stores, team, organization } = held
      const changes = readChanges(held, input)
      if (isLeft(changes)) return changes
      const roleIds = input.roleIds === undefined ? undefined : [...new Set(input.roleIds)]
      const allowed = await judge(held, changes.right, roleIds)
      if (isLeft(allowed)) return allowed
      if (expectedVersion !== undefined && expectedVersion !== team.version) return left(teamChanged())
      const changed = changedFields(team, changes.right)
      const changesRoles = roleIds !== undefined && !isSameSet(roleIds, team.roleIds)
      if (isUnchanged(changed) && !changesRoles) return right({ team, organization })
      const updated = await stores.teams.update(id, changed, expectedVersion)
      if (isLeft(updated)) return updated
      if (!updated.right) return left(teamChanged())
      if (changesRoles) await stores.teams.replaceRoles(team, roleIds)
      const after = await stores.teams.findById(id)
      if (after === undefined) throw new Error('The team that was just changed is not there.')
      const facts = definedFields({ permission: changed.permission, roles: changesRoles ? roleIds : undefined })
      await stores.audit.record(auditOfTeam(after, 'team.edited', { fields: Object.keys(changed), ...facts }))
      return right({ team: after, organization })
    })

const teamChanged = () => TeamChanged('The team was changed by another request. Read it again.')

const readChanges = ({ team }: LockedTeam, input: TeamEdit): Either<TeamFormFailure, TeamChanges> => {
  const requested = requestedPermission(input, team.permission)
  if (isLeft(requested)) return requested
  const { name, description, type } = input
  const permission = requested.right
  const guarded = guardOwnersTeam(team, definedFields({ name, permission }))
  if (isLeft(guarded)) return guarded
  const parsedName = name === undefined || isOwnersTeam(team) ? right(name) : parseTeamName(name)
  if (isLeft(parsedName)) return parsedName
  const parsedType = type === undefined ? right(type) : parseTeamType(type)
  if (isLeft(parsedType)) return parsedType
  const parsedPermission =
    permission === undefined || isOwnersTeam(team) ? right(permission) : parseNewPermission(permission)
  if (isLeft(parsedPermission)) return parsedPermission
  return right({
    ...definedFields({ name, description, permission, type }),
  })
}

/**
 * Checks a change of a team: the current team must be below the caller, and the caller must hold everything that the
 * change adds.
 */
const judge = async (
  { stores, team, rights }: LockedTeam,
  changes: TeamChanges,
  roleIds: readonly RoleId[] | undefined,
): Outcome<Failure<'BeyondOwnRights' | 'TeamRolesRefused'>, void> => {
  const isAllowed = mustHold(rights, 'edit teams')
  if (isLeft(isAllowed)) return isAllowed
  const below = mayChange(rights, levelOfTeam(team.permission))
  if (isLeft(below)) return below
  const roles = await readRoles(stores.teams, team.orgId, roleIds ?? [])
  if (isLeft(roles)) return roles
  const attached = [...roles.right]
    .filter(([id]) => !team.roleIds.includes(id))
    .flatMap(([, permissions]) => permissions)
  return mayGive(rights, levelOfTeam(changes.permission ?? 'none'), attached)
}

type DeleteTeamFailure = Failure<'OwnersTeamFixed' | 'BeyondOwnRights' | 'TeamMissing'>

/** Deletes a team. Members without another team leave the organization. */
export const makeDeleteTeam =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall, id: TeamId): Outcome<DeleteTeamFailure, void> =>
    withLockedTeam<DeleteTeamFailure, void>(deps, call, id, async ({ stores, team, rights }) => {
      if (isOwnersTeam(team)) return left(OwnersTeamFixed('The team Owners cannot be deleted.'))
      const isAllowed = mustHold(rights, 'delete teams')
      if (isLeft(isAllowed)) return isAllowed
      const below = mayChange(rights, levelOfTeam(team.permission))
      if (isLeft(below)) return below
      await stores.teams.remove(id)
      const membersWhoLeft = await stores.memberships.removeWithoutTeam(team.orgId)
      await stores.audit.record(auditOfTeam(team, 'team.deleted', { membersWhoLeft }))
      return right(undefined)
    })
