import type { UserId } from '../../core/kernel/ids.ts'
import type { IdentityStores } from '../../core/identity/ports.ts'
import type { NewRememberedLogin } from '../../core/identity/sessions/ports.ts'
import type { NewSession, NewUser, RememberedId } from '../../core/identity/types.ts'
import { unwrap } from '../support/outcome.ts'
import type { Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const at = new Date('2026-05-01T08:00:00.000Z')
const later = (seconds: number): Date => new Date(at.getTime() + seconds * 1000)
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const month = 30 * 86_400

const person = (login: string): NewUser => ({
  login,
  fullName: '',
  passwordPhc: 'x',
  mustChangePassword: false,
  isAdmin: false,
  isActive: true,
  restricted: false,
  visibility: 'public',
  createdAt: at,
})
const login = (userId: UserId, fill: number, changes: Partial<NewRememberedLogin> = {}): NewRememberedLogin => ({
  userId,
  seriesHash: bytes(fill),
  secretHash: bytes(fill + 100),
  sourceIp: '192.0.2.7',
  userAgent: 'b',
  createdAt: at,
  proof: 'passkey',
  expiresAt: later(month),
  ...changes,
})
const session = (userId: UserId, fill: number, changes: Partial<NewSession> = {}): NewSession => ({
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

type Stores = Pick<IdentityStores, 'users' | 'sessions' | 'rememberedLogins'>

/** Stores over an empty database of their own. */
export interface RememberedBench {
  readonly stores: Stores
  close(): Promise<void>
}

const about: SuiteAbout = {
  name: 'remembered-logins',
  ports: ['RememberedLoginStore', 'SessionStore'],
  needs: 'No users.',
}

/** What a store of remembered logins, and of the sessions that belong to them, keeps. */
export const rememberedLoginsSuite = contractSuite<RememberedBench>(about, (onBench) => {
  const kept = (
    title: string,
    body: (t: Assertions, stores: Stores, ada: UserId, bob: UserId) => Promise<void>,
  ): void =>
    onBench(title, async (t, { stores }) =>
      body(
        t,
        stores,
        unwrap(await stores.users.insert(person('ada'))),
        unwrap(await stores.users.insert(person('bob'))),
      ),
    )

  /** A remembered login with one session; `fill` keeps them apart. */
  const remembered = async (
    { rememberedLogins, sessions }: Stores,
    userId: UserId,
    fill: number,
    changes: Partial<NewRememberedLogin> = {},
  ) => {
    const id = await rememberedLogins.insert(login(userId, fill, changes))
    return { id, sessionId: await sessions.insert(session(userId, fill, { rememberedId: id })) }
  }
  const exists = async ({ rememberedLogins }: Stores, id: RememberedId): Promise<boolean> =>
    (await rememberedLogins.lock(id)) !== undefined

  kept('a remembered login is found by its series alone', async (t, stores, ada) => {
    const { id } = await remembered(stores, ada, 1)
    const found = {
      id,
      userId: ada,
      secretHash: bytes(101),
      previousHash: undefined,
      rotatedAt: undefined,
      createdAt: at,
      expiresAt: later(month),
      proof: 'passkey',
    }
    const read = await stores.rememberedLogins.bySeries(bytes(1))
    t.deepEqual({ ...read, secretHash: new Uint8Array(read?.secretHash ?? []) }, found)
    t.deepEqual(await stores.rememberedLogins.lock(id), read)
    t.is(await stores.rememberedLogins.bySeries(bytes(101)), undefined)
    t.is(await stores.rememberedLogins.bySeries(bytes(2)), undefined)
  })

  kept('a secret is replaced once, by a caller with the current one', async (t, stores, ada, bob) => {
    const { id } = await remembered(stores, ada, 1)
    const other = await remembered(stores, bob, 2)
    const { rotate } = stores.rememberedLogins
    const rotated = await Promise.all([
      rotate(id, bytes(101), bytes(7), later(5)),
      rotate(id, bytes(101), bytes(8), later(5)),
    ])
    t.is(rotated.filter(Boolean).length, 1, 'either of the two may be first')
    t.false(await rotate(id, bytes(101), bytes(9), later(6)))
    t.false(await rotate(id, bytes(102), bytes(9), later(6)), 'another’s secret')
    const read = await stores.rememberedLogins.lock(id)
    t.deepEqual(
      [read?.secretHash, read?.previousHash].map((hash) => hash?.[0]),
      [rotated[0] ? 7 : 8, 101],
    )
    t.deepEqual(read?.rotatedAt, later(5))
    t.is((await stores.rememberedLogins.lock(other.id))?.secretHash[0], 102)
    await stores.rememberedLogins.markUsed(id, later(9), '192.0.2.9', 'other')
    t.deepEqual((await stores.rememberedLogins.lock(id))?.rotatedAt, later(5))
  })

  kept(
    'a session that is over is listed for as long as its remembered login lives, to its user alone',
    async (t, stores, ada, bob) => {
      const { sessionId } = await remembered(stores, ada, 1)
      await stores.sessions.insert(session(ada, 9))
      await remembered(stores, bob, 2)
      const listed = async (now: Date) => (await stores.sessions.list(ada, now)).map((one) => [one.id, one.remember])
      t.is((await listed(at)).length, 2)
      t.deepEqual(
        (await stores.sessions.list(ada, at)).map((one) => one.expiresAt),
        [later(86_400), later(month)],
      )
      t.deepEqual(await listed(later(86_400)), [[sessionId, true]])
      t.deepEqual(await listed(later(month)), [])
      await stores.sessions.trim(ada, 20, later(86_400))
      t.deepEqual(await listed(later(86_400)), [[sessionId, true]], 'trimming leaves it as well')
    },
  )

  kept(
    'a session that is removed takes its remembered login along, and that one’s other sessions',
    async (t, stores, ada, bob) => {
      const { id, sessionId } = await remembered(stores, ada, 1)
      const sibling = await stores.sessions.insert(session(ada, 11, { rememberedId: id }))
      const plain = await stores.sessions.insert(session(ada, 12))
      const other = await remembered(stores, bob, 2)
      t.false(await stores.sessions.remove(bob, sessionId))
      t.true(await exists(stores, id))
      t.true(await stores.sessions.remove(ada, sibling))
      t.false(await exists(stores, id))
      t.deepEqual(
        (await stores.sessions.list(ada, at)).map((one) => one.id),
        [plain],
      )
      t.true(await exists(stores, other.id))
    },
  )

  kept(
    'all that a user is remembered by ends at once; a session that is kept is kept without it',
    async (t, stores, ada, bob) => {
      const first = await remembered(stores, ada, 1)
      const second = await remembered(stores, ada, 2)
      const other = await remembered(stores, bob, 3)
      t.is(await stores.sessions.removeAll(ada, second.sessionId), 1)
      t.deepEqual(
        [await exists(stores, first.id), await exists(stores, second.id), await exists(stores, other.id)],
        [false, false, true],
      )
      t.deepEqual(
        (await stores.sessions.list(ada, at)).map((one) => [one.id, one.remember]),
        [[second.sessionId, false]],
      )
      t.is(await stores.sessions.removeAll(ada, undefined), 1)
      t.is((await stores.sessions.list(bob, at)).length, 1)
    },
  )

  kept(
    'all other sessions end with what they are remembered by; the kept one stays remembered',
    async (t, stores, ada, bob) => {
      const first = await remembered(stores, ada, 1)
      const second = await remembered(stores, ada, 2)
      const other = await remembered(stores, bob, 3)
      t.is(await stores.sessions.removeOthers(ada, second.sessionId), 1)
      t.deepEqual(
        [await exists(stores, first.id), await exists(stores, second.id), await exists(stores, other.id)],
        [false, true, true],
      )
      t.deepEqual(
        (await stores.sessions.list(ada, at)).map((one) => [one.id, one.remember]),
        [[second.sessionId, true]],
      )
    },
  )

  kept(
    'beyond the newest sessions the older ones go, and remembered logins of which none is left',
    async (t, stores, ada, bob) => {
      const oldest = await remembered(stores, ada, 1)
      const twice = await remembered(stores, ada, 2)
      const other = await remembered(stores, bob, 3)
      const again = await stores.sessions.insert(session(ada, 12, { rememberedId: twice.id }))
      const newest = await stores.sessions.insert(session(ada, 13))
      await stores.sessions.trim(ada, 2, at)
      t.deepEqual(
        (await stores.sessions.list(ada, at)).map((one) => one.id),
        [newest, again],
      )
      t.deepEqual(
        [await exists(stores, oldest.id), await exists(stores, twice.id), await exists(stores, other.id)],
        [false, true, true],
      )
      await stores.sessions.trim(ada, 2, later(month))
      t.deepEqual([await exists(stores, twice.id), await exists(stores, other.id)], [false, true], 'what is over')
    },
  )

  kept('sessions of one remembered login that are over make room for the next', async (t, stores, ada, bob) => {
    const { id, sessionId } = await remembered(stores, ada, 1)
    const { id: same, sessionId: others } = await remembered(stores, ada, 2)
    const living = await stores.sessions.insert(session(ada, 11, { rememberedId: id, idleExpiresAt: later(86_400) }))
    await stores.sessions.removeOver(bob, id, later(3600))
    t.is((await stores.sessions.list(ada, later(3600))).length, 3)
    await stores.sessions.removeOver(ada, id, later(3600))
    const left = (await stores.sessions.list(ada, later(3600))).map((one) => one.id)
    t.deepEqual(left, [living, others])
    t.false(left.includes(sessionId))
    t.deepEqual([await exists(stores, id), await exists(stores, same)], [true, true])
  })

  kept('a removed user takes remembered logins along', async (t, stores, ada, bob) => {
    const mine = await remembered(stores, ada, 1)
    const other = await remembered(stores, bob, 2)
    await stores.users.remove(ada)
    t.deepEqual([await exists(stores, mine.id), await exists(stores, other.id)], [false, true])
  })
})
