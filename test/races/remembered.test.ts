import type { CookieJar } from '../support/cookie-jar.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { codeAt } from '../identity/one-time-code-of.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { must, personPassword, startTwoInstances, statusesOf, type Person, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

/** Remembered logins and sessions over two instances: no tab of one browser is a thief, and a thief is out on both. */
let world: TwoInstances
test.before(async () => {
  world = await startTwoInstances()
})
test.after.always(() => world?.stop())

let named = 0
const someone = (): Promise<Person> => world.person(`keeper-${(named += 1)}`)
const send = (instance: 0 | 1, jar: CookieJar, method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  world.instances[instance].send(method, `/api/v1${path}`, { headers: jar.headers(), ...(body === undefined ? {} : { body }) })
const signedIn = async ({ login }: Person, remember: boolean, instance: 0 | 1 = 0): Promise<CookieJar> => {
  const jar = makeCookieJar()
  jar.take((await must(200, send(instance, jar, 'POST', '/user/signin', { username: login, password: personPassword, remember }))).headers)
  return jar
}
const onBoth = (jar: CookieJar) => Promise.all([send(0, jar, 'GET', '/user'), send(1, jar, 'GET', '/user')])
const goIdle = ({ id }: Person) => world.database.query((k) => k('sessions').where('user_id', id).update({ idle_expires_at: 1 }))
const graceEnds = ({ id }: Person) => world.database.query((k) => k('remembered_logins').where('user_id', id).update({ rotated_at: 1 }))
const stolen = ({ id }: Person) => world.count('audit_events', { action: 'user.remembered_login_stolen', tenant_id: id })
const rememberOf = (answer: ServiceAnswer): boolean => [answer.headers['set-cookie'] ?? []].flat().some((cookie) => /^moorage_session_remember=[^;]/.test(cookie))

test('many tabs on two instances resume at once: all are signed in, the secret changes once, no theft is reported', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const person = await someone()
    const jar = await signedIn(person, true)
    await goIdle(person)
    const answers = (await Promise.all([onBoth(jar), onBoth(jar), onBoth(jar)])).flat()
    t.deepEqual(statusesOf(answers), [200, 200, 200, 200, 200, 200])
    t.is(answers.filter(rememberOf).length, 1, 'one of them brings the new secret')
    t.is(await stolen(person), 0)
    t.is(await world.count('remembered_logins', { user_id: person.id }), 1)
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
  t.true(await world.isAuditWhole())
})

test('a secret that is shown again after the grace time, also on both instances at once: everything ends on both, told once', async (t) => {
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
    t.is(await world.count('sessions', { user_id: person.id }), 0)
    t.is(await world.count('remembered_logins', { user_id: person.id }), 0)
  }
})

const endings: readonly (readonly [string, (person: Person, jar: CookieJar) => Promise<ServiceAnswer>])[] = [
  ['a sign-out', (_person, jar) => send(1, jar, 'GET', '/user/signout')],
  ['an administrator who ends all sessions', ({ login }) => world.instances[1].send('DELETE', `/api/v1/admin/users/${login}/sessions`, { token: world.adminToken })],
  ['a changed password', (person) =>
    world.instances[1].send('POST', '/api/v1/user/settings/account/password', {
      basic: [person.login, personPassword], body: { old_password: personPassword, password: 'another-lantern-over-water-18', retype: 'another-lantern-over-water-18' },
    })],
  ['a disabled account', ({ login }) => world.instances[1].send('PATCH', `/api/v1/admin/users/${login}`, { token: world.adminToken, body: { prohibit_login: true } })],
]
for (const [what, end] of endings) {
  test(`${what} ends a session and its remembered login at the next request on both instances`, async (t) => {
    const person = await someone()
    const jar = await signedIn(person, true)
    t.deepEqual(statusesOf(await onBoth(jar)), [200, 200])
    const answer = await end(person, jar)
    t.true(answer.status >= 200 && answer.status < 300, answer.text)
    t.deepEqual(statusesOf(await onBoth(jar)), [401, 401])
    t.is(await stolen(person), 0)
    t.is(await world.count('remembered_logins', { user_id: person.id }), 0)
  })

  test(`${what} at the same moment as a resumed session: nothing is left alive`, async (t) => {
    for (let round = 0; round < 5; round += 1) {
      const person = await someone()
      const jar = await signedIn(person, true)
      const other = await signedIn(person, true)
      const isForAll = what !== 'a sign-out'
      if (isForAll) await goIdle(person)
      else await world.database.query((k) => k('sessions').where({ user_id: person.id }).orderBy('id').limit(1).update({ idle_expires_at: 1 }))
      const resuming = jar.copy()
      if (!isForAll) resuming.drop('moorage_session')
      const [resumed, ended] = await Promise.all([send(0, isForAll ? other : resuming, 'GET', '/user'), end(person, jar)])
      t.true(ended.status >= 200 && ended.status < 300, `${ended.status} ${ended.text}`)
      t.true([200, 401].includes(resumed.status), resumed.text)
      const after = (isForAll ? other : resuming).copy()
      after.take(resumed.headers)
      t.deepEqual(statusesOf(await onBoth(after)), [401, 401])
      t.is(await stolen(person), 0)
    }
  })
}

test('a password is changed while its old one signs in on the other instance: no session of the old one is left', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const person = await someone()
    const jar = makeCookieJar()
    const next = 'another-lantern-over-water-18'
    const [signIn, changed] = await Promise.all([
      send(0, jar, 'POST', '/user/signin', { username: person.login, password: personPassword, remember: true }),
      world.instances[1].send('POST', `/api/v1/admin/users/${person.login}/change-password`, { token: world.adminToken, body: { password: next, retype: next } }),
    ])
    t.is(changed.status, 200, changed.text)
    t.true([200, 404].includes(signIn.status), signIn.text)
    jar.take(signIn.headers)
    t.deepEqual(statusesOf(await onBoth(jar)), [401, 401])
    t.is(await world.count('sessions', { user_id: person.id }), 0)
    t.is(await world.count('remembered_logins', { user_id: person.id }), 0)
  }
})

test('one code signs in once, on whichever instance comes first', async (t) => {
  const path = '/api/v1/user/settings/security/twofa/enroll'
  for (let round = 0; round < 3; round += 1) {
    const { id, login } = await someone()
    const basic = { basic: [login, personPassword] } as const
    const seed = (await must(200, world.instances[0].send('GET', path, basic))).json.twoFASecret as string
    await must(200, world.instances[0].send('POST', path, { ...basic, body: { passCode: codeAt(seed, new Date()) } }))
    const body = { username: login, password: personPassword, passCode: codeAt(seed, new Date(), 1) }
    const answers = await Promise.all([0, 1, 0, 1].map((instance) => world.instances[instance as 0 | 1].send('POST', '/api/v1/user/signin/twofa', { body })))
    t.deepEqual(statusesOf(answers), [200, 401, 401, 401])
    t.is(await world.count('sessions', { user_id: id }), 1)
  }
})
