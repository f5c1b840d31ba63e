import type { UsageIntervalStore, UsageUpkeepStore } from '../../../core/usage/events/ports.ts'
import type { UnixSeconds, UsageObjectId } from '../../../core/usage/types.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { tupleList } from './tuple-list.ts'

/** UsageIntervalStore over the table usage_intervals. */
export const makeSqlUsageIntervalStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageIntervalStore) => {
  type Names = 'month' | 'clusterId' | 'objectId' | 'from' | 'to' | 'kindId' | 'milliCpu' | 'memoryMib' | 'generation' | 'replicas'
  const insert = insertRows(db, 'usage_intervals', (p: Params<Names>) => ({
    month: p('month'), cluster_id: p('clusterId'), object_id: p('objectId'), from_at: p('from'), to_at: p('to'), cut_at: p('to'), kind_id: p('kindId'),
    milli_cpu: p('milliCpu'), memory_mib: p('memoryMib'), generation: p('generation'), replicas: p('replicas'),
  }))
  const remove = tupleList(db, ['month', 'cluster_id', 'object_id'], (k, within) => within(k('usage_intervals')).delete())
  return (runner) => ({
    async insert(intervals) {
      await insert(runner, intervals)
    },
    async remove(months) {
      await remove(runner, months.map(({ month, clusterId, objectId }) => [month, clusterId, objectId]))
    },
  })
}

interface CutRow {
  readonly object_id: number
  readonly from_at: Num
  readonly to_at: Num
  readonly cut_at: Num
  readonly last_heard_day: number
}

type CarryName = 'month' | 'before' | 'clusterId' | 'from' | 'to' | 'heardDay'

const statementsOf = (db: SqlDatabase) => ({
  carry: db.prepare((k, p: Params<CarryName>) =>
    k(k.raw('usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, memory_mib, generation, replicas)')).insert(
      k('usage_intervals as i')
        .join('usage_objects as o', 'o.id', 'i.object_id')
        .where('i.month', p('before'))
        .where('i.cluster_id', p('clusterId'))
        .where('i.to_at', p('from'))
        .whereNull('o.deleted_at')
        .where((rows) => rows.where('o.sends_heartbeats', 0).orWhere('o.last_heard_day', '>=', p('heardDay')))
        .whereNotExists(k('usage_intervals as n').where('n.month', p('month')).where('n.cluster_id', k.ref('i.cluster_id')).where('n.object_id', k.ref('i.object_id')).select(k.raw('1')))
        .select(
          k.raw('cast(? as signed)', [p('month')]), 'i.cluster_id', 'i.object_id', k.raw('cast(? as signed)', [p('from')]), k.raw('cast(? as signed)', [p('to')]),
          k.raw('cast(? as signed)', [p('to')]), 'i.kind_id', 'i.milli_cpu', 'i.memory_mib', 'i.generation', 'i.replicas',
        ),
    ),
  ),
  carried: db.prepare((k, p: Params<'id' | 'month'>) => k('usage_clusters').where('id', p('id')).update({ carried_month: p('month') })),
  toCut: db.prepare((k, p: Params<'clusterId' | 'month' | 'heardDay'>) =>
    k('usage_intervals as i')
      .join('usage_objects as o', 'o.id', 'i.object_id')
      .where('i.month', p('month'))
      .where('i.cluster_id', p('clusterId'))
      .where('o.sends_heartbeats', 1)
      .where((rows) => rows.where('o.last_heard_day', '<', p('heardDay')).orWhere('i.cut_at', '<', k.ref('i.to_at')))
      .select('i.object_id', 'i.from_at', 'i.to_at', 'i.cut_at', 'o.last_heard_day')
      .orderBy(['i.object_id', 'i.from_at']),
  ),
  cut: db.prepare((k, p: Params<'clusterId' | 'month' | 'objectId' | 'from' | 'cut'>) =>
    k('usage_intervals').where({ month: p('month'), cluster_id: p('clusterId'), object_id: p('objectId'), from_at: p('from') }).update({ cut_at: p('cut') }),
  ),
})

/** UsageUpkeepStore over the table usage_intervals. */
export const makeSqlUsageUpkeepStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageUpkeepStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async carry(clusterId, into, heardDay) {
      await runner.run(s.carry, { clusterId, heardDay, ...into })
      await runner.run(s.carried, { id: clusterId, month: into.month })
    },
    async listToCut(clusterId, month, heardDay) {
      return (await runner.all<CutRow>(s.toCut, { clusterId, month, heardDay })).map((row) => ({
        objectId: row.object_id as UsageObjectId,
        from: Number(row.from_at) as UnixSeconds,
        to: Number(row.to_at) as UnixSeconds,
        cut: Number(row.cut_at) as UnixSeconds,
        lastHeardDay: row.last_heard_day,
      }))
    },
    async cut(clusterId, month, { objectId, from, cut }) {
      await runner.run(s.cut, { clusterId, month, objectId, from, cut })
    },
  })
}
