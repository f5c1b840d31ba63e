import type { MeteredHourStore, UsedHours } from '../../../core/marketplace/metering/hours/ports.ts'
import { cutTo, exact, int, long, pick, selectedAs, without } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { meteringHours } from '../tables/marketplace.ts'

const hourRow = without(meteringHours, 'changedAt')

/** Hours that are read at once. */
const mostHours = 1000

const lateColumns = pick(meteringHours, 'seen', 'counted', 'late', 'lost', 'difference', 'differences', 'added')

const sumRow = {
  ...pick(meteringHours, 'subscriptionRef', 'dimension'),
  unit: selectedAs(long()),
  metered: selectedAs(long()),
  lost: selectedAs(long()),
  pending: selectedAs(long()),
  lateAmount: selectedAs(exact()),
  lostAmount: selectedAs(exact()),
}

/** MeteredHourStore over the table `metering_hours`. */
export const makeSqlMeteredHourStore = (database: SqlDatabase): MeteredHourStore => {
  const statements = composeHours(database)
  return {
    newest: (dimension) => database.first(statements.newest, { dimension }),
    pending: (dimension) => database.all(statements.pending, { dimension }),
    async add(hour, at) {
      await database.run(statements.add, { ...hour, changedAt: at })
    },
    listSince: (dimension, since) => database.all(statements.listSince, { dimension, hour: since }),
    async saveLate(hour, at) {
      await database.run(statements.saveLate, { ...hour, changedAt: at })
      if (!hour.isMailed) await database.run(statements.unmail, { dimension: hour.dimension, hour: hour.hour })
    },
    sums: (from, to) => database.all(statements.sums, { from, to }),
    listUnmailed: () => database.all(statements.listUnmailed, {}),
    async setMailed(hours) {
      for (const { dimension, hour, lost } of hours) await database.run(statements.setMailed, { dimension, hour, lost })
    },
    async setState({ dimension, hour }, state, reason, at) {
      const cut = cutTo(meteringHours.reason, reason)
      const isMailed = state !== 'lost'
      await database.run(statements.setState, { dimension, hour, state, reason: cut, changedAt: at, isMailed })
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
        .limit(mostHours),
    ),
    add: insertInto(database, meteringHours, {}, (insert) => insert.onConflict(['dimension', 'hour_at']).ignore()),
    listSince: prepare(pick(meteringHours, 'dimension', 'hour'), hourRow, (k, p) =>
      k(table).where('dimension', p.dimension).where('hour_at', '>=', p.hour).orderBy('hour_at').limit(mostHours),
    ),
    saveLate: prepare({ ...pick(meteringHours, 'dimension', 'hour', 'changedAt'), ...lateColumns }, (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, hour: p.hour }))
        .update({ ...assigned(lateColumns, p), changed_at: p.changedAt }),
    ),
    unmail: prepare(pick(meteringHours, 'dimension', 'hour'), (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, hour: p.hour }))
        .update(values(meteringHours, { isMailed: false })),
    ),
    sums: prepare({ from: meteringHours.hour, to: meteringHours.hour }, sumRow, (k, p) =>
      k(table)
        .where('hour_at', '>=', p.from)
        .where('hour_at', '<', p.to)
        .groupBy('subscription_ref', 'dimension')
        .orderBy(['subscription_ref', 'dimension'])
        .select(
          // An earlier release fixes hours without a unit, and without late usage.
          k.raw('max(unit) as unit'),
          k.raw(`sum(case when state = 'reported' then quantity else 0 end) + sum(added) as metered`),
          k.raw(`sum(case when state = 'lost' then quantity else 0 end) as lost`),
          k.raw(`sum(case when state = 'pending' then quantity else 0 end) + sum(difference) as pending`),
          k.raw('sum(late) as late_amount'),
          k.raw('sum(lost) as lost_amount'),
        ),
    ),
    listUnmailed: prepare({}, hourRow, (k) => k(table).where('is_mailed', 0).orderBy('hour_at').limit(mostHours)),
    setMailed: prepare(pick(meteringHours, 'dimension', 'hour', 'lost'), (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, hour: p.hour, lost: p.lost }))
        .update(values(meteringHours, { isMailed: true })),
    ),
    // What was reported, or is lost, stays so.
    setState: prepare(pick(meteringHours, 'dimension', 'hour', 'state', 'reason', 'changedAt', 'isMailed'), (k, p) =>
      k(table)
        .where(values(meteringHours, { dimension: p.dimension, hour: p.hour, state: 'pending' }))
        .update(
          values(meteringHours, {
            state: p.state,
            reason: p.reason,
            changedAt: p.changedAt,
            isMailed: p.isMailed,
          }),
        ),
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
  const isMysql = dialect === 'mysql'
  const [least, greatest, integer] = isMysql ? ['least', 'greatest', 'signed'] : ['min', 'max', 'integer']
  const div = (dividend: string): string => (isMysql ? `((${dividend}) div 3600)` : `((${dividend}) / 3600)`)
  // A trial ends with the hour in which it ends; a silent cluster counts in each hour that begins within a day.
  const trialEnd = `${div('coalesce(o.trial_ends_at, 0) + 3599')} * 3600`
  const silentEnd = `${div(`c.last_heard + ${silentSeconds}`)} * 3600 + 3600`
  const until = `${least}(i.cut_at, cast(? as ${integer}), ${silentEnd})`
  const since = `${greatest}(i.from_at, cast(? as ${integer}), ${trialEnd})`
  const seconds = `${greatest}(0, ${until} - ${since})`
  const sum = (column: string): string => `coalesce(sum(${seconds} * i.${column}), 0)`
  const amounts = prepare(
    { month: int(), from: int(), to: int(), heard: int() },
    { cpu: selectedAs(exact()), memory: selectedAs(exact()) },
    (k, p) =>
      // The planner of Vitess fails for a sum over columns of three tables, unless each is joined by its shard.
      k('usage_clusters as c')
        .join('usage_objects as o', 'o.cluster_id', 'c.id')
        .join('usage_intervals as i', (on) => on.on('i.object_id', 'o.id').andOn('i.cluster_id', 'c.id'))
        .where('i.month', p.month)
        .where('i.from_at', '<', p.to)
        .where('i.cut_at', '>', p.from)
        .where('c.last_heard', '>=', p.heard)
        .select(k.raw(`${sum('milli_cpu')} as cpu, ${sum('memory_mib')} as memory`, [p.to, p.from, p.to, p.from])),
  )
  return {
    async amountsBetween(start, end) {
      const from = start.getTime() / 1000
      const row = await database.first(amounts, {
        month: start.getUTCFullYear() * 100 + start.getUTCMonth() + 1,
        from,
        to: end.getTime() / 1000,
        heard: from - silentSeconds,
      })
      return { milliCpuSeconds: row?.cpu ?? 0n, mebibyteSeconds: row?.memory ?? 0n }
    },
  }
}
