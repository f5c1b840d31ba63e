import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { IdentityStores } from '../../core/identity/ports.ts'
import type { NewAccessToken, NewSession, NewUser, Viewer } from '../../core/identity/types.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { unwrap } from '../support/outcome.ts'
import type { Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** Stores over an empty database of their own. */
export interface IdentityBench {
  readonly stores: IdentityStores
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')
const later = (seconds: number): Date => new Date(at.getTime() + seconds * 1000)
const page = { page: 1, limit: 30 }
const anyone: Viewer = { userId: undefined, isSiteAdmin: false }
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)

const newUser = (login: string, changes: Partial<NewUser> = {}): NewUser => ({
  login,
  fullName: '',
  passwordPhc: 'phc',
  mustChangePassword: false,
  isAdmin: false,
  isActive: true,
  restricted: false,
  visibility: 'public',
  createdAt: at,
  ...changes,
})

const added = async (
  stores: Pick<IdentityStores, 'users'>,
  login: string,
  changes: Partial<NewUser> = {},
): Promise<UserId> => unwrap(await stores.users.insert(newUser(login, changes)))

const newToken = (
  userId: UserId,
  name: string,
  fill: number,
  changes: Partial<NewAccessToken> = {},
): NewAccessToken => ({
  userId,
  name,
  hash: bytes(fill),
  lastEight: 'abcdefgh',
  scopeWords: ['read:user', 'write:cluster'],
  onlyOrgId: undefined,
  createdBy: userId,
  createdAt: at,
  expiresAt: undefined,
  ...changes,
})

const newSession = (userId: UserId, fill: number, changes: Partial<NewSession> = {}): NewSession => ({
  userId,
  hash: bytes(fill),
  sourceIp: '192.0.2.7',
  userAgent: '',
  createdAt: at,
  proof: 'password',
  idleExpiresAt: later(3600),
  expiresAt: later(86_400),
  ...changes,
})

const about: SuiteAbout = {
  name: 'identity-stores',
  ports: ['UserStore', 'EmailStore', 'AccessTokenStore', 'SessionStore', 'FollowStore'],
  needs: 'No users.',
}

/** What identity's stores keep. Each case on one user's data has its twin from another user. */
export const identityStoresSuite = contractSuite<IdentityBench>(about, (onBench) => {
  const kept: Kept = (title, body) => onBench(title, (t, { stores }) => body(t, stores))
  userCases(kept)
  searchCases(kept)
  emailCases(kept)
  tokenCases(kept)
  sessionCases(kept)
  followCases(kept)
})

type Kept = (title: string, body: (t: Assertions, stores: IdentityStores) => Promise<void>) => void

const userCases = (kept: Kept): void => {
  kept('a user comes back as it was put in, by id and by name in any case', async (t, { users, emails }) => {
    const id = unwrap(
      await users.insert(
        newUser('Ada', { fullName: 'Ada Łovelace 😀', isAdmin: true, visibility: 'limited', mustChangePassword: true }),
      ),
    )
    unwrap(await emails.insert(id, { text: 'Ada@example.org', key: 'ada@example.org' }, true, true, at))
    const user = await users.byLogin('aDA')
    t.like(user, {
      id,
      login: 'Ada',
      fullName: 'Ada Łovelace 😀',
      primaryEmail: 'Ada@example.org',
      isAdmin: true,
      isActive: true,
      prohibitLogin: false,
      restricted: false,
      mustChangePassword: true,
      allowCreateOrganization: true,
      hideEmail: true,
      visibility: 'limited',
      language: 'en-US',
      website: '',
      followersCount: 0,
      followingCount: 0,
      version: 1,
      lastLoginAt: undefined,
      createdAt: at,
    })
    t.deepEqual(await users.byId(id), user)
    t.is(await users.byLogin('ad'), undefined)
    t.is(await users.byId((id + 1) as UserId), undefined)
    t.is(await users.kindOfName('ADA'), 'user')
    t.is(await users.kindOfName('bob'), undefined)
  })

  kept('a name is taken without regard to case', async (t, { users }) => {
    await users.insert(newUser('Ada'))
    t.like(await users.insert(newUser('ADA')), { left: { tag: 'UserNameTaken' } })
    t.true(isRight(await users.insert(newUser('Adb'))))
  })

  kept('a change touches what is given, and this user alone', async (t, { users }) => {
    const ada = await added({ users }, 'ada', { fullName: 'Ada' })
    const bob = await added({ users }, 'bob', { fullName: 'Bob' })
    const before = await users.byId(bob)
    await users.update(ada, { website: 'https://a.example', prohibitLogin: true })
    t.like(await users.byId(ada), {
      fullName: 'Ada',
      website: 'https://a.example',
      prohibitLogin: true,
      isActive: true,
      version: 2,
    })
    await users.update(ada, { website: '' })
    t.like(await users.byId(ada), { website: '', prohibitLogin: true, version: 3 })
    t.deepEqual(await users.byId(bob), before)
  })

  kept('a password is replaced only when the old hash is the expected one', async (t, { users }) => {
    const ada = await added({ users }, 'ada')
    const bob = await added({ users }, 'bob')
    t.false(await users.replacePassword(ada, 'new', 'other', false))
    t.is(await users.passwordPhc(ada), 'phc')
    t.true(await users.replacePassword(ada, 'new', 'phc', false))
    t.true(await users.replacePassword(ada, 'newer', undefined, true))
    t.is(await users.passwordPhc(ada), 'newer')
    t.true((await users.byId(ada))?.mustChangePassword)
    await users.rehashPassword(ada, 'lost', 'phc')
    t.is(await users.passwordPhc(ada), 'newer')
    t.is(await users.passwordPhc(bob), 'phc')
    t.is(await users.passwordPhc(99 as UserId), undefined)
  })

  kept('active admins are those who may really act', async (t, { users }) => {
    t.false(await users.hasAdmin())
    const first = await added({ users }, 'first', { isAdmin: true })
    const second = await added({ users }, 'second', { isAdmin: true, isActive: false })
    await added({ users }, 'third')
    t.deepEqual(await users.lockActiveAdmins(), [first])
    await users.update(second, { isActive: true })
    t.deepEqual(await users.lockActiveAdmins(), [first, second])
    await users.update(first, { prohibitLogin: true })
    t.deepEqual(await users.lockActiveAdmins(), [second])
    t.true(await users.hasAdmin())
  })

  kept(
    'a removed user takes all that is the user’s along, and nothing of another',
    async (t, { users, emails, tokens, sessions, follows }) => {
      const ada = await added({ users }, 'ada')
      const bob = await added({ users }, 'bob')
      for (const [id, fill] of [
        [ada, 1],
        [bob, 2],
      ] as const) {
        unwrap(await emails.insert(id, { text: `u${id}@x.org`, key: `u${id}@x.org` }, true, true, at))
        unwrap(await tokens.insert(newToken(id, 't', fill)))
        await sessions.insert(newSession(id, fill))
      }
      await follows.follow(bob, ada, at)
      await users.remove(ada)
      t.is(await users.byId(ada), undefined)
      t.is(await users.kindOfName('ada'), undefined)
      t.false(await emails.isTaken(`u${ada}@x.org`))
      t.is((await tokens.list(ada, page)).total, 0)
      t.like(await users.byId(bob), { followingCount: 0 })
      t.is((await tokens.list(bob, page)).total, 1)
      t.is((await sessions.list(bob, at)).length, 1)
      t.true(await emails.isTaken(`u${bob}@x.org`))
    },
  )
}

const searchCases = (kept: Kept): void => {
  kept('search is by the start of the name, without wildcards, in the order of names', async (t, { users }) => {
    for (const login of ['ada', 'Ada-2', 'adam', 'bob', 'ad_m', 'a.d'])
      await added({ users }, login, { fullName: 'Zoë' })
    const logins = async (prefix: string, limit = 50) =>
      (await users.search(anyone, prefix, undefined, { page: 1, limit })).items.map((user) => user.login)
    t.deepEqual(await logins('ad'), ['ad_m', 'ada', 'Ada-2', 'adam'])
    t.deepEqual(await logins('ad', 2), ['ad_m', 'ada'])
    t.deepEqual(await logins('ad_'), ['ad_m'])
    t.deepEqual(await logins('%'), [])
    t.deepEqual(await logins('a_'), [])
    t.deepEqual(await logins('ada zoë'), ['ada'])
    t.is((await logins('')).length, 6)
    const bob = await users.byLogin('bob')
    t.deepEqual(
      (await users.search(anyone, '', bob?.id, { page: 1, limit: 50 })).items.map((user) => user.login),
      ['bob'],
    )
    t.deepEqual(await users.search(anyone, 'ad', bob?.id, { page: 1, limit: 50 }), { items: [], total: 0 })
    const listed = await users.list('ad', { page: 2, limit: 3 })
    t.deepEqual([listed.items.map((user) => user.login), listed.total], [['adam'], 4])
  })

  kept('search leaves out whom the viewer may not see', async (t, { users }) => {
    const hidden = await added({ users }, 'x-private', { visibility: 'private' })
    await added({ users }, 'x-limited', { visibility: 'limited' })
    const open = await added({ users }, 'x-public')
    const seen = async (viewer: Viewer) =>
      (await users.search(viewer, 'x', undefined, { page: 1, limit: 50 })).items.map((user) => user.login)
    t.deepEqual(await seen(anyone), ['x-public'])
    t.deepEqual(await seen({ userId: open, isSiteAdmin: false }), ['x-limited', 'x-public'])
    t.deepEqual(await seen({ userId: hidden, isSiteAdmin: false }), ['x-limited', 'x-private', 'x-public'])
    t.deepEqual(await seen({ userId: open, isSiteAdmin: true }), ['x-limited', 'x-private', 'x-public'])
  })

  kept('a changed full name is found, a long one is cut, not refused', async (t, { users }) => {
    const ada = await added({ users }, 'ada')
    await users.update(ada, { fullName: `Countess ${'İ😀'.repeat(45)}` })
    t.deepEqual(
      (await users.search(anyone, 'ada countess', undefined, { page: 1, limit: 50 })).items.map((user) => user.id),
      [ada],
    )
  })
}

const emailCases = (kept: Kept): void => {
  kept('an address is one user’s, without regard to case, verified or not', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    unwrap(await stores.emails.insert(ada, { text: 'Ada@x.org', key: 'ada@x.org' }, false, false, at))
    t.like(await stores.emails.insert(bob, { text: 'ADA@x.org', key: 'ada@x.org' }, true, false, at), {
      left: { tag: 'EmailTaken' },
    })
    t.like(await stores.emails.insert(ada, { text: 'ada@x.org', key: 'ada@x.org' }, true, false, at), {
      left: { tag: 'EmailTaken' },
    })
    t.true(await stores.emails.isTaken('ada@x.org'))
    t.false(await stores.emails.isTaken('ada@y.org'))
  })

  kept('addresses are listed primary first; removing and choosing stays within one user', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const put = async (id: UserId, text: string, isPrimary: boolean) =>
      unwrap(await stores.emails.insert(id, { text, key: text }, true, isPrimary, at))
    await put(ada, 'second@x.org', false)
    await put(ada, 'first@x.org', true)
    await put(bob, 'bob@x.org', true)
    const [first, second] = await stores.emails.list(ada)
    t.deepEqual([first?.email, second?.email], ['first@x.org', 'second@x.org'])
    await stores.emails.makePrimary(ada, second?.id ?? 0)
    t.deepEqual(
      (await stores.emails.list(ada)).map((email) => [email.email, email.isPrimary]),
      [
        ['second@x.org', true],
        ['first@x.org', false],
      ],
    )
    const bobs = await stores.emails.list(bob)
    await stores.emails.remove(
      ada,
      bobs.map((email) => email.id),
    )
    t.deepEqual(await stores.emails.list(bob), bobs)
    await stores.emails.remove(ada, [first?.id ?? 0])
    t.deepEqual(
      (await stores.emails.list(ada)).map((email) => email.email),
      ['second@x.org'],
    )
  })
}

const tokenCases = (kept: Kept): void => {
  kept('tokens are kept with scopes, bounds and expiry, and listed for their user alone', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const expiresAt = later(60)
    const id = unwrap(await stores.tokens.insert(newToken(ada, 'laptop', 1, { expiresAt, onlyOrgId: 77 as OrgId })))
    unwrap(await stores.tokens.insert(newToken(ada, 'Laptop', 2)))
    unwrap(await stores.tokens.insert(newToken(bob, 'laptop', 3)))
    const listed = await stores.tokens.list(ada, page)
    t.deepEqual([listed.total, listed.items.map((token) => token.name)], [2, ['laptop', 'Laptop']])
    t.deepEqual(listed.items[0], {
      id,
      userId: ada,
      name: 'laptop',
      lastEight: 'abcdefgh',
      scopeWords: ['read:user', 'write:cluster'],
      onlyOrgId: 77 as OrgId,
      createdAt: at,
      expiresAt,
      lastUsedAt: undefined,
    })
    t.deepEqual(
      (await stores.tokens.list(ada, { page: 2, limit: 1 })).items.map((token) => token.name),
      ['Laptop'],
    )
    t.like(await stores.tokens.insert(newToken(ada, 'laptop', 4)), { left: { tag: 'TokenNameTaken' } })
    t.true(isLeft(await stores.tokens.insert(newToken(bob, 'laptop', 5))))
  })

  kept('a value is replaced within one user, and begins a life of its own', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const id = unwrap(await stores.tokens.insert(newToken(ada, 'laptop', 1, { expiresAt: later(60) })))
    const before = await stores.tokens.lock(ada, id)
    t.like(before, { id, userId: ada, lastEight: 'abcdefgh', createdAt: at, expiresAt: later(60) })
    const value = { hash: bytes(9), lastEight: 'ijklmnop', createdAt: later(30), expiresAt: undefined }
    t.is(await stores.tokens.lock(bob, id), undefined)
    await stores.tokens.replaceValue(bob, id, value)
    t.deepEqual(await stores.tokens.lock(ada, id), before)
    t.deepEqual(
      [
        await stores.tokens.isInForce(ada, id, at),
        await stores.tokens.isInForce(bob, id, at),
        await stores.tokens.isInForce(ada, id, undefined),
      ],
      [true, false, false],
    )
    await stores.tokens.replaceValue(ada, id, value)
    t.like(await stores.tokens.lock(ada, id), {
      id,
      name: 'laptop',
      lastEight: 'ijklmnop',
      createdAt: later(30),
      expiresAt: undefined,
      lastUsedAt: undefined,
    })
    t.deepEqual(
      [await stores.tokens.isInForce(ada, id, at), await stores.tokens.isInForce(ada, id, later(30))],
      [false, true],
    )
    unwrap(await stores.tokens.insert(newToken(bob, 'laptop', 1)))
  })

  kept('a token is removed by its user alone', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const id = unwrap(await stores.tokens.insert(newToken(ada, 'laptop', 1)))
    t.is(await stores.tokens.remove(bob, id), undefined)
    t.is(await stores.tokens.removeAll(bob), 0)
    t.is(await stores.tokens.remove(ada, id), 'laptop')
    t.is(await stores.tokens.remove(ada, id), undefined)
    unwrap(await stores.tokens.insert(newToken(ada, 'laptop', 1)))
    t.is(await stores.tokens.removeAll(ada), 1)
  })
}

const sessionCases = (kept: Kept): void => {
  kept('sessions that are over are not listed, and each belongs to one user', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const first = await stores.sessions.insert(newSession(ada, 1))
    const second = await stores.sessions.insert(newSession(ada, 2, { idleExpiresAt: later(86_400) }))
    await stores.sessions.insert(newSession(bob, 3))
    const ids = async (now: Date) => (await stores.sessions.list(ada, now)).map((session) => session.id)
    t.deepEqual(await ids(at), [second, first])
    t.deepEqual(await ids(later(3600)), [second])
    t.deepEqual(await ids(later(86_400)), [])
    t.like((await stores.sessions.list(ada, at))[1], {
      sourceIp: '192.0.2.7',
      remember: false,
      createdAt: at,
      lastSeenAt: at,
      expiresAt: later(86_400),
    })
    t.false(await stores.sessions.remove(bob, first))
    t.true(await stores.sessions.remove(ada, first))
    t.false(await stores.sessions.remove(ada, first))
  })

  kept('all sessions but one end; another user’s stay', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const kept1 = await stores.sessions.insert(newSession(ada, 1))
    await stores.sessions.insert(newSession(ada, 2))
    await stores.sessions.insert(newSession(bob, 3))
    t.is(await stores.sessions.removeAll(ada, kept1), 1)
    t.is(await stores.sessions.removeAll(ada, undefined), 1)
    t.is((await stores.sessions.list(bob, at)).length, 1)
  })

  kept('trimming keeps the newest and removes what is over', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    await stores.sessions.insert(newSession(bob, 99))
    const ids = []
    for (let fill = 1; fill <= 5; fill += 1) ids.push(await stores.sessions.insert(newSession(ada, fill)))
    await stores.sessions.trim(ada, 3, at)
    t.deepEqual(
      (await stores.sessions.list(ada, at)).map((session) => session.id),
      ids.slice(2).reverse(),
    )
    await stores.sessions.trim(ada, 3, later(3600))
    t.deepEqual(await stores.sessions.list(ada, at), [])
    t.is((await stores.sessions.list(bob, at)).length, 1)
  })
}

const followCases = (kept: Kept): void => {
  kept('following is counted once, in one direction', async (t, stores) => {
    const ada = await added(stores, 'ada')
    const bob = await added(stores, 'bob')
    const cyd = await added(stores, 'cyd', { visibility: 'private' })
    t.true(await stores.follows.follow(ada, bob, at))
    t.false(await stores.follows.follow(ada, bob, at))
    t.true(await stores.follows.follow(cyd, bob, at))
    t.true(await stores.follows.isFollowing(ada, bob))
    t.false(await stores.follows.isFollowing(bob, ada))
    t.like(await stores.users.byId(bob), { followersCount: 1, followingCount: 0 }, 'a private follower is not counted')
    const viewer = { userId: ada, isSiteAdmin: false }
    const seen = await stores.follows.followers(viewer, bob, page)
    t.deepEqual([seen.items.map((user) => user.login), seen.total], [['ada'], 1])
    t.is((await stores.follows.followers({ userId: ada, isSiteAdmin: true }, bob, page)).total, 2)
    t.deepEqual(
      (await stores.follows.following(viewer, ada, page)).items.map((user) => user.login),
      ['bob'],
    )
    t.is((await stores.follows.following(viewer, bob, page)).total, 0)
    t.true(await stores.follows.unfollow(ada, bob))
    t.false(await stores.follows.unfollow(ada, bob))
    t.false(await stores.follows.unfollow(bob, cyd))
  })
}
