import type { Failure, Outcome } from './failure.ts'
import type { Call } from './principal.ts'

/**
 * Runs work on stores bound to one transaction. Right commits; Left and throw roll back.
 * `work` may run again after a deadlock, so it talks to nothing outside.
 * The call attributes audit rows and marks the idempotency record in the same transaction.
 */
export interface UnitOfWork<Stores> {
  run<F extends Failure, A>(call: Call, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A>
}
