import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { checkPasskeys } from '../../../composition/parts/identity/doctor.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { ServiceAnswer, SendOptions } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { startPasskeyService } from './passkey-service.ts'
import type { Faults, SoftwareAuthenticator } from './software-authenticator.ts'
import { makeSoftwareAuthenticator } from './software-authenticator.ts'

let origin: string
let folder: string
const password = 'a long passphrase'
const keys = '/user/settings/security/webauthn'
let service: TestService
/** Another instance on the same database. */
let other: TestService

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-passkeys-'))
  const keyring = { MOORAGE_KEYRING: join(folder, 'keyring.json') }
  service = await startPasskeyService(keyring)
  origin = service.baseUrl
  const shared = { MOORAGE_BASE_URL: origin, MOORAGE_DATABASE_URL: service.databaseUrl }
  other = await startPasskeyService({ ...keyring, ...shared })
})
test.after.always(async () => {
  await other?.stop()
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = (method: string, path: string, options?: SendOptions) => service.send(method, `/api/v1${path}`, options)
const must = (answer: ServiceAnswer, status = 200): ServiceAnswer => {
  if (answer.status !== status) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}

const makeUser = async (login: string): Promise<string> => {
  const body = { username: login, email: `${login}@example.org`, password, must_change_password: false }
  must(await send('POST', '/admin/users', { token: service.adminToken, body }), 201)
  return service.tokenFor(login)
}

const cookiesOf = ({ headers }: ServiceAnswer): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')

const requested = async (token: string, name: string, proof: object = { password }) =>
  send('POST', `${keys}/request_register`, { token, body: { name, ...proof } })

const registered = async (token: string, name = 'Laptop', proof?: object, faults?: Faults) => {
  const authenticator = makeSoftwareAuthenticator({ origin })
  const options = must(await requested(token, name, proof)).json.publicKey as never
  const body = authenticator.create(options, faults)
  return { authenticator, answer: await send('POST', `${keys}/register`, { token, body }) }
}

/** A user with a passkey. */
const withPasskey = async (login: string, faults?: Faults) => {
  const token = await makeUser(login)
  const { authenticator, answer } = await registered(token, 'Laptop', undefined, faults)
  return { token, authenticator, key: must(answer, 201).json as { ID: number; recoveryCodes: string[] } }
}

const offered = async (headers: Record<string, string> = {}) => {
  const answer = must(await send('POST', '/user/signin/passkey/request', { headers }))
  return { options: answer.json.publicKey as never, headers: { Cookie: cookiesOf(answer) } }
}

const signInWith = async (authenticator: SoftwareAuthenticator, faults?: Faults): Promise<ServiceAnswer> => {
  const { options, headers } = await offered()
  return send('POST', '/user/signin/passkey', { headers, body: { passkey: authenticator.get(options, faults) } })
}

const proofBy = async (token: string, authenticator: SoftwareAuthenticator) => {
  const options = must(await send('POST', `${keys}/request_proof`, { token })).json.publicKey as never
  return { passkey: authenticator.get(options) }
}

const auditOf = async (login: string, action: string) => {
  const found = await send('GET', `/admin/audit?action=${action}&limit=100`, { token: service.adminToken })
  return (found.json as unknown as { object_name: string; changes: Record<string, unknown> }[]).filter(
    ({ object_name }) => object_name === login,
  )
}

test('a passkey is registered, listed, and signs in without a password', async (t) => {
  const { authenticator, key, token } = await withPasskey('ada')
  t.is(key.recoveryCodes.length, 10)
  const answer = await signInWith(authenticator)
  t.is(answer.status, 200, answer.text)
  t.is((await send('GET', '/user', { headers: { Cookie: cookiesOf(answer) } })).json.login, 'ada')
  const [listed] = (await send('GET', `${keys}/keys`, { token })).json as Record<string, unknown>[]
  t.like(listed, { ID: key.ID, Name: 'Laptop', backedUp: false, transports: ['internal'] })
  t.true(Number(listed?.['lastUsedAt']) > 0)
})

test('the options ask for a discoverable key and a verified user, and no attestation', async (t) => {
  const token = await makeUser('options')
  const { publicKey } = must(await requested(token, 'Laptop')).json as { publicKey: Record<string, unknown> }
  t.like(publicKey, { attestation: 'none', rp: { id: 'localhost' }, timeout: 300_000 })
  t.like(publicKey['authenticatorSelection'], { residentKey: 'required', userVerification: 'required' })
  const { options } = await offered()
  t.like(options, { rpId: 'localhost', userVerification: 'required' })
})

test('a challenge is answered once', async (t) => {
  const { authenticator } = await withPasskey('replay')
  const { options, headers } = await offered()
  const body = { passkey: authenticator.get(options) }
  t.is((await send('POST', '/user/signin/passkey', { headers, body })).status, 200)
  const again = await send('POST', '/user/signin/passkey', { headers, body })
  t.is(again.status, 401)
  t.is(again.json.code, 'PasskeyRefused')
})

test('of two instances that receive one response at once, one signs in', async (t) => {
  const { authenticator } = await withPasskey('twice')
  const { options, headers } = await offered()
  const body = { passkey: authenticator.get(options) }
  const answers = await Promise.all(
    [service, other, service, other].map((instance) =>
      instance.send('POST', '/api/v1/user/signin/passkey', { headers, body }),
    ),
  )
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401])
})

test('another browser cannot answer the challenge', async (t) => {
  const { authenticator } = await withPasskey('browser')
  const { options } = await offered()
  const { headers } = await offered()
  const passkey = authenticator.get(options)
  t.is((await send('POST', '/user/signin/passkey', { headers, body: { passkey } })).status, 401)
  t.is((await send('POST', '/user/signin/passkey', { body: { passkey } })).status, 401)
})

test('a browser that asks again can answer its earlier challenge too', async (t) => {
  const { authenticator } = await withPasskey('tabs')
  const { options, headers } = await offered()
  await offered(headers)
  const body = { passkey: authenticator.get(options) }
  t.is((await send('POST', '/user/signin/passkey', { headers, body })).status, 200)
})

for (const [what, faults] of [
  ['of another origin', { origin: 'https://platform.example.net' }],
  ['for another host', { rpId: 'example' }],
  ['without a verified user', { isVerified: false }],
] as const) {
  test(`a response ${what} neither signs in nor registers`, async (t) => {
    const login = `fault${what.length}`
    const { authenticator } = await withPasskey(login)
    t.is((await signInWith(authenticator, faults)).status, 401)
    t.is((await signInWith(authenticator)).status, 200)
    const { answer } = await registered(await makeUser(`${login}-new`), 'Laptop', undefined, faults)
    t.is(answer.status, 422)
    t.is(answer.json.code, 'RegistrationInvalid')
  })
}

test('an unknown passkey and a signature by another key are refused alike', async (t) => {
  const { authenticator } = await withPasskey('forged')
  const stranger = makeSoftwareAuthenticator({ origin })
  const unknown = await signInWith(stranger)
  const { options, headers } = await offered()
  const forged = { ...stranger.get(options), id: authenticator.id, rawId: authenticator.id }
  const answer = await send('POST', '/user/signin/passkey', { headers, body: { passkey: forged } })
  t.deepEqual([answer.status, unknown.status], [401, 401])
  t.is(answer.json.message, unknown.json.message)
})

test('a passkey of another user proves nothing', async (t) => {
  const { token, key } = await withPasskey('victim')
  const thief = await withPasskey('thief')
  const proof = await proofBy(token, thief.authenticator)
  const path = `${keys}/keys/${key.ID}`
  t.is((await send('DELETE', path, { token, body: proof })).status, 403)
  const own = await proofBy(thief.token, thief.authenticator)
  t.is((await send('DELETE', path, { token: thief.token, body: own })).status, 404)
  const { options, headers } = await offered()
  const body = { username: 'victim', password, passkey: thief.authenticator.get(options) }
  t.is((await send('POST', '/user/signin/twofa', { headers, body })).status, 401)
})

test('a passkey is the second factor after the password', async (t) => {
  const { authenticator, key } = await withPasskey('factor')
  const alone = await send('POST', '/user/signin', { body: { username: 'factor', password } })
  t.deepEqual([alone.status, alone.json.code], [405, 'SecondFactorNeeded'])
  const { options, headers } = await offered()
  const body = { username: 'factor', password, passkey: authenticator.get(options) }
  t.is((await send('POST', '/user/signin/twofa', { headers, body })).status, 200)
  t.is((await send('GET', '/user', { basic: ['factor', password] })).status, 401)
  const [code = ''] = key.recoveryCodes
  t.is((await send('GET', '/user', { basic: ['factor', password], headers: { 'X-OTP': code } })).status, 200)
  const withCode = { username: 'factor', password, passCode: key.recoveryCodes[1] }
  t.is((await send('POST', '/user/signin/twofa', { body: withCode })).status, 200)
})

test('a counter that goes back is recorded, and refused for a key on one device', async (t) => {
  const { authenticator } = await withPasskey('counter', { counter: 5 })
  t.is((await signInWith(authenticator, { counter: 6 })).status, 200)
  t.is((await signInWith(authenticator, { counter: 6 })).status, 401)
  t.is((await signInWith(authenticator, { counter: 0 })).status, 401)
  t.is((await signInWith(authenticator, { counter: 7 })).status, 200)
  const rows = await auditOf('counter', 'passkey.counter_went_back')
  t.deepEqual(
    rows.map(({ changes }) => [changes['counter'], changes['last_counter'], changes['refused']]),
    [
      [0, 6, true],
      [6, 6, true],
    ],
  )
})

test('adding and removing a passkey need a proof, and a passkey alone is one', async (t) => {
  const token = await makeUser('proofs')
  for (const proof of [{}, { password: 'another phrase' }]) {
    const refused = await requested(token, 'Laptop', proof)
    t.deepEqual([refused.status, refused.json.code], [403, 'ProofRequired'])
  }
  const { authenticator, answer } = await registered(token)
  const id = answer.json.ID as number
  t.is((await requested(token, 'Key', { password })).status, 403)
  const second = await registered(token, 'Key', await proofBy(token, authenticator))
  t.is(second.answer.status, 201, second.answer.text)
  t.is(second.answer.json.recoveryCodes, undefined)
  t.is((await send('DELETE', `${keys}/keys/${id}`, { token, body: { password } })).status, 403)
  const [code] = answer.json.recoveryCodes as string[]
  const removed = await send('DELETE', `${keys}/keys/${id}`, { token, body: { password, passCode: code } })
  t.is(removed.status, 200, removed.text)
  t.is((await signInWith(authenticator)).status, 401)
  t.is((await signInWith(second.authenticator)).status, 200)
})

test('removing the last passkey removes the recovery codes', async (t) => {
  const { authenticator, token, key } = await withPasskey('last')
  const proof = await proofBy(token, authenticator)
  t.is((await send('DELETE', `${keys}/keys/${key.ID}`, { token, body: proof })).status, 200)
  t.is((await send('POST', '/user/signin', { body: { username: 'last', password } })).status, 200)
  const again = await registered(token)
  t.is((again.answer.json.recoveryCodes as string[]).length, 10)
})

test('the first passkey ends the other sessions', async (t) => {
  const token = await makeUser('sessions')
  const before = must(await send('POST', '/user/signin', { body: { username: 'sessions', password } }))
  const me = () => send('GET', '/user', { headers: { Cookie: cookiesOf(before) } })
  t.is((await me()).status, 200)
  must((await registered(token)).answer, 201)
  t.is((await me()).status, 401)
})

test('another session cannot finish a registration', async (t) => {
  const token = await makeUser('finish')
  const authenticator = makeSoftwareAuthenticator({ origin })
  const options = must(await requested(token, 'Laptop')).json.publicKey as never
  const body = authenticator.create(options)
  const stolen = await send('POST', `${keys}/register`, { token: await service.tokenFor('finish'), body })
  t.is(stolen.json.code, 'RegistrationInvalid')
  t.is((await send('POST', `${keys}/register`, { token, body })).status, 201)
})

test('a site admin removes the passkeys of a user who lost them', async (t) => {
  const { authenticator } = await withPasskey('lost')
  t.is((await send('DELETE', '/admin/users/lost/twofa', { token: service.adminToken })).status, 204)
  t.is((await signInWith(authenticator)).status, 401)
  t.is((await send('POST', '/user/signin', { body: { username: 'lost', password } })).status, 200)
})

test('five invalid responses lock the passkeys of an account, and not its password', async (t) => {
  const { authenticator, key } = await withPasskey('locked')
  for (let attempts = 5; attempts > 0; attempts--) await signInWith(authenticator, { isVerified: false })
  t.is((await signInWith(authenticator)).status, 401)
  const body = { username: 'locked', password, passCode: key.recoveryCodes[0] }
  t.is((await send('POST', '/user/signin/twofa', { body })).status, 200)
  must(await send('POST', '/admin/users/locked/unlock', { token: service.adminToken }), 204)
  t.is((await signInWith(authenticator)).status, 200)
})

test('a passkey can be remembered like a password', async (t) => {
  const { authenticator } = await withPasskey('remembered')
  const { options, headers } = await offered()
  const body = { passkey: authenticator.get(options), remember: true }
  const answer = must(await send('POST', '/user/signin/passkey', { headers, body }))
  const remember = cookiesOf(answer)
    .split('; ')
    .find((cookie) => cookie.startsWith('moorage_session_remember='))
  const resumed = await send('GET', '/user', { headers: { Cookie: remember ?? '' } })
  t.is(resumed.json.login, 'remembered')
})

test('a passkey is renamed by its owner alone', async (t) => {
  const { token, key } = await withPasskey('renamer')
  const other = await makeUser('bystander')
  const rename = (of: string, name: string) => send('PATCH', `${keys}/keys/${key.ID}`, { token: of, body: { name } })
  t.like((await rename(token, ' Office laptop ')).json, { ID: key.ID, Name: 'Office laptop' })
  t.is((await rename(other, 'Mine')).status, 404)
  for (const name of ['', ' ', 'x'.repeat(101)]) t.is((await rename(token, name)).status, 422, name)
  const [listed] = (await send('GET', `${keys}/keys`, { token })).json as Record<string, unknown>[]
  t.is(listed?.['Name'], 'Office laptop')
  const [audited] = await auditOf('renamer', 'passkey.renamed')
  t.deepEqual(audited?.changes, { passkey: 'Office laptop', passkey_before: 'Laptop' })
})

test('an account that may not sign in is refused', async (t) => {
  const { authenticator } = await withPasskey('shut')
  const body = { prohibit_login: true, source_id: 0, login_name: 'shut' }
  must(await send('PATCH', '/admin/users/shut', { token: service.adminToken, body }))
  t.is((await signInWith(authenticator)).status, 405)
})

test('an organization that requires a second factor admits a member with a passkey', async (t) => {
  const { token } = await withPasskey('member')
  must(await send('POST', '/orgs', { token, body: { username: 'guild' } }), 201)
  const policies = { require_two_factor: true, two_factor_grace_days: 0 }
  must(await send('PATCH', '/orgs/guild/policies', { token, body: policies }))
  t.is((await send('GET', '/orgs/guild/teams', { token })).status, 200)
})

test('without a base URL the routes say what to set', async (t) => {
  const local = await startService()
  t.teardown(() => local.stop())
  const refused = await local.send('POST', '/api/v1/user/signin/passkey/request')
  t.deepEqual([refused.status, refused.json.code], [503, 'PasskeysUnavailable'])
  t.regex(String(refused.json.message), /MOORAGE_BASE_URL/)
})

test('doctor warns of passkeys of another host', async (t) => {
  await withPasskey('moved')
  const databaseUrl = secret(service.databaseUrl)
  t.like((await checkPasskeys({ baseUrl: origin, databaseUrl }))[0], { state: 'ok' })
  const [moved] = await checkPasskeys({ baseUrl: 'https://new.example', databaseUrl })
  t.is(moved?.state, 'warning')
  t.regex(moved?.message ?? '', /^(\d+) of \1 passkeys were registered at another host/)
  t.like((await checkPasskeys({ baseUrl: undefined, databaseUrl }))[0], { state: 'warning' })
})
