import type { Knex } from 'knex'
import type { PoolConnection } from 'mysql2'
import { CommitOutcomeUnknown, Unavailable } from '../../../core/kernel/failure.ts'
import type { Row } from '../kit/columns.ts'
import { clockRow, databaseNow } from '../kit/fragments.ts'
import {
  collisionAttempts,
  collisionPause,
  isCommitUnknown,
  isConnectionLost,
  isRetryable,
  toThrown,
} from '../kit/driver-errors.ts'
import { raisingRevisions } from '../authz/access-revisions.ts'
import { makeMysqlPool, type MysqlOptions, type MysqlPlace, type MysqlPool } from './mysql-pool.ts'
import {
  asRunResult,
  command,
  execute,
  executeWithin,
  shownText,
  timedOut,
  type Answer,
  type Answered,
} from './mysql-statement.ts'
import { composeNow, makeComposer, makePrepare } from './prepare.ts'
import type { RunResult, SchemaSession, SqlDatabase, SqlRunner, StatementText } from '../kit/statement.ts'
import { assertUsable, makeSurroundings, type Surroundings, type TransactionState } from './unit-of-work.ts'

interface Parts {
  readonly composer: Knex
  readonly pool: MysqlPool
  readonly surroundings: Surroundings
}

type Binds = object

/** Opens a pool of connections to MySQL or MariaDB. Connections are opened on demand. */
export const openMysqlDatabase = (place: MysqlPlace, options: MysqlOptions = {}): SqlDatabase => {
  const parts: Parts = {
    composer: makeComposer('mysql'),
    pool: makeMysqlPool(place, options),
    surroundings: makeSurroundings(),
  }
  const clock = makePrepare(parts.composer)({}, clockRow, (k) => k.raw(`select ${databaseNow('mysql')} as \`now\``))
  const first = <Row>(statement: StatementText, binds: Binds): Promise<Row | undefined> =>
    outside(parts, statement, binds, firstRow) as Promise<Row | undefined>
  const database: SqlDatabase = {
    dialect: 'mysql',
    prepare: makePrepare(parts.composer),
    all: <Row>(statement: StatementText, binds: Binds) => outside(parts, statement, binds, rows) as Promise<Row[]>,
    first,
    run: (statement: StatementText, binds: Binds) =>
      outside(parts, statement, binds, asRunResult) as Promise<RunResult>,
    query: async <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) =>
      outside(parts, composeNow(parts.composer, build), {}, rows) as Promise<Row[]>,
    transaction: (work) => transaction(parts, work),
    now: async () => (await first<Row<typeof clockRow>>(clock, {}))?.now ?? NaN,
    openSchemaSession: () => openSchemaSession(parts),
    load: () => parts.pool.load(),
    commits: () => undefined,
    refuseLost: () => undefined,
    close: () => parts.pool.close(),
  }
  return raisingRevisions(database, (build) => composeNow(parts.composer, build))
}

const rows = (answer: Answer): unknown => (Array.isArray(answer) ? answer : [])
const firstRow = (answer: Answer): unknown => (Array.isArray(answer) ? answer[0] : undefined)

const startsWithSelect = /^\s*select\b/i

/**
 * Runs a statement outside a transaction, on any free connection. A read on a dead connection is retried: after a
 * network failure all idle connections may be dead, and each is detected only on its next use. A statement that the
 * server ended because of a deadlock is retried too.
 */
const outside = (
  parts: Parts,
  statement: StatementText,
  binds: Binds,
  shape: (answer: Answer) => unknown,
): Promise<unknown> => {
  try {
    parts.surroundings.refuseInside()
  } catch (error) {
    return Promise.reject(error)
  }
  return new Promise((resolve, reject) => {
    const deadline = performance.now() + parts.pool.limits.statementTimeoutMilliseconds
    let repeats = startsWithSelect.test(statement.sql) ? parts.pool.limits.connectionLimit : 0
    let collisions = 0
    const answered: Answered = (error, answer) => {
      if (error === undefined) return resolve(shape(answer))
      // The statement was a transaction of its own, which the server has rolled back.
      if (isRetryable(error) && ++collisions < collisionAttempts && performance.now() < deadline) {
        return void setTimeout(() => attempt(parts, statement, binds, deadline, answered), collisionPause(collisions))
      }
      if (repeats > 0 && isConnectionLost(error) && performance.now() < deadline) {
        repeats--
        return attempt(parts, statement, binds, deadline, answered)
      }
      reject(
        isRetryable(error)
          ? new Unavailable('The database is busy with another change. Try again.', { cause: error })
          : toThrown(error),
      )
    }
    attempt(parts, statement, binds, deadline, answered)
  })
}

/** One timer covers everything: the wait for a connection, its setup, and the statement. */
const attempt = (parts: Parts, statement: StatementText, binds: Binds, deadline: number, answered: Answered): void => {
  const { pool } = parts
  let inUse: PoolConnection | undefined
  let isOver = false
  const timer = setTimeout(
    () => {
      isOver = true
      const late = timedOut(shownText(statement))
      if (inUse !== undefined) {
        pool.note(late)
        pool.abandon(inUse)
      }
      answered(late, [])
    },
    Math.max(deadline - performance.now(), 1),
  )
  pool.acquire((refused, connection) => {
    if (isOver) return connection === undefined ? undefined : pool.release(connection)
    if (connection === undefined) {
      clearTimeout(timer)
      return answered(refused, [])
    }
    inUse = connection
    execute(connection, statement, binds, (error, answer) => {
      if (isOver) return
      clearTimeout(timer)
      pool.note(error)
      if (error !== undefined && isConnectionLost(error)) pool.destroy(connection)
      else pool.release(connection)
      answered(error, answer)
    })
  })
}

const acquire = (pool: MysqlPool): Promise<PoolConnection> =>
  new Promise((resolve, reject) => {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      reject(timedOut('a new connection'))
    }, pool.limits.statementTimeoutMilliseconds)
    pool.acquire((error, connection) => {
      if (isOver) return connection === undefined ? undefined : pool.release(connection)
      clearTimeout(timer)
      if (connection === undefined) reject(error)
      else resolve(connection)
    })
  })

/** Awaits work on one connection, and notes whether the server answered. */
const noted = async <A>(pool: MysqlPool, work: Promise<A>): Promise<A> => {
  try {
    const answer = await work
    pool.note(undefined)
    return answer
  } catch (error) {
    pool.note(error)
    throw error
  }
}

const inTransaction = (
  pool: MysqlPool,
  connection: PoolConnection,
  sql: 'start transaction' | 'commit' | 'rollback',
): Promise<void> => noted(pool, command(connection, sql, pool.limits.statementTimeoutMilliseconds))

const begin = async (pool: MysqlPool): Promise<PoolConnection> => {
  const connection = await acquire(pool)
  try {
    await inTransaction(pool, connection, 'start transaction')
    return connection
  } catch (error) {
    pool.destroy(connection)
    throw error
  }
}

/** Nothing has happened yet, so connections that died while idle are replaced silently. */
const beginSurely = async (pool: MysqlPool): Promise<PoolConnection> => {
  const deadline = performance.now() + pool.limits.statementTimeoutMilliseconds / 2
  for (let repeats = pool.limits.connectionLimit; ; repeats--) {
    try {
      return await begin(pool)
    } catch (error) {
      if (repeats === 0 || !isConnectionLost(error) || performance.now() > deadline) throw error
    }
  }
}

const transaction = async <A>(
  { pool, surroundings, composer }: Parts,
  work: (tx: SqlRunner) => Promise<A>,
): Promise<A> => {
  surroundings.refuseInside()
  const connection = await beginSurely(pool).catch((error: unknown) => {
    throw toThrown(error)
  })
  const state: TransactionState = { open: true, broken: undefined }
  let result: A
  try {
    result = await surroundings.run(state, () => work(transactionRunner(pool, connection, composer, state)))
    if (state.broken !== undefined) throw state.broken.error
    state.open = false
  } catch (error) {
    state.open = false
    await rollBack(pool, connection, state)
    throw error
  }
  await commit(pool, connection)
  return result
}

const rollBack = async (pool: MysqlPool, connection: PoolConnection, state: TransactionState): Promise<void> => {
  if (state.broken !== undefined && isConnectionLost(state.broken.error)) return pool.abandon(connection)
  try {
    await inTransaction(pool, connection, 'rollback')
    pool.release(connection)
  } catch {
    // The server rolls back the open transaction of a lost client.
    pool.destroy(connection)
  }
}

const commit = async (pool: MysqlPool, connection: PoolConnection): Promise<void> => {
  try {
    await inTransaction(pool, connection, 'commit')
  } catch (error) {
    pool.destroy(connection)
    throw isCommitUnknown(error) ? new CommitOutcomeUnknown(error) : toThrown(error)
  }
  pool.release(connection)
}

const transactionRunner = (
  pool: MysqlPool,
  connection: PoolConnection,
  composer: Knex,
  state: TransactionState,
): SqlRunner => {
  const step = async (statement: StatementText, binds: Binds): Promise<Answer> => {
    assertUsable(state)
    try {
      return await noted(pool, executeWithin(pool.limits.statementTimeoutMilliseconds, connection, statement, binds))
    } catch (error) {
      const thrown = toThrown(error)
      // After a deadlock the server has rolled back the transaction: the next statement would commit by itself.
      if (isRetryable(error) || thrown instanceof Unavailable) state.broken = { error: thrown }
      throw thrown
    }
  }
  return {
    dialect: 'mysql',
    all: async <Row>(statement: StatementText, binds: Binds) => rows(await step(statement, binds)) as Row[],
    first: async <Row>(statement: StatementText, binds: Binds) =>
      firstRow(await step(statement, binds)) as Row | undefined,
    run: async (statement: StatementText, binds: object) => asRunResult(await step(statement, binds)),
    query: async <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) =>
      rows(await step(composeNow(composer, build), {})) as Row[],
  }
}

const openSchemaSession = async ({ pool }: Parts): Promise<SchemaSession> => {
  const connection = await pool.openUnbounded().catch((error: unknown) => {
    throw toThrown(error)
  })
  return {
    execute: (sql, binds) =>
      new Promise((resolve, reject) => {
        connection.query(sql, [...binds], (error, answer) => {
          if (error !== null) reject(toThrown(error))
          else resolve(Array.isArray(answer) ? (answer as Record<string, unknown>[]) : [])
        })
      }),
    async *rows(sql) {
      const query = connection.query({ sql, rowsAsArray: true })
      try {
        for await (const row of query.stream({ highWaterMark: 500 })) yield row as readonly unknown[]
      } catch (error) {
        throw toThrown(error)
      }
    },
    close: () => new Promise((resolve) => connection.end(() => resolve())),
  }
}
