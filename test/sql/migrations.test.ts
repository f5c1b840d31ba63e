import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { migrateUp, migrationPlan, migrationStatus, unlockMigrations } from '../../adapters/sql/engine/migrator.ts'
import { allMigrations } from '../../adapters/sql/migrations/all-migrations.ts'
import { createTable, rowId } from '../../adapters/sql/migrations/columns.ts'
import type { Migration } from '../../adapters/sql/migrations/migration.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { slowMigration } from './slow-migration.ts'
import { emptyMysqlUrl } from '../support/databases.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-migrations-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const urls = new WeakMap<SqlDatabase, string>()
const emptyUrls: Record<string, () => Promise<string>> = {
  'sqlite file': async () => `sqlite:${join(folder, `${files++}.sqlite`)}`,
  ...(isSwitchedOff('mariadb') ? {} : { mysql: emptyMysqlUrl }),
}

/** A test on an empty database, which the body may open several times, as several instances do. */
const onEmpty = (title: string, body: (t: ExecutionContext, open: () => Promise<SqlDatabase>, dialect: string) => Promise<void>): void => {
  for (const [name, emptyUrl] of Object.entries(emptyUrls)) {
    test(`${name}: ${title}`, async (t) => {
      const url = await emptyUrl()
      const opened: SqlDatabase[] = []
      const open = async () => {
        const database = await openDatabase(url)
        opened.push(database)
        urls.set(database, url)
        return database
      }
      try {
        await body(t, open, name === 'mysql' ? 'mysql' : 'sqlite')
      } finally {
        for (const database of opened) await database.close()
      }
    })
  }
}

const makeFirst: Migration = {
  id: '0001-test-first',
  summary: 'a table',
  up: async (knex, dialect) => {
    await createTable(knex, dialect, 'first', (table) => {
      rowId(table, dialect)
      table.string('name', 40).notNullable().unique()
    })
  },
}

/** Fails at its second statement until `mend` is called. */
const makeBreaking = () => {
  let isBroken = true
  const migration: Migration = {
    id: '0002-test-second',
    summary: 'another table and a column',
    up: async (knex, dialect) => {
      await createTable(knex, dialect, 'second', (table) => rowId(table, dialect))
      if (isBroken) await knex.raw('alter table missing add column a integer')
      else await knex.raw('alter table first add column a integer')
      await knex.raw("insert into first (name, a) values ('from the migration', 1)")
    },
  }
  return { migration, mend: () => { isBroken = false } }
}

const ids = (migrations: readonly { readonly id: string }[]) => migrations.map(({ id }) => id)

/** Migrations that widen a column and do nothing else: SQLite knows no width. */
const widenOnly = ['0027-tasks-response-ids']

onEmpty('all migrations run once, in order', async (t, open, dialect) => {
  const database = await open()
  const plan = await migrationPlan(database)
  t.deepEqual(ids(plan), ids(allMigrations))
  t.deepEqual(ids(plan.filter(({ statements }) => statements.length === 0)), dialect === 'mysql' ? [] : widenOnly)
  t.true((await migrationStatus(database)).every(({ state }) => state === 'pending'))
  t.deepEqual(await migrateUp(database), ids(allMigrations))
  t.deepEqual(await migrateUp(database), [])
  t.deepEqual(await migrationPlan(database), [])
  const status = await migrationStatus(database)
  t.true(status.every(({ state, finishedAt }) => state === 'done' && Math.abs(finishedAt!.getTime() - Date.now()) < 60_000))
})

onEmpty('the plan is what runs', async (t, open) => {
  const database = await open()
  const [planned] = await migrationPlan(database, [makeFirst])
  const session = await database.openSchemaSession()
  for (const statement of planned!.statements) await session.execute(statement, [])
  await session.execute("insert into first (name) values ('a')", [])
  await t.throwsAsync(session.execute("insert into first (name) values ('a')", []))
  await session.close()
})

onEmpty('instances that start at once migrate once', async (t, open) => {
  const databases = [await open(), await open(), await open()]
  const applied = await Promise.all(databases.map((database) => migrateUp(database)))
  t.deepEqual(applied.flat().toSorted(), ids(allMigrations))
  await Promise.all(databases.map((database) => database.first(database.prepare((k) => k('accounts').limit(1).select('*')), {})))
})

onEmpty('a migration keeps the rows that are there', async (t, open, dialect) => {
  const database = await open()
  await migrateUp(database, { migrations: [makeFirst] })
  await database.query((k) => k('first').insert({ name: 'Ümlaut ' }))
  const { migration, mend } = makeBreaking()
  mend()
  t.deepEqual(await migrateUp(database, { migrations: [makeFirst, migration] }), [migration.id])
  t.deepEqual(await database.query((k) => k('first').orderBy('id').select('name', 'a')), [
    { name: 'Ümlaut ', a: null },
    { name: 'from the migration', a: 1 },
  ])
  t.is(dialect, database.dialect)
})

onEmpty('a database of a newer version is refused', async (t, open) => {
  const database = await open()
  const { migration, mend } = makeBreaking()
  mend()
  await migrateUp(database, { migrations: [makeFirst, migration] })
  const refused = { instanceOf: MigrationRefused, message: /newer Moorage.*0002-test-second/ }
  await t.throwsAsync(migrateUp(database, { migrations: [makeFirst] }), refused)
  await t.throwsAsync(migrationPlan(database, [makeFirst]), refused)
  t.like((await migrationStatus(database, [makeFirst])).at(-1), { id: migration.id, state: 'unknown' })
})

onEmpty('a migration that fails says what to do, and is taken up again', async (t, open, dialect) => {
  const database = await open()
  const { migration, mend } = makeBreaking()
  const migrations = [makeFirst, migration]
  if (dialect === 'sqlite') {
    await t.throwsAsync(migrateUp(database, { migrations }), { instanceOf: MigrationRefused, message: /failed and was undone/ })
    t.deepEqual((await migrationStatus(database, migrations)).map(({ state }) => state), ['done', 'pending'])
    t.deepEqual(await database.query((k) => k('sqlite_master').where('name', 'second').select('name')), [])
  } else {
    await t.throwsAsync(migrateUp(database, { migrations }), { instanceOf: MigrationRefused, message: /failed at its statement 2.*migrate unlock/ })
    t.like((await migrationStatus(database, migrations))[1], { state: 'failed', statementsDone: 1 })
    // It does not try again behind anybody's back.
    await t.throwsAsync(migrateUp(await open(), { migrations }), { instanceOf: MigrationRefused, message: /0002-test-second.*failed after 1/ })
    t.regex(await unlockMigrations(database), /0002-test-second/)
  }
  mend()
  t.deepEqual(await migrateUp(database, { migrations }), [migration.id])
  t.deepEqual(await database.query((k) => k('first').select('name', 'a')), [{ name: 'from the migration', a: 1 }])
})

onEmpty('a statement that was carried out but not counted does no harm', async (t, open, dialect) => {
  const database = await open()
  await migrateUp(database, { migrations: [makeFirst] })
  if (dialect === 'sqlite') {
    t.pass('there a migration is one transaction')
    return
  }
  // What kill -9 leaves behind between a change of the schema and its count.
  const session = await database.openSchemaSession()
  await session.execute('create table second (id bigint unsigned not null auto_increment primary key)', [])
  await session.execute("insert into schema_migrations select '0002-test-second', sha2('0002-test-second', 256), 'started', 0, 'dead', 1, null", [])
  await session.execute("update schema_lock set holder = 'dead', beat_at = 1", [])
  await session.close()
  const { migration, mend } = makeBreaking()
  mend()
  const migrations = [makeFirst, migration]
  await t.throwsAsync(migrateUp(database, { migrations }), { instanceOf: MigrationRefused, message: /was interrupted after 0/ })
  await unlockMigrations(database)
  t.deepEqual(await migrateUp(database, { migrations }), [migration.id])
})

onEmpty('a lock is believed while its holder shows life, and no longer', async (t, open, dialect) => {
  const database = await open()
  if (dialect === 'sqlite') {
    t.pass('there the file itself is the lock')
    return
  }
  await migrateUp(database, { migrations: [makeFirst] })
  const session = await database.openSchemaSession()
  const hold = (silentMilliseconds: number) => session.execute(
    'update schema_lock set holder = ?, beat_at = unix_timestamp(now(3)) * 1000 - ?',
    ['other', silentMilliseconds])
  const { migration, mend } = makeBreaking()
  mend()
  const migrations = [makeFirst, migration]
  await hold(0)
  await t.throwsAsync(migrateUp(database, { migrations, waitMilliseconds: 300 }), { instanceOf: MigrationRefused, message: /other has been migrating/ })
  await t.throwsAsync(unlockMigrations(database), { instanceOf: MigrationRefused, message: /other is migrating/ })
  // Nothing is pending, so nobody needs the lock.
  t.deepEqual(await migrateUp(database, { migrations: [makeFirst] }), [])
  await hold(120_000)
  await session.close()
  t.deepEqual(await migrateUp(database, { migrations, waitMilliseconds: 300 }), [migration.id])
})

onEmpty('an instance killed while it migrates is followed by one that finishes', async (t, open, dialect) => {
  const database = await open()
  await migrateUp(database, { migrations: [makeFirst] })
  const url = urls.get(database) ?? ''
  const child = spawn(process.execPath, [fileURLToPath(new URL('slow-migration.ts', import.meta.url)), url], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  const migrations = [makeFirst, slowMigration(0)]
  if (dialect === 'mysql') {
    await t.throwsAsync(migrateUp(database, { migrations, staleMilliseconds: 0 }), { instanceOf: MigrationRefused, message: /0002-test-slow.*was interrupted/ })
    await t.throwsAsync(unlockMigrations(database), { instanceOf: MigrationRefused, message: /is migrating/ })
    t.regex(await unlockMigrations(database, { staleMilliseconds: 0 }), /0002-test-slow/)
  }
  t.deepEqual(await migrateUp(database, { migrations }), ['0002-test-slow'])
  t.deepEqual(await database.query((k) => k('slow_2').select('*')), [])
  t.deepEqual((await migrationStatus(database, migrations)).map(({ state }) => state), ['done', 'done'])
})

onEmpty('unlocking where nothing is locked says so', async (t, open) => {
  const database = await open()
  t.regex(await unlockMigrations(database), /never been migrated/)
  await migrateUp(database, { migrations: [makeFirst] })
  t.regex(await unlockMigrations(database), /No lock/)
})
