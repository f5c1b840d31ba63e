import test from 'ava'
import * as client from 'openid-client'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

let fixture: FlowFixture
let program: Registered
let config: client.Configuration

test.before(async () => {
  fixture = await startFlowFixture()
  program = await fixture.register('ada', { name: 'A command line', isPublic: true, redirectUri: 'http://127.0.0.1/' })
  config = await fixture.configOf(program)
})
test.after.always(() => fixture.stop())

const signedIn = async (login: string) => {
  const browser = fixture.browser()
  await browser.signIn(login)
  return browser
}

const begin = (scope = 'openid offline_access read:user') => client.initiateDeviceAuthorization(config, { scope })

/** Asks for the token of a device once. Returns it, or the code of the error. */
const poll = async (device_code: string): Promise<{ readonly access_token?: string; readonly error?: string }> => {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: program.clientId,
    device_code,
  })
  return (await fetch(`${fixture.issuer}/token`, { method: 'POST', body })).json() as Promise<{ access_token?: string }>
}

test('a program on another device gets a token after the person has allowed it', async (t) => {
  const { device_code, user_code, verification_uri_complete = '' } = await begin()
  const browser = await signedIn('ed')
  const page = await browser.visit(verification_uri_complete)
  t.is(page.pathname, '/device')
  t.is(page.searchParams.get('user_code'), user_code)
  t.is((await poll(device_code)).error, 'authorization_pending')
  const shown = await browser.send('POST', '/user/devices/search', {
    user_code: user_code.toLowerCase().replace('-', ' '),
  })
  t.like(shown.json, { application: 'A command line', needs_consent: true, source_ip: '127.0.0.1' })
  t.is((await poll(device_code)).error, 'authorization_pending')
  t.is((await browser.send('POST', '/user/devices', { user_code, is_accepted: true })).status, 200)
  const { access_token = '' } = await poll(device_code)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: access_token })).json.login, 'ed')
})

test('a device code is exchanged once, and its second use ends the grant', async (t) => {
  const { device_code, user_code } = await begin()
  await (await signedIn('vic')).send('POST', '/user/devices', { user_code, is_accepted: true })
  const { access_token = '' } = await poll(device_code)
  t.is((await poll(device_code)).error, 'invalid_grant')
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: access_token })).status, 401)
})

test('a person who refuses a device gives it nothing', async (t) => {
  const { device_code, user_code } = await begin()
  const browser = await signedIn('ed')
  t.is((await browser.send('POST', '/user/devices', { user_code, is_accepted: false })).status, 200)
  t.is((await poll(device_code)).error, 'access_denied')
  t.is((await browser.send('POST', '/user/devices', { user_code, is_accepted: true })).status, 404)
})

test('a code that was answered, and an unknown one, are answered alike', async (t) => {
  const { user_code } = await begin()
  const browser = await signedIn('ed')
  await browser.send('POST', '/user/devices', { user_code, is_accepted: true })
  const used = await browser.send('POST', '/user/devices/search', { user_code })
  const unknown = await browser.send('POST', '/user/devices/search', { user_code: 'BBBB-BBBB' })
  t.deepEqual([used.status, unknown.status], [404, 404])
  t.is(used.json.message, unknown.json.message)
})

test('guesses of user codes are bounded', async (t) => {
  const browser = await signedIn('cleo')
  const guess = async () => (await browser.send('POST', '/user/devices/search', { user_code: 'BCDF-GHJK' })).status
  const answers: number[] = []
  for (let tries = 0; tries < 31; tries += 1) answers.push(await guess())
  t.deepEqual(
    answers.slice(0, 30),
    Array.from({ length: 30 }, () => 404),
  )
  t.is(answers[30], 429)
})

test('an access token answers no device, and neither does a page of another site', async (t) => {
  const { user_code } = await begin()
  t.is((await fixture.as('adam', 'POST', '/user/devices', { user_code, is_accepted: true })).status, 403)
  const browser = await signedIn('adam')
  const headers = { ...browser.jar.headers('/api/v1/user/devices'), 'Sec-Fetch-Site': 'cross-site' }
  const body = { user_code, is_accepted: true }
  t.is((await fixture.service.send('POST', '/api/v1/user/devices', { headers, body })).status, 403)
})

test('sign-out before the device has its token gives it none', async (t) => {
  const { device_code, user_code } = await begin()
  const browser = await signedIn('vic')
  await browser.send('POST', '/user/devices', { user_code, is_accepted: true })
  await browser.send('GET', '/user/signout')
  t.is((await poll(device_code)).error, 'invalid_grant')
})
