import type { Knex } from 'knex'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { UserListing, UserOrder } from '../../../core/identity/types.ts'
import { countOf } from '../counted-page.ts'
import type { Bind, SqlDatabase, Statement } from '../statement.ts'
import { selectUsers } from './rows.ts'
import { matchedUsers } from './search-statements.ts'

type FilterBind = 'login' | 'isActive' | 'isAdmin' | 'restricted' | 'prohibitLogin' | 'hasSecondFactor' | 'visibility'
type P = (name: FilterBind | 'from' | 'to' | 'limit' | 'offset') => Knex.Value & number

/** A bind that is null narrows nothing. */
const same = (k: Knex, p: P, column: string, bind: FilterBind): Knex.Raw => k.raw('?? = coalesce(?, ??)', [column, p(bind), column])

const hasSecondFactor = 'case when exists (select 1 from two_factors sf where sf.user_id = u.id and sf.enrolled_at is not null) then 1 else 0 end'

const narrowed = (k: Knex, p: P, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query
    // Robot accounts are no people.
    .whereNull('u.robot_org_id')
    .whereRaw(same(k, p, 'a.lower_name', 'login'))
    .whereRaw(same(k, p, 'u.is_active', 'isActive'))
    .whereRaw(same(k, p, 'u.is_admin', 'isAdmin'))
    .whereRaw(same(k, p, 'u.restricted', 'restricted'))
    .whereRaw(same(k, p, 'u.prohibit_login', 'prohibitLogin'))
    .whereRaw(same(k, p, 'u.visibility', 'visibility'))
    .whereRaw(k.raw(`(? is null or ${hasSecondFactor} = ?)`, [p('hasSecondFactor'), p('hasSecondFactor')]))

/** Narrowed to the users who match a text as well. */
const matching = (k: Knex, p: P, query: Knex.QueryBuilder): Knex.QueryBuilder => narrowed(k, p, query).join(matchedUsers(k, p).as('found'), 'found.user_id', 'u.id')

const orders: Readonly<Record<UserOrder, readonly [string, 'asc' | 'desc']>> = {
  alphabetically: ['u.search_name', 'asc'],
  reversealphabetically: ['u.search_name', 'desc'],
  newest: ['u.id', 'desc'],
  oldest: ['u.id', 'asc'],
  recentlogin: ['u.last_login_at', 'desc'],
  leastrecentlogin: ['u.last_login_at', 'asc'],
}

/** A list in each order, and its count. */
export interface UserLists {
  readonly page: Readonly<Record<UserOrder, Statement>>
  readonly count: Statement
}

const listsOf = (db: SqlDatabase, chosen: typeof narrowed, first: readonly string[]): UserLists => ({
  page: Object.fromEntries(
    Object.entries(orders).map(([order, [column, direction]]) => [
      order,
      db.prepare((k, p: P) =>
        chosen(k, p, selectUsers(k))
          .orderBy([...(order === 'alphabetically' ? first.map((each) => ({ column: each })) : []), { column, order: direction }, { column: 'u.id' }])
          .limit(p('limit'))
          .offset(p('offset')),
      ),
    ]),
  ) as Record<UserOrder, Statement>,
  count: db.prepare((k, p: P) => countOf(k, chosen(k, p, k('users as u').join('accounts as a', 'a.id', 'u.id').select('u.id')))),
})

/**
 * All users, narrowed and ordered as an administrator asks: for a console, not for every request. With a text, those who
 * start with it come first unless another order is asked for.
 */
export const userListStatements = (db: SqlDatabase): { readonly narrowed: UserLists; readonly matching: UserLists } => ({
  narrowed: listsOf(db, narrowed, []),
  matching: listsOf(db, matching, ['found.place']),
})

export const listingBinds = (listing: UserListing = {}): Readonly<Record<string, Bind>> => ({
  login: listing.login === undefined ? null : accountNameKey(listing.login),
  isActive: listing.isActive ?? null,
  isAdmin: listing.isAdmin ?? null,
  restricted: listing.restricted ?? null,
  prohibitLogin: listing.prohibitLogin ?? null,
  hasSecondFactor: listing.hasSecondFactor ?? null,
  visibility: listing.visibility ?? null,
})
