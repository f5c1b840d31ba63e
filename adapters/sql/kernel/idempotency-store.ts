import type { Knex } from 'knex'
import type { BegunRequest, IdempotencyStore, StoredAnswer } from '../../../core/kernel/idempotency.ts'
import { Unavailable } from '../../../core/kernel/unavailable.ts'
import { databaseNow } from '../database-clock.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlDatabase } from '../statement.ts'

const takeOverMilliseconds = 2 * 60 * 1000
const keptMilliseconds = 48 * 3600 * 1000
const purgeSlice = 1000

interface RecordRow {
  readonly id: number
  readonly request_hash: Uint8Array
  readonly state: 'started' | 'applied' | 'answered'
  readonly status: number | null
  readonly headers: string | null
  readonly body: Uint8Array | null
  readonly age: number
}

type Place = (name: 'id' | 'keyHash' | 'requestHash' | 'status' | 'headers' | 'body' | 'age' | 'bound') => Knex.Value

/** Idempotency records in the table `idempotency_records`; the unique key hash decides who is first. */
export const makeSqlIdempotencyStore = (database: SqlDatabase): IdempotencyStore => {
  const statements = compose(database)
  const insert = async (keyHash: Uint8Array, requestHash: Uint8Array): Promise<number | undefined> => {
    try {
      return (await database.run(statements.insert, { keyHash, requestHash })).insertId
    } catch (error) {
      if (isUniqueViolation(error)) return undefined
      throw error
    }
  }
  return {
    begin: async (keyHash, requestHash) => {
      // A record may vanish between the two statements, or a dead one be taken away: then the next round inserts.
      for (let round = 0; round < 5; round++) {
        const id = await insert(keyHash, requestHash)
        if (id !== undefined) return { kind: 'fresh', id }
        const row = await database.first<RecordRow>(statements.find, { keyHash })
        if (row === undefined) continue
        const known = judge(row, requestHash)
        if (known !== 'dead') return known
        await database.run(statements.dropDead, { id: row.id, age: takeOverMilliseconds })
      }
      throw new Unavailable('Other requests with this Idempotency-Key are in the way. Try again.')
    },
    answer: async (id, { status, headers, body }) => {
      await database.run(statements.answer, { id, status, headers: JSON.stringify(headers), body: body ?? null })
    },
    forget: async (id) => {
      await database.run(statements.forget, { id })
    },
    purge: () => purge(database, statements),
  }
}

const judge = (row: RecordRow, requestHash: Uint8Array): BegunRequest | 'dead' => {
  if (Buffer.compare(row.request_hash, requestHash) !== 0) return { kind: 'mismatch' }
  if (row.state === 'applied') return { kind: 'applied-without-answer' }
  if (row.state === 'answered') return { kind: 'answered', answer: storedAnswer(row) }
  return row.age > takeOverMilliseconds ? 'dead' : { kind: 'in-progress' }
}

const storedAnswer = ({ status, headers, body }: RecordRow): StoredAnswer => {
  if (status === null || headers === null) throw new Error('An answered idempotency record holds no answer')
  return { status, headers: JSON.parse(headers) as Record<string, string>, body: body ?? undefined }
}

type Statements = ReturnType<typeof compose>

/** In slices, so that no statement holds its locks for long. */
const purge = async (database: SqlDatabase, statements: Statements): Promise<number> => {
  let dropped = 0
  for (;;) {
    const slice = await database.first<{ created_at: number }>(statements.sliceEnd, { age: keptMilliseconds })
    const { affected } = slice === undefined
      ? await database.run(statements.purgeRest, { age: keptMilliseconds })
      : await database.run(statements.purgeUntil, { bound: slice.created_at })
    dropped += affected
    if (slice === undefined) return dropped
  }
}

const compose = ({ dialect, prepare }: SqlDatabase) => {
  const now = databaseNow(dialect)
  const table = 'idempotency_records'
  const older = `created_at < ${now} - cast(? as ${dialect === 'mysql' ? 'signed' : 'integer'})`
  const age = (p: Place): Knex.RawBinding[] => [p('age') as Knex.RawBinding]
  return {
    insert: prepare((k, p: Place) =>
      k(table).insert({ key_hash: p('keyHash'), request_hash: p('requestHash'), state: 'started', created_at: k.raw(now) })),
    find: prepare((k, p: Place) =>
      k(table).where('key_hash', p('keyHash'))
        .select('id', 'request_hash', 'state', 'status', 'headers', 'body', k.raw(`${now} - created_at as age`))),
    dropDead: prepare((k, p: Place) => k(table).where({ id: p('id'), state: 'started' }).whereRaw(older, age(p)).delete()),
    answer: prepare((k, p: Place) =>
      k(table).where('id', p('id')).whereIn('state', ['started', 'applied'])
        .update({ state: 'answered', status: p('status'), headers: p('headers'), body: p('body') })),
    forget: prepare((k, p: Place) => k(table).where({ id: p('id'), state: 'started' }).delete()),
    sliceEnd: prepare((k, p: Place) =>
      k(table).whereRaw(older, age(p)).orderBy('created_at').limit(1).offset(purgeSlice - 1).select('created_at')),
    purgeUntil: prepare((k, p: Place) => k(table).where('created_at', '<=', p('bound')).delete()),
    purgeRest: prepare((k, p: Place) => k(table).whereRaw(older, age(p)).delete()),
  }
}
