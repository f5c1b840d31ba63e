import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import { rowsOfIds } from '../kit/key-lists.ts'
import { maySee } from '../../../core/identity/types.ts'
import type { UserStore } from '../../../core/identity/ports.ts'
import { UserNameTaken } from '../../../core/identity/ports.ts'
import type { NewUser, User } from '../../../core/identity/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { changeableOfUser } from './rows.ts'
import { viewerBinds } from './rows.ts'
import type { SearchTerms } from './user-search.ts'
import { prefixRange, searchCountCap, searchStatements, usersOfMatches, makeSearchTerms } from './user-search.ts'
import { listingBinds, userListStatements, userStatements } from './user-statements.ts'
import type { Binds } from '../kit/columns.ts'

const maxSearchName = 160

/** Returns the search name of a user: login and full name, lower case, cut to the column's length. */
const searchNameOf = (login: string, fullName: string): string =>
  [...`${accountNameKey(login)} ${fullName.normalize('NFC').toLowerCase()}`].slice(0, maxSearchName).join('')

const changeableBinds = (
  user: Omit<Binds<typeof changeableOfUser>, 'searchName'> & Pick<User, 'login'>,
): Binds<typeof changeableOfUser> => ({ ...user, searchName: searchNameOf(user.login, user.fullName) })

/** What a new user begins with, where the deployment decides. */
export type FreshUser = Pick<User, 'hideEmail' | 'language'>

const ordinary: FreshUser = { hideEmail: true, language: 'en-US' }

const freshUser = (user: NewUser, fresh: FreshUser) => ({
  ...user,
  ...fresh,
  searchName: searchNameOf(user.login, user.fullName),
})

type Statements = ReturnType<typeof userStatements>
type ListStatements = ReturnType<typeof userListStatements>

type Finding = 'byId' | 'byIds' | 'byLogin' | 'byFormerLogin' | 'kindOfName' | 'list'

const finding = (s: Statements, lists: ListStatements, runner: SqlRunner): Pick<UserStore, Finding> => ({
  async byId(id) {
    return runner.first(s.byId, { id })
  },
  async byIds(ids) {
    if (ids.length === 0) return []
    const users = await rowsOfIds(runner, s.byIds, ids, {})
    const found = new Map(users.map((user) => [user.id, user]))
    return ids.flatMap((id) => found.get(id) ?? [])
  },
  async byLogin(login) {
    return runner.first(s.byLogin, { key: accountNameKey(login) })
  },
  async kindOfName(name) {
    const row = await runner.first(s.kindOfName, { key: accountNameKey(name) })
    if (row === undefined) return undefined
    return row.kind === 'user' ? 'user' : 'organization'
  },
  async list(text, page, listing) {
    const isPlain = text === '' && (listing === undefined || Object.keys(listing).length === 0)
    if (isPlain) return s.list(runner, {}, page)
    const chosen = text === '' ? lists.narrowed : lists.matching
    const binds = { ...prefixRange(text), ...listingBinds(listing) }
    return chosen[listing?.order ?? 'alphabetically'](runner, binds, page)
  },
  async byFormerLogin(login) {
    return runner.first(s.byFormerLogin, { key: accountNameKey(login) })
  },
})

const searching = (
  s: Statements,
  matchesFor: ReturnType<typeof searchStatements>,
  runner: SqlRunner,
  byIds: UserStore['byIds'],
): Pick<UserStore, 'search'> => ({
  async search(viewer, text, id, page) {
    const range = prefixRange(text)
    if (id !== undefined) {
      const user =
        page.page === 1 ? await runner.first(s.searchOne, { ...range, ...viewerBinds(viewer), id }) : undefined
      return user === undefined ? { items: [], total: 0 } : { items: [user], total: 1 }
    }
    const rows = await runner.all(matchesFor(viewer, text), {
      ...range,
      viewerId: viewer.userId ?? 0,
      limit: searchCountCap + 1,
    })
    const found = usersOfMatches(rows)
    const reached = found.slice(0, searchCountCap)
    const items = await byIds(reached.slice(pageOffset(page), pageOffset(page) + page.limit))
    return {
      // A user may have become private between the two statements.
      items: items.filter((user) => maySee(viewer, user)),
      total: reached.length,
      ...(rows.length > searchCountCap ? { totalIsCapped: true } : {}),
    }
  },
})

const nameTaken = () => left(UserNameTaken('This name is already in use by a user or an organization.'))

const naming = (
  s: Statements,
  terms: SearchTerms,
  fresh: FreshUser,
  runner: SqlRunner,
): Pick<UserStore, 'insert' | 'rename'> => {
  const insertAccount = async (user: NewUser): Promise<UserId | undefined> => {
    const key = accountNameKey(user.login)
    try {
      const inserted = await runner.run(s.insertAccount, { name: user.login, key, at: user.createdAt })
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
      await terms.learnUser(user.id)
      return right(undefined)
    },
    async insert(user) {
      const id = await insertAccount(user)
      if (id === undefined) return nameTaken()
      await runner.run(s.insertUser, {
        id,
        passwordHash: user.passwordPhc,
        ...freshUser(user, fresh),
      })
      await terms.learnUser(id)
      return right(id)
    },
  }
}

/** Users on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlUserStore = (db: SqlDatabase, fresh: FreshUser = ordinary): ((runner: SqlRunner) => UserStore) => {
  const s = userStatements(db)
  const lists = userListStatements(db)
  const matchesFor = searchStatements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => {
    const found = finding(s, lists, runner)
    const { byId, byIds } = found
    const terms = bindTerms(runner)
    return {
      ...found,
      ...searching(s, matchesFor, runner, byIds),
      ...naming(s, terms, fresh, runner),
      async lock(id) {
        return (await runner.first(s.lock, { id })) === undefined ? undefined : byId(id)
      },
      async update(id, changes) {
        const user = await byId(id)
        if (user === undefined) return
        const after = { ...user, ...changes }
        await runner.run(s.update, { id, ...changeableBinds(after) })
        if (after.fullName !== user.fullName) await terms.learnUser(id)
        else if (after.visibility !== user.visibility || after.isActive !== user.isActive) await terms.showUser(id)
      },
      async passwordPhc(id) {
        return (await runner.first(s.passwordPhc, { id }))?.passwordHash
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
        await runner.run(s.markLoggedIn, { id, at })
      },
      async lockActiveAdmins() {
        const rows = await runner.all(s.lockActiveAdmins, {})
        return rows.map((row) => row.id)
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
