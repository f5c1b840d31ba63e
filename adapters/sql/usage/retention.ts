import type { UsageRetention } from '../../../core/usage/events/ports.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import type { Params, SqlDatabase } from '../kit/statement.ts'

const removedAtATime = 500

interface PartitionRow {
  readonly name: string
}

/** A partition of one month. */
const monthPartition = /^p(\d{6})$/

/** How long a change of partitions waits for statements that use the table. Those that come later wait behind it. */
const lockWaitSeconds = 5

/**
 * UsageRetention. On MySQL and MariaDB usage_intervals has a partition for each month, so that a month is dropped without reading its
 * rows. SQLite deletes them in pieces.
 */
export const makeSqlUsageRetention = (db: SqlDatabase): UsageRetention => {
  const conflicts = db.prepare((k, p: Params<'before' | 'limit'>) => k('usage_conflicts').where('received_at', '<', p('before')).select('id').orderBy('received_at').limit(p('limit')))
  const removeConflict = db.prepare((k, p: Params<'id'>) => k('usage_conflicts').where('id', p('id')).delete())
  const objects = db.prepare((k, p: Params<'before' | 'limit'>) => k('usage_objects').where('deleted_at', '<', p('before')).select('id').limit(p('limit')))
  const removeChanges = db.prepare((k, p: Params<'id'>) => k('usage_changes').where('object_id', p('id')).delete())
  const removeObject = db.prepare((k, p: Params<'id'>) => k('usage_objects').where('id', p('id')).delete())
  const oldIntervals = db.prepare((k, p: Params<'month'>) =>
    k('usage_intervals').where('month', '<', p('month')).select('month', 'cluster_id', 'object_id', 'from_at').limit(removedAtATime),
  )
  const removeInterval = db.prepare((k, p: Params<'month' | 'cluster_id' | 'object_id' | 'from_at'>) =>
    k('usage_intervals').where({ month: p('month'), cluster_id: p('cluster_id'), object_id: p('object_id'), from_at: p('from_at') }).delete(),
  )

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
        "select partition_name as name from information_schema.partitions where table_schema = database() and table_name = 'usage_intervals' and partition_name is not null",
        [],
      )) as unknown as readonly PartitionRow[]
      const made = rows.flatMap(({ name }) => monthPartition.exec(name)?.slice(1).map(Number) ?? [])
      const newest = Math.max(...made, 0)
      const missing = months.flatMap((month, index) => {
        const next = months[index + 1]
        return month <= newest || next === undefined ? [] : [`partition p${month} values less than (${next})`]
      })
      if (missing.length > 0) {
        await session.execute(`alter table usage_intervals reorganize partition pmax into (${missing.join(', ')}, partition pmax values less than maxvalue)`, [])
      }
      const old = made.filter((month) => month < first)
      if (old.length > 0) await session.execute(`alter table usage_intervals drop partition ${old.map((month) => `p${month}`).join(', ')}`, [])
    } finally {
      await session.close()
    }
  }

  return {
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
