import { definePlugin } from '../kit/plugin.ts'
import { allowedPermissionsGroup } from './allowed-permissions.handlers.ts'
import { rolePermissions, authorizationObjectTypes } from './relations.ts'
import { roleGroup } from './roles.handlers.ts'

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
