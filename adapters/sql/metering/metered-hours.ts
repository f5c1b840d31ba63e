import type { MeteredHour, MeteredHourStore, UsedHours } from '../../../core/metering/hours/ports.ts'
import type { Num, Params, SqlDatabase } from '../kit/statement.ts'

interface HourRow {
  readonly dimension: string
  readonly hour_at: Num
  readonly state: MeteredHour['state']
  readonly quantity: Num
  readonly rest: Num
  readonly reason: string
}

const columns = ['dimension', 'hour_at', 'state', 'quantity', 'rest', 'reason'] as const

const hourOf = (row: HourRow): MeteredHour => ({
  dimension: row.dimension,
  hour: new Date(Number(row.hour_at)),
  state: row.state,
  quantity: Number(row.quantity),
  rest: Number(row.rest),
  reason: row.reason,
})

/** Pending hours that are read at once. */
const mostPending = 1000

/** MeteredHourStore over the table `metering_hours`. */
export const makeSqlMeteredHourStore = (database: SqlDatabase): MeteredHourStore => {
  const statements = composeHours(database)
  return {
    async newest(dimension) {
      const row = await database.first<HourRow>(statements.newest, { dimension })
      return row === undefined ? undefined : hourOf(row)
    },
    pending: async (dimension) => (await database.all<HourRow>(statements.pending, { dimension })).map(hourOf),
    async add({ dimension, hour, state, quantity, rest, reason }, at) {
      const row = { dimension, hour: hour.getTime(), state, quantity, rest, reason, at: at.getTime() }
      await database.run(statements.add, row)
    },
    async setState({ dimension, hour }, state, reason, at) {
      const binds = { dimension, hour: hour.getTime(), state, reason: reason.slice(0, 64), at: at.getTime() }
      await database.run(statements.setState, binds)
    },
    async unreported() {
      const rows = await database.all<{ reason: string; n: Num }>(statements.unreported, {})
      return Object.fromEntries(rows.map(({ reason, n }) => [reason, Number(n)]))
    },
  }
}

const composeHours = ({ prepare }: SqlDatabase) => {
  const table = 'metering_hours'
  return {
    newest: prepare((k, p: Params<'dimension'>) =>
      k(table)
        .where('dimension', p('dimension'))
        .select(...columns)
        .orderBy('hour_at', 'desc')
        .limit(1),
    ),
    pending: prepare((k, p: Params<'dimension'>) =>
      k(table)
        .where({ dimension: p('dimension'), state: 'pending' })
        .select(...columns)
        .orderBy('hour_at')
        .limit(mostPending),
    ),
    add: prepare((k, p: Params<'dimension' | 'hour' | 'state' | 'quantity' | 'rest' | 'reason' | 'at'>) =>
      k(table)
        .insert({
          dimension: p('dimension'),
          hour_at: p('hour'),
          state: p('state'),
          quantity: p('quantity'),
          rest: p('rest'),
          reason: p('reason'),
          changed_at: p('at'),
        })
        .onConflict(['dimension', 'hour_at'])
        .ignore(),
    ),
    // What was reported, or is lost, stays so.
    setState: prepare((k, p: Params<'dimension' | 'hour' | 'state' | 'reason' | 'at'>) =>
      k(table)
        .where({ dimension: p('dimension'), hour_at: p('hour'), state: 'pending' })
        .update({ state: p('state'), reason: p('reason'), changed_at: p('at') }),
    ),
    unreported: prepare((k) =>
      k(table)
        .whereNot('state', 'reported')
        .whereNot('reason', '')
        .groupBy('reason')
        .select('reason', k.raw('count(*) as n')),
    ),
  }
}

/** A silent cluster counts for this long. */
const silentSeconds = 24 * 3600

/** UsedHours over the tables of the part usage. */
export const makeSqlUsedHours = (database: SqlDatabase): UsedHours => {
  const { dialect, prepare } = database
  const [least, greatest, integer] = dialect === 'mysql' ? ['least', 'greatest', 'signed'] : ['min', 'max', 'integer']
  const seconds = `(${least}(i.cut_at, cast(? as ${integer})) - ${greatest}(i.from_at, cast(? as ${integer})))`
  const sum = (column: string): string => `coalesce(sum(${seconds} * i.${column}), 0)`
  const amounts = prepare(
    (k, p: Params<'month' | 'from' | 'to' | 'heard'>) =>
      k('usage_intervals as i')
        .join('usage_objects as o', 'o.id', 'i.object_id')
        .join('usage_clusters as c', 'c.id', 'i.cluster_id')
        .where('i.month', p('month'))
        .where('i.from_at', '<', p('to'))
        .where('i.cut_at', '>', p('from'))
        .where('c.last_heard', '>=', p('heard'))
        .where((rows) => rows.whereNull('o.trial_ends_at').orWhere('o.trial_ends_at', '<=', p('from')))
        .select(
          k.raw(`${sum('milli_cpu')} as cpu, ${sum('memory_mib')} as memory`, [p('to'), p('from'), p('to'), p('from')]),
        ),
    { int64: true },
  )
  return {
    async amountsOf(hour) {
      const from = hour.getTime() / 1000
      const row = await database.first<{ cpu: bigint | string; memory: bigint | string }>(amounts, {
        month: hour.getUTCFullYear() * 100 + hour.getUTCMonth() + 1,
        from,
        to: from + 3600,
        heard: from - silentSeconds,
      })
      return { milliCpuSeconds: BigInt(row?.cpu ?? 0), mebibyteSeconds: BigInt(row?.memory ?? 0) }
    },
  }
}
