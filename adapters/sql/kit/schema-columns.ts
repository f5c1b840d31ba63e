import type { Knex } from 'knex'

export type Dialect = 'sqlite' | 'mysql'

/** What the runner of migrations tells about the server (`knex.userParams`). */
export interface SchemaParameters {
  /**
   * On MySQL and MariaDB: the collation that compares utf8mb4 by bytes and, where there is one, does not pad with
   * spaces.
   */
  readonly collation?: string
}

/** Creates a table with the settings that every table shares: InnoDB, utf8mb4 compared by bytes. */
export const createTable = async (
  knex: Knex,
  dialect: Dialect,
  name: string,
  columns: (table: Knex.CreateTableBuilder) => void,
): Promise<void> => {
  const { collation = 'utf8mb4_bin' } = (knex.userParams ?? {}) as SchemaParameters
  await knex.schema.createTable(name, (table) => {
    if (dialect === 'mysql') {
      table.engine('InnoDB')
      table.charset('utf8mb4')
      table.collate(collation)
    }
    columns(table)
  })
}

/** A row number in 1..2^53-1. */
export const rowId = (table: Knex.CreateTableBuilder, dialect: Dialect): void => {
  if (dialect === 'sqlite') table.increments('id')
  else table.bigIncrements('id')
}

/**
 * An ASCII slug or identifier compared by bytes. It has the table's character set: a column in ASCII would refuse to be
 * compared with what a stranger asks for, where the answer is that there is no such row.
 */
export const asciiText = (
  table: Knex.CreateTableBuilder,
  _dialect: Dialect,
  name: string,
  length: number,
): Knex.ColumnBuilder => table.string(name, length)

/** Bytes of fixed length, as of a hash. */
export const fixedBytes = (
  table: Knex.CreateTableBuilder,
  dialect: Dialect,
  name: string,
  length: number,
): Knex.ColumnBuilder =>
  dialect === 'mysql' ? table.specificType(name, `binary(${length})`) : table.specificType(name, 'blob')

/** Bytes of any length up to 16 MiB. */
export const longBytes = (table: Knex.CreateTableBuilder, dialect: Dialect, name: string): Knex.ColumnBuilder =>
  dialect === 'mysql' ? table.specificType(name, 'mediumblob') : table.specificType(name, 'blob')

/** An instant: milliseconds since the epoch, UTC. An integer has no time zone to get wrong, in any driver. */
export const instant = (table: Knex.CreateTableBuilder, name: string): Knex.ColumnBuilder => table.bigInteger(name)
