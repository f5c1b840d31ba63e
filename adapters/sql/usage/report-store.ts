import type { AccountId } from '../../../core/kernel/ids.ts'
import type { UsageReportStore } from '../../../core/usage/reports/ports.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { MonthRow } from './rows.ts'
import { monthColumns, monthOf } from './rows.ts'

interface ReportRow extends MonthRow {
  readonly size: Num
}

const statementsOf = (db: SqlDatabase) => {
  const find = (revision: boolean) =>
    db.prepare((k, p: Params<'owner' | 'month' | 'revision'>) => {
      const rows = k('usage_months as m')
        .join('usage_reports as r', 'r.month_id', 'm.id')
        .where({ 'm.owner_id': p('owner'), 'm.month': p('month'), 'm.is_published': true })
      return (revision ? rows.where('m.revision', p('revision')) : rows)
        .groupBy('m.id', 'm.owner_id', 'm.month', 'm.revision', 'm.status', 'm.generated_at', 'm.input_hash')
        .orderBy('m.revision', 'desc')
        .limit(1)
        .select(...monthColumns)
        .sum({ size: 'r.size' })
    })
  return {
    add: db.prepare((k, p: Params<'monthId' | 'piece' | 'size' | 'body'>) =>
      k('usage_reports').insert({ month_id: p('monthId'), piece: p('piece'), size: p('size'), body: p('body') }),
    ),
    newest: find(false),
    revision: find(true),
    piece: db.prepare((k, p: Params<'monthId' | 'piece'>) =>
      k('usage_reports')
        .where({ month_id: p('monthId'), piece: p('piece') })
        .select('body')
        .limit(1),
    ),
  }
}

/**
 * UsageReportStore over the table usage_reports. Pieces are read one by one, so that a slow client holds no connection
 * and little memory.
 */
export const makeSqlUsageReportStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageReportStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async addPiece(monthId, piece, body) {
      await runner.run(s.add, { monthId, piece, size: body.length, body })
    },
    async find(ownerId, month, revision) {
      const row =
        revision === undefined
          ? await runner.first<ReportRow>(s.newest, { owner: ownerId, month })
          : await runner.first<ReportRow>(s.revision, { owner: ownerId, month, revision })
      if (row === undefined) return undefined
      return { month: monthOf(row), size: Number(row.size) }
    },
    async *pieces({ month, size }) {
      let read = 0
      for (let piece = 0; read < size; piece += 1) {
        const row = await runner.first<{ readonly body: Uint8Array }>(s.piece, { monthId: month.id, piece })
        if (row === undefined) throw new Error(`The report of the revision ${month.id} lacks its piece ${piece}.`)
        read += row.body.length
        yield row.body
      }
    },
  })
}

/**
 * Returns the function that returns the name of an account with its full name, if it has one: `Example, Inc.
 * (example)`.
 */
export const makeSqlOwnerNames = (db: SqlDatabase): ((ownerId: AccountId) => Promise<string | undefined>) => {
  const find = db.prepare((k, p: Params<'id'>) =>
    k('accounts as a')
      .leftJoin('organizations as o', 'o.id', 'a.id')
      .leftJoin('users as u', 'u.id', 'a.id')
      .where('a.id', p('id'))
      .limit(1)
      .select('a.name', 'o.full_name as org_name', 'u.full_name as user_name'),
  )
  return async (ownerId) => {
    const row = await db.first<{
      readonly name: string
      readonly org_name: string | null
      readonly user_name: string | null
    }>(find, { id: ownerId })
    if (row === undefined) return undefined
    const fullName = (row.org_name ?? row.user_name ?? '').trim()
    return fullName === '' || fullName === row.name ? row.name : `${fullName} (${row.name})`
  }
}
