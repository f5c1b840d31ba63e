import { AccessDenied, RoleNameTaken } from '../../core/authz/ports.ts'
import {
  PermissionIncomplete,
  PermissionNotHeld,
  PermissionUnknown,
  RoleNameRefused,
  RolePermissionsEmpty,
} from '../../core/authz/role-rules.ts'
import { RoleTeamUnknown, RoleChanged, RoleMissing } from '../../core/authz/roles.ts'
import { memberOf, path, query, read, requires, requiresWithin, write } from '../kit/access.ts'
import { PathId, request } from '../kit/codecs.ts'
import { empty, json, list, versioned } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import {
  AvailablePermissions,
  CreateRoleRequest,
  InOrganization,
  RolePrincipalResponse,
  RoleResponse,
  UpdateRoleRequest,
} from './codecs.ts'

const tag = 'Authorization'
const RolePath = request({ id: PathId }, 'RolePath')
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

export const listAvailablePermissions = defineRoute({
  id: 'authz.listAvailablePermissions',
  method: 'GET',
  path: '/authz/roles/available_permissions',
  summary: 'List the permissions that a custom role can carry',
  tag,
  access: memberOf(query('org')),
  scope: read('authz'),
  query: InOrganization,
  ok: json(200, AvailablePermissions, {
    permissions: [
      {
        namespace: 'cluster_mgmt',
        action: 'import clusters',
        description: 'Import clusters into the organization',
        associated: [{ namespace: 'cluster_mgmt', action: 'view clusters', required: true }],
      },
    ],
  }),
  failures: [],
})

export const listRoles = defineRoute({
  id: 'authz.listRoles',
  method: 'GET',
  path: '/authz/roles',
  summary: 'List the custom roles of an organization',
  tag,
  access: memberOf(query('org')),
  scope: read('authz'),
  query: InOrganization,
  ok: list(RoleResponse, viewerExample),
  failures: [],
})

export const createRole = defineRoute({
  id: 'authz.createRole',
  method: 'POST',
  path: '/authz/roles',
  summary: 'Create a custom role and attach it to teams',
  description:
    'Check create_role:org. The name is unique in the organization without regard to case (422). Unknown permissions, ' +
    'missing required companions and teams of another organization are 400. A permission that you do not hold is 403.',
  tag,
  access: requiresWithin('can_create_role', { type: 'organization', name: query('org') }),
  scope: write('authz'),
  query: InOrganization,
  body: body(
    CreateRoleRequest,
    {
      name: 'cluster viewers',
      description: 'Look, do not touch',
      permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
      teamIDs: [31],
    },
  ),
  ok: versioned(201, RoleResponse, viewerExample, 'The new role'),
  failures: roleRefusals,
})

export const getRole = defineRoute({
  id: 'authz.getRole',
  method: 'GET',
  path: '/authz/roles/{id}',
  summary: 'Get a custom role',
  description: 'Check view:role.',
  tag,
  access: requires('can_view', roleInPath),
  scope: read('authz'),
  params: RolePath,
  query: InOrganization,
  ok: versioned(200, RoleResponse, viewerExample),
  failures: [RoleMissing],
})

export const updateRole = defineRoute({
  id: 'authz.updateRole',
  method: 'PUT',
  path: '/authz/roles/{id}',
  summary: 'Replace the given parts of a custom role',
  description:
    'Check edit:role. Absent parts stay as they are; an empty list of permissions is 422, an empty list of teams detaches ' +
    'all. Whoever changes permissions or teams must hold every permission that the role then has (403).',
  tag,
  access: requires('can_edit', roleInPath),
  scope: write('authz'),
  params: RolePath,
  query: InOrganization,
  body: body(UpdateRoleRequest, { description: 'Look only' }),
  ok: versioned(200, RoleResponse, viewerExample, 'The role as it is now'),
  failures: [...roleRefusals, RoleMissing, RoleChanged],
})

export const deleteRole = defineRoute({
  id: 'authz.deleteRole',
  method: 'DELETE',
  path: '/authz/roles/{id}',
  summary: 'Delete a custom role and detach it from its teams',
  description: 'Check delete:role.',
  tag,
  access: requires('can_delete', roleInPath),
  scope: write('authz'),
  params: RolePath,
  query: InOrganization,
  ok: empty(204),
  failures: [RoleMissing, RoleChanged, AccessDenied],
})

export const listRolePrincipals = defineRoute({
  id: 'authz.listRolePrincipals',
  method: 'GET',
  path: '/authz/roles/{id}/principals',
  summary: 'List the teams and people that hold a custom role',
  description: 'Check viewer:role. The teams first, then the people in them, each once, with the first team it comes through.',
  tag,
  access: requires('can_view', roleInPath),
  scope: read('authz'),
  params: RolePath,
  query: InOrganization,
  ok: list(RolePrincipalResponse, { type: 'user', id: 5, name: 'ada', display_name: 'Ada Lovelace', via_team_id: 31 }),
  failures: [],
})
