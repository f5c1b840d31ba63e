import { right } from 'fp-ts/lib/Either.js'
import { makeCreateRole, makeDeleteRole, makeGetRole, makeUpdateRole } from '../../core/authz/roles.ts'
import { AuthorizationSchemaPort, RoleStorePort, RoleUnitOfWorkPort } from '../../core/authz/ports.ts'
import type { Role, RolePrincipal } from '../../core/authz/types.ts'
import type { PermissionDefinition } from '../../core/kernel/access.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  createRole,
  deleteRole,
  getRole,
  listAvailablePermissions,
  listRolePrincipals,
  listRoles,
  updateRole,
} from './roles.routes.ts'

const toWire = (role: Role) => ({
  id: role.id,
  name: role.name,
  owner_id: role.orgId,
  description: role.description,
  permissions: role.permissions,
  team_ids: role.teamIds,
  created_at: role.createdAt,
  updated_at: role.updatedAt,
})

const permissionToWire = ({ namespace, action, description, associated }: PermissionDefinition) => ({
  namespace,
  action,
  description,
  associated,
})

const principalToWire = ({ type, id, name, displayName, viaTeamId }: RolePrincipal) => ({
  type,
  id,
  name,
  display_name: displayName,
  via_team_id: viaTeamId,
})

export const roleGroup = defineGroup({
  needs: {
    schema: AuthorizationSchemaPort,
    roles: RoleStorePort,
    unitOfWork: RoleUnitOfWorkPort,
    clock: ClockPort,
  },
  routes: (given) => [
    handle(listAvailablePermissions, async () => right(given.schema.permissions), {
      reply: (permissions) => ({ permissions: permissions.map(permissionToWire) }),
    }),
    handle(listRoles, async (_call, { grant, page }) => right(await given.roles.list(orgOf(grant), page)), {
      reply: toWire,
    }),
    handle(createRole, makeCreateRole(given), {
      input: ({ grant, body }) => ({
        orgId: orgOf(grant),
        name: body.name,
        description: body.description ?? '',
        permissions: body.permissions,
        teamIds: body.teamIDs ?? body.team_ids ?? [],
      }),
      reply: toWire,
    }),
    handle(getRole, makeGetRole(given), {
      input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
      reply: toWire,
    }),
    handle(updateRole, makeUpdateRole(given), {
      input: ({ grant, params, body, expectedVersion }) => ({
        orgId: orgOf(grant),
        id: params.id,
        expectedVersion,
        change: {
          name: body.name,
          description: body.description,
          permissions: body.permissions,
          teamIds: body.teamIDs ?? body.team_ids,
        },
      }),
      reply: toWire,
    }),
    handle(deleteRole, makeDeleteRole(given), {
      input: ({ grant, params, expectedVersion }) => ({ orgId: orgOf(grant), id: params.id, expectedVersion }),
    }),
    handle(
      listRolePrincipals,
      async (_call, { grant, params, page }) => right(await given.roles.principals(orgOf(grant), params.id, page)),
      { reply: principalToWire },
    ),
  ],
})
