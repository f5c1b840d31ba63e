import type { ClusterFactStore } from '../../../core/usage/events/ports.ts'
import type { ClusterMode, MonthKey, UnixSeconds, UsageClusterId } from '../../../core/usage/types.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { tupleList } from './tuple-list.ts'

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
interface NamespaceRow {
  readonly namespace_uid: string
  readonly namespace: string
  readonly created_at: Num
  readonly labels: string
  readonly annotations: string
  readonly observed_at: Num
}

type NamespaceBind = 'clusterId' | 'uid' | 'name' | 'createdAt' | 'labels' | 'annotations' | 'observedAt'

const statementsOf = (db: SqlDatabase) => ({
  hours: tupleList<HoursRow>(db, ['cluster_id', 'month'], (k, within) => within(k('usage_presence')).select('cluster_id', 'month', 'hours')),
  putHours: db.prepare((k, p: Params<'clusterId' | 'month' | 'hours'>) =>
    k('usage_presence').insert({ cluster_id: p('clusterId'), month: p('month'), hours: p('hours') }).onConflict(['cluster_id', 'month']).merge(['hours']),
  ),
  modes: tupleList<ModeRow>(db, ['cluster_id', 'at'], (k, within) => within(k('usage_modes')).select('at', 'event_id', 'mode')),
  insertModes: insertRows(db, 'usage_modes', (p: Params<'clusterId' | 'at' | 'id' | 'mode'>) => ({ cluster_id: p('clusterId'), at: p('at'), event_id: p('id'), mode: p('mode') })),
  namespaces: tupleList<NamespaceRow>(db, ['cluster_id', 'namespace_uid'], (k, within) => within(k('usage_namespaces')).select('*')),
  putNamespaces: insertRows(
    db,
    'usage_namespaces',
    (p: Params<NamespaceBind>) => ({
      cluster_id: p('clusterId'), namespace_uid: p('uid'), namespace: p('name'), created_at: p('createdAt'), labels: p('labels'), annotations: p('annotations'), observed_at: p('observedAt'),
    }),
    (rows) => rows.onConflict(['cluster_id', 'namespace_uid']).merge(['namespace', 'created_at', 'labels', 'annotations', 'observed_at']),
  ),
})

/** ClusterFactStore over the tables usage_presence, usage_modes and usage_namespaces. */
export const makeSqlClusterFactStore = (db: SqlDatabase): ((runner: SqlRunner) => ClusterFactStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async hoursOf(clusterIds, months) {
      const rows = await s.hours(runner, clusterIds.flatMap((id) => months.map((month) => [id, month])))
      return rows.map(({ cluster_id, month, hours }) => ({ clusterId: cluster_id as UsageClusterId, month: month as MonthKey, hours: new Uint8Array(hours) }))
    },
    async putHours(clusterId, month, hours) {
      await runner.run(s.putHours, { clusterId, month, hours })
    },
    async modesAt(clusterId, instants) {
      const rows = await s.modes(runner, instants.map((at) => [clusterId, at]))
      return rows.map(({ event_id, at, mode }) => ({ id: event_id, at: Number(at) as UnixSeconds, mode: mode as ClusterMode }))
    },
    async insertModes(clusterId, modes) {
      await s.insertModes(runner, modes.map(({ id, at, mode }) => ({ clusterId, id, at, mode })))
    },
    async namespaces(clusterId, uids) {
      const rows = await s.namespaces(runner, uids.map((uid) => [clusterId, uid]))
      return rows.map((row) => ({
        uid: row.namespace_uid, name: row.namespace, createdAt: Number(row.created_at) as UnixSeconds, labels: row.labels, annotations: row.annotations, observedAt: Number(row.observed_at) as UnixSeconds,
      }))
    },
    async putNamespaces(clusterId, namespaces) {
      await s.putNamespaces(runner, namespaces.map((namespace) => ({ clusterId, ...namespace })))
    },
  })
}
