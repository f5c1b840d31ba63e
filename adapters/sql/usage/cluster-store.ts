import type { AccountId } from '../../../core/kernel/ids.ts'
import type {
  ClusterFactStore,
  UsageCluster,
  UsageClusterStore,
  UsageKindStore,
} from '../../../core/usage/events/ports.ts'
import type { ClusterMode, MonthKey, UnixSeconds, UsageClusterId, UsageKindId } from '../../../core/usage/types.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { NamespaceRow } from './rows.ts'
import { namespaceColumns, namespaceOf } from './rows.ts'
import { tupleList } from './tuple-list.ts'

interface ClusterRow {
  readonly id: number
  readonly owner_id: number
  readonly cluster_uid: string
  readonly first_heard: Num
  readonly last_heard: Num
  readonly carried_month: number
}

interface NameRow {
  readonly id: number
  readonly display_name: string
  readonly kept: string
}

const clusterOf = (row: ClusterRow): UsageCluster => ({
  id: row.id as UsageClusterId,
  ownerId: row.owner_id as AccountId,
  clusterUid: row.cluster_uid,
  firstHeard: Number(row.first_heard) as UnixSeconds,
  lastHeard: Number(row.last_heard) as UnixSeconds,
  carriedMonth: row.carried_month as MonthKey,
})

const statementsOf = (db: SqlDatabase) => ({
  isKnown: db.prepare((k, p: Params<'ownerId' | 'uid'>) =>
    k('clusters')
      .where('owner_id', p('ownerId'))
      .where('uid', p('uid'))
      .select(k.raw('1 as known'))
      .union(
        k('contract_clusters')
          .where('owner_id', p('ownerId'))
          .where('cluster_uid', p('uid'))
          .select(k.raw('1 as known')),
      )
      .limit(1),
  ),
  find: db.prepare((k, p: Params<'ownerId' | 'uid'>) =>
    k('usage_clusters').where('owner_id', p('ownerId')).where('cluster_uid', p('uid')).select('id').limit(1),
  ),
  insert: db.prepare((k, p: Params<'ownerId' | 'uid' | 'heard' | 'month'>) =>
    k('usage_clusters')
      .insert({
        owner_id: p('ownerId'),
        cluster_uid: p('uid'),
        first_heard: p('heard'),
        last_heard: p('heard'),
        carried_month: p('month'),
      })
      .onConflict(['owner_id', 'cluster_uid'])
      .ignore(),
  ),
  lock: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('usage_clusters').whereIn('id', listSlots(p, length)).select('id').orderBy('id').forUpdate(),
    ),
  ),
  extend: db.prepare((k, p: Params<'id' | 'from' | 'to'>) =>
    k('usage_clusters')
      .where('id', p('id'))
      .update({
        first_heard: k.raw('case when first_heard > ? then ? else first_heard end', [p('from'), p('from')]),
        last_heard: k.raw('case when last_heard < ? then ? else last_heard end', [p('to'), p('to')]),
      }),
  ),
  // The binding first: the last name of a cluster in the list is kept, and a record is better known.
  boundNames: db.prepare((k) =>
    k('usage_clusters as u')
      .join('contract_clusters as b', (on) => on.on('b.owner_id', 'u.owner_id').on('b.cluster_uid', 'u.cluster_uid'))
      .select('u.id', 'b.display_name', 'u.display_name as kept')
      .orderBy('b.id'),
  ),
  recordedNames: db.prepare((k) =>
    k('usage_clusters as u')
      .join('clusters as r', (on) => on.on('r.owner_id', 'u.owner_id').on('r.uid', 'u.cluster_uid'))
      .select('u.id', 'r.display_name', 'u.display_name as kept')
      .orderBy('r.id'),
  ),
  keepName: db.prepare((k, p: Params<'id' | 'name'>) =>
    k('usage_clusters')
      .where('id', p('id'))
      .update({ display_name: p('name') }),
  ),
  listOfOwner: db.prepare((k, p: Params<'ownerId' | 'after' | 'limit'>) =>
    k('usage_clusters')
      .where('owner_id', p('ownerId'))
      .andWhere('id', '>', p('after'))
      .select('*')
      .orderBy('id')
      .limit(p('limit')),
  ),
  listAfter: db.prepare((k, p: Params<'after' | 'limit'>) =>
    k('usage_clusters').where('id', '>', p('after')).select('*').orderBy('id').limit(p('limit')),
  ),
})

/** UsageClusterStore over the table usage_clusters, and those of clusters and contracts. */
export const makeSqlUsageClusterStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageClusterStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async isKnown(ownerId, uid) {
      return (await runner.first(s.isKnown, { ownerId, uid })) !== undefined
    },
    async ensure(ownerId, uid, heard, month) {
      const find = () => runner.first<{ readonly id: number }>(s.find, { ownerId, uid })
      const known = await find()
      if (known !== undefined) return known.id as UsageClusterId
      await runner.run(s.insert, { ownerId, uid, heard, month })
      const inserted = await find()
      if (inserted === undefined) throw new Error(`The cluster ${uid} was inserted and cannot be found.`)
      return inserted.id as UsageClusterId
    },
    async lock(ids) {
      for (const chunk of chunksOf([...ids].sort((a, b) => a - b))) {
        const { statement, binds } = s.lock(chunk)
        await runner.all(statement, binds)
      }
    },
    async extend(id, from, to) {
      await runner.run(s.extend, { id, from, to })
    },
    async keepNames() {
      const rows = [
        ...(await runner.all<NameRow>(s.boundNames, {})),
        ...(await runner.all<NameRow>(s.recordedNames, {})),
      ]
      for (const { id, display_name: name, kept } of new Map(rows.map((row) => [row.id, row])).values())
        if (name !== kept) await runner.run(s.keepName, { id, name })
    },
    async listAfter(after, limit, ownerId) {
      const rows =
        ownerId === undefined
          ? await runner.all<ClusterRow>(s.listAfter, { after, limit })
          : await runner.all<ClusterRow>(s.listOfOwner, { ownerId, after, limit })
      return rows.map(clusterOf)
    },
  })
}

/** UsageKindStore over the table usage_kinds. Rows never change, so that a process reads each of them once. */
export const makeSqlUsageKindStore = (db: SqlDatabase): UsageKindStore => {
  type Names = 'product' | 'group' | 'kind'
  const find = db.prepare((k, p: Params<Names>) =>
    k('usage_kinds')
      .where({ product: p('product'), api_group: p('group'), kind: p('kind') })
      .select('id')
      .limit(1),
  )
  const insert = db.prepare((k, p: Params<Names>) =>
    k('usage_kinds')
      .insert({ product: p('product'), api_group: p('group'), kind: p('kind') })
      .onConflict(['product', 'api_group', 'kind'])
      .ignore(),
  )
  const known = new Map<string, UsageKindId>()
  return {
    async ensure({ product, group, kind }) {
      const key = `${product}/${group}/${kind}`
      const id = known.get(key)
      if (id !== undefined) return id
      const binds = { product, group, kind }
      if ((await db.first(find, binds)) === undefined) await db.run(insert, binds)
      const row = await db.first<{ readonly id: number }>(find, binds)
      if (row === undefined) throw new Error(`The kind ${key} was inserted and cannot be found.`)
      // A bound on what a sender can make this process remember.
      if (known.size < 10_000) known.set(key, row.id as UsageKindId)
      return row.id as UsageKindId
    },
  }
}

interface HoursRow {
  readonly cluster_id: number
  readonly month: number
  readonly hours: Uint8Array
}
interface ModeRow {
  readonly at: Num
  readonly event_id: string
  readonly mode: string
}

type NamespaceBind = 'clusterId' | 'uid' | 'name' | 'createdAt' | 'labels' | 'annotations' | 'observedAt'

const factStatementsOf = (db: SqlDatabase) => ({
  hours: tupleList<HoursRow>(db, ['cluster_id', 'month'], (k, within) =>
    within(k('usage_presence')).select('cluster_id', 'month', 'hours'),
  ),
  putHours: db.prepare((k, p: Params<'clusterId' | 'month' | 'hours'>) =>
    k('usage_presence')
      .insert({ cluster_id: p('clusterId'), month: p('month'), hours: p('hours') })
      .onConflict(['cluster_id', 'month'])
      .merge(['hours']),
  ),
  modes: tupleList<ModeRow>(db, ['cluster_id', 'at', 'event_id'], (k, within) =>
    within(k('usage_modes')).select('at', 'event_id', 'mode'),
  ),
  insertModes: insertRows(db, 'usage_modes', (p: Params<'clusterId' | 'at' | 'id' | 'mode'>) => ({
    cluster_id: p('clusterId'),
    at: p('at'),
    event_id: p('id'),
    mode: p('mode'),
  })),
  namespaces: tupleList<NamespaceRow>(db, ['cluster_id', 'namespace_uid'], (k, within) =>
    within(k('usage_namespaces')).select(...namespaceColumns),
  ),
  putNamespaces: insertRows(
    db,
    'usage_namespaces',
    (p: Params<NamespaceBind>) => ({
      cluster_id: p('clusterId'),
      namespace_uid: p('uid'),
      namespace: p('name'),
      created_at: p('createdAt'),
      labels: p('labels'),
      annotations: p('annotations'),
      observed_at: p('observedAt'),
    }),
    (rows) =>
      rows
        .onConflict(['cluster_id', 'namespace_uid'])
        .merge(['namespace', 'created_at', 'labels', 'annotations', 'observed_at']),
  ),
})

/** ClusterFactStore over the tables usage_presence, usage_modes and usage_namespaces. */
export const makeSqlClusterFactStore = (db: SqlDatabase): ((runner: SqlRunner) => ClusterFactStore) => {
  const s = factStatementsOf(db)
  return (runner) => ({
    async hoursOf(clusterIds, months) {
      const rows = await s.hours(
        runner,
        clusterIds.flatMap((id) => months.map((month) => [id, month])),
      )
      return rows.map(({ cluster_id, month, hours }) => ({
        clusterId: cluster_id as UsageClusterId,
        month: month as MonthKey,
        hours: new Uint8Array(hours),
      }))
    },
    async putHours(clusterId, month, hours) {
      await runner.run(s.putHours, { clusterId, month, hours })
    },
    async findModes(clusterId, of) {
      const rows = await s.modes(
        runner,
        of.map(({ at, id }) => [clusterId, at, id]),
      )
      return rows.map(({ event_id, at, mode }) => ({
        id: event_id,
        at: Number(at) as UnixSeconds,
        mode: mode as ClusterMode,
      }))
    },
    async insertModes(clusterId, modes) {
      await s.insertModes(
        runner,
        modes.map(({ id, at, mode }) => ({ clusterId, id, at, mode })),
      )
    },
    async namespaces(clusterId, uids) {
      return (
        await s.namespaces(
          runner,
          uids.map((uid) => [clusterId, uid]),
        )
      ).map(namespaceOf)
    },
    async putNamespaces(clusterId, namespaces) {
      await s.putNamespaces(
        runner,
        namespaces.map((namespace) => ({ clusterId, ...namespace })),
      )
    },
  })
}
