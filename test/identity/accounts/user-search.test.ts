import test from 'ava'
import type { ExecutionContext } from 'ava'
import { makeSqlIdentityStores } from '../../../adapters/sql/identity/identity-stores.ts'
import { prefixRange, searchStatements } from '../../../adapters/sql/identity/user-search.ts'
import { makeSqlUserStore } from '../../../adapters/sql/identity/user-store.ts'
import type { SqlDatabase, SqlRunner, StatementText } from '../../../adapters/sql/kit/statement.ts'
import type { Bind } from '../../../adapters/sql/kit/columns.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { IdentityStores, UserStore } from '../../../core/identity/ports.ts'
import type { Viewer } from '../../../core/identity/types.ts'
import { makeMendSearchTerms } from '../../../core/identity/accounts/search-terms.ts'
import { isSwitchedOff } from '../../support/components/names.ts'
import { eachDatabase, emptyMysqlUrl, openPatiently } from '../../support/databases.ts'
import { unwrap } from '../../support/outcome.ts'
import { fillWithUsers } from '../../support/searched-users.ts'
import { heldObjects } from '../../support/object-rows.ts'
import { bindsOf } from '../../sql/binds-of.ts'
import { onEachDatabase } from '../on-each-database.ts'

const people = 10_000
const viewers = {
  anyone: { userId: undefined, isSiteAdmin: false },
  // Private.
  signedIn: { userId: 1002 as UserId, isSiteAdmin: false },
  siteAdmin: { userId: 1001 as UserId, isSiteAdmin: true },
} satisfies Record<string, Viewer>

/**
 * How the database says it will find the rows of each table: the index, and what it does beside reading a part of it.
 */
const plan = async (
  db: SqlDatabase,
  statement: StatementText,
  binds: Readonly<Record<string, Bind>>,
): Promise<readonly string[]> => {
  const values = bindsOf(statement, binds) as never
  if (db.dialect === 'sqlite') {
    const rows = await db.query<{ detail: string }>((k) => k.raw(`explain query plan ${statement.sql}`, values))
    // What was found is read from memory, where it is no more than the limit.
    return rows
      .map((row) => row.detail)
      .filter(
        (detail) => !/^(COMPOUND QUERY|LEFT-MOST SUBQUERY|UNION ALL|CO-ROUTINE s|SCAN s|COMPOUND.*)$/.test(detail),
      )
  }
  const rows = await db.query<{ table: string | null; type: string | null; key: string | null; Extra: string }>((k) =>
    k.raw(`explain format = traditional ${statement.sql}`, values),
  )
  return rows
    .filter(({ table }) => table !== null && !table.startsWith('<'))
    .map(({ table, type, key, Extra }) => `${table} ${type} ${key} ${Extra}`)
}

/** Rows that MariaDB read from any index or table while `work` ran, on one connection. */
const rowsRead = async (tx: SqlRunner, work: () => Promise<unknown>): Promise<number> => {
  const total = async (): Promise<number> => {
    const rows = await tx.query<{ Variable_name: string; Value: string }>((k) =>
      k.raw(`show session status like 'Handler_read%'`),
    )
    return rows.reduce((sum, row) => sum + Number(row.Value), 0)
  }
  const before = await total()
  await work()
  return (await total()) - before
}

const emptyDatabases: Readonly<Record<string, () => Promise<string>>> = {
  sqlite: async () => 'sqlite::memory:',
  ...(isSwitchedOff('mariadb') ? {} : { mysql: emptyMysqlUrl }),
}

for (const [name, emptyUrl] of Object.entries(emptyDatabases)) {
  test(`${name}: among ${people} users a search reads bounded index ranges`, async (t) => {
    const db = await openPatiently(await emptyUrl())
    try {
      await fillWithUsers(db, people)
      const statementFor = searchStatements(db)
      for (const [who, viewer] of Object.entries(viewers)) {
        for (const text of ['', '0']) {
          const steps = await plan(db, statementFor(viewer, text), {
            ...prefixRange(text),
            viewerId: viewer.userId ?? 0,
            limit: 1001,
          })
          t.true(steps.length > 0)
          for (const step of steps) {
            t.regex(
              step,
              db.dialect === 'sqlite'
                ? /^SEARCH .*(search_terms USING|USING INTEGER PRIMARY KEY)/
                : /search_terms (range|ref PRIMARY)|^e eq_ref PRIMARY/,
              `${who}: ${step}`,
            )
            t.notRegex(step, /filesort|temporary| TEMP /, `${who}: ${step}`)
          }
        }
      }
      const store = makeSqlUserStore(db)
      const logins = async (viewer: Viewer, text: string, page = { page: 1, limit: 50 }) => {
        const { items, ...rest } = await store(db).search(viewer, text, undefined, page)
        return { ...rest, items: items.map((user) => user.login) }
      }
      const odd = (numbers: readonly number[]) => numbers.map((i) => `u${String(i).padStart(6, '0')}`)
      t.deepEqual(await logins(viewers.anyone, 'u0000', { page: 2, limit: 10 }), {
        items: odd([21, 23, 25, 27, 29, 31, 33, 35, 37, 39]),
        total: 50,
      })
      t.deepEqual(await logins(viewers.anyone, '0123'), { items: odd([123, 1231, 1233, 1235, 1237, 1239]), total: 6 })
      t.is((await logins(viewers.siteAdmin, '0123')).total, 11)
      t.deepEqual(
        (await logins(viewers.siteAdmin, '999@exam')).items,
        odd([999, 1999, 2999, 3999, 4999, 5999, 6999, 7999, 8999, 9999]),
        'by the address',
      )
      t.is((await logins(viewers.signedIn, '999@exam')).total, 0)
      t.deepEqual((await logins(viewers.signedIn, 'u000002')).items, ['u000002'], 'oneself')
      t.deepEqual((await logins(viewers.anyone, 'u000002')).items, [])
      const many = await logins(viewers.anyone, '')
      t.like(many, { total: 1_000, totalIsCapped: true })
      t.is(many.items.length, 50)
      t.like(await logins(viewers.anyone, 'body'), { total: 1_000, totalIsCapped: true })
      t.deepEqual((await logins(viewers.anyone, '', { page: 21, limit: 50 })).items, [])
      if (db.dialect === 'mysql') {
        for (const viewer of Object.values(viewers)) {
          for (const text of ['u', '0', 'body']) {
            const read = await db.transaction((tx) =>
              rowsRead(tx, () => store(tx).search(viewer, text, undefined, { page: 1, limit: 50 })),
            )
            t.true(read < 20_000, `read ${read} rows for ${text}`)
          }
        }
      }
      const termsOf = (id: number) =>
        Promise.all([
          db.query((k) => k('user_search_terms').where('user_id', id).orderBy(['place', 'term'])),
          db.query((k) =>
            k('email_search_terms as t')
              .join('emails as e', 'e.id', 't.email_id')
              .where('e.user_id', id)
              .orderBy(['t.place', 't.term'])
              .select('t.place', 't.term'),
          ),
        ])
      const migrated = await termsOf(1002)
      const stores = makeSqlIdentityStores(db, heldObjects(db))(db)
      const [email] = await stores.emails.list(1002 as UserId)
      await stores.emails.remove(1002 as UserId, [email!.id])
      await stores.emails.insert(1002 as UserId, { text: email!.email, key: email!.email }, true, true, new Date(0))
      await stores.users.update(1002 as UserId, { fullName: '', visibility: 'public' })
      await stores.users.update(1002 as UserId, { fullName: 'Some Body', visibility: 'private' })
      t.deepEqual(await termsOf(1002), migrated, 'the migration and the service make the same terms')
    } finally {
      await db.close()
    }
  })
}

const at = new Date('2026-05-01T08:00:00.123Z')
const added = async (users: UserStore, login: string, fullName: string): Promise<UserId> =>
  unwrap(
    await users.insert({
      login,
      fullName,
      passwordPhc: 'x',
      mustChangePassword: false,
      isAdmin: false,
      isActive: true,
      restricted: false,
      visibility: 'public',
      createdAt: at,
    }),
  )

for (const database of eachDatabase()) {
  const kept = (title: string, body: (t: ExecutionContext, stores: IdentityStores) => Promise<void>): void =>
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await body(t, makeSqlIdentityStores(db, heldObjects(db))(db))
      } finally {
        await db.close()
      }
    })

  kept(
    'search finds the middle of a name, the words of a full name and, for those who see all, parts of addresses',
    async (t, stores) => {
      const { users, emails } = stores
      const add = async (login: string, fullName = '') => {
        const id = await added(users, login, fullName)
        unwrap(
          await emails.insert(
            id,
            { text: `Mail.${login}@Sub.Example.org`, key: `mail.${login.toLowerCase()}@sub.example.org` },
            true,
            true,
            at,
          ),
        )
        return id
      }
      const [other] = [
        await add('otherIt', 'Ada King-Noël'),
        await add('it'),
        await add('Italy', "Tom O'Brien"),
        await add('bob', 'Bit by It'),
        await add('kinga'),
      ]
      const find = async (viewer: Viewer, text: string) =>
        (await users.search(viewer, text, undefined, { page: 1, limit: 50 })).items.map((user) => user.login)
      t.deepEqual(await find(viewers.anyone, 'it'), ['it', 'Italy', 'bob', 'otherIt'], 'those who start with it first')
      t.deepEqual(await find(viewers.anyone, 'herit'), ['otherIt'])
      t.deepEqual(await find(viewers.anyone, 'king'), ['kinga', 'otherIt'])
      for (const [text, login] of [
        ['noë', 'otherIt'],
        ['ada k', 'otherIt'],
        ['brien', 'Italy'],
        ['by it', 'bob'],
        ['rit ada', 'otherIt'],
      ] as const)
        t.deepEqual(await find(viewers.anyone, text), [login], text)
      for (const text of ['ing', 'oël', 'it%', 'i_', 'mail', 'example', '@'])
        t.false((await find(viewers.anyone, text)).includes('otherIt'), text)
      const admin: Viewer = { userId: other, isSiteAdmin: true }
      t.deepEqual(await find(admin, 'herit@sub'), ['otherIt'])
      t.is((await find(admin, 'xample.or')).length, 5)
      t.deepEqual(await find(admin, 'it'), ['it', 'Italy', 'bob', 'otherIt'], 'each once')
      t.deepEqual(await find({ userId: other, isSiteAdmin: false }, 'herit@sub'), [])
      t.deepEqual((await users.search(viewers.anyone, 'it', other, { page: 1, limit: 50 })).total, 1)
      t.deepEqual((await users.search(viewers.anyone, 'herit@sub', other, { page: 1, limit: 50 })).total, 0)
      t.deepEqual((await users.search(admin, 'herit@sub', other, { page: 1, limit: 50 })).total, 1)
      const second = await users.search(viewers.anyone, 'it', undefined, { page: 2, limit: 3 })
      t.deepEqual(
        [second.items.map((user) => user.login), second.total, second.totalIsCapped],
        [['otherIt'], 4, undefined],
      )
      t.deepEqual(
        (await users.list('it', { page: 1, limit: 50 })).items.map((user) => user.login),
        ['it', 'Italy', 'bob', 'otherIt'],
      )
      t.deepEqual(
        (await users.list('herit@sub', { page: 1, limit: 50 }, { isActive: true })).items.map((user) => user.login),
        ['otherIt'],
      )
      const addresses = await emails.listAll('it', { page: 1, limit: 50 })
      t.deepEqual([addresses.items.map(({ login }) => login), addresses.total], [['it', 'Italy', 'otherIt'], 3])
      t.deepEqual(
        (await emails.listAll('mail.i', { page: 2, limit: 1 })).items.map(({ login }) => login),
        ['Italy'],
      )
    },
  )

  kept(
    'what is found follows renames, changes of the full name, addresses, visibility and shut accounts',
    async (t, stores) => {
      const { users, emails, accountLife } = stores
      const ada = await added(users, 'lovelace', 'Ada King')
      unwrap(await emails.insert(ada, { text: 'countess@x.org', key: 'countess@x.org' }, true, true, at))
      const [admin, friend]: readonly [Viewer, Viewer] = [
        { userId: undefined, isSiteAdmin: true },
        { userId: (ada + 1000) as UserId, isSiteAdmin: false },
      ]
      const finds = async (viewer: Viewer, text: string) =>
        (await users.search(viewer, text, undefined, { page: 1, limit: 50 })).total === 1
      t.true(await finds(viewers.anyone, 'king'))
      await users.update(ada, { fullName: 'Ada Byron' })
      t.deepEqual(
        [
          await finds(viewers.anyone, 'king'),
          await finds(viewers.anyone, 'byron'),
          await finds(viewers.anyone, 'lace'),
        ],
        [false, true, true],
      )
      unwrap(await users.rename((await users.byId(ada))!, 'Engine'))
      t.deepEqual(
        [
          await finds(viewers.anyone, 'lace'),
          await finds(viewers.anyone, 'ngin'),
          await finds(viewers.anyone, 'byron'),
        ],
        [false, true, true],
      )
      for (const [visibility, seen] of [
        ['limited', [false, true, true]],
        ['private', [false, false, true]],
        ['public', [true, true, true]],
      ] as const) {
        await users.update(ada, { visibility })
        t.deepEqual(
          [await finds(viewers.anyone, 'ngin'), await finds(friend, 'ngin'), await finds(admin, 'ngin')],
          [...seen],
          visibility,
        )
      }
      const shut = async (what: string) =>
        t.deepEqual(
          [await finds(viewers.anyone, 'ngin'), await finds(friend, 'engine'), await finds(admin, 'ngin')],
          [false, false, true],
          what,
        )
      const open = async (what: string) =>
        t.deepEqual([await finds(viewers.anyone, 'ngin'), await finds(friend, 'engine')], [true, true], what)
      await accountLife.deactivate(ada, ada, at)
      await shut('deactivated')
      await accountLife.reactivate(ada)
      await open('reactivated')
      await accountLife.markUnconfirmed(ada, at)
      await shut('unconfirmed')
      await accountLife.confirm(ada)
      await open('confirmed')
      await users.update(ada, { isActive: false })
      await shut('shut')
      await users.update(ada, { isActive: true, fullName: 'Ada' })
      await open('let in')
      t.true(await finds(admin, 'ountess'))
      await emails.remove(
        ada,
        (await emails.list(ada)).map(({ id }) => id),
      )
      t.false(await finds(admin, 'ountess'))
      await users.remove(ada)
      t.false(await finds(admin, 'ngin'))
    },
  )
}

onEachDatabase(
  'users and addresses that an earlier release creates, renames or hides during an upgrade are found by the next run of the job',
  async (t, fixture, db) => {
    const { stores } = fixture.deps
    const ids = new Map<string, UserId>()
    for (const login of ['bare', 'renamed', 'hidden', 'whole']) ids.set(login, (await fixture.user(login)).id)
    const idOf = (login: string) => ids.get(login) ?? 0
    await db.query((k) => k('user_search_terms').where('user_id', idOf('bare')).delete())
    await db.query((k) =>
      k('email_search_terms')
        .whereIn('email_id', k('emails').where('user_id', idOf('bare')).select('id'))
        .delete(),
    )
    await db.query((k) => k('accounts').where('id', idOf('renamed')).update({ name: 'Other', lower_name: 'other' }))
    await db.query((k) => k('users').where('id', idOf('renamed')).update({ search_name: 'other name' }))
    await db.query((k) => k('users').where('id', idOf('hidden')).update({ visibility: 'private' }))
    const admin: Viewer = { userId: undefined, isSiteAdmin: true }
    const find = async (viewer: Viewer, text: string) =>
      (await stores.users.search(viewer, text, undefined, { page: 1, limit: 50 })).items.map(({ login }) => login)
    t.deepEqual(
      [await find(viewers.anyone, 'ar'), await find(admin, 'bare@'), await find(viewers.anyone, 'other')],
      [[], [], []],
    )
    const mend = makeMendSearchTerms(fixture.deps)
    t.is(await mend(new AbortController().signal), 4)
    t.deepEqual(
      [
        await find(viewers.anyone, 'ar'),
        await find(admin, 'bare@'),
        await find(viewers.anyone, 'the'),
        await find(admin, 'name'),
      ],
      [['bare'], ['bare'], ['Other'], ['Other']],
    )
    t.deepEqual(
      [await find(viewers.anyone, 'renam'), await find(viewers.anyone, 'idden'), await find(admin, 'idden')],
      [[], [], ['hidden']],
    )
    t.is(await mend(new AbortController().signal), 0, 'what is whole is left alone')
  },
)
