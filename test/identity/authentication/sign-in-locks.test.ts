import test, { type ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { eachDatabase } from '../../support/databases.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'
import { callBy, password } from '../identity-fixture.ts'
import type { LockingFixture } from '../locking-fixture.ts'
import { makeLockingFixture } from '../locking-fixture.ts'

const onEach = (
  title: string,
  body: (t: ExecutionContext, fixture: LockingFixture, db: SqlDatabase) => Promise<void>,
): void => {
  for (const database of eachDatabase()) {
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      const fixture = makeLockingFixture(db)
      // What goes on in the background needs the database.
      t.teardown(() => fixture.settled().finally(() => db.close()))
      await body(t, fixture, db)
    })
  }
}

const newPassword = 'another long phrase'

onEach('every spelling of a name or address counts on one counter at sign-in and Basic', async (t, fixture) => {
  await fixture.user('ada', { email: 'Ada@bücher.example' })
  t.is(tagOf(await fixture.signIn('ADA', 'wrong')), 'SignInRefused')
  t.is(tagOf(await fixture.basic('Ada@BÜCHER.example', 'wrong')), 'NotAuthenticated')
  t.is(tagOf(await fixture.basic('ada@xn--bcher-kva.example', 'wrong')), 'NotAuthenticated')
  t.is(tagOf(await fixture.signIn('aDa', 'wrong')), 'SignInRefused')
  t.is(tagOf(await fixture.basic('ada', 'wrong')), 'NotAuthenticated')
  t.is(tagOf(await fixture.basic('ada')), 'NotAuthenticated')
  t.is(tagOf(await fixture.signIn('ada@bücher.example')), 'SignInRefused')
  await fixture.pass(30)
  t.is(tagOf(await fixture.signIn('ada@bücher.example')), 'done')
})

onEach('wrong passwords of a signed-in user are counted apart from those of anonymous callers', async (t, fixture) => {
  const ada = await fixture.user('ada')
  for (let i = 0; i < 5; i++) await fixture.signIn('ada', 'wrong')
  const change = (oldPassword: string) =>
    fixture.changePassword(callBy(ada, { method: 'session', sessionId: 1 as SessionId }), {
      oldPassword: secret(oldPassword),
      password: secret(newPassword),
      revokesTokens: false,
    })
  for (let i = 0; i < 5; i++) t.is(tagOf(await change('wrong')), 'OwnPasswordWrong')
  const locked = shown(await change(password))
  await fixture.pass(30)
  t.deepEqual(shown(await change('wrong')), locked)
  t.is(tagOf(await change(password)), 'done')
  t.is(tagOf(await fixture.basic('ada', newPassword)), 'done')
})

onEach(
  'a lock is reported once: to the owner by mail, and in the log of the account; no mail is sent for an unknown name',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    for (let i = 0; i < 12; i++) await fixture.basic('ada', 'wrong', '198.51.100.9')
    for (let i = 0; i < 12; i++) await fixture.basic('nobody', 'wrong', '198.51.100.9')
    t.is(await fixture.afterwards(), 1)
    const rows = (await fixture.auditRows()).filter(({ action }) => action === 'user.locked')
    t.is(rows.length, 1)
    t.is(Number(rows[0]?.tenant_id), ada.id)
    t.deepEqual(JSON.parse(rows[0]?.changes ?? ''), { attempts: 'password' })
    t.is(fixture.posted.length, 1)
    t.like(fixture.posted[0], { to: 'ada@example.org', accountId: ada.id })
    t.true(fixture.posted[0]?.paragraphs.join(' ').includes('198.51.100.9'))
    await fixture.pass(30)
    for (let i = 0; i < 5; i++) await fixture.basic('ada', 'wrong', '198.51.100.9')
    t.is(await fixture.afterwards(), 1, 'the next lock is reported again')
  },
)

onEach('a lock of an account without an address is in its log, and no mail is posted', async (t, fixture, db) => {
  const ada = await fixture.user('ada')
  await db.query((k) => k('emails').where('user_id', ada.id).delete())
  for (let i = 0; i < 5; i++) await fixture.basic('ada', 'wrong')
  t.is(await fixture.afterwards(), 1)
  t.is((await fixture.auditRows()).filter(({ action }) => action === 'user.locked').length, 1)
  t.deepEqual(fixture.posted, [])
})

onEach(
  'an administrator’s unlock lets the user in at once and is recorded; without a lock nothing changes',
  async (t, fixture) => {
    await fixture.user('ada')
    t.false(unwrap(await fixture.unlock(callOf(), 'ada')))
    for (let i = 0; i < 5; i++) await fixture.basic('ada', 'wrong')
    t.is(tagOf(await fixture.basic('ada')), 'NotAuthenticated')
    t.true(unwrap(await fixture.unlock(callOf(), 'ADA')))
    t.is(tagOf(await fixture.basic('ada')), 'done')
    t.is((await fixture.auditRows()).filter(({ action }) => action === 'user.unlocked').length, 1)
    t.is(tagOf(await fixture.unlock(callOf(), 'nobody')), 'UserMissing')
  },
)

onEach(
  'the first success notes the network, and a later one only removes the failures from it',
  async (t, fixture, db) => {
    await fixture.user('ada')
    const rows = async () => (await db.query((k) => k('identity_attempts').select('points'))).length
    t.is(tagOf(await fixture.basic('ada')), 'done')
    t.is(tagOf(await fixture.basic('ada')), 'done')
    t.is(await rows(), 1)
    await fixture.basic('ada', 'wrong')
    t.is(await rows(), 4)
    t.is(tagOf(await fixture.basic('ada')), 'done')
    t.is(await rows(), 3, 'the totals keep their own')
    for (let i = 0; i < 4; i++) await fixture.basic('ada', 'wrong')
    t.is(tagOf(await fixture.basic('ada')), 'done', 'the first failure was forgotten')
  },
)

onEach('a forced change of the password wants another one, and ends with it', async (t, fixture) => {
  const ada = await fixture.user('ada', { mustChangePassword: true })
  t.like(await fixture.basic('ada'), { right: { mustChangePassword: true } })
  const change = (text: string) =>
    fixture.changePassword(callBy(ada), { oldPassword: secret(password), password: secret(text), revokesTokens: false })
  t.is(tagOf(await change(password)), 'PasswordTooWeak')
  t.is(tagOf(await change(newPassword)), 'done')
  t.like(await fixture.basic('ada', newPassword), { right: { mustChangePassword: false } })
})
