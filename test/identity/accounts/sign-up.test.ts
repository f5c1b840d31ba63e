import { isRight, right } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { SignUpInput } from '../../../core/identity/accounts/sign-up.ts'
import { makeSignUp } from '../../../core/identity/accounts/sign-up.ts'
import {
  makeAllowDomain,
  makeDisallowDomain,
  makeOpenRegistration,
  makeValidateEmail,
} from '../../../core/identity/site-rules.ts'
import { makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeConfirmEmail } from '../../../core/identity/emails/link-codes.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, makeIdentityFixture, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const unlimited = { take: () => Promise.resolve(undefined) }
const input = (login: string, more: Partial<SignUpInput> = {}): SignUpInput => ({
  login,
  email: `${login}@example.org`,
  password: secret(password),
  fullName: '',
  ...more,
})
const signUpIn = (fixture: IdentityFixture) => makeSignUp({ ...fixture.deps, allowances: unlimited })
const opened = async (fixture: IdentityFixture) => {
  await fixture.deps.stores.siteRules.setRegistrationOpen(true)
  return signUpIn(fixture)
}
const signsIn = async (fixture: IdentityFixture, login: string): Promise<boolean> =>
  isRight(
    await fixture.authenticator.authenticate(
      { kind: 'password', login, password: secret(password), oneTimeCode: undefined },
      undefined,
      '192.0.2.7',
    ),
  )
const mailsTo = (fixture: IdentityFixture, address: string) => fixture.posted.filter(({ to }) => to === address)
const codeIn = (fixture: IdentityFixture, address: string): string =>
  /The code is: (\S+)/.exec(
    mailsTo(fixture, address)
      .flatMap(({ paragraphs }) => paragraphs)
      .join('\n'),
  )?.[1] ?? ''
const count = async (db: SqlDatabase, table: string): Promise<number> =>
  Number((await db.query<{ n: number }>((k) => k(table).count({ n: '*' })))[0]?.n)

onEachDatabase('registration is closed until an administrator opens it, and closed again', async (t, fixture, db) => {
  const root = await fixture.user('root', { isAdmin: true })
  t.is(tagOf(await signUpIn(fixture)(callOf(), input('ada'))), 'RegistrationClosed')
  t.is(
    tagOf(await signUpIn(fixture)(callOf(), input('a/b', { password: secret('x') }))),
    'RegistrationClosed',
    'before anything else is said',
  )
  const open = makeOpenRegistration(fixture.deps)
  unwrap(await open(callBy(root), true))
  unwrap(await open(callBy(root), true))
  unwrap(await signUpIn(fixture)(callOf(), input('ada')))
  unwrap(await open(callBy(root), false))
  t.is(tagOf(await signUpIn(fixture)(callOf(), input('bob'))), 'RegistrationClosed')
  t.deepEqual(
    (await fixture.auditRows()).map(({ action }) => action),
    ['user.created', 'registration.opened', 'user.signed_up', 'registration.closed'],
  )
  t.is(await count(db, 'users'), 2)
})

onEachDatabase('a new account can sign in after its address is confirmed, not before', async (t, fixture) => {
  const signUp = await opened(fixture)
  unwrap(await signUp(callOf(), input('ada', { fullName: 'Ada Lovelace' })))
  t.false(await signsIn(fixture, 'ada'))
  t.like(await fixture.deps.stores.users.byLogin('ada'), { isActive: false, isAdmin: false, fullName: 'Ada Lovelace' })
  const code = codeIn(fixture, 'ada@example.org')
  t.true(code.length > 10)
  unwrap(await makeConfirmEmail(fixture.deps)(callOf(), code))
  t.true(await signsIn(fixture, 'ada'))
  t.is(tagOf(await makeConfirmEmail(fixture.deps)(callOf(), code)), 'LinkCodeInvalid')
})

onEachDatabase('a confirmation does not activate an account that an administrator disabled', async (t, fixture) => {
  const signUp = await opened(fixture)
  unwrap(await signUp(callOf(), input('ada')))
  const ada = (await fixture.deps.stores.users.byLogin('ada'))!
  await fixture.deps.stores.accountLife.deactivate(ada.id, ada.id, fixture.deps.clock.now())
  await makeConfirmEmail(fixture.deps)(callOf(), codeIn(fixture, 'ada@example.org'))
  t.false(await signsIn(fixture, 'ada'))
})

onEachDatabase(
  'an address in use gets the same response as a free one, its owner is notified, and the new account can never be confirmed',
  async (t, fixture) => {
    await fixture.user('owner')
    const signUp = await opened(fixture)
    const [free, taken] = [
      await signUp(callOf(), input('ada')),
      await signUp(callOf(), input('bob', { email: 'OWNER@example.org' })),
    ]
    t.deepEqual(taken, free)
    const [ada, bob] = [await fixture.deps.stores.users.byLogin('ada'), await fixture.deps.stores.users.byLogin('bob')]
    t.deepEqual(
      { ...bob, id: 0, login: '', primaryEmail: '' },
      { ...ada, id: 0, login: '', primaryEmail: '' },
      'the names answer alike',
    )
    t.deepEqual(
      mailsTo(fixture, 'OWNER@example.org').map(({ subject }) => subject),
      ['A sign-up with your address was attempted'],
    )
    t.is(mailsTo(fixture, 'OWNER@example.org')[0]?.action, undefined)
    t.deepEqual(await fixture.deps.stores.emails.list(bob!.id), [])
    const root = await fixture.user('root', { isAdmin: true })
    t.is(
      tagOf(await makeEditUser(fixture.deps)(callBy(root), { login: 'bob', isActive: true })),
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

onEachDatabase('both a free and a taken address cost one hash', async (t, fixture) => {
  await fixture.user('owner')
  let hashed = 0
  const hasher = {
    ...fixture.deps.hasher,
    hash: (text: Parameters<typeof fixture.deps.hasher.hash>[0]) => ((hashed += 1), fixture.deps.hasher.hash(text)),
  }
  await fixture.deps.stores.siteRules.setRegistrationOpen(true)
  const signUp = makeSignUp({ ...fixture.deps, hasher, allowances: unlimited })
  for (const email of ['free@example.org', 'owner@example.org']) {
    hashed = 0
    unwrap(await signUp(callOf(), input(email.split('@')[0] === 'free' ? 'ada' : 'bob', { email })))
    t.is(hashed, 1, email)
  }
})

onEachDatabase(
  'names, addresses and passwords of a sign-up are held to the rules of every account',
  async (t, fixture, db) => {
    const signUp = await opened(fixture)
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

onEachDatabase('only addresses of the allowed domains sign up, whatever their case or spelling', async (t, fixture) => {
  const root = await fixture.user('root', { isAdmin: true })
  const signUp = await opened(fixture)
  const allow = makeAllowDomain(fixture.deps)
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
  t.is(unwrap(await makeValidateEmail(fixture.deps)(callBy(root), 'x@other.org')).status, 'NOT_ALLOWED')
  await fixture.user('guest', { email: 'guest@other.org' })
  unwrap(await makeDisallowDomain(fixture.deps)(callBy(root), 'EXAMPLE.org'))
  t.is(tagOf(await makeDisallowDomain(fixture.deps)(callBy(root), 'example.org')), 'DomainNotThere')
  t.is(tagOf(await signUp(callOf(), input('cyd'))), 'EmailDomainRefused')
})

onEachDatabase(
  'an address that asked too often is refused before a hash is made, and its owner’s mailbox is spared',
  async (t, fixture) => {
    await fixture.user('owner')
    await fixture.deps.stores.siteRules.setRegistrationOpen(true)
    const asked: string[] = []
    const take = (kind: string, subject: string) => (
      asked.push(`${kind} ${subject}`),
      Promise.resolve(kind === 'sign-up' ? undefined : 60)
    )
    unwrap(
      await makeSignUp({ ...fixture.deps, allowances: { take } })(
        callOf({ sourceIp: '192.0.2.9' }),
        input('ada', { email: 'owner@example.org' }),
      ),
    )
    t.deepEqual(asked, ['sign-up 192.0.2.9', 'sign-up-notice owner@example.org'])
    t.deepEqual(fixture.posted, [])
    const hasher = { ...fixture.deps.hasher, hash: () => Promise.reject(new Error('a hash was made')) }
    const refused = await makeSignUp({ ...fixture.deps, hasher, allowances: { take: () => Promise.resolve(17) } })(
      callOf(),
      input('bob'),
    )
    t.like(refused, { left: { tag: 'TooManyAttempts', retryAfterSeconds: 17 } })
  },
)

onEachDatabase('of sign-ups with one name and one address at once one gets both', async (t, fixture, db) => {
  await opened(fixture)
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
