import { right } from 'fp-ts/lib/Either.js'
import type { Outcome } from './failure.ts'
import { definedFields } from './fields.ts'
import type { Call } from './principal.ts'
import type { AuditEntry, AuditTrail, UnitOfWork } from './unit-of-work.ts'

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

/**
 * Records a change outside of the database, such as in a member cluster, after it was made. Without an entry, because nothing
 * changed, the transaction only stores the response under an Idempotency-Key.
 */
export const recordChange = (
  unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>,
  call: Call,
  entry: AuditEntry | undefined,
): Outcome<never, void> =>
  unitOfWork.run<never, void>(call, async ({ audit }) => {
    if (entry !== undefined) await audit.record(entry)
    return right(undefined)
  })
