import type { Knex } from 'knex'
import type { SearchTermsPart, SearchTermStore } from '../../../core/identity/accounts/ports.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { audience, makeSearchTerms } from './user-search.ts'

type WalkBind = (name: 'after' | 'limit') => Knex.Value & number

interface WalkRow {
  readonly id: Num
  /** Null if the whole text is not among the terms. */
  readonly known: Num | null
}

/**
 * Each row finds its term by the primary key of the terms. The term at place 0 is the whole text, from which the others
 * follow.
 */
const statements = (db: SqlDatabase) => ({
  users: db.prepare((k, p: WalkBind) =>
    k('users as u')
      .leftJoin('user_search_terms as t', (join) =>
        join
          .on('t.user_id', 'u.id')
          .andOn('t.place', k.raw('0'))
          .andOn('t.term', 'u.search_name')
          .andOn('t.audience', k.raw(audience)),
      )
      .where('u.id', '>', p('after'))
      .whereNull('u.robot_org_id')
      .select('u.id', 't.user_id as known')
      .orderBy('u.id')
      .limit(p('limit')),
  ),
  emails: db.prepare((k, p: WalkBind) =>
    k('emails as e')
      .leftJoin('email_search_terms as t', (join) =>
        join.on('t.email_id', 'e.id').andOn('t.place', k.raw('0')).andOn('t.term', 'e.lower_email'),
      )
      .where('e.id', '>', p('after'))
      .select('e.id', 't.email_id as known')
      .orderBy('e.id')
      .limit(p('limit')),
  ),
  emailKey: db.prepare((k, p: Params<'id'>) => k('emails').where('id', p('id')).select('lower_email').forUpdate()),
  forgetEmail: db.prepare((k, p: Params<'id'>) => k('email_search_terms').where('email_id', p('id')).delete()),
})

const partOf = (rows: readonly WalkRow[], limit: number): SearchTermsPart => ({
  outdated: rows.filter(({ known }) => known === null).map(({ id }) => Number(id)),
  last: rows.length < limit ? undefined : Number(rows.at(-1)?.id),
})

/** SearchTermStore over the tables of `user-search.ts`. */
export const makeSqlSearchTermStore = (db: SqlDatabase): ((runner: SqlRunner) => SearchTermStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => ({
    usersAfter: async (after, limit) => partOf(await runner.all<WalkRow>(s.users, { after, limit }), limit),
    emailsAfter: async (after, limit) => partOf(await runner.all<WalkRow>(s.emails, { after, limit }), limit),
    replaceUser: (id) => bindTerms(runner).learnUser(id as UserId),
    async replaceEmail(id) {
      const row = await runner.first<{ lower_email: string }>(s.emailKey, { id })
      if (row === undefined) return
      await runner.run(s.forgetEmail, { id })
      await bindTerms(runner).learnEmail(row.lower_email)
    },
  })
}
