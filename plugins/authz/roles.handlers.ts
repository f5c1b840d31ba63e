import { left, right } from 'fp-ts/lib/Either.js'
import type { CreateRole, DeleteRole, UpdateRole } from '../../core/authz/roles.ts'
import { roleMissing } from '../../core/authz/roles.ts'
import type { RoleStore } from '../../core/authz/ports.ts'
import type { AuthorizationSchema } from '../../core/authz/schema.ts'
import type { Role, RolePrincipal } from '../../core/authz/types.ts'
import type { AccessGrant, PermissionDefinition } from '../../core/kernel/access.ts'
import type { OrgId, RoleId, TeamId } from '../../core/kernel/ids.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import {
  createRole,
  deleteRole,
  getRole,
  listAvailablePermissions,
  listRolePrincipals,
  listRoles,
  updateRole,
} from './roles.routes.ts'

export interface RoleHandlers {
  readonly schema: AuthorizationSchema
  readonly roles: RoleStore
  readonly create: CreateRole
  readonly update: UpdateRole
  readonly remove: DeleteRole
}

/** Returns the organization of a grant. Authorization resolves it for every route of this group. */
const orgOf = (grant: AccessGrant): OrgId => grant.ownerId as OrgId
const teamsOf = (ids: readonly number[]): readonly TeamId[] => ids as readonly TeamId[]

const toWire = (role: Role) => ({
  id: role.id,
  name: role.name,
  owner_id: role.orgId,
  description: role.description,
  permissions: role.permissions,
  team_ids: role.teamIds,
  created_at: role.createdAt.toISOString(),
  updated_at: role.updatedAt.toISOString(),
})

const toVersionedWire = (role: Role) => ({ value: toWire(role), version: role.version })

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

export const roleRoutes = ({ schema, roles, create, update, remove }: RoleHandlers): readonly BoundRoute[] => [
  handle(listAvailablePermissions, () => Promise.resolve(right({ permissions: schema.permissions.map(permissionToWire) }))),
  handle(listRoles, async ({ grant, page }) => right(mapPage(await roles.list(orgOf(grant), page), toWire))),
  handleChange(createRole, toVersionedWire, ({ body, call, grant }) =>
    create(call, {
      orgId: orgOf(grant),
      name: body.name,
      description: body.description ?? '',
      permissions: body.permissions,
      teamIds: teamsOf(body.teamIDs ?? []),
    }),
  ),
  handle(getRole, async ({ params, grant }) => {
    const id = params.id as RoleId
    const role = await roles.get(orgOf(grant), id)
    return role === undefined ? left(roleMissing(id)) : right(toVersionedWire(role))
  }),
  handleChange(updateRole, toVersionedWire, ({ params, body, call, grant, expectedVersion }) =>
    update(call, {
      orgId: orgOf(grant),
      id: params.id as RoleId,
      expectedVersion,
      change: {
        name: body.name,
        description: body.description,
        permissions: body.permissions,
        teamIds: body.teamIDs === undefined ? undefined : teamsOf(body.teamIDs),
      },
    }),
  ),
  handle(deleteRole, ({ params, call, grant, expectedVersion }) =>
    remove(call, { orgId: orgOf(grant), id: params.id as RoleId, expectedVersion }),
  ),
  handle(listRolePrincipals, async ({ params, grant, page }) =>
    right(mapPage(await roles.principals(orgOf(grant), params.id as RoleId, page), principalToWire)),
  ),
]
