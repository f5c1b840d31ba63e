import { right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from './failure.ts'
import type { AccountId } from './ids.ts'
import { definedFields } from './json.ts'
import type { Call } from './principal.ts'

/** One change, or one refusal, to record. `changes` must not contain secret values. */
export interface AuditEntry {
  /** One of a closed list, `object.verb`: `role.created`. */
  readonly action: string
  readonly objectType: string
  readonly objectId?: number
  /** The object's name at that time. */
  readonly objectName?: string
  /** The organization or user whose audit log shows this row; absent for site-wide actions. */
  readonly tenantId?: AccountId
  /** The names of the changed fields, with values if the action allows them. */
  readonly changes?: Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>
}

/** Records into the surrounding transaction: the change and its audit row are committed or rolled back together. */
export interface AuditTrail {
  record(entry: AuditEntry): Promise<void>
}

/**
 * An audit trail that buffers entries. Nothing is written before `flush`, which the unit of work calls once, last,
 * before it commits.
 */
export interface GatheringAuditTrail extends AuditTrail {
  flush(): Promise<void>
}

/**
 * Runs work on stores bound to one transaction. Right commits; Left and throw roll back. `work` may run again after a
 * deadlock, so it must have no external side effects. The call attributes audit rows. Under an Idempotency-Key the same
 * transaction stores the response.
 */
export interface UnitOfWork<Stores> {
  run<F extends Failure, A>(call: Call<NoInfer<A>>, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A>
}

/** How an object appears in the audit log. */
export type AuditedObject = Pick<AuditEntry, 'objectId' | 'objectName' | 'tenantId'>

/** Returns the audit row of an action on an object. `changes` must not contain secret values. */
export type AuditOf<O, Action extends string> = (
  object: O,
  action: Action,
  changes?: AuditEntry['changes'],
) => AuditEntry

/**
 * Declares the audit rows of one type of objects: the closed list of its actions, and how an object appears in them.
 * @example const auditOf = defineAudit('role', ['role.created', 'role.deleted'], ({ id, name, orgId }: Role) => ({
 * objectId: id, objectName: name, tenantId: orgId }))
 */
export const defineAudit =
  <O, Action extends string>(
    objectType: string,
    _actions: readonly Action[],
    shown: (object: O) => AuditedObject,
  ): AuditOf<O, Action> =>
  (object, action, changes) => ({ action, objectType, ...shown(object), ...definedFields({ changes }) })

/**
 * Records a change outside of the database, such as in a member cluster, after it was made. Without an entry, because
 * nothing changed, the transaction only stores the response under an Idempotency-Key.
 */
export const recordChange = (
  unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>,
  call: Call,
  ...entries: readonly (AuditEntry | undefined)[]
): Outcome<never, void> =>
  unitOfWork.run<never, void>(call, async ({ audit }) => {
    for (const entry of entries) if (entry !== undefined) await audit.record(entry)
    return right(undefined)
  })

/**
 * Records the part of a request that was made before the rest failed. Stores no response under an Idempotency-Key,
 * since the response is the failure.
 */
export const recordPart = async (
  unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>,
  { keyed: _, ...call }: Call,
  entries: readonly AuditEntry[],
): Promise<void> => {
  if (entries.length > 0) await recordChange(unitOfWork, call, ...entries)
}
