import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { UsageObjectId } from '../../../core/usage/types.ts'
import type { DatabaseInventory, ReportedCluster, ReportedDatabase } from '../../../core/usage/views/ports.ts'
import { activeAt, inForce, joinInForce } from '../contracts/terms-in-force.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, instant, int, nullable, orElse, pick, present } from '../kit/columns.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { clusters } from '../tables/clusters.ts'
import { contractClusters, contracts } from '../tables/contracts.ts'
import { usageClusters, usageNamespaces, usageObjects } from '../tables/usage.ts'
import { makeSqlUsageChangeStore } from './object-store.ts'
import { makeWithKinds, namespaceRow, objectRow, objectWithKindId } from './rows.ts'

/** How many databases one statement reads. */
const databasesAtOnce = 256
/** How many ids of databases one statement reads. */
const idsAtOnce = 2000

const ofOwner = { ...pick(contracts, 'ownerId'), now: instant() }

const enabling = (k: Knex, p: Slots<typeof ofOwner>): Knex.QueryBuilder =>
  activeAt(joinInForce(k('contracts as c'), p.now), p.now)
    .where('c.owner_id', p.ownerId)
    .whereRaw(`${inForce('enablesClientBilling')} = 1`)

type DatabaseRow = Row<typeof objectWithKindId>

const shown = {
  ...pick(usageObjects, 'clusterId'),
  since: present(usageObjects.deletedAt),
  after: usageObjects.uid,
  limit: int(),
}

const shownObjects = (k: Knex, p: Slots<typeof shown>): Knex.QueryBuilder =>
  k('usage_objects as o')
    .where('o.cluster_id', p.clusterId)
    .whereIn('o.kind_id', k('usage_kinds').select('id').where('product', 'dbProduct'))
    .where('o.object_uid', '>', p.after)
    .where((each) => each.whereNull('o.deleted_at').orWhere('o.deleted_at', '>=', p.since))
    .orderBy('o.object_uid')
    .limit(p.limit)

const ofCluster = pick(usageNamespaces, 'clusterId')
const namespaces = (k: Knex, p: Slots<typeof ofCluster>): Knex.QueryBuilder =>
  k('usage_namespaces').where('cluster_id', p.clusterId).orderBy(['created_at', 'namespace_uid'])

const u = aliased(usageClusters, 'u')
const r = aliased(clusters, 'r')

/** A cluster `u` that reports usage with its record `r`, if it has one. */
const clusterRow = {
  id: u.id,
  uid: u.clusterUid,
  name: nullable(r.displayName),
  kubernetesVersion: orElse(r.kubernetesVersion, ''),
  provider: orElse(r.provider, ''),
  nodeCount: orElse(r.nodeCount, 0),
}

const statementsOf = (db: SqlDatabase) => ({
  isEnabled: db.prepare(ofOwner, pick(aliased(contracts, 'c'), 'id'), (k, p) => enabling(k, p).limit(1)),
  enabled: db.prepare(ofOwner, pick(aliased(contractClusters, 'b'), 'clusterUid', 'displayName'), (k, p) =>
    enabling(k, p).join('contract_clusters as b', 'b.contract_id', 'c.id').orderBy('b.id'),
  ),
  // An owner may have several records of a cluster; the last one in the list replaces the others.
  clusters: db.prepare(pick(usageClusters, 'ownerId'), clusterRow, (k, p) =>
    k('usage_clusters as u')
      .leftJoin('clusters as r', (on) => on.on('r.owner_id', 'u.owner_id').on('r.uid', 'u.cluster_uid'))
      .where('u.owner_id', p.ownerId)
      .orderBy(['u.cluster_uid', 'r.id']),
  ),
  ids: db.prepare(shown, pick(objectRow, 'id', 'uid', 'namespace'), shownObjects),
  objects: idList(db, usageObjects.id, {}, objectWithKindId, (k, _, ids) =>
    k('usage_objects as o').whereIn('o.id', ids),
  ),
  objectsIn: db.prepare({ ...shown, ...pick(usageObjects, 'namespace') }, objectWithKindId, (k, p) =>
    shownObjects(k, p).where('o.namespace', p.namespace),
  ),
  namespaces: db.prepare(ofCluster, namespaceRow, namespaces),
  namespacesNamed: db.prepare({ ...ofCluster, ...pick(usageNamespaces, 'name') }, namespaceRow, (k, p) =>
    namespaces(k, p).where('namespace', p.name),
  ),
})

/** `enabled` has the names that clusters have in contracts. */
const clusterOf = (row: Row<typeof clusterRow>, enabled: ReadonlyMap<string, string>): ReportedCluster => ({
  ...row,
  name: row.name ?? enabled.get(row.uid) ?? row.uid,
  isEnabled: enabled.has(row.uid),
})

/**
 * DatabaseInventory over the tables of events, with the records of clusters and the contracts that they are bound to.
 */
export const makeSqlDatabaseInventory = (db: SqlDatabase): ((runner: SqlRunner) => DatabaseInventory) => {
  const s = statementsOf(db)
  const changesOn = makeSqlUsageChangeStore(db)
  const withKinds = makeWithKinds(db)
  const withChanges = async (runner: SqlRunner, rows: readonly DatabaseRow[]): Promise<readonly ReportedDatabase[]> => {
    const changes = Map.groupBy(await changesOn(runner).listOf(rows.map(({ id }) => id)), ({ objectId }) => objectId)
    const withKind = await withKinds(runner, rows)
    return withKind.map(({ kindId: _, ...row }) => ({ ...row, changes: changes.get(row.id) ?? [] }))
  }
  return (runner) => ({
    async isEnabled(ownerId, now) {
      return (await runner.first(s.isEnabled, { ownerId, now })) !== undefined
    },
    async clustersOf(ownerId, now) {
      const bound = await runner.all(s.enabled, { ownerId, now })
      const enabled = new Map(bound.map((row) => [row.clusterUid, row.displayName]))
      const rows = await runner.all(s.clusters, { ownerId })
      return [...new Map(rows.map((row) => [row.uid, clusterOf(row, enabled)])).values()]
    },
    async databaseIdsOf(clusterId, since) {
      const ids = new Map<string, UsageObjectId[]>()
      for (let after = ''; ;) {
        const rows = await runner.all(s.ids, { clusterId, since, after, limit: idsAtOnce })
        for (const { id, namespace } of rows) getOrMake(ids, namespace, () => []).push(id)
        const last = rows.at(-1)
        if (last === undefined || rows.length < idsAtOnce) return ids
        after = last.uid
        await pauseInLongTurn()
      }
    },
    async *databases(ids) {
      for (let from = 0; from < ids.length; from += databasesAtOnce) {
        const batch = ids.slice(from, from + databasesAtOnce)
        const rows = new Map((await rowsOfIds(runner, s.objects, batch, {})).map((row) => [row.id, row]))
        yield await withChanges(
          runner,
          batch.flatMap((id) => rows.get(id) ?? []),
        )
        await pauseInLongTurn()
      }
    },
    async *databasesIn(clusterId, namespace, since) {
      for (let after = ''; ;) {
        const rows = await runner.all(s.objectsIn, { clusterId, namespace, since, after, limit: databasesAtOnce })
        yield await withChanges(runner, rows)
        const last = rows.at(-1)
        if (last === undefined || rows.length < databasesAtOnce) return
        after = last.uid
        await pauseInLongTurn()
      }
    },
    namespacesOf: (clusterId, name) =>
      name === undefined ? runner.all(s.namespaces, { clusterId }) : runner.all(s.namespacesNamed, { clusterId, name }),
  })
}
