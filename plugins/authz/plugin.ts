import type { ObjectTypeDefinition, PermissionDefinition, RelationTerm } from '../../core/kernel/access.ts'
import { definePlugin } from '../kit/plugin.ts'
import { allowedPermissionsGroup } from './allowed-permissions.handlers.ts'
import { roleGroup } from './roles.handlers.ts'

const namespace = 'org_mgmt'

/**
 * Permissions on custom roles that a custom role can carry. A role cannot give more permissions than its creator holds.
 */
const rolePermissions: readonly PermissionDefinition[] = [
  { namespace, action: 'create roles', level: 'admin', description: 'Create custom roles and attach them to teams' },
  {
    namespace,
    action: 'edit roles',
    level: 'admin',
    description: 'Change custom roles and the teams they are attached to',
  },
  { namespace, action: 'delete roles', level: 'admin', description: 'Delete custom roles' },
]

const by = (action: string): readonly RelationTerm[] => [{ by: 'permission', namespace: 'org_mgmt', action }]

/** Relations of a user to the custom roles of an organization: the specification's view, edit and delete:role. */
const role: ObjectTypeDefinition = {
  type: 'role',
  place: { in: 'account', key: 'id', rows: 'own', outsiders: 'denied' },
  listed: false,
  scope: 'authz',
  reading: ['can_view'],
  relations: {
    can_view: [{ by: 'member' }],
    can_edit: by('edit roles'),
    can_delete: by('delete roles'),
  },
}

/** The specification's create_role:org. */
const rolesOfOrganization: ObjectTypeDefinition = {
  type: 'organization',
  listed: true,
  scope: 'authz',
  reading: [],
  relations: { can_create_role: by('create roles') },
}

/**
 * A type of the specification that is known on every deployment. Where the plugin of contracts is not loaded it has no
 * objects, so every answer is empty.
 */
const contract: ObjectTypeDefinition = { type: 'contract', listed: true, scope: 'contract', reading: [], relations: {} }

const authorizationObjectTypes: readonly ObjectTypeDefinition[] = [role, rolesOfOrganization, contract]

/** Custom roles, and the permissions of a caller on each object. */
export const authzPlugin = definePlugin({
  id: 'authz',
  summary: 'Custom roles and allowed permissions',
  listener: 'api',
  gate: 'always',
  permissions: rolePermissions,
  objectTypes: authorizationObjectTypes,
  groups: [allowedPermissionsGroup, roleGroup],
})
