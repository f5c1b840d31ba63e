import type { Knex } from 'knex'
import type { User, UserListing, UserOrder } from '../../../core/identity/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { Shown, TypedPage } from '../kit/page-query.ts'
import type { Slots, SqlDatabase } from '../kit/statement.ts'
import { changeableOfUser, fromUsers, joinPrimaryEmail, userRow, viewerParams, visibleTo } from './rows.ts'
import { isFound, matchedUsers, rangeParams } from './user-search.ts'
import type { Binds } from '../kit/columns.ts'
import { flag, nullableColumns, pick } from '../kit/columns.ts'
import { idList } from '../kit/key-lists.ts'
import { typedPage } from '../kit/page-query.ts'
import { assigned, newRow, values } from '../kit/values.ts'
import { accountRedirects, accounts, users } from '../tables/identity.ts'

/** Activating an account ends its deactivation and its wait for confirmation, so that no job removes it. */
const endsWaiting = (k: Knex, p: Slots<Pick<typeof changeableOfUser, 'isActive'>>): Record<string, Knex.Raw> =>
  Object.fromEntries(
    ['deactivated_at', 'deactivated_by', 'unconfirmed_since'].map((column) => [
      column,
      k.raw('case when ? = 1 then null else ?? end', [p.isActive, column]),
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
  fromUsers(k)
    .join(cut(rows.select('u.id').orderBy('u.search_name')).as('found'), 'found.id', 'u.id')
    .orderBy('u.search_name')

const reads = (db: SqlDatabase) => ({
  byId: db.prepare({ id: users.id }, userRow, (k, p) => fromUsers(k).where('u.id', p.id)),
  byIds: idList(db, users.id, {}, userRow, (k, _, ids) => fromUsers(k).whereIn('u.id', ids)),
  byLogin: db.prepare({ key: accounts.lowerName }, userRow, (k, p) =>
    fromUsers(k).where('a.lower_name', p.key).whereNull('u.robot_org_id'),
  ),
  byFormerLogin: db.prepare({ key: accountRedirects.lowerName }, userRow, (k, p) =>
    fromUsers(k).join('account_redirects as r', 'r.account_id', 'u.id').where('r.lower_name', p.key),
  ),
  kindOfName: db.prepare({ key: accounts.lowerName }, { kind: accounts.kind }, (k, p) =>
    k('accounts').where('lower_name', p.key),
  ),
  searchOne: db.prepare({ id: users.id, ...rangeParams, ...viewerParams }, userRow, (k, p) =>
    fromUsers(k).where('u.id', p.id).modify(isFound(k, p)).modify(visibleTo(k, p)),
  ),
  list: typedPage(db, {}, userRow, people, alphabetically),
  passwordPhc: db.prepare({ id: users.id }, { passwordHash: users.passwordHash }, (k, p) =>
    k('users').where('id', p.id),
  ),
  anyAdmin: db.prepare({}, { id: users.id }, (k) => k('users').where('is_admin', 1).limit(1)),
  lock: db.prepare({ id: users.id }, { id: users.id }, (k, p) =>
    k('users').where('id', p.id).whereNull('robot_org_id').forUpdate(),
  ),
  lockActiveAdmins: db.prepare({}, { id: users.id }, (k) =>
    k('users')
      .where(values(users, { isAdmin: true, isActive: true, prohibitLogin: false }))
      .orderBy('id')
      .forUpdate(),
  ),
})

const chosenOfNewUser = [
  'id',
  'passwordHash',
  'createdAt',
  'fullName',
  'searchName',
  'isAdmin',
  'isActive',
  'restricted',
  'mustChangePassword',
  'hideEmail',
  'visibility',
  'language',
] as const

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare({ name: accounts.name, key: accounts.lowerName, at: accounts.createdAt }, (k, p) =>
    k('accounts').insert(newRow(accounts, { kind: 'user', name: p.name, lowerName: p.key, createdAt: p.at })),
  ),
  dropRedirect: db.prepare({ key: accountRedirects.lowerName }, (k, p) =>
    k('account_redirects').where('lower_name', p.key).delete(),
  ),
  insertRedirect: db.prepare({ key: accountRedirects.lowerName, id: accountRedirects.accountId }, (k, p) =>
    k('account_redirects').insert(newRow(accountRedirects, { lowerName: p.key, accountId: p.id })),
  ),
  renameAccount: db.prepare({ ...pick(accounts, 'id', 'name'), key: accounts.lowerName }, (k, p) =>
    k('accounts')
      .where('id', p.id)
      .update(values(accounts, { name: p.name, lowerName: p.key })),
  ),
  renameUser: db.prepare(pick(users, 'id', 'searchName'), (k, p) =>
    k('users')
      .where('id', p.id)
      .update(values(users, { searchName: p.searchName, version: k.raw('version + 1') })),
  ),
  // What a new user does not choose has the default of the schema.
  insertUser: db.prepare(pick(users, ...chosenOfNewUser), (k, p) => k('users').insert(newRow(users, p))),
  update: db.prepare({ id: users.id, ...changeableOfUser }, (k, p) =>
    k('users')
      .where('id', p.id)
      .update({ ...assigned(changeableOfUser, p), ...endsWaiting(k, p), version: k.raw('version + 1') }),
  ),
  setPassword: db.prepare({ id: users.id, phc: users.passwordHash, mustChange: users.mustChangePassword }, (k, p) =>
    k('users')
      .where('id', p.id)
      .update(values(users, { passwordHash: p.phc, mustChangePassword: p.mustChange, version: k.raw('version + 1') })),
  ),
  swapPassword: db.prepare(
    { id: users.id, phc: users.passwordHash, mustChange: users.mustChangePassword, expected: users.passwordHash },
    (k, p) =>
      k('users')
        .where('id', p.id)
        .where('password_hash', p.expected)
        .update(
          values(users, { passwordHash: p.phc, mustChangePassword: p.mustChange, version: k.raw('version + 1') }),
        ),
  ),
  rehashPassword: db.prepare({ id: users.id, phc: users.passwordHash, expected: users.passwordHash }, (k, p) =>
    k('users')
      .where('id', p.id)
      .where('password_hash', p.expected)
      .update(values(users, { passwordHash: p.phc })),
  ),
  markLoggedIn: db.prepare({ id: users.id, at: users.lastLoginAt }, (k, p) =>
    k('users')
      .where('id', p.id)
      .update(values(users, { lastLoginAt: p.at })),
  ),
  remove: db.prepare({ id: accounts.id }, (k, p) => k('accounts').where('id', p.id).delete()),
})

export const userStatements = (db: SqlDatabase): ReturnType<typeof reads> & ReturnType<typeof writes> => ({
  ...reads(db),
  ...writes(db),
})

const filterParams = {
  ...pick(users, 'isActive', 'isAdmin', 'restricted', 'prohibitLogin', 'visibility'),
  login: accounts.lowerName,
  hasSecondFactor: flag(),
}
const narrowing = nullableColumns(filterParams)
const listParams = { ...narrowing, ...rangeParams }
type ListSlots = Slots<typeof listParams>
type Filter = keyof typeof filterParams

/** A bind that is null does not narrow the list. */
const same = (k: Knex, p: ListSlots, column: string, bind: Filter): Knex.Raw =>
  k.raw('?? = coalesce(?, ??)', [column, p[bind], column])

const hasSecondFactor =
  'case when exists (select 1 from two_factors sf where sf.user_id = u.id and sf.enrolled_at is not null) ' +
  'or exists (select 1 from passkeys pk where pk.user_id = u.id) then 1 else 0 end'

const narrowed = (k: Knex, p: ListSlots, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query
    // Robot accounts are excluded.
    .whereNull('u.robot_org_id')
    .whereRaw(same(k, p, 'a.lower_name', 'login'))
    .whereRaw(same(k, p, 'u.is_active', 'isActive'))
    .whereRaw(same(k, p, 'u.is_admin', 'isAdmin'))
    .whereRaw(same(k, p, 'u.restricted', 'restricted'))
    .whereRaw(same(k, p, 'u.prohibit_login', 'prohibitLogin'))
    .whereRaw(same(k, p, 'u.visibility', 'visibility'))
    .whereRaw(k.raw(`(? is null or ${hasSecondFactor} = ?)`, [p.hasSecondFactor, p.hasSecondFactor]))

/** Narrows the query to the users who match a search text. */
const matching = (k: Knex, p: ListSlots, query: Knex.QueryBuilder): Knex.QueryBuilder =>
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
export type UserLists = Readonly<Record<UserOrder, TypedPage<Binds<typeof listParams>, User>>>

const listsOf = (db: SqlDatabase, chosen: typeof narrowed, first: readonly string[]): UserLists =>
  Object.fromEntries(
    Object.entries(orders).map(([order, [column, direction]]) => [
      order,
      typedPage(
        db,
        listParams,
        userRow,
        (k, p) => chosen(k, p, k('users as u').join('accounts as a', 'a.id', 'u.id')),
        (k, rows, cut) =>
          cut(
            joinPrimaryEmail(k, rows).orderBy([
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

export const listingBinds = (listing: UserListing = {}): Binds<typeof narrowing> => ({
  login: listing.login === undefined ? undefined : accountNameKey(listing.login),
  isActive: listing.isActive,
  isAdmin: listing.isAdmin,
  restricted: listing.restricted,
  prohibitLogin: listing.prohibitLogin,
  hasSecondFactor: listing.hasSecondFactor,
  visibility: listing.visibility,
})
