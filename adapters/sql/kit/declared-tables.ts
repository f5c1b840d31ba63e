import type { Table } from './columns.ts'
import { columnsOf, tableName } from './columns.ts'
import type { PartMigrations } from './migration.ts'

/** A column of sealed bytes, by names of the database. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key of the table, which is one column. */
  readonly key: string
}

/** Returns the tables that parts declare. */
export const tablesOf = (parts: readonly Pick<PartMigrations, 'tables'>[]): readonly Table[] =>
  parts.flatMap(({ tables = {} }) => Object.values(tables))

/**
 * Returns the columns with bytes that are sealed with a key of the key ring. The first column of a declaration with
 * such a column is the primary key.
 */
export const sealedColumnsIn = (tables: readonly Table[]): readonly SealedColumn[] =>
  tables.flatMap((table) => {
    const columns = Object.values(columnsOf(table))
    const [key = { name: 'id' }] = columns
    return columns.flatMap(({ isSealed, name }) =>
      isSealed ? [{ table: tableName(table), column: name, key: key.name }] : [],
    )
  })
