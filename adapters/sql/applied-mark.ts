import type { Knex } from 'knex'
import { Unavailable } from '../../core/kernel/unavailable.ts'
import type { SqlDatabase, SqlRunner } from './statement.ts'

/** Marks, inside the transaction of a change, that the request with this idempotency record has been carried out. */
export interface AppliedMark {
  /** Answers whether the mark is new, so that finding it later proves that this very transaction was committed. */
  set(tx: SqlRunner, recordId: number): Promise<boolean>
  /**
   * Whether the transaction that set a new mark was committed. Waits for that transaction to end if the server still has
   * it; throws when it does not end in time.
   */
  isProven(recordId: number): Promise<boolean>
}

export const makeAppliedMark = (database: SqlDatabase): AppliedMark => {
  const mark = database.prepare((k, p: (name: 'id') => Knex.Value) =>
    k('idempotency_records').where({ id: p('id'), state: 'started' }).update({ state: 'applied' }),
  )
  const read = database.prepare((k, p: (name: 'id') => Knex.Value) =>
    k('idempotency_records').where({ id: p('id') }).select('state').forUpdate(),
  )
  return {
    set: async (tx, recordId) => {
      const { affected } = await tx.run(mark, { id: recordId })
      if (affected === 1) return true
      const record = await tx.first<{ state: string }>(read, { id: recordId })
      if (record?.state === 'applied') return false
      throw new Unavailable('Another request with the same Idempotency-Key has taken over.')
    },
    isProven: (recordId) =>
      database.transaction(async (tx) => (await tx.first<{ state: string }>(read, { id: recordId }))?.state === 'applied'),
  }
}
