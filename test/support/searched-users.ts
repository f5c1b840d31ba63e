import { migrateUp } from '../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { migrateToNow, ourMigrations } from './schema.ts'

const searchTerms = '0024-identity-search-terms'
const rowsInAPiece = 10_000

const digits = `(select 0 as d${[1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => ` union all select ${digit}`).join('')})`

/** At most `rowsInAPiece` numbers from `from` to `to`, as a derived table. */
const numbers = {
  sqlite: (from: number, to: number) =>
    `(with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i from n) as n`,
  // MySQL has no tables of numbers, and bounds recursion.
  mysql: (from: number, to: number) =>
    `(select ${from} + a.d + 10 * b.d + 100 * c.d + 1000 * e.d as i from ${['a', 'b', 'c', 'e'].map((name) => `${digits} as ${name}`).join(', ')} having i <= ${to}) as n`,
}
/** `u` and six digits. */
const login = { sqlite: `printf('u%06d', i)`, mysql: `concat('u', lpad(i, 6, '0'))` }
const joined = (dialect: 'sqlite' | 'mysql', ...texts: readonly string[]) =>
  dialect === 'sqlite' ? texts.join(' || ') : `concat(${texts.join(', ')})`

/**
 * Puts `people` users with an address each into an empty database, as an installation that is older than the table of
 * search terms has them, and then migrates it: half of them are private. Answers how long the last step took.
 */
export const fillWithUsers = async (db: SqlDatabase, people: number): Promise<number> => {
  await migrateUp(db, { migrations: ourMigrations.filter(({ id }) => id < searchTerms) })
  const name = login[db.dialect]
  for (let from = 1; from <= people; from += rowsInAPiece) {
    const piece = numbers[db.dialect](from, Math.min(people, from + rowsInAPiece - 1))
    const insert = (into: string, columns: string) =>
      db.query((k) => k.raw(`insert into ${into} select ${columns} from ${piece}`))
    await insert('accounts (id, kind, name, lower_name, created_at)', `i + 1000, 'user', ${name}, ${name}, 0`)
    await insert(
      'users (id, full_name, password_hash, search_name, created_at, visibility)',
      `i + 1000, 'Some Body', 'x', ${joined(db.dialect, name, "' some body'")}, 0, case when i % 2 = 0 then 'private' else 'public' end`,
    )
    const address = joined(db.dialect, name, "'@example.org'")
    await insert(
      'emails (user_id, email, lower_email, verified, is_primary, created_at)',
      `i + 1000, ${address}, ${address}, 1, 1, 0`,
    )
  }
  const startedAt = performance.now()
  await migrateToNow(db)
  const took = performance.now() - startedAt
  if (db.dialect === 'mysql')
    await db.query((k) => k.raw('analyze table users, accounts, emails, user_search_terms, email_search_terms'))
  return took
}
