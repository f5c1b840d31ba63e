import type { AccountId } from '../../../core/kernel/ids.ts'
import type { FinalMonthOutbox } from '../../../core/usage/final-months/ports.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface EventRow {
  readonly id: Num
  readonly owner_id: Num
  readonly account_name: string | null
  readonly month: Num
  readonly revision: Num
  readonly generated_at: Num
}

/** FinalMonthOutbox over `usage_final_months`. */
export const makeSqlFinalMonthOutbox = (db: SqlDatabase): ((runner: SqlRunner) => FinalMonthOutbox) => {
  const insert = db.prepare((k, p: Params<'ownerId' | 'month' | 'revision' | 'generatedAt'>) =>
    k('usage_final_months').insert({
      owner_id: p('ownerId'),
      month: p('month'),
      revision: p('revision'),
      generated_at: p('generatedAt'),
    }),
  )
  const oldest = db.prepare((k, p: Params<'limit'>) =>
    k('usage_final_months as f')
      .leftJoin('accounts as a', 'a.id', 'f.owner_id')
      .select('f.id', 'f.owner_id', 'a.name as account_name', 'f.month', 'f.revision', 'f.generated_at')
      .orderBy('f.id')
      .limit(p('limit')),
  )
  const remove = db.prepare((k, p: Params<'id'>) => k('usage_final_months').where('id', p('id')).delete())
  return (runner) => ({
    async add({ ownerId, month, revision, generatedAt }) {
      await runner.run(insert, { ownerId, month, revision, generatedAt: generatedAt.getTime() })
    },
    async oldest(limit) {
      return (await runner.all<EventRow>(oldest, { limit })).map((row) => ({
        id: Number(row.id),
        ownerId: Number(row.owner_id) as AccountId,
        accountName: row.account_name ?? '',
        month: Number(row.month) as MonthKey,
        revision: Number(row.revision),
        generatedAt: new Date(Number(row.generated_at)),
      }))
    },
    async remove(id) {
      await runner.run(remove, { id })
    },
  })
}
