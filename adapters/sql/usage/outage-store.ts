import type { Outage, OutageId, OutageStore } from '../../../core/usage/outages/ports.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, id, orElse, pick } from '../kit/columns.ts'
import { queryRows } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto } from '../kit/values.ts'
import { accounts } from '../tables/identity.ts'
import { usageOutages } from '../tables/usage.ts'

/** An outage `o` with its owner `a`, if it has one. */
const outageRow = { ...aliased(usageOutages, 'o'), accountName: orElse(aliased(accounts, 'a').name, '') }

const outageOf = ({ ownerId, accountName, ...outage }: Row<typeof outageRow>): Outage => ({
  ...outage,
  owner: ownerId === undefined ? undefined : { id: ownerId, name: accountName },
})

const mostRows = 10_000

/** OutageStore over the table usage_outages. */
export const makeSqlOutageStore = (db: SqlDatabase): ((runner: SqlRunner) => OutageStore) => {
  const account = db.prepare(pick(accounts, 'lowerName'), pick(accounts, 'id', 'name'), (k, p) =>
    k('accounts').where('lower_name', p.lowerName).limit(1),
  )
  const same = db.prepare(
    { ...pick(usageOutages, 'clusterUid', 'from', 'to'), ownerId: id() },
    pick(usageOutages, 'id'),
    (k, p) =>
      k('usage_outages')
        .where('to_at', p.to)
        .where('from_at', p.from)
        .where('cluster_uid', p.clusterUid)
        .whereRaw('coalesce(owner_id, 0) = ?', [p.ownerId])
        .limit(1),
  )
  const insert = insertInto(db, usageOutages, { omitted: ['id'] })
  return (runner) => ({
    findAccount: (name) => runner.first(account, { lowerName: name.toLowerCase() }),
    async insert({ owner, ...outage }) {
      if ((await runner.first(same, { ...outage, ownerId: owner?.id ?? 0 })) !== undefined) return undefined
      return (await runner.run(insert, { ...outage, ownerId: owner?.id })).insertId as OutageId
    },
    async list({ endsAfter, ownerId, clusterUid }) {
      const rows = await queryRows(runner, outageRow, (k) => {
        const query = k('usage_outages as o')
          .leftJoin('accounts as a', 'a.id', 'o.owner_id')
          .where('o.to_at', '>', endsAfter)
        if (ownerId !== undefined) query.where('o.owner_id', ownerId)
        if (clusterUid !== undefined) query.where('o.cluster_uid', clusterUid)
        return query
          .orderBy([
            { column: 'o.from_at', order: 'desc' },
            { column: 'o.id', order: 'desc' },
          ])
          .limit(mostRows)
      })
      return rows.map(outageOf)
    },
  })
}
