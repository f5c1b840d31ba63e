import test from 'ava'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { SignUpInput } from '../../core/identity/accounts/sign-up.ts'
import { makeSignUp } from '../../core/identity/accounts/sign-up.ts'
import {
  makeAllowDomain,
  makeDisallowDomain,
  makeOpenRegistration,
  makeValidateEmail,
} from '../../core/identity/accounts/site-rules.ts'
import { makeEditOwnProfile, makeEditUser } from '../../core/identity/accounts/user-changes.ts'
import {
  makeAskPasswordReset,
  makeChangeOwnPassword,
  makeResetPassword,
  makeSetPassword,
} from '../../core/identity/authentication/passwords.ts'
import { makeConfirmEmail, linkCodeMinutes, mailsPerHour, nextMailAt } from '../../core/identity/emails/link-codes.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../core/identity/emails/own-emails.ts'
import { TooManyAttempts } from '../../core/identity/ports.ts'
import type { User } from '../../core/identity/types.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityFixture } from './identity-world.ts'
import { callBy, makeIdentityFixture, password } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

const addVerified = async (world: IdentityFixture, user: User, text: string): Promise<void> =>
  unwrap(await world.deps.stores.emails.insert(user.id, { text, key: text }, true, false, world.deps.clock.now()))
const allowances = { take: () => Promise.resolve(undefined) }
const resetCode = async (world: IdentityFixture, address: string): Promise<string> => {
  unwrap(await makeAskPasswordReset({ ...world.deps, allowances })(callOf(), address))
  await world.settled()
  return /code=([0-9A-Za-z]+)$/.exec(world.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
}

onEachDatabase('for each change of the primary address the old one is notified, once', async (t, world) => {
  const ada = await world.user('ada')
  await addVerified(world, ada, 'ada@second.example')
  const edit = makeEditOwnProfile(world.deps)
  unwrap(await edit(callBy(ada), { email: 'ada@second.example' }))
  unwrap(await edit(callBy(ada), { email: 'ada@second.example' }))
  t.deepEqual(
    world.posted.map(({ to, subject }) => [to, subject]),
    [['ada@example.org', 'Your account has another primary e-mail address']],
  )
  unwrap(await makeEditUser(world.deps)(callOf(), { login: 'ada', email: 'ada@third.example' }))
  t.deepEqual(
    world.posted.slice(1).map(({ to }) => to),
    ['ada@second.example'],
  )
  t.regex(world.posted.at(-1)?.paragraphs.join(' ') ?? '', /by an administrator/)
})

onEachDatabase('an address that an administrator makes the primary one counts as confirmed', async (t, world) => {
  const ada = await world.user('ada')
  unwrap(
    await world.deps.stores.emails.insert(
      ada.id,
      { text: 'ada@second.example', key: 'ada@second.example' },
      false,
      false,
      world.deps.clock.now(),
    ),
  )
  unwrap(await makeEditUser(world.deps)(callOf(), { login: 'ada', email: 'ada@second.example' }))
  t.deepEqual(
    (await world.deps.stores.emails.list(ada.id)).map(({ email, verified, isPrimary }) => [email, verified, isPrimary]),
    [['ada@second.example', true, true]],
  )
})

onEachDatabase('any change of the password voids the codes that would change it', async (t, world) => {
  const ada = await world.user('ada')
  const old = secret(password)
  const changes = [
    async () =>
      unwrap(
        await makeChangeOwnPassword(world.deps)(callBy(ada), {
          oldPassword: old,
          password: secret('a second long phrase'),
          revokesTokens: false,
        }),
      ),
    async () =>
      unwrap(await makeSetPassword(world.deps)(callOf(), { login: 'ada', password: secret('a third long phrase') })),
    async () =>
      void unwrap(await makeEditUser(world.deps)(callOf(), { login: 'ada', password: secret('a fourth long phrase') })),
  ]
  for (const change of changes) {
    const code = await resetCode(world, 'ada@example.org')
    t.is(code.length, 32)
    await change()
    t.true(isLeft(await makeResetPassword(world.deps)(callOf(), { code, password: secret('a fifth long phrase') })))
  }
})

onEachDatabase(
  'a code sets no password once its address was removed, even while the password is hashed',
  async (t, world) => {
    const ada = await world.user('ada')
    await addVerified(world, ada, 'ada@second.example')
    const code = await resetCode(world, 'ada@second.example')
    const removing = {
      ...world.deps.hasher,
      hash: async (text: Secret) => {
        unwrap(await makeRemoveOwnEmails(world.deps)(callBy(ada), ['ada@second.example']))
        return world.deps.hasher.hash(text)
      },
    }
    const before = await world.deps.stores.users.passwordPhc(ada.id)
    t.is(
      tagOf(
        await makeResetPassword({ ...world.deps, hasher: removing })(callOf(), {
          code,
          password: secret('a second long phrase'),
        }),
      ),
      'LinkCodeInvalid',
    )
    t.is(await world.deps.stores.users.passwordPhc(ada.id), before)
  },
)

onEachDatabase('the number of reset mails for one network is limited', async (t, world) => {
  await world.user('ada')
  const asked: string[] = []
  const one = {
    take: (kind: string, subject: string) => (
      asked.push(`${kind} ${subject}`),
      Promise.resolve(asked.length > 1 ? 60 : undefined)
    ),
  }
  const ask = makeAskPasswordReset({ ...world.deps, allowances: one })
  for (let i = 0; i < 3; i++) unwrap(await ask(callOf({ sourceIp: '192.0.2.7' }), 'ada@example.org'))
  unwrap(await ask(callOf({ sourceIp: '192.0.2.7' }), 'nobody@example.org'))
  await world.settled()
  t.is(world.posted.length, 1)
  t.deepEqual(asked, Array(3).fill('password-reset 192.0.2.7'), 'an address without an account takes nothing')
})

onEachDatabase(
  'an address that a user added and did not confirm within three hours is free for another user',
  async (t, world) => {
    const [ada, eve] = [await world.user('ada'), await world.user('eve')]
    const add = makeAddOwnEmails(world.deps)
    unwrap(await add(callBy(eve), ['owner@ada.example']))
    world.passSeconds(180 * 60)
    t.true(isLeft(await add(callBy(ada), ['owner@ada.example'])), 'while it may still be confirmed it is taken')
    world.passSeconds(1)
    unwrap(await add(callBy(ada), ['owner@ada.example']))
    t.deepEqual(
      (await world.deps.stores.emails.list(eve.id)).map(({ email }) => email),
      ['eve@example.org'],
    )
    t.deepEqual(
      (await world.auditRows())
        .filter(({ tenant_id: tenant }) => Number(tenant) === eve.id)
        .map(({ action }) => action),
      ['user.created', 'email.added', 'email.removed'],
    )
    const code = /code=([0-9A-Za-z]+)$/.exec(world.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
    unwrap(await makeConfirmEmail(world.deps)(callOf(), code))
    world.passSeconds(24 * 3600)
    t.true(isLeft(await add(callBy(eve), ['owner@ada.example'])), 'a confirmed one stays')
    t.true(isLeft(await add(callBy(eve), ['ada@example.org'])), 'a primary one stays')
  },
)

onEachDatabase('a lapsed claim is no hindrance to an account that an administrator makes', async (t, world) => {
  const eve = await world.user('eve')
  unwrap(await makeAddOwnEmails(world.deps)(callBy(eve), ['ada@example.org', 'bob@second.example']))
  world.passSeconds(180 * 60 + 1)
  const ada = await world.user('ada')
  t.is(ada.primaryEmail, 'ada@example.org')
  const bob = await world.user('bob')
  unwrap(await makeEditUser(world.deps)(callOf(), { login: 'bob', email: 'bob@second.example' }))
  t.is((await world.deps.stores.users.byId(bob.id))?.primaryEmail, 'bob@second.example')
})

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
  t.is(mailsPerHour, 5)
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

const unlimited = { take: () => Promise.resolve(undefined) }
const input = (login: string, more: Partial<SignUpInput> = {}): SignUpInput => ({
  login,
  email: `${login}@example.org`,
  password: secret(password),
  fullName: '',
  ...more,
})
const signUpIn = (world: IdentityFixture) => makeSignUp({ ...world.deps, allowances: unlimited })
const opened = async (world: IdentityFixture) => {
  await world.deps.stores.siteRules.setRegistrationOpen(true)
  return signUpIn(world)
}
const signsIn = async (world: IdentityFixture, login: string): Promise<boolean> =>
  isRight(
    await world.authenticator.authenticate(
      { kind: 'password', login, password: secret(password), oneTimeCode: undefined },
      undefined,
      '192.0.2.7',
    ),
  )
const mailsTo = (world: IdentityFixture, address: string) => world.posted.filter(({ to }) => to === address)
const codeIn = (world: IdentityFixture, address: string): string =>
  /The code is: (\S+)/.exec(
    mailsTo(world, address)
      .flatMap(({ paragraphs }) => paragraphs)
      .join('\n'),
  )?.[1] ?? ''
const count = async (db: SqlDatabase, table: string): Promise<number> =>
  Number((await db.query<{ n: number }>((k) => k(table).count({ n: '*' })))[0]?.n)

onEachDatabase('registration is closed until an administrator opens it, and closed again', async (t, world, db) => {
  const root = await world.user('root', { isAdmin: true })
  t.is(tagOf(await signUpIn(world)(callOf(), input('ada'))), 'RegistrationClosed')
  t.is(
    tagOf(await signUpIn(world)(callOf(), input('a/b', { password: secret('x') }))),
    'RegistrationClosed',
    'before anything else is said',
  )
  const open = makeOpenRegistration(world.deps)
  unwrap(await open(callBy(root), true))
  unwrap(await open(callBy(root), true))
  unwrap(await signUpIn(world)(callOf(), input('ada')))
  unwrap(await open(callBy(root), false))
  t.is(tagOf(await signUpIn(world)(callOf(), input('bob'))), 'RegistrationClosed')
  t.deepEqual(
    (await world.auditRows()).map(({ action }) => action),
    ['user.created', 'registration.opened', 'user.signed_up', 'registration.closed'],
  )
  t.is(await count(db, 'users'), 2)
})

onEachDatabase('a new account can sign in after its address is confirmed, not before', async (t, world) => {
  const signUp = await opened(world)
  unwrap(await signUp(callOf(), input('ada', { fullName: 'Ada Lovelace' })))
  t.false(await signsIn(world, 'ada'))
  t.like(await world.deps.stores.users.byLogin('ada'), { isActive: false, isAdmin: false, fullName: 'Ada Lovelace' })
  const code = codeIn(world, 'ada@example.org')
  t.true(code.length > 10)
  unwrap(await makeConfirmEmail(world.deps)(callOf(), code))
  t.true(await signsIn(world, 'ada'))
  t.is(tagOf(await makeConfirmEmail(world.deps)(callOf(), code)), 'LinkCodeInvalid')
})

onEachDatabase('a confirmation does not activate an account that an administrator disabled', async (t, world) => {
  const signUp = await opened(world)
  unwrap(await signUp(callOf(), input('ada')))
  const ada = (await world.deps.stores.users.byLogin('ada'))!
  await world.deps.stores.accountLife.deactivate(ada.id, ada.id, world.deps.clock.now())
  await makeConfirmEmail(world.deps)(callOf(), codeIn(world, 'ada@example.org'))
  t.false(await signsIn(world, 'ada'))
})

onEachDatabase(
  'an address in use gets the same response as a free one, its owner is notified, and the new account can never be confirmed',
  async (t, world) => {
    await world.user('owner')
    const signUp = await opened(world)
    const [free, taken] = [
      await signUp(callOf(), input('ada')),
      await signUp(callOf(), input('bob', { email: 'OWNER@example.org' })),
    ]
    t.deepEqual(taken, free)
    const [ada, bob] = [await world.deps.stores.users.byLogin('ada'), await world.deps.stores.users.byLogin('bob')]
    t.deepEqual(
      { ...bob, id: 0, login: '', primaryEmail: '' },
      { ...ada, id: 0, login: '', primaryEmail: '' },
      'the names answer alike',
    )
    t.deepEqual(
      mailsTo(world, 'OWNER@example.org').map(({ subject }) => subject),
      ['A sign-up with your address was attempted'],
    )
    t.is(mailsTo(world, 'OWNER@example.org')[0]?.action, undefined)
    t.deepEqual(await world.deps.stores.emails.list(bob!.id), [])
    const root = await world.user('root', { isAdmin: true })
    t.is(
      tagOf(await makeEditUser(world.deps)(callBy(root), { login: 'bob', isActive: true })),
      'ProfileInvalid',
      'a sign-up without an address is refused',
    )
    t.deepEqual(
      [
        tagOf(await signUp(callOf(), input('ada', { email: 'x@example.org' }))),
        tagOf(await signUp(callOf(), input('bob', { email: 'x@example.org' }))),
      ],
      ['UserNameTaken', 'UserNameTaken'],
    )
  },
)

onEachDatabase('both a free and a taken address cost one hash', async (t, world) => {
  await world.user('owner')
  let hashed = 0
  const hasher = {
    ...world.deps.hasher,
    hash: (text: Parameters<typeof world.deps.hasher.hash>[0]) => ((hashed += 1), world.deps.hasher.hash(text)),
  }
  await world.deps.stores.siteRules.setRegistrationOpen(true)
  const signUp = makeSignUp({ ...world.deps, hasher, allowances: unlimited })
  for (const email of ['free@example.org', 'owner@example.org']) {
    hashed = 0
    unwrap(await signUp(callOf(), input(email.split('@')[0] === 'free' ? 'ada' : 'bob', { email })))
    t.is(hashed, 1, email)
  }
})

onEachDatabase(
  'names, addresses and passwords of a sign-up are held to the rules of every account',
  async (t, world, db) => {
    const signUp = await opened(world)
    const refusals: readonly (readonly [Partial<SignUpInput>, string])[] = [
      [{ login: 'admin' }, 'UserNameRefused'],
      [{ login: 'a b' }, 'UserNameRefused'],
      [{ email: 'nobody' }, 'EmailInvalid'],
      [{ password: secret('short') }, 'PasswordTooWeak'],
      [{ password: secret('ada@example.org') }, 'PasswordTooWeak'],
    ]
    for (const [more, tag] of refusals) t.is(tagOf(await signUp(callOf(), input('ada', more))), tag)
    t.is(await count(db, 'users'), 0)
  },
)

onEachDatabase('only addresses of the allowed domains sign up, whatever their case or spelling', async (t, world) => {
  const root = await world.user('root', { isAdmin: true })
  const signUp = await opened(world)
  const allow = makeAllowDomain(world.deps)
  unwrap(await allow(callBy(root), 'Example.ORG'))
  unwrap(await allow(callBy(root), 'bücher.example'))
  t.is(tagOf(await allow(callBy(root), 'xn--bcher-kva.example')), 'DomainThere')
  for (const word of ['', 'localhost', 'a b.org', 'x@example.org', '.org', '192.0.2.1'])
    t.is(tagOf(await allow(callBy(root), word)), 'DomainInvalid', word)
  t.is(tagOf(await signUp(callOf(), input('ada', { email: 'ada@other.org' }))), 'EmailDomainRefused')
  t.is(tagOf(await signUp(callOf(), input('ada', { email: 'ada@sub.example.org' }))), 'EmailDomainRefused')
  t.is(tagOf(await signUp(callOf(), input('ada', { email: 'ada@example.org.evil.net' }))), 'EmailDomainRefused')
  unwrap(await signUp(callOf(), input('ada', { email: 'ada@EXAMPLE.org' })))
  unwrap(await signUp(callOf(), input('bea', { email: 'bea@BÜCHER.example' })))
  t.is(unwrap(await makeValidateEmail(world.deps)(callBy(root), 'x@other.org')).status, 'NOT_ALLOWED')
  await world.user('guest', { email: 'guest@other.org' })
  unwrap(await makeDisallowDomain(world.deps)(callBy(root), 'EXAMPLE.org'))
  t.is(tagOf(await makeDisallowDomain(world.deps)(callBy(root), 'example.org')), 'DomainNotThere')
  t.is(tagOf(await signUp(callOf(), input('cyd'))), 'EmailDomainRefused')
})

onEachDatabase(
  'an address that asked too often is refused before a hash is made, and its owner’s mailbox is spared',
  async (t, world) => {
    await world.user('owner')
    await world.deps.stores.siteRules.setRegistrationOpen(true)
    const asked: string[] = []
    const take = (kind: string, subject: string) => (
      asked.push(`${kind} ${subject}`),
      Promise.resolve(kind === 'sign-up' ? undefined : 60)
    )
    unwrap(
      await makeSignUp({ ...world.deps, allowances: { take } })(
        callOf({ sourceIp: '192.0.2.9' }),
        input('ada', { email: 'owner@example.org' }),
      ),
    )
    t.deepEqual(asked, ['sign-up 192.0.2.9', 'sign-up-notice owner@example.org'])
    t.deepEqual(world.posted, [])
    const hasher = { ...world.deps.hasher, hash: () => Promise.resolve(left(TooManyAttempts('a hash was made'))) }
    const refused = await makeSignUp({ ...world.deps, hasher, allowances: { take: () => Promise.resolve(17) } })(
      callOf(),
      input('bob'),
    )
    t.like(refused, { left: { tag: 'TooManyAttempts', retryAfterSeconds: 17 } })
    t.not(isLeft(refused) ? refused.left.message : '', 'a hash was made')
  },
)

onEachDatabase('of sign-ups with one name and one address at once one gets both', async (t, world, db) => {
  await opened(world)
  for (let round = 0; round < 4; round++) {
    const names = Array.from({ length: 4 }, (_, i) => (i % 2 === 0 ? `same${round}` : `SAME${round}`))
    const outcomes = await Promise.all(
      names.map((login) =>
        signUpIn(makeIdentityFixture(db))(callOf(), input(login, { email: `same${round}@example.org` })),
      ),
    )
    t.deepEqual(outcomes.map(tagOf).sort(), ['UserNameTaken', 'UserNameTaken', 'UserNameTaken', 'done'])
  }
  t.deepEqual([await count(db, 'users'), await count(db, 'emails'), await count(db, 'accounts')], [4, 4, 4])
  const others = ['one', 'two', 'three'].map((login) =>
    signUpIn(makeIdentityFixture(db))(callOf(), input(login, { email: 'shared@example.org' })),
  )
  t.deepEqual(await Promise.all(others), [right(undefined), right(undefined), right(undefined)])
  t.is(await count(db, 'emails'), 5, 'the address is one account’s')
})
