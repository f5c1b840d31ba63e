import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

type P<N extends string> = (name: N) => Knex.Value & number

/** The numbers from 1 to 299, as a derived table that both kinds of database know. */
const digits = (name: string, last: number): string =>
  `(${Array.from({ length: last + 1 }, (_, digit) => `select ${digit} as d`).join(' union all ')}) as ${name}`
const numbers = `(select 100 * h.d + 10 * t.d + o.d as i from ${digits('h', 2)} cross join ${digits('t', 9)} cross join ${digits('o', 9)}) as n`

/** What stands between the words of a full name. */
const separators = `(' ', '-', '.', '''')`

/** Who finds the user `u`: 0 everybody, 1 the signed-in, 2 site admins and the user. The same as `visibleTo`. */
const audience = `case when u.is_active = 1 and u.visibility = 'public' then 0 when u.is_active = 1 and u.visibility = 'limited' then 1 else 2 end`

/** Keeps what users and addresses are found by, in the transaction that changes them. Rows go with their user or address. */
export interface SearchTerms {
  /** After a change of the name or the full name. */
  learnUser(id: UserId): Promise<void>
  /** After a change of who sees the user. */
  showUser(id: UserId): Promise<void>
  /** After the address with this key was added. */
  learnEmail(key: string): Promise<void>
}

/**
 * The terms of a user are the texts that begin at any place in the login, and at any word of the full name, each to the
 * end of `search_name`; those of an address begin at any place in it. So whatever a text stands in begins with it, and
 * is found by a range of an index.
 */
export const makeSearchTerms = (db: SqlDatabase): ((runner: SqlRunner) => SearchTerms) => {
  const length = db.dialect === 'mysql' ? 'char_length' : 'length'
  const forgetUser = db.prepare((k, p: P<'id'>) => k('user_search_terms').where('user_id', p('id')).delete())
  const learnUser = db.prepare((k, p: P<'id'>) =>
    k.raw(
      `insert into user_search_terms (user_id, audience, place, term)
      select u.id, ${audience}, case when n.i = 1 then 0 else 1 end, substr(u.search_name, n.i)
      from users as u join accounts as a on a.id = u.id cross join ${numbers}
      where u.id = ? and n.i between 1 and ${length}(u.search_name)
        and (n.i <= ${length}(a.lower_name)
          or (substr(u.search_name, n.i - 1, 1) in ${separators} and substr(u.search_name, n.i, 1) not in ${separators}))`,
      [p('id')],
    ),
  )
  const showUser = db.prepare((k, p: P<'id'>) =>
    k('user_search_terms')
      .where('user_id', p('id'))
      .update({ audience: k.raw(`(select ${audience} from users as u where u.id = ?)`, [p('id')]) }),
  )
  const learnEmail = db.prepare((k, p: P<'key'>) =>
    k.raw(
      `insert into email_search_terms (email_id, place, term)
      select e.id, case when n.i = 1 then 0 else 1 end, substr(e.lower_email, n.i)
      from emails as e cross join ${numbers}
      where e.lower_email = ? and n.i between 1 and ${length}(e.lower_email)`,
      [p('key')],
    ),
  )
  return (runner) => ({
    async learnUser(id) {
      await runner.run(forgetUser, { id })
      await runner.run(learnUser, { id })
    },
    async showUser(id) {
      await runner.run(showUser, { id })
    },
    async learnEmail(key) {
      await runner.run(learnEmail, { key })
    },
  })
}
