import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Standing } from '../kernel/access.ts'
import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { RoleStores } from './ports.ts'
import { roleAudit } from './role-audit.ts'
import { mayGivePermissions, parseRoleName, parseRolePermissions } from './role-rules.ts'
import { takeRoleTeams } from './take-role-teams.ts'
import type { AuthorizationSchema } from './schema.ts'
import type { Role, RoleContent } from './types.ts'

export interface CreateRoleInput extends RoleContent {
  readonly orgId: OrgId
  /** What the caller holds in the organization. */
  readonly standing: Standing
}

export type CreateRoleFailure = Failure<
  | 'RoleNameRefused'
  | 'RolePermissionsEmpty'
  | 'PermissionUnknown'
  | 'PermissionIncomplete'
  | 'PermissionNotHeld'
  | 'RoleTeamUnknown'
  | 'RoleNameTaken'
>

export type CreateRole = (call: SignedInCall<Role>, input: CreateRoleInput) => Outcome<CreateRoleFailure, Role>

export interface CreateRoleDeps {
  readonly schema: AuthorizationSchema
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<RoleStores>
}

/** Makes a role and attaches it to teams, in one transaction. The caller must hold every permission put into it. */
export const makeCreateRole =
  ({ schema, clock, unitOfWork }: CreateRoleDeps): CreateRole =>
  async (call, { orgId, standing, ...content }) => {
    const name = parseRoleName(content.name)
    if (isLeft(name)) return name
    const permissions = parseRolePermissions(schema, content.permissions)
    if (isLeft(permissions)) return permissions
    const given = mayGivePermissions(schema, { isSiteAdmin: call.principal.isSiteAdmin, standing }, permissions.right)
    if (isLeft(given)) return given

    return unitOfWork.run<CreateRoleFailure, Role>(call, async ({ roles, audit }) => {
      const teamIds = await takeRoleTeams(roles, orgId, content.teamIds)
      if (isLeft(teamIds)) return teamIds
      const role = await roles.insert(
        orgId,
        { name: name.right, description: content.description, permissions: permissions.right, teamIds: teamIds.right },
        clock.now(),
      )
      if (isLeft(role)) return role
      await audit.record(roleAudit('role.created', role.right, ['name', 'description', 'permissions', 'teamIds']))
      return right(role.right)
    })
  }
