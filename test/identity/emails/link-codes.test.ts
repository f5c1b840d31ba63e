import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSignUp } from '../../../core/identity/accounts/sign-up.ts'
import { makeAskPasswordReset, makeResetPassword } from '../../../core/identity/authentication/passwords.ts'
import { makeConfirmEmail, linkCodeMinutes, nextMailAt } from '../../../core/identity/emails/link-codes.ts'
import { makeAddOwnEmails } from '../../../core/identity/emails/own-emails.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const newPassword = secret('another long phrase')
const linkCodesAllowances = { take: () => Promise.resolve(undefined) }

const codeOf = (fixture: IdentityFixture): string =>
  /code=([0-9A-Za-z]+)$/.exec(fixture.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
const askFor = async (fixture: IdentityFixture, address: string): Promise<string> => {
  const before = fixture.posted.length
  unwrap(await makeAskPasswordReset({ ...fixture.deps, allowances: linkCodesAllowances })(callOf(), address))
  await fixture.settled()
  return fixture.posted.length === before ? '' : codeOf(fixture)
}
const resetBy = (fixture: IdentityFixture, code: string) =>
  makeResetPassword(fixture.deps)(callOf(), { code, password: newPassword })
const confirmBy = (fixture: IdentityFixture, code: string) => makeConfirmEmail(fixture.deps)(callOf(), code)

test('mails are limited by a sliding hour', (t) => {
  const at = (minute: number) => new Date(minute * 60_000)
  t.is(nextMailAt([]), undefined)
  t.is(nextMailAt([1, 2, 3, 4].map(at)), undefined)
  t.deepEqual(nextMailAt([1, 2, 3, 4, 5].map(at)), at(61))
  t.deepEqual(nextMailAt([0, 1, 2, 3, 4, 5].map(at)), at(61), 'the fifth newest counts')
})

onEachDatabase('a code has 190 random bits, and only its hash is kept', async (t, fixture, db) => {
  await fixture.user('ada')
  const code = await askFor(fixture, 'ada@example.org')
  t.regex(code, /^[0-9A-Za-z]{32}$/)
  const rows = await db.query<{ code_hash: Uint8Array }>((k) => k('identity_codes').select('*'))
  t.is(rows.length, 1)
  t.deepEqual(new Uint8Array(rows[0]?.code_hash ?? []), new Uint8Array(fixture.deps.digest.digest(code)))
  t.false(JSON.stringify(rows).includes(code))
})

onEachDatabase('a reset code is good for 30 minutes, a confirmation for 180', async (t, fixture) => {
  const ada = await fixture.user('ada')
  t.deepEqual(linkCodeMinutes, { 'email-confirmation': 180, 'password-reset': 30 })
  const first = await askFor(fixture, 'ada@example.org')
  fixture.passSeconds(30 * 60)
  t.true(isLeft(await resetBy(fixture, first)))
  const second = await askFor(fixture, 'ada@example.org')
  fixture.passSeconds(30 * 60 - 1)
  t.false(isLeft(await resetBy(fixture, second)))

  unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['ada@second.example']))
  const late = codeOf(fixture)
  fixture.passSeconds(180 * 60)
  t.true(isLeft(await confirmBy(fixture, late)))
  unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['ada@third.example']))
  fixture.passSeconds(180 * 60 - 1)
  t.false(isLeft(await confirmBy(fixture, codeOf(fixture))))
  t.deepEqual(
    (await fixture.deps.stores.emails.list(ada.id)).map(({ verified }) => verified),
    [true, false, true],
  )
})

onEachDatabase('of two uses of one code at once one succeeds', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const code = await askFor(fixture, 'ada@example.org')
  const resets = await Promise.all([1, 2, 3].map(() => resetBy(fixture, code)))
  t.is(resets.filter((outcome) => !isLeft(outcome)).length, 1)
  unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['ada@second.example']))
  const confirmation = codeOf(fixture)
  const confirms = await Promise.all([1, 2, 3].map(() => confirmBy(fixture, confirmation)))
  t.is(confirms.filter((outcome) => !isLeft(outcome)).length, 1)
})

onEachDatabase('a newer reset code replaces the older one', async (t, fixture) => {
  await fixture.user('ada')
  const first = await askFor(fixture, 'ada@example.org')
  const second = await askFor(fixture, 'ada@example.org')
  t.not(first, second)
  t.true(isLeft(await resetBy(fixture, first)))
  t.false(isLeft(await resetBy(fixture, second)))
})

onEachDatabase(
  'a code of an account that was shut since, or of an address that went, is worth nothing',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const code = await askFor(fixture, 'ada@example.org')
    await fixture.deps.stores.users.update(ada.id, { prohibitLogin: true })
    t.true(isLeft(await resetBy(fixture, code)))
    await fixture.deps.stores.users.update(ada.id, { prohibitLogin: false })
    const [email] = await fixture.deps.stores.emails.list(ada.id)
    await fixture.deps.stores.emails.remove(ada.id, [email?.id ?? 0])
    t.true(isLeft(await resetBy(fixture, code)))
  },
)

onEachDatabase(
  'nothing that depends on the address happens before "forgot password" is answered',
  async (t, fixture, db) => {
    await fixture.user('ada')
    let looked = 0
    const credentials = {
      passwordByKey: (key: string) => {
        looked += 1
        return fixture.deps.credentials.passwordByKey(key)
      },
    }
    const later: (() => Promise<void>)[] = []
    const ask = makeAskPasswordReset({
      ...fixture.deps,
      allowances: linkCodesAllowances,
      credentials,
      background: { run: (_what, work) => void later.push(work) },
    })
    for (const address of ['ada@example.org', 'nobody@example.org', 'no address']) unwrap(await ask(callOf(), address))
    t.is(later.length, 3, 'one piece of work each')
    t.is(looked + fixture.verified() + fixture.posted.length, 0)
    for (const work of later) await work()
    t.is(fixture.posted.length, 1)
    t.is((await db.query((k) => k('identity_codes').select('id'))).length, 1)
  },
)

onEachDatabase(
  '"forgot password" sends the mail of a sign-up again, and no code that sets a password',
  async (t, fixture) => {
    await fixture.deps.stores.siteRules.setRegistrationOpen(true)
    const person = { login: 'ada', email: 'ada@example.org', password: newPassword, fullName: '' }
    unwrap(await makeSignUp({ ...fixture.deps, allowances: linkCodesAllowances })(callOf(), person))
    const lost = codeOf(fixture)
    const code = await askFor(fixture, 'ADA@example.org')
    t.deepEqual(
      fixture.posted.map(({ to, subject }) => [to, subject]),
      Array.from({ length: 2 }, () => ['ada@example.org', 'Confirm your e-mail address']),
    )
    t.true(isLeft(await resetBy(fixture, code)))
    t.true(isLeft(await confirmBy(fixture, lost)), 'the newer one takes its place')
    unwrap(await confirmBy(fixture, code))
    t.like(await fixture.deps.stores.users.byLogin('ada'), { isActive: true })
    t.true(await askFor(fixture, 'ada@example.org').then((next) => next !== ''), 'an account like others from now on')
    t.is(fixture.posted.at(-1)?.subject, 'Set a new password')
  },
)

onEachDatabase(
  'an address that an active account has not confirmed yet gets no mail by "forgot password"',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    unwrap(await makeAddOwnEmails(fixture.deps)(callBy(ada), ['ada@second.example']))
    t.is(await askFor(fixture, 'ada@second.example'), '')
    await fixture.deps.stores.users.update(ada.id, { isActive: false })
    t.is(await askFor(fixture, 'ada@second.example'), '', 'nor one beside the primary address of an inactive account')
    t.is(await askFor(fixture, 'ada@example.org'), '')
  },
)

onEachDatabase('a reset is reported by mail and in the log, and never signs in', async (t, fixture) => {
  await fixture.user('ada')
  unwrap(await resetBy(fixture, await askFor(fixture, 'ada@example.org')))
  t.deepEqual(
    fixture.posted.map(({ subject }) => subject),
    ['Set a new password', 'Your password was changed'],
  )
  const actions = (await fixture.auditRows()).map(({ action }) => action)
  t.deepEqual(actions, ['user.created', 'user.password_reset_asked', 'user.password_changed'])
  t.false(JSON.stringify(await fixture.auditRows()).includes(newPassword.reveal()))
})

onEachDatabase("added addresses are of the allowed domains, except a site admin's", async (t, fixture) => {
  const ada = await fixture.user('ada')
  const root = await fixture.user('root', { isAdmin: true })
  await fixture.deps.stores.siteRules.addDomain('good.example')
  const add = makeAddOwnEmails(fixture.deps)
  const refused = await add(callBy(ada), ['ada@good.example', 'ada@bad.example'])
  t.is(isLeft(refused) && refused.left.tag, 'EmailDomainRefused')
  t.is((await fixture.deps.stores.emails.list(ada.id)).length, 1, 'all or none')
  t.is(fixture.posted.length, 0)
  t.false(isLeft(await add(callBy(ada), ['ada@good.example'])))
  t.false(isLeft(await add(callBy(root), ['root@bad.example'])))
})

onEachDatabase('old codes are dropped once they count for nothing', async (t, fixture, db) => {
  await fixture.user('ada')
  await askFor(fixture, 'ada@example.org')
  const purge = (seconds: number) =>
    fixture.deps.stores.linkCodes.purge(new Date(fixture.deps.clock.now().getTime() + seconds * 1000))
  t.is(await purge(0), 0)
  t.is(await purge(1), 1)
  t.deepEqual(await db.query((k) => k('identity_codes').select('id')), [])
})
