import type { ClusterFactStore, UsageClusterStore, UsageKindStore } from '../../../core/usage/events/ports.ts'
import type { UsageKindId } from '../../../core/usage/types.ts'
import { aliased, columnsOf, int, long, pick, selectedAs, without } from '../kit/columns.ts'
import { idList, rowsOfIds, tupleList } from '../kit/key-lists.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertAllInto, insertInto, values } from '../kit/values.ts'
import { clusters } from '../tables/clusters.ts'
import { contractClusters } from '../tables/contracts.ts'
import { usageClusters, usageKinds, usageModes, usageNamespaces, usagePresence } from '../tables/usage.ts'
import { namespaceRow } from './rows.ts'

const { id, ownerId } = usageClusters
const kept = aliased(usageClusters, 'u')
const after = { after: long(), limit: int() }
const clusterRow = without(usageClusters, 'displayName')

const statementsOf = (db: SqlDatabase) => ({
  isKnown: db.prepare(pick(usageClusters, 'ownerId', 'clusterUid'), { known: selectedAs(int()) }, (k, p) =>
    k('clusters')
      .where('owner_id', p.ownerId)
      .where('uid', p.clusterUid)
      .select(k.raw('1 as known'))
      .union(
        k('contract_clusters')
          .where('owner_id', p.ownerId)
          .where('cluster_uid', p.clusterUid)
          .select(k.raw('1 as known')),
      )
      .limit(1),
  ),
  find: db.prepare(pick(usageClusters, 'ownerId', 'clusterUid'), { id }, (k, p) =>
    k('usage_clusters').where('owner_id', p.ownerId).where('cluster_uid', p.clusterUid).limit(1),
  ),
  insert: insertInto(db, usageClusters, { omitted: ['id', 'displayName'] }, (insert) =>
    insert.onConflict(['owner_id', 'cluster_uid']).ignore(),
  ),
  lock: idList(db, id, {}, { id }, (k, _, ids) => k('usage_clusters').whereIn('id', ids).orderBy('id').forUpdate()),
  extend: db.prepare({ id, from: usageClusters.firstHeard, to: usageClusters.lastHeard }, (k, p) =>
    k('usage_clusters')
      .where('id', p.id)
      .update(
        values(usageClusters, {
          firstHeard: k.raw('case when first_heard > ? then ? else first_heard end', [p.from, p.from]),
          lastHeard: k.raw('case when last_heard < ? then ? else last_heard end', [p.to, p.to]),
        }),
      ),
  ),
  // The binding first: the last name of a cluster in the list is kept, and a record is better known.
  boundNames: db.prepare(
    {},
    { id: kept.id, displayName: aliased(contractClusters, 'b').displayName, kept: kept.displayName },
    (k) =>
      k('usage_clusters as u')
        .join('contract_clusters as b', (on) => on.on('b.owner_id', 'u.owner_id').on('b.cluster_uid', 'u.cluster_uid'))
        .orderBy('b.id'),
  ),
  recordedNames: db.prepare(
    {},
    { id: kept.id, displayName: aliased(clusters, 'r').displayName, kept: kept.displayName },
    (k) =>
      k('usage_clusters as u')
        .join('clusters as r', (on) => on.on('r.owner_id', 'u.owner_id').on('r.uid', 'u.cluster_uid'))
        .orderBy('r.id'),
  ),
  keepName: db.prepare(pick(usageClusters, 'id', 'displayName'), (k, p) =>
    k('usage_clusters')
      .where('id', p.id)
      .update(values(usageClusters, { displayName: p.displayName })),
  ),
  listOfOwner: db.prepare({ ownerId, ...after }, clusterRow, (k, p) =>
    k('usage_clusters').where('owner_id', p.ownerId).where('id', '>', p.after).orderBy('id').limit(p.limit),
  ),
  listAfter: db.prepare(after, clusterRow, (k, p) =>
    k('usage_clusters').where('id', '>', p.after).orderBy('id').limit(p.limit),
  ),
})

/** UsageClusterStore over the table usage_clusters, and those of clusters and contracts. */
export const makeSqlUsageClusterStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageClusterStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async isKnown(owner, clusterUid) {
      return (await runner.first(s.isKnown, { ownerId: owner, clusterUid })) !== undefined
    },
    async ensure(owner, clusterUid, heard, month) {
      const key = { ownerId: owner, clusterUid }
      const known = await runner.first(s.find, key)
      if (known !== undefined) return known.id
      await runner.run(s.insert, { ...key, firstHeard: heard, lastHeard: heard, carriedMonth: month })
      const inserted = await runner.first(s.find, key)
      if (inserted === undefined) throw new Error(`The cluster ${clusterUid} was inserted and cannot be found.`)
      return inserted.id
    },
    async lock(ids) {
      await rowsOfIds(
        runner,
        s.lock,
        [...ids].sort((a, b) => a - b),
        {},
      )
    },
    async extend(cluster, from, to) {
      await runner.run(s.extend, { id: cluster, from, to })
    },
    async keepNames() {
      const rows = [...(await runner.all(s.boundNames, {})), ...(await runner.all(s.recordedNames, {}))]
      for (const row of new Map(rows.map((each) => [each.id, each])).values())
        if (row.displayName !== row.kept) await runner.run(s.keepName, row)
    },
    listAfter: (from, limit, owner) =>
      owner === undefined
        ? runner.all(s.listAfter, { after: from, limit })
        : runner.all(s.listOfOwner, { ownerId: owner, after: from, limit }),
  })
}

/** UsageKindStore over the table usage_kinds. Rows never change, so that a process reads each of them once. */
export const makeSqlUsageKindStore = (db: SqlDatabase): UsageKindStore => {
  const find = db.prepare(pick(usageKinds, 'product', 'group', 'kind'), pick(usageKinds, 'id'), (k, p) =>
    k('usage_kinds').where(values(usageKinds, p)).limit(1),
  )
  const insert = insertInto(db, usageKinds, { omitted: ['id'] }, (rows) =>
    rows.onConflict(['product', 'api_group', 'kind']).ignore(),
  )
  const known = new Map<string, UsageKindId>()
  return {
    async ensure({ product, group, kind }) {
      const key = `${product}/${group}/${kind}`
      const ensured = known.get(key)
      if (ensured !== undefined) return ensured
      const binds = { product, group, kind }
      if ((await db.first(find, binds)) === undefined) await db.run(insert, binds)
      const row = await db.first(find, binds)
      if (row === undefined) throw new Error(`The kind ${key} was inserted and cannot be found.`)
      // A bound on what a sender can make this process remember.
      if (known.size < 10_000) known.set(key, row.id)
      return row.id
    },
  }
}

const factStatementsOf = (db: SqlDatabase) => ({
  hours: tupleList(db, pick(usagePresence, 'clusterId', 'month'), columnsOf(usagePresence), (k, within) =>
    within(k('usage_presence')),
  ),
  putHours: insertInto(db, usagePresence, {}, (insert) => insert.onConflict(['cluster_id', 'month']).merge(['hours'])),
  modes: tupleList(
    db,
    pick(usageModes, 'clusterId', 'at', 'eventId'),
    pick(usageModes, 'at', 'eventId', 'mode'),
    (k, within) => within(k('usage_modes')),
  ),
  insertModes: insertAllInto(db, usageModes),
  namespaces: tupleList(db, pick(usageNamespaces, 'clusterId', 'uid'), namespaceRow, (k, within) =>
    within(k('usage_namespaces')),
  ),
  putNamespaces: insertAllInto(db, usageNamespaces, {}, (rows) =>
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
        clusterIds.flatMap((clusterId) => months.map((month) => ({ clusterId, month }))),
      )
      return rows.map((row) => ({ ...row, hours: new Uint8Array(row.hours) }))
    },
    async putHours(clusterId, month, hours) {
      await runner.run(s.putHours, { clusterId, month, hours })
    },
    async findModes(clusterId, of) {
      const rows = await s.modes(
        runner,
        of.map(({ at, id: eventId }) => ({ clusterId, at, eventId })),
      )
      return rows.map(({ eventId, at, mode }) => ({ id: eventId, at, mode }))
    },
    async insertModes(clusterId, modes) {
      await s.insertModes(
        runner,
        modes.map(({ id: eventId, at, mode }) => ({ clusterId, at, eventId, mode })),
      )
    },
    namespaces: (clusterId, uids) =>
      s.namespaces(
        runner,
        uids.map((uid) => ({ clusterId, uid })),
      ),
    async putNamespaces(clusterId, namespaces) {
      await s.putNamespaces(
        runner,
        namespaces.map((namespace) => ({ ...namespace, clusterId })),
      )
    },
  })
}
