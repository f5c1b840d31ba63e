import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../../core/kernel/brand.ts'
import { accountNameKey } from '../../../core/kernel/account-name.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { UserStore } from '../../../core/identity/ports.ts'
import { UserNameTaken } from '../../../core/identity/ports.ts'
import type { NewUser, User } from '../../../core/identity/types.ts'
import type { CountRow } from '../counted-page.ts'
import { pageOf } from '../counted-page.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { UserRow } from './rows.ts'
import { prefixRange, searchCountCap, userOf, viewerBinds } from './rows.ts'
import { listingBinds, userListStatements } from './user-list-statements.ts'
import { userStatements } from './user-statements.ts'

const maxSearchName = 160

/** What users are found by: login and full name, lower case, cut to the column. */
const searchNameOf = (login: string, fullName: string): string =>
  [...`${accountNameKey(login)} ${fullName.normalize('NFC').toLowerCase()}`].slice(0, maxSearchName).join('')

const columnsOf = (user: Omit<User, 'id' | 'primaryEmail' | 'avatarDigest' | 'followersCount' | 'followingCount' | 'createdAt' | 'lastLoginAt' | 'version'>) => ({
  fullName: user.fullName,
  searchName: searchNameOf(user.login, user.fullName),
  isAdmin: user.isAdmin,
  isActive: user.isActive,
  prohibitLogin: user.prohibitLogin,
  restricted: user.restricted,
  mustChangePassword: user.mustChangePassword,
  allowCreateOrganization: user.allowCreateOrganization,
  hideEmail: user.hideEmail,
  visibility: user.visibility,
  language: user.language,
  theme: user.theme,
  diffViewStyle: user.diffViewStyle,
  hideActivity: user.hideActivity,
  website: user.website,
  location: user.location,
  description: user.description,
})

const freshUser = (user: NewUser) =>
  columnsOf({
    ...user,
    prohibitLogin: false,
    allowCreateOrganization: true,
    hideEmail: true,
    language: 'en-US',
    theme: '',
    diffViewStyle: '',
    hideActivity: false,
    website: '',
    location: '',
    description: '',
  })

type Statements = ReturnType<typeof userStatements>
type ListStatements = ReturnType<typeof userListStatements>

type Finding = 'byId' | 'byIds' | 'byLogin' | 'byFormerLogin' | 'kindOfName' | 'search' | 'list'

const finding = (s: Statements, lists: ListStatements, runner: SqlRunner): Pick<UserStore, Finding> => ({
  async byId(id) {
    const row = await runner.first<UserRow>(s.byId, { id })
    return row === undefined ? undefined : userOf(row)
  },
  async byIds(ids) {
    if (ids.length === 0) return []
    const { statement, binds } = s.byIds(ids)
    const found = new Map((await runner.all<UserRow>(statement, binds)).map((row) => [Number(row.id), userOf(row)]))
    return ids.flatMap((id) => found.get(id) ?? [])
  },
  async byLogin(login) {
    const row = await runner.first<UserRow>(s.byLogin, { key: accountNameKey(login) })
    return row === undefined ? undefined : userOf(row)
  },
  async kindOfName(name) {
    const row = await runner.first<{ kind: string }>(s.kindOfName, { key: accountNameKey(name) })
    if (row === undefined) return undefined
    return row.kind === 'user' ? 'user' : 'organization'
  },
  async search(viewer, prefix, id, page) {
    const binds = { ...prefixRange(prefix), ...viewerBinds(viewer) }
    if (id !== undefined) {
      const row = page.page === 1 ? await runner.first<UserRow>(s.searchOne, { ...binds, id }) : undefined
      return row === undefined ? { items: [], total: 0 } : { items: [userOf(row)], total: 1 }
    }
    const offset = pageOffset(page)
    // Skipping rows costs as much as reading them, so nobody pages deeper than the count goes.
    const rows = offset < searchCountCap ? await runner.all<UserRow>(s.search, { ...binds, limit: page.limit, offset }) : []
    return pageOf(rows.map(userOf), await runner.first<CountRow>(s.countSearch, binds), searchCountCap)
  },
  async list(prefix, page, listing) {
    const isNarrowed = listing !== undefined && Object.keys(listing).length > 0
    const binds = { ...prefixRange(prefix), ...(isNarrowed ? listingBinds(listing) : {}) }
    const statement = isNarrowed ? lists.narrowed[listing.order ?? 'alphabetically'] : s.list
    const rows = await runner.all<UserRow>(statement, { ...binds, limit: page.limit, offset: pageOffset(page) })
    return pageOf(rows.map(userOf), await runner.first<CountRow>(isNarrowed ? lists.countNarrowed : s.countList, binds))
  },
  async byFormerLogin(login) {
    const row = await runner.first<UserRow>(s.byFormerLogin, { key: accountNameKey(login) })
    return row === undefined ? undefined : userOf(row)
  },
})

const nameTaken = () => left(UserNameTaken('Another user or organization has this name.'))

const naming = (s: Statements, runner: SqlRunner): Pick<UserStore, 'insert' | 'rename'> => {
  const insertAccount = async (user: NewUser): Promise<UserId | undefined> => {
    const key = accountNameKey(user.login)
    try {
      const inserted = await runner.run(s.insertAccount, { name: user.login, key, at: user.createdAt.getTime() })
      await runner.run(s.dropRedirect, { key })
      return inserted.insertId as UserId
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return undefined
      throw error
    }
  }
  return {
    async rename(user, to) {
      const [oldKey, key] = [accountNameKey(user.login), accountNameKey(to)]
      try {
        await runner.run(s.renameAccount, { id: user.id, name: to, key })
      } catch (error) {
        if (isUniqueViolation(error, 'lower_name')) return nameTaken()
        throw error
      }
      await runner.run(s.dropRedirect, { key })
      if (oldKey !== key) await runner.run(s.insertRedirect, { key: oldKey, id: user.id })
      await runner.run(s.renameUser, { id: user.id, searchName: searchNameOf(to, user.fullName) })
      return right(undefined)
    },
    async insert(user) {
      const id = await insertAccount(user)
      if (id === undefined) return nameTaken()
      await runner.run(s.insertUser, { id, phc: user.passwordPhc, at: user.createdAt.getTime(), ...freshUser(user) })
      return right(id)
    },
  }
}

/** Users on SQL: statements composed once, the store bound to the pool or to a transaction. */
export const makeSqlUserStore = (db: SqlDatabase): ((runner: SqlRunner) => UserStore) => {
  const s = userStatements(db)
  const lists = userListStatements(db)
  return (runner) => {
    const found = finding(s, lists, runner)
    const { byId } = found
    return {
      ...found,
      ...naming(s, runner),
      async lock(id) {
        return (await runner.first(s.lock, { id })) === undefined ? undefined : byId(id)
      },
      async update(id, changes) {
        const user = await byId(id)
        if (user !== undefined) await runner.run(s.update, { id, ...columnsOf({ ...user, ...changes }) })
      },
      async passwordPhc(id) {
        return (await runner.first<{ password_hash: string }>(s.passwordPhc, { id }))?.password_hash
      },
      async replacePassword(id, phc, expected, mustChange) {
        const changed =
          expected === undefined
            ? await runner.run(s.setPassword, { id, phc, mustChange })
            : await runner.run(s.swapPassword, { id, phc, mustChange, expected })
        return changed.affected > 0
      },
      async rehashPassword(id, phc, expected) {
        await runner.run(s.rehashPassword, { id, phc, expected })
      },
      async markLoggedIn(id, at) {
        await runner.run(s.markLoggedIn, { id, at: at.getTime() })
      },
      async lockActiveAdmins() {
        const rows = await runner.all<{ id: number | string }>(s.lockActiveAdmins, {})
        return rows.map((row) => Number(row.id) as UserId)
      },
      async hasAdmin() {
        return (await runner.first(s.anyAdmin, {})) !== undefined
      },
      async remove(id) {
        await runner.run(s.remove, { id })
      },
    }
  }
}
