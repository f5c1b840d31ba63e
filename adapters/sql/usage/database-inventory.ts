import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { DatabaseInventory, ReportedCluster, ReportedDatabase } from '../../../core/usage/views/ports.ts'
import type { UsageClusterId, UsageObjectId } from '../../../core/usage/types.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { activeAt, inForce, joinInForce } from '../contracts/terms-in-force.ts'
import { listSlots, paddedList } from '../kit/fragments.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { KindRow, NamespaceRow, ObjectRow } from './rows.ts'
import { kindColumns, kindOf, namespaceColumns, namespaceOf, objectColumns, objectOf } from './rows.ts'
import { makeSqlUsageChangeStore } from './object-store.ts'

/** How many databases one statement reads. */
const databasesAtOnce = 256
/** How many ids of databases one statement reads. */
const idsAtOnce = 2000

interface ClusterRow {
  readonly id: Num
  readonly cluster_uid: string
  readonly display_name: string | null
  readonly kubernetes_version: string | null
  readonly provider: string | null
  readonly node_count: number | null
}

const enabling = (k: Knex, p: Params<'owner' | 'now'>): Knex.QueryBuilder =>
  activeAt(joinInForce(k('contracts as c'), p('now')), p('now'))
    .where('c.owner_id', p('owner'))
    .whereRaw(`${inForce('enables_client_billing')} = 1`)

type DatabaseRow = ObjectRow & KindRow
const databaseColumns = [...objectColumns, ...kindColumns] as const

const objects = (k: Knex): Knex.QueryBuilder => k('usage_objects as o').join('usage_kinds as k', 'k.id', 'o.kind_id')

const shownObjects = (k: Knex, p: Params<'cluster' | 'since' | 'after' | 'limit'>): Knex.QueryBuilder =>
  objects(k)
    .where({ 'o.cluster_id': p('cluster'), 'k.product': 'dbProduct' })
    .where('o.object_uid', '>', p('after'))
    .where((shown) => shown.whereNull('o.deleted_at').orWhere('o.deleted_at', '>=', p('since')))
    .orderBy('o.object_uid')
    .limit(p('limit'))

const statementsOf = (db: SqlDatabase) => {
  const namespaces = (k: Knex, p: Params<'cluster'>): Knex.QueryBuilder =>
    k('usage_namespaces')
      .where('cluster_id', p('cluster'))
      .orderBy(['created_at', 'namespace_uid'])
      .select(...namespaceColumns)
  return {
    isEnabled: db.prepare((k, p: Params<'owner' | 'now'>) => enabling(k, p).select('c.id').limit(1)),
    enabled: db.prepare((k, p: Params<'owner' | 'now'>) =>
      enabling(k, p)
        .join('contract_clusters as b', 'b.contract_id', 'c.id')
        .orderBy('b.id')
        .select('b.cluster_uid', 'b.display_name'),
    ),
    // An owner may have several records of a cluster; the last one in the list replaces the others.
    clusters: db.prepare((k, p: Params<'owner'>) =>
      k('usage_clusters as u')
        .leftJoin('clusters as r', (on) => on.on('r.owner_id', 'u.owner_id').on('r.uid', 'u.cluster_uid'))
        .where('u.owner_id', p('owner'))
        .orderBy(['u.cluster_uid', 'r.id'])
        .select('u.id', 'u.cluster_uid', 'r.display_name', 'r.kubernetes_version', 'r.provider', 'r.node_count'),
    ),
    ids: db.prepare((k, p: Params<'cluster' | 'since' | 'after' | 'limit'>) =>
      shownObjects(k, p).select('o.id', 'o.object_uid', 'o.namespace'),
    ),
    objects: paddedList((length) =>
      db.prepare((k, p: Params<string>) =>
        objects(k)
          .whereIn('o.id', listSlots(p, length))
          .select(...databaseColumns),
      ),
    ),
    objectsIn: db.prepare((k, p: Params<'cluster' | 'since' | 'after' | 'limit' | 'namespace'>) =>
      shownObjects(k, p)
        .where('o.namespace', p('namespace'))
        .select(...databaseColumns),
    ),
    namespaces: db.prepare((k, p: Params<'cluster'>) => namespaces(k, p)),
    namespacesNamed: db.prepare((k, p: Params<'cluster' | 'name'>) => namespaces(k, p).where('namespace', p('name'))),
  }
}

/** `enabled` has the names that clusters have in contracts. */
const clusterOf = (row: ClusterRow, enabled: ReadonlyMap<string, string>): ReportedCluster => ({
  id: Number(row.id) as UsageClusterId,
  uid: row.cluster_uid,
  name: row.display_name ?? enabled.get(row.cluster_uid) ?? row.cluster_uid,
  kubernetesVersion: row.kubernetes_version ?? '',
  provider: row.provider ?? '',
  nodeCount: row.node_count ?? 0,
  isEnabled: enabled.has(row.cluster_uid),
})

/**
 * DatabaseInventory over the tables of events, with the records of clusters and the contracts that they are bound to.
 */
export const makeSqlDatabaseInventory = (db: SqlDatabase): ((runner: SqlRunner) => DatabaseInventory) => {
  const s = statementsOf(db)
  const changesOn = makeSqlUsageChangeStore(db)
  const withChanges = async (runner: SqlRunner, rows: readonly DatabaseRow[]): Promise<readonly ReportedDatabase[]> => {
    const changes = Map.groupBy(
      await changesOn(runner).listOf(rows.map(({ id }) => Number(id) as UsageObjectId)),
      ({ objectId }) => Number(objectId),
    )
    return rows.map((row) => ({ ...objectOf(row, kindOf(row)), changes: changes.get(Number(row.id)) ?? [] }))
  }
  return (runner) => ({
    async isEnabled(ownerId, now) {
      return (await runner.first(s.isEnabled, { owner: ownerId, now: now.getTime() })) !== undefined
    },
    async clustersOf(ownerId, now) {
      const bound = await runner.all<{ readonly cluster_uid: string; readonly display_name: string }>(s.enabled, {
        owner: ownerId,
        now: now.getTime(),
      })
      const enabled = new Map(bound.map((row) => [row.cluster_uid, row.display_name]))
      const rows = await runner.all<ClusterRow>(s.clusters, { owner: ownerId })
      return [...new Map(rows.map((row) => [row.cluster_uid, clusterOf(row, enabled)])).values()]
    },
    async databaseIdsOf(clusterId, since) {
      const ids = new Map<string, UsageObjectId[]>()
      for (let after = ''; ;) {
        const rows = await runner.all<Pick<ObjectRow, 'id' | 'object_uid' | 'namespace'>>(s.ids, {
          cluster: clusterId,
          since,
          after,
          limit: idsAtOnce,
        })
        for (const { id, namespace } of rows) getOrMake(ids, namespace, () => []).push(Number(id) as UsageObjectId)
        const last = rows.at(-1)
        if (last === undefined || rows.length < idsAtOnce) return ids
        after = last.object_uid
        await pauseInLongTurn()
      }
    },
    async *databases(ids) {
      for (let from = 0; from < ids.length; from += databasesAtOnce) {
        const batch = ids.slice(from, from + databasesAtOnce)
        const { statement, binds } = s.objects(batch)
        const rows = new Map((await runner.all<DatabaseRow>(statement, binds)).map((row) => [Number(row.id), row]))
        yield await withChanges(
          runner,
          batch.flatMap((id) => rows.get(id) ?? []),
        )
        await pauseInLongTurn()
      }
    },
    async *databasesIn(clusterId, namespace, since) {
      for (let after = ''; ;) {
        const rows = await runner.all<DatabaseRow>(s.objectsIn, {
          cluster: clusterId,
          namespace,
          since,
          after,
          limit: databasesAtOnce,
        })
        yield await withChanges(runner, rows)
        const last = rows.at(-1)
        if (last === undefined || rows.length < databasesAtOnce) return
        after = last.object_uid
        await pauseInLongTurn()
      }
    },
    async namespacesOf(clusterId, name) {
      const rows =
        name === undefined
          ? await runner.all<NamespaceRow>(s.namespaces, { cluster: clusterId })
          : await runner.all<NamespaceRow>(s.namespacesNamed, { cluster: clusterId, name })
      return rows.map(namespaceOf)
    },
  })
}
