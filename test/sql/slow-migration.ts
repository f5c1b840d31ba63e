import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migrateUp } from '../../adapters/sql/engine/migrator.ts'
import { createTable, rowId } from '../../adapters/sql/kit/schema-columns.ts'
import type { OrderedMigration } from '../../adapters/sql/kit/migration.ts'

/** Makes two tables and rests in between, where its process can be killed. */
export const slowMigration = (restMilliseconds: number): OrderedMigration => ({
  part: 'test',
  id: '0002-test-slow',
  summary: 'two tables',
  up: async (knex, dialect) => {
    await createTable(knex, dialect, 'slow_1', (table) => rowId(table, dialect))
    if (restMilliseconds > 0) process.stdout.write('resting')
    await sleep(restMilliseconds)
    await createTable(knex, dialect, 'slow_2', (table) => rowId(table, dialect))
  },
})

// As a program it is the child that gets killed.
if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const first: OrderedMigration = {
    part: 'test',
    id: '0001-test-first',
    summary: 'made before',
    up: async () => undefined,
  }
  await migrateUp(await openDatabase(process.argv[2]), { migrations: [first, slowMigration(60_000)] })
}
