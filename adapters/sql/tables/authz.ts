import type { OrgId, RoleId, TeamId } from '../../../core/kernel/ids.ts'
import { id, instant, long, rowId, table, text, withDefault } from '../kit/columns.ts'

export const roles = table('roles', {
  id: rowId<RoleId>(),
  orgId: id<OrgId>(),
  name: text(255),
  lowerName: text(255),
  description: withDefault(text(1000)),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

export const rolePermissions = table('role_permissions', {
  roleId: id<RoleId>(),
  namespace: text(64),
  action: text(64),
})

export const teamRoles = table('team_roles', {
  teamId: id<TeamId>(),
  roleId: id<RoleId>(),
  orgId: id<OrgId>(),
})

export const objectGrants = table('object_grants', {
  objectType: text(32),
  objectId: id(),
  relation: text(64),
  subjectType: text(8),
  subjectId: id(),
  orgId: id<OrgId>(),
  createdAt: instant(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    authz: typeof import('./authz.ts')
  }
}
