// process: waiting - uses components
import type { ExecutionContext } from 'ava'
import { AttemptThrottlePort } from '../../core/identity/attempt-ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { codeAt, codeOfStep, stepAt } from '../identity/one-time-code-of.ts'
import { needing } from '../support/components/needing.ts'
import type { CookieJar } from '../support/cookie-jar.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { brokenInvariants } from './invariants.ts'
import type { Person, TwoInstances } from './two-instances.ts'
import { must, personPassword, startTwoInstances, statusesOf } from './two-instances.ts'

const test = needing('mariadb')

let fixture: TwoInstances
test.before(async () => {
  fixture = await startTwoInstances()
  await must(
    200,
    fixture.instances[0].send('POST', '/api/v1/disable-registration', {
      token: fixture.adminToken,
      body: { disableRegistration: false },
    }),
  )
})
test.after.always(() => fixture?.stop())

let named = 0
const name = (word: string): string => `${word}-${(named += 1)}`

/**
 * Rounds of one race, then the invariants of the whole database. One race after the other, so that a broken one is
 * known by its name.
 */
const race = (title: string, rounds: number, round: (t: ExecutionContext, round: number) => Promise<void>): void => {
  test.serial(title, async (t) => {
    for (let n = 0; n < rounds; n++) await round(t, n)
    t.deepEqual(await brokenInvariants(fixture.database), [])
  })
}

const signUp = (username: string, email: string) => ({ body: { username, email, password: personPassword } })

// Five rounds of two: what one address may ask for in an hour, over both instances.
race('of two sign-ups with one name and one address on two instances one makes an account', 3, async (t) => {
  const username = name('joiner')
  const [a, b] = fixture.instances
  const email = `${username}@example.com`
  const answers = await Promise.all([
    a.send('POST', '/api/v1/user/signup', signUp(username, email)),
    b.send('POST', '/api/v1/user/signup', signUp(username.toUpperCase(), email)),
  ])
  t.deepEqual(statusesOf(answers), [200, 422])
  t.deepEqual(
    [await fixture.count('accounts', { lower_name: username }), await fixture.count('emails', { lower_email: email })],
    [1, 1],
  )
})

race('of two sign-ups with one address both are answered alike, and one has the address', 2, async (t) => {
  const [first, second] = [name('twin'), name('twin')]
  const email = `${first}@example.com`
  const [a, b] = fixture.instances
  const answers = await Promise.all([
    a.send('POST', '/api/v1/user/signup', signUp(first, email)),
    b.send('POST', '/api/v1/user/signup', signUp(second, email.toUpperCase())),
  ])
  t.deepEqual(
    answers.map(({ status, text }) => [status, text]),
    [
      [200, ''],
      [200, ''],
    ],
  )
  t.is(await fixture.count('emails', { lower_email: email }), 1)
})

test.serial("an address's hourly limit counts over both instances", async (t) => {
  const [a, b] = fixture.instances
  const username = name('late')
  for (const instance of [a, b])
    t.is((await instance.send('POST', '/api/v1/user/signup', signUp(username, `${username}@example.com`))).status, 429)
})

race('of two admins who delete, demote or shut each other out on two instances one stays', 9, async (t, round) => {
  const [x, y] = [await fixture.person(name('boss')), await fixture.person(name('boss'))]
  for (const { login } of [x, y])
    await must(
      200,
      fixture.instances[0].send('PATCH', `/api/v1/admin/users/${login}`, {
        token: fixture.adminToken,
        body: { admin: true },
      }),
    )
  await must(
    200,
    fixture.instances[0].send('PATCH', '/api/v1/admin/users/admin', { token: x.token, body: { prohibit_login: true } }),
  )
  const against = (n: number, login: string): readonly [string, string, object | undefined] =>
    n % 3 === 0
      ? ['DELETE', `/api/v1/admin/users/${login}`, undefined]
      : ['PATCH', `/api/v1/admin/users/${login}`, n % 3 === 1 ? { admin: false } : { active: false }]
  const attack = async (instance: 0 | 1, by: typeof x, whom: typeof y, n: number) => {
    const [method, path, body] = against(n, whom.login)
    return fixture.instances[instance].send(method, path, { token: by.token, ...(body === undefined ? {} : { body }) })
  }
  const answers = await Promise.all([attack(0, x, y, round), attack(1, y, x, Math.floor(round / 3))])
  t.is(
    answers.filter(({ status }) => status < 300).length,
    1,
    answers.map(({ status, text }) => `${status} ${text}`).join('\n'),
  )
  t.is(await fixture.count('users', { is_admin: 1, is_active: 1, prohibit_login: 0 }), 1)
  const left = answers[0].status < 300 ? x : y
  await must(
    200,
    fixture.instances[0].send('PATCH', '/api/v1/admin/users/admin', {
      token: left.token,
      body: { prohibit_login: false },
    }),
  )
  await must(
    200,
    fixture.instances[0].send('PATCH', `/api/v1/admin/users/${left.login}`, {
      token: fixture.adminToken,
      body: { admin: false },
    }),
  )
})

let oneTimeCodesFixture: TwoInstances
test.before(async () => {
  oneTimeCodesFixture = await startTwoInstances()
})
test.after.always(() => oneTimeCodesFixture?.stop())

const enrollPath = '/api/v1/user/settings/security/twofa/enroll'
const atOnce = 20

/** A person with an authenticator app and recovery codes. The step before the current one is used. */
const enrolled = async (name: string): Promise<{ person: Person; seed: string; recoveryCodes: readonly string[] }> => {
  const person = await oneTimeCodesFixture.person(name)
  const [first] = oneTimeCodesFixture.instances
  for (let attempt = 1; attempt <= 3; attempt++) {
    const seed = (await must(200, first.send('GET', enrollPath, { token: person.token }))).json.twoFASecret as string
    const body = { passCode: codeOfStep(seed, stepAt(new Date()) - 1) }
    const answer = await first.send('POST', enrollPath, { token: person.token, body })
    // A step ended in between.
    if (answer.status === 422) continue
    return { person, seed, recoveryCodes: (answer.json as string).split('\n') }
  }
  throw new Error('could not enroll')
}

/**
 * Wrong codes lock the account and, in the end, the address: what is asked here is whether a code is taken, not that.
 */
const forgetFailures = async ({ id }: Person): Promise<void> => {
  await oneTimeCodesFixture.database.query((k) => k('identity_attempts').delete())
  await Promise.all(
    oneTimeCodesFixture.instances.map(({ running }) =>
      running.container.resolve(AttemptThrottlePort).unlock(id as UserId),
    ),
  )
}

type Act = (person: Person, tokenId: number) => readonly [method: string, path: string, body?: object]

/** One code many times at once over both instances: it counts once, wherever and whenever it is sent again. */
const onceOnly = (
  title: string,
  name: string,
  statuses: { readonly first: number; readonly again: number },
  act: Act,
): void => {
  test.serial(`${title}: one code 20 times at once on two instances counts once`, async (t) => {
    const { person, seed, recoveryCodes } = await enrolled(name)
    const [own] = await oneTimeCodesFixture.database.query<{ id: number }>((k) =>
      k('access_tokens').where('user_id', person.id).select('id'),
    )
    const storm = (code: string, times: number): Promise<readonly ServiceAnswer[]> =>
      Promise.all(
        Array.from({ length: times }, (_, i) => {
          const [method, path, body] = act(person, own?.id ?? 0)
          const options = { basic: [person.login, personPassword] as const, headers: { 'X-OTP': code }, body }
          return oneTimeCodesFixture.instances[i % 2 === 0 ? 0 : 1].send(
            method,
            `/api/v1/users/${name}/tokens${path}`,
            options,
          )
        }),
      )
    const refused = (count: number) => Array.from({ length: count }, () => 401)
    const once = (status: number) => [status, ...refused(atOnce - 1)].sort((a, b) => a - b)
    const step = stepAt(new Date()) + 1

    t.deepEqual(statusesOf(await storm(codeOfStep(seed, step), atOnce)), once(statuses.first))
    await forgetFailures(person)
    t.deepEqual(statusesOf(await storm(codeOfStep(seed, step), 2)), refused(2), 'later')
    t.deepEqual(
      statusesOf(await storm(codeOfStep(seed, step - 1), 2)),
      refused(2),
      'of an older step that was not used',
    )
    await forgetFailures(person)
    t.deepEqual(statusesOf(await storm(recoveryCodes[0] ?? '', atOnce)), once(statuses.again), 'a recovery code')
    await forgetFailures(person)
    const unused = await oneTimeCodesFixture.database.query((k) =>
      k('recovery_codes').where('user_id', person.id).whereNull('used_at').select('user_id'),
    )
    t.is(unused.length, recoveryCodes.length - 1)
    t.true(await oneTimeCodesFixture.isAuditWhole())
  })
}

let oneTimeCodesNamed = 0
onceOnly('making a token', 'code-create', { first: 201, again: 201 }, () => [
  'POST',
  '',
  { name: `token-${(oneTimeCodesNamed += 1)}`, scopes: ['read:user'] },
])
onceOnly('listing tokens', 'code-list', { first: 200, again: 200 }, () => ['GET', ''])
onceOnly('deleting a token', 'code-delete', { first: 204, again: 404 }, (_person, id) => ['DELETE', `/${id}`])

test.serial('one code at once on every way in, on two instances: one of them takes it', async (t) => {
  for (let round = 0; round < 6; round++) {
    const { person, seed, recoveryCodes } = await enrolled(`code-mixed-${round}`)
    const passCode = round % 2 === 0 ? codeOfStep(seed, stepAt(new Date()) + 1) : (recoveryCodes[0] ?? '')
    const { login, token } = person
    const basic = { basic: [login, personPassword] as const, headers: { 'X-OTP': passCode } }
    const proof = { token, body: { password: personPassword, passCode } }
    const ways = [0, 1].flatMap((instance) => {
      const { send } = oneTimeCodesFixture.instances[instance as 0 | 1]
      return [
        () => send('POST', `/api/v1/users/${login}/tokens`, { ...basic, body: { name: `mixed-${instance}` } }),
        () => send('GET', '/api/v1/user', basic),
        () =>
          send('POST', '/api/v1/user/signin/twofa', { body: { username: login, password: personPassword, passCode } }),
        () => send('POST', '/api/v1/user/settings/security/twofa/regenerate_scratch', proof),
        () => send('POST', '/api/v1/user/settings/security/twofa/disable', proof),
      ]
    })
    const answers = await Promise.all(ways.map((way) => way()))
    const taken = answers.filter(({ status }) => status < 300).length
    // Once it was the one that switched the factor off, whoever comes later with the password is asked for no code.
    const isOff = (await oneTimeCodesFixture.count('two_factors', { user_id: person.id })) === 0
    t.true(isOff ? taken >= 1 : taken === 1, JSON.stringify(answers.map(({ status }) => status)))
    await forgetFailures(person)
  }
})

/** Remembered logins and sessions over two instances: no tab of one browser is a thief, and a thief is out on both. */
let rememberedFixture: TwoInstances
test.before(async () => {
  rememberedFixture = await startTwoInstances()
})
test.after.always(() => rememberedFixture?.stop())

let rememberedNamed = 0
const someone = (): Promise<Person> => rememberedFixture.person(`keeper-${(rememberedNamed += 1)}`)
const send = (instance: 0 | 1, jar: CookieJar, method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  rememberedFixture.instances[instance].send(method, `/api/v1${path}`, {
    headers: jar.headers(),
    ...(body === undefined ? {} : { body }),
  })
const signedIn = async ({ login }: Person, remember: boolean, instance: 0 | 1 = 0): Promise<CookieJar> => {
  const jar = makeCookieJar()
  jar.take(
    (
      await must(
        200,
        send(instance, jar, 'POST', '/user/signin', { username: login, password: personPassword, remember }),
      )
    ).headers,
  )
  return jar
}
const onBoth = (jar: CookieJar) => Promise.all([send(0, jar, 'GET', '/user'), send(1, jar, 'GET', '/user')])
const goIdle = ({ id }: Person) =>
  rememberedFixture.database.query((k) => k('sessions').where('user_id', id).update({ idle_expires_at: 1 }))
const graceEnds = ({ id }: Person) =>
  rememberedFixture.database.query((k) => k('remembered_logins').where('user_id', id).update({ rotated_at: 1 }))
const stolen = ({ id }: Person) =>
  rememberedFixture.count('audit_events', { action: 'user.remembered_login_stolen', tenant_id: id })
const rememberOf = (answer: ServiceAnswer): boolean =>
  [answer.headers['set-cookie'] ?? []].flat().some((cookie) => /^moorage_session_remember=[^;]/.test(cookie))

test('tabs on two instances resume concurrently without a theft report', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const person = await someone()
    const jar = await signedIn(person, true)
    await goIdle(person)
    const answers = (await Promise.all([onBoth(jar), onBoth(jar), onBoth(jar)])).flat()
    t.deepEqual(statusesOf(answers), [200, 200, 200, 200, 200, 200])
    t.is(answers.filter(rememberOf).length, 1, 'one of them brings the new secret')
    t.is(await stolen(person), 0)
    t.is(await rememberedFixture.count('remembered_logins', { user_id: person.id }), 1)
    for (const answer of answers) {
      const tab = makeCookieJar()
      tab.take(answer.headers)
      t.deepEqual(statusesOf(await onBoth(tab)), [200, 200])
    }
    const winner = jar.copy()
    for (const answer of answers.filter(rememberOf)) winner.take(answer.headers)
    await goIdle(person)
    await graceEnds(person)
    t.deepEqual(statusesOf([await send(1, winner, 'GET', '/user')]), [200], 'and the new secret opens the next')
  }
  t.true(await rememberedFixture.isAuditWhole())
})

test('a secret reused after the grace time ends everything on both instances', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const person = await someone()
    const owner = await signedIn(person, true)
    const elsewhere = await signedIn(person, true, 1)
    const thief = owner.copy()
    await goIdle(person)
    thief.take((await must(200, send(1, thief, 'GET', '/user'))).headers)
    await graceEnds(person)
    t.deepEqual(statusesOf(await onBoth(owner)), [401, 401])
    for (const jar of [thief, elsewhere]) t.deepEqual(statusesOf(await onBoth(jar)), [401, 401])
    t.is(await stolen(person), 1)
    t.is(await rememberedFixture.count('sessions', { user_id: person.id }), 0)
    t.is(await rememberedFixture.count('remembered_logins', { user_id: person.id }), 0)
  }
})

const endings: readonly (readonly [string, (person: Person, jar: CookieJar) => Promise<ServiceAnswer>])[] = [
  ['a sign-out', (_person, jar) => send(1, jar, 'GET', '/user/signout')],
  [
    'an administrator who ends all sessions',
    ({ login }) =>
      rememberedFixture.instances[1].send('DELETE', `/api/v1/admin/users/${login}/sessions`, {
        token: rememberedFixture.adminToken,
      }),
  ],
  [
    'a changed password',
    (person) =>
      rememberedFixture.instances[1].send('POST', '/api/v1/user/settings/account/password', {
        basic: [person.login, personPassword],
        body: {
          old_password: personPassword,
          password: 'another-lantern-over-water-18',
          retype: 'another-lantern-over-water-18',
        },
      }),
  ],
  [
    'a disabled account',
    ({ login }) =>
      rememberedFixture.instances[1].send('PATCH', `/api/v1/admin/users/${login}`, {
        token: rememberedFixture.adminToken,
        body: { prohibit_login: true },
      }),
  ],
]
for (const [what, end] of endings) {
  test(`${what} ends a session and its remembered login on both instances`, async (t) => {
    const person = await someone()
    const jar = await signedIn(person, true)
    t.deepEqual(statusesOf(await onBoth(jar)), [200, 200])
    const answer = await end(person, jar)
    t.true(answer.status >= 200 && answer.status < 300, answer.text)
    t.deepEqual(statusesOf(await onBoth(jar)), [401, 401])
    t.is(await stolen(person), 0)
    t.is(await rememberedFixture.count('remembered_logins', { user_id: person.id }), 0)
  })

  test(`${what} during a resumed session leaves nothing alive`, async (t) => {
    for (let round = 0; round < 5; round += 1) {
      const person = await someone()
      const jar = await signedIn(person, true)
      const other = await signedIn(person, true)
      const isForAll = what !== 'a sign-out'
      if (isForAll) await goIdle(person)
      else
        await rememberedFixture.database.query((k) =>
          k('sessions').where({ user_id: person.id }).orderBy('id').limit(1).update({ idle_expires_at: 1 }),
        )
      const resuming = jar.copy()
      if (!isForAll) resuming.drop('moorage_session')
      const [resumed, ended] = await Promise.all([
        send(0, isForAll ? other : resuming, 'GET', '/user'),
        end(person, jar),
      ])
      t.true(ended.status >= 200 && ended.status < 300, `${ended.status} ${ended.text}`)
      t.true([200, 401].includes(resumed.status), resumed.text)
      const after = (isForAll ? other : resuming).copy()
      after.take(resumed.headers)
      t.deepEqual(statusesOf(await onBoth(after)), [401, 401])
      t.is(await stolen(person), 0)
    }
  })
}

test('a password change leaves no session of the old password', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const person = await someone()
    const jar = makeCookieJar()
    const next = 'another-lantern-over-water-18'
    const [signIn, changed] = await Promise.all([
      send(0, jar, 'POST', '/user/signin', { username: person.login, password: personPassword, remember: true }),
      rememberedFixture.instances[1].send('POST', `/api/v1/admin/users/${person.login}/change-password`, {
        token: rememberedFixture.adminToken,
        body: { password: next, retype: next },
      }),
    ])
    t.is(changed.status, 200, changed.text)
    t.true([200, 404].includes(signIn.status), signIn.text)
    jar.take(signIn.headers)
    t.deepEqual(statusesOf(await onBoth(jar)), [401, 401])
    t.is(await rememberedFixture.count('sessions', { user_id: person.id }), 0)
    t.is(await rememberedFixture.count('remembered_logins', { user_id: person.id }), 0)
  }
})

test('one code signs in once, on whichever instance comes first', async (t) => {
  const path = '/api/v1/user/settings/security/twofa/enroll'
  for (let round = 0; round < 3; round += 1) {
    const { id, login } = await someone()
    const basic = { basic: [login, personPassword] } as const
    const seed = (await must(200, rememberedFixture.instances[0].send('GET', path, basic))).json.twoFASecret as string
    await must(
      200,
      rememberedFixture.instances[0].send('POST', path, { ...basic, body: { passCode: codeAt(seed, new Date()) } }),
    )
    const body = { username: login, password: personPassword, passCode: codeAt(seed, new Date(), 1) }
    const answers = await Promise.all(
      [0, 1, 0, 1].map((instance) =>
        rememberedFixture.instances[instance as 0 | 1].send('POST', '/api/v1/user/signin/twofa', { body }),
      ),
    )
    t.deepEqual(statusesOf(answers), [200, 401, 401, 401])
    t.is(await rememberedFixture.count('sessions', { user_id: id }), 1)
  }
})
