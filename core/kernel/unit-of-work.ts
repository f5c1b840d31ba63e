import type { Failure, Outcome } from './failure.ts'
import type { Call } from './principal.ts'

/**
 * Runs work on stores bound to one transaction. Right commits; Left and throw roll back.
 * `work` may run again after a deadlock, so it talks to nothing outside.
 * The call attributes audit rows. Under an Idempotency-Key the same transaction stores the answer.
 */
export interface UnitOfWork<Stores> {
  run<F extends Failure, A>(call: Call<NoInfer<A>>, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A>
}
