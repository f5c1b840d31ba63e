import { isLeft } from 'fp-ts/lib/Either.js'
import { makeEditOwnProfile, makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import {
  makeAskPasswordReset,
  makeChangeOwnPassword,
  makeResetPassword,
  makeSetPassword,
} from '../../../core/identity/authentication/passwords.ts'
import { makeConfirmEmail } from '../../../core/identity/emails/link-codes.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../../core/identity/emails/own-emails.ts'
import type { User } from '../../../core/identity/types.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'

const addVerified = async (fixture: IdentityFixture, user: User, text: string): Promise<void> =>
  unwrap(await fixture.deps.stores.emails.insert(user.id, { text, key: text }, true, false, fixture.deps.clock.now()))
const allowances = { take: () => Promise.resolve(undefined) }
const resetCode = async (fixture: IdentityFixture, address: string): Promise<string> => {
  unwrap(await makeAskPasswordReset({ ...fixture.deps, allowances })(callOf(), address))
  await fixture.settled()
  return /code=([0-9A-Za-z]+)$/.exec(fixture.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
}

onEachDatabase('for each change of the primary address the old one is notified, once', async (t, fixture) => {
  const ada = await fixture.user('ada')
  await addVerified(fixture, ada, 'ada@second.example')
  const edit = makeEditOwnProfile(fixture.deps)
  unwrap(await edit(callBy(ada), { email: 'ada@second.example' }))
  unwrap(await edit(callBy(ada), { email: 'ada@second.example' }))
  t.deepEqual(
    fixture.posted.map(({ to, subject }) => [to, subject]),
    [['ada@example.org', 'Your account has another primary e-mail address']],
  )
  unwrap(await makeEditUser(fixture.deps)(callOf(), { login: 'ada', email: 'ada@third.example' }))
  t.deepEqual(
    fixture.posted.slice(1).map(({ to }) => to),
    ['ada@second.example'],
  )
  t.regex(fixture.posted.at(-1)?.paragraphs.join(' ') ?? '', /by an administrator/)
})

onEachDatabase('an address that an administrator makes the primary one counts as confirmed', async (t, fixture) => {
  const ada = await fixture.user('ada')
  unwrap(
    await fixture.deps.stores.emails.insert(
      ada.id,
      { text: 'ada@second.example', key: 'ada@second.example' },
      false,
      false,
      fixture.deps.clock.now(),
    ),
  )
  unwrap(await makeEditUser(fixture.deps)(callOf(), { login: 'ada', email: 'ada@second.example' }))
  t.deepEqual(
    (await fixture.deps.stores.emails.list(ada.id)).map(({ email, verified, isPrimary }) => [
      email,
      verified,
      isPrimary,
    ]),
    [['ada@second.example', true, true]],
  )
})

onEachDatabase('any change of the password voids the codes that would change it', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const old = secret(password)
  const changes = [
    async () =>
      unwrap(
        await makeChangeOwnPassword(fixture.deps)(callBy(ada), {
          oldPassword: old,
          password: secret('a second long phrase'),
          revokesTokens: false,
        }),
      ),
    async () =>
      unwrap(await makeSetPassword(fixture.deps)(callOf(), { login: 'ada', password: secret('a third long phrase') })),
    async () =>
      void unwrap(
        await makeEditUser(fixture.deps)(callOf(), { login: 'ada', password: secret('a fourth long phrase') }),
      ),
  ]
  for (const change of changes) {
    const code = await resetCode(fixture, 'ada@example.org')
    t.is(code.length, 32)
    await change()
    t.true(isLeft(await makeResetPassword(fixture.deps)(callOf(), { code, password: secret('a fifth long phrase') })))
  }
})

onEachDatabase(
  'a code sets no password once its address was removed, even while the password is hashed',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    await addVerified(fixture, ada, 'ada@second.example')
    const code = await resetCode(fixture, 'ada@second.example')
    const removing = {
      ...fixture.deps.hasher,
      hash: async (text: Secret) => {
        unwrap(await makeRemoveOwnEmails(fixture.deps)(callBy(ada), ['ada@second.example']))
        return fixture.deps.hasher.hash(text)
      },
    }
    const before = await fixture.deps.stores.users.passwordPhc(ada.id)
    t.is(
      tagOf(
        await makeResetPassword({ ...fixture.deps, hasher: removing })(callOf(), {
          code,
          password: secret('a second long phrase'),
        }),
      ),
      'LinkCodeInvalid',
    )
    t.is(await fixture.deps.stores.users.passwordPhc(ada.id), before)
  },
)

onEachDatabase('the number of reset mails for one network is limited', async (t, fixture) => {
  await fixture.user('ada')
  const asked: string[] = []
  const one = {
    take: (kind: string, subject: string) => (
      asked.push(`${kind} ${subject}`),
      Promise.resolve(asked.length > 1 ? 60 : undefined)
    ),
  }
  const ask = makeAskPasswordReset({ ...fixture.deps, allowances: one })
  for (let i = 0; i < 3; i++) unwrap(await ask(callOf({ sourceIp: '192.0.2.7' }), 'ada@example.org'))
  unwrap(await ask(callOf({ sourceIp: '192.0.2.7' }), 'nobody@example.org'))
  await fixture.settled()
  t.is(fixture.posted.length, 1)
  t.deepEqual(asked, Array(3).fill('password-reset 192.0.2.7'), 'an address without an account takes nothing')
})

onEachDatabase(
  'an address that a user added and did not confirm within three hours is free for another user',
  async (t, fixture) => {
    const [ada, eve] = [await fixture.user('ada'), await fixture.user('eve')]
    const add = makeAddOwnEmails(fixture.deps)
    unwrap(await add(callBy(eve), ['owner@ada.example']))
    fixture.passSeconds(180 * 60)
    t.true(isLeft(await add(callBy(ada), ['owner@ada.example'])), 'while it may still be confirmed it is taken')
    fixture.passSeconds(1)
    unwrap(await add(callBy(ada), ['owner@ada.example']))
    t.deepEqual(
      (await fixture.deps.stores.emails.list(eve.id)).map(({ email }) => email),
      ['eve@example.org'],
    )
    t.deepEqual(
      (await fixture.auditRows())
        .filter(({ tenant_id: tenant }) => Number(tenant) === eve.id)
        .map(({ action }) => action),
      ['user.created', 'email.added', 'email.removed'],
    )
    const code = /code=([0-9A-Za-z]+)$/.exec(fixture.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
    unwrap(await makeConfirmEmail(fixture.deps)(callOf(), code))
    fixture.passSeconds(24 * 3600)
    t.true(isLeft(await add(callBy(eve), ['owner@ada.example'])), 'a confirmed one stays')
    t.true(isLeft(await add(callBy(eve), ['ada@example.org'])), 'a primary one stays')
  },
)

onEachDatabase('a lapsed claim is no hindrance to an account that an administrator makes', async (t, fixture) => {
  const eve = await fixture.user('eve')
  unwrap(await makeAddOwnEmails(fixture.deps)(callBy(eve), ['ada@example.org', 'bob@second.example']))
  fixture.passSeconds(180 * 60 + 1)
  const ada = await fixture.user('ada')
  t.is(ada.primaryEmail, 'ada@example.org')
  const bob = await fixture.user('bob')
  unwrap(await makeEditUser(fixture.deps)(callOf(), { login: 'bob', email: 'bob@second.example' }))
  t.is((await fixture.deps.stores.users.byId(bob.id))?.primaryEmail, 'bob@second.example')
})
