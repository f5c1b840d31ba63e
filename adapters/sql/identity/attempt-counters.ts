import type { AttemptCount, AttemptCounters } from '../../../core/identity/attempt-ports.ts'
import { databaseNow } from '../kit/fragments.ts'
import { isRetryable } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { long, pick, selectedAs } from '../kit/columns.ts'
import { identityAttempts } from '../tables/identity.ts'
import type { Slot, Slots, SqlDatabase } from '../kit/statement.ts'

const places = { key: identityAttempts.keyHash, points: identityAttempts.points, duration: long() }
const countRow = { points: identityAttempts.points, left: selectedAs(long()) }

const range = { from: identityAttempts.keyHash, to: identityAttempts.keyHash }
/** The rest of a key after its prefix. */
const [lowest, highest] = [Buffer.alloc(16, 0x00), Buffer.alloc(16, 0xff)]

const tries = 3
const purgeSlice = 1000

/** Counters in the table `identity_attempts`, outside any other transaction. All times are the database's. */
export const makeSqlAttemptCounters = (database: SqlDatabase): AttemptCounters => {
  const statements = compose(database)

  /** The row is locked until it has been read, so that two concurrent additions never return the same sum. */
  const addOnce = (key: Uint8Array, points: number, duration: number): Promise<AttemptCount> =>
    database.transaction(async (tx) => {
      await tx.run(statements.add, { key, points, duration })
      const row = await tx.first(statements.find, { key })
      return row === undefined ? { points, millisecondsLeft: duration } : countOf(row)
    })

  return {
    find: async (key) => {
      const row = await database.first(statements.find, { key })
      return row === undefined ? undefined : countOf(row)
    },
    add: async (key, points, milliseconds) => {
      for (let left = tries; ; left--) {
        try {
          return await addOnce(key, points, Math.round(milliseconds))
        } catch (error) {
          if (left <= 1 || !isRetryable(error)) throw error
        }
      }
    },
    put: async (key, points, milliseconds) => {
      await database.run(statements.put, { key, points, duration: Math.round(milliseconds) })
    },
    remove: async (key) => (await database.run(statements.remove, { key })).affected > 0,
    removeAll: async (prefix, points) => {
      const range = { from: Buffer.concat([prefix, lowest]), to: Buffer.concat([prefix, highest]) }
      const found = await database.first(statements.reached, { ...range, points })
      await database.run(statements.removeRange, range)
      return found !== undefined
    },
    purge: async () => (await database.run(statements.purge, {})).affected,
  }
}

const countOf = (row: Row<typeof countRow>): AttemptCount => ({ points: row.points, millisecondsLeft: row.left })

const compose = ({ dialect, prepare }: SqlDatabase) => {
  const table = 'identity_attempts'
  const now = databaseNow(dialect)
  const integer = `cast(? as ${dialect === 'mysql' ? 'signed' : 'integer'})`
  const row = `insert into ${table} (key_hash, points, expires_at) values (?, ${integer}, ${now} + ${integer})`
  const row3 = (p: Slots<typeof places>): Slot[] => [p.key, p.points, p.duration]
  // MySQL assigns columns from left to right: points, which reads the old expiry, comes first.
  const onConflict = (points: string, expiry: string): string =>
    dialect === 'mysql'
      ? `on duplicate key update points = ${points}, expires_at = ${expiry}`
      : `on conflict (key_hash) do update set points = ${points}, expires_at = ${expiry}`
  const given = (column: string): string => (dialect === 'mysql' ? `values(${column})` : `excluded.${column}`)
  const isOver = `${table}.expires_at <= ${now}`
  const sum = `case when ${isOver} then ${given('points')} else ${table}.points + ${given('points')} end`
  const expiry = `case when ${isOver} then ${given('expires_at')} else ${table}.expires_at end`
  return {
    find: prepare({ key: places.key }, countRow, (k, p) =>
      k(table)
        .where('key_hash', p.key)
        .whereRaw(`expires_at > ${now}`)
        .select(k.raw(`expires_at - ${now} as ??`, ['left'])),
    ),
    add: prepare(places, (k, p) => k.raw(`${row} ${onConflict(sum, expiry)}`, row3(p))),
    put: prepare(places, (k, p) => k.raw(`${row} ${onConflict(given('points'), given('expires_at'))}`, row3(p))),
    remove: prepare({ key: places.key }, (k, p) =>
      k(table).where('key_hash', p.key).whereRaw(`expires_at > ${now}`).delete(),
    ),
    reached: prepare({ ...range, points: identityAttempts.points }, pick(identityAttempts, 'points'), (k, p) =>
      k(table)
        .whereBetween('key_hash', [p.from, p.to])
        .where('points', '>=', p.points)
        .whereRaw(`expires_at > ${now}`)
        .limit(1),
    ),
    removeRange: prepare(range, (k, p) => k(table).whereBetween('key_hash', [p.from, p.to]).delete()),
    purge: prepare({}, (k) =>
      dialect === 'mysql'
        ? k.raw(`delete from ${table} where expires_at <= ${now} order by expires_at limit ${purgeSlice}`)
        : k.raw(
            `delete from ${table} where key_hash in (select key_hash from ${table} where expires_at <= ` +
              `${now} order by expires_at limit ${purgeSlice})`,
          ),
    ),
  }
}
