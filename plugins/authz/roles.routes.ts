import { AccessDenied, RoleNameTaken } from '../../core/authz/ports.ts'
import {
  PermissionIncomplete,
  PermissionNotHeld,
  PermissionUnknown,
  RoleNameRefused,
  RolePermissionsEmpty,
} from '../../core/authz/role-rules.ts'
import { RoleTeamUnknown, RoleChanged, RoleMissing } from '../../core/authz/roles.ts'
import type { RoleId } from '../../core/kernel/ids.ts'
import { memberOf, path, query, requires, requiresWithin } from '../kit/access.ts'
import { described, pathId, request } from '../kit/codecs.ts'
import { empty, json, list, packed, versioned } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  AvailablePermissions,
  CreateRoleRequest,
  InOrganization,
  RolePrincipalResponse,
  RoleResponse,
  UpdateRoleRequest,
} from './codecs.ts'

const common = { tag: 'Authorization', scopeCategory: 'authz', query: InOrganization } as const
const route = routesOf(common)
const RolePath = request({ id: described(pathId<RoleId>('role'), 'The id of the role, from 1.') }, 'RolePath')
const roleRoute = routesOf({ ...common, params: RolePath })
const roleInPath = { type: 'role', account: query('org'), id: path('id') } as const

const viewerExample = {
  id: 12,
  name: 'cluster viewers',
  owner_id: 7,
  description: 'Look, do not touch',
  permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
  team_ids: [31],
  created_at: '2026-05-01T08:00:00Z',
  updated_at: '2026-05-01T08:00:00Z',
}

const roleRefusals = [
  RoleNameRefused,
  RoleNameTaken,
  RolePermissionsEmpty,
  PermissionUnknown,
  PermissionIncomplete,
  PermissionNotHeld,
  RoleTeamUnknown,
  AccessDenied,
] as const

export const listAvailablePermissions = route({
  id: 'authz.listAvailablePermissions',
  method: 'GET',
  path: '/authz/roles/available_permissions',
  summary: 'List the permissions that a custom role can contain',
  description:
    'Needs membership in the organization. A role must also have the associated permissions that are `required`.',
  access: memberOf(query('org')),
  ok: packed(
    json(200, AvailablePermissions, {
      permissions: [
        {
          namespace: 'cluster_mgmt',
          action: 'import clusters',
          description: 'Import clusters into the organization',
          associated: [{ namespace: 'cluster_mgmt', action: 'view clusters', required: true }],
        },
      ],
    }),
  ),
})

export const listRoles = route({
  id: 'authz.listRoles',
  method: 'GET',
  path: '/authz/roles',
  summary: 'List the custom roles of an organization',
  description: 'Needs membership in the organization. Each role is listed with its permissions and teams.',
  access: memberOf(query('org')),
  ok: packed(list(RoleResponse, viewerExample)),
})

export const createRole = route({
  id: 'authz.createRole',
  method: 'POST',
  path: '/authz/roles',
  summary: 'Create a custom role and attach it to teams',
  description:
    'Requires create_role:org. Returns 422 if another role of the organization has the name, ignoring ' +
    'case. Returns 400 for unknown permissions, ' +
    'missing associated permissions and teams of another organization. Returns 403 for a permission that ' +
    'you do not have.',
  access: requiresWithin('can_create_role', { type: 'organization', name: query('org') }),
  body: body(CreateRoleRequest, {
    name: 'cluster viewers',
    description: 'Look, do not touch',
    permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
    teamIDs: [31],
  }),
  ok: versioned(201, RoleResponse, viewerExample, 'The new role'),
  failures: roleRefusals,
})

export const getRole = roleRoute({
  id: 'authz.getRole',
  method: 'GET',
  path: '/authz/roles/{id}',
  summary: 'Get a custom role',
  description: 'Check view:role.',
  access: requires('can_view', roleInPath),
  ok: versioned(200, RoleResponse, viewerExample),
  failures: [RoleMissing],
})

export const updateRole = roleRoute({
  id: 'authz.updateRole',
  method: 'PUT',
  path: '/authz/roles/{id}',
  summary: 'Update a custom role',
  description:
    'Requires edit:role. Omitted fields do not change. Returns 422 for an empty list of permissions. An ' +
    'empty list of teams detaches the ' +
    'role from all teams. Returns 403 if permissions or teams change and the caller lacks a permission ' +
    'that the role then contains.',
  access: requires('can_edit', roleInPath),
  body: body(UpdateRoleRequest, { description: 'Look only' }),
  ok: versioned(200, RoleResponse, viewerExample, 'The updated role'),
  failures: [...roleRefusals, RoleMissing, RoleChanged],
})

export const deleteRole = roleRoute({
  id: 'authz.deleteRole',
  method: 'DELETE',
  path: '/authz/roles/{id}',
  summary: 'Delete a custom role and detach it from its teams',
  description: 'Check delete:role.',
  access: requires('can_delete', roleInPath),
  ok: empty(204),
  failures: [RoleMissing, RoleChanged, AccessDenied],
})

export const listRolePrincipals = roleRoute({
  id: 'authz.listRolePrincipals',
  method: 'GET',
  path: '/authz/roles/{id}/principals',
  summary: 'List the teams and users that have a custom role',
  description:
    'Requires viewer:role. Lists the teams first, then their members, each once, with the first team that ' +
    'gives the role.',
  access: requires('can_view', roleInPath),
  ok: packed(
    list(RolePrincipalResponse, { type: 'user', id: 5, name: 'ada', display_name: 'Ada Lovelace', via_team_id: 31 }),
  ),
})
