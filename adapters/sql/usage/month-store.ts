import type { AccountId } from '../../../core/kernel/ids.ts'
import type { ConsumptionStore, MonthStore } from '../../../core/usage/months/ports.ts'
import type { ClusterMode, UnixSeconds, UsageMonthId, UsageProduct } from '../../../core/usage/types.ts'
import { withOwner } from '../contracts/contract-store.ts'
import type { ContractRow } from '../contracts/rows.ts'
import { contractOf } from '../contracts/rows.ts'
import { inForce } from '../contracts/terms-in-force.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { MonthRow } from './rows.ts'
import { monthColumns, monthOf } from './rows.ts'

interface VersionedRow extends MonthRow {
  readonly code_version: number
}
interface SegmentRow {
  readonly from_at: Num
  readonly to_at: Num
  readonly mode: ClusterMode
  readonly contract_id: Num
  readonly terms_number: number
}

/** Pieces that are deleted at once: about a megabyte, since other requests wait for it on SQLite. */
const deletedPieces = 25

/** The status of a revision that is being removed. It cannot be published any more. */
const removed = 'removed'

const reads = (db: SqlDatabase) => ({
  newest: db.prepare((k, p: Params<'ownerId' | 'month'>) =>
    k('usage_months as m')
      .where({ owner_id: p('ownerId'), month: p('month'), is_published: true })
      .select(...monthColumns, 'm.code_version')
      .orderBy('revision', 'desc')
      .limit(1)
      .forUpdate(),
  ),
  listSince: db.prepare((k, p: Params<'first'>) =>
    k('usage_months as m')
      .where('month', '>=', p('first'))
      .where('is_published', true)
      .select(...monthColumns)
      .orderBy(['owner_id', 'month', 'revision']),
  ),
  owners: db.prepare((k) =>
    k('usage_clusters').select('owner_id').min('first_heard as first_heard').groupBy('owner_id').orderBy('owner_id'),
  ),
  segments: db.prepare((k, p: Params<'monthId' | 'clusterId' | 'product'>) =>
    k('usage_segments')
      .where({ month_id: p('monthId'), cluster_id: p('clusterId'), product: p('product') })
      .select('from_at', 'to_at', 'mode', 'contract_id', 'terms_number')
      .orderBy('from_at'),
  ),
  abandoned: db.prepare((k, p: Params<'ownerId' | 'month'>) =>
    k('usage_months')
      .where({ owner_id: p('ownerId'), month: p('month') })
      .whereNull('is_published')
      .select('id')
      .orderBy('id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  begin: db.prepare(
    (
      k,
      p: Params<
        'ownerId' | 'month' | 'revision' | 'status' | 'watermark' | 'inputHash' | 'codeVersion' | 'generatedAt'
      >,
    ) =>
      k('usage_months').insert({
        owner_id: p('ownerId'),
        month: p('month'),
        revision: p('revision'),
        status: p('status'),
        watermark: p('watermark'),
        input_hash: p('inputHash'),
        code_version: p('codeVersion'),
        generated_at: p('generatedAt'),
        is_published: null,
      }),
  ),
  addSegments: insertRows(
    db,
    'usage_segments',
    (p: Params<'monthId' | 'clusterId' | 'product' | 'from' | 'to' | 'mode' | 'contractId' | 'termsNumber'>) => ({
      month_id: p('monthId'),
      cluster_id: p('clusterId'),
      product: p('product'),
      from_at: p('from'),
      to_at: p('to'),
      mode: p('mode'),
      contract_id: p('contractId'),
      terms_number: p('termsNumber'),
    }),
  ),
  withdraw: db.prepare((k, p: Params<'id'>) => k('usage_months').where('id', p('id')).update({ is_published: null })),
  publish: db.prepare((k, p: Params<'id'>) =>
    k('usage_months')
      .where('id', p('id'))
      .whereNull('is_published')
      .whereNot('status', removed)
      .update({ is_published: true }),
  ),
  markRemoved: db.prepare((k, p: Params<'id'>) =>
    k('usage_months').where('id', p('id')).whereNull('is_published').update({ status: removed }),
  ),
  findRemoved: db.prepare((k, p: Params<'id'>) =>
    k('usage_months')
      .where({ id: p('id'), status: removed })
      .select('id')
      .limit(1),
  ),
  viewPieces: db.prepare((k, p: Params<'id'>) =>
    k('usage_views as v')
      .leftJoin('usage_view_pieces as e', 'e.view_id', 'v.id')
      .where('v.month_id', p('id'))
      .groupBy('v.id')
      .select('v.id')
      .max('e.piece as last'),
  ),
  reportPieces: db.prepare((k, p: Params<'id'>) => k('usage_reports').where('month_id', p('id')).max('piece as last')),
  removeViewPieces: db.prepare((k, p: Params<'id' | 'from' | 'to'>) =>
    k('usage_view_pieces')
      .where('view_id', p('id'))
      .where('piece', '>=', p('from'))
      .where('piece', '<', p('to'))
      .delete(),
  ),
  removeReportPieces: db.prepare((k, p: Params<'id' | 'from' | 'to'>) =>
    k('usage_reports').where('month_id', p('id')).where('piece', '>=', p('from')).where('piece', '<', p('to')).delete(),
  ),
  removeViews: db.prepare((k, p: Params<'id'>) => k('usage_views').where('month_id', p('id')).delete()),
  removeSegments: db.prepare((k, p: Params<'id'>) => k('usage_segments').where('month_id', p('id')).delete()),
  remove: db.prepare((k, p: Params<'id'>) => k('usage_months').where('id', p('id')).whereNull('is_published').delete()),
})

/**
 * MonthStore over usage_months and what belongs to its revisions. Statements are composed once, then bound to a runner.
 */
export const makeSqlMonthStore = (db: SqlDatabase): ((runner: SqlRunner) => MonthStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async newest(ownerId, month) {
      const row = await runner.first<VersionedRow>(s.newest, { ownerId, month })
      return row === undefined ? undefined : { ...monthOf(row), codeVersion: row.code_version }
    },
    async listSince(first) {
      const rows = await runner.all<MonthRow>(s.listSince, { first })
      // Revisions ascend, so the last one of a month replaces the others.
      return [...new Map(rows.map((row) => [`${row.owner_id} ${row.month}`, monthOf(row)])).values()]
    },
    async owners() {
      const rows = await runner.all<{ readonly owner_id: Num; readonly first_heard: Num }>(s.owners, {})
      return rows.map((row) => ({
        ownerId: Number(row.owner_id) as AccountId,
        firstHeard: Number(row.first_heard) as UnixSeconds,
      }))
    },
    async begin({ watermark, generatedAt, ...revision }) {
      const { insertId } = await runner.run(s.begin, {
        ...revision,
        watermark: watermark.getTime(),
        generatedAt: generatedAt.getTime(),
      })
      return insertId as UsageMonthId
    },
    async addSegments(monthId, segments) {
      const rows = segments.map(({ clusterId, product, from, to, mode, contractId, termsNumber }) => ({
        monthId,
        clusterId,
        product,
        from,
        to,
        mode,
        contractId,
        termsNumber,
      }))
      for (let at = 0; at < rows.length; at += 1024) await s.addSegments(runner, rows.slice(at, at + 1024))
    },
    async segmentsOf(monthId, clusterId, product) {
      const rows = await runner.all<SegmentRow>(s.segments, { monthId, clusterId, product })
      return rows.map((row) => segmentOf(row, clusterId, product))
    },
    async abandoned(ownerId, month) {
      return (await runner.all<{ readonly id: Num }>(s.abandoned, { ownerId, month })).map(
        ({ id }) => Number(id) as UsageMonthId,
      )
    },
    async withdraw(id) {
      await runner.run(s.withdraw, { id })
    },
    async publish(id) {
      return (await runner.run(s.publish, { id })).affected === 1
    },
    async remove(id) {
      await runner.run(s.markRemoved, { id })
      if ((await runner.first(s.findRemoved, { id })) === undefined) return
      for (const view of await runner.all<{ readonly id: Num; readonly last: number | null }>(s.viewPieces, { id })) {
        for (let from = 0; from <= (view.last ?? -1); from += deletedPieces) {
          await runner.run(s.removeViewPieces, { id: Number(view.id), from, to: from + deletedPieces })
          await pauseInLongTurn(0)
        }
      }
      const report = await runner.first<{ readonly last: number | null }>(s.reportPieces, { id })
      for (let from = 0; from <= (report?.last ?? -1); from += deletedPieces) {
        await runner.run(s.removeReportPieces, { id, from, to: from + deletedPieces })
        await pauseInLongTurn(0)
      }
      await runner.run(s.removeViews, { id })
      await runner.run(s.removeSegments, { id })
      await runner.run(s.remove, { id })
    },
  })
}

const segmentOf = (row: SegmentRow, clusterId: Parameters<MonthStore['segmentsOf']>[1], product: UsageProduct) => ({
  clusterId,
  product,
  from: Number(row.from_at) as UnixSeconds,
  to: Number(row.to_at) as UnixSeconds,
  mode: row.mode,
  contractId: Number(row.contract_id),
  termsNumber: row.terms_number,
})

interface UsedRow {
  readonly milli_cpu_seconds: string
  readonly mebibyte_seconds: string
}

const compose = (db: SqlDatabase) => ({
  // The quota is JSON, in which no statement searches: the contracts in force are few, and their terms are read as a
  // whole.
  inForce: db.prepare((k, p: Params<'from' | 'to' | 'now'>) =>
    withOwner(k, k('contracts as c'), p('now'))
      .whereRaw(`${inForce('starts_at')} < ?`, [p('to')])
      .whereRaw(`${inForce('ends_at')} > ?`, [p('from')])
      .orderBy(['c.owner_id', 'c.id']),
  ),
  find: db.prepare((k, p: Params<'contractId' | 'month'>) =>
    k('usage_contract_months')
      .where({ contract_id: p('contractId'), month: p('month') })
      .select('milli_cpu_seconds', 'mebibyte_seconds'),
  ),
  set: db.prepare((k, p: Params<'contractId' | 'month' | 'cpu' | 'memory' | 'at'>) =>
    k('usage_contract_months')
      .insert({
        contract_id: p('contractId'),
        month: p('month'),
        milli_cpu_seconds: p('cpu'),
        mebibyte_seconds: p('memory'),
        computed_at: p('at'),
      })
      .onConflict(['contract_id', 'month'])
      .merge(['milli_cpu_seconds', 'mebibyte_seconds', 'computed_at']),
  ),
  alert: db.prepare((k, p: Params<'contractId' | 'month' | 'threshold' | 'at'>) =>
    k('usage_alerts')
      .insert({ contract_id: p('contractId'), month: p('month'), threshold: p('threshold'), sent_at: p('at') })
      .onConflict(['contract_id', 'month', 'threshold'])
      .ignore(),
  ),
})

/**
 * ConsumptionStore over usage_contract_months and usage_alerts. Statements are composed once, then bound to a runner.
 */
export const makeSqlConsumptionStore = (db: SqlDatabase): ((runner: SqlRunner) => ConsumptionStore) => {
  const s = compose(db)
  return (runner) => ({
    async listInForce(from, to, now) {
      const rows = await runner.all<ContractRow>(s.inForce, {
        from: from.getTime(),
        to: to.getTime(),
        now: now.getTime(),
      })
      return rows.map(contractOf)
    },
    async find(contractId, month) {
      const row = await runner.first<UsedRow>(s.find, { contractId, month })
      return row === undefined
        ? undefined
        : { milliCpuSeconds: BigInt(row.milli_cpu_seconds), mebibyteSeconds: BigInt(row.mebibyte_seconds) }
    },
    async set(contractId, month, { milliCpuSeconds, mebibyteSeconds }, at) {
      await runner.run(s.set, {
        contractId,
        month,
        cpu: milliCpuSeconds.toString(),
        memory: mebibyteSeconds.toString(),
        at: at.getTime(),
      })
    },
    async markAlerted(contractId, month, threshold, at) {
      return (await runner.run(s.alert, { contractId, month, threshold, at: at.getTime() })).affected === 1
    },
  })
}
