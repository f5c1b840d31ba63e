import type { MonthStore } from '../../../core/usage/months/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { ClusterMode, MonthKey, UnixSeconds, UsageMonth, UsageMonthId, UsageMonthStatus, UsageProduct } from '../../../core/usage/types.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface MonthRow {
  readonly id: Num
  readonly owner_id: Num
  readonly month: number
  readonly revision: number
  readonly status: UsageMonthStatus
  readonly generated_at: Num
  readonly input_hash: string
  readonly code_version: number
}
interface SegmentRow {
  readonly from_at: Num
  readonly to_at: Num
  readonly mode: ClusterMode
  readonly contract_id: Num
}

/** Pieces that are deleted at once: some megabytes. */
const deletedPieces = 100

const columns = ['id', 'owner_id', 'month', 'revision', 'status', 'generated_at', 'input_hash', 'code_version'] as const

const reads = (db: SqlDatabase) => ({
  newest: db.prepare((k, p: Params<'ownerId' | 'month'>) =>
    k('usage_months').where({ owner_id: p('ownerId'), month: p('month'), is_published: true }).select(columns).orderBy('revision', 'desc').limit(1).forUpdate(),
  ),
  listSince: db.prepare((k, p: Params<'first'>) => k('usage_months').where('month', '>=', p('first')).where('is_published', true).select(columns).orderBy(['owner_id', 'month', 'revision'])),
  owners: db.prepare((k) => k('usage_clusters').select('owner_id').min('first_heard as first_heard').groupBy('owner_id').orderBy('owner_id')),
  segments: db.prepare((k, p: Params<'monthId' | 'clusterId' | 'product'>) =>
    k('usage_segments').where({ month_id: p('monthId'), cluster_id: p('clusterId'), product: p('product') }).select('from_at', 'to_at', 'mode', 'contract_id').orderBy('from_at'),
  ),
  abandoned: db.prepare((k, p: Params<'ownerId' | 'month'>) => k('usage_months').where({ owner_id: p('ownerId'), month: p('month') }).whereNull('is_published').select('id').orderBy('id')),
})

const writes = (db: SqlDatabase) => ({
  begin: db.prepare((k, p: Params<'ownerId' | 'month' | 'revision' | 'status' | 'watermark' | 'inputHash' | 'codeVersion' | 'generatedAt'>) =>
    k('usage_months').insert({
      owner_id: p('ownerId'), month: p('month'), revision: p('revision'), status: p('status'), watermark: p('watermark'), input_hash: p('inputHash'),
      code_version: p('codeVersion'), generated_at: p('generatedAt'), is_published: null,
    }),
  ),
  addSegments: insertRows(db, 'usage_segments', (p: Params<'monthId' | 'clusterId' | 'product' | 'from' | 'to' | 'mode' | 'contractId'>) => ({
    month_id: p('monthId'), cluster_id: p('clusterId'), product: p('product'), from_at: p('from'), to_at: p('to'), mode: p('mode'), contract_id: p('contractId'),
  })),
  withdraw: db.prepare((k, p: Params<'id'>) => k('usage_months').where('id', p('id')).update({ is_published: null })),
  publish: db.prepare((k, p: Params<'id'>) => k('usage_months').where('id', p('id')).whereNull('is_published').update({ is_published: true })),
  viewPieces: db.prepare((k, p: Params<'id'>) =>
    k('usage_views as v').leftJoin('usage_view_pieces as e', 'e.view_id', 'v.id').where('v.month_id', p('id')).groupBy('v.id').select('v.id').max('e.piece as last'),
  ),
  reportPieces: db.prepare((k, p: Params<'id'>) => k('usage_reports').where('month_id', p('id')).max('piece as last')),
  removeViewPieces: db.prepare((k, p: Params<'id' | 'from' | 'to'>) => k('usage_view_pieces').where('view_id', p('id')).where('piece', '>=', p('from')).where('piece', '<', p('to')).delete()),
  removeReportPieces: db.prepare((k, p: Params<'id' | 'from' | 'to'>) => k('usage_reports').where('month_id', p('id')).where('piece', '>=', p('from')).where('piece', '<', p('to')).delete()),
  removeViews: db.prepare((k, p: Params<'id'>) => k('usage_views').where('month_id', p('id')).delete()),
  removeSegments: db.prepare((k, p: Params<'id'>) => k('usage_segments').where('month_id', p('id')).delete()),
  remove: db.prepare((k, p: Params<'id'>) => k('usage_months').where('id', p('id')).whereNull('is_published').delete()),
})

/** MonthStore over usage_months and what belongs to its revisions. Statements are composed once, then bound to a runner. */
export const makeSqlMonthStore = (db: SqlDatabase): ((runner: SqlRunner) => MonthStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async newest(ownerId, month) {
      const row = await runner.first<MonthRow>(s.newest, { ownerId, month })
      return row === undefined ? undefined : { ...monthOf(row), codeVersion: row.code_version }
    },
    async listSince(first) {
      const rows = await runner.all<MonthRow>(s.listSince, { first })
      // Revisions ascend, so the last one of a month replaces the others.
      return [...new Map(rows.map((row) => [`${row.owner_id} ${row.month}`, monthOf(row)])).values()]
    },
    async owners() {
      const rows = await runner.all<{ readonly owner_id: Num; readonly first_heard: Num }>(s.owners, {})
      return rows.map((row) => ({ ownerId: Number(row.owner_id) as AccountId, firstHeard: Number(row.first_heard) as UnixSeconds }))
    },
    async begin({ watermark, generatedAt, ...revision }) {
      const { insertId } = await runner.run(s.begin, { ...revision, watermark: watermark.getTime(), generatedAt: generatedAt.getTime() })
      return insertId as UsageMonthId
    },
    async addSegments(monthId, segments) {
      const rows = segments.map(({ clusterId, product, from, to, mode, contractId }) => ({ monthId, clusterId, product, from, to, mode, contractId }))
      for (let at = 0; at < rows.length; at += 1024) await s.addSegments(runner, rows.slice(at, at + 1024))
    },
    async segmentsOf(monthId, clusterId, product) {
      const rows = await runner.all<SegmentRow>(s.segments, { monthId, clusterId, product })
      return rows.map((row) => segmentOf(row, clusterId, product))
    },
    async abandoned(ownerId, month) {
      return (await runner.all<{ readonly id: Num }>(s.abandoned, { ownerId, month })).map(({ id }) => Number(id) as UsageMonthId)
    },
    async withdraw(id) {
      await runner.run(s.withdraw, { id })
    },
    async publish(id) {
      return (await runner.run(s.publish, { id })).affected === 1
    },
    async remove(id) {
      for (const view of await runner.all<{ readonly id: Num; readonly last: number | null }>(s.viewPieces, { id })) {
        for (let from = 0; from <= (view.last ?? -1); from += deletedPieces) await runner.run(s.removeViewPieces, { id: Number(view.id), from, to: from + deletedPieces })
      }
      const report = await runner.first<{ readonly last: number | null }>(s.reportPieces, { id })
      for (let from = 0; from <= (report?.last ?? -1); from += deletedPieces) await runner.run(s.removeReportPieces, { id, from, to: from + deletedPieces })
      await runner.run(s.removeViews, { id })
      await runner.run(s.removeSegments, { id })
      await runner.run(s.remove, { id })
    },
  })
}

const monthOf = (row: MonthRow): UsageMonth => ({
  id: Number(row.id) as UsageMonthId,
  ownerId: Number(row.owner_id) as AccountId,
  month: row.month as MonthKey,
  revision: row.revision,
  status: row.status,
  generatedAt: new Date(Number(row.generated_at)),
  inputHash: row.input_hash,
})

const segmentOf = (row: SegmentRow, clusterId: Parameters<MonthStore['segmentsOf']>[1], product: UsageProduct) => ({
  clusterId,
  product,
  from: Number(row.from_at) as UnixSeconds,
  to: Number(row.to_at) as UnixSeconds,
  mode: row.mode,
  contractId: Number(row.contract_id),
})
