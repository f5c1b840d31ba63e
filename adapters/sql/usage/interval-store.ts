import type { Knex } from 'knex'
import type { UsageIntervalStore, UsageRetention, UsageUpkeepStore } from '../../../core/usage/events/ports.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import { aliased, computed, instant, int, nullable, pick, present } from '../kit/columns.ts'
import { isDenied } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertAllInto, values } from '../kit/values.ts'
import { usageChanges, usageClusters, usageConflicts, usageIntervals, usageObjects } from '../tables/usage.ts'
import { tupleList } from '../kit/key-lists.ts'

/** UsageIntervalStore over the table usage_intervals. */
export const makeSqlUsageIntervalStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageIntervalStore) => {
  const insert = insertAllInto(db, usageIntervals)
  const remove = tupleList(db, pick(usageIntervals, 'month', 'clusterId', 'objectId'), {}, (k, within) =>
    within(k('usage_intervals')).delete(),
  )
  return (runner) => ({
    async insert(intervals) {
      await insert(
        runner,
        intervals.map((interval) => ({ ...interval, cut: interval.to })),
      )
    },
    async remove(months) {
      await remove(runner, months)
    },
  })
}

/** Joins the object `o` of an interval `i`, which is of the same cluster. */
const ofInterval = (on: Knex.JoinClause): void => {
  on.on('o.id', 'i.object_id').on('o.cluster_id', 'i.cluster_id')
}

const { clusterId, month } = usageIntervals
const { lastHeardDay: heardDay } = usageObjects
const carryParams = { month, before: month, clusterId, ...pick(usageIntervals, 'from', 'to'), heardDay }

const statementsOf = (db: SqlDatabase) => ({
  carry: db.prepare(carryParams, (k, p) =>
    k(
      k.raw(
        'usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, ' +
          'memory_mib, generation, replicas)',
      ),
    ).insert(
      k('usage_intervals as i')
        .join('usage_objects as o', ofInterval)
        .where('i.month', p.before)
        .where('i.cluster_id', p.clusterId)
        .where('i.to_at', p.from)
        .whereNull('o.deleted_at')
        .where((rows) => rows.where('o.sends_heartbeats', 0).orWhere('o.last_heard_day', '>=', p.heardDay))
        .whereNotExists(
          k('usage_intervals as n')
            .where('n.month', p.month)
            .where('n.cluster_id', k.ref('i.cluster_id'))
            .where('n.object_id', k.ref('i.object_id'))
            .select(k.raw('1')),
        )
        .select(
          k.raw('cast(? as signed)', [p.month]),
          'i.cluster_id',
          'i.object_id',
          k.raw('cast(? as signed)', [p.from]),
          k.raw('cast(? as signed)', [p.to]),
          k.raw('cast(? as signed)', [p.to]),
          'i.kind_id',
          'i.milli_cpu',
          'i.memory_mib',
          'i.generation',
          'i.replicas',
        ),
    ),
  ),
  carried: db.prepare(pick(usageClusters, 'id', 'carriedMonth'), (k, p) =>
    k('usage_clusters')
      .where('id', p.id)
      .update(values(usageClusters, { carriedMonth: p.carriedMonth })),
  ),
  takeBack: db.prepare({ clusterId, month }, (k, p) =>
    k('usage_intervals').where('month', '>', p.month).where('cluster_id', p.clusterId).delete(),
  ),
  toCut: db.prepare(
    { clusterId, month, heardDay },
    {
      ...pick(aliased(usageIntervals, 'i'), 'objectId', 'from', 'to', 'cut'),
      ...pick(aliased(usageObjects, 'o'), 'lastHeardDay'),
    },
    (k, p) =>
      k('usage_intervals as i')
        .join('usage_objects as o', ofInterval)
        .where('i.month', p.month)
        .where('i.cluster_id', p.clusterId)
        .where('o.sends_heartbeats', 1)
        .where((rows) => rows.where('o.last_heard_day', '<', p.heardDay).orWhere('i.cut_at', '<', k.ref('i.to_at')))
        .orderBy(['i.object_id', 'i.from_at']),
  ),
  cut: db.prepare(pick(usageIntervals, 'month', 'clusterId', 'objectId', 'from', 'cut'), (k, { cut, ...key }) =>
    k('usage_intervals').where(values(usageIntervals, key)).update(values(usageIntervals, { cut })),
  ),
})

/** UsageUpkeepStore over the table usage_intervals. */
export const makeSqlUsageUpkeepStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageUpkeepStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async carry(id, into, day) {
      await runner.run(s.carry, { clusterId: id, heardDay: day, ...into })
      await runner.run(s.carried, { id, carriedMonth: into.month })
    },
    async takeBack(id, to) {
      await runner.run(s.takeBack, { clusterId: id, month: to })
      await runner.run(s.carried, { id, carriedMonth: to })
    },
    listToCut: (id, of, day) => runner.all(s.toCut, { clusterId: id, month: of, heardDay: day }),
    async cut(id, of, { objectId, from, cut }) {
      await runner.run(s.cut, { clusterId: id, month: of, objectId, from, cut })
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

/** Adds the partitions of months to usage_intervals, and drops those before the first one; for MySQL and MariaDB. */
const changePartitions = async (db: SqlDatabase, first: MonthKey, months: readonly MonthKey[]): Promise<void> => {
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
    const missing = months.flatMap((each, index) => {
      const next = months[index + 1]
      return each <= newest || next === undefined ? [] : [`partition p${each} values less than (${next})`]
    })
    if (missing.length > 0) {
      await session.execute(
        `alter table usage_intervals reorganize partition pmax into (${missing.join(', ')}, partition ` +
          'pmax values less than maxvalue)',
        [],
      )
    }
    const old = made.filter((each) => each < first)
    if (old.length > 0)
      await session.execute(
        `alter table usage_intervals drop partition ${old.map((each) => `p${each}`).join(', ')}`,
        [],
      )
  } finally {
    await session.close()
  }
}

/** Does the work, or nothing if the user of the database has no right to do it. */
const unlessDenied = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (cause) {
    if (!isDenied(cause)) throw cause
  }
}

const conflictKey = pick(usageConflicts, 'id', 'clusterId')
const intervalKey = pick(usageIntervals, 'month', 'clusterId', 'objectId', 'from')

const retentionStatements = (db: SqlDatabase) => ({
  conflicts: db.prepare({ before: instant(), limit: int() }, conflictKey, (k, p) =>
    k('usage_conflicts').where('received_at', '<', p.before).orderBy('received_at').limit(p.limit),
  ),
  removeConflict: db.prepare(conflictKey, (k, p) => k('usage_conflicts').where(values(usageConflicts, p)).delete()),
  objects: db.prepare({ before: present(usageObjects.deletedAt), limit: int() }, pick(usageObjects, 'id'), (k, p) =>
    k('usage_objects').where('deleted_at', '<', p.before).limit(p.limit),
  ),
  removeChanges: db.prepare({ id: usageChanges.objectId }, (k, p) =>
    k('usage_changes').where('object_id', p.id).delete(),
  ),
  removeObject: db.prepare(pick(usageObjects, 'id'), (k, p) => k('usage_objects').where('id', p.id).delete()),
  oldIntervals: db.prepare({ month }, intervalKey, (k, p) =>
    k('usage_intervals').where('month', '<', p.month).limit(removedAtATime),
  ),
  removeInterval: db.prepare(intervalKey, (k, p) => k('usage_intervals').where(values(usageIntervals, p)).delete()),
  lastHeard: db.prepare({}, { last: computed(nullable(usageClusters.lastHeard), 'max(last_heard)') }, (k) =>
    k('usage_clusters'),
  ),
})

/**
 * UsageRetention. On MySQL and MariaDB usage_intervals has a partition for each month, so that a month is dropped
 * without reading its rows. On SQLite, and for a user who may not change the table, rows are deleted in pieces.
 */
export const makeSqlUsageRetention = (db: SqlDatabase): UsageRetention => {
  const s = retentionStatements(db)
  const deleteMonthsBefore = async (first: MonthKey, signal: AbortSignal): Promise<void> => {
    for (;;) {
      const rows = signal.aborted ? [] : await db.all(s.oldIntervals, { month: first })
      if (rows.length === 0) return
      await db.transaction(async (tx) => {
        for (const row of rows) await tx.run(s.removeInterval, row)
      })
      if (rows.length < removedAtATime) return
    }
  }
  return {
    async lastHeard() {
      return (await db.first(s.lastHeard, {}))?.last
    },
    async keepMonths(months, signal) {
      const [first] = months
      if (first === undefined) return
      if (db.dialect === 'mysql') await unlessDenied(() => changePartitions(db, first, months))
      // The first partition also has the rows of all months before its own.
      await deleteMonthsBefore(first, signal)
    },
    async removeConflicts(before, limit) {
      const rows = await db.all(s.conflicts, { before, limit })
      for (const row of rows) await db.run(s.removeConflict, row)
      return rows.length
    },
    async removeObjects(before, limit) {
      const rows = await db.all(s.objects, { before, limit })
      for (const row of rows) {
        await db.transaction(async (tx) => {
          await tx.run(s.removeChanges, row)
          await tx.run(s.removeObject, row)
        })
      }
      return rows.length
    },
  }
}
