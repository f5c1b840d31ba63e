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

/** Adds a column to `first` and sets it in three rows at a time. It rests after the second time. */
export const fillingMigration = (restMilliseconds: number): OrderedMigration => {
  let times = 0
  return {
    part: 'test',
    id: '0003-test-fill',
    summary: 'a column with a value in each row',
    phase: 'expand',
    up: async (knex) => {
      await knex.schema.alterTable('first', (table) => void table.integer('doubled').nullable())
    },
    fill: {
      table: 'first',
      rowsAtATime: 3,
      rows: async (knex, _dialect, after, upTo) => {
        await knex('first')
          .where('id', '>', after)
          .where('id', '<=', upTo)
          .update({ doubled: knex.raw('id * 2') })
        times += 1
        if (times !== 3 || restMilliseconds === 0) return
        process.stdout.write('resting')
        await sleep(restMilliseconds)
      },
    },
  }
}

// As a program it is the child that gets killed.
if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const first: OrderedMigration = {
    part: 'test',
    id: '0001-test-first',
    summary: 'made before',
    up: async () => undefined,
  }
  const slow = process.argv[3] === 'fill' ? fillingMigration : slowMigration
  await migrateUp(await openDatabase(process.argv[2]), { migrations: [first, slow(60_000)] })
}
