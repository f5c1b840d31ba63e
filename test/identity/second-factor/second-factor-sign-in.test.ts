import { makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeSignIn, makeSignInWithCode } from '../../../core/identity/authentication/sign-in.ts'
import type { IdentityChanges } from '../../../core/identity/ports.ts'
import {
  makeDisableSecondFactor,
  makeEnrollSecondFactor,
  makeOfferSecondFactor,
} from '../../../core/identity/second-factor/enrollment.ts'
import type { User } from '../../../core/identity/types.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { UnitOfWork } from '../../../core/kernel/unit-of-work.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { codeAt } from '../one-time-code-of.ts'

const now = (fixture: IdentityFixture): Date => fixture.deps.clock.now()

/** Enrolls, and answers the seed and the recovery codes; the next code is one that was not used. */
const enroll = async (fixture: IdentityFixture, user: User) => {
  const seed = unwrap(await makeOfferSecondFactor(fixture.deps)(callBy(user))).seed.reveal()
  const codes: readonly Secret[] = unwrap(
    await makeEnrollSecondFactor(fixture.deps)(callBy(user), codeAt(seed, now(fixture))),
  )
  fixture.passSeconds(30)
  return { seed, recovery: codes.map((code) => code.reveal()) }
}
const signIn = (
  fixture: IdentityFixture,
  code: string | undefined,
  text = password,
  login = 'ada',
  deps: Parameters<typeof makeSignInWithCode>[0] = fixture.deps,
) => makeSignInWithCode(deps)(callOf(), { login, password: secret(text), code, remember: false })
const plainSignIn = (
  fixture: IdentityFixture,
  text = password,
  deps: Parameters<typeof makeSignIn>[0] = fixture.deps,
) => makeSignIn(deps)(callOf(), { login: 'ada', password: secret(text), remember: true })
/** Something that happens once, after what was checked and before the transaction. */
const meanwhile = (fixture: IdentityFixture, happens: () => Promise<unknown>): UnitOfWork<IdentityChanges> => {
  let isDone = false
  return {
    async run(call, work) {
      if (!isDone) {
        isDone = true
        await happens()
      }
      return fixture.deps.unitOfWork.run(call, work)
    },
  }
}

onEachDatabase('password and code sign in; each code once, and a recovery code too', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const { seed, recovery } = await enroll(fixture, ada)
  const code = codeAt(seed, now(fixture))
  const opened = unwrap(await signIn(fixture, code))
  t.is(
    tagOf(
      await fixture.authenticator.authenticate(
        { kind: 'session', sessionKey: opened.sessionKey },
        undefined,
        '192.0.2.7',
      ),
    ),
    'done',
  )
  t.is(tagOf(await signIn(fixture, code)), 'OneTimeCodeRequired', 'used')
  t.is(tagOf(await signIn(fixture, recovery[0])), 'done')
  t.is(tagOf(await signIn(fixture, recovery[0])), 'OneTimeCodeRequired', 'used')
  for (const wrong of [undefined, '', '000000', 'x'])
    t.is(tagOf(await signIn(fixture, wrong)), 'OneTimeCodeRequired', String(wrong))
  fixture.passSeconds(30)
  t.is(tagOf(await signIn(fixture, codeAt(seed, now(fixture)))), 'done')
  const rows = (await fixture.auditRows()).filter(({ action }) => action === 'user.signed_in')
  t.true(rows.length === 3 && rows.every(({ changes }) => changes.includes('second_factor')))
})

onEachDatabase('a code says nothing without the password, and is not used up by a wrong one', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const { seed } = await enroll(fixture, ada)
  const code = codeAt(seed, now(fixture))
  const wrong = await signIn(fixture, code, 'wrong')
  t.like(wrong, { left: { tag: 'SignInRefused', kind: 'NotFound' } })
  const unknown = await signIn(fixture, code, 'wrong', 'nobody')
  t.like(unknown, { left: { tag: 'SignInRefused', message: wrong._tag === 'Left' ? wrong.left.message : '' } })
  t.is(tagOf(await signIn(fixture, code)), 'done')
})

onEachDatabase('without a second factor the code is not looked at', async (t, fixture) => {
  await fixture.user('ada')
  for (const code of [undefined, '', '000000']) t.is(tagOf(await signIn(fixture, code)), 'done', String(code))
})

onEachDatabase(
  'a password alone does not sign in where a second factor is enrolled: 405 after the right one, 404 before',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    await enroll(fixture, ada)
    t.like(await plainSignIn(fixture), { left: { tag: 'SecondFactorNeeded', kind: 'Prohibited' } })
    t.like(await plainSignIn(fixture, 'wrong'), { left: { tag: 'SignInRefused', kind: 'NotFound' } })
    t.is((await fixture.deps.stores.sessions.list(ada.id, now(fixture))).length, 0)
  },
)

onEachDatabase('a disabled account is prohibited before its code is asked for', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const { seed } = await enroll(fixture, ada)
  unwrap(
    await makeEditUser(fixture.deps)(callBy(await fixture.user('root', { isAdmin: true })), {
      login: 'ada',
      prohibitLogin: true,
    }),
  )
  t.is(tagOf(await signIn(fixture, codeAt(seed, now(fixture)))), 'SignInProhibited')
  t.is(tagOf(await signIn(fixture, undefined)), 'SignInProhibited')
})

onEachDatabase('remembered logins end when a second factor comes, and when it goes', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const before = unwrap(await plainSignIn(fixture)).remembered?.value as Secret
  const { seed } = await enroll(fixture, ada)
  t.is(tagOf(await fixture.resumption.resume(callOf(), before)), 'NotAuthenticated')
  const input = { login: 'ada', password: secret(password), remember: true, code: codeAt(seed, now(fixture)) }
  const during = unwrap(await makeSignInWithCode(fixture.deps)(callOf(), input)).remembered?.value as Secret
  fixture.passSeconds(30)
  unwrap(
    await makeDisableSecondFactor(fixture.deps)(callBy(ada), {
      password: secret(password),
      passCode: codeAt(seed, now(fixture)),
    }),
  )
  t.is(tagOf(await fixture.resumption.resume(callOf(), during)), 'NotAuthenticated')
  t.is(tagOf(await plainSignIn(fixture)), 'done')
})

onEachDatabase('a sign-in that has to check twice asks for one code only', async (t, fixture, db) => {
  const ada = await fixture.user('ada')
  const { seed } = await enroll(fixture, ada)
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
  const deps = { ...fixture.deps, unitOfWork: meanwhile(fixture, hashedAnew) }
  t.is(tagOf(await signIn(fixture, codeAt(seed, now(fixture)), password, 'ada', deps)), 'done')
})

onEachDatabase(
  'what changes between the check and the session counts: password, second factor, account',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    const changed = (what: Record<string, unknown>) => () =>
      db.query((k) => k('users').where('id', ada.id).update(what))
    const tagAfter = async (happens: () => Promise<unknown>) =>
      tagOf(await plainSignIn(fixture, password, { ...fixture.deps, unitOfWork: meanwhile(fixture, happens) }))
    t.is(await tagAfter(changed({ password_hash: 'plain:another long phrase' })), 'SignInRefused')
    await changed({ password_hash: `plain:${password}` })()
    t.is(await tagAfter(changed({ prohibit_login: true })), 'SignInProhibited')
    await changed({ prohibit_login: false })()
    t.is(await tagAfter(changed({ is_active: false })), 'SignInProhibited')
    await changed({ is_active: true })()
    t.is(await tagAfter(() => enroll(fixture, ada)), 'SecondFactorNeeded')
    t.is((await fixture.deps.stores.sessions.list(ada.id, now(fixture))).length, 0)
  },
)
