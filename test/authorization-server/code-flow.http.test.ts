import test from 'ava'
import * as client from 'openid-client'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

let fixture: FlowFixture
let application: Registered

test.before(async () => {
  fixture = await startFlowFixture()
  application = await fixture.register('ada')
})
test.after.always(() => fixture.stop())

const user = (token: string) => fixture.service.send('GET', '/api/v1/user', { token })
const isRefused = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return (error as { readonly error?: string }).error ?? String(error)
  }
  return 'accepted'
}

test('a person signs in at an application with code and PKCE', async (t) => {
  const tokens = await fixture.tokensFor(application, 'ed', 'openid profile email groups')
  const claims = tokens.claims()
  t.is(claims?.sub, String(fixture.idOf('ed')))
  t.is(claims?.['preferred_username'], 'ed')
  t.is(claims?.['email'], 'ed@example.org')
  t.is(claims?.['email_verified'], true)
  t.deepEqual(claims?.['groups'], ['acme', 'acme:Editors'])
  const config = await fixture.configOf(application)
  const info = await client.fetchUserInfo(config, tokens.access_token, String(fixture.idOf('ed')))
  t.is(info.preferred_username, 'ed')
  t.is(tokens.refresh_token, undefined)
  t.is((await user(tokens.access_token)).status, 403)
})

test('an access token has the scopes that were allowed and no others', async (t) => {
  const { access_token: token } = await fixture.tokensFor(application, 'ed', 'read:user')
  const shown = await user(token)
  t.is(shown.status, 200)
  t.is((shown.json as { login: string }).login, 'ed')
  t.is(
    (await fixture.service.send('POST', '/api/v1/user/emails', { token, body: { emails: ['x@y.test'] } })).status,
    403,
  )
  t.is((await fixture.as('ed', 'GET', '/users/ed')).status, 200)
})

test('the token of an organization application reaches that organization only', async (t) => {
  const ofAcme = await fixture.register('ada', {}, '/orgs/acme/applications/oauth2')
  const tokens = await fixture.tokensFor(ofAcme, 'ed', 'openid groups read:organization')
  t.is((await fixture.service.send('GET', '/api/v1/orgs/acme/teams', { token: tokens.access_token })).status, 200)
  t.deepEqual(tokens.claims()?.['groups'], ['acme', 'acme:Editors'])
  const ofEvil = await fixture.register('eve', {}, '/orgs/evil/applications/oauth2')
  const others = await fixture.tokensFor(ofEvil, 'ed', 'openid groups read:organization')
  t.is((await fixture.service.send('GET', '/api/v1/orgs/acme/teams', { token: others.access_token })).status, 404)
  t.deepEqual(others.claims()?.['groups'], [])
})

test('a refresh token is replaced at each use', async (t) => {
  const first = await fixture.tokensFor(application, 'vic', 'openid offline_access read:user')
  const config = await fixture.configOf(application)
  const second = await client.refreshTokenGrant(config, first.refresh_token ?? '')
  t.not(second.refresh_token, first.refresh_token)
  t.is((await user(second.access_token)).status, 200)
})

test('a refresh token that was used before ends the whole grant', async (t) => {
  const first = await fixture.tokensFor(application, 'vic', 'openid offline_access read:user')
  const config = await fixture.configOf(application)
  const second = await client.refreshTokenGrant(config, first.refresh_token ?? '')
  t.is(await isRefused(client.refreshTokenGrant(config, first.refresh_token ?? '')), 'invalid_grant')
  t.is(await isRefused(client.refreshTokenGrant(config, second.refresh_token ?? '')), 'invalid_grant')
  t.is((await user(second.access_token)).status, 401)
  t.is((await user(first.access_token)).status, 401)
})

test('a refresh asks for no scope that was not allowed', async (t) => {
  const { refresh_token = '' } = await fixture.tokensFor(application, 'vic', 'offline_access read:user')
  const config = await fixture.configOf(application)
  t.is(
    await isRefused(client.refreshTokenGrant(config, refresh_token, { scope: 'read:user write:user' })),
    'invalid_scope',
  )
})

test('sign-out ends the access token, and not that of an offline grant', async (t) => {
  const browser = fixture.browser()
  await browser.signIn('cleo')
  const bound = await fixture.tokensFor(application, 'cleo', 'openid read:user', browser)
  const offline = await fixture.tokensFor(application, 'cleo', 'openid offline_access read:user')
  t.is((await user(bound.access_token)).status, 200)
  await browser.send('GET', '/user/signout')
  t.is((await user(bound.access_token)).status, 401)
  t.is((await user(offline.access_token)).status, 200)
})

test('withdrawal ends tokens, refresh and the listed consent', async (t) => {
  const other = await fixture.register('eve', { name: 'Withdrawn' })
  const tokens = await fixture.tokensFor(other, 'adam', 'openid offline_access read:user')
  const list = async () =>
    (
      (await fixture.as('adam', 'GET', '/user/settings/applications/oauth2/grants')).json as { applicationId: number }[]
    ).filter(({ applicationId }) => applicationId === other.id)
  t.is((await list()).length, 1)
  t.is((await fixture.as('adam', 'POST', `/user/settings/applications/oauth2/${other.id}/revoke`)).status, 200)
  t.is((await list()).length, 0)
  t.is((await user(tokens.access_token)).status, 401)
  const config = await fixture.configOf(other)
  t.is(await isRefused(client.refreshTokenGrant(config, tokens.refresh_token ?? '')), 'invalid_grant')
})

test('a removed application ends its tokens', async (t) => {
  const other = await fixture.register('eve', { name: 'Removed' })
  const tokens = await fixture.tokensFor(other, 'adam', 'openid read:user')
  t.is((await fixture.as('eve', 'DELETE', `/user/settings/applications/oauth2/${other.id}`)).status, 200)
  t.is((await user(tokens.access_token)).status, 401)
})

test('a disabled account gets no token and loses those it has', async (t) => {
  const tokens = await fixture.tokensFor(application, 'sam', 'openid offline_access read:user')
  const config = await fixture.configOf(application)
  t.is((await fixture.as('admin', 'PATCH', '/admin/users/sam', { active: false })).status, 200)
  t.is((await user(tokens.access_token)).status, 401)
  t.is(await isRefused(client.refreshTokenGrant(config, tokens.refresh_token ?? '')), 'invalid_grant')
  await fixture.as('admin', 'PATCH', '/admin/users/sam', { active: true })
})

test('revocation ends a token, and introspection says so', async (t) => {
  const { access_token } = await fixture.tokensFor(application, 'ed', 'openid read:user')
  const config = await fixture.configOf(application)
  const shown = await client.tokenIntrospection(config, access_token)
  t.is(shown.active, true)
  t.is(shown.sub, String(fixture.idOf('ed')))
  await client.tokenRevocation(config, access_token)
  t.is((await client.tokenIntrospection(config, access_token)).active, false)
  t.is((await user(access_token)).status, 401)
})

test('an application introspects no token of another one', async (t) => {
  const { access_token } = await fixture.tokensFor(application, 'ed', 'openid')
  const other = await fixture.register('eve', { name: 'Curious' })
  t.is((await client.tokenIntrospection(await fixture.configOf(other), access_token)).active, false)
  await fixture.as('admin', 'PUT', `/accounts/admin/applications/oauth2/${other.id}/trust`, { isTrusted: true })
  t.is((await client.tokenIntrospection(await fixture.configOf(other), access_token)).active, true)
})

test('a rotated secret leaves the former one valid for a while', async (t) => {
  const other = await fixture.register('eve', { name: 'Rotated' })
  const path = `/user/settings/applications/oauth2/${other.id}/regenerate_secret`
  const clientSecret = (await fixture.as('eve', 'POST', path)).json as unknown as string
  t.truthy((await fixture.tokensFor({ ...other, clientSecret }, 'ed', 'openid')).id_token)
  t.truthy((await fixture.tokensFor(other, 'ed', 'openid')).id_token)
  await fixture.as('eve', 'POST', path)
  t.not(await isRefused(fixture.tokensFor(other, 'ed', 'openid')), 'accepted')
})

test('a program that keeps no secret signs in on a free loopback port', async (t) => {
  const native = await fixture.register('ada', { isPublic: true, redirectUri: 'http://127.0.0.1/callback' })
  t.is(native.clientSecret, '')
  const config = await fixture.configOf(native)
  const browser = fixture.browser()
  await browser.signIn('ed')
  const redirect_uri = 'http://127.0.0.1:49152/callback'
  const { url, verifier, state } = await fixture.begin(config, 'read:user', { redirect_uri })
  const returned = await browser.authorize(url)
  t.is(returned.port, '49152')
  const tokens = await client.authorizationCodeGrant(config, returned, {
    pkceCodeVerifier: verifier,
    expectedState: state,
  })
  t.is((await user(tokens.access_token)).status, 200)
})

test('metadata is where RFC 8414, RFC 9728 and OpenID Connect look for it', async (t) => {
  const { baseUrl } = fixture.service
  for (const path of ['/oidc/.well-known/openid-configuration', '/.well-known/oauth-authorization-server/oidc']) {
    const { issuer, registration_endpoint } = (await fixture.service.send('GET', path)).json
    t.is(issuer, `${baseUrl}/oidc`)
    t.is(registration_endpoint, undefined)
  }
  const resource = await fixture.service.send('GET', '/.well-known/oauth-protected-resource/api/v1')
  t.deepEqual(resource.json['authorization_servers'], [`${baseUrl}/oidc`])
})

test('an application is registered, changed and shown as it was sent', async (t) => {
  const path = '/user/settings/applications/oauth2'
  const form = {
    name: 'Kept',
    redirectUri: 'https://a.example.com/\nhttps://b.example.com/x',
    postLogoutRedirectUri: 'https://a.example.com/out',
    backChannelLogoutUri: 'https://a.example.com/logout',
    isPublic: false,
  }
  const { id } = await fixture.register('cleo', form)
  const shown = async () => (await fixture.as('cleo', 'GET', `${path}/${id}`)).json as Record<string, unknown>
  const before = await shown()
  t.deepEqual(before['redirectURIs'], ['https://a.example.com/', 'https://b.example.com/x'])
  t.deepEqual(before['postLogoutRedirectURIs'], ['https://a.example.com/out'])
  t.is(before['backChannelLogoutURI'], 'https://a.example.com/logout')
  t.is(before['clientSecret'], '')
  await fixture.as('cleo', 'PUT', `${path}/${id}`, { name: 'Renamed', redirectUri: 'https://c.example.com/' })
  const { updatedAt, ...after } = await shown()
  t.is(typeof updatedAt, 'number')
  t.like(after, { name: 'Renamed', redirectURIs: ['https://c.example.com/'], clientId: before['clientId'] })
  t.deepEqual(after['postLogoutRedirectURIs'], before['postLogoutRedirectURIs'])
  t.is((await fixture.as('cleo', 'PUT', `${path}/${id}`, { isPublic: true })).status, 422)
  t.is((await fixture.as('ed', 'GET', `${path}/${id}`)).status, 404)
  for (const redirectUri of ['http://evil.test/', 'https://x.test/#a', 'javascript:alert(1)'])
    t.is((await fixture.as('cleo', 'POST', path, { name: 'No', redirectUri })).status, 422)
})

test('an application of an organization acts for itself as a robot account', async (t) => {
  const path = '/orgs/acme/applications/oauth2'
  const robot = (await fixture.as('ada', 'POST', '/orgs/acme/robots', { name: 'deployer', description: '' })).json.id
  const application = await fixture.register('ada', { redirectUri: '', robotId: robot }, path)
  const config = await fixture.configOf(application)
  const scope = 'read:user write:cluster write:admin'
  const tokens = await client.clientCredentialsGrant(config, { scope })
  const shown = await user(tokens.access_token)
  t.is(shown.json.login, 'acme+deployer')
  t.is((await fixture.service.send('GET', '/api/v1/admin/users', { token: tokens.access_token })).status, 403)
  t.is((await client.tokenIntrospection(config, tokens.access_token)).active, true)
  await fixture.as('ada', 'PATCH', '/orgs/acme/robots/deployer', { active: false })
  t.is((await user(tokens.access_token)).status, 401)
  t.is((await fixture.as('eve', 'POST', '/orgs/evil/applications/oauth2', { name: 'x', robotId: robot })).status, 422)
  t.is(
    (await fixture.as('ada', 'POST', '/user/settings/applications/oauth2', { name: 'x', robotId: robot })).status,
    422,
  )
  const plain = await fixture.configOf(await fixture.register('ada', {}, path))
  t.not(await isRefused(client.clientCredentialsGrant(plain, { scope })), 'accepted')
})
