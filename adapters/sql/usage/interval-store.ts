import type { UsageIntervalStore, UsageRetention, UsageUpkeepStore } from '../../../core/usage/events/ports.ts'
import type { MonthKey, UnixSeconds, UsageObjectId } from '../../../core/usage/types.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { tupleList } from './tuple-list.ts'

/** UsageIntervalStore over the table usage_intervals. */
export const makeSqlUsageIntervalStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageIntervalStore) => {
  type Names =
    'month' | 'clusterId' | 'objectId' | 'from' | 'to' | 'kindId' | 'milliCpu' | 'memoryMib' | 'generation' | 'replicas'
  const insert = insertRows(db, 'usage_intervals', (p: Params<Names>) => ({
    month: p('month'),
    cluster_id: p('clusterId'),
    object_id: p('objectId'),
    from_at: p('from'),
    to_at: p('to'),
    cut_at: p('to'),
    kind_id: p('kindId'),
    milli_cpu: p('milliCpu'),
    memory_mib: p('memoryMib'),
    generation: p('generation'),
    replicas: p('replicas'),
  }))
  const remove = tupleList(db, ['month', 'cluster_id', 'object_id'], (k, within) =>
    within(k('usage_intervals')).delete(),
  )
  return (runner) => ({
    async insert(intervals) {
      await insert(runner, intervals)
    },
    async remove(months) {
      await remove(
        runner,
        months.map(({ month, clusterId, objectId }) => [month, clusterId, objectId]),
      )
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
    k(
      k.raw(
        'usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, ' +
          'memory_mib, generation, replicas)',
      ),
    ).insert(
      k('usage_intervals as i')
        .join('usage_objects as o', 'o.id', 'i.object_id')
        .where('i.month', p('before'))
        .where('i.cluster_id', p('clusterId'))
        .where('i.to_at', p('from'))
        .whereNull('o.deleted_at')
        .where((rows) => rows.where('o.sends_heartbeats', 0).orWhere('o.last_heard_day', '>=', p('heardDay')))
        .whereNotExists(
          k('usage_intervals as n')
            .where('n.month', p('month'))
            .where('n.cluster_id', k.ref('i.cluster_id'))
            .where('n.object_id', k.ref('i.object_id'))
            .select(k.raw('1')),
        )
        .select(
          k.raw('cast(? as signed)', [p('month')]),
          'i.cluster_id',
          'i.object_id',
          k.raw('cast(? as signed)', [p('from')]),
          k.raw('cast(? as signed)', [p('to')]),
          k.raw('cast(? as signed)', [p('to')]),
          'i.kind_id',
          'i.milli_cpu',
          'i.memory_mib',
          'i.generation',
          'i.replicas',
        ),
    ),
  ),
  carried: db.prepare((k, p: Params<'id' | 'month'>) =>
    k('usage_clusters')
      .where('id', p('id'))
      .update({ carried_month: p('month') }),
  ),
  takeBack: db.prepare((k, p: Params<'clusterId' | 'month'>) =>
    k('usage_intervals').where('month', '>', p('month')).where('cluster_id', p('clusterId')).delete(),
  ),
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
    k('usage_intervals')
      .where({ month: p('month'), cluster_id: p('clusterId'), object_id: p('objectId'), from_at: p('from') })
      .update({ cut_at: p('cut') }),
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
    async takeBack(clusterId, month) {
      await runner.run(s.takeBack, { clusterId, month })
      await runner.run(s.carried, { id: clusterId, month })
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

const removedAtATime = 500

interface PartitionRow {
  readonly name: string
}

/** A partition of one month. */
const monthPartition = /^p(\d{6})$/

/** How long a change of partitions waits for statements that use the table. Those that come later wait behind it. */
const lockWaitSeconds = 5

/**
 * UsageRetention. On MySQL and MariaDB usage_intervals has a partition for each month, so that a month is dropped
 * without reading its rows. SQLite deletes them in pieces.
 */
export const makeSqlUsageRetention = (db: SqlDatabase): UsageRetention => {
  const conflicts = db.prepare((k, p: Params<'before' | 'limit'>) =>
    k('usage_conflicts').where('received_at', '<', p('before')).select('id').orderBy('received_at').limit(p('limit')),
  )
  const removeConflict = db.prepare((k, p: Params<'id'>) => k('usage_conflicts').where('id', p('id')).delete())
  const objects = db.prepare((k, p: Params<'before' | 'limit'>) =>
    k('usage_objects').where('deleted_at', '<', p('before')).select('id').limit(p('limit')),
  )
  const removeChanges = db.prepare((k, p: Params<'id'>) => k('usage_changes').where('object_id', p('id')).delete())
  const removeObject = db.prepare((k, p: Params<'id'>) => k('usage_objects').where('id', p('id')).delete())
  const oldIntervals = db.prepare((k, p: Params<'month'>) =>
    k('usage_intervals')
      .where('month', '<', p('month'))
      .select('month', 'cluster_id', 'object_id', 'from_at')
      .limit(removedAtATime),
  )
  const removeInterval = db.prepare((k, p: Params<'month' | 'cluster_id' | 'object_id' | 'from_at'>) =>
    k('usage_intervals')
      .where({ month: p('month'), cluster_id: p('cluster_id'), object_id: p('object_id'), from_at: p('from_at') })
      .delete(),
  )

  const lastHeard = db.prepare((k) => k('usage_clusters').select(k.raw('max(last_heard) as last')))

  const deleteMonthsBefore = async (month: MonthKey, signal: AbortSignal): Promise<void> => {
    for (;;) {
      type Row = Readonly<Record<'month' | 'cluster_id' | 'object_id' | 'from_at', number>>
      const rows = signal.aborted ? [] : await db.all<Row>(oldIntervals, { month })
      await db.transaction(async (tx) => {
        for (const row of rows) await tx.run(removeInterval, row)
      })
      if (rows.length < removedAtATime) return
    }
  }

  const changePartitions = async (first: MonthKey, months: readonly MonthKey[]): Promise<void> => {
    const session = await db.openSchemaSession()
    try {
      await session.execute(`set session lock_wait_timeout = ${lockWaitSeconds}`, [])
      const rows = (await session.execute(
        'select partition_name as name from information_schema.partitions where table_schema = database() ' +
          "and table_name = 'usage_intervals' and partition_name is not null",
        [],
      )) as unknown as readonly PartitionRow[]
      const made = rows.flatMap(({ name }) => monthPartition.exec(name)?.slice(1).map(Number) ?? [])
      const newest = Math.max(...made, 0)
      const missing = months.flatMap((month, index) => {
        const next = months[index + 1]
        return month <= newest || next === undefined ? [] : [`partition p${month} values less than (${next})`]
      })
      if (missing.length > 0) {
        await session.execute(
          `alter table usage_intervals reorganize partition pmax into (${missing.join(', ')}, partition ` +
            'pmax values less than maxvalue)',
          [],
        )
      }
      const old = made.filter((month) => month < first)
      if (old.length > 0)
        await session.execute(
          `alter table usage_intervals drop partition ${old.map((month) => `p${month}`).join(', ')}`,
          [],
        )
    } finally {
      await session.close()
    }
  }

  return {
    async lastHeard() {
      const last = (await db.first<{ readonly last: Num | null }>(lastHeard, {}))?.last ?? undefined
      return last === undefined ? undefined : (Number(last) as UnixSeconds)
    },
    async keepMonths(months, signal) {
      const [first] = months
      if (first === undefined) return
      await (db.dialect === 'mysql' ? changePartitions(first, months) : deleteMonthsBefore(first, signal))
    },
    async removeConflicts(before, limit) {
      const rows = await db.all<{ readonly id: number }>(conflicts, { before: before.getTime(), limit })
      for (const { id } of rows) await db.run(removeConflict, { id })
      return rows.length
    },
    async removeObjects(before, limit) {
      const rows = await db.all<{ readonly id: number }>(objects, { before, limit })
      for (const { id } of rows) {
        await db.transaction(async (tx) => {
          await tx.run(removeChanges, { id })
          await tx.run(removeObject, { id })
        })
      }
      return rows.length
    },
  }
}
