import type { Knex } from 'knex'
import type { Viewer } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { countCap } from '../kit/page-query.ts'
import type { Prepared, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { Binds, Row } from '../kit/columns.ts'
import { aliased, int, long, nullable, selectedAs } from '../kit/columns.ts'
import { values } from '../kit/values.ts'
import { emailSearchTerms, emails, userSearchTerms, users } from '../tables/identity.ts'
import type { viewerParams } from './rows.ts'
import type { SearchTermStore, SearchTermsPart } from '../../../core/identity/accounts/ports.ts'

/** Returns the numbers from 1 to 299 as a derived table, in SQL that both kinds of database support. */
const digits = (name: string, last: number): string =>
  `(${Array.from({ length: last + 1 }, (_, digit) => `select ${digit} as d`).join(' union all ')}) as ${name}`
const numbers = `(select 100 * h.d + 10 * t.d + o.d as i from ${digits('h', 2)} cross join ${digits('t', 9)} cross join ${digits('o', 9)}) as n`

/** The separators between the words of a full name. */
const separators = `(' ', '-', '.', '''')`

/**
 * Who can find the user `u`: 0 everyone, 1 signed-in users, 2 site admins and the user. The same rule as `visibleTo`.
 */
const audience = `case when u.is_active = 1 and u.visibility = 'public' then 0 when u.is_active = 1 and u.visibility = 'limited' then 1 else 2 end`

/**
 * Maintains the search terms of users and addresses, in the transaction that changes them. The rows are deleted with
 * their user or address.
 */
export interface SearchTerms {
  /** Called after a change of the name or the full name. */
  learnUser(id: UserId): Promise<void>
  /** Called after a change of the user's visibility. */
  showUser(id: UserId): Promise<void>
  /** Called after the address with this key was added. */
  learnEmail(key: string): Promise<void>
}

/**
 * The terms of a user are the suffixes of the login from any position, and of the full name from the start of any word,
 * each to the end of `search_name`. Those of an address start at any position in it. A text that contains the search
 * text therefore has a term with it as a prefix, which a range of an index finds.
 */
export const makeSearchTerms = (db: SqlDatabase): ((runner: SqlRunner) => SearchTerms) => {
  const length = db.dialect === 'mysql' ? 'char_length' : 'length'
  const forgetUser = db.prepare({ id: userSearchTerms.userId }, (k, p) =>
    k('user_search_terms').where('user_id', p.id).delete(),
  )
  const learnUser = db.prepare({ id: users.id }, (k, p) =>
    k('user_search_terms').insert(
      k.raw(
        `(user_id, audience, place, term)
        select u.id, ${audience}, case when n.i = 1 then 0 else 1 end, substr(u.search_name, n.i)
        from users as u join accounts as a on a.id = u.id cross join ${numbers}
        where u.id = ? and n.i between 1 and ${length}(u.search_name)
          and (n.i <= ${length}(a.lower_name)
            or (substr(u.search_name, n.i - 1, 1) in ${separators} and substr(u.search_name, n.i, 1) not in ${separators}))`,
        [p.id],
      ),
    ),
  )
  const showUser = db.prepare({ id: userSearchTerms.userId }, (k, p) =>
    k('user_search_terms')
      .where('user_id', p.id)
      .update(
        values(userSearchTerms, { audience: k.raw(`(select ${audience} from users as u where u.id = ?)`, [p.id]) }),
      ),
  )
  const learnEmail = db.prepare({ key: emails.lowerEmail }, (k, p) =>
    k('email_search_terms').insert(
      k.raw(
        `(email_id, place, term)
        select e.id, case when n.i = 1 then 0 else 1 end, substr(e.lower_email, n.i)
        from emails as e cross join ${numbers}
        where e.lower_email = ? and n.i between 1 and ${length}(e.lower_email)`,
        [p.key],
      ),
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

/**
 * The search is open to everyone, so it and its count stop earlier: its cost must be low regardless of the number of
 * users.
 */
export const searchCountCap = 1_000

/** The range of terms that start with a search text. */
export const rangeParams = { from: userSearchTerms.term, to: userSearchTerms.term }
type Range = Slots<typeof rangeParams>

const searchParams = { ...rangeParams, limit: int(), viewerId: int() }
type SearchSlots = Slots<typeof searchParams>

/** The position of the match in a text. Texts that start with the search text come first. */
const places = { wholeName: 0, insideName: 1, wholeAddress: 2, insideAddress: 3 } as const

/** Sorts after every text with the preceding prefix: the greatest code point. */
const afterAll = '\u{10FFFF}'

/** Returns the range of texts with a prefix, for an index that compares by bytes. */
export const prefixRange = (prefix: string): { readonly from: string; readonly to: string } => ({
  from: prefix,
  to: prefix + afterAll,
})

/** Narrows to the terms that start with the search text. */
const inRange = (query: Knex.QueryBuilder, p: Range): Knex.QueryBuilder =>
  query.where('term', '>=', p.from).where('term', '<', p.to)

/** Selects what one audience finds at one place: the first terms of a range of the index, regardless of its size. */
const slice = (k: Knex, p: SearchSlots, audience: number, place: number): Knex.QueryBuilder =>
  k
    .select('*')
    .from(
      inRange(k('user_search_terms').where({ audience, place }), p)
        .select('user_id', 'place', 'term')
        .orderBy('term')
        .limit(p.limit)
        .as('s'),
    )

const addressSlice = (k: Knex, p: SearchSlots, place: 0 | 1): Knex.QueryBuilder =>
  k
    .select('e.user_id', k.raw('? as place', [place === 0 ? places.wholeAddress : places.insideAddress]), 's.term')
    .from(
      inRange(k('email_search_terms').where({ place }), p)
        .select('email_id', 'term')
        .orderBy('term')
        .limit(p.limit)
        .as('s'),
    )
    .join('emails as e', 'e.id', 's.email_id')

type Kind = 'anyone' | 'signedIn' | 'siteAdmin'
const audiences: Readonly<Record<Kind, readonly number[]>> = { anyone: [0], signedIn: [0, 1], siteAdmin: [0, 1, 2] }

const joined = ([first, ...others]: readonly Knex.QueryBuilder[]): Knex.QueryBuilder => {
  if (first === undefined) throw new Error('nothing to join')
  return others.length === 0 ? first : first.unionAll([...others])
}

/** A matching user, with one of the terms; the query selects them. */
const matchRow = {
  userId: selectedAs(userSearchTerms.userId),
  place: selectedAs(userSearchTerms.place),
  term: selectedAs(userSearchTerms.term),
}
export type MatchRow = Row<typeof matchRow>
/** Finds the matches of a search. */
export type Search = Prepared<Binds<typeof searchParams>, MatchRow>

/** Selects the matches that a viewer may find. Without a search text all users match, so only whole names are read. */
const matches = (db: SqlDatabase, kind: Kind, hasText: boolean): Search =>
  db.prepare(searchParams, matchRow, (k, p) =>
    joined([
      ...(hasText ? [places.wholeName, places.insideName] : [places.wholeName]).flatMap((place) =>
        audiences[kind].map((audience) => slice(k, p, audience, place)),
      ),
      ...(hasText && kind === 'siteAdmin' ? [addressSlice(k, p, 0), addressSlice(k, p, 1)] : []),
      // A private user can find their own account.
      ...(kind === 'signedIn'
        ? [inRange(k('user_search_terms').where('user_id', p.viewerId), p).select('user_id', 'place', 'term')]
        : []),
    ]),
  )

const byPlaceThenTerm = (a: MatchRow, b: MatchRow): number =>
  a.place - b.place || (a.term < b.term ? -1 : a.term > b.term ? 1 : a.userId - b.userId)

/** Returns the users of the matches, each once: those who start with the search text first. */
export const usersOfMatches = (rows: readonly MatchRow[]): readonly UserId[] => [
  ...new Set([...rows].sort(byPlaceThenTerm).map((row) => row.userId)),
]

/** Returns the statement that finds what a viewer may find. It is limited in rows for each place and audience. */
export const searchStatements = (db: SqlDatabase): ((viewer: Viewer, text: string) => Search) => {
  const kinds = ['anyone', 'signedIn', 'siteAdmin'] as const
  const of = (hasText: boolean) =>
    Object.fromEntries(kinds.map((kind) => [kind, matches(db, kind, hasText)])) as Readonly<Record<Kind, Search>>
  const [withText, withoutText] = [of(true), of(false)]
  return (viewer, text) => {
    const kind = viewer.isSiteAdmin ? 'siteAdmin' : viewer.userId === undefined ? 'anyone' : 'signedIn'
    return (text === '' ? withoutText : withText)[kind]
  }
}

/** Reports whether the user `u` has a term in the range. */
export const isFound =
  (k: Knex, p: Range & Slots<Pick<typeof viewerParams, 'seesAll'>>) =>
  (query: Knex.QueryBuilder): void => {
    query.where((any) =>
      any
        .whereExists(inRange(k('user_search_terms as t').whereRaw('t.user_id = u.id'), p).select(k.raw('1')))
        .orWhereExists(
          inRange(
            k('emails as o')
              .join('email_search_terms as et', 'et.email_id', 'o.id')
              .whereRaw('o.user_id = u.id')
              .whereRaw('? = 1', [p.seesAll]),
            p,
          ).select(k.raw('1')),
        ),
    )
  }

/**
 * Selects the matching users, with the place of their best match, for lists of all users. It stops where such lists
 * stop counting.
 */
export const matchedUsers = (k: Knex, p: Range): Knex.QueryBuilder => {
  const named = (place: number): Knex.QueryBuilder =>
    k.select('*').from(
      inRange(k('user_search_terms').whereIn('audience', [0, 1, 2]).where({ place }), p)
        .select('user_id', 'place')
        .limit(countCap + 1)
        .as('s'),
    )
  const addressed = k
    .select('e.user_id', k.raw('? as place', [places.wholeAddress]))
    .from(
      inRange(k('email_search_terms').whereIn('place', [0, 1]), p)
        .select('email_id')
        .limit(countCap + 1)
        .as('s'),
    )
    .join('emails as e', 'e.id', 's.email_id')
  return k
    .from(joined([named(places.wholeName), named(places.insideName), addressed]).as('x'))
    .select('x.user_id')
    .min({ place: 'x.place' })
    .groupBy('x.user_id')
}

/** Selects the matching addresses, with the place of their best match. */
export const matchedEmails = (k: Knex, p: Range): Knex.QueryBuilder => {
  const at = (place: number): Knex.QueryBuilder =>
    k.select('*').from(
      inRange(k('email_search_terms').where({ place }), p)
        .select('email_id', 'place')
        .orderBy('term')
        .limit(countCap + 1)
        .as('s'),
    )
  return k
    .from(joined([at(0), at(1)]).as('x'))
    .select('x.email_id')
    .min({ place: 'x.place' })
    .groupBy('x.email_id')
}

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
