import type { Failure, Outcome } from './failure.ts'
import type { AccountId } from './ids.ts'
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
