import type { KeyObject } from 'node:crypto'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import type { Finding } from '../../../composition/part/finding.ts'
import { checkExtIdp } from '../../../composition/parts/identity/doctor.ts'
import { loadConfig } from '../../../composition/moorage.ts'
import { operatorCall } from '../../../composition/part/operator.ts'
import { IdentityUnitOfWorkPort, TokenDigestPort } from '../../../core/identity/ports.ts'
import { makeAccessToken } from '../../../core/identity/tokens/access-tokens.ts'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { getCaller } from '../../../plugins/identity/accounts/users.routes.ts'
import {
  createSettingsToken,
  createToken,
  getExtIdpToken,
  listSettingsTokens,
  listTokens,
  rotateSettingsToken,
} from '../../../plugins/identity/tokens/tokens.routes.ts'
import {
  createOrganization,
  listOwnOrganizations,
} from '../../../plugins/organizations/organizations/organizations.routes.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-extidp-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const keyFile = (key: KeyObject): string => {
  const file = join(folder, `key-${(files += 1)}.pem`)
  writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }))
  return file
}
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const settings = (more: Readonly<Record<string, string>>) => ({ MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', ...more })
const signing = (key: KeyObject) =>
  settings({
    MOORAGE_EXTIDP_KEY: keyFile(key),
    MOORAGE_EXTIDP_ISSUER: 'https://moorage.example.com',
    MOORAGE_EXTIDP_AUDIENCE: 'https://idp.example.com',
  })
const ask = (service: TestService, token = service.adminToken, more = '') =>
  service.send('GET', `/api/v1/user/extidp-token${more}`, { token })
const customTokenOf = async (service: TestService, token = service.adminToken): Promise<string> =>
  (await valueOf(clientAs(service, { token }).call(getExtIdpToken))).customToken
const expected = { issuer: 'https://moorage.example.com', audience: 'https://idp.example.com' }

for (const [algorithm, key] of [
  ['RS256', rsa],
  ['ES256', ec],
] as const) {
  test(`a token signed by ${algorithm} names its user and lasts an hour at most`, async (t) => {
    const service = await startService({ settings: signing(key) })
    t.teardown(() => service.stop())
    const answer = await ask(service)
    t.is(answer.status, 200, answer.text)
    t.deepEqual(Object.keys(answer.json as object), ['customToken'])
    const { customToken } = answer.json as { customToken: string }
    const { payload } = await jwtVerify(customToken, createPublicKey(key), expected)
    const me = await valueOf(clientAs(service, { token: service.adminToken }).call(getCaller))
    t.is(decodeProtectedHeader(customToken).alg, algorithm)
    t.like(payload, { sub: String(me.id), uid: String(me.id), claims: { email: 'admin@example.com', login: me.login } })
    t.true((payload.exp ?? 0) - (payload.iat ?? 0) <= 3600)
    t.true(Math.abs((payload.iat ?? 0) - Date.now() / 1000) < 60)
    t.false(service.logText().includes(customToken.split('.')[2] ?? ''))
    t.not((await jwtVerify(await customTokenOf(service), createPublicKey(key), expected)).payload.jti, payload.jti)
    const log = await service.send('GET', '/api/v1/user/audit', { token: service.adminToken })
    t.true(log.text.includes('user.custom_token_issued'))
    t.false(log.text.includes(customToken.split('.')[2] ?? ''))
  })
}

test('changed, foreign, misdirected and expired tokens are refused', async (t) => {
  const service = await startService({ settings: signing(ec) })
  t.teardown(() => service.stop())
  const customToken = await customTokenOf(service)
  const key = createPublicKey(ec)
  const [head, payload, signature] = customToken.split('.') as [string, string, string]
  const changed = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), uid: '1000' }
  const tampered = [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.')
  await t.throwsAsync(jwtVerify(tampered, key, expected), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
  await t.throwsAsync(
    jwtVerify(customToken, createPublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), expected),
    { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
  )
  await t.throwsAsync(jwtVerify(customToken, key, { ...expected, audience: 'https://other.example.com' }), {
    code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
  })
  await t.throwsAsync(jwtVerify(customToken, key, { ...expected, currentDate: new Date(Date.now() + 3_700_000) }), {
    code: 'ERR_JWT_EXPIRED',
  })
})

test('it never outlives the access token that asks', async (t) => {
  const service = await startService({ settings: signing(ec) })
  t.teardown(() => service.stop())
  const expTime = Math.ceil(Date.now() / 1000) + 120
  const made = await valueOf(
    clientAs(service, { token: service.adminToken }).call(createSettingsToken, {
      body: { name: 'brief', expTime, scopes: ['all'] },
    }),
  )
  const customToken = await customTokenOf(service, made.token)
  t.true(((await jwtVerify(customToken, createPublicKey(ec), expected)).payload.exp ?? 0) <= expTime)
})

test('the route refuses anonymous, sudo and read-only callers', async (t) => {
  const service = await startService({ settings: signing(ec) })
  t.teardown(() => service.stop())
  t.is((await service.send('GET', '/api/v1/user/extidp-token')).status, 401)
  t.is((await ask(service, service.adminToken, '?sudo=admin')).status, 403)
  t.is((await ask(service, await service.tokenFor('admin', ['read:user']))).status, 403)
  const elsewhere = await startService({ settings: { ...signing(ec), MOORAGE_DEPLOYMENT_TYPE: 'SelfHosted' } })
  t.teardown(() => elsewhere.stop())
  t.is((await ask(elsewhere)).status, 404)
})

const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
const wrongKeys: Readonly<
  Record<
    string,
    {
      readonly given: () => Readonly<Record<string, string>>
      readonly says: RegExp
      readonly doctor: RegExp
      readonly state: Finding['state']
    }
  >
> = {
  'no key': { given: () => ({}), says: /MOORAGE_EXTIDP_KEY/, doctor: /MOORAGE_EXTIDP_KEY.*503/, state: 'warning' },
  'no audience': {
    given: () => ({ MOORAGE_EXTIDP_KEY: keyFile(ec) }),
    says: /MOORAGE_EXTIDP_AUDIENCE/,
    doctor: /MOORAGE_EXTIDP_AUDIENCE/,
    state: 'warning',
  },
  'a file that is not there': {
    given: () => ({ MOORAGE_EXTIDP_KEY: join(folder, 'absent.pem'), MOORAGE_EXTIDP_AUDIENCE: 'a' }),
    says: /MOORAGE_EXTIDP_KEY/,
    doctor: /cannot be read \(ENOENT\)/,
    state: 'problem',
  },
  'a weak key': {
    given: () => ({ MOORAGE_EXTIDP_KEY: keyFile(weak), MOORAGE_EXTIDP_AUDIENCE: 'a' }),
    says: /MOORAGE_EXTIDP_KEY/,
    doctor: /at least 2048 bits/,
    state: 'problem',
  },
}
for (const [what, { given, says, doctor, state }] of Object.entries(wrongKeys)) {
  test(`with ${what} the service starts, and the route and doctor name the setting`, async (t) => {
    const environment = settings(given())
    const service = await startService({ settings: environment })
    t.teardown(() => service.stop())
    const answer = await ask(service)
    t.is(answer.status, 503)
    t.regex((answer.json as { message: string }).message, says)
    const [finding] = checkExtIdp((await loadConfig({ environment })).settings)
    t.is(finding?.state, state)
    t.regex(finding?.message ?? '', doctor)
  })
}

const password = 'a long passphrase'
const tokens = '/user/settings/tokens/access-tokens'
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

const send: TestService['send'] = (method, path, options) => service.send(method, `/api/v1${path}`, options)
const person = async (username: string): Promise<readonly [string, string]> => {
  const body = { username, email: `${username}@example.org`, password, must_change_password: false }
  const made = await send('POST', '/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
  return [username, password]
}
const status = async (token: string): Promise<number> => (await send('GET', '/user', { token })).status

test('rotating: the old value is refused, the new one works and may do the same', async (t) => {
  const basic = await person('ada')
  const expTime = Math.ceil(Date.now() / 1000) + 1000
  const client = clientAs(service, { basic })
  const made = await valueOf(client.call(createSettingsToken, { body: { name: 'ci', expTime, scopes: ['read:user'] } }))
  const rotated = await valueOf(client.call(rotateSettingsToken, { params: { id: made.id } }))
  t.like(rotated, { id: made.id, name: 'ci', scopes: ['read:user'], hasUsed: false })
  t.true(rotated.expDate >= expTime)
  t.deepEqual([await status(made.token), await status(rotated.token)], [401, 200])
  t.is((await send('PATCH', '/user/settings', { token: rotated.token, body: { full_name: 'x' } })).status, 403)
  t.is(
    (await send('POST', `${tokens}/${made.id}/rotate`, { token: rotated.token })).status,
    403,
    'a token that cannot make tokens rotates none',
  )
  const listed = await client.call(listSettingsTokens)
  t.false(listed.text.includes(rotated.token))
  t.is(listed.ok && listed.value.items[0]?.tokenLastEight, rotated.token.slice(-8))
})

test('rotating once more under the same Idempotency-Key answers the same value', async (t) => {
  const basic = await person('again')
  const { id } = await valueOf(clientAs(service, { basic }).call(createSettingsToken, { body: { name: 'ci' } }))
  const ask = (key: string) => send('POST', `${tokens}/${id}/rotate`, { basic, headers: { 'Idempotency-Key': key } })
  const [first, repeated] = [await ask('one'), await ask('one')]
  t.deepEqual([repeated.status, repeated.headers['idempotency-replayed']], [200, 'true'])
  t.is(repeated.json.token, first.json.token)
  t.is(await status(first.json.token), 200)
  t.not((await ask('two')).json.token, first.json.token)
  t.is(await status(first.json.token), 401)
})

test('only the owner rotates a token', async (t) => {
  const [basic, stranger] = [await person('owner'), await person('stranger')]
  const made = await valueOf(clientAs(service, { basic }).call(createSettingsToken, { body: { name: 'ci' } }))
  const path = `${tokens}/${made.id}/rotate`
  const missing = await send('POST', `${tokens}/999999/rotate`, { basic: stranger })
  const refused = await send('POST', path, { basic: stranger })
  t.deepEqual([refused.status, refused.json.message], [404, missing.json.message])
  t.is((await send('POST', path, { token: service.adminToken, headers: { Sudo: 'owner' } })).status, 403)
  t.is((await send('POST', path)).status, 401)
  t.is(await status(made.token), 200)
  const own = await valueOf(
    clientAs(service, { token: made.token }).call(rotateSettingsToken, { params: { id: made.id } }),
  )
  t.deepEqual([await status(made.token), await status(own.token)], [401, 200])
})

test('both shapes make a confined token that reaches nothing else', async (t) => {
  const [basic, stranger] = [await person('member'), await person('founder')]
  for (const [by, username] of [
    [basic, 'Inside'],
    [basic, 'beside'],
    [stranger, 'closed'],
  ] as const) {
    t.is(
      (await clientAs(service, { basic: by }).call(createOrganization, { body: { username, visibility: 'private' } }))
        .status,
      201,
    )
  }
  const client = clientAs(service, { basic })
  const params = { username: 'member' }
  const first = await valueOf(client.call(createToken, { params, body: { name: 'a', org: 'inside' } }))
  const second = await valueOf(client.call(createSettingsToken, { body: { name: 'b', org: 'INSIDE' } }))
  t.deepEqual([first.org, second.org], ['Inside', 'Inside'])
  const free = await send('POST', tokens, { basic, body: { name: 'c' } })
  t.false('org' in free.json)
  const rotated = await valueOf(client.call(rotateSettingsToken, { params: { id: second.id } }))
  t.is(rotated.org, 'Inside')
  for (const token of [first.sha1, rotated.token]) {
    t.deepEqual(
      (await valueOf(clientAs(service, { token }).call(listOwnOrganizations))).items.map(({ username }) => username),
      ['Inside'],
    )
    t.is((await send('GET', '/orgs/beside', { token })).status, 404)
    t.is((await send('POST', tokens, { token, body: { name: 'more' } })).status, 403)
    t.is((await send('POST', `${tokens}/${free.json.id}/rotate`, { token })).status, 403)
  }
  t.deepEqual(
    (await valueOf(client.call(listTokens, { params }))).items.map(({ org }) => org),
    ['Inside', 'Inside', undefined],
  )
  const messages = new Set<string>()
  for (const org of ['closed', 'nowhere', 'founder']) {
    for (const path of ['/users/member/tokens', tokens]) {
      const refused = await send('POST', path, { basic, body: { name: 'd', org } })
      t.is(`${refused.status} ${refused.json.code}`, '422 TokenOrgInvalid')
      messages.add(refused.json.message)
    }
  }
  t.is(messages.size, 1)
  t.is((await send('POST', tokens, { basic: stranger, body: { name: 'd', org: 'inside' } })).status, 422)
})

let restrictedCallersService: TestService
test.before(async () => {
  restrictedCallersService = await startService()
})
test.after.always(() => restrictedCallersService?.stop())

const restrictedCallersSend: TestService['send'] = (method, path, options) =>
  restrictedCallersService.send(method, `/api/v1${path}`, options)
const admin = () => ({ token: restrictedCallersService.adminToken })
const makeUser = async (username: string, extra: object = {}): Promise<UserId> => {
  const made = await restrictedCallersSend('POST', '/admin/users', {
    ...admin(),
    body: { username, email: `${username}@example.org`, password, ...extra },
  })
  if (made.status !== 201) throw new Error(made.text)
  return made.json.id as UserId
}

/** A token for one organization, as a robot account has. */
const confinedToken = async (userId: UserId, onlyOrgId: OrgId): Promise<string> => {
  const { container } = restrictedCallersService.running
  const value = makeAccessToken(container.resolve(EntropyPort), container.resolve(TokenDigestPort))
  await container.resolve(IdentityUnitOfWorkPort).run(operatorCall('test.confinedToken'), async (stores) => {
    const hash = container.resolve(TokenDigestPort).digest(value)
    const facts = {
      name: `confined-${onlyOrgId}`,
      lastEight: value.slice(-8),
      scopeWords: ['all'],
      createdBy: undefined,
      expiresAt: undefined,
    }
    await stores.tokens.insert({ userId, hash, onlyOrgId, createdAt: new Date(), ...facts })
    return right(undefined)
  })
  return value
}

const ownThings = [
  ['GET', '/user/emails'],
  ['GET', '/user/settings'],
  ['GET', '/user/settings/profile'],
  ['GET', '/user/settings/security/sessions/'],
  ['GET', '/user/settings/tokens/access-tokens/'],
  ['GET', '/user/followers'],
  ['PATCH', '/user/settings', { full_name: 'x' }],
  ['POST', '/user/emails', { emails: ['more@example.org'] }],
  ['POST', '/user/settings/tokens/access-tokens/', { name: 'more' }],
  ['PUT', '/user/following/admin'],
] as const

test('a user with a forced password change reaches only that change', async (t) => {
  await makeUser('forced', { must_change_password: true })
  const opened = await restrictedCallersSend('POST', '/user/signin', { body: { username: 'forced', password } })
  t.is(opened.status, 200)
  const cookies = [opened.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] as string)
  const csrf = cookies.find((cookie) => cookie.startsWith('_csrf='))?.slice('_csrf='.length) ?? ''
  const bySession = { headers: { Cookie: cookies.join('; '), 'X-Csrf-Token': csrf } }
  const byPassword = { basic: ['forced', password] } as const
  const token = await restrictedCallersService.tokenFor('forced')
  for (const by of [bySession, byPassword]) {
    for (const [method, path, body] of [
      ...ownThings,
      ['GET', '/users/forced/tokens'],
      ['GET', '/orgs/forced/members'],
    ] as const) {
      const refused = await restrictedCallersSend(method, path, { ...by, ...(body === undefined ? {} : { body }) })
      if ('basic' in by || !path.endsWith('/tokens'))
        t.is(`${refused.status} ${refused.json.code}`, '403 PasswordChangeRequired', `${method} ${path}`)
      if (refused.status === 403) t.true((refused.json.message as string).includes('/user/settings/account/password'))
    }
    t.is((await restrictedCallersSend('GET', '/user', by)).json.login, 'forced')
    // On a public route such a user is nobody.
    t.is(
      (await restrictedCallersSend('GET', '/users/forced', by)).json.email,
      (await restrictedCallersSend('GET', '/users/forced')).json.email,
    )
  }
  t.is((await restrictedCallersSend('GET', '/user/emails', { token })).status, 200, 'tokens are not concerned')
  const change = (text: string) =>
    restrictedCallersSend('POST', '/user/settings/account/password', {
      ...bySession,
      body: { old_password: password, password: text },
    })
  t.is((await change(password)).status, 422)
  t.is((await change('another long phrase')).status, 200)
  t.is((await restrictedCallersSend('GET', '/user/emails', bySession)).status, 200)
  t.is((await restrictedCallersSend('GET', '/user/emails', { basic: ['forced', 'another long phrase'] })).status, 200)
  t.is((await restrictedCallersSend('GET', '/user/signout', bySession)).status, 200)
})

test('a user made without saying so need not change the password', async (t) => {
  await makeUser('free')
  t.is((await restrictedCallersSend('GET', '/user/emails', { basic: ['free', password] })).status, 200)
})

test("a confined or public token does not reach its owner's objects", async (t) => {
  const userId = await makeUser('holder')
  const ownToken = await restrictedCallersService.tokenFor('holder')
  const [inside, outside] = await Promise.all(
    ['inside', 'outside'].map(
      async (username) =>
        (
          await valueOf(
            clientAs(restrictedCallersService, { token: ownToken }).call(createOrganization, {
              body: { username, visibility: 'private' },
            }),
          )
        ).id,
    ),
  )
  const confined = await confinedToken(userId, inside as OrgId)
  const publicOnly = await restrictedCallersService.tokenFor('holder', ['all', 'public-only'])
  for (const token of [confined, publicOnly]) {
    for (const [method, path, body] of ownThings) {
      const refused = await restrictedCallersSend(method, path, { token, ...(body === undefined ? {} : { body }) })
      t.is(`${refused.status} ${refused.json.code}`, '403 AccessDenied', `${method} ${path}`)
    }
    const caller = await valueOf(clientAs(restrictedCallersService, { token }).call(getCaller))
    t.is(caller.login, 'holder')
    t.not(caller.email, 'holder@example.org')
    t.is((await restrictedCallersSend('GET', '/orgs/outside', { token })).status, 404)
    t.is((await restrictedCallersSend('GET', '/orgs/outside/members', { token })).status, 404)
    t.is((await restrictedCallersSend('DELETE', '/orgs/inside', { token: publicOnly })).status, 404)
  }
  t.is((await restrictedCallersSend('GET', '/orgs/inside/members', { token: confined })).status, 200)
  const organizationIds = async (token: string) =>
    (await valueOf(clientAs(restrictedCallersService, { token }).call(listOwnOrganizations))).items.map(({ id }) => id)
  t.deepEqual(await organizationIds(confined), [inside])
  t.deepEqual(await organizationIds(publicOnly), [])
  t.true(outside !== inside)
})

test("refused sign-ins are in the account's log as one counted row", async (t) => {
  await makeUser('watched')
  const token = await restrictedCallersService.tokenFor('watched')
  for (let i = 0; i < 3; i++) {
    await restrictedCallersSend('POST', '/user/signin', { body: { username: 'watched', password: 'wrong' } })
    await restrictedCallersSend('GET', '/user', { basic: ['Watched@example.org', 'wrong'] })
  }
  const seen = async () =>
    (await restrictedCallersSend('GET', '/user/audit?action=user.sign_in_refused', { token })).json as {
      action: string
      operation: string
      tenant_id: number
    }[]
  let events = await seen()
  for (let i = 0; i < 50 && events.length < 2; i++) events = await seen()
  t.deepEqual(
    events.map(({ action }) => action),
    ['user.sign_in_refused', 'user.sign_in_refused'],
  )
})

test('administrators unlock by route with 204, 404 or 403', async (t) => {
  await makeUser('stuck')
  for (let i = 0; i < 5; i++) await restrictedCallersSend('GET', '/user', { basic: ['stuck', 'wrong'] })
  t.is((await restrictedCallersSend('GET', '/user', { basic: ['stuck', password] })).status, 401)
  const stranger = await restrictedCallersService
    .tokenFor('free')
    .catch(async () => (await makeUser('free'), restrictedCallersService.tokenFor('free')))
  t.is((await restrictedCallersSend('POST', '/admin/users/stuck/unlock', { token: stranger })).status, 403)
  t.is((await restrictedCallersSend('POST', '/admin/users/stuck/unlock', admin())).status, 204)
  t.is((await restrictedCallersSend('GET', '/user', { basic: ['stuck', password] })).status, 200)
  t.is((await restrictedCallersSend('POST', '/admin/users/no-such-one/unlock', admin())).status, 404)
})
