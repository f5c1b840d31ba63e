import { sealedColumnsIn, tablesOf } from '../../adapters/sql/kit/declared-tables.ts'
import { allMigrations } from './all-migrations.ts'

/** Every declared table. */
export const allTables = tablesOf(allMigrations)

/** Every declared column of sealed bytes. */
export const sealedColumns = sealedColumnsIn(allTables)
