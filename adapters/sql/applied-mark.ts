import type { Knex } from 'knex'
import type { StoredAnswer } from '../../core/kernel/idempotency.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import type { SqlDatabase, SqlRunner } from './statement.ts'

/** Marks, inside the transaction of a change, that the request with this idempotency record has been carried out. */
export interface AppliedMark {
  /**
   * Stores the answer with the mark, where there is one. Answers whether the mark is new, so that finding it later proves
   * that this very transaction was committed. Throws when another process has taken over the record.
   */
  set(tx: SqlRunner, recordId: number, answer: StoredAnswer | undefined): Promise<boolean>
  /**
   * Whether the transaction that set a new mark was committed. Waits for that transaction to end if the server still has
   * it; throws when it does not end in time.
   */
  isProven(recordId: number): Promise<boolean>
}

type Place = (name: 'id' | 'state' | 'status' | 'headers' | 'body') => Knex.Value

export const makeAppliedMark = (database: SqlDatabase): AppliedMark => {
  const { prepare } = database
  const written = (p: Place) => ({ state: p('state'), status: p('status'), headers: p('headers'), body: p('body') })
  const mark = prepare((k, p: Place) => k('idempotency_records').where({ id: p('id'), state: 'started' }).update(written(p)))
  /** For a request of several transactions: the last one has the answer. */
  const markAgain = prepare((k, p: Place) => k('idempotency_records').where({ id: p('id') }).update(written(p)))
  const read = prepare((k, p: Place) => k('idempotency_records').where({ id: p('id') }).select('state').forUpdate())
  return {
    set: async (tx, recordId, answer) => {
      const row = { id: recordId, ...(answer === undefined ? onlyApplied : answered(answer)) }
      if ((await tx.run(mark, row)).affected === 1) return true
      if ((await tx.run(markAgain, row)).affected === 1) return false
      throw new Unavailable('Another request with the same Idempotency-Key has taken over.')
    },
    isProven: (recordId) =>
      database.transaction(async (tx) => {
        const record = await tx.first<{ state: string }>(read, { id: recordId })
        return record !== undefined && record.state !== 'started'
      }),
  }
}

const onlyApplied = { state: 'applied', status: null, headers: null, body: null }

const answered = ({ status, headers, body }: StoredAnswer) => ({ state: 'answered', status, headers: JSON.stringify(headers), body: body ?? null })
