import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { orderedMigrations, ownMigrations } from '../../adapters/sql/engine/migration-order.ts'
import { makeMigrationKnex, schemaParameters } from '../../adapters/sql/engine/migration-run.ts'
import { isCurrent, migrateUp, migrationPlan, migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import { afterNeeds } from '../../adapters/sql/engine/part-declarations.ts'
import { tablesOf } from '../../adapters/sql/engine/statement-tables.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { allMigrations } from '../support/all-migrations.ts'
import { createTable, rowId } from '../../adapters/sql/kit/schema-columns.ts'
import type { Migration, PartMigrations } from '../../adapters/sql/kit/migration.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { emptyMysqlUrl, migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { migrateToNow, ourMigrations } from '../support/schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-parts-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

type Up = Migration['up']

const step = (id: string, up: Up = async () => undefined): Migration => ({ id, summary: 'a step', up })
const sql =
  (...statements: readonly string[]): Up =>
  async (knex) => {
    for (const statement of statements) await knex.raw(statement)
  }
const part = (name: string, needs: readonly string[], ...migrations: readonly Migration[]): PartMigrations => ({
  part: name,
  needs,
  migrations,
})

/** A part from outside with two tables, one of which refers to accounts. */
const notes = part(
  'notes',
  ['identity'],
  step('notes/0001-lists', async (knex, dialect) => {
    await createTable(knex, dialect, 'notes_lists', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
    })
  }),
  step('notes/0002-lines', async (knex, dialect) => {
    await createTable(knex, dialect, 'notes_lines', (table) => {
      rowId(table, dialect)
      table.bigInteger('list_id').notNullable().unsigned().references('notes_lists.id')
      table.string('text', 40).notNullable().index()
    })
    await knex.schema.alterTable('notes_lists', (table) => void table.string('title', 40).nullable())
    await knex('notes_lists').update({ title: 'list' })
  }),
)

const ids = (migrations: readonly { readonly id: string }[]): readonly string[] => migrations.map(({ id }) => id)
const records = (database: SqlDatabase) =>
  database.query<{ readonly id: string }>((k) => k('schema_migrations').orderBy('id').select('*'))

const onEachEngine = (title: string, body: (t: ExecutionContext, database: SqlDatabase) => Promise<void>): void => {
  const engines = [
    ['sqlite', async () => 'sqlite::memory:'],
    ...(isSwitchedOff('mariadb') ? [] : [['mysql', migratedMysqlUrl] as const]),
  ] as const
  for (const [name, url] of engines) {
    test(`${name}: ${title}`, async (t) => {
      const database = await openPatiently(await url())
      t.teardown(() => database.close())
      await migrateToNow(database)
      await body(t, database)
    })
  }
}

const releaseOf = (engine: 'sqlite' | 'mariadb'): string =>
  readFileSync(new URL(`releases/2026.11.25-${engine}.sql`, import.meta.url), 'utf8')

/** A database as the last release left it. */
const openRelease = {
  sqlite: async (): Promise<SqlDatabase> => {
    const path = join(folder, 'release.sqlite')
    const raw = new Database(path)
    raw.exec(releaseOf('sqlite'))
    raw.close()
    return openDatabase(`sqlite:${path}`)
  },
  mariadb: async (): Promise<SqlDatabase> => {
    const url = await emptyMysqlUrl()
    const database = await openPatiently(url)
    const session = await database.openSchemaSession()
    const { collation = '' } = await schemaParameters(session, 'mysql')
    await session.close()
    const connection = await createConnection({ uri: url, multipleStatements: true })
    // MySQL does not have the collation of MariaDB.
    await connection.query(releaseOf('mariadb').replaceAll('utf8mb4_nopad_bin', collation))
    await connection.end()
    return database
  },
}

for (const [engine, open] of Object.entries(openRelease)) {
  if (engine === 'mariadb' && isSwitchedOff('mariadb')) continue
  test(`${engine}: a database of the last release continues without a change of a row`, async (t) => {
    const database = await open()
    t.teardown(() => database.close())
    const kept = { records: await records(database), users: await database.query((k) => k('users').select('*')) }
    const known = kept.records.map(({ id }) => id)
    t.is(known.length, 39)
    const ofRelease = ourMigrations.filter(({ id }) => known.includes(id))
    t.deepEqual(ids(ofRelease), known, 'a new database runs the migrations of the release in the same order')
    t.deepEqual(await migrateUp(database, { migrations: ofRelease }), [])
    t.true(isCurrent(await migrationStatus(database, ofRelease)))

    const next = part('audit', [], step('9998-audit-next', sql('create table audit_next (id integer)')))
    const migrations = await orderedMigrations(
      [...withoutPart('audit'), joined('audit', next)],
      [notes],
      database.dialect,
    )
    const ran = [...ids(ourMigrations).filter((id) => !known.includes(id)), '9998-audit-next', ...ids(notes.migrations)]
    t.deepEqual(await migrateUp(database, { migrations }), ran)
    t.deepEqual(
      (await records(database)).filter(({ id }) => known.includes(id)),
      kept.records,
    )
    t.like(await database.query((k) => k('users').select('*')), kept.users)
    t.deepEqual(await migrateUp(database, { migrations }), [])
  })
}

const withoutPart = (name: string) => allMigrations.filter((one) => one.part !== name)
const joined = (name: string, more: PartMigrations): PartMigrations => {
  const one = allMigrations.find((candidate) => candidate.part === name)!
  return { ...one, migrations: [...one.migrations, ...more.migrations] }
}

onEachEngine('the tables of a part from outside stay when it is no longer loaded', async (t, database) => {
  const withNotes = await orderedMigrations(allMigrations, [notes], database.dialect)
  t.deepEqual(ids(withNotes), [...ids(ourMigrations), 'notes/0001-lists', 'notes/0002-lines'])
  const plan = await migrationPlan(database, withNotes)
  t.deepEqual(
    plan.map((one) => [one.part, one.id]),
    [
      ['notes', 'notes/0001-lists'],
      ['notes', 'notes/0002-lines'],
    ],
  )
  t.deepEqual(await migrateUp(database, { migrations: withNotes }), ids(notes.migrations))
  await database.query((k) => k('accounts').insert({ kind: 'user', name: 'a', lower_name: 'a', created_at: 1 }))
  await database.query((k) => k('notes_lists').insert({ owner_id: 1, title: 'mine' }))

  t.deepEqual(await migrateToNow(database), [])
  t.deepEqual(await migrationPlan(database, ourMigrations), [])
  const status = await migrationStatus(database, ourMigrations)
  t.true(isCurrent(status))
  t.like(status.at(-1), {
    id: 'notes/0002-lines',
    part: 'notes',
    state: 'absent',
    summary: 'of a part that is not loaded',
  })
  t.deepEqual(await database.query((k) => k('notes_lists').select('title')), [{ title: 'mine' }])

  const older = part('notes', ['identity'], notes.migrations[0]!)
  const ofOlder = await orderedMigrations(allMigrations, [older], database.dialect)
  const refused = { instanceOf: MigrationRefused, message: /newer version of the part notes: .* notes\/0002-lines/ }
  await t.throwsAsync(migrateUp(database, { migrations: ofOlder }), refused)
  t.like((await migrationStatus(database, ofOlder)).at(-1), { id: 'notes/0002-lines', state: 'unknown' })
  t.deepEqual(await migrateUp(database, { migrations: withNotes }), [])
})

onEachEngine('a statement that depends on rows is checked when it runs', async (t, database) => {
  await database.query((k) => k('accounts').insert({ kind: 'user', name: 'a', lower_name: 'a', created_at: 1 }))
  const sly = part(
    'sly',
    [],
    step('sly/0001-rows', async (knex) => {
      const rows = await knex('accounts').select('id')
      if (rows.length > 0) await knex('accounts').delete()
    }),
  )
  const migrations = await orderedMigrations(allMigrations, [sly], database.dialect)
  await t.throwsAsync(migrateUp(database, { migrations }), {
    instanceOf: MigrationRefused,
    message: /sly\/0001-rows changes the table accounts, which belongs to the part identity/,
  })
  t.is((await database.query((k) => k('accounts').select('id'))).length, 1)
})

test('faults of the declarations are reported all at once', async (t) => {
  const own = [
    part('a', ['b'], step('0002-a-two'), step('0001-a-one')),
    part('b', ['a'], step('0001-b-one'), step('b/0002-x'), step('0003-a-other')),
    part('a', [], step('0002-a-two')),
    part('Big', []),
  ]
  const outside = [
    part('c', ['absent'], step('0009-c-own')),
    part('d', ['e'], step('d/0001-x'), step('d/0001-x')),
    part('e', ['d'], step(`e/0001-${'x'.repeat(60)}`)),
    part('b', []),
    part('f', [], { ...step('f/0001-x'), phase: 'contract' }),
  ]
  const error = await t.throwsAsync(orderedMigrations(own, outside, 'sqlite'), { instanceOf: MigrationRefused })
  for (const expected of [
    '"Big" is not a name of a part',
    'Two parts have the name a.',
    'Two parts have the name b.',
    'The part c needs the part absent, which does not exist.',
    'in a circle: d needs e needs d.',
    'The migration 0001-a-one must stand before 0002-a-two.',
    'The migration b/0002-x must have an id such as 0001-b-what',
    'The migration 0003-a-other must have an id such as 0001-b-what',
    'The migration 0009-c-own must have an id such as c/0001-what',
    `The migration e/0001-${'x'.repeat(60)} must have an id such as e/0001-what, with at most 64`,
    'Two migrations have the id 0002-a-two.',
    'Two migrations have the id d/0001-x.',
    'The migration f/0001-x must not declare a phase',
    'The migrations 0001-a-one and 0001-b-one have the same number.',
  ])
    t.true(error.message.includes(expected), `${expected}\n${error.message}`)
  t.throws(() => ownMigrations([part('a', ['b']), part('b', ['c']), part('c', ['a'])]), {
    message: /a needs b needs c needs a/,
  })
})

test('a third-party part has only tables of its name, with all faults at once', async (t) => {
  const faultsOf = async (needs: readonly string[], ...statements: readonly string[]): Promise<string> => {
    const outside = [
      part('notes', needs, step('notes/0001-x', sql(...statements))),
      part('notes-extra', [], step('notes-extra/0001-x', sql('create table notes_extra_items (id integer)'))),
    ]
    return orderedMigrations(allMigrations, outside, 'sqlite').then(
      () => '',
      (error: unknown) => (error as Error).message,
    )
  }
  const cascade = 'on delete cascade'
  t.is(await faultsOf(['identity'], `create table notes_a (u integer references users (id) ${cascade})`), '')
  t.is(
    await faultsOf(['clusters'], `create table notes_a (u integer references users (id) ${cascade})`),
    '',
    'by a need',
  )
  const cases: readonly (readonly [string, RegExp])[] = [
    ['create table things (id integer)', /the table things: the tables of the part notes begin with notes_/],
    ['drop table `users`', /the table users, which belongs to the part identity/],
    ['alter table notes_a rename to accounts', /the table accounts, which belongs to the part identity/],
    ['delete from notes_extra_items', /notes_extra_items, which belongs to the part notes-extra/],
    ['update schema_migrations set state = 1', /schema_migrations, which records the migrations/],
    [
      'create table notes_a (o integer references organizations (id) on delete cascade)',
      /organizations of the part organizations, which the part notes does not name/,
    ],
    ['create table notes_a (u integer references users (id), x text)', /users without `on delete cascade`/],
    ['create table notes_a (u integer references nothing (id))', /nothing, which no part has/],
    ['drop index users_name_index', /drops the index users_name_index/],
    ['create trigger notes_t after insert on users begin select 1; end', /cannot be checked/],
    ['pragma writable_schema = 1', /cannot be checked/],
    ['create table other.notes_a (id integer)', /cannot be checked/],
    ['delete from notes_a; delete from users', /cannot be checked/],
    ['/*!50000 drop table users */', /cannot be checked/],
    ['update notes_a, users set users.id = 1', /cannot be checked/],
  ]
  for (const [statement, expected] of cases) t.regex(await faultsOf(['identity'], statement), expected, statement)
  const all = await faultsOf(['identity'], ...cases.map(([statement]) => statement))
  for (const [statement, expected] of cases) t.regex(all, expected, statement)
})

test('a migration that fails without rows is refused', async (t) => {
  const broken = part(
    'broken',
    [],
    step('broken/0001-x', async (knex) => void (await knex('broken_a').select('*'))[0].id),
  )
  await t.throwsAsync(orderedMigrations(allMigrations, [broken], 'mysql'), {
    instanceOf: MigrationRefused,
    message: /broken\/0001-x fails where no table has a row/,
  })
})

/** The statements of our own migrations, each with its part. */
const statementsOf = async (
  dialect: 'sqlite' | 'mysql',
): Promise<readonly (readonly [part: string, sql: string])[]> => {
  const statements: [string, string][] = []
  for (const migration of ourMigrations) {
    const knex = makeMigrationKnex(dialect, {}, async (text) => {
      statements.push([migration.part, text])
      return []
    })
    await migration.up(knex, dialect)
  }
  return statements
}

test('every statement of our migrations has known tables on both databases', async (t) => {
  for (const dialect of ['sqlite', 'mysql'] as const) {
    const seen: string[] = []
    for (const [, statement] of await statementsOf(dialect)) {
      const tables = tablesOf(statement)
      t.truthy(tables, statement)
      if (tables !== undefined && !/^select/i.test(statement)) t.true(tables.changed.length > 0, statement)
      seen.push(...(tables?.changed ?? []))
    }
    t.true(new Set(seen).size > 60)
  }
})

test('each of our parts needs exactly the parts whose tables its migrations use', async (t) => {
  const owners = new Map<string, string>()
  const used = new Map<string, Set<string>>()
  for (const dialect of ['sqlite', 'mysql'] as const) {
    for (const [name, statement] of await statementsOf(dialect)) {
      const { changed = [], references = [] } = tablesOf(statement) ?? {}
      for (const table of [...changed, ...references.map((reference) => reference.table)]) {
        const owner = owners.get(table) ?? name
        owners.set(table, owner)
        if (owner !== name) used.set(name, (used.get(name) ?? new Set()).add(owner))
      }
    }
  }
  for (const { part: name, needs } of allMigrations) t.deepEqual(needs, [...(used.get(name) ?? [])].toSorted(), name)
})

test('every declared migration is in the list of its part', (t) => {
  const root = new URL('../../adapters/sql/', import.meta.url)
  const declared = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[a-z-]+\/migrations\.ts$/.test(path))
    .flatMap((path) => [...readFileSync(new URL(path, root), 'utf8').matchAll(/^ {2}id: '([^']+)',$/gm)])
    .map(([, id]) => id)
  t.deepEqual(declared.toSorted(), ids(ourMigrations))
  for (const { part: name, migrations } of allMigrations)
    for (const { id } of migrations) t.true(id.slice('0000-'.length).startsWith(name), id)
})

test('the order of migrations is stable and follows their needs', (t) => {
  const graph = fc.array(fc.nat(), { maxLength: 8 }).chain((seeds) =>
    fc.record({
      parts: fc.constant(seeds.map((seed, at) => part(`p${(seed % 7) * 100 + at}`, []))),
      links: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }),
      order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
    }),
  )
  fc.assert(
    fc.property(graph, ({ parts, links, order }) => {
      if (parts.length === 0) return
      const needing = parts.map((one, at) => ({
        ...one,
        needs: links
          .filter(([from]) => from % parts.length === at)
          .flatMap(([, to]) => (to % parts.length < at ? [parts[to % parts.length]!.part] : [])),
      }))
      const shuffled = needing
        .map((one, at) => [order[at]!, one] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, one]) => one)
      const names = afterNeeds(needing).map((one) => one.part)
      t.deepEqual(
        afterNeeds(shuffled).map((one) => one.part),
        names,
      )
      for (const { part: name, needs } of needing)
        t.true(needs.every((need) => names.indexOf(need) < names.indexOf(name)))
    }),
  )
})
