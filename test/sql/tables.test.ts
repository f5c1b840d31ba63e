// process: waiting - uses components
import type { Knex } from 'knex'
import { isUniqueViolation } from '../../adapters/sql/kit/driver-errors.ts'
import { needing } from '../support/components/needing.ts'
import { eachDatabase } from '../support/databases.ts'
import { onEachDatabase } from './scratch.ts'
import { now } from './migrations.fixture.ts'

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
