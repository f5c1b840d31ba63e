import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSignUp } from '../../../core/identity/accounts/sign-up.ts'
import { makeAskPasswordReset, makeResetPassword } from '../../../core/identity/authentication/passwords.ts'
import { makeConfirmEmail, linkCodeMinutes, nextMailAt } from '../../../core/identity/emails/link-codes.ts'
import { makeAddOwnEmails } from '../../../core/identity/emails/own-emails.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-world.ts'
import { callBy } from '../identity-world.ts'
import { onEachDatabase } from '../on-each-database.ts'

const newPassword = secret('another long phrase')
const linkCodesAllowances = { take: () => Promise.resolve(undefined) }

const codeOf = (world: IdentityFixture): string =>
  /code=([0-9A-Za-z]+)$/.exec(world.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
const askFor = async (world: IdentityFixture, address: string): Promise<string> => {
  const before = world.posted.length
  unwrap(await makeAskPasswordReset({ ...world.deps, allowances: linkCodesAllowances })(callOf(), address))
  await world.settled()
  return world.posted.length === before ? '' : codeOf(world)
}
const resetBy = (world: IdentityFixture, code: string) =>
  makeResetPassword(world.deps)(callOf(), { code, password: newPassword })
const confirmBy = (world: IdentityFixture, code: string) => makeConfirmEmail(world.deps)(callOf(), code)

test('so many mails an hour, counted over a window that slides', (t) => {
  const at = (minute: number) => new Date(minute * 60_000)
  t.is(nextMailAt([]), undefined)
  t.is(nextMailAt([1, 2, 3, 4].map(at)), undefined)
  t.deepEqual(nextMailAt([1, 2, 3, 4, 5].map(at)), at(61))
  t.deepEqual(nextMailAt([0, 1, 2, 3, 4, 5].map(at)), at(61), 'the fifth newest counts')
})

onEachDatabase('a code has 190 random bits, and only its hash is kept', async (t, world, db) => {
  await world.user('ada')
  const code = await askFor(world, 'ada@example.org')
  t.regex(code, /^[0-9A-Za-z]{32}$/)
  const rows = await db.query<{ code_hash: Uint8Array }>((k) => k('identity_codes').select('*'))
  t.is(rows.length, 1)
  t.deepEqual(new Uint8Array(rows[0]?.code_hash ?? []), new Uint8Array(world.deps.digest.digest(code)))
  t.false(JSON.stringify(rows).includes(code))
})

onEachDatabase('a reset code is good for 30 minutes, a confirmation for 180', async (t, world) => {
  const ada = await world.user('ada')
  t.deepEqual(linkCodeMinutes, { 'email-confirmation': 180, 'password-reset': 30 })
  const first = await askFor(world, 'ada@example.org')
  world.passSeconds(30 * 60)
  t.true(isLeft(await resetBy(world, first)))
  const second = await askFor(world, 'ada@example.org')
  world.passSeconds(30 * 60 - 1)
  t.false(isLeft(await resetBy(world, second)))

  unwrap(await makeAddOwnEmails(world.deps)(callBy(ada), ['ada@second.example']))
  const late = codeOf(world)
  world.passSeconds(180 * 60)
  t.true(isLeft(await confirmBy(world, late)))
  unwrap(await makeAddOwnEmails(world.deps)(callBy(ada), ['ada@third.example']))
  world.passSeconds(180 * 60 - 1)
  t.false(isLeft(await confirmBy(world, codeOf(world))))
  t.deepEqual(
    (await world.deps.stores.emails.list(ada.id)).map(({ verified }) => verified),
    [true, false, true],
  )
})

onEachDatabase('of two uses of one code at once one succeeds', async (t, world) => {
  const ada = await world.user('ada')
  const code = await askFor(world, 'ada@example.org')
  const resets = await Promise.all([1, 2, 3].map(() => resetBy(world, code)))
  t.is(resets.filter((outcome) => !isLeft(outcome)).length, 1)
  unwrap(await makeAddOwnEmails(world.deps)(callBy(ada), ['ada@second.example']))
  const confirmation = codeOf(world)
  const confirms = await Promise.all([1, 2, 3].map(() => confirmBy(world, confirmation)))
  t.is(confirms.filter((outcome) => !isLeft(outcome)).length, 1)
})

onEachDatabase('a newer reset code replaces the older one', async (t, world) => {
  await world.user('ada')
  const first = await askFor(world, 'ada@example.org')
  const second = await askFor(world, 'ada@example.org')
  t.not(first, second)
  t.true(isLeft(await resetBy(world, first)))
  t.false(isLeft(await resetBy(world, second)))
})

onEachDatabase(
  'a code of an account that was shut since, or of an address that went, is worth nothing',
  async (t, world) => {
    const ada = await world.user('ada')
    const code = await askFor(world, 'ada@example.org')
    await world.deps.stores.users.update(ada.id, { prohibitLogin: true })
    t.true(isLeft(await resetBy(world, code)))
    await world.deps.stores.users.update(ada.id, { prohibitLogin: false })
    const [email] = await world.deps.stores.emails.list(ada.id)
    await world.deps.stores.emails.remove(ada.id, [email?.id ?? 0])
    t.true(isLeft(await resetBy(world, code)))
  },
)

onEachDatabase(
  'nothing that depends on the address happens before "forgot password" is answered',
  async (t, world, db) => {
    await world.user('ada')
    let looked = 0
    const credentials = {
      passwordByKey: (key: string) => {
        looked += 1
        return world.deps.credentials.passwordByKey(key)
      },
    }
    const later: (() => Promise<void>)[] = []
    const ask = makeAskPasswordReset({
      ...world.deps,
      allowances: linkCodesAllowances,
      credentials,
      background: { run: (_what, work) => void later.push(work) },
    })
    for (const address of ['ada@example.org', 'nobody@example.org', 'no address']) unwrap(await ask(callOf(), address))
    t.is(later.length, 3, 'one piece of work each')
    t.is(looked + world.verified() + world.posted.length, 0)
    for (const work of later) await work()
    t.is(world.posted.length, 1)
    t.is((await db.query((k) => k('identity_codes').select('id'))).length, 1)
  },
)

onEachDatabase(
  '"forgot password" sends the mail of a sign-up again, and no code that sets a password',
  async (t, world) => {
    await world.deps.stores.siteRules.setRegistrationOpen(true)
    const person = { login: 'ada', email: 'ada@example.org', password: newPassword, fullName: '' }
    unwrap(await makeSignUp({ ...world.deps, allowances: linkCodesAllowances })(callOf(), person))
    const lost = codeOf(world)
    const code = await askFor(world, 'ADA@example.org')
    t.deepEqual(
      world.posted.map(({ to, subject }) => [to, subject]),
      Array.from({ length: 2 }, () => ['ada@example.org', 'Confirm your e-mail address']),
    )
    t.true(isLeft(await resetBy(world, code)))
    t.true(isLeft(await confirmBy(world, lost)), 'the newer one takes its place')
    unwrap(await confirmBy(world, code))
    t.like(await world.deps.stores.users.byLogin('ada'), { isActive: true })
    t.true(await askFor(world, 'ada@example.org').then((next) => next !== ''), 'an account like others from now on')
    t.is(world.posted.at(-1)?.subject, 'Set a new password')
  },
)

onEachDatabase(
  'an address that an active account has not confirmed yet gets no mail by "forgot password"',
  async (t, world) => {
    const ada = await world.user('ada')
    unwrap(await makeAddOwnEmails(world.deps)(callBy(ada), ['ada@second.example']))
    t.is(await askFor(world, 'ada@second.example'), '')
    await world.deps.stores.users.update(ada.id, { isActive: false })
    t.is(await askFor(world, 'ada@second.example'), '', 'nor one beside the primary address of an inactive account')
    t.is(await askFor(world, 'ada@example.org'), '')
  },
)

onEachDatabase('a reset is reported by mail and in the log, and never signs in', async (t, world) => {
  await world.user('ada')
  unwrap(await resetBy(world, await askFor(world, 'ada@example.org')))
  t.deepEqual(
    world.posted.map(({ subject }) => subject),
    ['Set a new password', 'Your password was changed'],
  )
  const actions = (await world.auditRows()).map(({ action }) => action)
  t.deepEqual(actions, ['user.created', 'user.password_reset_asked', 'user.password_changed'])
  t.false(JSON.stringify(await world.auditRows()).includes(newPassword.reveal()))
})

onEachDatabase("added addresses are of the allowed domains, except a site admin's", async (t, world) => {
  const ada = await world.user('ada')
  const root = await world.user('root', { isAdmin: true })
  await world.deps.stores.siteRules.addDomain('good.example')
  const add = makeAddOwnEmails(world.deps)
  const refused = await add(callBy(ada), ['ada@good.example', 'ada@bad.example'])
  t.is(isLeft(refused) && refused.left.tag, 'EmailDomainRefused')
  t.is((await world.deps.stores.emails.list(ada.id)).length, 1, 'all or none')
  t.is(world.posted.length, 0)
  t.false(isLeft(await add(callBy(ada), ['ada@good.example'])))
  t.false(isLeft(await add(callBy(root), ['root@bad.example'])))
})

onEachDatabase('old codes are dropped once they count for nothing', async (t, world, db) => {
  await world.user('ada')
  await askFor(world, 'ada@example.org')
  const purge = (seconds: number) =>
    world.deps.stores.linkCodes.purge(new Date(world.deps.clock.now().getTime() + seconds * 1000))
  t.is(await purge(0), 0)
  t.is(await purge(1), 1)
  t.deepEqual(await db.query((k) => k('identity_codes').select('id')), [])
})
