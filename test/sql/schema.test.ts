import test from 'ava'
import type { Knex } from 'knex'
import { openDatabase } from '../../adapters/sql/database.ts'
import { isUniqueViolation } from '../../adapters/sql/driver-errors.ts'
import { migrateUp } from '../../adapters/sql/migrations.ts'
import { allMigrations } from '../../adapters/sql/migrations/all-migrations.ts'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { eachDatabase, emptyMysqlUrl } from '../support/databases.ts'
import { onEachDatabase } from './scratch.ts'

type Row = Readonly<Record<string, string | number | Uint8Array | null>>

const now = 1_763_000_000_000

/** Rows to put into the tables of each migration as soon as it has run. */
const rowsAt: Readonly<Record<string, readonly (readonly [table: string, row: Row])[]>> = {
  '0001-identity-accounts': [
    ['accounts', { id: 1, kind: 'user', name: 'Ada', lower_name: 'ada', created_at: now }],
    ['accounts', { id: 2, kind: 'organization', name: 'Acme', lower_name: 'acme', created_at: now }],
    ['users', { id: 1, full_name: 'Ada Lövelace 😀', password_hash: 'x', created_at: now }],
    ['emails', { user_id: 1, email: 'Ada@example.com', lower_email: 'ada@example.com', created_at: now }],
    ['access_tokens', { user_id: 1, name: 'ci', token_hash: Buffer.alloc(32, 1), last_eight: '12345678', scopes: 'all', created_at: now }],
  ],
  '0002-organizations-teams': [
    ['organizations', { id: 2, created_at: now }],
    ['org_members', { org_id: 2, user_id: 1, created_at: now }],
    ['teams', { id: 1, org_id: 2, name: 'Owners', lower_name: 'owners', permission: 'owner', created_at: now }],
    ['team_members', { team_id: 1, user_id: 1, org_id: 2, created_at: now }],
  ],
  '0003-authz-roles': [['roles', { id: 1, org_id: 2, name: 'Reader', lower_name: 'reader', created_at: now, updated_at: now }]],
  '0005-kernel-bookkeeping': [['leases', { name: 'job', holder: 'a', fence: 7, until: now }]],
}

const emptyDatabases: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ['sqlite', async () => 'sqlite::memory:'],
  ...(isSwitchedOff('mariadb') ? [] : [['mysql', emptyMysqlUrl] as const]),
]

const readAll = async (database: SqlDatabase): Promise<unknown[]> => {
  const tables = [...new Set(Object.values(rowsAt).flat().map(([table]) => table))]
  const all: unknown[] = []
  for (const table of tables) {
    const columns = Object.keys(Object.values(rowsAt).flat().find(([name]) => name === table)?.[1] ?? {})
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

const addAccount = (name: string) => (k: Knex) => k('accounts').insert({ kind: 'user', name, lower_name: name, created_at: now })

onEachDatabase('account names are told apart by bytes', async (t, database) => {
  for (const name of ['alice', 'Alice', 'bob', 'bob ', 'b\u00f6b', 'bo\u0308b']) await database.query(addAccount(name))
  for (const name of ['alice', 'Alice', 'bob', 'bob ', 'b\u00f6b']) {
    t.deepEqual(await database.query((k) => k('accounts').where('lower_name', name).select('name')), [{ name }])
  }
  t.deepEqual(await database.query((k) => k('accounts').where('lower_name', 'ALICE').select('name')), [])
  const again = await t.throwsAsync(database.query(addAccount('alice')))
  t.true(isUniqueViolation(again, 'lower_name'))
})

onEachDatabase('what is too long or absent is refused, not cut', async (t, database) => {
  await t.throwsAsync(database.query((k) => k('accounts').insert({ kind: 'user', name: 'a', lower_name: null, created_at: now })))
  if (database.dialect === 'mysql') await t.throwsAsync(database.query(addAccount('a'.repeat(41))))
  t.deepEqual(await database.query((k) => k('accounts').select('name')), [])
})

onEachDatabase('children go with their account', async (t, database) => {
  await database.query(addAccount('ada'))
  await database.query((k) => k('users').insert({ id: 1, password_hash: 'x', created_at: now }))
  await database.query((k) => k('emails').insert({ user_id: 1, email: 'a@b', lower_email: 'a@b', created_at: now }))
  await database.query((k) => k('accounts').where('id', 1).delete())
  t.deepEqual(await database.query((k) => k('emails').select('id')), [])
})

needing('mariadb')('mysql: every table is InnoDB and compares its text by bytes, trailing spaces included', async (t) => {
  const mysql = eachDatabase().find(({ name }) => name === 'mysql')
  const database = await mysql?.open()
  if (database === undefined) return t.fail()
  t.teardown(() => database.close())
  const tables = await database.query<{ name: string; engine: string }>((k) =>
    k('information_schema.tables').whereRaw('table_schema = database()').select({ name: 'table_name', engine: 'engine' }))
  t.true(tables.length > 15)
  t.deepEqual(tables.filter(({ engine }) => engine !== 'InnoDB'), [])
  const columns = await database.query<{ place: string }>((k) =>
    k('information_schema.columns').whereRaw('table_schema = database()').whereNotNull('collation_name')
      .whereNot('collation_name', 'utf8mb4_nopad_bin').whereNot('table_name', 'like', 'schema\\_%')
      .select(k.raw("concat(table_name, '.', column_name) as place")))
  t.deepEqual(columns, [])
})

test('migrations have distinct ids in the order of their numbers', (t) => {
  const ids = allMigrations.map(({ id }) => id)
  t.deepEqual(ids, [...new Set(ids)].toSorted())
  for (const id of ids) t.regex(id, /^\d{4}(-[a-z]+)+$/)
})
