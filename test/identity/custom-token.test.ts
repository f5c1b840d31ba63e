import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { checkExtIdp } from '../../composition/cli/doctor-checks.ts'
import type { Finding } from '../../composition/cli/doctor-checks.ts'
import { loadConfig } from '../../composition/config/config.ts'
import { startService, type TestService } from '../support/service.ts'

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
const signing = (key: KeyObject) => settings({ MOORAGE_EXTIDP_KEY: keyFile(key), MOORAGE_EXTIDP_ISSUER: 'https://moorage.example.com', MOORAGE_EXTIDP_AUDIENCE: 'https://idp.example.com' })
const ask = (service: TestService, token = service.adminToken, more = '') => service.send('GET', `/api/v1/user/extidp-token${more}`, { token })
const expected = { issuer: 'https://moorage.example.com', audience: 'https://idp.example.com' }

for (const [algorithm, key] of [['RS256', rsa], ['ES256', ec]] as const) {
  test(`a token is signed by ${algorithm}, tells who signs in, and holds for an hour at most`, async (t) => {
    const service = await startService({ settings: signing(key) })
    t.teardown(() => service.stop())
    const answer = await ask(service)
    t.is(answer.status, 200, answer.text)
    t.deepEqual(Object.keys(answer.json as object), ['customToken'])
    const { customToken } = answer.json as { customToken: string }
    const { payload } = await jwtVerify(customToken, createPublicKey(key), expected)
    const me = (await service.send('GET', '/api/v1/user', { token: service.adminToken })).json as { id: number; login: string; email: string }
    t.is(decodeProtectedHeader(customToken).alg, algorithm)
    t.like(payload, { sub: String(me.id), uid: String(me.id), claims: { email: 'admin@example.com', login: me.login } })
    t.true((payload.exp ?? 0) - (payload.iat ?? 0) <= 3600)
    t.true(Math.abs((payload.iat ?? 0) - Date.now() / 1000) < 60)
    t.false(service.logText().includes(customToken.split('.')[2] ?? ''))
    const again = (await ask(service)).json as { customToken: string }
    t.not((await jwtVerify(again.customToken, createPublicKey(key), expected)).payload.jti, payload.jti)
    const log = await service.send('GET', '/api/v1/user/audit', { token: service.adminToken })
    t.true(log.text.includes('user.custom_token_issued'))
    t.false(log.text.includes(customToken.split('.')[2] ?? ''))
  })
}

test('a changed token, another key, another audience and the time after its end are refused', async (t) => {
  const service = await startService({ settings: signing(ec) })
  t.teardown(() => service.stop())
  const { customToken } = (await ask(service)).json as { customToken: string }
  const key = createPublicKey(ec)
  const [head, payload, signature] = customToken.split('.') as [string, string, string]
  const changed = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), uid: '1000' }
  const tampered = [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.')
  await t.throwsAsync(jwtVerify(tampered, key, expected), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
  await t.throwsAsync(jwtVerify(customToken, createPublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), expected), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
  await t.throwsAsync(jwtVerify(customToken, key, { ...expected, audience: 'https://other.example.com' }), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
  await t.throwsAsync(jwtVerify(customToken, key, { ...expected, currentDate: new Date(Date.now() + 3_700_000) }), { code: 'ERR_JWT_EXPIRED' })
})

test('it never outlives the access token that asks', async (t) => {
  const service = await startService({ settings: signing(ec) })
  t.teardown(() => service.stop())
  const expTime = Math.ceil(Date.now() / 1000) + 120
  const made = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', { token: service.adminToken, body: { name: 'brief', expTime, scopes: ['all'] } })
  t.is(made.status, 201, made.text)
  const { customToken } = (await ask(service, (made.json as { token: string }).token)).json as { customToken: string }
  t.true(((await jwtVerify(customToken, createPublicKey(ec), expected)).payload.exp ?? 0) <= expTime)
})

test('the route refuses callers without a credential, sudo, and tokens that may only read; it does not exist elsewhere', async (t) => {
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
const wrongKeys: Readonly<Record<string, { readonly given: () => Readonly<Record<string, string>>; readonly says: RegExp; readonly doctor: RegExp; readonly state: Finding['state'] }>> = {
  'no key': { given: () => ({}), says: /MOORAGE_EXTIDP_KEY/, doctor: /MOORAGE_EXTIDP_KEY.*503/, state: 'warning' },
  'no audience': { given: () => ({ MOORAGE_EXTIDP_KEY: keyFile(ec) }), says: /MOORAGE_EXTIDP_AUDIENCE/, doctor: /MOORAGE_EXTIDP_AUDIENCE/, state: 'warning' },
  'a file that is not there': { given: () => ({ MOORAGE_EXTIDP_KEY: join(folder, 'absent.pem'), MOORAGE_EXTIDP_AUDIENCE: 'a' }), says: /MOORAGE_EXTIDP_KEY/, doctor: /cannot be read \(ENOENT\)/, state: 'problem' },
  'a weak key': { given: () => ({ MOORAGE_EXTIDP_KEY: keyFile(weak), MOORAGE_EXTIDP_AUDIENCE: 'a' }), says: /MOORAGE_EXTIDP_KEY/, doctor: /at least 2048 bits/, state: 'problem' },
}
for (const [what, { given, says, doctor, state }] of Object.entries(wrongKeys)) {
  test(`with ${what} the service starts, the route says 503 and the setting, and doctor says why`, async (t) => {
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
