import type { MeteredHourStore, UsedHours } from '../../../core/marketplace/metering/hours/ports.ts'
import { cutTo, exact, int, long, pick, selectedAs, without } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { meteringHours } from '../tables/marketplace.ts'

const hourRow = without(meteringHours, 'changedAt')

/** Pending hours that are read at once. */
const mostPending = 1000

/** MeteredHourStore over the table `metering_hours`. */
export const makeSqlMeteredHourStore = (database: SqlDatabase): MeteredHourStore => {
  const statements = composeHours(database)
  return {
    newest: (dimension) => database.first(statements.newest, { dimension }),
    pending: (dimension) => database.all(statements.pending, { dimension }),
    async add({ dimension, hour, state, quantity, rest, reason }, at) {
      await database.run(statements.add, { dimension, hour, state, quantity, rest, reason, changedAt: at })
    },
    async setState({ dimension, hour }, state, reason, at) {
      const cut = cutTo(meteringHours.reason, reason)
      await database.run(statements.setState, { dimension, hour, state, reason: cut, changedAt: at })
    },
    async unreported() {
      const rows = await database.all(statements.unreported, {})
      return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]))
    },
  }
}

const composeHours = (database: SqlDatabase) => {
  const { prepare } = database
  const table = 'metering_hours'
  return {
    newest: prepare(pick(meteringHours, 'dimension'), hourRow, (k, p) =>
      k(table).where('dimension', p.dimension).orderBy('hour_at', 'desc').limit(1),
    ),
    pending: prepare(pick(meteringHours, 'dimension'), hourRow, (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, state: 'pending' }))
        .orderBy('hour_at')
        .limit(mostPending),
    ),
    add: insertInto(database, meteringHours, {}, (insert) => insert.onConflict(['dimension', 'hour_at']).ignore()),
    // What was reported, or is lost, stays so.
    setState: prepare(pick(meteringHours, 'dimension', 'hour', 'state', 'reason', 'changedAt'), (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, hour: p.hour, state: 'pending' }))
        .update(values(meteringHours, { state: p.state, reason: p.reason, changedAt: p.changedAt })),
    ),
    unreported: prepare({}, { reason: meteringHours.reason, n: selectedAs(long()) }, (k) =>
      k(table).whereNot('state', 'reported').whereNot('reason', '').groupBy('reason').select(k.raw('count(*) as n')),
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
    { month: int(), from: int(), to: int(), heard: int() },
    { cpu: selectedAs(exact()), memory: selectedAs(exact()) },
    (k, p) =>
      k('usage_intervals as i')
        .join('usage_objects as o', 'o.id', 'i.object_id')
        .join('usage_clusters as c', 'c.id', 'i.cluster_id')
        .where('i.month', p.month)
        .where('i.from_at', '<', p.to)
        .where('i.cut_at', '>', p.from)
        .where('c.last_heard', '>=', p.heard)
        .where((rows) => rows.whereNull('o.trial_ends_at').orWhere('o.trial_ends_at', '<=', p.from))
        .select(k.raw(`${sum('milli_cpu')} as cpu, ${sum('memory_mib')} as memory`, [p.to, p.from, p.to, p.from])),
  )
  return {
    async amountsOf(hour) {
      const from = hour.getTime() / 1000
      const row = await database.first(amounts, {
        month: hour.getUTCFullYear() * 100 + hour.getUTCMonth() + 1,
        from,
        to: from + 3600,
        heard: from - silentSeconds,
      })
      return { milliCpuSeconds: row?.cpu ?? 0n, mebibyteSeconds: row?.memory ?? 0n }
    },
  }
}
