import type { PermissionDefinition } from '../../core/kernel/access.ts'

const namespace = 'org_mgmt'

/** What custom roles can carry over custom roles. Whoever may make roles still gives no more than they hold. */
export const rolePermissions: readonly PermissionDefinition[] = [
  { namespace, action: 'create roles', level: 'admin', description: 'Create custom roles and attach them to teams' },
  { namespace, action: 'edit roles', level: 'admin', description: 'Change custom roles and the teams they are attached to' },
  { namespace, action: 'delete roles', level: 'admin', description: 'Delete custom roles' },
]
