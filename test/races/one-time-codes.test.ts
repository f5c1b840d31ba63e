import { AttemptThrottleToken } from '../../core/identity/authentication/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { codeOfStep, stepAt } from '../identity/one-time-code-of.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { must, personPassword, startTwoInstances, statusesOf, type Person, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

let world: TwoInstances
test.before(async () => {
  world = await startTwoInstances()
})
test.after.always(() => world?.stop())

const enrollPath = '/api/v1/user/settings/security/twofa/enroll'
const atOnce = 20

/** A person with an authenticator app and recovery codes. The step before the current one is used. */
const enrolled = async (name: string): Promise<{ person: Person; seed: string; recoveryCodes: readonly string[] }> => {
  const person = await world.person(name)
  const [first] = world.instances
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

/** Wrong codes lock the account and, in the end, the address: what is asked here is whether a code is taken, not that. */
const forgetFailures = async ({ id }: Person): Promise<void> => {
  await world.database.query((k) => k('identity_attempts').delete())
  await Promise.all(world.instances.map(({ running }) => running.container.resolve(AttemptThrottleToken).unlock(id as UserId)))
}

type Act = (person: Person, tokenId: number) => readonly [method: string, path: string, body?: object]

/** One code many times at once over both instances: it counts once, wherever and whenever it is sent again. */
const onceOnly = (title: string, name: string, statuses: { readonly first: number; readonly again: number }, act: Act): void => {
  test.serial(`${title}: one code 20 times at once on two instances counts once`, async (t) => {
    const { person, seed, recoveryCodes } = await enrolled(name)
    const [own] = await world.database.query<{ id: number }>((k) => k('access_tokens').where('user_id', person.id).select('id'))
    const storm = (code: string, times: number): Promise<readonly ServiceAnswer[]> =>
      Promise.all(
        Array.from({ length: times }, (_, i) => {
          const [method, path, body] = act(person, own?.id ?? 0)
          const options = { basic: [person.login, personPassword] as const, headers: { 'X-OTP': code }, body }
          return world.instances[i % 2 === 0 ? 0 : 1].send(method, `/api/v1/users/${name}/tokens${path}`, options)
        }),
      )
    const refused = (count: number) => Array.from({ length: count }, () => 401)
    const once = (status: number) => [status, ...refused(atOnce - 1)].sort((a, b) => a - b)
    const step = stepAt(new Date()) + 1

    t.deepEqual(statusesOf(await storm(codeOfStep(seed, step), atOnce)), once(statuses.first))
    await forgetFailures(person)
    t.deepEqual(statusesOf(await storm(codeOfStep(seed, step), 2)), refused(2), 'later')
    t.deepEqual(statusesOf(await storm(codeOfStep(seed, step - 1), 2)), refused(2), 'of an older step that was not used')
    await forgetFailures(person)
    t.deepEqual(statusesOf(await storm(recoveryCodes[0] ?? '', atOnce)), once(statuses.again), 'a recovery code')
    await forgetFailures(person)
    const unused = await world.database.query((k) => k('recovery_codes').where('user_id', person.id).whereNull('used_at').select('user_id'))
    t.is(unused.length, recoveryCodes.length - 1)
    t.true(await world.isAuditWhole())
  })
}

let named = 0
onceOnly('making a token', 'code-create', { first: 201, again: 201 }, () => ['POST', '', { name: `token-${(named += 1)}`, scopes: ['read:user'] }])
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
      const { send } = world.instances[instance as 0 | 1]
      return [
        () => send('POST', `/api/v1/users/${login}/tokens`, { ...basic, body: { name: `mixed-${instance}` } }),
        () => send('GET', '/api/v1/user', basic),
        () => send('POST', '/api/v1/user/signin/twofa', { body: { username: login, password: personPassword, passCode } }),
        () => send('POST', '/api/v1/user/settings/security/twofa/regenerate_scratch', proof),
        () => send('POST', '/api/v1/user/settings/security/twofa/disable', proof),
      ]
    })
    const answers = await Promise.all(ways.map((way) => way()))
    const taken = answers.filter(({ status }) => status < 300).length
    // Once it was the one that switched the factor off, whoever comes later with the password is asked for no code.
    const isOff = (await world.count('two_factors', { user_id: person.id })) === 0
    t.true(isOff ? taken >= 1 : taken === 1, JSON.stringify(answers.map(({ status }) => status)))
    await forgetFailures(person)
  }
})
