import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Outage, OutageId, OutageStore } from '../../../core/usage/outages/ports.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

interface OutageRow {
  readonly id: number
  readonly owner_id: number | null
  readonly account_name: string | null
  readonly cluster_uid: string
  readonly from_at: Num
  readonly to_at: Num
  readonly tags: string
  readonly comments: string
  readonly created_at: Num
}

const outageOf = (row: OutageRow): Outage => ({
  id: row.id as OutageId,
  owner: row.owner_id === null ? undefined : { id: row.owner_id as AccountId, name: row.account_name ?? '' },
  clusterUid: row.cluster_uid,
  from: Number(row.from_at) as UnixSeconds,
  to: Number(row.to_at) as UnixSeconds,
  tags: JSON.parse(row.tags) as string[],
  comments: row.comments,
  createdAt: new Date(Number(row.created_at)),
})

const mostRows = 10_000

/** OutageStore over the table usage_outages. */
export const makeSqlOutageStore = (db: SqlDatabase): ((runner: SqlRunner) => OutageStore) => {
  const account = db.prepare((k, p: Params<'name'>) =>
    k('accounts').where('lower_name', p('name')).select('id', 'name').limit(1),
  )
  const same = db.prepare((k, p: Params<'ownerId' | 'uid' | 'from' | 'to'>) =>
    k('usage_outages')
      .where('to_at', p('to'))
      .where('from_at', p('from'))
      .where('cluster_uid', p('uid'))
      .whereRaw('coalesce(owner_id, 0) = ?', [p('ownerId')])
      .select('id')
      .limit(1),
  )
  const insert = db.prepare((k, p: Params<'ownerId' | 'uid' | 'from' | 'to' | 'tags' | 'comments' | 'createdAt'>) =>
    k('usage_outages').insert({
      owner_id: p('ownerId'),
      cluster_uid: p('uid'),
      from_at: p('from'),
      to_at: p('to'),
      tags: p('tags'),
      comments: p('comments'),
      created_at: p('createdAt'),
    }),
  )
  return (runner) => ({
    async findAccount(name) {
      const row = await runner.first<{ readonly id: number; readonly name: string }>(account, {
        name: name.toLowerCase(),
      })
      return row === undefined ? undefined : { id: row.id as AccountId, name: row.name }
    },
    async insert({ owner, clusterUid: uid, from, to, tags, comments, createdAt }) {
      if ((await runner.first(same, { ownerId: owner?.id ?? 0, uid, from, to })) !== undefined) return undefined
      const row = {
        ownerId: owner?.id ?? null,
        uid,
        from,
        to,
        tags: toWireJson(tags),
        comments,
        createdAt: createdAt.getTime(),
      }
      return (await runner.run(insert, row)).insertId as OutageId
    },
    async list({ endsAfter, ownerId, clusterUid }) {
      const rows = await runner.query<OutageRow>((k) => {
        const query = k('usage_outages as o')
          .leftJoin('accounts as a', 'a.id', 'o.owner_id')
          .where('o.to_at', '>', endsAfter)
          .select('o.*', 'a.name as account_name')
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
