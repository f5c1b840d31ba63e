import type { AccountId } from '../../../core/kernel/ids.ts'
import type { UsageReportStore } from '../../../core/usage/reports/ports.ts'
import type { MonthKey, UsageMonthId, UsageMonthStatus } from '../../../core/usage/types.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface ReportRow {
  readonly id: number
  readonly owner_id: number
  readonly month: number
  readonly revision: number
  readonly status: string
  readonly generated_at: number
  readonly input_hash: string
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
        .select('m.id', 'm.owner_id', 'm.month', 'm.revision', 'm.status', 'm.generated_at', 'm.input_hash')
        .sum({ size: 'r.size' })
    })
  return {
    add: db.prepare((k, p: Params<'monthId' | 'piece' | 'size' | 'body'>) => k('usage_reports').insert({ month_id: p('monthId'), piece: p('piece'), size: p('size'), body: p('body') })),
    newest: find(false),
    revision: find(true),
    piece: db.prepare((k, p: Params<'monthId' | 'piece'>) => k('usage_reports').where({ month_id: p('monthId'), piece: p('piece') }).select('body').limit(1)),
  }
}

/** UsageReportStore over the table usage_reports. Pieces are read one by one, so that a slow client holds no connection and little memory. */
export const makeSqlUsageReportStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageReportStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async addPiece(monthId, piece, body) {
      await runner.run(s.add, { monthId, piece, size: body.length, body })
    },
    async find(ownerId, month, revision) {
      const row = revision === undefined ? await runner.first<ReportRow>(s.newest, { owner: ownerId, month }) : await runner.first<ReportRow>(s.revision, { owner: ownerId, month, revision })
      if (row === undefined) return undefined
      return {
        month: {
          id: row.id as UsageMonthId,
          ownerId: row.owner_id as AccountId,
          month: row.month as MonthKey,
          revision: row.revision,
          status: row.status as UsageMonthStatus,
          generatedAt: new Date(row.generated_at),
          inputHash: row.input_hash,
        },
        size: Number(row.size),
      }
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
