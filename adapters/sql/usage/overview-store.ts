import type { UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import { withOwner } from '../contracts/contract-store.ts'
import { contractOf, contractRow } from '../contracts/rows.ts'
import { inForce } from '../contracts/terms-in-force.ts'
import { aliased, columnsOf, instant, int, nullable, pick, qualified, without } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertAllInto, newRow, values } from '../kit/values.ts'
import { contracts } from '../tables/contracts.ts'
import { accounts } from '../tables/identity.ts'
import { usageContractMonths, usageIntake, usageMonths, usageRefused, usageViews } from '../tables/usage.ts'
import { monthOf, monthRow } from './rows.ts'

/** A revision `m` with its owner `a` and a view `v`, if it has one. */
const customerRow = {
  ...monthRow,
  accountName: aliased(accounts, 'a').name,
  product: nullable(aliased(usageViews, 'v').product),
  tail: nullable(aliased(usageViews, 'v').tail),
}

const reads = (db: SqlDatabase) => ({
  months: db.prepare(pick(usageMonths, 'ownerId'), monthRow, (k, p) =>
    k('usage_months as m')
      .where('m.owner_id', p.ownerId)
      .where('m.is_published', true)
      .orderBy(['m.month', 'm.revision']),
  ),
  customers: db.prepare(pick(usageMonths, 'month'), customerRow, (k, p) =>
    k('usage_months as m')
      .join('accounts as a', 'a.id', 'm.owner_id')
      .leftJoin('usage_views as v', (on) =>
        on.on('v.month_id', 'm.id').onVal('v.view', 'clusters-usage-view').onVal('v.view_type', 'billable'),
      )
      .where('m.month', p.month)
      .where('m.is_published', true)
      .orderBy(['a.name', 'm.revision', 'v.id']),
  ),
  contracts: db.prepare(
    { ...pick(contracts, 'ownerId'), from: instant(), to: instant(), now: instant() },
    contractRow,
    (k, p) =>
      withOwner(k('contracts as c'), p.now)
        .where('c.owner_id', p.ownerId)
        .whereRaw(`${inForce('startsAt')} < ?`, [p.to])
        .whereRaw(`${inForce('endsAt')} > ?`, [p.from])
        .orderBy('c.id'),
  ),
  used: db.prepare(
    { ...pick(contracts, 'ownerId'), ...pick(usageContractMonths, 'month') },
    qualified(without(usageContractMonths, 'month'), 'u'),
    (k, p) =>
      k('usage_contract_months as u')
        .join('contracts as c', 'c.id', 'u.contract_id')
        .where('c.owner_id', p.ownerId)
        .where('u.month', p.month),
  ),
  intake: db.prepare(
    { ...pick(usageIntake, 'ownerId'), from: usageIntake.day, to: usageIntake.day },
    columnsOf(usageIntake),
    (k, p) =>
      k('usage_intake')
        .where('owner_id', p.ownerId)
        .where('day', '>=', p.from)
        .where('day', '<=', p.to)
        .orderBy(['day', 'cluster_uid']),
  ),
  refused: db.prepare({ ...pick(usageRefused, 'ownerId'), limit: int() }, without(usageRefused, 'id'), (k, p) =>
    k('usage_refused').where('owner_id', p.ownerId).orderBy('id', 'desc').limit(p.limit),
  ),
})

const { ownerId, clusterUid, day, ...counts } = columnsOf(usageIntake)

const writes = (db: SqlDatabase) => ({
  ensureIntake: db.prepare({ ownerId, clusterUid, day }, (k, p) =>
    k('usage_intake')
      .insert(newRow(usageIntake, { ...p, accepted: 0, repeated: 0, refused: 0, late: 0 }))
      .onConflict(['owner_id', 'day', 'cluster_uid'])
      .ignore(),
  ),
  addIntake: db.prepare({ ownerId, clusterUid, day, ...counts }, (k, p) =>
    k('usage_intake')
      .where(values(usageIntake, { ownerId: p.ownerId, day: p.day, clusterUid: p.clusterUid }))
      .update(
        values(usageIntake, {
          accepted: k.raw('?? + ?', ['accepted', p.accepted]),
          repeated: k.raw('?? + ?', ['repeated', p.repeated]),
          refused: k.raw('?? + ?', ['refused', p.refused]),
          late: k.raw('?? + ?', ['late', p.late]),
        }),
      ),
  ),
  addRefused: insertAllInto(db, usageRefused, { omitted: ['id'] }),
  removeIntake: db.prepare({ day }, (k, p) => k('usage_intake').where('day', '<', p.day).delete()),
  removeRefused: db.prepare({ at: instant() }, (k, p) => k('usage_refused').where('received_at', '<', p.at).delete()),
})

/** UsageOverviewStore over the tables of usage. Statements are composed once, then bound to a runner. */
export const makeSqlUsageOverviewStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageOverviewStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async monthsOf(owner) {
      // Revisions ascend, so the last one of a month replaces the others.
      const rows = await runner.all(s.months, { ownerId: owner })
      return [...new Map(rows.map((row) => [row.month, row])).values()]
    },
    async customersIn(month) {
      const rows = await runner.all(s.customers, { month })
      const newest = new Map(rows.map((row) => [row.ownerId, row.revision]))
      const own = Map.groupBy(
        rows.filter((row) => newest.get(row.ownerId) === row.revision),
        (row) => row.ownerId,
      )
      return [...own.values()].flatMap(([first, ...others]) =>
        first === undefined
          ? []
          : [
              {
                accountName: first.accountName,
                month: monthOf(first),
                products: [first, ...others].flatMap(({ product, tail }) =>
                  product === undefined || tail === undefined ? [] : [{ product, tail }],
                ),
              },
            ],
      )
    },
    async runningContracts(owner, month, { from, to }, at) {
      const rows = await runner.all(s.contracts, {
        ownerId: owner,
        from: new Date(from * 1000),
        to: new Date(to * 1000),
        now: at,
      })
      const used = new Map(
        (await runner.all(s.used, { ownerId: owner, month })).map(({ contractId, ...amount }) => [contractId, amount]),
      )
      return rows.map(contractOf).map((contract) => ({ contract, used: used.get(contract.id) }))
    },
    async addIntake(sum) {
      if ((await runner.run(s.addIntake, sum)).affected > 0) return
      await runner.run(s.ensureIntake, sum)
      await runner.run(s.addIntake, sum)
    },
    addRefused: (events) => s.addRefused(runner, events),
    intakeOf: (owner, from, to) => runner.all(s.intake, { ownerId: owner, from, to }),
    refusedOf: (owner, limit) => runner.all(s.refused, { ownerId: owner, limit }),
    async removeIntake(beforeDay, refusedBefore) {
      await runner.run(s.removeIntake, { day: beforeDay })
      await runner.run(s.removeRefused, { at: refusedBefore })
    },
  })
}
