import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, RoleId, TeamId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationMissing } from './failures.ts'
import { parseTeamName } from './names.ts'
import type { OrganizationStores, PermissionLevels } from './ports.ts'
import { levelOfTeam, mayGive, mustHold } from './rights.ts'
import { defaultTeamType, parseNewPermission, parseTeamType, readRoles, rightsIn } from './team-rules.ts'
import type { TeamInOrganization, TeamPermission } from './types.ts'

export interface CreateTeamInput {
  readonly name: string
  readonly description: string
  /** Absent: `custom` for a team that comes with roles, else `read`. */
  readonly permission: TeamPermission | undefined
  readonly type: string | undefined
  readonly roleIds: readonly RoleId[]
}

type Refusal = Failure<
  | 'TeamNameRefused'
  | 'TeamNameTaken'
  | 'TeamTypeUnknown'
  | 'TeamLevelRefused'
  | 'TeamRolesRefused'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
>

/** Creates a team that gives no more than its maker holds. */
export const makeCreateTeam =
  (deps: {
    readonly uow: UnitOfWork<OrganizationStores>
    readonly catalogue: PermissionLevels
    readonly clock: Clock
  }) =>
  async (call: SignedInCall<TeamInOrganization>, orgId: OrgId, input: CreateTeamInput): Outcome<Refusal, TeamInOrganization> => {
    const name = parseTeamName(input.name)
    if (isLeft(name)) return name
    const type = parseTeamType(input.type ?? defaultTeamType)
    if (isLeft(type)) return type
    const roleIds = [...new Set(input.roleIds)]
    const permission = parseNewPermission(input.permission ?? (roleIds.length > 0 ? 'custom' : 'read'))
    if (isLeft(permission)) return permission
    return deps.uow.run<Refusal, TeamInOrganization>(call, async (stores) => {
      const organization = (await stores.organizations.lock(orgId)) ? await stores.organizations.findById(orgId) : undefined
      if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
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
      await recordCreated(stores, orgId, inserted.right, name.right, permission.right, roleIds)
      const team = await stores.teams.findById(inserted.right)
      if (team === undefined) throw new Error('The team that was just inserted is not there.')
      return right({ team, organization })
    })
  }

const recordCreated = (
  stores: OrganizationStores,
  orgId: OrgId,
  id: TeamId,
  name: string,
  permission: TeamPermission,
  roleIds: readonly RoleId[],
): Promise<void> =>
  stores.audit.record({
    action: 'team.created',
    objectType: 'team',
    objectId: id,
    objectName: name,
    tenantId: orgId,
    changes: { permission, roles: roleIds },
  })
