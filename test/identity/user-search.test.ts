import test from 'ava'
import { prefixRange, viewerBinds } from '../../adapters/sql/identity/rows.ts'
import { userStatements } from '../../adapters/sql/identity/user-statements.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import type { Bind, SqlDatabase, SqlRunner, Statement } from '../../adapters/sql/statement.ts'
import type { Viewer } from '../../core/identity/types.ts'
import { eachDatabase } from '../support/databases.ts'

const people = 100_000
const anyone: Viewer = { userId: undefined, isSiteAdmin: false }

/** Numbers from 1, as a derived table. */
const numbers = {
  sqlite: `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${people}) select i from n) as n`,
  mysql: `(select seq as i from seq_1_to_${people}) as n`,
}
/** `u` and five digits: half of them private, whom a stranger does not see. */
const login = { sqlite: `printf('u%06d', i)`, mysql: `concat('u', lpad(i, 6, '0'))` }

const populate = async (db: SqlDatabase): Promise<void> => {
  const [from, name] = [numbers[db.dialect], login[db.dialect]]
  await db.query((k) => k.raw(`insert into accounts (id, kind, name, lower_name, created_at) select i + 1000, 'user', ${name}, ${name}, 0 from ${from}`))
  await db.query((k) =>
    k.raw(
      `insert into users (id, full_name, password_hash, search_name, created_at, visibility) select i + 1000, 'Somebody', 'x', ${db.dialect === 'sqlite' ? `${name} || ' somebody'` : `concat(${name}, ' somebody')`}, 0, case when i % 2 = 0 then 'private' else 'public' end from ${from}`,
    ),
  )
  if (db.dialect === 'mysql') await db.query((k) => k.raw('analyze table users, accounts'))
}

const bindsOf = (statement: Statement, binds: Readonly<Record<string, Bind>>) =>
  statement.order.map((name) => (typeof name === 'string' ? (binds[name] ?? null) : name.constant))

/** What the database says about how it will find the rows: the step that reads the index of names. */
const indexFor = async (db: SqlDatabase, statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<string> => {
  if (db.dialect === 'sqlite') {
    const rows = await db.query<{ detail: string }>((k) => k.raw(`explain query plan ${statement.sql}`, bindsOf(statement, binds) as never))
    return rows.map((row) => row.detail).find((detail) => detail.includes('search_name')) ?? 'no index'
  }
  const rows = await db.query<{ key: string | null; Extra: string }>((k) => k.raw(`explain ${statement.sql}`, bindsOf(statement, binds) as never))
  const row = rows.find(({ key }) => key?.includes('search_name') === true)
  return row === undefined ? 'no index' : `${row.key}; ${row.Extra}`
}

/** Rows that MariaDB read from any index or table while `work` ran, on one connection. */
const rowsRead = async (tx: SqlRunner, work: () => Promise<unknown>): Promise<number> => {
  const total = async (): Promise<number> => {
    const rows = await tx.query<{ Variable_name: string; Value: string }>((k) => k.raw(`show session status like 'Handler_read%'`))
    return rows.reduce((sum, row) => sum + Number(row.Value), 0)
  }
  const before = await total()
  await work()
  return (await total()) - before
}

for (const database of eachDatabase()) {
  test(`${database.name}: among ${people} users a search reads a page of an index, and its count stops early`, async (t) => {
    const db = await database.open()
    try {
      await populate(db)
      const statements = userStatements(db)
      const binds = { ...prefixRange('u0'), ...viewerBinds(anyone), limit: 30, offset: 0 }
      const indexes = { search: await indexFor(db, statements.search, binds), count: await indexFor(db, statements.countSearch, binds) }
      for (const [what, index] of Object.entries(indexes)) {
        t.regex(index, /search_name/, `${what}: ${index}`)
        t.notRegex(index, /SCAN|filesort|temporary/i, `${what}: ${index}`)
      }
      const store = makeSqlUserStore(db)
      const found = await store(db).search(anyone, 'u0000', undefined, { page: 2, limit: 10 })
      t.deepEqual(found.items.map((user) => user.login), [21, 23, 25, 27, 29, 31, 33, 35, 37, 39].map((i) => `u0000${i}`))
      t.is(found.total, 50)
      const many = await store(db).search(anyone, '', undefined, { page: 1, limit: 50 })
      t.deepEqual([many.items.length, many.total, many.totalIsCapped], [50, 1_000, true])
      t.deepEqual((await store(db).search(anyone, '', undefined, { page: 21, limit: 50 })).items, [])
      if (db.dialect === 'mysql') {
        const read = await db.transaction((tx) => rowsRead(tx, () => store(tx).search(anyone, 'u', undefined, { page: 1, limit: 50 })))
        t.true(read < 5_000, `read ${read} rows`)
      }
    } finally {
      await db.close()
    }
  })
}
