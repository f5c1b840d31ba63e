import type { Knex } from 'knex'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { UsageReportStore } from '../../../core/usage/reports/ports.ts'
import { aliased, computed, long, nullable, pick } from '../kit/columns.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { accounts, users } from '../tables/identity.ts'
import { organizations } from '../tables/organizations.ts'
import { usageMonths, usageReports } from '../tables/usage.ts'
import { monthOf, monthRow } from './rows.ts'

const reportRow = { ...monthRow, size: computed(long(), 'sum(r.size)') }

const ofMonth = pick(usageMonths, 'ownerId', 'month')

/** The newest report of a month. */
const reports = (k: Knex, p: Slots<typeof ofMonth>): Knex.QueryBuilder =>
  k('usage_months as m')
    .join('usage_reports as r', 'r.month_id', 'm.id')
    .where('m.owner_id', p.ownerId)
    .where('m.month', p.month)
    .where('m.is_published', true)
    .groupBy(Object.values(monthRow).map(({ sql }) => sql))
    .orderBy('m.revision', 'desc')
    .limit(1)

const statementsOf = (db: SqlDatabase) => ({
  add: insertInto(db, usageReports),
  newest: db.prepare(ofMonth, reportRow, reports),
  revision: db.prepare({ ...ofMonth, ...pick(usageMonths, 'revision') }, reportRow, (k, p) =>
    reports(k, p).where('m.revision', p.revision),
  ),
  piece: db.prepare(pick(usageReports, 'monthId', 'piece'), pick(usageReports, 'body'), (k, p) =>
    k('usage_reports')
      .where(values(usageReports, { monthId: p.monthId, piece: p.piece }))
      .limit(1),
  ),
})

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
          ? await runner.first(s.newest, { ownerId, month })
          : await runner.first(s.revision, { ownerId, month, revision })
      return row === undefined ? undefined : { month: monthOf(row), size: row.size }
    },
    async *pieces({ month, size }) {
      let read = 0
      for (let piece = 0; read < size; piece += 1) {
        const row = await runner.first(s.piece, { monthId: month.id, piece })
        if (row === undefined) throw new Error(`The report of the revision ${month.id} lacks its piece ${piece}.`)
        read += row.body.length
        yield row.body
      }
    },
  })
}

const namesRow = {
  name: aliased(accounts, 'a').name,
  orgName: nullable(aliased(organizations, 'o').fullName),
  userName: nullable(aliased(users, 'u').fullName),
}

/**
 * Returns the function that returns the name of an account with its full name, if it has one: `Example, Inc.
 * (example)`.
 */
export const makeSqlOwnerNames = (db: SqlDatabase): ((ownerId: AccountId) => Promise<string | undefined>) => {
  const find = db.prepare(pick(accounts, 'id'), namesRow, (k, p) =>
    k('accounts as a')
      .leftJoin('organizations as o', 'o.id', 'a.id')
      .leftJoin('users as u', 'u.id', 'a.id')
      .where('a.id', p.id)
      .limit(1),
  )
  return async (ownerId) => {
    const row = await db.first(find, { id: ownerId })
    if (row === undefined) return undefined
    const fullName = (row.orgName ?? row.userName ?? '').trim()
    return fullName === '' || fullName === row.name ? row.name : `${fullName} (${row.name})`
  }
}
