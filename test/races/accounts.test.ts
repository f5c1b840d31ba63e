import type { ExecutionContext } from 'ava'
import { needing } from '../support/components/needing.ts'
import { brokenInvariants } from './invariants.ts'
import { must, personPassword, startTwoInstances, statusesOf, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

let world: TwoInstances
test.before(async () => {
  world = await startTwoInstances()
  await must(200, world.instances[0].send('POST', '/api/v1/disable-registration', { token: world.adminToken, body: { disableRegistration: false } }))
})
test.after.always(() => world?.stop())

let named = 0
const name = (word: string): string => `${word}-${(named += 1)}`

/** Rounds of one race, then the invariants of the whole database. One race after the other, so that a broken one is known by its name. */
const race = (title: string, rounds: number, round: (t: ExecutionContext, round: number) => Promise<void>): void => {
  test.serial(title, async (t) => {
    for (let n = 0; n < rounds; n++) await round(t, n)
    t.deepEqual(await brokenInvariants(world.database), [])
  })
}

const signUp = (username: string, email: string) => ({ body: { username, email, password: personPassword } })

// Five rounds of two: what one address may ask for in an hour, over both instances.
race('of two sign-ups with one name and one address on two instances one makes an account', 3, async (t) => {
  const username = name('joiner')
  const [a, b] = world.instances
  const email = `${username}@example.com`
  const answers = await Promise.all([a.send('POST', '/api/v1/user/signup', signUp(username, email)), b.send('POST', '/api/v1/user/signup', signUp(username.toUpperCase(), email))])
  t.deepEqual(statusesOf(answers), [200, 422])
  t.deepEqual([await world.count('accounts', { lower_name: username }), await world.count('emails', { lower_email: email })], [1, 1])
})

race('of two sign-ups with one address both are answered alike, and one has the address', 2, async (t) => {
  const [first, second] = [name('twin'), name('twin')]
  const email = `${first}@example.com`
  const [a, b] = world.instances
  const answers = await Promise.all([a.send('POST', '/api/v1/user/signup', signUp(first, email)), b.send('POST', '/api/v1/user/signup', signUp(second, email.toUpperCase()))])
  t.deepEqual(answers.map(({ status, text }) => [status, text]), [[200, ''], [200, '']])
  t.is(await world.count('emails', { lower_email: email }), 1)
})

test.serial('what one address may ask for in an hour is counted over both instances', async (t) => {
  const [a, b] = world.instances
  const username = name('late')
  for (const instance of [a, b]) t.is((await instance.send('POST', '/api/v1/user/signup', signUp(username, `${username}@example.com`))).status, 429)
})

race('of two admins who delete, demote or shut each other out on two instances one stays', 9, async (t, round) => {
  const [x, y] = [await world.person(name('boss')), await world.person(name('boss'))]
  for (const { login } of [x, y]) await must(200, world.instances[0].send('PATCH', `/api/v1/admin/users/${login}`, { token: world.adminToken, body: { admin: true } }))
  await must(200, world.instances[0].send('PATCH', '/api/v1/admin/users/admin', { token: x.token, body: { prohibit_login: true } }))
  const against = (n: number, login: string): readonly [string, string, object | undefined] =>
    n % 3 === 0 ? ['DELETE', `/api/v1/admin/users/${login}`, undefined] : ['PATCH', `/api/v1/admin/users/${login}`, n % 3 === 1 ? { admin: false } : { active: false }]
  const attack = async (instance: 0 | 1, by: typeof x, whom: typeof y, n: number) => {
    const [method, path, body] = against(n, whom.login)
    return world.instances[instance].send(method, path, { token: by.token, ...(body === undefined ? {} : { body }) })
  }
  const answers = await Promise.all([attack(0, x, y, round), attack(1, y, x, Math.floor(round / 3))])
  t.is(answers.filter(({ status }) => status < 300).length, 1, answers.map(({ status, text }) => `${status} ${text}`).join('\n'))
  t.is(await world.count('users', { is_admin: 1, is_active: 1, prohibit_login: 0 }), 1)
  const left = answers[0].status < 300 ? x : y
  await must(200, world.instances[0].send('PATCH', '/api/v1/admin/users/admin', { token: left.token, body: { prohibit_login: false } }))
  await must(200, world.instances[0].send('PATCH', `/api/v1/admin/users/${left.login}`, { token: world.adminToken, body: { admin: false } }))
})
