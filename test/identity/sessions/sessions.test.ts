import { makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeChangeOwnPassword, makeSetPassword } from '../../../core/identity/authentication/passwords.ts'
import type { SignedIn } from '../../../core/identity/authentication/sign-in.ts'
import { makeSignIn } from '../../../core/identity/authentication/sign-in.ts'
import type { Credential } from '../../../core/identity/ports.ts'
import type { ResumedSession } from '../../../core/identity/sessions/ports.ts'
import { makeSessionResumption } from '../../../core/identity/sessions/remembered-logins.ts'
import {
  makeDropOverSessions,
  makeEndUserSessions,
  makeRevokeOtherSessions,
  makeRevokeSession,
  makeSignOut,
} from '../../../core/identity/sessions/sessions.ts'
import type { RememberedId, User } from '../../../core/identity/types.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const hour = 3600
const day = 24 * hour
const refused = { left: { tag: 'NotAuthenticated', kind: 'Unauthenticated' } }

const signIn = async (fixture: IdentityFixture, login = 'ada', remember = true): Promise<SignedIn> =>
  unwrap(await makeSignIn(fixture.deps)(callOf(), { login, password: secret(password), remember }))
/** The cookie of a sign-in that is to be remembered. */
const remembered = async (fixture: IdentityFixture, login = 'ada'): Promise<Secret> =>
  valueOf(await signIn(fixture, login))
const valueOf = ({ remembered: cookie }: Pick<SignedIn | ResumedSession, 'remembered'>): Secret => {
  if (cookie === undefined) throw new Error('nothing was remembered')
  return cookie.value
}
const resume = (fixture: IdentityFixture, value: Secret, sourceIp = '192.0.2.9') =>
  fixture.resumption.resume(callOf({ sourceIp, userAgent: 'browser' }), value)
const credentialOf = (sessionKey: Secret): Credential => ({ kind: 'session', sessionKey })
const lives = async (fixture: IdentityFixture, sessionKey: Secret): Promise<boolean> =>
  tagOf(await fixture.authenticator.authenticate(credentialOf(sessionKey), undefined, '192.0.2.7')) === 'done'
const sessionsOf = (fixture: IdentityFixture, { id }: User) =>
  fixture.deps.stores.sessions.list(id, fixture.deps.clock.now())
const bySession = (user: User, sessionId: SessionId | undefined) =>
  callBy(user, { method: 'session', ...(sessionId === undefined ? {} : { sessionId }) })

onEachDatabase(
  'a remembered login opens a session of its own key, and its secret changes each time',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const first = await signIn(fixture)
    const values = [valueOf(first).reveal()]
    const keys = [first.sessionKey.reveal()]
    for (let i = 0; i < 3; i += 1) {
      fixture.passSeconds(day)
      const resumed = unwrap(await resume(fixture, secret(values.at(-1) as string)))
      t.like(resumed.principal, { userId: ada.id, login: 'ada', method: 'session', isSiteAdmin: false })
      t.true(await lives(fixture, resumed.sessionKey))
      t.is(resumed.remembered?.validSeconds, 30 * day - (i + 1) * day)
      values.push(valueOf(resumed).reveal())
      keys.push(resumed.sessionKey.reveal())
    }
    t.is(new Set(values).size, 4)
    t.is(new Set(keys).size, 4)
    t.is(new Set(values.map((value) => value.split('.')[0])).size, 1, 'the series stays')
    const listed = await sessionsOf(fixture, ada)
    t.is(listed.length, 1, 'sessions that are over made room')
    t.like(listed[0], { remember: true, sourceIp: '192.0.2.9', userAgent: 'browser' })
    const rows = await fixture.auditRows()
    t.is(
      rows.filter(({ action, tenant_id }) => action === 'user.session_resumed' && Number(tenant_id) === ada.id).length,
      3,
    )
  },
)

onEachDatabase('only hashes of what a browser keeps are in the database', async (t, fixture, db) => {
  await fixture.user('ada')
  const { sessionKey, remembered: cookie } = await signIn(fixture)
  fixture.passSeconds(day)
  const resumed = unwrap(await resume(fixture, valueOf({ remembered: cookie })))
  const rows = [
    ...(await db.query((k) => k('sessions').select('*'))),
    ...(await db.query((k) => k('remembered_logins').select('*'))),
  ]
  const text = JSON.stringify(
    rows.map((row) =>
      Object.values(row as object).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      ),
    ),
  )
  for (const value of [sessionKey, resumed.sessionKey]) t.false(text.includes(value.reveal()))
  for (const value of [valueOf({ remembered: cookie }), valueOf(resumed)])
    for (const half of value.reveal().split('.')) t.false(text.includes(half))
})

onEachDatabase(
  'the session of a remembered login is idle after an hour and over after a day, as any other',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const { sessionKey } = await signIn(fixture)
    fixture.passSeconds(hour - 1)
    t.true(await lives(fixture, sessionKey))
    await fixture.settled()
    fixture.passSeconds(hour)
    t.false(await lives(fixture, sessionKey))
    t.is((await sessionsOf(fixture, ada)).length, 1, 'still listed: it can be resumed, and revoked')
  },
)

onEachDatabase('after 30 days the password is needed, however often the login was used', async (t, fixture) => {
  await fixture.user('ada')
  let value = await remembered(fixture)
  for (let days = 1; days < 30; days += 1) {
    fixture.passSeconds(day)
    value = valueOf(unwrap(await resume(fixture, value)))
  }
  fixture.passSeconds(day - hour / 2)
  const last = unwrap(await resume(fixture, value))
  t.true(await lives(fixture, last.sessionKey))
  fixture.passSeconds(hour / 2)
  t.false(await lives(fixture, last.sessionKey), 'no session outlives its remembered login')
  t.like(await resume(fixture, valueOf(last)), refused)
  t.is(fixture.posted.length, 0, 'over is not stolen')
})

onEachDatabase(
  'tabs that load at once all get in within 30 seconds, and the secret changes once',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const old = await remembered(fixture)
    fixture.passSeconds(day)
    const winner = unwrap(await resume(fixture, old))
    const current = valueOf(winner)
    const late = unwrap(await resume(fixture, old))
    t.is(late.remembered, undefined)
    t.not(late.sessionKey.reveal(), winner.sessionKey.reveal())
    fixture.passSeconds(30)
    t.is(unwrap(await resume(fixture, old)).remembered, undefined)
    t.is(
      unwrap(await resume(fixture, current)).remembered,
      undefined,
      'a second change would make the late ones thieves',
    )
    t.is((await sessionsOf(fixture, ada)).length, 4)
    t.is(fixture.posted.length, 0)
    fixture.passSeconds(1)
    t.not(unwrap(await resume(fixture, current)).remembered, undefined)
  },
)

onEachDatabase(
  'a secret that was replaced before was stolen: all sessions of the user end, with an audit row and a mail',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    await fixture.user('bob')
    const others = await remembered(fixture, 'bob')
    const bobs = await signIn(fixture, 'bob')
    const plain = await signIn(fixture, 'ada', false)
    const second = await remembered(fixture)
    const stolen = await remembered(fixture)
    fixture.passSeconds(60)
    const owner = unwrap(await resume(fixture, stolen))
    fixture.passSeconds(31)
    t.like(await resume(fixture, stolen, '203.0.113.66'), refused)
    for (const key of [plain.sessionKey, owner.sessionKey]) t.false(await lives(fixture, key))
    for (const value of [stolen, valueOf(owner), second]) t.like(await resume(fixture, value), refused)
    t.is((await sessionsOf(fixture, ada)).length, 0)
    t.true(await lives(fixture, bobs.sessionKey))
    t.is(tagOf(await resume(fixture, others)), 'done')
    const rows = await fixture.auditRows()
    const told = rows.filter(({ action }) => action === 'user.remembered_login_stolen')
    t.deepEqual(
      told.map(({ tenant_id }) => Number(tenant_id)),
      [ada.id],
    )
    t.like(fixture.posted[0], { to: 'ada@example.org', accountId: ada.id })
    t.is(fixture.posted.length, 1, 'once: what is over afterwards is only over')
    t.true(fixture.posted[0]?.paragraphs.join(' ').includes('203.0.113.66'))
  },
)

onEachDatabase('a secret of two changes ago, and one that never was, are a thief’s as well', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const first = await remembered(fixture)
  fixture.passSeconds(day)
  const second = valueOf(unwrap(await resume(fixture, first)))
  fixture.passSeconds(31)
  unwrap(await resume(fixture, second))
  t.like(await resume(fixture, first), refused)
  t.is((await sessionsOf(fixture, ada)).length, 0)
  const next = await remembered(fixture)
  const [series] = next.reveal().split('.')
  t.like(await resume(fixture, secret(`${series}.${'a'.repeat(43)}`)), refused)
  t.is((await sessionsOf(fixture, ada)).length, 0)
  t.is(fixture.posted.length, 2)
})

onEachDatabase('what is no remember cookie of ours ends nothing', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const value = (await remembered(fixture)).reveal()
  const [series, text] = value.split('.') as [string, string]
  for (const wrong of [
    '',
    'x',
    '.',
    value.slice(1),
    `${value}x`,
    `${text}.${series}`,
    `${'a'.repeat(22)}.${text}`,
    `${series}.${text.slice(1)}`,
    `${series}`,
    ` ${value}`,
    `${series}.%00${text.slice(3)}`,
  ]) {
    t.like(await resume(fixture, secret(wrong)), refused, wrong)
  }
  t.is((await sessionsOf(fixture, ada)).length, 1)
  t.is(fixture.posted.length, 0)
})

const endings: readonly (readonly [
  string,
  (fixture: IdentityFixture, ada: User, sessionId: SessionId) => Promise<unknown>,
])[] = [
  ['signing out', (fixture, ada, sessionId) => makeSignOut(fixture.deps)(bySession(ada, sessionId))],
  ['revoking its session', (fixture, ada, sessionId) => makeRevokeSession(fixture.deps)(callBy(ada), sessionId)],
  ['revoking all others from elsewhere', (fixture, ada) => makeRevokeOtherSessions(fixture.deps)(callBy(ada))],
  [
    'a password changed by the user, in this very session',
    (fixture, ada, sessionId) =>
      makeChangeOwnPassword(fixture.deps)(bySession(ada, sessionId), {
        oldPassword: secret(password),
        password: secret('quiet lantern over water'),
        revokesTokens: false,
      }),
  ],
  [
    'a password set by an administrator',
    (fixture) =>
      makeSetPassword(fixture.deps)(callOf(), { login: 'ada', password: secret('quiet lantern over water') }),
  ],
  [
    'an administrator who ends the sessions',
    async (fixture) => makeEndUserSessions(fixture.deps)(callBy(await fixture.user('root', { isAdmin: true })), 'ADA'),
  ],
  [
    'prohibiting sign-in',
    async (fixture) =>
      makeEditUser(fixture.deps)(callBy(await fixture.user('root', { isAdmin: true })), {
        login: 'ada',
        prohibitLogin: true,
      }),
  ],
  [
    'making the account inactive',
    async (fixture) =>
      makeEditUser(fixture.deps)(callBy(await fixture.user('root', { isAdmin: true })), {
        login: 'ada',
        isActive: false,
      }),
  ],
  ['removing the account', (fixture, ada) => fixture.deps.stores.users.remove(ada.id)],
]
for (const [what, end] of endings) {
  onEachDatabase(`a remembered login ends with ${what}; another user’s stays`, async (t, fixture) => {
    const ada = await fixture.user('ada')
    await fixture.user('bob')
    const others = await remembered(fixture, 'bob')
    const value = await remembered(fixture)
    const [session] = await sessionsOf(fixture, ada)
    await end(fixture, ada, session?.id as SessionId)
    t.like(await resume(fixture, value), refused)
    t.is(fixture.posted.filter(({ subject }) => subject.includes('remembered')).length, 0, 'ended is not stolen')
    t.is(tagOf(await resume(fixture, others)), 'done')
  })
}

onEachDatabase('ending all other sessions keeps the one of the call, and what remembers it', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const elsewhere = await remembered(fixture)
  const plain = await signIn(fixture, 'ada', false)
  const here = await signIn(fixture)
  const [session] = await sessionsOf(fixture, ada)
  unwrap(await makeRevokeOtherSessions(fixture.deps)(bySession(ada, session?.id)))
  t.deepEqual(
    (await sessionsOf(fixture, ada)).map(({ id, remember }) => [id, remember]),
    [[session?.id, true]],
  )
  t.deepEqual([await lives(fixture, plain.sessionKey), await lives(fixture, here.sessionKey)], [false, true])
  t.like(await resume(fixture, elsewhere), refused)
  t.is(tagOf(await resume(fixture, valueOf(here))), 'done')
})

onEachDatabase('20 sessions and remembered logins at most; the oldest go', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const values = []
  for (let i = 0; i < 22; i += 1) values.push(await remembered(fixture))
  t.is((await sessionsOf(fixture, ada)).length, 20)
  for (const value of values.slice(0, 2)) t.like(await resume(fixture, value), refused)
  t.is(tagOf(await resume(fixture, values[2] as Secret)), 'done')
  t.is((await sessionsOf(fixture, ada)).length, 20, 'a resumed session counts as well')
})

onEachDatabase(
  'where logins are not remembered, asking for it gives a session and nothing else',
  async (t, fixture) => {
    await fixture.user('ada')
    const deps = { ...fixture.deps, settings: { ...fixture.deps.settings, rememberSeconds: 0 } }
    const signedIn = unwrap(
      await makeSignIn(deps)(callOf(), { login: 'ada', password: secret(password), remember: true }),
    )
    t.is(signedIn.remembered, undefined)
    t.true(await lives(fixture, signedIn.sessionKey))
  },
)

onEachDatabase(
  'the pass for the bus comes with each session, for as long as a session lasts at most',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const asked: unknown[] = []
    const busPasses = {
      passFor: (user: unknown, validSeconds: number) => {
        asked.push([user, validSeconds])
        return Promise.resolve(secret(`pass-${asked.length}`))
      },
    }
    const deps = { ...fixture.deps, busPasses }
    const signedIn = unwrap(
      await makeSignIn(deps)(callOf(), { login: 'ada', password: secret(password), remember: true }),
    )
    t.is(signedIn.busPass?.reveal(), 'pass-1')
    const resumed = unwrap(await makeSessionResumption(deps).resume(callOf(), valueOf(signedIn)))
    t.is(resumed.busPass?.reveal(), 'pass-2')
    t.deepEqual(
      asked,
      [1, 2].map(() => [{ userId: ada.id, login: 'ada' }, day]),
    )
    t.like(await makeSignIn(deps)(callOf(), { login: 'ada', password: secret('wrong'), remember: true }), {
      left: { tag: 'SignInRefused' },
    })
    t.is(asked.length, 2, 'no other user is requested')
  },
)

const overSessionsDay = 24 * 3600
const going = () => new AbortController().signal
let used = 0
const hash = (): Uint8Array => {
  used += 1
  return new Uint8Array(32).fill(used % 256).fill(used >> 8, 0, 1)
}

const at = ({ deps }: IdentityFixture, seconds: number): Date => new Date(deps.clock.now().getTime() + seconds * 1000)
const sessionOf = (fixture: IdentityFixture, user: User, lifeSeconds: number, rememberedId?: RememberedId) =>
  fixture.deps.stores.sessions.insert({
    userId: user.id,
    hash: hash(),
    sourceIp: '',
    userAgent: '',
    createdAt: at(fixture, 0),
    proof: undefined,
    idleExpiresAt: at(fixture, Math.min(3600, lifeSeconds)),
    expiresAt: at(fixture, lifeSeconds),
    ...(rememberedId === undefined ? {} : { rememberedId }),
  })
const rememberedOf = (fixture: IdentityFixture, user: User, lifeSeconds: number) =>
  fixture.deps.stores.rememberedLogins.insert({
    userId: user.id,
    seriesHash: hash(),
    secretHash: hash(),
    sourceIp: '',
    userAgent: '',
    createdAt: at(fixture, 0),
    proof: undefined,
    expiresAt: at(fixture, lifeSeconds),
  })

onEachDatabase('sessions and remembered logins go a week after their end, and no others', async (t, fixture, db) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const drop = makeDropOverSessions(fixture.deps)
  const ids = async (table: string) =>
    (await db.query<{ id: number | string }>((k) => k(table).orderBy('id').select('id'))).map(({ id }) => Number(id))
  const [short, ofBob, long] = [
    await sessionOf(fixture, ada, overSessionsDay),
    await sessionOf(fixture, bob, overSessionsDay),
    await sessionOf(fixture, ada, 20 * overSessionsDay),
  ]
  const [remembered, ending, living] = [
    await rememberedOf(fixture, ada, 30 * overSessionsDay),
    await rememberedOf(fixture, bob, 3 * overSessionsDay),
    await rememberedOf(fixture, bob, 3 * overSessionsDay),
  ]
  const resumable = await sessionOf(fixture, ada, overSessionsDay, remembered)
  const [ended, still] = [
    await sessionOf(fixture, bob, overSessionsDay, ending),
    await sessionOf(fixture, bob, 20 * overSessionsDay, living),
  ]
  fixture.passSeconds(8 * overSessionsDay - 60)
  t.is(await drop(going()), 0)
  fixture.passSeconds(120)
  t.is(await drop(going()), 2)
  t.deepEqual(await ids('sessions'), [long, resumable, ended, still], `not ${short} and ${ofBob}`)
  fixture.passSeconds(2 * overSessionsDay)
  t.is(await drop(going()), 1)
  t.deepEqual(await ids('remembered_logins'), [remembered, living], 'a session that lives keeps its login')
  t.deepEqual(await ids('sessions'), [long, resumable, still])
  fixture.passSeconds(60 * overSessionsDay)
  t.is(await drop(going()), 3)
  t.deepEqual([await ids('sessions'), await ids('remembered_logins')], [[], []])
})

onEachDatabase('more than one slice goes in one run, and a run that is stopped ends', async (t, fixture, db) => {
  const ada = await fixture.user('ada')
  const day1 = at(fixture, overSessionsDay).getTime()
  const rows = Array.from({ length: 1_203 }, (_, n) => ({
    user_id: ada.id,
    session_hash: Buffer.alloc(32, 7)
      .fill(n & 255, 0, 1)
      .fill(n >> 8, 1, 2),
    source_ip: '',
    user_agent: '',
    created_at: 1,
    last_seen_at: 1,
    idle_expires_at: day1,
    expires_at: day1,
  }))
  for (let from = 0; from < rows.length; from += 60)
    await db.query((k) => k('sessions').insert(rows.slice(from, from + 60)))
  fixture.passSeconds(9 * overSessionsDay)
  const drop = makeDropOverSessions(fixture.deps)
  t.is(await drop(AbortSignal.abort()), 0)
  t.is(await drop(going()), 1_203)
})

onEachDatabase(
  'a request that continues is proven again without a hash, for as long as password, account and rights are the same',
  async (t, fixture) => {
    const root = await fixture.user('root', { isAdmin: true })
    const second = await fixture.user('second', { isAdmin: true })
    await fixture.user('ada')
    const edit = makeEditUser(fixture.deps)
    const proven = async (login: string, sudo?: string) =>
      unwrap(
        await fixture.authenticator.authenticate(
          { kind: 'password', login, password: secret(password), oneTimeCode: undefined },
          sudo,
          '198.51.100.7',
        ),
      )
    const again = fixture.authenticator.authenticateAgain
    const [ada, acting] = [await proven('ADA'), await proven('second', 'ada')]
    const before = fixture.verified()
    t.like(await again(ada), { right: { login: 'ada', method: 'password', isSiteAdmin: false } })
    t.like(await again(acting), { right: { login: 'ada', impersonator: { login: 'second' } } })
    unwrap(await edit(callBy(root), { login: 'ada', isAdmin: true }))
    t.like(await again(ada), { right: { isSiteAdmin: true } }, 'with the rights of now')
    unwrap(await edit(callBy(root), { login: 'second', isAdmin: false }))
    t.is(tagOf(await again(acting)), 'NotPermitted')
    t.is(fixture.verified(), before)
    unwrap(await makeSetPassword(fixture.deps)(callOf(), { login: 'ada', password: secret('another long phrase') }))
    t.is(tagOf(await again(ada)), 'NotAuthenticated')
    const other = await proven('second')
    unwrap(await edit(callBy(root), { login: second.login, prohibitLogin: true }))
    t.is(tagOf(await again(other)), 'NotAuthenticated')
  },
)
