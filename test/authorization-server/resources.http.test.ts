import test from 'ava'
import * as client from 'openid-client'
import { importCluster } from '../clusters/cluster-fixture.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

/** Tokens for one resource (RFC 8707): the API, or a cluster in it. */

let fixture: FlowFixture
let kubernetes: FakeKubernetes
let application: Registered
let api: string

test.before(async () => {
  kubernetes = await startFakeKubernetes()
  fixture = await startFlowFixture({ settings: { MOORAGE_KUBERNETES_ALLOW: 'loopback' } })
  application = await fixture.register('ada')
  api = `${fixture.service.baseUrl}/api/v1`
  const token = await fixture.service.tokenFor('ada')
  for (const name of ['prod', 'stage']) {
    const uid = { clusterUID: undefined }
    kubernetes.uid = crypto.randomUUID()
    const imported = await importCluster(fixture.service.send, token, 'acme', name, kubernetes.kubeconfig(), uid)
    if (imported.status !== 200) throw new Error(imported.text)
  }
})
test.after.always(async () => {
  await kubernetes.stop()
  await fixture.stop()
})

/** Signs a person in with these parameters. Returns what the person was asked, and the tokens. */
const signIn = async (
  login: string,
  more: Record<string, string>,
  browser?: ReturnType<FlowFixture['browser']>,
  atToken: Record<string, string> = more,
) => {
  const own = browser ?? fixture.browser()
  if (browser === undefined) await own.signIn(login)
  const config = await fixture.configOf(application)
  const { url, verifier, state, nonce } = await fixture.begin(config, 'openid offline_access write:cluster', more)
  const page = await own.visit(url)
  const query = page.search
  const asked =
    page.pathname === '/authorize' ? (await own.send('GET', `/user/authorizations${query}`)).json : undefined
  const returned = await own.authorize(url)
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  const tokens = await client.authorizationCodeGrant(config, returned, checks, atToken)
  return { config, tokens, browser: own, asked: asked as Record<string, unknown> | undefined }
}

const statusOf = async (token: string, path: string): Promise<number> =>
  (await fixture.service.send('GET', `/api/v1${path}`, { token })).status

const reached = async (token: string) => {
  const paths = ['prod', 'stage'].map((name) => `/clusters/acme/${name}/proxy/version`)
  return Promise.all([...paths, '/user'].map((path) => statusOf(token, path)))
}

test.serial('a token for a cluster opens that cluster only, also after a refresh', async (t) => {
  const resource = `${api}/clusters/acme/prod`
  const { config, tokens, asked, browser } = await signIn('ada', { resource })
  t.true((asked?.['asks_for'] as readonly string[]).includes('Only in the cluster acme/prod'))
  const expected = [200, 404, 403]
  t.deepEqual(await reached(tokens.access_token), expected)
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource })
  t.deepEqual(await reached(renewed.access_token), expected)
  const other = client.refreshTokenGrant(config, renewed.refresh_token ?? '', {
    resource: `${api}/clusters/acme/stage`,
  })
  t.is(
    await other.then(
      () => '',
      (error: { error: string }) => error.error,
    ),
    'invalid_target',
  )
  const again = await signIn('ada', { resource: `${api}/clusters/acme/stage` }, browser)
  t.true(again.asked?.['needs_consent'])
  t.deepEqual(await reached(again.tokens.access_token), [404, 200, 403])
  const wide = await signIn('ada', {}, browser)
  t.true(wide.asked?.['needs_consent'], 'what was allowed for one cluster is no consent for all')
  t.deepEqual(await reached(wide.tokens.access_token), [200, 200, 403])
})

test.serial('a token request without the resource gets no scope of the API', async (t) => {
  const { tokens } = await signIn('ada', { resource: `${api}/clusters/acme/prod` }, undefined, {})
  t.is(tokens.scope, 'openid offline_access')
  t.deepEqual(await reached(tokens.access_token), [403, 403, 403])
})

test.serial('an application that acts for itself gets a token for one cluster', async (t) => {
  const team = (await fixture.as('ada', 'POST', '/orgs/acme/teams', { name: 'Robots', permission: 'write', type: '' }))
    .json as { readonly id: number }
  const robot = (await fixture.as('ada', 'POST', '/orgs/acme/robots', { name: 'app', team_ids: [team.id] })).json
  const robotId = (robot as { readonly id: number }).id
  const own = await fixture.register('ada', { robotId }, '/orgs/acme/applications/oauth2')
  const parameters = { resource: `${api}/clusters/acme/stage`, scope: 'write:cluster write:organization' }
  const tokens = await client.clientCredentialsGrant(await fixture.configOf(own), parameters)
  t.is(tokens.scope, 'write:cluster')
  t.deepEqual(await reached(tokens.access_token), [404, 200, 403])
})

test.serial('a token for the API is none for userinfo', async (t) => {
  const { config, tokens } = await signIn('ada', { resource: api })
  t.deepEqual(await reached(tokens.access_token), [200, 200, 403])
  const told = await client.tokenIntrospection(config, tokens.access_token)
  t.like(told, { active: true, aud: api, scope: 'write:cluster' })
  const info = await fetch(`${fixture.issuer}/me`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
  t.is(info.status, 403)
})

for (const indicator of ['https://elsewhere.example/api', '/clusters/acme/prod', 'clusters/acme/prod?x', 'users'])
  test.serial(`no token is issued for the resource ${indicator}`, async (t) => {
    const resource = indicator.startsWith('http')
      ? indicator
      : `${api}${indicator.startsWith('/') ? '' : '/'}${indicator}`
    const who = indicator === '/clusters/acme/prod' ? 'eve' : 'ada'
    const error = await signIn(who, { resource }).then(
      () => 'accepted',
      (reason: { readonly error?: string }) => reason.error,
    )
    t.is(error, 'invalid_target')
  })
