import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Columns } from '../../adapters/sql/kit/columns.ts'
import { columnsOf, tableName } from '../../adapters/sql/kit/columns.ts'
import { allTables } from '../support/all-tables.ts'

const folder = fileURLToPath(new URL('../../deploy/vitess/', import.meta.url))
const read = (name: string): string => readFileSync(`${folder}${name}`, 'utf8')

interface ColumnVindex {
  readonly column?: string
  readonly columns?: readonly string[]
  readonly name: string
}

interface VschemaTable {
  readonly type?: 'sequence' | 'reference'
  readonly column_vindexes?: readonly ColumnVindex[]
  readonly auto_increment?: { readonly column: string; readonly sequence: string }
}

/** A keyspace as Vitess describes it. */
export interface Keyspace {
  readonly sharded: boolean
  readonly vindexes?: Readonly<
    Record<
      string,
      { readonly type: string; readonly owner?: string; readonly params?: Readonly<Record<string, string>> }
    >
  >
  readonly tables: Readonly<Record<string, VschemaTable>>
}

/** The keyspaces of deploy/vitess, by name. */
export const keyspaces = {
  moorage: JSON.parse(read('moorage.vschema.json')) as Keyspace,
  moorage_accounts: JSON.parse(read('moorage_accounts.vschema.json')) as Keyspace,
}

/** Statements that make the tables of sequences and look-ups. */
export const addedTables = read('tables.sql')

/** Tables of the engine of migrations, which no part declares. */
export const undeclaredTables = ['schema_lock', 'schema_migrations', 'schema_steps']

/** The declared columns of each table, by their names in the database. */
export const declaredColumns: ReadonlyMap<string, Columns> = new Map(
  allTables.map((table) => [
    tableName(table),
    Object.fromEntries(Object.values(columnsOf(table)).map((column) => [column.name, column])),
  ]),
)

const typeOf = ({ family }: Columns[string]): Readonly<Record<string, string>> => {
  if (family === 'integer') return { type: 'INT64' }
  return family === 'bytes' ? { type: 'VARBINARY' } : { type: 'VARCHAR', collation_name: 'utf8mb4_0900_bin' }
}

/** Returns a keyspace with the columns of its tables, as the schema tracker of vtgate adds them. */
export const withColumns = (keyspace: Keyspace): object => ({
  ...keyspace,
  tables: Object.fromEntries(
    Object.entries(keyspace.tables).map(([name, table]) => {
      const columns = declaredColumns.get(name)
      if (columns === undefined) return [name, table]
      const listed = Object.entries(columns).map(([column, described]) => ({ name: column, ...typeOf(described) }))
      return [name, { ...table, columns: listed, column_list_authoritative: true }]
    }),
  ),
})
