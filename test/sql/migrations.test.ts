// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import type { Knex } from 'knex'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { migrateUp, migrationPlan, migrationStatus, unlockMigrations } from '../../adapters/sql/engine/migrator.ts'
import { isUniqueViolation } from '../../adapters/sql/kit/driver-errors.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { allMigrations } from '../../adapters/sql/migrations/all-migrations.ts'
import { createTable, rowId } from '../../adapters/sql/migrations/columns.ts'
import type { Migration } from '../../adapters/sql/migrations/migration.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { eachDatabase, emptyMysqlUrl } from '../support/databases.ts'
import { onEachDatabase } from './scratch.ts'
import { isMariaDb } from './server-version.ts'
import { slowMigration } from './slow-migration.ts'

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
  const plan = await migrationPlan(database)
  t.deepEqual(ids(plan), ids(allMigrations))
  t.deepEqual(ids(plan.filter(({ statements }) => statements.length === 0)), dialect === 'mysql' ? [] : widenOnly)
  t.true((await migrationStatus(database)).every(({ state }) => state === 'pending'))
  t.deepEqual(await migrateUp(database), ids(allMigrations))
  t.deepEqual(await migrateUp(database), [])
  t.deepEqual(await migrationPlan(database), [])
  const status = await migrationStatus(database)
  t.true(
    status.every(({ state, finishedAt }) => state === 'done' && Math.abs(finishedAt!.getTime() - Date.now()) < 60_000),
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
  const applied = await Promise.all(databases.map((database) => migrateUp(database)))
  t.deepEqual(applied.flat().toSorted(), ids(allMigrations))
  await Promise.all(
    databases.map((database) =>
      database.first(
        database.prepare((k) => k('accounts').limit(1).select('*')),
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

type Row = Readonly<Record<string, string | number | Uint8Array | null>>

const now = 1_763_000_000_000
const bytes = Buffer.alloc(32, 7)

/** Rows to put into the tables of each migration as soon as it has run. */
const rowsAt: Readonly<Record<string, readonly (readonly [table: string, row: Row])[]>> = {
  '0001-identity-accounts': [
    ['accounts', { id: 1, kind: 'user', name: 'Ada', lower_name: 'ada', created_at: now }],
    ['accounts', { id: 2, kind: 'organization', name: 'Acme', lower_name: 'acme', created_at: now }],
    ['users', { id: 1, full_name: 'Ada Lövelace 😀', password_hash: 'x', created_at: now }],
    ['emails', { user_id: 1, email: 'Ada@example.com', lower_email: 'ada@example.com', created_at: now }],
    [
      'access_tokens',
      {
        user_id: 1,
        name: 'ci',
        token_hash: Buffer.alloc(32, 1),
        last_eight: '12345678',
        scopes: 'all',
        created_at: now,
      },
    ],
  ],
  '0002-organizations-teams': [
    ['organizations', { id: 2, created_at: now }],
    ['org_members', { org_id: 2, user_id: 1, created_at: now }],
    ['teams', { id: 1, org_id: 2, name: 'Owners', lower_name: 'owners', permission: 'owner', created_at: now }],
    ['team_members', { team_id: 1, user_id: 1, org_id: 2, created_at: now }],
  ],
  '0003-authz-roles': [
    ['roles', { id: 1, org_id: 2, name: 'Reader', lower_name: 'reader', created_at: now, updated_at: now }],
  ],
  '0005-kernel-bookkeeping': [['leases', { name: 'job', holder: 'a', fence: 7, until: now }]],
  '0007-identity-second-factors': [
    [
      'two_factors',
      { user_id: 1, sealed_seed: bytes, ref: 'r', last_step: 58_000_000, offered_at: now, enrolled_at: now },
    ],
    ['recovery_codes', { user_id: 1, code_hash: bytes, created_at: now }],
  ],
  '0009-identity-remembered': [
    [
      'remembered_logins',
      {
        id: 5,
        user_id: 1,
        series_hash: bytes,
        secret_hash: bytes,
        source_ip: '',
        user_agent: '',
        created_at: now,
        last_used_at: now,
        expires_at: now,
      },
    ],
  ],
  '0010-mail-outbox': [
    ['mail_outbox', { ref: 'm', account_id: 1, sealed: bytes, attempts: 2, not_before: now, created_at: now }],
  ],
  '0011-identity-codes': [
    [
      'identity_codes',
      {
        user_id: 1,
        kind: 'password-reset',
        lower_email: 'ada@example.org',
        code_hash: bytes,
        created_at: now,
        expires_at: now,
      },
    ],
  ],
  '0012-identity-site': [
    ['site_settings', { name: 'registration_open', value: 'true' }],
    ['branding', { id: 1, logo: '', favicon: '', primary_color: '#0b6070', show_app_tag: 1, app_name: 'Häfen' }],
  ],
  '0013-organizations-security': [
    [
      'org_invitations',
      {
        id: 3,
        org_id: 2,
        email: 'eve@example.org',
        lower_email: 'eve@example.org',
        role: 'member',
        inviter_id: 1,
        token_hash: bytes,
        created_at: now,
        expires_at: now,
      },
    ],
    ['org_invitation_teams', { invitation_id: 3, team_id: 1 }],
  ],
  '0014-clouds-credentials': [
    [
      'cloud_credentials',
      {
        user_id: 1,
        name: 'backups',
        type: 'Aws',
        owner_id: 1,
        ref: 'c',
        sealed_spec: bytes,
        created_at: now,
        updated_at: now,
      },
    ],
  ],
  '0015-bus-accounts': [
    [
      'bus_identities',
      {
        id: 4,
        kind: 'account',
        owner_id: 1,
        public_key: 'A',
        ref: 'b',
        sealed_seed: bytes,
        claims: 'signed',
        revision: 3,
        pushed_revision: 2,
        created_at: now,
      },
    ],
    [
      'bus_users',
      {
        identity_id: 4,
        owner_id: 1,
        purpose: 'own',
        public_key: 'U',
        owner_mark: 'x',
        issued_at: now,
        expires_at: now,
      },
    ],
  ],
  '0016-identity-avatars': [['avatars', { account_id: 1, digest: 'd', bytes, created_at: now }]],
  '0020-tasks': [
    [
      'tasks',
      {
        id: 6,
        ref: 't',
        response_id: 'r',
        subject: 's',
        kind: 'k',
        title: 'Häfen 😀',
        tenant_id: 1,
        actor_id: 1,
        actor_login: 'ada',
        actor: '{}',
        about: '{}',
        state: 'queued',
        lock_key: 'l',
        sealed_input: bytes,
        digest: bytes,
        message: '',
        created_at: now,
      },
    ],
    ['task_events', { task_id: 6, seq: 1, at: now, event_id: 't', status: 'Pending', msg: 'waits', is_notable: 0 }],
    ['task_outbox', { task_id: 6, seq: 1, holder: 'a', held_until: now }],
  ],
  '0022-chart-repositories': [
    [
      'chart_repositories',
      {
        account_id: 1,
        name: 'internal',
        url: 'https://charts.example.com',
        username: 'Häfen',
        holds: 'password',
        ref: 'c',
        sealed_credentials: bytes,
        created_at: now,
        updated_at: now,
      },
    ],
  ],
  '0024-identity-search-terms': [['user_search_terms', { user_id: 1, audience: 0, place: 0, term: 'ada lövelace 😀' }]],
  '0021-packages-drivers': [
    ['package_drivers', { account_id: 1, cluster_uid: 'u', driver: 'ConfigMap', created_at: now, updated_at: now }],
  ],
  '0025-identity-interface': [
    ['accounts', { id: 3, kind: 'user', name: 'Eve', lower_name: 'eve', created_at: now }],
    [
      'users',
      { id: 3, password_hash: 'x', created_at: now, theme: 'dark', diff_view_style: 'split', hide_activity: 1 },
    ],
  ],
  '0018-identity-preferences': [['page_sizes', { user_id: 1, product_ui: 10, console_ui: 25, platform_ui: 50 }]],
}

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
    const database = await openDatabase(await url())
    t.teardown(() => database.close())
    for (const [index, { id }] of allMigrations.entries()) {
      await migrateUp(database, { migrations: allMigrations.slice(0, index + 1) })
      for (const [table, row] of rowsAt[id] ?? []) await database.query((k) => k(table).insert(row))
    }
    const expected = Object.values(rowsAt).flat().length
    const kept = await readAll(database)
    t.is(kept.flat().length, expected)
    t.true(JSON.stringify(kept).includes('Ada Lövelace 😀'))
  })
}

for (const [name, url] of emptyDatabases) {
  test(`${name}: a contract of an earlier release has one version of its terms, allows trials as before, and keeps its reminders and trials`, async (t) => {
    const database = await openDatabase(await url())
    t.teardown(() => database.close())
    const add = (table: string, row: Readonly<Record<string, unknown>>) => database.query((k) => k(table).insert(row))
    await migrateUp(database, { migrations: allMigrations.filter(({ id }) => id < '0040') })
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
    await migrateUp(database, { migrations: allMigrations })
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

const addAccount = (name: string) => (k: Knex) =>
  k('accounts').insert({ kind: 'user', name, lower_name: name, created_at: now })

onEachDatabase('account names are compared by bytes', async (t, database) => {
  for (const name of ['alice', 'Alice', 'bob', 'bob ', 'b\u00f6b', 'bo\u0308b']) await database.query(addAccount(name))
  for (const name of ['alice', 'Alice', 'bob', 'bob ', 'b\u00f6b']) {
    t.deepEqual(await database.query((k) => k('accounts').where('lower_name', name).select('name')), [{ name }])
  }
  t.deepEqual(await database.query((k) => k('accounts').where('lower_name', 'ALICE').select('name')), [])
  const again = await t.throwsAsync(database.query(addAccount('alice')))
  t.true(isUniqueViolation(again, 'lower_name'))
})

onEachDatabase('what is too long or absent is refused, not cut', async (t, database) => {
  await t.throwsAsync(
    database.query((k) => k('accounts').insert({ kind: 'user', name: 'a', lower_name: null, created_at: now })),
  )
  if (database.dialect === 'mysql') await t.throwsAsync(database.query(addAccount('a'.repeat(64))))
  t.deepEqual(await database.query((k) => k('accounts').select('name')), [])
})

onEachDatabase('children go with their account', async (t, database) => {
  await database.query(addAccount('ada'))
  await database.query((k) => k('users').insert({ id: 1, password_hash: 'x', created_at: now }))
  await database.query((k) => k('emails').insert({ user_id: 1, email: 'a@b', lower_email: 'a@b', created_at: now }))
  await database.query((k) => k('accounts').where('id', 1).delete())
  t.deepEqual(await database.query((k) => k('emails').select('id')), [])
})

needing('mariadb')(
  'mysql: every table is InnoDB and compares its text by bytes, trailing spaces included',
  async (t) => {
    const mysql = eachDatabase().find(({ name }) => name === 'mysql')
    const database = await mysql?.open()
    if (database === undefined) return t.fail()
    t.teardown(() => database.close())
    const tables = await database.query<{ name: string; engine: string }>((k) =>
      k('information_schema.tables')
        .whereRaw('table_schema = database()')
        .select({ name: 'table_name', engine: 'engine' }),
    )
    t.true(tables.length > 15)
    t.deepEqual(
      tables.filter(({ engine }) => engine !== 'InnoDB'),
      [],
    )
    const columns = await database.query<{ place: string }>((k) =>
      k('information_schema.columns')
        .whereRaw('table_schema = database()')
        .whereNotNull('collation_name')
        .whereNotIn('collation_name', ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin'])
        .whereNot('table_name', 'like', 'schema\\_%')
        .select(k.raw("concat(table_name, '.', column_name) as place")),
    )
    t.deepEqual(columns, [])
  },
)

needing('mariadb')('mysql: no migration copies the audit log or the accounts, however long they are', async (t) => {
  const database = await openDatabase(await emptyMysqlUrl())
  t.teardown(() => database.close())
  await migrateUp(database, { migrations: allMigrations.filter(({ id }) => id < '0007') })
  const large = /^alter table `(accounts|users|access_tokens|audit_events|audit_heads|org_members|organizations)` /
  const statements = (await migrationPlan(database)).flatMap((migration) => migration.statements)
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
  const ids = allMigrations.map(({ id }) => id)
  t.deepEqual(ids, [...new Set(ids)].toSorted())
  for (const id of ids) t.regex(id, /^\d{4}(-[a-z]+)+$/)
})

needing('mariadb')(
  'a user who may not change the schema gets an answer with the rights that a migration needs',
  async (t) => {
    const url = new URL(await emptyMysqlUrl())
    const owner = await openDatabase(url.href)
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
    const database = await openDatabase(url.href)
    t.teardown(() => database.close())
    await t.throwsAsync(migrateUp(database), {
      instanceOf: MigrationRefused,
      message: /may not change the schema: .*create, alter, index, reference and drop/,
    })
  },
)
