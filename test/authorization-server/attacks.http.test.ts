import test from 'ava'
import * as client from 'openid-client'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { redirectUri, startFlowFixture } from './flow.fixture.ts'

let fixture: FlowFixture
let application: Registered
let config: client.Configuration

test.before(async () => {
  fixture = await startFlowFixture()
  application = await fixture.register('ada')
  config = await fixture.configOf(application)
})
test.after.always(() => fixture.stop())

/** Returns the status and the body of a GET without following a redirect. */
const open = async (url: URL | string, cookie = '') => {
  const reply = await fetch(url, { redirect: 'manual', headers: { cookie } })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

const signedIn = async (login: string) => {
  const browser = fixture.browser()
  await browser.signIn(login)
  return browser
}

const token = async (body: Record<string, string>, { clientId, clientSecret } = application) =>
  fetch(`${fixture.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams(body),
  })

/** Signs a person in, and returns the code with what is needed to exchange it. */
const codeFor = async (login: string, scope = 'openid read:user') => {
  const { url, verifier } = await fixture.begin(config, scope)
  const returned = await (await signedIn(login)).authorize(url)
  return {
    grant_type: 'authorization_code',
    code: returned.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: verifier,
  }
}

const tricks = [
  `${redirectUri}/more`,
  `${redirectUri}?x=1`,
  `${redirectUri}#x`,
  'https://app.example.com/Callback',
  'https://app.example.com:444/callback',
  'https://app.example.com.evil.test/callback',
  'https://user@app.example.com/callback',
  'https://app.example.com@evil.test/callback',
  'https://app.example.com/callback/../other',
  'https://app.example.com/%63allback',
  'https://app.example.com\\.evil.test/callback',
  'http://app.example.com/callback',
  'https://*.example.com/callback',
  'javascript:alert(1)',
  '//evil.test/callback',
]
for (const trick of tricks)
  test(`no browser is sent to ${trick}`, async (t) => {
    const { url } = await fixture.begin(config, 'openid', { redirect_uri: trick })
    const answer = await open(url)
    t.is(answer.status, 400)
    t.is(answer.headers.get('location'), null)
  })

test('a request without PKCE, or with its plain form, is refused', async (t) => {
  const { url } = await fixture.begin(config, 'openid')
  const plain = new URL(url)
  plain.searchParams.set('code_challenge_method', 'plain')
  url.searchParams.delete('code_challenge')
  url.searchParams.delete('code_challenge_method')
  for (const each of [url, plain]) {
    const location = new URL((await open(each)).headers.get('location') ?? 'none:')
    t.is(location.searchParams.get('error'), 'invalid_request')
    t.is(location.searchParams.get('iss'), fixture.issuer)
  }
})

test('the implicit and hybrid flows are refused', async (t) => {
  for (const response_type of ['token', 'id_token', 'code id_token', 'code token']) {
    const { url } = await fixture.begin(config, 'openid')
    url.searchParams.set('response_type', response_type)
    const { status, headers, text } = await open(url)
    t.regex(`${headers.get('location') ?? ''} ${text}`, /unsupported_response_type/, `${response_type} ${status}`)
  }
})

test('a code is exchanged with its own verifier, redirect URI and application only', async (t) => {
  const other = await fixture.register('eve', { name: 'Another' })
  const sent = await codeFor('ed')
  for (const wrong of [
    { ...sent, code_verifier: client.randomPKCECodeVerifier() },
    { ...sent, redirect_uri: 'https://app.example.com/other' },
  ])
    t.is((await token(wrong)).status, 400)
  t.is((await token(sent, other)).status, 400)
  t.is((await token({ ...sent, code_verifier: '' })).status, 400)
  t.is((await token(sent, { ...application, clientSecret: 'a wrong secret' })).status, 401)
  t.is((await token(sent)).status, 200)
})

test('of 50 exchanges of one code one succeeds, and its token is dead', async (t) => {
  const sent = await codeFor('ed')
  const answers = await Promise.all(Array.from({ length: 50 }, () => token(sent)))
  const won = answers.filter(({ status }) => status === 200)
  t.is(won.length, 1)
  const { access_token } = (await won[0]?.json()) as { access_token: string }
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: access_token })).status, 401)
})

test('a code that is used again ends the token of its first use', async (t) => {
  const sent = await codeFor('vic')
  const { access_token } = (await (await token(sent)).json()) as { access_token: string }
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: access_token })).status, 200)
  t.is((await token(sent)).status, 400)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: access_token })).status, 401)
})

test('a client refuses the answer of another issuer', async (t) => {
  const { url, verifier, state, nonce } = await fixture.begin(config, 'openid')
  const returned = await (await signedIn('ed')).authorize(url)
  returned.searchParams.set('iss', 'https://evil.test')
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  await t.throwsAsync(client.authorizationCodeGrant(config, returned, checks))
})

test('a question is answered in the browser that the application sent, and in no other', async (t) => {
  const attacker = await signedIn('eve')
  const { url } = await fixture.begin(config, 'openid')
  const page = await attacker.visit(url)
  const [id, key] = [page.searchParams.get('id'), page.searchParams.get('key')]
  const victim = await signedIn('ed')
  const { url: own } = await fixture.begin(config, 'openid')
  await victim.visit(own)
  const answer = await victim.send('POST', '/user/authorizations', { id, key, is_accepted: true })
  t.is(answer.status, 404)
  t.is((await victim.send('GET', `/user/authorizations?id=${id}&key=${key}`)).status, 404)
})

test('a consent needs the CSRF token of the session, and a page of this service', async (t) => {
  const browser = await signedIn('ed')
  const { url } = await fixture.begin(config, 'openid')
  const page = await browser.visit(url)
  const body = { id: page.searchParams.get('id'), key: page.searchParams.get('key'), is_accepted: true }
  const { 'X-Csrf-Token': csrf, ...headers } = browser.jar.headers('/api/v1/user/authorizations')
  const send = (more: object) =>
    fixture.service.send('POST', '/api/v1/user/authorizations', { headers: { ...headers, ...more }, body })
  t.is((await send({})).status, 403)
  t.is((await send({ 'X-Csrf-Token': csrf ?? '', 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  t.is((await send({ 'X-Csrf-Token': csrf ?? '' })).status, 200)
})

test('an access token answers no question of an application', async (t) => {
  const answer = await fixture.as('ed', 'POST', '/user/authorizations', { id: 'a', key: 'b', is_accepted: true })
  t.is(answer.status, 404)
})

test('pages cannot be framed, and scripts of others do not run', async (t) => {
  const { url } = await fixture.begin(config, 'openid', { redirect_uri: 'https://evil.test' })
  for (const each of [url, `${fixture.service.baseUrl}/authorize`, `${fixture.service.baseUrl}/device`]) {
    const policy = (await open(each)).headers.get('content-security-policy') ?? ''
    t.regex(policy, /frame-ancestors 'none'/)
    t.regex(policy, /default-src 'none'/)
    t.notRegex(policy, /unsafe/)
  }
})

test('an error page shows what was sent as text', async (t) => {
  const { url } = await fixture.begin(config, 'openid', { redirect_uri: 'https://evil.test/<script>alert(1)</script>' })
  t.notRegex((await open(url)).text, /<script>alert/)
})

test('a person who refuses gives the application an error', async (t) => {
  const { url, state } = await fixture.begin(config, 'openid write:cluster')
  const returned = await (await signedIn('vic')).authorize(url, false)
  t.is(returned.searchParams.get('error'), 'access_denied')
  t.is(returned.searchParams.get('state'), state)
})

test('consent is asked for new scopes only, and never for a trusted application', async (t) => {
  const other = await fixture.register('eve', { name: 'Asks once' })
  const browser = await signedIn('adam')
  const asks = async (scope: string) => {
    const page = await browser.visit(
      (await fixture.begin(await fixture.configOf(other), scope, { prompt: 'login' })).url,
    )
    const shown = await browser.send('GET', `/user/authorizations${page.search}`)
    return (shown.json as { needs_consent: boolean }).needs_consent
  }
  t.true(await asks('openid profile'))
  await fixture.tokensFor(other, 'adam', 'openid profile')
  t.false(await asks('openid profile'))
  t.true(await asks('openid profile email'))
  await fixture.as('admin', 'PUT', `/accounts/admin/applications/oauth2/${other.id}/trust`, { isTrusted: true })
  t.false(await asks('openid profile email'))
})

test('an application that demands a new sign-in gets no older one', async (t) => {
  const browser = await signedIn('ed')
  const { url } = await fixture.begin(config, 'openid', { prompt: 'login' })
  const page = await browser.visit(url)
  const body = { id: page.searchParams.get('id'), key: page.searchParams.get('key'), is_accepted: true }
  await new Promise((resolve) => setTimeout(resolve, 0))
  const shown = await browser.send('GET', `/user/authorizations${page.search}`)
  const { must_sign_in_again: must } = shown.json as { must_sign_in_again: boolean }
  t.is((await browser.send('POST', '/user/authorizations', body)).status, must ? 409 : 200)
})

test('a token of the wrong form, and of another service, opens nothing', async (t) => {
  const tokens = await fixture.tokensFor(application, 'ed', 'openid offline_access read:user')
  for (const each of [tokens.id_token ?? '', tokens.refresh_token ?? '', `${tokens.access_token}x`])
    t.is((await fixture.service.send('GET', '/api/v1/user', { token: each })).status, 401)
  const personal = await fixture.service.tokenFor('ed')
  t.is((await client.tokenIntrospection(config, personal)).active, false)
})

test('a path below the issuer without an endpoint is not found', async (t) => {
  for (const path of ['/oidc', '/oidc/', '/oidc/reg', '/oidc/interaction/x', '/oidc/../user', '/oidc/par', '/oidcx'])
    t.is((await fixture.service.send('GET', path, { headers: { accept: 'application/json' } })).status, 404, path)
})
