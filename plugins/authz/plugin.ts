import { makeCreateRole, makeDeleteRole, makeUpdateRole } from '../../core/authz/roles.ts'
import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import { AuthorizationFactsToken, AuthorizationSchemaToken, RoleStoreToken, RoleUnitOfWorkToken } from '../../core/authz/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { definePlugin } from '../kit/plugin.ts'
import { allowedPermissionsRoutes } from './allowed-permissions.handlers.ts'
import { rolePermissions, authorizationObjectTypes } from './relations.ts'
import { roleRoutes } from './roles.handlers.ts'

/** Custom roles, and the permissions of a caller on each object. */
export const authzPlugin = definePlugin({
  id: 'authz',
  summary: 'Custom roles and allowed permissions',
  listener: 'api',
  gate: 'always',
  needs: {
    schema: AuthorizationSchemaToken,
    facts: AuthorizationFactsToken,
    roles: RoleStoreToken,
    unitOfWork: RoleUnitOfWorkToken,
    clock: ClockToken,
  },
  permissions: rolePermissions,
  objectTypes: authorizationObjectTypes,
  routes: (given) => [
    ...allowedPermissionsRoutes(makeListAllowedPermissions(given)),
    ...roleRoutes({
      schema: given.schema,
      roles: given.roles,
      create: makeCreateRole(given),
      update: makeUpdateRole(given),
      remove: makeDeleteRole(given),
    }),
  ],
})
