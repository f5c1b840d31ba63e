import { makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeSignIn } from '../../../core/identity/authentication/sign-in.ts'
import type { Credential } from '../../../core/identity/ports.ts'
import { makeCreateToken } from '../../../core/identity/tokens/access-tokens.ts'
import type { User } from '../../../core/identity/types.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { countingRunner } from '../../authz/counting-runner.ts'
import { callOf } from '../../sql/call.ts'
import { shown, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, makeIdentityFixture, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const basic = (login: string, text: string): Credential => ({
  kind: 'password',
  login,
  password: secret(text),
  oneTimeCode: undefined,
})
const bearer = (text: string): Credential => ({ kind: 'token', token: secret(text) })
const cookie = (text: string): Credential => ({ kind: 'session', sessionKey: secret(text) })

const tokenOf = async (
  fixture: IdentityFixture,
  user: User,
  scopes?: readonly string[],
  expiresAt?: Date,
): Promise<string> => {
  const create = makeCreateToken(fixture.deps)
  const name = `t${Math.random()}`
  return unwrap(
    await create(callBy(user), { owner: { userId: user.id, login: user.login }, name, scopes, expiresAt }),
  ).value.reveal()
}
const sessionOf = async (fixture: IdentityFixture, login: string, remember = false): Promise<string> =>
  unwrap(await makeSignIn(fixture.deps)(callOf(), { login, password: secret(password), remember })).sessionKey.reveal()

const proven = (fixture: IdentityFixture, credential: Credential, sudo?: string) =>
  fixture.authenticator.authenticate(credential, sudo, '192.0.2.7')
const refused = { _tag: 'Left', left: { tag: 'NotAuthenticated' } }

onEachDatabase('a token proves its user, with its scopes and expiry', async (t, fixture) => {
  const ada = await fixture.user('Ada', { isAdmin: true })
  const expiresAt = new Date('2026-05-01T09:00:00.000Z')
  const token = await tokenOf(fixture, ada, ['read:user', 'sudo'], expiresAt)
  t.like(await proven(fixture, bearer(token)), {
    right: {
      userId: ada.id,
      login: 'Ada',
      isSiteAdmin: true,
      method: 'token',
      tokenExpiresAt: expiresAt,
      scopes: { all: false, sudo: true, levels: { user: 'read' } },
    },
  })
  fixture.passSeconds(3599)
  t.like(await proven(fixture, bearer(token)), { _tag: 'Right' })
  fixture.passSeconds(1)
  t.like(await proven(fixture, bearer(token)), refused)
})

onEachDatabase('no token, no user, a shut account: one refusal', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const admin = await fixture.user('root', { isAdmin: true })
  const token = await tokenOf(fixture, ada)
  const session = await sessionOf(fixture, 'ada')
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
    t.like(await proven(fixture, credential), refused)
  }
  const edit = makeEditUser(fixture.deps)
  for (const changes of [{ isActive: false }, { isActive: true, prohibitLogin: true }]) {
    unwrap(await edit(callBy(admin), { login: 'ada', ...changes }))
    for (const credential of [bearer(token), cookie(session)]) t.like(await proven(fixture, credential), refused)
    t.like(
      await proven(fixture, basic('ada', password)),
      { _tag: 'Left', left: { tag: 'NotPermitted' } },
      'the password is right',
    )
    t.like(await proven(fixture, basic('ada', 'wrong')), refused)
  }
  unwrap(await edit(callBy(admin), { login: 'ada', prohibitLogin: false }))
  t.like(await proven(fixture, bearer(token)), { _tag: 'Right' })
  t.like(await proven(fixture, cookie(session)), refused, 'shutting an account ends its sessions for good')
})

onEachDatabase(
  'an unknown name costs the same hash and gets the same words as a wrong password',
  async (t, fixture) => {
    await fixture.user('ada')
    const before = fixture.verified()
    const wrong = await proven(fixture, basic('ada', 'wrong'))
    t.is(fixture.verified(), before + 1)
    const unknown = await proven(fixture, basic('nobody', 'wrong'))
    t.is(fixture.verified(), before + 2)
    t.deepEqual(shown(wrong), shown(unknown))
    await proven(fixture, basic('x'.repeat(5000), 'wrong'))
    t.is(fixture.verified(), before + 3)
  },
)

onEachDatabase('a verified address serves as a name, an unverified one does not', async (t, fixture) => {
  const ada = await fixture.user('ada', { email: 'Ada@Example.org' })
  t.like(await proven(fixture, basic('ADA@example.ORG', password)), { right: { userId: ada.id, method: 'password' } })
  unwrap(
    await fixture.deps.stores.emails.insert(ada.id, { text: 'two@x.org', key: 'two@x.org' }, false, false, new Date(0)),
  )
  t.like(await proven(fixture, basic('two@x.org', password)), refused)
})

onEachDatabase('a session ends after an hour without use and after a day of use', async (t, fixture) => {
  await fixture.user('ada')
  const idle = await sessionOf(fixture, 'ada')
  fixture.passSeconds(3600)
  t.like(await proven(fixture, cookie(idle)), refused)
  const used = await sessionOf(fixture, 'ada')
  for (let minutes = 30; minutes < 24 * 60; minutes += 30) {
    fixture.passSeconds(1800)
    t.like(await proven(fixture, cookie(used)), { right: { login: 'ada', method: 'session' } }, `${minutes} minutes`)
    await fixture.settled()
  }
  fixture.passSeconds(1800)
  t.like(await proven(fixture, cookie(used)), refused)
  const remembered = await sessionOf(fixture, 'ada', true)
  fixture.passSeconds(3600)
  t.like(await proven(fixture, cookie(remembered)), refused, 'a remembered login does not make its session live longer')
})

onEachDatabase('use is marked once a minute, also by many requests at once', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const token = await tokenOf(fixture, ada)
  await Promise.all(Array.from({ length: 20 }, () => proven(fixture, bearer(token))))
  t.is(await fixture.settled(), 1)
  fixture.passSeconds(59)
  await proven(fixture, bearer(token))
  t.is(await fixture.settled(), 0)
  fixture.passSeconds(1)
  await proven(fixture, bearer(token))
  t.is(await fixture.settled(), 1)
  const [record] = (await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 1 })).items
  t.deepEqual(record?.lastUsedAt, new Date('2026-05-01T08:01:00.000Z'))
})

onEachDatabase(
  'the last login is recorded for tokens and Basic too, to the minute, never backwards',
  async (t, fixture) => {
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const root = await fixture.user('root', { isAdmin: true })
    const tokens = [await tokenOf(fixture, ada), await tokenOf(fixture, ada)] as const
    const lastOf = async ({ id }: User) => (await fixture.deps.stores.users.byId(id))?.lastLoginAt?.toISOString()
    const use = async (credential: Credential, sudo?: string) => {
      t.like(await proven(fixture, credential, sudo), { _tag: 'Right' })
      return fixture.settled()
    }
    t.deepEqual([await lastOf(ada), await lastOf(bob)], [undefined, undefined])
    t.is(await use(bearer(tokens[0])), 1)
    t.is(await lastOf(ada), '2026-05-01T08:00:00.000Z')
    fixture.passSeconds(30)
    t.is(await use(basic('ada', password)), 0, 'within the minute')
    await fixture.deps.credentials.markPasswordUsed(ada.id, new Date('2026-05-01T07:00:00.000Z'))
    await fixture.deps.credentials.markTokenUsed(
      (await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 1 })).items[0]!.id,
      ada.id,
      new Date('2026-05-01T07:00:00.000Z'),
    )
    t.is(await lastOf(ada), '2026-05-01T08:00:00.000Z', 'a late writer does no harm')
    t.is(await use(basic('bob@example.org', password)), 1)
    t.is(await lastOf(bob), '2026-05-01T08:00:30.000Z')
    fixture.passSeconds(60)
    t.is(await use(bearer(tokens[1])), 1)
    t.is(await lastOf(ada), '2026-05-01T08:01:30.000Z')
    t.is(await use(basic('root', password), 'bob'), 1)
    t.deepEqual(
      [await lastOf(root), await lastOf(bob)],
      ['2026-05-01T08:01:30.000Z', '2026-05-01T08:00:30.000Z'],
      'who acts as another has come, the other has not',
    )
    t.like(await proven(fixture, basic('bob', 'wrong')), refused)
    t.is(await fixture.settled(), 0)
    t.like(await fixture.deps.stores.users.byId(bob.id), { version: bob.version }, 'use is no change of the account')
  },
)

onEachDatabase('a token and a session cost one query each', async (t, fixture, db) => {
  const ada = await fixture.user('ada')
  const token = await tokenOf(fixture, ada)
  const session = await sessionOf(fixture, 'ada')
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
  async (t, fixture) => {
    const root = await fixture.user('root', { isAdmin: true })
    const ada = await fixture.user('ada')
    await fixture.user('shut')
    unwrap(await makeEditUser(fixture.deps)(callBy(root), { login: 'shut', prohibitLogin: true }))
    const all = await tokenOf(fixture, root)
    const forbidden = { _tag: 'Left', left: { tag: 'NotPermitted', kind: 'Forbidden' } }
    t.like(await proven(fixture, bearer(all), 'ADA'), {
      right: { userId: ada.id, login: 'ada', isSiteAdmin: false, impersonator: { userId: root.id, login: 'root' } },
    })
    t.like(await proven(fixture, bearer(await tokenOf(fixture, root, ['sudo', 'read:user'])), 'ada'), {
      right: { login: 'ada', scopes: { all: false } },
    })
    t.like(await proven(fixture, basic('root', password), 'ada'), { right: { login: 'ada' } })
    t.like(await proven(fixture, bearer(await tokenOf(fixture, root, ['write:admin', 'write:user'])), 'ada'), forbidden)
    // Whoever may not act as others is not told who exists.
    const adas = bearer(await tokenOf(fixture, ada))
    for (const name of ['root', 'nobody']) t.like(await proven(fixture, adas, name), forbidden, name)
    t.like(await proven(fixture, cookie(await sessionOf(fixture, 'root')), 'ada'), forbidden)
    t.like(await proven(fixture, bearer(all), 'shut'), forbidden)
    for (const name of ['nobody', ''])
      t.like(await proven(fixture, bearer(all), name), { left: { tag: 'SudoTargetMissing', kind: 'NotFound' } }, name)
  },
)
