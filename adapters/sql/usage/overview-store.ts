import type { AccountId } from '../../../core/kernel/ids.ts'
import type { IntakeSum, RefusedEvent, UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import type { UsageProduct } from '../../../core/usage/types.ts'
import { withOwner } from '../contracts/contract-store.ts'
import type { ContractRow } from '../contracts/rows.ts'
import { contractOf } from '../contracts/rows.ts'
import { inForce } from '../contracts/terms-in-force.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { MonthRow } from './rows.ts'
import { monthColumns, monthOf } from './rows.ts'

interface CustomerRow extends MonthRow {
  readonly account_name: string
  readonly product: string | null
  readonly tail: string | null
}
interface IntakeRow {
  readonly cluster_uid: string
  readonly day: number
  readonly accepted: Num
  readonly repeated: Num
  readonly refused: Num
  readonly late: Num
}
interface RefusedRow {
  readonly cluster_uid: string
  readonly event_id: string
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly received_at: Num
}
interface UsedRow {
  readonly contract_id: Num
  readonly milli_cpu_seconds: string
  readonly mebibyte_seconds: string
  readonly computed_at: Num
}

const counts = ['accepted', 'repeated', 'refused', 'late'] as const

const reads = (db: SqlDatabase) => ({
  months: db.prepare((k, p: Params<'ownerId'>) =>
    k('usage_months as m')
      .where({ 'm.owner_id': p('ownerId'), 'm.is_published': true })
      .select(...monthColumns)
      .orderBy(['m.month', 'm.revision']),
  ),
  customers: db.prepare((k, p: Params<'month'>) =>
    k('usage_months as m')
      .join('accounts as a', 'a.id', 'm.owner_id')
      .leftJoin('usage_views as v', (on) =>
        on.on('v.month_id', 'm.id').onVal('v.view', 'clusters-usage-view').onVal('v.view_type', 'billable'),
      )
      .where({ 'm.month': p('month'), 'm.is_published': true })
      .select(...monthColumns, 'a.name as account_name', 'v.product', 'v.tail')
      .orderBy(['a.name', 'm.revision', 'v.id']),
  ),
  contracts: db.prepare((k, p: Params<'ownerId' | 'from' | 'to' | 'now'>) =>
    withOwner(k, k('contracts as c'), p('now'))
      .where('c.owner_id', p('ownerId'))
      .whereRaw(`${inForce('starts_at')} < ?`, [p('to')])
      .whereRaw(`${inForce('ends_at')} > ?`, [p('from')])
      .orderBy('c.id'),
  ),
  used: db.prepare((k, p: Params<'ownerId' | 'month'>) =>
    k('usage_contract_months as u')
      .join('contracts as c', 'c.id', 'u.contract_id')
      .where({ 'c.owner_id': p('ownerId'), 'u.month': p('month') })
      .select('u.contract_id', 'u.milli_cpu_seconds', 'u.mebibyte_seconds', 'u.computed_at'),
  ),
  intake: db.prepare((k, p: Params<'ownerId' | 'from' | 'to'>) =>
    k('usage_intake')
      .where('owner_id', p('ownerId'))
      .where('day', '>=', p('from'))
      .where('day', '<=', p('to'))
      .select('cluster_uid', 'day', ...counts)
      .orderBy(['day', 'cluster_uid']),
  ),
  refused: db.prepare((k, p: Params<'ownerId' | 'limit'>) =>
    k('usage_refused')
      .where('owner_id', p('ownerId'))
      .select('cluster_uid', 'event_id', 'type', 'reason', 'message', 'received_at')
      .orderBy('id', 'desc')
      .limit(p('limit')),
  ),
})

const writes = (db: SqlDatabase) => ({
  ensureIntake: db.prepare((k, p: Params<'ownerId' | 'clusterUid' | 'day'>) =>
    k('usage_intake')
      .insert({
        owner_id: p('ownerId'),
        cluster_uid: p('clusterUid'),
        day: p('day'),
        accepted: 0,
        repeated: 0,
        refused: 0,
        late: 0,
      })
      .onConflict(['owner_id', 'day', 'cluster_uid'])
      .ignore(),
  ),
  addIntake: db.prepare((k, p: Params<'ownerId' | 'clusterUid' | 'day' | (typeof counts)[number]>) =>
    k('usage_intake')
      .where({ owner_id: p('ownerId'), day: p('day'), cluster_uid: p('clusterUid') })
      .update(Object.fromEntries(counts.map((count) => [count, k.raw('?? + ?', [count, p(count)])]))),
  ),
  addRefused: insertRows(
    db,
    'usage_refused',
    (p: Params<'ownerId' | 'clusterUid' | 'eventId' | 'type' | 'reason' | 'message' | 'receivedAt'>) => ({
      owner_id: p('ownerId'),
      cluster_uid: p('clusterUid'),
      event_id: p('eventId'),
      type: p('type'),
      reason: p('reason'),
      message: p('message'),
      received_at: p('receivedAt'),
    }),
  ),
  removeIntake: db.prepare((k, p: Params<'day'>) => k('usage_intake').where('day', '<', p('day')).delete()),
  removeRefused: db.prepare((k, p: Params<'at'>) => k('usage_refused').where('received_at', '<', p('at')).delete()),
})

/** UsageOverviewStore over the tables of usage. Statements are composed once, then bound to a runner. */
export const makeSqlUsageOverviewStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageOverviewStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async monthsOf(ownerId) {
      // Revisions ascend, so the last one of a month replaces the others.
      const rows = await runner.all<MonthRow>(s.months, { ownerId })
      return [...new Map(rows.map((row) => [row.month, monthOf(row)])).values()]
    },
    async customersIn(month) {
      const rows = await runner.all<CustomerRow>(s.customers, { month })
      const newest = new Map(rows.map((row) => [Number(row.owner_id), row.revision]))
      const own = Map.groupBy(
        rows.filter((row) => newest.get(Number(row.owner_id)) === row.revision),
        (row) => Number(row.owner_id),
      )
      return [...own.values()].flatMap(([first, ...others]) =>
        first === undefined
          ? []
          : [
              {
                accountName: first.account_name,
                month: monthOf(first),
                products: [first, ...others].flatMap(({ product, tail }) =>
                  product === null || tail === null ? [] : [{ product: product as UsageProduct, tail }],
                ),
              },
            ],
      )
    },
    async runningContracts(ownerId, month, { from, to }, at) {
      const contracts = await runner.all<ContractRow>(s.contracts, {
        ownerId,
        from: from * 1000,
        to: to * 1000,
        now: at.getTime(),
      })
      const used = new Map(
        (await runner.all<UsedRow>(s.used, { ownerId, month })).map((row) => [Number(row.contract_id), row]),
      )
      return contracts.map(contractOf).map((contract) => {
        const row = used.get(contract.id)
        return {
          contract,
          used:
            row === undefined
              ? undefined
              : {
                  milliCpuSeconds: BigInt(row.milli_cpu_seconds),
                  mebibyteSeconds: BigInt(row.mebibyte_seconds),
                  computedAt: new Date(Number(row.computed_at)),
                },
        }
      })
    },
    async addIntake({ ownerId, clusterUid, day, ...sums }) {
      const row = { ownerId, clusterUid, day, ...sums }
      if ((await runner.run(s.addIntake, row)).affected > 0) return
      await runner.run(s.ensureIntake, { ownerId, clusterUid, day })
      await runner.run(s.addIntake, row)
    },
    async addRefused(events) {
      await s.addRefused(
        runner,
        events.map(({ receivedAt, ...event }) => ({ ...event, receivedAt: receivedAt.getTime() })),
      )
    },
    async intakeOf(ownerId, from, to) {
      return (await runner.all<IntakeRow>(s.intake, { ownerId, from, to })).map((row) => intakeOf(row, ownerId))
    },
    async refusedOf(ownerId, limit) {
      return (await runner.all<RefusedRow>(s.refused, { ownerId, limit })).map((row) => refusedOf(row, ownerId))
    },
    async removeIntake(beforeDay, refusedBefore) {
      await runner.run(s.removeIntake, { day: beforeDay })
      await runner.run(s.removeRefused, { at: refusedBefore.getTime() })
    },
  })
}

const intakeOf = (row: IntakeRow, ownerId: AccountId): IntakeSum => ({
  ownerId,
  clusterUid: row.cluster_uid,
  day: row.day,
  accepted: Number(row.accepted),
  repeated: Number(row.repeated),
  refused: Number(row.refused),
  late: Number(row.late),
})

const refusedOf = (row: RefusedRow, ownerId: AccountId): RefusedEvent => ({
  ownerId,
  clusterUid: row.cluster_uid,
  eventId: row.event_id,
  type: row.type,
  reason: row.reason,
  message: row.message,
  receivedAt: new Date(Number(row.received_at)),
})
