import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeChangePageSizes, makeFollowUser } from '../../../core/identity/accounts/profiles.ts'
import { makeDeleteUser } from '../../../core/identity/accounts/removal.ts'
import { makeValidateEmail, makeValidateName } from '../../../core/identity/site-rules.ts'
import { makeEditOwnProfile, makeEditUser, makeUnlockUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeCreateFirstAdmin } from '../../../core/identity/accounts/users.ts'
import { makeChangeOwnPassword, makeSetPassword } from '../../../core/identity/authentication/passwords.ts'
import { makeSignIn } from '../../../core/identity/authentication/sign-in.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../../core/identity/emails/own-emails.ts'
import { makeCreateToken } from '../../../core/identity/tokens/access-tokens.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, makeIdentityFixture, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const newPassword = 'another long phrase'
const signIn = (fixture: IdentityFixture, login: string, text = password) =>
  makeSignIn(fixture.deps)(callOf(), { login, password: secret(text), remember: false })
const alive = async (fixture: IdentityFixture, key: string): Promise<boolean> =>
  isRight(
    await fixture.authenticator.authenticate({ kind: 'session', sessionKey: secret(key) }, undefined, '192.0.2.7'),
  )

onEachDatabase('of several instances that start together one makes the first admin', async (t, fixture, db) => {
  const input = { login: 'admin', email: 'admin@localhost', password: secret('harbour lantern tide') }
  const starts = Array.from({ length: 4 }, () => makeCreateFirstAdmin(makeIdentityFixture(db).deps)(callOf(), input))
  const made = (await Promise.all(starts)).map(unwrap)
  t.is(made.filter(Boolean).length, 1)
  t.is((await fixture.deps.stores.users.list('', { page: 1, limit: 10 })).total, 1)
  t.false(unwrap(await makeCreateFirstAdmin(fixture.deps)(callOf(), { ...input, login: 'other', email: 'o@x.org' })))
})

onEachDatabase(
  'the name of the first admin belongs to a user who is not an admin: the message says so',
  async (t, fixture) => {
    await fixture.user('boss')
    const input = { login: 'BOSS', email: 'b@x.org', password: secret('harbour lantern tide') }
    t.like(await makeCreateFirstAdmin(fixture.deps)(callOf(), input), { left: { tag: 'UserNameTaken' } })
  },
)

onEachDatabase('one address for two users at once: one gets it, whatever its case', async (t, fixture, db) => {
  const users = [await fixture.user('ada'), await fixture.user('bob'), await fixture.user('cyd')]
  const results = await Promise.all(
    users.map((user, i) =>
      makeAddOwnEmails(makeIdentityFixture(db).deps)(callBy(user), [i === 1 ? 'Same@x.org' : 'same@x.org']),
    ),
  )
  t.is(results.filter(isRight).length, 1)
  for (const result of results.filter(isLeft)) t.is(result.left.tag, 'EmailTaken')
  const created = await Promise.all(
    ['newcomer1', 'newcomer2', 'newcomer3'].map((login) =>
      makeIdentityFixture(db)
        .user(login, { email: 'New@x.org' })
        .then(
          () => true,
          () => false,
        ),
    ),
  )
  t.is(created.filter(Boolean).length, 1)
  t.is(
    (await fixture.deps.stores.users.list('newcomer', { page: 1, limit: 10 })).total,
    1,
    'a refused user leaves no account behind',
  )
})

onEachDatabase('of the last two admins who depose each other at once one stays', async (t, fixture, db) => {
  const [a, b] = [await fixture.user('aa', { isAdmin: true }), await fixture.user('bb', { isAdmin: true })]
  const edit = (login: string, by: typeof a) =>
    makeEditUser(makeIdentityFixture(db).deps)(callBy(by), { login, isAdmin: false })
  const results = await Promise.all([edit('aa', b), edit('bb', a)])
  t.is(results.filter(isRight).length, 1)
  t.like(results.find(isLeft), { left: { tag: 'LastAdmin', kind: 'Conflict' } })
  t.is((await fixture.deps.stores.users.lockActiveAdmins()).length, 1)
})

onEachDatabase(
  'the last active admin is neither shut nor deleted, nor is anybody their own executioner',
  async (t, fixture) => {
    const root = await fixture.user('root', { isAdmin: true })
    const edit = makeEditUser(fixture.deps)
    for (const changes of [{ isAdmin: false }, { isActive: false }, { prohibitLogin: true }]) {
      t.like(await edit(callBy(root), { login: 'root', ...changes }), { left: { tag: 'LastAdmin' } })
    }
    t.like(await edit(callBy(root), { login: 'root', fullName: 'The Root' }), {
      right: { fullName: 'The Root', isAdmin: true },
    })
    const remove = makeDeleteUser(fixture.deps)
    t.like(await remove(callBy(root), { login: 'ROOT' }), { left: { tag: 'UserInUse', kind: 'Unprocessable' } })
    const ada = await fixture.user('ada')
    t.like(await remove(callBy(ada), { login: 'root' }), {
      left: { message: 'This is the last active site administrator.' },
    })
    t.like(await remove(callBy(ada, { impersonator: { userId: root.id, login: 'root' } }), { login: 'root' }), {
      left: { tag: 'UserInUse' },
    })
    t.like(await remove(callBy(root), { login: 'nobody' }), { left: { tag: 'UserMissing' } })
    t.like(await remove(callBy(root), { login: 'ada' }), { _tag: 'Right' })
  },
)

onEachDatabase('a user who is a member or owns a cluster stays, and the reasons are named', async (t, fixture, db) => {
  const root = await fixture.user('root', { isAdmin: true })
  const ada = await fixture.user('ada')
  await db.query((k) =>
    k('accounts').insert({ id: 900, kind: 'organization', name: 'Acme', lower_name: 'acme', created_at: 0 }),
  )
  await db.query((k) => k('organizations').insert({ id: 900, created_at: 0 }))
  await db.query((k) => k('org_members').insert({ org_id: 900, user_id: ada.id, created_at: 0 }))
  const remove = makeDeleteUser(fixture.deps)
  t.like(await remove(callBy(root), { login: 'ada' }), { left: { tag: 'UserInUse', errors: ['organization Acme'] } })
  t.like(await remove(callBy(root), { login: 'acme' }), { left: { tag: 'UserInUse' } })
  t.is(await fixture.deps.stores.users.kindOfName('ada'), 'user')
  t.like(await makeValidateName(fixture.deps)(callBy(root), { name: 'ACME' }), { right: { status: 'USER_EXISTS' } })
  t.like(await makeValidateName(fixture.deps)(callBy(root), { name: 'ACME', current: 'acme' }), {
    right: { status: 'VALID' },
  })
  t.like(await makeEditUser(fixture.deps)(callBy(root), { login: 'acme', fullName: 'x' }), {
    left: { tag: 'UserMissing' },
  })
  t.like(
    await fixture.authenticator.authenticate(
      { kind: 'password', login: 'root', password: secret(password), oneTimeCode: undefined },
      'acme',
      '',
    ),
    {
      left: { tag: 'SudoTargetNoUser' },
    },
  )
})

onEachDatabase(
  'changing one’s password ends the other sessions, keeps tokens by default, and requires the old one',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const [mine, other] = [
      unwrap(await signIn(fixture, 'ada')).sessionKey.reveal(),
      unwrap(await signIn(fixture, 'ada')).sessionKey.reveal(),
    ]
    const [, current] = await fixture.deps.stores.sessions.list(ada.id, fixture.deps.clock.now())
    const call = callBy(ada, { method: 'session', ...(current === undefined ? {} : { sessionId: current.id }) })
    const change = makeChangeOwnPassword(fixture.deps)
    const input = { oldPassword: secret(password), password: secret(newPassword), revokesTokens: false }
    unwrap(
      await makeCreateToken(fixture.deps)(call, {
        owner: { userId: ada.id, login: ada.login },
        name: 't',
        scopes: undefined,
        expiresAt: undefined,
      }),
    )
    t.like(await change(call, { ...input, oldPassword: secret('wrong') }), {
      left: { tag: 'OwnPasswordWrong', kind: 'Forbidden' },
    })
    t.like(await change(call, { ...input, password: secret('short') }), { left: { tag: 'PasswordTooWeak' } })
    t.true(await alive(fixture, other))
    unwrap(await change(call, input))
    t.deepEqual([await alive(fixture, mine), await alive(fixture, other)], [true, false])
    t.like(await signIn(fixture, 'ada'), { left: { tag: 'SignInRefused' } })
    t.like(await signIn(fixture, 'ada', newPassword), { _tag: 'Right' })
    t.is((await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 9 })).total, 1)
    unwrap(await change(call, { oldPassword: secret(newPassword), password: secret(password), revokesTokens: true }))
    t.is((await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 9 })).total, 0)
    unwrap(await makeSetPassword(fixture.deps)(callOf(), { login: 'ada', password: secret(newPassword) }))
    t.false(await alive(fixture, mine))
  },
)

onEachDatabase(
  'of two concurrent changes of one password with the same old one, one succeeds',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    const wanted = ['first long phrase here', 'second long phrase here']
    const results = await Promise.all(
      wanted.map((text) =>
        makeChangeOwnPassword(makeIdentityFixture(db).deps)(callBy(ada), {
          oldPassword: secret(password),
          password: secret(text),
          revokesTokens: false,
        }),
      ),
    )
    t.is(results.filter(isRight).length, 1)
    const winner = wanted[results.findIndex(isRight)] ?? ''
    t.is(await fixture.deps.stores.users.passwordPhc(ada.id), `plain:${winner}`)
  },
)

onEachDatabase(
  'signing in: the same refusal for unknown and wrong, another only after the right password',
  async (t, fixture) => {
    const root = await fixture.user('root', { isAdmin: true })
    await fixture.user('ada')
    const unknown = await signIn(fixture, 'nobody')
    t.like(unknown, { left: { tag: 'SignInRefused', kind: 'NotFound' } })
    t.deepEqual(shown(await signIn(fixture, 'ada', 'wrong')), shown(unknown))
    t.deepEqual(shown(await signIn(fixture, '', '')), shown(unknown))
    unwrap(await makeEditUser(fixture.deps)(callBy(root), { login: 'ada', isActive: false }))
    t.deepEqual(shown(await signIn(fixture, 'ada', 'wrong')), shown(unknown))
    t.like(await signIn(fixture, 'ada'), { left: { tag: 'SignInProhibited', kind: 'Prohibited' } })
    t.true(unwrap(await makeUnlockUser(fixture.deps)(callOf(), 'ada')))
    t.false(unwrap(await makeUnlockUser(fixture.deps)(callOf(), 'ada')))
    t.like(await signIn(fixture, 'ADA'), { _tag: 'Right' })
  },
)

onEachDatabase(
  'a new key at each sign-in; the old session of the same browser ends; an outdated hash is replaced',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    await db.query((k) =>
      k('users')
        .where('id', ada.id)
        .update({ password_hash: `old:${password}` }),
    )
    const first = unwrap(await signIn(fixture, 'ada')).sessionKey.reveal()
    t.is(await fixture.deps.stores.users.passwordPhc(ada.id), `plain:${password}`)
    const [session] = await fixture.deps.stores.sessions.list(ada.id, fixture.deps.clock.now())
    const call = callBy(ada, { method: 'session', ...(session === undefined ? {} : { sessionId: session.id }) })
    const second = unwrap(
      await makeSignIn(fixture.deps)(call, { login: 'ada', password: secret(password), remember: true }),
    )
    t.not(second.sessionKey.reveal(), first)
    t.is(second.remembered?.validSeconds, 2_592_000)
    t.deepEqual([await alive(fixture, first), await alive(fixture, second.sessionKey.reveal())], [false, true])
    for (let i = 0; i < 25; i += 1) unwrap(await signIn(fixture, 'ada'))
    t.is((await fixture.deps.stores.sessions.list(ada.id, fixture.deps.clock.now())).length, 20)
  },
)

onEachDatabase('a token creates only tokens with its own rights and life at most', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const create = makeCreateToken(fixture.deps)
  const expires = new Date('2026-06-01T00:00:00Z')
  const scopes = { all: false, sudo: false, publicOnly: false, levels: { user: 'write', cluster: 'read' } } as const
  const call = callBy(ada, { method: 'token', scopes, tokenExpiresAt: expires })
  const ask = (name: string, words?: readonly string[], expiresAt?: Date) =>
    create(call, { owner: { userId: ada.id, login: ada.login }, name, scopes: words, expiresAt })
  t.like(await ask('a'), { right: { record: { scopeWords: ['write:user', 'read:cluster'], expiresAt: expires } } })
  t.like(await ask('b', ['read:user']), { right: { record: { scopeWords: ['read:user'] } } })
  for (const words of [['all'], ['sudo'], ['write:cluster'], ['read:admin']])
    t.like(await ask('c', words), { left: { tag: 'ScopeExceeded', kind: 'Forbidden' } }, words.join())
  t.like(await ask('d', ['read:user'], new Date('2026-06-02T00:00:00Z')), { left: { tag: 'TokenExpiryInvalid' } })
  t.like(await ask('e', ['read:user'], new Date('2020-01-01T00:00:00Z')), { left: { tag: 'TokenExpiryInvalid' } })
  t.like(await ask(' a ', ['read:user']), { left: { tag: 'TokenNameTaken' } })
  t.like(await ask('   '), { left: { tag: 'TokenNameInvalid' } })
})

onEachDatabase('addresses: all or none, the primary one stays, another’s is none of mine', async (t, fixture) => {
  const ada = await fixture.user('ada')
  await fixture.user('bob')
  const [add, remove] = [makeAddOwnEmails(fixture.deps), makeRemoveOwnEmails(fixture.deps)]
  const mine = async () => (await fixture.deps.stores.emails.list(ada.id)).map((email) => email.email)
  t.like(await add(callBy(ada), ['new@x.org', 'bob@example.org']), { left: { tag: 'EmailTaken' } })
  t.like(await add(callBy(ada), ['new@x.org', 'none']), { left: { tag: 'EmailInvalid' } })
  t.deepEqual(await mine(), ['ada@example.org'])
  t.is(unwrap(await add(callBy(ada), ['new@x.org', 'NEW@x.org', 'more@x.org'])).length, 3)
  for (const texts of [['bob@example.org'], ['new@x.org', 'nobody@x.org'], ['none']])
    t.like(await remove(callBy(ada), texts), { left: { tag: 'EmailMissing' } })
  t.like(await remove(callBy(ada), ['new@x.org', 'ADA@example.org']), { left: { tag: 'EmailIsPrimary' } })
  t.is((await mine()).length, 3)
  unwrap(await remove(callBy(ada), ['New@X.org']))
  t.deepEqual(await mine(), ['ada@example.org', 'more@x.org'])
  for (const [text, status] of [
    ['MORE@x.org', 'USER_EXISTS'],
    ['x', 'INVALID'],
    ['free@x.org', 'VALID'],
  ] as const) {
    t.like(await makeValidateEmail(fixture.deps)(callBy(ada), text), { right: { status } })
  }
})

onEachDatabase(
  'a profile: absent stays, empty clears, only a verified address becomes the primary one',
  async (t, fixture) => {
    const ada = await fixture.user('ada', { fullName: 'Ada' })
    const edit = makeEditOwnProfile(fixture.deps)
    t.like(await edit(callBy(ada), { location: 'London', website: 'https://ada.example' }), {
      right: { fullName: 'Ada', location: 'London' },
    })
    t.like(await edit(callBy(ada), { location: '' }), { right: { location: '', website: 'https://ada.example' } })
    t.like(await edit(callBy(ada), { website: 'javascript:alert(1)' }), { left: { tag: 'ProfileInvalid' } })
    t.like(await edit(callBy(ada), { name: 'eve' }), { left: { tag: 'ProfileInvalid' } })
    unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['two@x.org']))
    t.like(await edit(callBy(ada), { email: 'two@x.org', location: 'Paris' }), { left: { tag: 'ProfileInvalid' } })
    t.like(await fixture.deps.stores.users.byId(ada.id), { location: '', primaryEmail: 'ada@example.org' })
    const root = await fixture.user('root', { isAdmin: true })
    t.like(await makeEditUser(fixture.deps)(callBy(root), { login: 'ada', email: 'New@x.org' }), {
      right: { primaryEmail: 'New@x.org' },
    })
    t.like(await makeEditUser(fixture.deps)(callBy(root), { login: 'ada', email: 'root@example.org' }), {
      left: { tag: 'EmailTaken' },
    })
    t.like(await fixture.deps.stores.users.byId(ada.id), { primaryEmail: 'New@x.org' })
  },
)

onEachDatabase('following: not oneself, not who is hidden, not an organization', async (t, fixture) => {
  const ada = await fixture.user('ada')
  await fixture.user('ghostly', { visibility: 'private' })
  const follow = makeFollowUser(fixture.deps)
  t.like(await follow(callBy(ada), 'ADA'), { left: { tag: 'FollowRefused' } })
  t.like(await follow(callBy(ada), 'ghostly'), { left: { tag: 'UserMissing' } })
  t.like(await follow(callBy(ada), 'nobody'), { left: { tag: 'UserMissing' } })
})

onEachDatabase(
  'each change leaves its audit row, a refused one none, and no row contains a secret',
  async (t, fixture) => {
    const root = await fixture.user('root', { isAdmin: true })
    const ada = await fixture.user('ada')
    const created = unwrap(
      await makeCreateToken(fixture.deps)(callBy(ada), {
        owner: { userId: ada.id, login: 'ada' },
        name: 'laptop',
        scopes: undefined,
        expiresAt: undefined,
      }),
    )
    const session = unwrap(await signIn(fixture, 'ada')).sessionKey.reveal()
    unwrap(
      await makeEditUser(fixture.deps)(callBy(root), {
        login: 'ada',
        fullName: 'Ada L',
        password: secret(newPassword),
        email: 'second@x.org',
      }),
    )
    await makeEditUser(fixture.deps)(callBy(root), { login: 'ada', website: 'none' })
    unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['third@x.org']))
    unwrap(await makeFollowUser(fixture.deps)(callBy(ada), 'root'))
    unwrap(await makeDeleteUser(fixture.deps)(callBy(root), { login: 'ada' }))
    const rows = await fixture.auditRows()
    t.deepEqual(
      rows.map((row) => row.action),
      [
        'user.created',
        'user.created',
        'token.created',
        'user.signed_in',
        'user.updated',
        'email.added',
        'user.followed',
        'user.deleted',
      ],
    )
    const text = JSON.stringify(rows)
    for (const value of [created.value.reveal(), session, password, newPassword, 'plain:', 'x.org'])
      t.false(text.includes(value), value)
    t.true(text.includes('Ada L'))
    t.is(Number(rows[2]?.tenant_id), ada.id)
  },
)

onEachDatabase(
  'page sizes are stored for each user, are recorded in the log, and are deleted with the account',
  async (t, fixture) => {
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const { pageSizes, users } = fixture.deps.stores
    const change = makeChangePageSizes(fixture.deps)
    t.is(await pageSizes.find(ada.id), undefined)
    unwrap(await change(callBy(ada), { platformUi: 25 }))
    unwrap(await change(callBy(ada), { consoleUi: 1_000 }))
    unwrap(await change(callBy(bob), { productUi: 1 }))
    t.is(tagOf(await change(callBy(bob), { productUi: 5, consoleUi: 0 })), 'PageSizeInvalid')
    t.deepEqual(await pageSizes.find(ada.id), { productUi: 10, consoleUi: 1_000, platformUi: 25 })
    t.deepEqual(await pageSizes.find(bob.id), { productUi: 1, consoleUi: 10, platformUi: 10 })
    const told = (await fixture.auditRows()).filter(({ action }) => action === 'user.page_sizes_changed')
    t.deepEqual(
      told.map(({ tenant_id, changes }) => [Number(tenant_id), JSON.parse(changes)]),
      [
        [ada.id, { platformUi: 25 }],
        [ada.id, { consoleUi: 1_000 }],
        [bob.id, { productUi: 1 }],
      ],
    )
    await users.remove(ada.id)
    t.is(await pageSizes.find(ada.id), undefined)
  },
)
