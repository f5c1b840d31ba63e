import type { SearchTermsPart, SearchTermStore } from '../../../core/identity/accounts/ports.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { audience, makeSearchTerms } from './user-search.ts'
import { aliased, int, long, nullable } from '../kit/columns.ts'
import { emailSearchTerms, emails, userSearchTerms, users } from '../tables/identity.ts'

/**
 * Each row finds its term by the primary key of the terms. The term at place 0 is the whole text, from which the others
 * follow.
 */
const statements = (db: SqlDatabase) => ({
  users: db.prepare(
    { after: long(), limit: int() },
    { id: aliased(users, 'u').id, known: nullable(aliased(userSearchTerms, 't').userId) },
    (k, p) =>
      k('users as u')
        .leftJoin('user_search_terms as t', (join) =>
          join
            .on('t.user_id', 'u.id')
            .andOn('t.place', k.raw('0'))
            .andOn('t.term', 'u.search_name')
            .andOn('t.audience', k.raw(audience)),
        )
        .where('u.id', '>', p.after)
        .whereNull('u.robot_org_id')
        .orderBy('u.id')
        .limit(p.limit),
  ),
  emails: db.prepare(
    { after: emails.id, limit: int() },
    { id: aliased(emails, 'e').id, known: nullable(aliased(emailSearchTerms, 't').emailId) },
    (k, p) =>
      k('emails as e')
        .leftJoin('email_search_terms as t', (join) =>
          join.on('t.email_id', 'e.id').andOn('t.place', k.raw('0')).andOn('t.term', 'e.lower_email'),
        )
        .where('e.id', '>', p.after)
        .orderBy('e.id')
        .limit(p.limit),
  ),
  emailKey: db.prepare({ id: emails.id }, { lowerEmail: emails.lowerEmail }, (k, p) =>
    k('emails').where('id', p.id).forUpdate(),
  ),
  forgetEmail: db.prepare({ id: emailSearchTerms.emailId }, (k, p) =>
    k('email_search_terms').where('email_id', p.id).delete(),
  ),
})

const partOf = (
  rows: readonly { readonly id: number; readonly known: number | undefined }[],
  limit: number,
): SearchTermsPart => ({
  outdated: rows.filter(({ known }) => known === undefined).map(({ id }) => id),
  last: rows.length < limit ? undefined : rows.at(-1)?.id,
})

/** SearchTermStore over the tables of `user-search.ts`. */
export const makeSqlSearchTermStore = (db: SqlDatabase): ((runner: SqlRunner) => SearchTermStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => ({
    usersAfter: async (after, limit) => partOf(await runner.all(s.users, { after, limit }), limit),
    emailsAfter: async (after, limit) => partOf(await runner.all(s.emails, { after, limit }), limit),
    replaceUser: (id) => bindTerms(runner).learnUser(id as UserId),
    async replaceEmail(id) {
      const row = await runner.first(s.emailKey, { id })
      if (row === undefined) return
      await runner.run(s.forgetEmail, { id })
      await bindTerms(runner).learnEmail(row.lowerEmail)
    },
  })
}
