import type { Knex } from 'knex'

type Dialect = 'sqlite' | 'mysql'

/** Creates a table with the settings that every table shares: InnoDB, utf8mb4 compared by bytes. */
export const createTable = async (
  knex: Knex,
  dialect: Dialect,
  name: string,
  columns: (table: Knex.CreateTableBuilder) => void,
): Promise<void> => {
  await knex.schema.createTable(name, (table) => {
    if (dialect === 'mysql') {
      table.engine('InnoDB')
      table.charset('utf8mb4')
      table.collate('utf8mb4_bin')
    }
    columns(table)
  })
}

/** A row number in 1..2^53-1. */
export const rowId = (table: Knex.CreateTableBuilder, dialect: Dialect): void => {
  if (dialect === 'sqlite') table.increments('id')
  else table.bigIncrements('id')
}

/** An ASCII slug or identifier compared by bytes. */
export const asciiText = (table: Knex.CreateTableBuilder, dialect: Dialect, name: string, length: number): Knex.ColumnBuilder =>
  dialect === 'mysql' ? table.specificType(name, `varchar(${length}) character set ascii collate ascii_bin`) : table.string(name, length)

/** Bytes of fixed length, as of a hash. */
export const fixedBytes = (table: Knex.CreateTableBuilder, dialect: Dialect, name: string, length: number): Knex.ColumnBuilder =>
  dialect === 'mysql' ? table.specificType(name, `binary(${length})`) : table.specificType(name, 'blob')

/** Bytes of any length up to 16 MiB. */
export const longBytes = (table: Knex.CreateTableBuilder, dialect: Dialect, name: string): Knex.ColumnBuilder =>
  dialect === 'mysql' ? table.specificType(name, 'mediumblob') : table.specificType(name, 'blob')

/** An instant: milliseconds since the epoch, UTC. An integer has no time zone to get wrong, in any driver. */
export const instant = (table: Knex.CreateTableBuilder, name: string): Knex.ColumnBuilder => table.bigInteger(name)
