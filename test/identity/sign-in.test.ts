import test, { type ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeEditUser } from '../../core/identity/accounts/user-changes.ts'
import { makeSignIn, makeSignInWithCode } from '../../core/identity/authentication/sign-in.ts'
import type { Credential, IdentityChanges } from '../../core/identity/ports.ts'
import {
  makeDisableSecondFactor,
  makeEnrollSecondFactor,
  makeOfferSecondFactor,
} from '../../core/identity/second-factor/enrollment.ts'
import { makeCreateToken } from '../../core/identity/tokens/access-tokens.ts'
import type { User } from '../../core/identity/types.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { UnitOfWork } from '../../core/kernel/unit-of-work.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { callOf } from '../sql/call.ts'
import { eachDatabase } from '../support/databases.ts'
import { shown, tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityFixture } from './identity-world.ts'
import { callBy, makeIdentityFixture, password } from './identity-world.ts'
import type { LockingFixture } from './locking-world.ts'
import { makeLockingFixture } from './locking-world.ts'
import { onEachDatabase } from './on-each-database.ts'
import { codeAt } from './one-time-code-of.ts'

const basic = (login: string, text: string): Credential => ({
  kind: 'password',
  login,
  password: secret(text),
  oneTimeCode: undefined,
})
const bearer = (text: string): Credential => ({ kind: 'token', token: secret(text) })
const cookie = (text: string): Credential => ({ kind: 'session', sessionKey: secret(text) })

const tokenOf = async (
  world: IdentityFixture,
  user: User,
  scopes?: readonly string[],
  expiresAt?: Date,
): Promise<string> => {
  const create = makeCreateToken(world.deps)
  const name = `t${Math.random()}`
  return unwrap(
    await create(callBy(user), { owner: { userId: user.id, login: user.login }, name, scopes, expiresAt }),
  ).value.reveal()
}
const sessionOf = async (world: IdentityFixture, login: string, remember = false): Promise<string> =>
  unwrap(await makeSignIn(world.deps)(callOf(), { login, password: secret(password), remember })).sessionKey.reveal()

const proven = (world: IdentityFixture, credential: Credential, sudo?: string) =>
  world.authenticator.authenticate(credential, sudo, '192.0.2.7')
const refused = { _tag: 'Left', left: { tag: 'NotAuthenticated' } }

onEachDatabase('a token proves its user, with its scopes and expiry', async (t, world) => {
  const ada = await world.user('Ada', { isAdmin: true })
  const expiresAt = new Date('2026-05-01T09:00:00.000Z')
  const token = await tokenOf(world, ada, ['read:user', 'sudo'], expiresAt)
  t.like(await proven(world, bearer(token)), {
    right: {
      userId: ada.id,
      login: 'Ada',
      isSiteAdmin: true,
      method: 'token',
      tokenExpiresAt: expiresAt,
      scopes: { all: false, sudo: true, levels: { user: 'read' } },
    },
  })
  world.passSeconds(3599)
  t.like(await proven(world, bearer(token)), { _tag: 'Right' })
  world.passSeconds(1)
  t.like(await proven(world, bearer(token)), refused)
})

onEachDatabase('no token, no user, a shut account: one refusal', async (t, world) => {
  const ada = await world.user('ada')
  const admin = await world.user('root', { isAdmin: true })
  const token = await tokenOf(world, ada)
  const session = await sessionOf(world, 'ada')
  for (const credential of [
    bearer('moor_x'),
    bearer('0'.repeat(40)),
    cookie(''),
    cookie(token),
    bearer(session),
    basic('ada', 'wrong'),
    basic('nobody', password),
    basic('', ''),
  ]) {
    t.like(await proven(world, credential), refused)
  }
  const edit = makeEditUser(world.deps)
  for (const changes of [{ isActive: false }, { isActive: true, prohibitLogin: true }]) {
    unwrap(await edit(callBy(admin), { login: 'ada', ...changes }))
    for (const credential of [bearer(token), cookie(session)]) t.like(await proven(world, credential), refused)
    t.like(
      await proven(world, basic('ada', password)),
      { _tag: 'Left', left: { tag: 'NotPermitted' } },
      'the password is right',
    )
    t.like(await proven(world, basic('ada', 'wrong')), refused)
  }
  unwrap(await edit(callBy(admin), { login: 'ada', prohibitLogin: false }))
  t.like(await proven(world, bearer(token)), { _tag: 'Right' })
  t.like(await proven(world, cookie(session)), refused, 'shutting an account ends its sessions for good')
})

onEachDatabase('an unknown name costs the same hash and gets the same words as a wrong password', async (t, world) => {
  await world.user('ada')
  const before = world.verified()
  const wrong = await proven(world, basic('ada', 'wrong'))
  t.is(world.verified(), before + 1)
  const unknown = await proven(world, basic('nobody', 'wrong'))
  t.is(world.verified(), before + 2)
  t.deepEqual(shown(wrong), shown(unknown))
  await proven(world, basic('x'.repeat(5000), 'wrong'))
  t.is(world.verified(), before + 3)
})

onEachDatabase('a verified address serves as a name, an unverified one does not', async (t, world) => {
  const ada = await world.user('ada', { email: 'Ada@Example.org' })
  t.like(await proven(world, basic('ADA@example.ORG', password)), { right: { userId: ada.id, method: 'password' } })
  unwrap(
    await world.deps.stores.emails.insert(ada.id, { text: 'two@x.org', key: 'two@x.org' }, false, false, new Date(0)),
  )
  t.like(await proven(world, basic('two@x.org', password)), refused)
})

onEachDatabase('a session ends after an hour without use and after a day of use', async (t, world) => {
  await world.user('ada')
  const idle = await sessionOf(world, 'ada')
  world.passSeconds(3600)
  t.like(await proven(world, cookie(idle)), refused)
  const used = await sessionOf(world, 'ada')
  for (let minutes = 30; minutes < 24 * 60; minutes += 30) {
    world.passSeconds(1800)
    t.like(await proven(world, cookie(used)), { right: { login: 'ada', method: 'session' } }, `${minutes} minutes`)
    await world.settled()
  }
  world.passSeconds(1800)
  t.like(await proven(world, cookie(used)), refused)
  const remembered = await sessionOf(world, 'ada', true)
  world.passSeconds(3600)
  t.like(await proven(world, cookie(remembered)), refused, 'a remembered login does not make its session live longer')
})

onEachDatabase('use is marked once a minute, also by many requests at once', async (t, world) => {
  const ada = await world.user('ada')
  const token = await tokenOf(world, ada)
  await Promise.all(Array.from({ length: 20 }, () => proven(world, bearer(token))))
  t.is(await world.settled(), 1)
  world.passSeconds(59)
  await proven(world, bearer(token))
  t.is(await world.settled(), 0)
  world.passSeconds(1)
  await proven(world, bearer(token))
  t.is(await world.settled(), 1)
  const [record] = (await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 1 })).items
  t.deepEqual(record?.lastUsedAt, new Date('2026-05-01T08:01:00.000Z'))
})

onEachDatabase(
  'the last login is recorded for tokens and Basic too, to the minute, never backwards',
  async (t, world) => {
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    const root = await world.user('root', { isAdmin: true })
    const tokens = [await tokenOf(world, ada), await tokenOf(world, ada)] as const
    const lastOf = async ({ id }: User) => (await world.deps.stores.users.byId(id))?.lastLoginAt?.toISOString()
    const use = async (credential: Credential, sudo?: string) => {
      t.like(await proven(world, credential, sudo), { _tag: 'Right' })
      return world.settled()
    }
    t.deepEqual([await lastOf(ada), await lastOf(bob)], [undefined, undefined])
    t.is(await use(bearer(tokens[0])), 1)
    t.is(await lastOf(ada), '2026-05-01T08:00:00.000Z')
    world.passSeconds(30)
    t.is(await use(basic('ada', password)), 0, 'within the minute')
    await world.deps.credentials.markPasswordUsed(ada.id, new Date('2026-05-01T07:00:00.000Z'))
    await world.deps.credentials.markTokenUsed(
      (await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 1 })).items[0]!.id,
      ada.id,
      new Date('2026-05-01T07:00:00.000Z'),
    )
    t.is(await lastOf(ada), '2026-05-01T08:00:00.000Z', 'a late writer does no harm')
    t.is(await use(basic('bob@example.org', password)), 1)
    t.is(await lastOf(bob), '2026-05-01T08:00:30.000Z')
    world.passSeconds(60)
    t.is(await use(bearer(tokens[1])), 1)
    t.is(await lastOf(ada), '2026-05-01T08:01:30.000Z')
    t.is(await use(basic('root', password), 'bob'), 1)
    t.deepEqual(
      [await lastOf(root), await lastOf(bob)],
      ['2026-05-01T08:01:30.000Z', '2026-05-01T08:00:30.000Z'],
      'who acts as another has come, the other has not',
    )
    t.like(await proven(world, basic('bob', 'wrong')), refused)
    t.is(await world.settled(), 0)
    t.like(await world.deps.stores.users.byId(bob.id), { version: bob.version }, 'use is no change of the account')
  },
)

onEachDatabase('a token and a session cost one query each', async (t, world, db) => {
  const ada = await world.user('ada')
  const token = await tokenOf(world, ada)
  const session = await sessionOf(world, 'ada')
  const counted = countingRunner(db)
  const counting = makeIdentityFixture({
    ...db,
    all: counted.all,
    first: counted.first,
    run: counted.run,
    query: counted.query,
  })
  for (const credential of [bearer(token), cookie(session), basic('ada', password)]) {
    await counting.settled()
    counted.taken()
    t.like(await proven(counting, credential), { _tag: 'Right' })
    // The mark is in the background, not before the answer.
    t.true(counted.taken() - (await counting.settled()) <= 1, credential.kind)
  }
})

onEachDatabase(
  'acting as another: admins with the scope only, enabled users only, with the rights of that user',
  async (t, world) => {
    const root = await world.user('root', { isAdmin: true })
    const ada = await world.user('ada')
    await world.user('shut')
    unwrap(await makeEditUser(world.deps)(callBy(root), { login: 'shut', prohibitLogin: true }))
    const all = await tokenOf(world, root)
    const forbidden = { _tag: 'Left', left: { tag: 'NotPermitted', kind: 'Forbidden' } }
    t.like(await proven(world, bearer(all), 'ADA'), {
      right: { userId: ada.id, login: 'ada', isSiteAdmin: false, impersonator: { userId: root.id, login: 'root' } },
    })
    t.like(await proven(world, bearer(await tokenOf(world, root, ['sudo', 'read:user'])), 'ada'), {
      right: { login: 'ada', scopes: { all: false } },
    })
    t.like(await proven(world, basic('root', password), 'ada'), { right: { login: 'ada' } })
    t.like(await proven(world, bearer(await tokenOf(world, root, ['write:admin', 'write:user'])), 'ada'), forbidden)
    // Whoever may not act as others is not told who exists.
    const adas = bearer(await tokenOf(world, ada))
    for (const name of ['root', 'nobody']) t.like(await proven(world, adas, name), forbidden, name)
    t.like(await proven(world, cookie(await sessionOf(world, 'root')), 'ada'), forbidden)
    t.like(await proven(world, bearer(all), 'shut'), forbidden)
    for (const name of ['nobody', ''])
      t.like(await proven(world, bearer(all), name), { left: { tag: 'SudoTargetMissing', kind: 'NotFound' } }, name)
  },
)

const onEach = (
  title: string,
  body: (t: ExecutionContext, world: LockingFixture, db: SqlDatabase) => Promise<void>,
): void => {
  for (const database of eachDatabase()) {
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      const world = makeLockingFixture(db)
      // What goes on in the background needs the database.
      t.teardown(() => world.settled().finally(() => db.close()))
      await body(t, world, db)
    })
  }
}

const newPassword = 'another long phrase'

onEach(
  'every spelling that signs in counts on one counter, at sign-in, Basic and the change of the password alike',
  async (t, world) => {
    const ada = await world.user('ada', { email: 'Ada@Example.org' })
    t.is(tagOf(await world.signIn('ADA', 'wrong')), 'SignInRefused')
    t.is(tagOf(await world.basic('Ada@example.ORG', 'wrong')), 'NotAuthenticated')
    const change = (oldPassword: string) =>
      world.changePassword(callBy(ada), {
        oldPassword: secret(oldPassword),
        password: secret(newPassword),
        revokesTokens: false,
      })
    t.is(tagOf(await change('wrong')), 'OwnPasswordWrong')
    t.is(tagOf(await world.signIn('aDa', 'wrong')), 'SignInRefused')
    t.is(tagOf(await world.basic('ada', 'wrong')), 'NotAuthenticated')
    t.is(tagOf(await world.basic('ada')), 'NotAuthenticated')
    t.is(tagOf(await world.signIn('ada@example.org')), 'SignInRefused')
    const locked = shown(await change(password))
    await world.pass(30)
    t.deepEqual(shown(await change('wrong')), locked)
    t.is(tagOf(await change(password)), 'done')
    t.is(tagOf(await world.basic('ada', newPassword)), 'done')
  },
)

onEach(
  'a lock is reported once: to the owner by mail, and in the log of the account; no mail is sent for an unknown name',
  async (t, world) => {
    const ada = await world.user('ada')
    for (let i = 0; i < 12; i++) await world.basic('ada', 'wrong', '198.51.100.9')
    for (let i = 0; i < 12; i++) await world.basic('nobody', 'wrong', '198.51.100.9')
    t.is(await world.afterwards(), 1)
    const rows = (await world.auditRows()).filter(({ action }) => action === 'user.locked')
    t.is(rows.length, 1)
    t.is(Number(rows[0]?.tenant_id), ada.id)
    t.deepEqual(JSON.parse(rows[0]?.changes ?? ''), { attempts: 'password' })
    t.is(world.posted.length, 1)
    t.like(world.posted[0], { to: 'ada@example.org', accountId: ada.id })
    t.true(world.posted[0]?.paragraphs.join(' ').includes('198.51.100.9'))
    await world.pass(30)
    for (let i = 0; i < 5; i++) await world.basic('ada', 'wrong', '198.51.100.9')
    t.is(await world.afterwards(), 1, 'the next lock is reported again')
  },
)

onEach('a lock of an account without an address is in its log, and no mail is posted', async (t, world, db) => {
  const ada = await world.user('ada')
  await db.query((k) => k('emails').where('user_id', ada.id).delete())
  for (let i = 0; i < 5; i++) await world.basic('ada', 'wrong')
  t.is(await world.afterwards(), 1)
  t.is((await world.auditRows()).filter(({ action }) => action === 'user.locked').length, 1)
  t.deepEqual(world.posted, [])
})

onEach(
  'an administrator’s unlock lets the user in at once and is recorded; without a lock nothing changes',
  async (t, world) => {
    await world.user('ada')
    t.false(unwrap(await world.unlock(callOf(), 'ada')))
    for (let i = 0; i < 5; i++) await world.basic('ada', 'wrong')
    t.is(tagOf(await world.basic('ada')), 'NotAuthenticated')
    t.true(unwrap(await world.unlock(callOf(), 'ADA')))
    t.is(tagOf(await world.basic('ada')), 'done')
    t.is((await world.auditRows()).filter(({ action }) => action === 'user.unlocked').length, 1)
    t.is(tagOf(await world.unlock(callOf(), 'nobody')), 'UserMissing')
  },
)

onEach(
  'a success writes nothing where there is nothing to forget, and forgets the subject’s failures alone',
  async (t, world, db) => {
    await world.user('ada')
    const rows = async () => (await db.query((k) => k('identity_attempts').select('points'))).length
    t.is(tagOf(await world.basic('ada')), 'done')
    t.is(await rows(), 0)
    await world.basic('ada', 'wrong')
    t.is(await rows(), 2)
    t.is(tagOf(await world.basic('ada')), 'done')
    t.is(await rows(), 1, 'the address keeps its own')
    for (let i = 0; i < 4; i++) await world.basic('ada', 'wrong')
    t.is(tagOf(await world.basic('ada')), 'done', 'the first failure was forgotten')
  },
)

onEach('a forced change of the password wants another one, and ends with it', async (t, world) => {
  const ada = await world.user('ada', { mustChangePassword: true })
  t.like(await world.basic('ada'), { right: { mustChangePassword: true } })
  const change = (text: string) =>
    world.changePassword(callBy(ada), { oldPassword: secret(password), password: secret(text), revokesTokens: false })
  t.is(tagOf(await change(password)), 'PasswordTooWeak')
  t.is(tagOf(await change(newPassword)), 'done')
  t.like(await world.basic('ada', newPassword), { right: { mustChangePassword: false } })
})

const now = (world: IdentityFixture): Date => world.deps.clock.now()

/** Enrolls, and answers the seed and the recovery codes; the next code is one that was not used. */
const enroll = async (world: IdentityFixture, user: User) => {
  const seed = unwrap(await makeOfferSecondFactor(world.deps)(callBy(user))).seed.reveal()
  const codes: readonly Secret[] = unwrap(
    await makeEnrollSecondFactor(world.deps)(callBy(user), codeAt(seed, now(world))),
  )
  world.passSeconds(30)
  return { seed, recovery: codes.map((code) => code.reveal()) }
}
const signIn = (
  world: IdentityFixture,
  code: string | undefined,
  text = password,
  login = 'ada',
  deps: Parameters<typeof makeSignInWithCode>[0] = world.deps,
) => makeSignInWithCode(deps)(callOf(), { login, password: secret(text), code, remember: false })
const plainSignIn = (world: IdentityFixture, text = password, deps: Parameters<typeof makeSignIn>[0] = world.deps) =>
  makeSignIn(deps)(callOf(), { login: 'ada', password: secret(text), remember: true })
/** Something that happens once, after what was checked and before the transaction. */
const meanwhile = (world: IdentityFixture, happens: () => Promise<unknown>): UnitOfWork<IdentityChanges> => {
  let isDone = false
  return {
    async run(call, work) {
      if (!isDone) {
        isDone = true
        await happens()
      }
      return world.deps.unitOfWork.run(call, work)
    },
  }
}

onEachDatabase('password and code sign in; each code once, and a recovery code too', async (t, world) => {
  const ada = await world.user('ada')
  const { seed, recovery } = await enroll(world, ada)
  const code = codeAt(seed, now(world))
  const opened = unwrap(await signIn(world, code))
  t.is(
    tagOf(
      await world.authenticator.authenticate(
        { kind: 'session', sessionKey: opened.sessionKey },
        undefined,
        '192.0.2.7',
      ),
    ),
    'done',
  )
  t.is(tagOf(await signIn(world, code)), 'OneTimeCodeRequired', 'used')
  t.is(tagOf(await signIn(world, recovery[0])), 'done')
  t.is(tagOf(await signIn(world, recovery[0])), 'OneTimeCodeRequired', 'used')
  for (const wrong of [undefined, '', '000000', 'x'])
    t.is(tagOf(await signIn(world, wrong)), 'OneTimeCodeRequired', String(wrong))
  world.passSeconds(30)
  t.is(tagOf(await signIn(world, codeAt(seed, now(world)))), 'done')
  const rows = (await world.auditRows()).filter(({ action }) => action === 'user.signed_in')
  t.true(rows.length === 3 && rows.every(({ changes }) => changes.includes('second_factor')))
})

onEachDatabase('a code says nothing without the password, and is not used up by a wrong one', async (t, world) => {
  const ada = await world.user('ada')
  const { seed } = await enroll(world, ada)
  const code = codeAt(seed, now(world))
  const wrong = await signIn(world, code, 'wrong')
  t.like(wrong, { left: { tag: 'SignInRefused', kind: 'NotFound' } })
  const unknown = await signIn(world, code, 'wrong', 'nobody')
  t.like(unknown, { left: { tag: 'SignInRefused', message: wrong._tag === 'Left' ? wrong.left.message : '' } })
  t.is(tagOf(await signIn(world, code)), 'done')
})

onEachDatabase('without a second factor the code is not looked at', async (t, world) => {
  await world.user('ada')
  for (const code of [undefined, '', '000000']) t.is(tagOf(await signIn(world, code)), 'done', String(code))
})

onEachDatabase(
  'a password alone does not sign in where a second factor is enrolled: 405 after the right one, 404 before',
  async (t, world) => {
    const ada = await world.user('ada')
    await enroll(world, ada)
    t.like(await plainSignIn(world), { left: { tag: 'SecondFactorNeeded', kind: 'Prohibited' } })
    t.like(await plainSignIn(world, 'wrong'), { left: { tag: 'SignInRefused', kind: 'NotFound' } })
    t.is((await world.deps.stores.sessions.list(ada.id, now(world))).length, 0)
  },
)

onEachDatabase('a disabled account is prohibited before its code is asked for', async (t, world) => {
  const ada = await world.user('ada')
  const { seed } = await enroll(world, ada)
  unwrap(
    await makeEditUser(world.deps)(callBy(await world.user('root', { isAdmin: true })), {
      login: 'ada',
      prohibitLogin: true,
    }),
  )
  t.is(tagOf(await signIn(world, codeAt(seed, now(world)))), 'SignInProhibited')
  t.is(tagOf(await signIn(world, undefined)), 'SignInProhibited')
})

onEachDatabase('remembered logins end when a second factor comes, and when it goes', async (t, world) => {
  const ada = await world.user('ada')
  const before = unwrap(await plainSignIn(world)).remembered?.value as Secret
  const { seed } = await enroll(world, ada)
  t.is(tagOf(await world.resumption.resume(callOf(), before)), 'NotAuthenticated')
  const input = { login: 'ada', password: secret(password), remember: true, code: codeAt(seed, now(world)) }
  const during = unwrap(await makeSignInWithCode(world.deps)(callOf(), input)).remembered?.value as Secret
  world.passSeconds(30)
  unwrap(
    await makeDisableSecondFactor(world.deps)(callBy(ada), {
      password: secret(password),
      passCode: codeAt(seed, now(world)),
    }),
  )
  t.is(tagOf(await world.resumption.resume(callOf(), during)), 'NotAuthenticated')
  t.is(tagOf(await plainSignIn(world)), 'done')
})

onEachDatabase('a sign-in that has to check twice asks for one code only', async (t, world, db) => {
  const ada = await world.user('ada')
  const { seed } = await enroll(world, ada)
  await db.query((k) =>
    k('users')
      .where('id', ada.id)
      .update({ password_hash: `old:${password}` }),
  )
  const hashedAnew = () =>
    db.query((k) =>
      k('users')
        .where('id', ada.id)
        .update({ password_hash: `plain:${password}` }),
    )
  const deps = { ...world.deps, unitOfWork: meanwhile(world, hashedAnew) }
  t.is(tagOf(await signIn(world, codeAt(seed, now(world)), password, 'ada', deps)), 'done')
})

onEachDatabase(
  'what changes between the check and the session counts: password, second factor, account',
  async (t, world, db) => {
    const ada = await world.user('ada')
    const changed = (what: Record<string, unknown>) => () =>
      db.query((k) => k('users').where('id', ada.id).update(what))
    const tagAfter = async (happens: () => Promise<unknown>) =>
      tagOf(await plainSignIn(world, password, { ...world.deps, unitOfWork: meanwhile(world, happens) }))
    t.is(await tagAfter(changed({ password_hash: 'plain:another long phrase' })), 'SignInRefused')
    await changed({ password_hash: `plain:${password}` })()
    t.is(await tagAfter(changed({ prohibit_login: true })), 'SignInProhibited')
    await changed({ prohibit_login: false })()
    t.is(await tagAfter(changed({ is_active: false })), 'SignInProhibited')
    await changed({ is_active: true })()
    t.is(await tagAfter(() => enroll(world, ada)), 'SecondFactorNeeded')
    t.is((await world.deps.stores.sessions.list(ada.id, now(world))).length, 0)
  },
)
