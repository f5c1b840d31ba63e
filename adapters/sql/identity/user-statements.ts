import type { Knex } from 'knex'
import type { UserListing, UserOrder } from '../../../core/identity/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { listSlots, paddedList } from '../kit/fragments.ts'
import type { PageQuery, Shown } from '../kit/page-query.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, Params, SqlDatabase } from '../kit/statement.ts'
import type { ViewerBind } from './rows.ts'
import { selectUsers, visibleTo, withUserColumns } from './rows.ts'
import { isFound, matchedUsers } from './user-search.ts'

type RowBind =
  | 'id'
  | 'fullName'
  | 'searchName'
  | 'isAdmin'
  | 'isActive'
  | 'prohibitLogin'
  | 'restricted'
  | 'mustChangePassword'
  | 'allowCreateOrganization'
  | 'hideEmail'
  | 'visibility'
  | 'language'
  | 'theme'
  | 'diffViewStyle'
  | 'hideActivity'
  | 'website'
  | 'location'
  | 'description'
const changeable = (p: Params<RowBind>): Record<string, Knex.Value> => ({
  full_name: p('fullName'),
  search_name: p('searchName'),
  is_admin: p('isAdmin'),
  is_active: p('isActive'),
  prohibit_login: p('prohibitLogin'),
  restricted: p('restricted'),
  must_change_password: p('mustChangePassword'),
  allow_create_organization: p('allowCreateOrganization'),
  hide_email: p('hideEmail'),
  visibility: p('visibility'),
  language: p('language'),
  theme: p('theme'),
  diff_view_style: p('diffViewStyle'),
  hide_activity: p('hideActivity'),
  website: p('website'),
  location: p('location'),
  description: p('description'),
})

/** Activating an account ends its deactivation and its wait for confirmation, so that no job removes it. */
const endsWaiting = (k: Knex, p: Params<'isActive'>): Record<string, Knex.Raw> =>
  Object.fromEntries(
    ['deactivated_at', 'deactivated_by', 'unconfirmed_since'].map((column) => [
      column,
      k.raw('case when ? = 1 then null else ?? end', [p('isActive'), column]),
    ]),
  )

/** Selects users without robot accounts. */
const people = (k: Knex): Knex.QueryBuilder => k('users as u').whereNull('u.robot_org_id')

/**
 * Shows a page of users. Their ids are selected first, in the order of the index: otherwise MariaDB joins and sorts
 * every user before it cuts out the page. A space sorts before every character of a login, so the order of
 * `search_name` is the order of logins.
 */
const alphabetically: Shown = (k, rows, cut) =>
  selectUsers(k)
    .join(cut(rows.select('u.id').orderBy('u.search_name')).as('found'), 'found.id', 'u.id')
    .orderBy('u.search_name')

const reads = (db: SqlDatabase) => ({
  byId: db.prepare((k, p: Params<'id'>) => selectUsers(k).where('u.id', p('id'))),
  byIds: paddedList((length) =>
    db.prepare((k, p: Params<string>) => selectUsers(k).whereIn('u.id', listSlots(p, length))),
  ),
  byLogin: db.prepare((k, p: Params<'key'>) =>
    selectUsers(k).where('a.lower_name', p('key')).whereNull('u.robot_org_id'),
  ),
  byFormerLogin: db.prepare((k, p: Params<'key'>) =>
    selectUsers(k).join('account_redirects as r', 'r.account_id', 'u.id').where('r.lower_name', p('key')),
  ),
  kindOfName: db.prepare((k, p: Params<'key'>) => k('accounts').where('lower_name', p('key')).select('kind')),
  searchOne: db.prepare((k, p: (n: 'from' | 'to' | 'id' | ViewerBind) => Knex.Value & number) =>
    selectUsers(k).where('u.id', p('id')).modify(isFound(k, p)).modify(visibleTo(k, p)),
  ),
  list: pageQuery(db, people, alphabetically),
  passwordPhc: db.prepare((k, p: Params<'id'>) => k('users').where('id', p('id')).select('password_hash')),
  anyAdmin: db.prepare((k) => k('users').where('is_admin', 1).select('id').limit(1)),
  lock: db.prepare((k, p: Params<'id'>) =>
    k('users').where('id', p('id')).whereNull('robot_org_id').select('id').forUpdate(),
  ),
  lockActiveAdmins: db.prepare((k) =>
    k('users').where({ is_admin: 1, is_active: 1, prohibit_login: 0 }).select('id').orderBy('id').forUpdate(),
  ),
})

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare((k, p: Params<'name' | 'key' | 'at'>) =>
    k('accounts').insert({ kind: 'user', name: p('name'), lower_name: p('key'), created_at: p('at') }),
  ),
  dropRedirect: db.prepare((k, p: Params<'key'>) => k('account_redirects').where('lower_name', p('key')).delete()),
  insertRedirect: db.prepare((k, p: Params<'key' | 'id'>) =>
    k('account_redirects').insert({ lower_name: p('key'), account_id: p('id') }),
  ),
  renameAccount: db.prepare((k, p: Params<'id' | 'name' | 'key'>) =>
    k('accounts')
      .where('id', p('id'))
      .update({ name: p('name'), lower_name: p('key') }),
  ),
  renameUser: db.prepare((k, p: Params<'id' | 'searchName'>) =>
    k('users')
      .where('id', p('id'))
      .update({ search_name: p('searchName'), version: k.raw('version + 1') }),
  ),
  insertUser: db.prepare((k, p: Params<RowBind | 'phc' | 'at'>) =>
    k('users').insert({ id: p('id'), password_hash: p('phc'), created_at: p('at'), ...changeable(p) }),
  ),
  update: db.prepare((k, p: Params<RowBind>) =>
    k('users')
      .where('id', p('id'))
      .update({ ...changeable(p), ...endsWaiting(k, p), version: k.raw('version + 1') }),
  ),
  setPassword: db.prepare((k, p: Params<'id' | 'phc' | 'mustChange'>) =>
    k('users')
      .where('id', p('id'))
      .update({ password_hash: p('phc'), must_change_password: p('mustChange'), version: k.raw('version + 1') }),
  ),
  swapPassword: db.prepare((k, p: Params<'id' | 'phc' | 'mustChange' | 'expected'>) =>
    k('users')
      .where('id', p('id'))
      .where('password_hash', p('expected'))
      .update({ password_hash: p('phc'), must_change_password: p('mustChange'), version: k.raw('version + 1') }),
  ),
  rehashPassword: db.prepare((k, p: Params<'id' | 'phc' | 'expected'>) =>
    k('users')
      .where('id', p('id'))
      .where('password_hash', p('expected'))
      .update({ password_hash: p('phc') }),
  ),
  markLoggedIn: db.prepare((k, p: Params<'id' | 'at'>) =>
    k('users')
      .where('id', p('id'))
      .update({ last_login_at: p('at') }),
  ),
  remove: db.prepare((k, p: Params<'id'>) => k('accounts').where('id', p('id')).delete()),
})

export const userStatements = (db: SqlDatabase): ReturnType<typeof reads> & ReturnType<typeof writes> => ({
  ...reads(db),
  ...writes(db),
})

type FilterBind = 'login' | 'isActive' | 'isAdmin' | 'restricted' | 'prohibitLogin' | 'hasSecondFactor' | 'visibility'
type ListBind = FilterBind | 'from' | 'to'
type ListParameter = Params<ListBind>

/** A bind that is null does not narrow the list. */
const same = (k: Knex, p: ListParameter, column: string, bind: FilterBind): Knex.Raw =>
  k.raw('?? = coalesce(?, ??)', [column, p(bind), column])

const hasSecondFactor =
  'case when exists (select 1 from two_factors sf where sf.user_id = u.id and sf.enrolled_at is not null) ' +
  'then 1 else 0 end'

const narrowed = (k: Knex, p: ListParameter, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query
    // Robot accounts are excluded.
    .whereNull('u.robot_org_id')
    .whereRaw(same(k, p, 'a.lower_name', 'login'))
    .whereRaw(same(k, p, 'u.is_active', 'isActive'))
    .whereRaw(same(k, p, 'u.is_admin', 'isAdmin'))
    .whereRaw(same(k, p, 'u.restricted', 'restricted'))
    .whereRaw(same(k, p, 'u.prohibit_login', 'prohibitLogin'))
    .whereRaw(same(k, p, 'u.visibility', 'visibility'))
    .whereRaw(k.raw(`(? is null or ${hasSecondFactor} = ?)`, [p('hasSecondFactor'), p('hasSecondFactor')]))

/** Narrows the query to the users who match a search text. */
const matching = (k: Knex, p: ListParameter, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  narrowed(k, p, query).join(matchedUsers(k, p).as('found'), 'found.user_id', 'u.id')

const orders: Readonly<Record<UserOrder, readonly [string, 'asc' | 'desc']>> = {
  alphabetically: ['u.search_name', 'asc'],
  reversealphabetically: ['u.search_name', 'desc'],
  newest: ['u.id', 'desc'],
  oldest: ['u.id', 'asc'],
  recentlogin: ['u.last_login_at', 'desc'],
  leastrecentlogin: ['u.last_login_at', 'asc'],
}

/** A list in each order. */
export type UserLists = Readonly<Record<UserOrder, PageQuery<ListBind>>>

const listsOf = (db: SqlDatabase, chosen: typeof narrowed, first: readonly string[]): UserLists =>
  Object.fromEntries(
    Object.entries(orders).map(([order, [column, direction]]) => [
      order,
      pageQuery(
        db,
        (k, p: ListParameter) => chosen(k, p, k('users as u').join('accounts as a', 'a.id', 'u.id')),
        (k, rows, cut) =>
          cut(
            withUserColumns(k, rows).orderBy([
              ...(order === 'alphabetically' ? first.map((each) => ({ column: each })) : []),
              { column, order: direction },
              { column: 'u.id' },
            ]),
          ),
      ),
    ]),
  ) as UserLists

/**
 * Lists all users, filtered and ordered for an administrator. It is meant for a console, not for every request. With a
 * search text, users who start with it come first unless another order is requested.
 */
export const userListStatements = (
  db: SqlDatabase,
): { readonly narrowed: UserLists; readonly matching: UserLists } => ({
  narrowed: listsOf(db, narrowed, []),
  matching: listsOf(db, matching, ['found.place']),
})

export const listingBinds = (listing: UserListing = {}): Readonly<Record<FilterBind, Bind>> => ({
  login: listing.login === undefined ? null : accountNameKey(listing.login),
  isActive: listing.isActive ?? null,
  isAdmin: listing.isAdmin ?? null,
  restricted: listing.restricted ?? null,
  prohibitLogin: listing.prohibitLogin ?? null,
  hasSecondFactor: listing.hasSecondFactor ?? null,
  visibility: listing.visibility ?? null,
})
