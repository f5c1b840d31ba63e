import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { encodeForSqlite, composeNow, makeComposer, makePrepare } from './prepare.ts'
import { clockRow, databaseNow } from '../kit/fragments.ts'
import type { Row } from '../kit/columns.ts'
import { isUnavailable, toThrown } from '../kit/driver-errors.ts'
import { pauseInTransaction } from './event-loop-turns.ts'
import type { OpenedFile } from './threads/checkpoint-thread.ts'
import { raisingRevisions } from '../authz/access-revisions.ts'
import {
  makeCheckpoints,
  noCheckpoints,
  type CheckpointOptions,
  type Checkpoints,
} from './threads/sqlite-checkpoints.ts'
import { makeLongReads, noLongReads, type LongReads } from './threads/sqlite-long-reads.ts'
import { openSqliteConnection, type SqliteConnection } from './sqlite-connection.ts'
import type { RunResult, SchemaSession, SqlDatabase, SqlRunner, StatementText } from '../kit/statement.ts'
import { assertUsable, makeSurroundings, type Surroundings, type TransactionState } from './unit-of-work.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import { makeWaitQueue, stillMilliseconds, takePlace, type WaitingAccount, type WaitQueue } from './wait-queue.ts'

export interface SqliteOptions {
  /**
   * How long a statement waits for others, including those of other processes; 30 seconds by default. A service sets
   * the limit that its callers see.
   */
  readonly writerWaitMilliseconds?: number
  readonly checkpoints?: CheckpointOptions
  /** Accounts that wait for a change get their turns one after the other. */
  readonly account?: WaitingAccount
}

interface Parts {
  readonly composer: Knex
  /** The only connection that changes anything. It may be used only while holding `turn`. */
  readonly writer: SqliteConnection
  /** For reads outside transactions. It is the writer if the database is in memory. */
  readonly reader: SqliteConnection
  readonly turn: WaitQueue
  readonly surroundings: Surroundings
  readonly writerWaitMilliseconds: number
  readonly path: string
  /** Throws `Unavailable` if nothing that is written now would remain. */
  readonly refuseLost: () => void
  readonly checkpoints: Checkpoints
  readonly longReads: LongReads
}

/** Opens `path`, `:memory:`, or an in-memory copy of a serialized database. */
export const openSqliteDatabase = (source: string | Buffer, options: SqliteOptions = {}): SqlDatabase => {
  const inMemory = typeof source !== 'string' || source === ':memory:'
  const writer = openSqliteConnection(source, 'read-write')
  const writerWaitMilliseconds = options.writerWaitMilliseconds ?? 30_000
  const composer = makeComposer('sqlite')
  const busy = 'The database is busy with other changes. Try again.'
  const turn = makeWaitQueue(1, writerWaitMilliseconds, busy, definedFields({ account: options.account }))
  const reader = inMemory ? writer : openSqliteConnection(source, 'read-only')
  const file = inMemory ? undefined : openedFile(source)
  const readers = makeWaitQueue(1, writerWaitMilliseconds, busyReads, definedFields({ account: options.account }))
  const database = makeSqliteDatabase({
    composer,
    writer,
    reader,
    turn,
    surroundings: makeSurroundings(),
    writerWaitMilliseconds,
    path: inMemory ? ':memory:' : source,
    refuseLost: file === undefined ? () => undefined : makeRefuseLost(file),
    checkpoints: file === undefined ? noCheckpoints : makeCheckpoints(writer, turn, file, options.checkpoints),
    longReads: file === undefined ? noLongReads : makeLongReads(file, readers),
  })
  return raisingRevisions(database, (build) => composeNow(composer, build))
}

const busyReads = 'The database is busy with other long reads. Try again.'

const openedFile = (path: string): OpenedFile => {
  const { dev, ino } = statSync(path)
  return { path, device: dev, inode: ino }
}

/**
 * A file that was removed or replaced while it is open still takes every change, and is gone when this process ends. So
 * each change looks first whether the path still leads to the file; that takes two microseconds.
 */
const makeRefuseLost = (file: OpenedFile): (() => void) => {
  return () => {
    const now = statSync(file.path, { throwIfNoEntry: false })
    if (now?.ino === file.inode && now.dev === file.device) return
    // Clients read this: it does not name the path.
    throw new Unavailable(
      `The file of the database was ${now === undefined ? 'removed' : 'replaced'} while it was open. An ` +
        'operator must restore it and start the service again.',
    )
  }
}

const makeSqliteDatabase = (parts: Parts): SqlDatabase => {
  const { composer } = parts
  const prepare = makePrepare(composer)
  const clock = prepare({}, clockRow, (k) => k.raw(`select ${databaseNow('sqlite')} as now`))
  const all = async <Row>(statement: StatementText, binds: object): Promise<Row[]> =>
    outside(parts, statement, binds, 'all') as Promise<Row[]>
  return {
    dialect: 'sqlite',
    prepare,
    all,
    first: async <Row>(statement: StatementText, binds: object) =>
      outside(parts, statement, binds, 'first') as Promise<Row | undefined>,
    run: async (statement: StatementText, binds: object) =>
      outside(parts, statement, binds, 'run') as Promise<RunResult>,
    query: <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) => all<Row>(composeNow(composer, build), {}),
    transaction: (work) => transaction(parts, work),
    now: async () => (await all<Row<typeof clockRow>>(clock, {}))[0]?.now ?? NaN,
    load: () => parts.turn.load(),
    commits: makeCommits(parts),
    refuseLost: parts.refuseLost,
    openSchemaSession: () => openSchemaSession(parts),
    close: async () => {
      await parts.longReads.close()
      await parts.checkpoints.close()
      if (parts.reader !== parts.writer) parts.reader.raw.close()
      parts.writer.raw.close()
    },
  }
}

/** A connection sees the commits of all others. In memory there is no other. */
const makeCommits = ({ reader, writer }: Parts): (() => number | undefined) => {
  if (reader === writer) return () => undefined
  const version = reader.raw.prepare('pragma data_version').pluck()
  return () => {
    try {
      return version.get() as number
    } catch (error) {
      if (isBusy(error)) return undefined
      throw toThrown(error)
    }
  }
}

/** Runs a statement outside a transaction: a read at once, a change in its turn. */
const outside = (parts: Parts, statement: StatementText, binds: object, how: 'all' | 'first' | 'run'): unknown => {
  parts.surroundings.refuseInside()
  const { reader, writer, turn, checkpoints, longReads } = parts
  const step = (connection: SqliteConnection): unknown => connection[how](statement, binds)
  if (reader !== writer && isRead(parts, statement)) {
    if (how !== 'run' && longReads.takes(statement)) return readElsewhere(parts, statement, binds, how)
    const beganMs = performance.now()
    const rows = readNow(parts, step)
    longReads.took(statement, performance.now() - beganMs)
    return rows
  }
  if (!turn.tryTake()) return waitAndChange(parts, step)
  try {
    parts.refuseLost()
    const result = step(writer)
    checkpoints.committed()
    turn.release(undefined)
    return result
  } catch (error) {
    if (isBusy(error)) return changeWhenFree(parts, step, undefined)
    turn.release(undefined)
    throw toThrown(error)
  }
}

/** Reports whether a statement only reads. One that cannot be prepared now is prepared in the turn of changes. */
const isRead = ({ reader }: Parts, statement: StatementText): boolean => {
  try {
    return reader.prepare(statement).isReadonly
  } catch (error) {
    if (isBusy(error)) return false
    throw toThrown(error)
  }
}

/** Runs a read on the thread of long reads. */
const readElsewhere = async (
  parts: Parts,
  statement: StatementText,
  binds: object,
  how: 'all' | 'first',
): Promise<unknown> => {
  try {
    const rows = await parts.longReads.read(statement, binds)
    return how === 'all' ? rows : rows[0]
  } catch (error) {
    if (isBusy(error)) return untilNotBusy(parts, () => parts.reader[how](statement, binds))
    throw toThrown(error)
  }
}

/**
 * Runs a read. It waits for no change, but while another process recovers the file after a crash, or removes the WAL
 * as the last one that closes it.
 */
const readNow = <A>(parts: Parts, step: (connection: SqliteConnection) => A): A | Promise<A> => {
  try {
    return step(parts.reader)
  } catch (error) {
    if (isBusy(error)) return untilNotBusy(parts, () => step(parts.reader))
    throw toThrown(error)
  }
}

const waitAndChange = async <A>(parts: Parts, step: (connection: SqliteConnection) => A): Promise<A> => {
  const account = await takePlace(parts.turn)
  return changeWhenFree(parts, step, account)
}

/** Runs a change. The caller holds the turn for the account. The turn is released here. */
const changeWhenFree = async <A>(
  parts: Parts,
  step: (connection: SqliteConnection) => A,
  account: AccountKey,
): Promise<A> => {
  try {
    parts.refuseLost()
    const result = await untilNotBusy(parts, () => step(parts.writer))
    parts.checkpoints.committed()
    return result
  } finally {
    parts.turn.release(account)
  }
}

/** Reports whether another connection has locked the file, be it for a change, a recovery or a checkpoint. */
const isBusy = (error: unknown): boolean =>
  String((error as { code?: unknown } | undefined)?.code).startsWith('SQLITE_BUSY')

/**
 * Retries while another connection has locked the file. The event loop is free between the attempts. The holder of the
 * lock may be in this process, and stand still with it: the wait is longer by that time, as that of a `WaitQueue`.
 */
const untilNotBusy = async <A>(parts: Parts, step: () => A): Promise<A> => {
  let deadline = performance.now() + parts.writerWaitMilliseconds
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw toThrown(error)
    }
    const pause = 5 + Math.random() * 20
    const due = performance.now() + pause
    await sleep(pause)
    const late = performance.now() - due
    if (late > stillMilliseconds)
      deadline = Math.max(deadline, performance.now() + Math.min(late, parts.writerWaitMilliseconds))
  }
}

const transaction = async <A>(parts: Parts, work: (tx: SqlRunner) => Promise<A>): Promise<A> => {
  const { raw } = parts.writer
  parts.surroundings.refuseInside()
  const account = await takePlace(parts.turn)
  const state: TransactionState = { open: true, broken: undefined }
  try {
    parts.refuseLost()
    await untilNotBusy(parts, () => raw.exec('begin immediate'))
    try {
      const result = await parts.surroundings.run(state, () => work(transactionRunner(parts, state)))
      if (state.broken !== undefined) throw state.broken.error
      state.open = false
      await untilNotBusy(parts, () => raw.exec('commit'))
      parts.checkpoints.committed()
      return result
    } finally {
      state.open = false
      if (raw.inTransaction) raw.exec('rollback')
    }
  } finally {
    parts.turn.release(account)
  }
}

const transactionRunner = ({ writer, composer }: Parts, state: TransactionState): SqlRunner => {
  const step = async <A>(run: () => A): Promise<A> => {
    const pause = pauseInTransaction()
    if (pause !== undefined) await pause
    assertUsable(state)
    try {
      return run()
    } catch (error) {
      const thrown = toThrown(error)
      // A full disk or a failed read ends the whole transaction. Later statements must not run outside it.
      if (!writer.raw.inTransaction || isUnavailable(error)) state.broken = { error: thrown }
      throw thrown
    }
  }
  return {
    dialect: 'sqlite',
    all: async <Row>(statement: StatementText, binds: object) => step(() => writer.all(statement, binds) as Row[]),
    first: async <Row>(statement: StatementText, binds: object) =>
      step(() => writer.first(statement, binds) as Row | undefined),
    run: async (statement: StatementText, binds: object) => step(() => writer.run(statement, binds)),
    query: async <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) =>
      step(() => writer.all(composeNow(composer, build), {}) as Row[]),
  }
}

/** In memory there is only one connection, whose turn the session keeps until it is closed. */
const openSchemaSession = async (parts: Parts): Promise<SchemaSession> => {
  const shared = parts.reader === parts.writer
  const account = shared ? await takePlace(parts.turn) : undefined
  const connection = shared ? parts.writer : openSqliteConnection(parts.path, 'read-write')
  return {
    execute: async (sql, binds) => {
      const statement = connection.raw.prepare<unknown[], Record<string, unknown>>(sql)
      const values = binds.map(encodeForSqlite)
      return untilNotBusy(parts, () => {
        if (statement.reader) return statement.all(values)
        statement.run(values)
        return []
      })
    },
    async *rows(sql) {
      yield* connection.raw.prepare<[], readonly unknown[]>(sql).raw().safeIntegers().iterate()
    },
    close: async () => {
      if (shared) parts.turn.release(account)
      else connection.raw.close()
    },
  }
}
