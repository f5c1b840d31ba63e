import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Viewer } from '../../../core/identity/types.ts'
import { countCap } from '../counted-page.ts'
import type { Num, SqlDatabase, Statement } from '../statement.ts'

/** The search is open to everybody, so it and its count stop earlier: it must cost little however many users there are. */
export const searchCountCap = 1_000

type Range = 'from' | 'to'
type P = (name: Range | 'limit' | 'viewerId') => Knex.Value & number

/** Where in a text the match is: what starts with it comes first. */
const places = { wholeName: 0, insideName: 1, wholeAddress: 2, insideAddress: 3 } as const

/** Sorts after every text that starts with the prefix before it: the greatest code point. */
const afterAll = '\u{10FFFF}'

/** The texts that start with a prefix, as a range of an index that compares by bytes. */
export const prefixRange = (prefix: string): { readonly from: string; readonly to: string } => ({ from: prefix, to: prefix + afterAll })

/** Narrows to the terms that start with the text that is looked for. */
const inRange = (query: Knex.QueryBuilder, p: (name: Range) => Knex.Value): Knex.QueryBuilder =>
  query.where('term', '>=', p('from')).where('term', '<', p('to'))

/** What one audience finds at one place: the first terms of a range of the index, however many there are. */
const slice = (k: Knex, p: P, audience: number, place: number): Knex.QueryBuilder =>
  k.select('*').from(
    inRange(k('user_search_terms').where({ audience, place }), p).select('user_id', 'place', 'term').orderBy('term').limit(p('limit')).as('s'),
  )

const addressSlice = (k: Knex, p: P, place: 0 | 1): Knex.QueryBuilder =>
  k
    .select('e.user_id', k.raw('? as place', [place === 0 ? places.wholeAddress : places.insideAddress]), 's.term')
    .from(inRange(k('email_search_terms').where({ place }), p).select('email_id', 'term').orderBy('term').limit(p('limit')).as('s'))
    .join('emails as e', 'e.id', 's.email_id')

type Kind = 'anyone' | 'signedIn' | 'siteAdmin'
const audiences: Readonly<Record<Kind, readonly number[]>> = { anyone: [0], signedIn: [0, 1], siteAdmin: [0, 1, 2] }

const joined = ([first, ...others]: readonly Knex.QueryBuilder[]): Knex.QueryBuilder => {
  if (first === undefined) throw new Error('nothing to join')
  return others.length === 0 ? first : first.unionAll([...others])
}

/** Matches of what a viewer may find; without a text all users match, so only whole names are asked for. */
const matches = (db: SqlDatabase, kind: Kind, hasText: boolean): Statement =>
  db.prepare((k, p: P) =>
    joined([
      ...(hasText ? [places.wholeName, places.insideName] : [places.wholeName]).flatMap((place) => audiences[kind].map((audience) => slice(k, p, audience, place))),
      ...(hasText && kind === 'siteAdmin' ? [addressSlice(k, p, 0), addressSlice(k, p, 1)] : []),
      // A private user finds oneself.
      ...(kind === 'signedIn' ? [inRange(k('user_search_terms').where('user_id', p('viewerId')), p).select('user_id', 'place', 'term')] : []),
    ]),
  )

/** A user who matches, by one of the terms. */
export interface MatchRow {
  readonly user_id: Num
  readonly place: Num
  readonly term: string
}

const byPlaceThenTerm = (a: MatchRow, b: MatchRow): number =>
  Number(a.place) - Number(b.place) || (a.term < b.term ? -1 : a.term > b.term ? 1 : Number(a.user_id) - Number(b.user_id))

/** The users of matches: those who start with the text first, each once. */
export const usersOfMatches = (rows: readonly MatchRow[]): readonly UserId[] => [
  ...new Set([...rows].sort(byPlaceThenTerm).map((row) => Number(row.user_id) as UserId)),
]

/** The statement that finds what a viewer may find, with as many rows for each place and audience as may be looked at. */
export const searchStatements = (db: SqlDatabase): ((viewer: Viewer, text: string) => Statement) => {
  const kinds = ['anyone', 'signedIn', 'siteAdmin'] as const
  const of = (hasText: boolean) =>
    Object.fromEntries(kinds.map((kind) => [kind, matches(db, kind, hasText)])) as Readonly<Record<Kind, Statement>>
  const [withText, withoutText] = [of(true), of(false)]
  return (viewer, text) => {
    const kind = viewer.isSiteAdmin ? 'siteAdmin' : viewer.userId === undefined ? 'anyone' : 'signedIn'
    return (text === '' ? withoutText : withText)[kind]
  }
}

/** Whether the user `u` has a term in the range. */
export const isFound = (k: Knex, p: (name: Range | 'seesAll') => Knex.Value) =>
  (query: Knex.QueryBuilder): void => {
    query.where((any) =>
      any
        .whereExists(inRange(k('user_search_terms as t').whereRaw('t.user_id = u.id'), p).select(k.raw('1')))
        .orWhereExists(
          inRange(k('emails as o').join('email_search_terms as et', 'et.email_id', 'o.id').whereRaw('o.user_id = u.id').whereRaw('? = 1', [p('seesAll')]), p)
            .select(k.raw('1')),
        ),
    )
  }

/** The users who match, with the place of their best match, for lists of all users: as far as such lists are counted. */
export const matchedUsers = (k: Knex, p: (name: Range) => Knex.Value): Knex.QueryBuilder => {
  const named = (place: number): Knex.QueryBuilder =>
    k.select('*').from(inRange(k('user_search_terms').whereIn('audience', [0, 1, 2]).where({ place }), p).select('user_id', 'place').limit(countCap + 1).as('s'))
  const addressed = k
    .select('e.user_id', k.raw('? as place', [places.wholeAddress]))
    .from(inRange(k('email_search_terms').whereIn('place', [0, 1]), p).select('email_id').limit(countCap + 1).as('s'))
    .join('emails as e', 'e.id', 's.email_id')
  return k.from(joined([named(places.wholeName), named(places.insideName), addressed]).as('x')).select('x.user_id').min({ place: 'x.place' }).groupBy('x.user_id')
}

/** The addresses that match, with the place of their best match. */
export const matchedEmails = (k: Knex, p: (name: Range) => Knex.Value): Knex.QueryBuilder => {
  const at = (place: number): Knex.QueryBuilder =>
    k.select('*').from(inRange(k('email_search_terms').where({ place }), p).select('email_id', 'place').orderBy('term').limit(countCap + 1).as('s'))
  return k.from(joined([at(0), at(1)]).as('x')).select('x.email_id').min({ place: 'x.place' }).groupBy('x.email_id')
}
