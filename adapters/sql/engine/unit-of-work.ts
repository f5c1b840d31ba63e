import { setTimeout as sleep } from 'node:timers/promises'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { CommitOutcomeUnknown, Overtaken, Unavailable } from '../../../core/kernel/failure.ts'
import type { KeyedChange, StoredAnswer } from '../../../core/kernel/idempotency.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { AuditTrail, GatheringAuditTrail, UnitOfWork } from '../../../core/kernel/unit-of-work.ts'
import { collisionAttempts, collisionPause, isForeignKeyViolation, isRetryable } from '../kit/driver-errors.ts'
import { pick } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, values } from '../kit/values.ts'
import { idempotencyRecords } from '../tables/kernel.ts'
import { AsyncLocalStorage } from 'node:async_hooks'

/** Marks, inside the transaction of a change, that the request with this idempotency record was carried out. */
interface AppliedMark {
  /**
   * Stores the mark, and the answer if there is one. Returns whether the mark is new, so that finding it later proves
   * that this transaction was committed. Throws if another process has taken over the record.
   */
  set(tx: SqlRunner, recordId: number, answer: StoredAnswer | undefined): Promise<boolean>
  /**
   * Reports whether the transaction that set a new mark was committed. Waits for that transaction to end if the server
   * still has it; throws if it does not end in time.
   */
  isProven(recordId: number): Promise<boolean>
}

const makeAppliedMark = (database: SqlDatabase): AppliedMark => {
  const byId = pick(idempotencyRecords, 'id')
  const outcome = pick(idempotencyRecords, 'state', 'status', 'headers', 'body')
  const mark = database.prepare({ ...byId, ...outcome }, (k, p) =>
    k('idempotency_records')
      .where(values(idempotencyRecords, { id: p.id, state: 'started' }))
      .update(assigned(outcome, p)),
  )
  /** For a request of several transactions: the last one stores the answer. */
  const markAgain = database.prepare({ ...byId, ...outcome }, (k, p) =>
    k('idempotency_records').where('id', p.id).update(assigned(outcome, p)),
  )
  const read = database.prepare(byId, pick(idempotencyRecords, 'state'), (k, p) =>
    k('idempotency_records').where('id', p.id).forUpdate(),
  )
  return {
    set: async (tx, recordId, answer) => {
      const row = { id: recordId, ...(answer === undefined ? onlyApplied : answered(answer)) }
      if ((await tx.run(mark, row)).affected === 1) return true
      if ((await tx.run(markAgain, row)).affected === 1) return false
      throw new Unavailable('Another request with the same Idempotency-Key has taken over.')
    },
    isProven: (recordId) =>
      database.transaction(async (tx) => {
        const record = await tx.first(read, { id: recordId })
        return record !== undefined && record.state !== 'started'
      }),
  }
}

const onlyApplied = { state: 'applied', status: undefined, headers: undefined, body: undefined } as const

const answered = (answer: StoredAnswer) => ({ state: 'answered' as const, ...answer })

/** Carries a Left out of the transaction, which would commit if the promise of the work resolved. */
class Refused extends Error {
  readonly outcome: Either<Failure, never>

  constructor(outcome: Either<Failure, never>) {
    super('refused')
    this.outcome = outcome
  }
}

interface Progress<A> {
  /** The result of the work in the last attempt. */
  result?: Either<Failure, A>
  /** Whether the presence of that attempt's mark proves that it was committed. */
  isProvable: boolean
}

/** The audit trail of work that is not audited. */
export const unaudited = (): AuditTrail => ({ record: async () => undefined })

/**
 * Transactions over SQL stores. Right commits; Left and throw roll back. After a deadlock the work runs again, at most
 * four times in total. If the answer to a commit is lost, the call's idempotency record shows the outcome; without a
 * record, `CommitOutcomeUnknown` is thrown. If the parent of a row is gone, the work runs once more, so that its checks
 * can report it; if they do not, `Overtaken` is thrown. `makeStores` receives the transaction and its audit trail,
 * which `makeAudit` creates for the call.
 */
export const makeSqlUnitOfWork = <Stores>(
  database: SqlDatabase,
  makeStores: (tx: SqlRunner, audit: AuditTrail) => Stores,
  makeAudit: (tx: SqlRunner, call: Call<never>) => AuditTrail | GatheringAuditTrail,
): UnitOfWork<Stores> => {
  const mark = makeAppliedMark(database)
  return {
    run: async <F extends Failure, A>(call: Call<A>, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A> => {
      const { keyed } = call
      const runOnce = (progress: Progress<A>): Promise<Either<F, A>> =>
        database.transaction(async (tx) => {
          const audit = makeAudit(tx, call)
          const outcome = await work(makeStores(tx, audit))
          if (isLeft(outcome)) throw new Refused(outcome)
          if ('flush' in audit) await audit.flush()
          if (keyed !== undefined)
            progress.isProvable = await mark.set(tx, keyed.recordId, await keyed.answer?.(outcome.right))
          progress.result = outcome
          return outcome
        })
      for (let attempt = 1; ; attempt++) {
        const progress: Progress<A> = { isProvable: false }
        try {
          const outcome = await runOnce(progress)
          keyed?.committed()
          return outcome
        } catch (error) {
          if (error instanceof Refused) return error.outcome as Either<F, A>
          if (error instanceof CommitOutcomeUnknown) {
            if (await wasCommitted(mark, keyed, progress, error)) {
              keyed?.committed()
              return progress.result as Either<F, A>
            }
          } else if (isForeignKeyViolation(error)) {
            if (attempt > 1) throw new Overtaken(error)
          } else if (!isRetryable(error)) throw error
          if (attempt === collisionAttempts)
            throw new Unavailable('The database is busy with other changes. Try again.', { cause: error })
        }
        await sleep(collisionPause(attempt))
      }
    },
  }
}

/** Reports whether the change was committed although its commit got no answer. Throws the error if that is unknown. */
const wasCommitted = async (
  mark: AppliedMark,
  keyed: Pick<KeyedChange, 'recordId'> | undefined,
  progress: Progress<unknown>,
  unknown: CommitOutcomeUnknown,
): Promise<boolean> => {
  if (keyed === undefined || !progress.isProvable) throw unknown
  try {
    return await mark.isProven(keyed.recordId)
  } catch {
    throw unknown
  }
}

/** The state of an open transaction. */
export interface TransactionState {
  open: boolean
  /** Why it can no longer be committed: the database rolled it back, or its connection was lost. */
  broken: { readonly error: unknown } | undefined
}

/** Detects whether the current code was called from the work of a transaction. */
export interface Surroundings {
  run<A>(state: TransactionState, work: () => Promise<A>): Promise<A>
  /**
   * Throws inside the work of a transaction. A statement that bypasses the transaction there would not see its changes,
   * would not be rolled back with it, and could wait forever for the locks of its own caller.
   */
  refuseInside(): void
}

export const makeSurroundings = (): Surroundings => {
  const current = new AsyncLocalStorage<TransactionState>()
  return {
    run: (state, work) => current.run(state, work),
    refuseInside: () => {
      if (current.getStore()?.open === true) {
        throw new Error(
          'A statement bypasses the transaction that surrounds it; run it on the transaction that the work was given.',
        )
      }
    },
  }
}

/** Throws if the transaction has ended or can no longer be committed. */
export const assertUsable = (state: TransactionState): void => {
  if (!state.open) throw new Error('This transaction has ended; what it was given must not be kept.')
  if (state.broken !== undefined) throw state.broken.error
}
