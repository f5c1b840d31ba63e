import type { AuditEntry } from './unit-of-work.ts'
import { definedFields } from './fields.ts'

/** How an object appears in the audit log. */
export type AuditedObject = Pick<AuditEntry, 'objectId' | 'objectName' | 'tenantId'>

/** Returns the audit row of an action on an object. `changes` must not contain secret values. */
export type AuditOf<O, Action extends string> = (object: O, action: Action, changes?: AuditEntry['changes']) => AuditEntry

/**
 * Declares the audit rows of one type of objects: the closed list of its actions, and how an object appears in them.
 * @example const auditOf = defineAudit('role', ['role.created', 'role.deleted'], ({ id, name, orgId }: Role) => ({ objectId: id, objectName: name, tenantId: orgId }))
 */
export const defineAudit =
  <O, Action extends string>(objectType: string, _actions: readonly Action[], shown: (object: O) => AuditedObject): AuditOf<O, Action> =>
  (object, action, changes) => ({ action, objectType, ...shown(object), ...definedFields({ changes }) })
