import type { Knex } from 'knex'
import type { DatabaseInventory, ReportedCluster, ReportedDatabase } from '../../../core/usage/views/namespace-ports.ts'
import type { UnixSeconds, UsageClusterId, UsageObjectId, UsageProduct } from '../../../core/usage/types.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { makeSqlUsageChangeStore } from './object-store.ts'

/** How many databases one statement reads. */
const databasesAtOnce = 256

interface ClusterRow {
  readonly id: Num
  readonly cluster_uid: string
  readonly display_name: string | null
  readonly kubernetes_version: string | null
  readonly provider: string | null
  readonly node_count: number | null
}
interface ObjectRow {
  readonly id: Num
  readonly object_uid: string
  readonly product: string
  readonly api_group: string
  readonly kind: string
  readonly namespace: string
  readonly namespace_uid: string
  readonly name: string
  readonly created_at: Num
  readonly deleted_at: Num | null
}
interface NamespaceRow {
  readonly namespace_uid: string
  readonly namespace: string
  readonly created_at: Num
  readonly labels: string
  readonly annotations: string
}

const enabling = (k: Knex, p: Params<'owner' | 'now'>): Knex.QueryBuilder =>
  k('contracts as c').where('c.owner_id', p('owner')).where('c.enables_client_billing', 1).where('c.starts_at', '<=', p('now')).where('c.ends_at', '>', p('now')).whereNull('c.revoked_at')

const objects = (k: Knex, p: Params<'cluster' | 'since' | 'after' | 'limit'>): Knex.QueryBuilder =>
  k('usage_objects as o')
    .join('usage_kinds as k', 'k.id', 'o.kind_id')
    .where({ 'o.cluster_id': p('cluster'), 'k.product': 'dbProduct' })
    .where('o.object_uid', '>', p('after'))
    .where((shown) => shown.whereNull('o.deleted_at').orWhere('o.deleted_at', '>=', p('since')))
    .orderBy('o.object_uid')
    .limit(p('limit'))
    .select('o.id', 'o.object_uid', 'k.product', 'k.api_group', 'k.kind', 'o.namespace', 'o.namespace_uid', 'o.name', 'o.created_at', 'o.deleted_at')

const statementsOf = (db: SqlDatabase) => {
  const namespaces = (k: Knex, p: Params<'cluster'>): Knex.QueryBuilder =>
    k('usage_namespaces').where('cluster_id', p('cluster')).orderBy(['created_at', 'namespace_uid']).select('namespace_uid', 'namespace', 'created_at', 'labels', 'annotations')
  return {
    isEnabled: db.prepare((k, p: Params<'owner' | 'now'>) => enabling(k, p).select('c.id').limit(1)),
    enabled: db.prepare((k, p: Params<'owner' | 'now'>) => enabling(k, p).join('contract_clusters as b', 'b.contract_id', 'c.id').distinct('b.cluster_uid')),
    // An owner may have several records of a cluster; the last one in the list replaces the others.
    clusters: db.prepare((k, p: Params<'owner'>) =>
      k('usage_clusters as u')
        .leftJoin('clusters as r', (on) => on.on('r.owner_id', 'u.owner_id').on('r.uid', 'u.cluster_uid'))
        .where('u.owner_id', p('owner'))
        .orderBy(['u.cluster_uid', 'r.id'])
        .select('u.id', 'u.cluster_uid', 'r.display_name', 'r.kubernetes_version', 'r.provider', 'r.node_count'),
    ),
    objects: db.prepare((k, p: Params<'cluster' | 'since' | 'after' | 'limit'>) => objects(k, p)),
    objectsIn: db.prepare((k, p: Params<'cluster' | 'since' | 'after' | 'limit' | 'namespace'>) => objects(k, p).where('o.namespace', p('namespace'))),
    namespaces: db.prepare((k, p: Params<'cluster'>) => namespaces(k, p)),
    namespacesNamed: db.prepare((k, p: Params<'cluster' | 'name'>) => namespaces(k, p).where('namespace', p('name'))),
  }
}

const clusterOf = (row: ClusterRow, enabled: ReadonlySet<string>): ReportedCluster => ({
  id: Number(row.id) as UsageClusterId,
  uid: row.cluster_uid,
  name: row.display_name ?? row.cluster_uid,
  kubernetesVersion: row.kubernetes_version ?? '',
  provider: row.provider ?? '',
  nodeCount: row.node_count ?? 0,
  isEnabled: enabled.has(row.cluster_uid),
})

const databaseOf = (row: ObjectRow): Omit<ReportedDatabase, 'changes'> => ({
  product: row.product as UsageProduct,
  group: row.api_group,
  kind: row.kind,
  uid: row.object_uid,
  namespace: row.namespace,
  namespaceUid: row.namespace_uid,
  name: row.name,
  createdAt: Number(row.created_at) as UnixSeconds,
  deletedAt: row.deleted_at === null ? undefined : (Number(row.deleted_at) as UnixSeconds),
})

/** DatabaseInventory over the tables of events, with the records of clusters and the contracts that they are bound to. */
export const makeSqlDatabaseInventory = (db: SqlDatabase): ((runner: SqlRunner) => DatabaseInventory) => {
  const s = statementsOf(db)
  const changesOn = makeSqlUsageChangeStore(db)
  return (runner) => ({
    async isEnabled(ownerId, now) {
      return (await runner.first(s.isEnabled, { owner: ownerId, now: now.getTime() })) !== undefined
    },
    async clustersOf(ownerId, now) {
      const enabled = new Set((await runner.all<{ readonly cluster_uid: string }>(s.enabled, { owner: ownerId, now: now.getTime() })).map((row) => row.cluster_uid))
      const rows = await runner.all<ClusterRow>(s.clusters, { owner: ownerId })
      return [...new Map(rows.map((row) => [row.cluster_uid, clusterOf(row, enabled)])).values()]
    },
    async *databasesOf(clusterId, since, namespace) {
      for (let after = ''; ; ) {
        const binds = { cluster: clusterId, since, after, limit: databasesAtOnce }
        const rows = namespace === undefined ? await runner.all<ObjectRow>(s.objects, binds) : await runner.all<ObjectRow>(s.objectsIn, { ...binds, namespace })
        const changes = Map.groupBy(await changesOn(runner).listOf(rows.map(({ id }) => Number(id) as UsageObjectId)), ({ objectId }) => Number(objectId))
        yield rows.map((row) => ({ ...databaseOf(row), changes: changes.get(Number(row.id)) ?? [] }))
        const last = rows.at(-1)
        if (last === undefined || rows.length < databasesAtOnce) return
        after = last.object_uid
      }
    },
    async namespacesOf(clusterId, name) {
      const rows = name === undefined ? await runner.all<NamespaceRow>(s.namespaces, { cluster: clusterId }) : await runner.all<NamespaceRow>(s.namespacesNamed, { cluster: clusterId, name })
      return rows.map((row) => ({ uid: row.namespace_uid, name: row.namespace, createdAt: Number(row.created_at) as UnixSeconds, labels: row.labels, annotations: row.annotations }))
    },
  })
}
