import type { Knex } from 'knex'
import { accountNameKey } from '../../../core/kernel/account-name.ts'
import type { UserListing, UserOrder } from '../../../core/identity/types.ts'
import { countOf } from '../counted-page.ts'
import type { Bind, SqlDatabase, Statement } from '../statement.ts'
import { selectUsers } from './rows.ts'

type FilterBind = 'from' | 'to' | 'login' | 'isActive' | 'isAdmin' | 'restricted' | 'prohibitLogin' | 'hasSecondFactor' | 'visibility'
type P = (name: FilterBind | 'limit' | 'offset') => Knex.Value & number

/** A bind that is null narrows nothing. */
const same = (k: Knex, p: P, column: string, bind: FilterBind): Knex.Raw => k.raw('?? = coalesce(?, ??)', [column, p(bind), column])

const hasSecondFactor = 'case when exists (select 1 from two_factors sf where sf.user_id = u.id and sf.enrolled_at is not null) then 1 else 0 end'

const narrowed = (k: Knex, p: P, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query
    .where('u.search_name', '>=', p('from'))
    .where('u.search_name', '<', p('to'))
    // Robot accounts are no people.
    .whereNull('u.robot_org_id')
    .whereRaw(same(k, p, 'a.lower_name', 'login'))
    .whereRaw(same(k, p, 'u.is_active', 'isActive'))
    .whereRaw(same(k, p, 'u.is_admin', 'isAdmin'))
    .whereRaw(same(k, p, 'u.restricted', 'restricted'))
    .whereRaw(same(k, p, 'u.prohibit_login', 'prohibitLogin'))
    .whereRaw(same(k, p, 'u.visibility', 'visibility'))
    .whereRaw(k.raw(`(? is null or ${hasSecondFactor} = ?)`, [p('hasSecondFactor'), p('hasSecondFactor')]))

const orders: Readonly<Record<UserOrder, readonly [string, 'asc' | 'desc']>> = {
  alphabetically: ['u.search_name', 'asc'],
  reversealphabetically: ['u.search_name', 'desc'],
  newest: ['u.id', 'desc'],
  oldest: ['u.id', 'asc'],
  recentlogin: ['u.last_login_at', 'desc'],
  leastrecentlogin: ['u.last_login_at', 'asc'],
}

/** All users, narrowed and ordered as an administrator asks: for a console, not for every request. */
export const userListStatements = (
  db: SqlDatabase,
): { readonly narrowed: Readonly<Record<UserOrder, Statement>>; readonly countNarrowed: Statement } => ({
  narrowed: Object.fromEntries(
    Object.entries(orders).map(([order, [column, direction]]) => [
      order,
      db.prepare((k, p: P) =>
        narrowed(k, p, selectUsers(k)).orderBy([{ column, order: direction }, { column: 'u.id' }]).limit(p('limit')).offset(p('offset')),
      ),
    ]),
  ) as Record<UserOrder, Statement>,
  countNarrowed: db.prepare((k, p: P) => countOf(k, narrowed(k, p, k('users as u').join('accounts as a', 'a.id', 'u.id').select('u.id')))),
})

export const listingBinds = (listing: UserListing): Readonly<Record<string, Bind>> => ({
  login: listing.login === undefined ? null : accountNameKey(listing.login),
  isActive: listing.isActive ?? null,
  isAdmin: listing.isAdmin ?? null,
  restricted: listing.restricted ?? null,
  prohibitLogin: listing.prohibitLogin ?? null,
  hasSecondFactor: listing.hasSecondFactor ?? null,
  visibility: listing.visibility ?? null,
})
