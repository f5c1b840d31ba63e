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
import type { IdentityFixture } from '../identity-world.ts'
import { callBy, password } from '../identity-world.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { codeAt } from '../one-time-code-of.ts'

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
