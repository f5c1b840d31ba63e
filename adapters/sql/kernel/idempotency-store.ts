import type { BegunRequest, IdempotencyStore, StoredAnswer } from '../../../core/kernel/idempotency.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { databaseNow } from '../kit/fragments.ts'
import { isRetryable, isUniqueViolation } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, long, nullable, pick } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { newRow, values } from '../kit/values.ts'
import { idempotencyRecords } from '../tables/kernel.ts'
import { beatMilliseconds, deadMilliseconds } from './instance-store.ts'

/** A process that was silent for at most this long missed no heartbeat: one interval, and a second for the transfer. */
const punctualMilliseconds = beatMilliseconds + 1_000
/** Longer than the limit of any statement, so that an insert whose answer is still pending is not removed. */
const sweptMilliseconds = 6_000
/** Longer than any request works on its record. */
const sweepWindowMilliseconds = 10 * 60 * 1000
const keptMilliseconds = 48 * 3600 * 1000
const purgeSlice = 1000

/** A record `r` with the process `i` that created it. */
const recordRow = (now: string) => ({
  ...pick(aliased(idempotencyRecords, 'r'), 'id', 'requestHash', 'state', 'status', 'headers', 'body'),
  /**
   * Milliseconds since the last heartbeat of the process that created the record; undefined if it is not registered.
   */
  silence: computed(nullable(long()), `${now} - i.beat_at`),
})
type RecordRow = Row<ReturnType<typeof recordRow>>

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
      const { insertId } = await doubting(database.run(statements.insert, { keyHash, requestHash, instanceId }))
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
          const row = await database.first(statements.find, { keyHash })
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
      const row = await database.first(statements.find, { keyHash })
      return row?.state === 'answered' ? { requestHash: row.requestHash, answer: storedAnswer(row) } : undefined
    },
    answer: async (id, { status, headers, body }) => {
      open.delete(id)
      await doubting(database.run(statements.answer, { id, status, headers, body }))
    },
    settle: (id) => void open.delete(id),
    forget: async (id) => {
      open.delete(id)
      await doubting(database.run(statements.forget, { id }))
    },
    sweep: async () => {
      const since = doubtfulSince
      if (since === undefined) return
      const left = await database.all(statements.begunHere, {
        instanceId,
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
  if (Buffer.compare(row.requestHash, requestHash) !== 0) return { kind: 'mismatch' }
  if (row.state === 'answered') return { kind: 'answered', answer: storedAnswer(row) }
  const { silence } = row
  if (silence !== undefined && silence <= deadMilliseconds)
    return { kind: 'in-progress', retryAfterSeconds: retryAfter(silence) }
  return row.state === 'applied' ? { kind: 'applied-without-answer' } : 'dead'
}

/** A live process may answer at any moment. One that missed a heartbeat is considered dead after `deadMilliseconds`. */
const retryAfter = (silence: number): number =>
  silence <= punctualMilliseconds ? 1 : Math.ceil((deadMilliseconds - silence + 1) / 1000)

const storedAnswer = ({ status, headers, body }: RecordRow): StoredAnswer => {
  if (status === undefined || headers === undefined) throw new Error('An answered idempotency record holds no answer')
  return { status, headers, body }
}

type Statements = ReturnType<typeof compose>

/** Deletes in slices, so that no statement holds its locks for long. */
const purge = async (database: SqlDatabase, statements: Statements): Promise<number> => {
  let dropped = 0
  for (;;) {
    const slice = await database.first(statements.sliceEnd, { age: keptMilliseconds })
    const { affected } =
      slice === undefined
        ? await database.run(statements.purgeRest, { age: keptMilliseconds })
        : await database.run(statements.purgeUntil, { bound: slice.createdAt })
    dropped += affected
    if (slice === undefined) return dropped
  }
}

const compose = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const table = 'idempotency_records'
  const integer = db.dialect === 'mysql' ? 'signed' : 'integer'
  const older = `created_at < ${now} - cast(? as ${integer})`
  const newer = `created_at > ${now} - cast(? as ${integer})`
  const age = { age: long() }
  return {
    insert: db.prepare(pick(idempotencyRecords, 'keyHash', 'requestHash', 'instanceId'), (k, p) =>
      k(table).insert(
        newRow(idempotencyRecords, {
          keyHash: p.keyHash,
          requestHash: p.requestHash,
          instanceId: p.instanceId,
          state: 'started',
          createdAt: k.raw(now),
        }),
      ),
    ),
    find: db.prepare(pick(idempotencyRecords, 'keyHash'), recordRow(now), (k, p) =>
      k(`${table} as r`).leftJoin('instances as i', 'i.id', 'r.instance_id').where('r.key_hash', p.keyHash),
    ),
    // Narrowed by age first: few records are created within the window.
    begunHere: db.prepare(
      { ...pick(idempotencyRecords, 'instanceId'), ...age, bound: long() },
      pick(idempotencyRecords, 'id'),
      (k, p) =>
        k(table)
          .whereRaw(newer, [p.bound])
          .whereRaw(older, [p.age])
          .where(values(idempotencyRecords, { instanceId: p.instanceId, state: 'started' })),
    ),
    answer: db.prepare(pick(idempotencyRecords, 'id', 'status', 'headers', 'body'), (k, p) =>
      k(table)
        .where('id', p.id)
        .update(values(idempotencyRecords, { state: 'answered', status: p.status, headers: p.headers, body: p.body })),
    ),
    forget: db.prepare(pick(idempotencyRecords, 'id'), (k, p) =>
      k(table)
        .where(values(idempotencyRecords, { id: p.id, state: 'started' }))
        .delete(),
    ),
    sliceEnd: db.prepare(age, pick(idempotencyRecords, 'createdAt'), (k, p) =>
      k(table)
        .whereRaw(older, [p.age])
        .orderBy('created_at')
        .limit(1)
        .offset(purgeSlice - 1),
    ),
    purgeUntil: db.prepare({ bound: idempotencyRecords.createdAt }, (k, p) =>
      k(table).where('created_at', '<=', p.bound).delete(),
    ),
    purgeRest: db.prepare(age, (k, p) => k(table).whereRaw(older, [p.age]).delete()),
  }
}
