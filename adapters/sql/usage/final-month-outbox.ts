import type { FinalMonthOutbox } from '../../../core/usage/final-months/ports.ts'
import { aliased, int, orElse, pick } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { accounts } from '../tables/identity.ts'
import { usageFinalMonths } from '../tables/usage.ts'

const eventRow = { ...aliased(usageFinalMonths, 'f'), accountName: orElse(aliased(accounts, 'a').name, '') }

/** FinalMonthOutbox over `usage_final_months`. */
export const makeSqlFinalMonthOutbox = (db: SqlDatabase): ((runner: SqlRunner) => FinalMonthOutbox) => {
  const insert = insertInto(db, usageFinalMonths, { omitted: ['id'] })
  const oldest = db.prepare({ limit: int() }, eventRow, (k, p) =>
    k('usage_final_months as f').leftJoin('accounts as a', 'a.id', 'f.owner_id').orderBy('f.id').limit(p.limit),
  )
  const remove = db.prepare(pick(usageFinalMonths, 'id', 'ownerId'), (k, p) =>
    k('usage_final_months').where(values(usageFinalMonths, p)).delete(),
  )
  return (runner) => ({
    async add(month) {
      await runner.run(insert, month)
    },
    oldest: (limit) => runner.all(oldest, { limit }),
    async remove({ id, ownerId }) {
      await runner.run(remove, { id, ownerId })
    },
  })
}
