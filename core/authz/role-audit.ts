import type { AuditEntry } from '../kernel/unit-of-work.ts'
import { permissionKey } from '../kernel/access.ts'
import type { Role, RoleContent } from './types.ts'

/** The audit row of a change to a role. Everything in a role may be shown; `changed` names the parts that did change. */
export const roleAudit = (
  action: 'role.created' | 'role.updated' | 'role.deleted',
  role: Role,
  changed: readonly (keyof RoleContent)[],
): AuditEntry => ({
  action,
  objectType: 'role',
  objectId: role.id,
  objectName: role.name,
  tenantId: role.orgId,
  changes: Object.fromEntries(changed.map((part) => [part, shown(role)[part]])),
})

/** Long lists are told by their length: the row must fit its column. */
const maxShownItems = 100

const shown = (role: RoleContent): Record<keyof RoleContent, string | readonly (string | number)[]> => ({
  name: role.name,
  description: role.description,
  permissions: listed(role.permissions.map(permissionKey)),
  teamIds: listed(role.teamIds),
})

const listed = <A extends string | number>(items: readonly A[]): string | readonly A[] =>
  items.length <= maxShownItems ? items : `${items.length} items`
