import { closeSync, openSync, rmSync } from 'node:fs'
import { openSqliteDatabase } from '../../engine/sqlite-database.ts'
import { openSqliteConnection } from '../../engine/sqlite-connection.ts'
import type { SchemaSession, SqlDatabase } from '../../kit/statement.ts'

/** What a column holds. `any` is a column of another part's table with a type of its own, such as a fraction. */
type ColumnKind = 'integer' | 'text' | 'bytes' | 'any'

export interface StoredColumn {
  readonly name: string
  readonly kind: ColumnKind
}

/** A table as both engines have it. */
export interface StoredTable {
  readonly name: string
  readonly columns: readonly StoredColumn[]
  /** The number of the next row, for tables that the database numbers. */
  readonly nextNumber?: number
}

/** A value of a column, the same in both engines. */
export type StoredValue = string | number | bigint | null | Uint8Array
export type StoredRow = readonly StoredValue[]

/**
 * Tables whose rows are not part of a backup: processes and sign-ins do not outlive the deployment that they belong to,
 * and the schema is recorded in the manifest. Tokens and second factors are part of it.
 */
export const leftOutTables: ReadonlySet<string> = new Set([
  'schema_lock',
  'schema_migrations',
  'schema_steps',
  'instances',
  'sessions',
  'remembered_logins',
  // Migrations make its rows. What it counts is remembered by processes only.
  'access_revisions',
])

/** A database as it was at one moment, whatever is written to it afterwards. */
export interface Snapshot {
  /** In the order of their names. */
  readonly tables: readonly StoredTable[]
  /** Yields every row of a table, in no particular order. One table is read at a time. */
  rows(table: StoredTable): AsyncIterable<StoredRow>
  close(): Promise<void>
}

export interface SnapshotOptions {
  /** A file that does not exist, to which SQLite is copied. It is removed by `close`. */
  readonly copy: string
  /** Called while SQLite is copied, with the part that is done, from 0 to 1. */
  readonly onCopied?: (part: number) => void
}

/**
 * Opens a snapshot while others write. SQLite is copied by its online backup: within one read transaction, so that
 * writes do not start it again. MySQL and MariaDB read within one transaction with a consistent snapshot.
 */
export const openSnapshot = (database: SqlDatabase, options: SnapshotOptions): Promise<Snapshot> =>
  database.dialect === 'sqlite' ? snapshotOfSqlite(database, options) : snapshotOfMysql(database)

/** Pages that are copied before the process does something else. */
const pagesAtOnce = 1024

const snapshotOfSqlite = async (database: SqlDatabase, { copy, onCopied }: SnapshotOptions): Promise<Snapshot> => {
  const [main] = await database.query<{ readonly file: string }>((k) => k.raw('pragma database_list'))
  const file = main?.file ?? ''
  if (file === '') throw new Error('A database in memory has no backup.')
  closeSync(openSync(copy, 'wx', 0o600))
  const removeCopy = (): void => {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${copy}${end}`, { force: true })
  }
  const { raw } = openSqliteConnection(file, 'read-only')
  try {
    raw.exec('begin')
    raw.prepare('select count(*) from sqlite_master').get()
    await raw.backup(copy, {
      progress: ({ totalPages, remainingPages }) => {
        if (totalPages > 0) onCopied?.((totalPages - remainingPages) / totalPages)
        return pagesAtOnce
      },
    })
  } catch (error) {
    removeCopy()
    throw error
  } finally {
    raw.close()
  }
  const copied = openSqliteDatabase(copy)
  const session = await copied.openSchemaSession()
  const close = async (): Promise<void> => {
    await session.close()
    await copied.close()
    removeCopy()
  }
  try {
    return { tables: await readTables(session, 'sqlite'), rows: (table) => storedRows(session, 'sqlite', table), close }
  } catch (error) {
    await close()
    throw error
  }
}

const snapshotOfMysql = async (database: SqlDatabase): Promise<Snapshot> => {
  await refuseVitess(database)
  const session = await database.openSchemaSession()
  try {
    await session.execute('set session transaction isolation level repeatable read', [])
    await session.execute('start transaction with consistent snapshot, read only', [])
    return {
      tables: await readTables(session, 'mysql'),
      rows: (table) => storedRows(session, 'mysql', table),
      close: () => session.close(),
    }
  } catch (error) {
    await session.close()
    throw error
  }
}

/**
 * Throws for a target of Vitess, such as `@primary`. Its shards have no instant in common, a session sees the tables of
 * one keyspace, and tables that are dropped cannot be made again.
 */
export const refuseVitess = async (database: SqlDatabase): Promise<void> => {
  if (database.dialect === 'sqlite') return
  const [selected] = await database.query<{ readonly name: string | null }>((k) => k.raw('select database() as name'))
  if (/@(?:primary|replica|rdonly)$/i.test(selected?.name ?? ''))
    throw new Error('This command does not work on Vitess. Use the backups of Vitess.')
}

export type Dialect = SqlDatabase['dialect']

export const quoted = (dialect: Dialect, name: string): string =>
  dialect === 'mysql' ? `\`${name.replaceAll('`', '``')}\`` : `"${name.replaceAll('"', '""')}"`

/** Returns the names of the tables of a database, in order. */
export const tableNames = async (session: SchemaSession, dialect: Dialect): Promise<readonly string[]> => {
  const rows =
    dialect === 'mysql'
      ? await session.execute(
          'select table_name as name from information_schema.tables ' +
            "where table_schema = database() and table_type = 'BASE TABLE'",
          [],
        )
      : await session.execute(
          "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
          [],
        )
  return rows.map(({ name }) => String(name)).sort()
}

/** Returns the tables of a database that a backup has, in the order of their names, as its schema describes them. */
export const readTables = async (session: SchemaSession, dialect: Dialect): Promise<readonly StoredTable[]> => {
  const numbers = await nextNumbers(session, dialect)
  const tables: StoredTable[] = []
  for (const name of await tableNames(session, dialect)) {
    if (leftOutTables.has(name)) continue
    const nextNumber = numbers.get(name)
    const columns = await readColumns(session, dialect, name)
    tables.push(nextNumber === undefined ? { name, columns } : { name, columns, nextNumber })
  }
  return tables
}

/** In the order of the names, since migrations may add them in another order. Computed columns are left out. */
const readColumns = async (
  session: SchemaSession,
  dialect: Dialect,
  table: string,
): Promise<readonly StoredColumn[]> => {
  const rows =
    dialect === 'mysql'
      ? await session.execute(
          'select column_name as name, data_type as type from information_schema.columns where table_schema = database() ' +
            "and table_name = ? and coalesce(generation_expression, '') = ''",
          [table],
        )
      : await session.execute('select name, type from pragma_table_xinfo(?) where hidden = 0', [table])
  return rows
    .map(({ name, type }) => ({ name: String(name), kind: kindOf(String(type)) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Returns the kind of a column by its type in either engine. */
const kindOf = (type: string): ColumnKind => {
  if (/int|bool/i.test(type)) return 'integer'
  if (/char|text|clob|json|enum/i.test(type)) return 'text'
  return /blob|binary/i.test(type) ? 'bytes' : 'any'
}

/**
 * Returns the number of the next row of each table that the database numbers. They only grow, so a later read is right.
 */
const nextNumbers = async (session: SchemaSession, dialect: Dialect): Promise<ReadonlyMap<string, number>> => {
  if (dialect === 'mysql') {
    const rows = await session.execute(
      'select table_name as name, auto_increment as next from information_schema.tables ' +
        'where table_schema = database() and auto_increment is not null',
      [],
    )
    return new Map(rows.map(({ name, next }) => [String(name), Number(next)]))
  }
  const numbered = await session.execute("select name from sqlite_master where name = 'sqlite_sequence'", [])
  if (numbered.length === 0) return new Map()
  const rows = await session.execute('select name, seq from sqlite_sequence', [])
  return new Map(rows.map(({ name, seq }) => [String(name), Number(seq) + 1]))
}

const storedRows = async function* (
  session: SchemaSession,
  dialect: Dialect,
  { name, columns }: StoredTable,
): AsyncIterable<StoredRow> {
  const list = columns.map((column) => quoted(dialect, column.name)).join(', ')
  for await (const row of session.rows(`select ${list} from ${quoted(dialect, name)}`))
    yield row.map((value, at) => storedValue(value, columns[at], name))
}

/** Throws for a value of another kind than its column, which the other engine would refuse or change. */
const storedValue = (value: unknown, column: StoredColumn | undefined, table: string): StoredValue => {
  const kind = column?.kind ?? 'any'
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return fits(kind, 'integer', column, table, exactly(value))
  if (typeof value === 'number') return fits(kind, 'integer', column, table, value)
  if (value instanceof Uint8Array) return fits(kind, 'bytes', column, table, value)
  const text = String(value)
  // MySQL returns an integer beyond 2^53 as text.
  return kind === 'integer' && /^-?\d+$/.test(text) ? exactly(BigInt(text)) : fits(kind, 'text', column, table, text)
}

const exactly = (value: bigint): number | bigint => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

const fits = (
  kind: ColumnKind,
  found: ColumnKind,
  column: StoredColumn | undefined,
  table: string,
  value: StoredValue,
): StoredValue => {
  if (kind === found || kind === 'any') return value
  throw new Error(`The column ${table}.${column?.name} has a value that is not of its type (${kind}).`)
}
