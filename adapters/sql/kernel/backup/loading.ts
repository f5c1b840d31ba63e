import type { MigrationLedger } from '../../engine/migration-ledger.ts'
import { makeMigrationLedger, newHolder, restoreMark } from '../../engine/migration-ledger.ts'
import type { Bind } from '../../kit/columns.ts'
import type { SchemaSession, SqlDatabase } from '../../kit/statement.ts'
import type { Dialect, StoredRow, StoredTable } from './snapshot.ts'
import { leftOutTables, quoted, readTables, refuseVitess, tableNames } from './snapshot.ts'

/** A database that an earlier restore, or nothing, has written to. */
type TargetState =
  | { readonly kind: 'empty'; readonly migrations: readonly string[] }
  /** A restore was begun and not finished. */
  | { readonly kind: 'unfinished' }
  /** `table` has rows. */
  | { readonly kind: 'used'; readonly table: string }

/** Fills an empty database with rows of a backup. Foreign keys are not checked before the end. */
export interface Loading {
  /** Looks what is in the database. Changes nothing. */
  state(): Promise<TargetState>
  /**
   * Marks the database as one whose restore is not finished: no service starts on it. Removes what an unfinished
   * restore has left.
   */
  begin(): Promise<void>
  /** Removes every table. Until that is done, no service starts on the database. */
  empty(): Promise<void>
  /** Returns the tables as the schema describes them now. */
  tables(): Promise<readonly StoredTable[]>
  /** Removes the rows that migrations have made, which are in the archive too. */
  clear(table: StoredTable): Promise<void>
  /** Inserts rows in one transaction. */
  insert(table: StoredTable, rows: readonly StoredRow[]): Promise<void>
  /** Gives the next row of each table the number that it would have had, so that no number is used twice. */
  setNumbers(tables: readonly StoredTable[]): Promise<void>
  /** Ends all leases. Their fences stay, so that they continue to grow. */
  endLeases(): Promise<void>
  count(table: string): Promise<number>
  /** Returns each foreign key with rows that name a row which does not exist, as `table.column`. */
  brokenReferences(): Promise<readonly string[]>
  /** Removes the mark: the database is whole. */
  finish(): Promise<void>
  close(): Promise<void>
}

/** Fewer than the values that a statement of SQLite may have. */
const mostValues = 30_000
const mostRows = 500
/** Servers take 16 MiB in a statement unless they are configured otherwise. In characters of rows. */
const longestStatement = 4 * 1024 * 1024

export const openLoading = async (database: SqlDatabase): Promise<Loading> => {
  const { dialect } = database
  await refuseVitess(database)
  const session = await database.openSchemaSession()
  await session.execute(dialect === 'mysql' ? 'set session foreign_key_checks = 0' : 'pragma foreign_keys = off', [])
  // In KiB. Rows of an index in no order would be read from the file again and again.
  if (dialect === 'sqlite') await session.execute('pragma cache_size = -131072', [])
  const ledger = makeMigrationLedger(session, dialect)
  return {
    state: () => stateOf(session, dialect),
    async begin() {
      if ((await stateOf(session, dialect)).kind === 'unfinished') await dropAll(session, dialect)
      await mark(ledger)
    },
    async empty() {
      if ((await stateOf(session, dialect)).kind !== 'unfinished') await mark(ledger)
      await dropAll(session, dialect)
    },
    tables: () => readTables(session, dialect),
    async clear(table) {
      await session.execute(`delete from ${quoted(dialect, table.name)}`, [])
    },
    insert: (table, rows) => insertRows(session, dialect, table, rows),
    setNumbers: (tables) => setNumbers(session, dialect, tables),
    async endLeases() {
      await session.execute('update leases set until = 0', [])
    },
    count: async (table) => countOf(session, dialect, table),
    brokenReferences: () => brokenReferences(session, dialect),
    async finish() {
      await session.execute('delete from schema_steps where id = ?', [restoreMark.id])
      await ledger.abandon(restoreMark.id)
    },
    close: () => session.close(),
  }
}

const mark = async (ledger: MigrationLedger): Promise<void> => {
  await ledger.create()
  await ledger.begin(restoreMark, newHolder(), false)
  await ledger.finish(restoreMark.id, 'done')
}

const countOf = async (session: SchemaSession, dialect: Dialect, table: string): Promise<number> =>
  Number((await session.execute(`select count(*) as n from ${quoted(dialect, table)}`, []))[0]?.['n'])

const ledgerTables = ['schema_steps', 'schema_lock', 'schema_migrations'] as const

const stateOf = async (session: SchemaSession, dialect: Dialect): Promise<TargetState> => {
  const names = await tableNames(session, dialect)
  const migrations = names.includes('schema_migrations')
    ? (await session.execute('select id from schema_migrations', [])).map(({ id }) => String(id))
    : []
  if (migrations.includes(restoreMark.id)) return { kind: 'unfinished' }
  for (const table of names) {
    if (leftOutTables.has(table)) continue
    const found = await session.execute(`select 1 from ${quoted(dialect, table)} limit 1`, [])
    if (found.length > 0) return { kind: 'used', table }
  }
  return { kind: 'empty', migrations }
}

/** The ledger goes last: a process that is killed here leaves the mark. */
const dropAll = async (session: SchemaSession, dialect: Dialect): Promise<void> => {
  const names = await tableNames(session, dialect)
  for (const name of [...names.filter((each) => !ledgerTables.some((table) => table === each)), ...ledgerTables])
    await session.execute(`drop table if exists ${quoted(dialect, name)}`, [])
}

const insertRows = async (
  session: SchemaSession,
  dialect: Dialect,
  { name, columns }: StoredTable,
  rows: readonly StoredRow[],
): Promise<void> => {
  const list = columns.map((column) => quoted(dialect, column.name)).join(', ')
  const tuple = `(${columns.map(() => '?').join(', ')})`
  const most = Math.min(mostRows, Math.floor(mostValues / Math.max(columns.length, 1)))
  await session.execute(dialect === 'mysql' ? 'start transaction' : 'begin immediate', [])
  try {
    for (let at = 0; at < rows.length;) {
      const some = rowsOfStatement(rows, at, most)
      const sql = `insert into ${quoted(dialect, name)} (${list}) values ${some.map(() => tuple).join(', ')}`
      await session.execute(
        sql,
        some.flat().map((value) => bound(dialect, value)),
      )
      at += some.length
    }
    await session.execute('commit', [])
  } catch (error) {
    // After some failures, such as a full disk, the transaction has ended already.
    await session.execute('rollback', []).catch(() => undefined)
    throw error
  }
}

const rowsOfStatement = (rows: readonly StoredRow[], from: number, most: number): readonly StoredRow[] => {
  let length = 0
  let to = from
  do {
    length += (rows[to] ?? []).reduce<number>((sum, value) => sum + sizeOf(value), 0)
    to += 1
  } while (to < rows.length && to - from < most && length < longestStatement)
  return rows.slice(from, to)
}

const sizeOf = (value: StoredRow[number]): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length * 2 : 8

/** The driver of MySQL writes values into the text of a statement, and takes a large integer as text. */
const bound = (dialect: Dialect, value: StoredRow[number]): Bind => {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return dialect === 'mysql' && typeof value === 'bigint' ? value.toString() : value
}

const setNumbers = async (session: SchemaSession, dialect: Dialect, tables: readonly StoredTable[]): Promise<void> => {
  for (const { name, nextNumber } of tables) {
    if (nextNumber === undefined) continue
    if (dialect === 'mysql') {
      await session.execute(`alter table ${quoted(dialect, name)} auto_increment = ${nextNumber}`, [])
      continue
    }
    await session.execute('delete from sqlite_sequence where name = ?', [name])
    await session.execute('insert into sqlite_sequence (name, seq) values (?, ?)', [name, nextNumber - 1])
  }
}

const brokenReferences = async (session: SchemaSession, dialect: Dialect): Promise<readonly string[]> => {
  if (dialect === 'sqlite') {
    const rows = await session.execute('select distinct "table" as name, parent from pragma_foreign_key_check', [])
    return rows.map(({ name, parent }) => `${String(name)} (names a row of ${String(parent)})`)
  }
  const keys = await session.execute(
    'select table_name as child, column_name as field, referenced_table_name as parent, referenced_column_name as ' +
      'target from information_schema.key_column_usage where table_schema = database() and referenced_table_name is ' +
      'not null and referenced_table_schema = database() and position_in_unique_constraint = 1 order by 1, 2',
    [],
  )
  const broken: string[] = []
  for (const key of keys) {
    const [child, field, parent, target] = [key['child'], key['field'], key['parent'], key['target']].map((word) =>
      quoted(dialect, String(word)),
    )
    const found = await session.execute(
      `select 1 from ${child} c left join ${parent} p on p.${target} = c.${field} ` +
        `where c.${field} is not null and p.${target} is null limit 1`,
      [],
    )
    if (found.length > 0) broken.push(`${String(key['child'])} (names a row of ${String(key['parent'])})`)
  }
  return broken
}
