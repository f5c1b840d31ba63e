// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { migrateUp, migrationPlan, migrationStatus, unlockMigrations } from '../../adapters/sql/engine/migrator.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { createTable, rowId } from '../../adapters/sql/kit/schema-columns.ts'
import type { OrderedMigration } from '../../adapters/sql/kit/migration.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl, openPatiently } from '../support/databases.ts'
import { migrateToNow, ourMigrations } from '../support/schema.ts'
import { isMariaDb } from './server-version.ts'
import { slowMigration } from './slow-migration.ts'
import { now, rowsAt } from './migrations.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-migrations-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const urls = new WeakMap<SqlDatabase, string>()
const emptyUrls: Record<string, () => Promise<string>> = {
  'sqlite file': async () => `sqlite:${join(folder, `${files++}.sqlite`)}`,
  ...(isSwitchedOff('mariadb') ? {} : { mysql: emptyMysqlUrl }),
}

/** A test on an empty database, which the body may open several times, as several instances do. */
const onEmpty = (
  title: string,
  body: (t: ExecutionContext, open: () => Promise<SqlDatabase>, dialect: string) => Promise<void>,
): void => {
  for (const [name, emptyUrl] of Object.entries(emptyUrls)) {
    test(`${name}: ${title}`, async (t) => {
      const url = await emptyUrl()
      const opened: SqlDatabase[] = []
      const open = async () => {
        const database = await openPatiently(url)
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

const makeFirst: OrderedMigration = {
  part: 'test',
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
  const migration: OrderedMigration = {
    part: 'test',
    id: '0002-test-second',
    summary: 'another table and a column',
    up: async (knex, dialect) => {
      await createTable(knex, dialect, 'second', (table) => rowId(table, dialect))
      if (isBroken) await knex.raw('alter table missing add column a integer')
      else await knex.raw('alter table first add column a integer')
      await knex.raw("insert into first (name, a) values ('from the migration', 1)")
    },
  }
  return {
    migration,
    mend: () => {
      isBroken = false
    },
  }
}

const ids = (migrations: readonly { readonly id: string }[]) => migrations.map(({ id }) => id)

/** Migrations that widen a column and do nothing else: SQLite knows no width. */
const widenOnly = ['0027-tasks-response-ids']

onEmpty('all migrations run once, in order', async (t, open, dialect) => {
  const database = await open()
  const plan = await migrationPlan(database, ourMigrations)
  t.deepEqual(ids(plan), ids(ourMigrations))
  t.deepEqual(ids(plan.filter(({ statements }) => statements.length === 0)), dialect === 'mysql' ? [] : widenOnly)
  t.true((await migrationStatus(database, ourMigrations)).every(({ state }) => state === 'pending'))
  const before = Date.now()
  t.deepEqual(await migrateToNow(database), ids(ourMigrations))
  t.deepEqual(await migrateToNow(database), [])
  t.deepEqual(await migrationPlan(database, ourMigrations), [])
  const status = await migrationStatus(database, ourMigrations)
  t.true(
    status.every(({ state, finishedAt }) => {
      const finished = finishedAt!.getTime()
      return state === 'done' && finished > before - 60_000 && finished < Date.now() + 60_000
    }),
  )
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
  const applied = await Promise.all(databases.map((database) => migrateToNow(database)))
  t.deepEqual(applied.flat().toSorted(), ids(ourMigrations))
  await Promise.all(
    databases.map((database) =>
      database.first(
        database.prepare({}, (k) => k('accounts').limit(1).select('*')),
        {},
      ),
    ),
  )
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
    await t.throwsAsync(migrateUp(database, { migrations }), {
      instanceOf: MigrationRefused,
      message: /failed and was undone/,
    })
    t.deepEqual(
      (await migrationStatus(database, migrations)).map(({ state }) => state),
      ['done', 'pending'],
    )
    t.deepEqual(await database.query((k) => k('sqlite_master').where('name', 'second').select('name')), [])
  } else {
    await t.throwsAsync(migrateUp(database, { migrations }), {
      instanceOf: MigrationRefused,
      message: /failed at its statement 2.*migrate unlock/,
    })
    t.like((await migrationStatus(database, migrations))[1], { state: 'failed', statementsDone: 1 })
    // It does not try again behind anybody's back.
    await t.throwsAsync(migrateUp(await open(), { migrations }), {
      instanceOf: MigrationRefused,
      message: /0002-test-second.*failed after 1/,
    })
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
  await session.execute(
    "insert into schema_migrations select '0002-test-second', sha2('0002-test-second', 256), 'started', 0, 'dead', 1, null",
    [],
  )
  await session.execute("update schema_lock set holder = 'dead', beat_at = 1", [])
  await session.close()
  const { migration, mend } = makeBreaking()
  mend()
  const migrations = [makeFirst, migration]
  await t.throwsAsync(migrateUp(database, { migrations }), {
    instanceOf: MigrationRefused,
    message: /was interrupted after 0/,
  })
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
  const hold = (silentMilliseconds: number) =>
    session.execute('update schema_lock set holder = ?, beat_at = unix_timestamp(now(3)) * 1000 - ?', [
      'other',
      silentMilliseconds,
    ])
  const { migration, mend } = makeBreaking()
  mend()
  const migrations = [makeFirst, migration]
  await hold(0)
  await t.throwsAsync(migrateUp(database, { migrations, waitMilliseconds: 300 }), {
    instanceOf: MigrationRefused,
    message: /other has been migrating/,
  })
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
  const child = spawn(process.execPath, [fileURLToPath(new URL('slow-migration.ts', import.meta.url)), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  const migrations = [makeFirst, slowMigration(0)]
  if (dialect === 'mysql') {
    await t.throwsAsync(migrateUp(database, { migrations, staleMilliseconds: 0 }), {
      instanceOf: MigrationRefused,
      message: /0002-test-slow.*was interrupted/,
    })
    await t.throwsAsync(unlockMigrations(database), { instanceOf: MigrationRefused, message: /is migrating/ })
    t.regex(await unlockMigrations(database, { staleMilliseconds: 0 }), /0002-test-slow/)
  }
  t.deepEqual(await migrateUp(database, { migrations }), ['0002-test-slow'])
  t.deepEqual(await database.query((k) => k('slow_2').select('*')), [])
  t.deepEqual(
    (await migrationStatus(database, migrations)).map(({ state }) => state),
    ['done', 'done'],
  )
})

onEmpty('unlocking where nothing is locked says so', async (t, open) => {
  const database = await open()
  t.regex(await unlockMigrations(database), /never been migrated/)
  await migrateUp(database, { migrations: [makeFirst] })
  t.regex(await unlockMigrations(database), /No lock/)
})

const emptyDatabases: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ['sqlite', async () => 'sqlite::memory:'],
  ...(isSwitchedOff('mariadb') ? [] : [['mysql', emptyMysqlUrl] as const]),
]

const readAll = async (database: SqlDatabase): Promise<unknown[]> => {
  const tables = [
    ...new Set(
      Object.values(rowsAt)
        .flat()
        .map(([table]) => table),
    ),
  ]
  const all: unknown[] = []
  for (const table of tables) {
    const columns = Object.keys(
      Object.values(rowsAt)
        .flat()
        .find(([name]) => name === table)?.[1] ?? {},
    )
    all.push(await database.query((k) => k(table).select(columns).orderBy(columns)))
  }
  return all
}

for (const [name, url] of emptyDatabases) {
  test(`${name}: rows put in at each version are the same at the last`, async (t) => {
    const database = await openPatiently(await url())
    t.teardown(() => database.close())
    for (const [index, { id }] of ourMigrations.entries()) {
      await migrateUp(database, { migrations: ourMigrations.slice(0, index + 1) })
      for (const [table, row] of rowsAt[id] ?? []) await database.query((k) => k(table).insert(row))
    }
    const expected = Object.values(rowsAt).flat().length
    const kept = await readAll(database)
    t.is(kept.flat().length, expected)
    t.true(JSON.stringify(kept).includes('Ada Lövelace 😀'))
  })
}

for (const [name, url] of emptyDatabases) {
  test(`${name}: an earlier contract gets one version of its terms`, async (t) => {
    const database = await openPatiently(await url())
    t.teardown(() => database.close())
    const add = (table: string, row: Readonly<Record<string, unknown>>) => database.query((k) => k(table).insert(row))
    await migrateUp(database, { migrations: ourMigrations.filter(({ id }) => id < '0040') })
    await add('accounts', { id: 11, kind: 'organization', name: 'acme', lower_name: 'acme', created_at: now })
    const terms = {
      name: 'Sold',
      product: 'database',
      features: '["database-basic"]',
      emails: '{}',
      quota: '{}',
      restrictions: '',
      starts_at: now,
      ends_at: now + 1000,
      allows_offline: true,
      binds_new_clusters: false,
      disables_analytics: false,
      enables_client_billing: true,
    }
    await add('contracts', { id: 1, owner_id: 11, ...terms, reminded_45_at: now, created_at: now - 5, updated_at: now })
    await add('contracts', { id: 2, owner_id: 11, ...terms, created_at: now, updated_at: now })
    const object = {
      cluster_id: 1,
      kind_id: 1,
      namespace: 'shop',
      namespace_uid: 'n',
      created_at: 5,
      last_heard_day: 1,
      sends_heartbeats: false,
    }
    await add('usage_objects', { id: 1, object_uid: 'trial', name: 'a', trial_ends_at: 9, ...object })
    await add('usage_objects', { id: 2, object_uid: 'none', name: 'b', ...object })
    await migrateUp(database, { migrations: ourMigrations })
    // As the release before this one inserts.
    await add('contracts', { id: 3, owner_id: 11, ...terms, created_at: now, updated_at: now })
    const contracts = makeSqlContractStore(database, { now: () => new Date(now) })(database)
    const [first, ...others] = await contracts.listTerms(1 as ContractId)
    t.deepEqual(
      [
        first?.number,
        first?.from,
        first?.to,
        first?.features,
        first?.allowsTrials,
        first?.maxTrials,
        first?.recordedAt,
      ],
      [1, new Date(0), undefined, ['database-basic'], true, 1_000_000, new Date(now - 5)],
    )
    t.deepEqual(others, [])
    t.deepEqual((await contracts.getAny(1 as ContractId))?.remindedAt45Days, new Date(now))
    t.is((await contracts.getAny(2 as ContractId))?.remindedAt45Days, undefined)
    t.like(await contracts.getAny(3 as ContractId), { termsNumber: 1, allowsTrials: false, allowsOffline: true })
    t.deepEqual(await database.query((k) => k('usage_trials').select('object_id', 'object_uid', 'name')), [
      { object_id: 1, object_uid: 'trial', name: 'a' },
    ])
  })
}

needing('mariadb')('mysql: no migration copies the audit log or the accounts, however long they are', async (t) => {
  const database = await openPatiently(await emptyMysqlUrl())
  t.teardown(() => database.close())
  await migrateUp(database, { migrations: ourMigrations.filter(({ id }) => id < '0007') })
  const large = /^alter table `(accounts|users|access_tokens|audit_events|audit_heads|org_members|organizations)` /
  const statements = (await migrationPlan(database, ourMigrations)).flatMap((migration) => migration.statements)
  const altering = statements.filter((statement) => large.test(statement) && !statement.includes(' foreign key '))
  t.true(altering.length > 8)
  // MySQL does not tell apart what is rebuilt in place.
  const algorithm = (await isMariaDb(database)) ? 'nocopy' : 'inplace'
  const session = await database.openSchemaSession()
  try {
    for (const statement of altering) {
      await t.notThrowsAsync(
        session.execute(`${statement.replace(/;$/, '')}, algorithm = ${algorithm}, lock = none`, []),
        statement,
      )
    }
  } finally {
    await session.close()
  }
})

test('migrations have distinct ids in the order of their numbers', (t) => {
  const ids = ourMigrations.map(({ id }) => id)
  t.deepEqual(ids, [...new Set(ids)].toSorted())
  for (const id of ids) t.regex(id, /^\d{4}(-[a-z]+)+$/)
})

needing('mariadb')(
  'a user who may not change the schema gets an answer with the rights that a migration needs',
  async (t) => {
    const url = new URL(await emptyMysqlUrl())
    const owner = await openPatiently(url.href)
    const session = await owner.openSchemaSession()
    const user = `reader_${randomBytes(6).toString('hex')}`
    t.teardown(async () => {
      await session.execute(`drop user if exists '${user}'@'%'`, [])
      await session.close()
      await owner.close()
    })
    await session.execute(`create user '${user}'@'%' identified by 'reader-password'`, [])
    await session.execute(`grant select, insert, update, delete on \`${url.pathname.slice(1)}\`.* to '${user}'@'%'`, [])
    url.username = user
    url.password = 'reader-password'
    const database = await openPatiently(url.href)
    t.teardown(() => database.close())
    await t.throwsAsync(migrateToNow(database), {
      instanceOf: MigrationRefused,
      message: /may not change the schema: .*create, alter, index, reference and drop/,
    })
  },
)
