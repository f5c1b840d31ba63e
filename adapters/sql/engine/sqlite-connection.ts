import Database from 'better-sqlite3'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { bindValues, encodeForSqlite } from './prepare.ts'
import type { DriverRow } from '../kit/row-reader.ts'
import type { RunResult, StatementText } from '../kit/statement.ts'

/** A statement prepared on this connection. */
interface Prepared {
  readonly statement: Database.Statement<unknown[], unknown>
  readonly isReadonly: boolean
  readonly returnsRows: boolean
  readonly inserts: boolean
  readonly int64: boolean
}

/** A synchronous connection with its prepared statements. */
export interface SqliteConnection {
  readonly raw: Database.Database
  prepare(statement: StatementText): Prepared
  all(statement: StatementText, binds: object): unknown[]
  first(statement: StatementText, binds: object): unknown
  run(statement: StatementText, binds: object): RunResult
}

// Statements composed at startup number a few hundred. Those of dynamic filters evict each other.
const keptStatements = 2000

/** How long the driver waits for a lock while a file is opened, and afterwards. */
const [openingMilliseconds, waitMilliseconds] = [5000, 10]

/** The WAL grows while a connection reads an old state, as a backup does. Afterwards it is cut to this size. */
const keptWalBytes = 64 * 1024 * 1024

/**
 * Opens a file (created with mode 0600) or a private in-memory database. WAL with synchronous=NORMAL: committed data
 * survives a crash of the process. A power failure may undo the last commits before it, but does not corrupt the file.
 */
export const openSqliteConnection = (source: string | Buffer, mode: 'read-write' | 'read-only'): SqliteConnection => {
  if (typeof source === 'string' && source !== ':memory:') createUnlessPresent(source)
  // What can lock the file here is short: another process that recovers or removes the WAL.
  const raw = new Database(source, { timeout: openingMilliseconds })
  raw.pragma('journal_mode = WAL')
  raw.pragma('synchronous = NORMAL')
  raw.pragma('foreign_keys = ON')
  raw.pragma('trusted_schema = OFF')
  raw.pragma(`journal_size_limit = ${keptWalBytes}`)
  if (mode === 'read-only') raw.pragma('query_only = ON')
  // From now on a wait in the driver would stop the service. Longer waits happen between attempts.
  raw.pragma(`busy_timeout = ${waitMilliseconds}`)
  return wrapSqliteConnection(raw)
}

/**
 * A file that exists must never be opened here: to close it again would release the locks that other connections of
 * this process hold on it (POSIX). The next process that closes its connection would then remove the WAL, with all
 * later changes.
 */
const createUnlessPresent = (path: string): void => {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    accessSync(path, constants.R_OK | constants.W_OK)
  }
}

const wrapSqliteConnection = (raw: Database.Database): SqliteConnection => {
  const plain = new Map<string, Prepared>()
  const exact = new Map<string, Prepared>()
  const prepare = ({ sql, int64 }: StatementText): Prepared => {
    const known = int64 ? exact : plain
    const prepared = known.get(sql)
    if (prepared !== undefined) return prepared
    const fresh = prepareNow(raw, sql, int64)
    if (known.size >= keptStatements) forgetOldest(known)
    known.set(sql, fresh)
    return fresh
  }
  return {
    raw,
    prepare,
    all: (statement, binds) => {
      const prepared = prepare(statement)
      const values = bindValues(statement, binds, encodeForSqlite)
      if (!prepared.returnsRows) {
        prepared.statement.run(values)
        return []
      }
      const rows = prepared.statement.all(values)
      return readDriverRows(statement, rows)
    },
    first: (statement, binds) => {
      const prepared = prepare(statement)
      const row = prepared.statement.get(bindValues(statement, binds, encodeForSqlite))
      if (row !== undefined && !prepared.int64) refuseRounded(row, statement)
      return row === undefined || statement.read === undefined ? row : statement.read(row as DriverRow)
    },
    run: (statement, binds) => {
      const prepared = prepare(statement)
      const { changes, lastInsertRowid } = prepared.statement.run(bindValues(statement, binds, encodeForSqlite))
      // SQLite keeps the last inserted row id across statements that insert nothing.
      return { affected: changes, insertId: prepared.inserts && changes > 0 ? Number(lastInsertRowid) : 0 }
    },
  }
}

/** Converts rows of the driver in place. Throws for an integer that was rounded. */
export const readDriverRows = (statement: StatementText, rows: unknown[]): unknown[] => {
  const { read, int64 } = statement
  if (!int64) for (const row of rows) refuseRounded(row, statement)
  if (read !== undefined)
    for (let index = 0; index < rows.length; index += 1) rows[index] = read(rows[index] as DriverRow)
  return rows
}

const forgetOldest = (known: Map<string, Prepared>): void => {
  for (const sql of known.keys()) {
    known.delete(sql)
    return
  }
}

/**
 * SQLite looks at the value of a `?` that is compared, and plans a join again each time one is bound, which takes ten
 * times as long as most joins. It does not look at `+?`: that is the same value, of the same type, and finds the same
 * indexes. A limit stays a plain `?`, since the best plan of a page depends on it.
 */
export const withLastingPlan = (sql: string): string => sql.replaceAll(/(?<= = )\?/g, '+?')

const prepareNow = (raw: Database.Database, sql: string, int64: boolean): Prepared => {
  const statement = raw.prepare<unknown[], unknown>(withLastingPlan(sql))
  if (int64) statement.safeIntegers(true)
  return {
    statement,
    isReadonly: statement.readonly,
    returnsRows: statement.reader,
    inserts: /^\s*(insert|replace)\b/i.test(sql),
    int64,
  }
}

const refuseRounded = (row: unknown, statement: StatementText): void => {
  const values = row as Record<string, unknown>
  for (const name in values) {
    const value = values[name]
    if (typeof value === 'number' && (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER)) {
      throw new RangeError(
        `The column ${name} holds an integer beyond 2^53; compose the statement with int64: ${statement.sql}`,
      )
    }
  }
}
