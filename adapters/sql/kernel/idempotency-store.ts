import type { Knex } from 'knex'
import type { BegunRequest, IdempotencyStore, StoredAnswer } from '../../../core/kernel/idempotency.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { databaseNow } from '../kit/fragments.ts'
import { isRetryable, isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { beatMilliseconds, deadMilliseconds } from './instance-store.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

/** A process that was silent for at most this long missed no heartbeat: one interval, and a second for the transfer. */
const punctualMilliseconds = beatMilliseconds + 1_000
/** Longer than the limit of any statement, so that an insert whose answer is still pending is not removed. */
const sweptMilliseconds = 6_000
/** Longer than any request works on its record. */
const sweepWindowMilliseconds = 10 * 60 * 1000
const keptMilliseconds = 48 * 3600 * 1000
const purgeSlice = 1000

interface RecordRow {
  readonly id: number
  readonly request_hash: Uint8Array
  readonly state: 'started' | 'applied' | 'answered'
  readonly status: number | null
  readonly headers: string | null
  readonly body: Uint8Array | null
  /** Milliseconds since the last heartbeat of the process that created the record; null if it is not registered. */
  readonly silence: number | null
}

type Place = (
  name: 'id' | 'keyHash' | 'requestHash' | 'instance' | 'status' | 'headers' | 'body' | 'age' | 'bound',
) => Knex.Value

/** Idempotency records in the table `idempotency_records`. The unique key hash decides which request is first. */
export const makeSqlIdempotencyStore = (database: SqlDatabase, instanceId: string): IdempotencyStore => {
  const statements = compose(database)
  /** The records of the current requests of this process. */
  const open = new Set<number>()
  /** When a statement last failed that may have left a started record. */
  let doubtfulSince: number | undefined
  const doubting = async <A>(step: Promise<A>): Promise<A> => {
    try {
      return await step
    } catch (error) {
      if (!isUniqueViolation(error)) doubtfulSince = performance.now()
      throw error
    }
  }
  const insert = async (keyHash: Uint8Array, requestHash: Uint8Array): Promise<number | undefined> => {
    try {
      const { insertId } = await doubting(
        database.run(statements.insert, { keyHash, requestHash, instance: instanceId }),
      )
      open.add(insertId)
      return insertId
    } catch (error) {
      if (isUniqueViolation(error)) return undefined
      throw error
    }
  }
  return {
    begin: async (keyHash, requestHash) => {
      // A record may disappear between the two statements, or a dead one may be removed. The next round then inserts.
      for (let round = 0; round < 5; round++) {
        try {
          const id = await insert(keyHash, requestHash)
          if (id !== undefined) return { kind: 'fresh', id }
          const row = await database.first<RecordRow>(statements.find, { keyHash })
          if (row === undefined) continue
          const known = judge(row, requestHash)
          if (known !== 'dead') return known
          await database.run(statements.forget, { id: row.id })
        } catch (error) {
          if (!isDeadlock(error)) throw error
        }
      }
      throw new Unavailable('Other requests with this Idempotency-Key are in progress. Try again.')
    },
    find: async (keyHash) => {
      const row = await database.first<RecordRow>(statements.find, { keyHash })
      return row?.state === 'answered' ? { requestHash: row.request_hash, answer: storedAnswer(row) } : undefined
    },
    answer: async (id, { status, headers, body }) => {
      open.delete(id)
      await doubting(database.run(statements.answer, { id, status, headers: toWireJson(headers), body: body ?? null }))
    },
    settle: (id) => void open.delete(id),
    forget: async (id) => {
      open.delete(id)
      await doubting(database.run(statements.forget, { id }))
    },
    sweep: async () => {
      const since = doubtfulSince
      if (since === undefined) return
      const left = await database.all<{ id: number }>(statements.begunHere, {
        instance: instanceId,
        age: sweptMilliseconds,
        bound: sweepWindowMilliseconds,
      })
      for (const { id } of left) if (!open.has(id)) await database.run(statements.forget, { id })
      // A record created just before the failure is old enough only after this time.
      if (doubtfulSince === since && performance.now() - since > 2 * sweptMilliseconds) doubtfulSince = undefined
    },
    purge: () => purge(database, statements),
  }
}

/**
 * MySQL may end all but one of the inserts and deletes of one key that run at the same time. What is ended has changed
 * nothing.
 */
const isDeadlock = (error: unknown): boolean => error instanceof Unavailable && isRetryable(error.cause)

const judge = (row: RecordRow, requestHash: Uint8Array): BegunRequest | 'dead' => {
  if (Buffer.compare(row.request_hash, requestHash) !== 0) return { kind: 'mismatch' }
  if (row.state === 'answered') return { kind: 'answered', answer: storedAnswer(row) }
  const { silence } = row
  if (silence !== null && silence <= deadMilliseconds)
    return { kind: 'in-progress', retryAfterSeconds: retryAfter(silence) }
  return row.state === 'applied' ? { kind: 'applied-without-answer' } : 'dead'
}

/** A live process may answer at any moment. One that missed a heartbeat is considered dead after `deadMilliseconds`. */
const retryAfter = (silence: number): number =>
  silence <= punctualMilliseconds ? 1 : Math.ceil((deadMilliseconds - silence + 1) / 1000)

const storedAnswer = ({ status, headers, body }: RecordRow): StoredAnswer => {
  if (status === null || headers === null) throw new Error('An answered idempotency record holds no answer')
  return { status, headers: JSON.parse(headers) as Record<string, string>, body: body ?? undefined }
}

type Statements = ReturnType<typeof compose>

/** Deletes in slices, so that no statement holds its locks for long. */
const purge = async (database: SqlDatabase, statements: Statements): Promise<number> => {
  let dropped = 0
  for (;;) {
    const slice = await database.first<{ created_at: number }>(statements.sliceEnd, { age: keptMilliseconds })
    const { affected } =
      slice === undefined
        ? await database.run(statements.purgeRest, { age: keptMilliseconds })
        : await database.run(statements.purgeUntil, { bound: slice.created_at })
    dropped += affected
    if (slice === undefined) return dropped
  }
}

const compose = ({ dialect, prepare }: SqlDatabase) => {
  const now = databaseNow(dialect)
  const table = 'idempotency_records'
  const integer = dialect === 'mysql' ? 'signed' : 'integer'
  const older = `created_at < ${now} - cast(? as ${integer})`
  const newer = `created_at > ${now} - cast(? as ${integer})`
  const bound = (p: Place): Knex.RawBinding[] => [p('bound') as Knex.RawBinding]
  const age = (p: Place): Knex.RawBinding[] => [p('age') as Knex.RawBinding]
  return {
    insert: prepare((k, p: Place) =>
      k(table).insert({
        key_hash: p('keyHash'),
        request_hash: p('requestHash'),
        instance_id: p('instance'),
        state: 'started',
        created_at: k.raw(now),
      }),
    ),
    find: prepare((k, p: Place) =>
      k(`${table} as r`)
        .leftJoin('instances as i', 'i.id', 'r.instance_id')
        .where('r.key_hash', p('keyHash'))
        .select(
          'r.id',
          'r.request_hash',
          'r.state',
          'r.status',
          'r.headers',
          'r.body',
          k.raw(`${now} - i.beat_at as silence`),
        ),
    ),
    // Narrowed by age first: few records are created within the window.
    begunHere: prepare((k, p: Place) =>
      k(table)
        .whereRaw(newer, bound(p))
        .whereRaw(older, age(p))
        .where({ instance_id: p('instance'), state: 'started' })
        .select('id'),
    ),
    answer: prepare((k, p: Place) =>
      k(table)
        .where('id', p('id'))
        .update({ state: 'answered', status: p('status'), headers: p('headers'), body: p('body') }),
    ),
    forget: prepare((k, p: Place) =>
      k(table)
        .where({ id: p('id'), state: 'started' })
        .delete(),
    ),
    sliceEnd: prepare((k, p: Place) =>
      k(table)
        .whereRaw(older, age(p))
        .orderBy('created_at')
        .limit(1)
        .offset(purgeSlice - 1)
        .select('created_at'),
    ),
    purgeUntil: prepare((k, p: Place) => k(table).where('created_at', '<=', p('bound')).delete()),
    purgeRest: prepare((k, p: Place) => k(table).whereRaw(older, age(p)).delete()),
  }
}
