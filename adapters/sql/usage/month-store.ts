import type { ConsumptionStore, MonthStore } from '../../../core/usage/months/ports.ts'
import type { UsageMonthId } from '../../../core/usage/types.ts'
import { withOwner } from '../contracts/contract-store.ts'
import { contractOf, contractRow } from '../contracts/rows.ts'
import { inForce } from '../contracts/terms-in-force.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { aliased, computed, instant, int, nullable, orElse, pick, without } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertAllInto, insertInto, values } from '../kit/values.ts'
import {
  usageAlerts,
  usageClusters,
  usageContractMonths,
  usageFinalMonths,
  usageMonths,
  usageReports,
  usageSegments,
  usageViewPieces,
  usageViews,
} from '../tables/usage.ts'
import { monthRow } from './rows.ts'
import type { FinalMonthOutbox } from '../../../core/usage/final-months/ports.ts'
import { accounts } from '../tables/identity.ts'

/** Pieces that are deleted at once: about a megabyte, since other requests wait for it on SQLite. */
const deletedPieces = 25

/** The status of a revision that is being removed. It cannot be published any more. */
const removed = 'removed'

const reads = (db: SqlDatabase) => ({
  newest: db.prepare(
    pick(usageMonths, 'ownerId', 'month'),
    { ...monthRow, codeVersion: aliased(usageMonths, 'm').codeVersion },
    (k, p) =>
      k('usage_months as m')
        .where(values(usageMonths, { ownerId: p.ownerId, month: p.month, isPublished: true }))
        .orderBy('revision', 'desc')
        .limit(1)
        .forUpdate(),
  ),
  listSince: db.prepare({ first: usageMonths.month }, monthRow, (k, p) =>
    k('usage_months as m')
      .where('month', '>=', p.first)
      .where('is_published', true)
      .orderBy(['owner_id', 'month', 'revision']),
  ),
  owners: db.prepare(
    {},
    { ownerId: usageClusters.ownerId, firstHeard: computed(usageClusters.firstHeard, 'min(first_heard)') },
    (k) => k('usage_clusters').groupBy('owner_id').orderBy('owner_id'),
  ),
  segments: db.prepare(
    pick(usageSegments, 'monthId', 'clusterId', 'product'),
    without(usageSegments, 'monthId'),
    (k, p) =>
      k('usage_segments')
        .where(values(usageSegments, { monthId: p.monthId, clusterId: p.clusterId, product: p.product }))
        .orderBy('from_at'),
  ),
  abandoned: db.prepare(pick(usageMonths, 'ownerId', 'month'), pick(usageMonths, 'id'), (k, p) =>
    k('usage_months')
      .where(values(usageMonths, { ownerId: p.ownerId, month: p.month }))
      .whereNull('is_published')
      .orderBy('id'),
  ),
})

const { id } = usageMonths

const writes = (db: SqlDatabase) => ({
  begin: insertInto(db, usageMonths, { omitted: ['id'] }),
  addSegments: insertAllInto(db, usageSegments),
  withdraw: db.prepare({ id }, (k, p) =>
    k('usage_months')
      .where('id', p.id)
      .update(values(usageMonths, { isPublished: null })),
  ),
  publish: db.prepare({ id }, (k, p) =>
    k('usage_months')
      .where('id', p.id)
      .whereNull('is_published')
      .whereNot('status', removed)
      .update(values(usageMonths, { isPublished: true })),
  ),
  markRemoved: db.prepare({ id }, (k, p) =>
    k('usage_months').where('id', p.id).whereNull('is_published').update({ status: removed }),
  ),
  findRemoved: db.prepare({ id }, { id }, (k, p) =>
    k('usage_months').where('id', p.id).where('status', removed).limit(1),
  ),
  remove: db.prepare({ id }, (k, p) => k('usage_months').where('id', p.id).whereNull('is_published').delete()),
})

const pieces = { from: int(), to: int() }

const removals = (db: SqlDatabase) => ({
  viewPieces: db.prepare(
    { id },
    { id: aliased(usageViews, 'v').id, last: computed(nullable(usageViewPieces.piece), 'max(e.piece)') },
    (k, p) =>
      k('usage_views as v')
        .leftJoin('usage_view_pieces as e', 'e.view_id', 'v.id')
        .where('v.month_id', p.id)
        .groupBy('v.id'),
  ),
  reportPieces: db.prepare({ id }, { last: computed(nullable(usageReports.piece), 'max(piece)') }, (k, p) =>
    k('usage_reports').where('month_id', p.id),
  ),
  removeViewPieces: db.prepare({ id: usageViews.id, ...pieces }, (k, p) =>
    k('usage_view_pieces').where('view_id', p.id).where('piece', '>=', p.from).where('piece', '<', p.to).delete(),
  ),
  removeReportPieces: db.prepare({ id, ...pieces }, (k, p) =>
    k('usage_reports').where('month_id', p.id).where('piece', '>=', p.from).where('piece', '<', p.to).delete(),
  ),
  removeViews: db.prepare({ id }, (k, p) => k('usage_views').where('month_id', p.id).delete()),
  removeSegments: db.prepare({ id }, (k, p) => k('usage_segments').where('month_id', p.id).delete()),
})

/**
 * MonthStore over usage_months and what belongs to its revisions. Statements are composed once, then bound to a runner.
 */
export const makeSqlMonthStore = (db: SqlDatabase): ((runner: SqlRunner) => MonthStore) => {
  const s = { ...reads(db), ...writes(db), ...removals(db) }
  return (runner) => ({
    newest: (ownerId, month) => runner.first(s.newest, { ownerId, month }),
    async listSince(first) {
      // Revisions ascend, so the last one of a month replaces the others.
      const rows = await runner.all(s.listSince, { first })
      return [...new Map(rows.map((row) => [`${row.ownerId} ${row.month}`, row])).values()]
    },
    owners: () => runner.all(s.owners, {}),
    async begin(revision) {
      return (await runner.run(s.begin, { ...revision, isPublished: undefined })).insertId as UsageMonthId
    },
    async addSegments(monthId, segments) {
      const rows = segments.map((segment) => ({ ...segment, monthId }))
      for (let at = 0; at < rows.length; at += 1024) await s.addSegments(runner, rows.slice(at, at + 1024))
    },
    segmentsOf: (monthId, clusterId, product) => runner.all(s.segments, { monthId, clusterId, product }),
    async abandoned(ownerId, month) {
      return (await runner.all(s.abandoned, { ownerId, month })).map((row) => row.id)
    },
    async withdraw(monthId) {
      await runner.run(s.withdraw, { id: monthId })
    },
    async publish(monthId) {
      return (await runner.run(s.publish, { id: monthId })).affected === 1
    },
    async remove(monthId) {
      await runner.run(s.markRemoved, { id: monthId })
      if ((await runner.first(s.findRemoved, { id: monthId })) === undefined) return
      for (const view of await runner.all(s.viewPieces, { id: monthId })) {
        for (let from = 0; from <= (view.last ?? -1); from += deletedPieces) {
          await runner.run(s.removeViewPieces, { id: view.id, from, to: from + deletedPieces })
          await pauseInLongTurn(0)
        }
      }
      const report = await runner.first(s.reportPieces, { id: monthId })
      for (let from = 0; from <= (report?.last ?? -1); from += deletedPieces) {
        await runner.run(s.removeReportPieces, { id: monthId, from, to: from + deletedPieces })
        await pauseInLongTurn(0)
      }
      await runner.run(s.removeViews, { id: monthId })
      await runner.run(s.removeSegments, { id: monthId })
      await runner.run(s.remove, { id: monthId })
    },
  })
}

const consumptionStatements = (db: SqlDatabase) => ({
  // The quota is JSON, in which no statement searches: the contracts in force are few, and their terms are read as a
  // whole.
  inForce: db.prepare({ from: instant(), to: instant(), now: instant() }, contractRow, (k, p) =>
    withOwner(k('contracts as c'), p.now)
      .whereRaw(`${inForce('startsAt')} < ?`, [p.to])
      .whereRaw(`${inForce('endsAt')} > ?`, [p.from])
      .orderBy(['c.owner_id', 'c.id']),
  ),
  find: db.prepare(
    pick(usageContractMonths, 'contractId', 'month'),
    pick(usageContractMonths, 'milliCpuSeconds', 'mebibyteSeconds'),
    (k, p) =>
      k('usage_contract_months').where(values(usageContractMonths, { contractId: p.contractId, month: p.month })),
  ),
  set: insertInto(db, usageContractMonths, {}, (insert) =>
    insert.onConflict(['contract_id', 'month']).merge(['milli_cpu_seconds', 'mebibyte_seconds', 'computed_at']),
  ),
  alert: insertInto(db, usageAlerts, {}, (insert) => insert.onConflict(['contract_id', 'month', 'threshold']).ignore()),
})

/**
 * ConsumptionStore over usage_contract_months and usage_alerts. Statements are composed once, then bound to a runner.
 */
export const makeSqlConsumptionStore = (db: SqlDatabase): ((runner: SqlRunner) => ConsumptionStore) => {
  const s = consumptionStatements(db)
  return (runner) => ({
    async listInForce(from, to, now) {
      return (await runner.all(s.inForce, { from, to, now })).map(contractOf)
    },
    find: (contractId, month) => runner.first(s.find, { contractId, month }),
    async set(contractId, month, { milliCpuSeconds, mebibyteSeconds }, at) {
      await runner.run(s.set, { contractId, month, milliCpuSeconds, mebibyteSeconds, computedAt: at })
    },
    async markAlerted(contractId, month, threshold, at) {
      return (await runner.run(s.alert, { contractId, month, threshold, sentAt: at })).affected === 1
    },
  })
}

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
