import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'ava'
import * as jose from 'jose'
import { newObject } from '../usage/events/event-fixture.ts'
import { importCluster } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const jwtType = 'urn:ietf:params:oauth:token-type:jwt'
const audience = 'https://platform.example'

/** Claims of a token of a pipeline, in the form that GitHub Actions publishes. */
const ofPipeline = {
  sub: 'repo:acme/app:ref:refs/heads/main',
  ref: 'refs/heads/main',
  ref_type: 'branch',
  repository: 'acme/app',
  repository_id: '702441',
  repository_owner: 'acme',
  repository_owner_id: '9919',
  repository_visibility: 'private',
  run_id: '1871',
  run_attempt: '1',
  actor: 'ann',
  actor_id: '12',
  event_name: 'push',
  workflow: 'release',
  workflow_ref: 'acme/app/.github/workflows/release.yml@refs/heads/main',
  job_workflow_ref: 'acme/app/.github/workflows/release.yml@refs/heads/main',
  runner_environment: 'github-hosted',
}

interface Issuer {
  readonly url: string
  readonly requests: string[]
  mint(claims: jose.JWTPayload, more?: { readonly kid?: string; readonly key?: jose.CryptoKey }): Promise<string>
  close(): void
}

/** An issuer that publishes its keys as those of pipelines do: it has no authorization endpoint. */
const startIssuer = async (): Promise<Issuer> => {
  const { publicKey, privateKey } = await jose.generateKeyPair('RS256')
  const key = { ...(await jose.exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const requests: string[] = []
  const server = createServer((req, res) => {
    requests.push(req.url ?? '')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    res.setHeader('content-type', 'application/json')
    if (req.url === '/.well-known/openid-configuration')
      res.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }))
    else res.end(JSON.stringify({ keys: [key] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    mint: (claims, { kid = 'one', key: other = privateKey } = {}) =>
      new jose.SignJWT({
        iss: url,
        aud: audience,
        ...ofPipeline,
        jti: crypto.randomUUID(),
        iat: Math.floor(Date.now() / 1000),
        exp: Math.floor(Date.now() / 1000) + 300,
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', kid })
        .sign(other),
    close: () => server.close(),
  }
}

const root = '/orgs/acme/robots/deployer/federated-credentials'
let fixture: ServiceFixture
let issuer: Issuer

const content = (more: object = {}) => ({
  name: 'pipeline',
  issuer: issuer.url,
  audience,
  conditions: [{ claim: 'repository_id', value: '702441' }],
  scopes: ['read:organization', 'read:user'],
  life_seconds: 600,
  ...more,
})

test.before(async () => {
  issuer = await startIssuer()
  fixture = await startFixture({
    settings: {
      MOORAGE_EGRESS_ALLOW: '127.0.0.1',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_KUBERNETES_ALLOW: 'loopback',
    },
  })
  const team = (await fixture.as('ada', 'POST', '/orgs/acme/teams', { name: 'Robots', permission: 'read', type: '' }))
    .json
  await fixture.as('ada', 'POST', '/orgs/acme/robots', { name: 'deployer', team_ids: [(team as { id: number }).id] })
  const made = await fixture.as('ada', 'POST', root, content())
  if (made.status !== 201) throw new Error(made.text)
})
test.after.always(async () => {
  issuer.close()
  await fixture?.stop()
})

interface Exchanged {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

const exchange = async (subject: string, more: Record<string, string> = {}): Promise<Exchanged> => {
  const body = new URLSearchParams({
    grant_type: grantType,
    client_id: 'acme+deployer',
    subject_token: subject,
    subject_token_type: jwtType,
    ...more,
  })
  const answer = await fetch(`${fixture.service.baseUrl}/oidc/token`, { method: 'POST', body })
  return { status: answer.status, json: (await answer.json()) as Exchanged['json'] }
}

test('a pipeline exchanges its token for one of the robot account', async (t) => {
  const { status, json } = await exchange(await issuer.mint({}))
  t.is(status, 200, JSON.stringify(json))
  t.like(json, {
    token_type: 'Bearer',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    expires_in: 600,
    scope: 'read:organization read:user',
  })
  const token = String(json['access_token'])
  const send = (path: string) => fixture.service.send('GET', `/api/v1${path}`, { token })
  t.like((await send('/user')).json, { login: 'acme+deployer' })
  t.is((await send('/orgs/acme/teams')).status, 200)
  const change = await fixture.service.send('POST', '/api/v1/orgs/acme/teams', { token, body: { name: 'more' } })
  t.is(change.status, 403, 'it has no scope for changes')
  const audit = await fixture.as('ada', 'GET', '/orgs/acme/audit?action=federated_credential.token_issued')
  t.regex(audit.text, /702441/)
  t.false(audit.text.includes(token))
})

test('a pipeline reports usage and reads packages', async (t) => {
  const kubernetes = await startFakeKubernetes()
  t.teardown(() => kubernetes.stop())
  const imported = await importCluster(
    fixture.service.send,
    await fixture.service.tokenFor('ada'),
    'acme',
    'home',
    kubernetes.kubeconfig(),
  )
  t.is(imported.status, 200, imported.text)
  const name = { name: 'reports', permission: 'admin', type: '' }
  const team = (await fixture.as('ada', 'POST', '/orgs/acme/teams', name)).json as { readonly id: number }
  await fixture.as('ada', 'POST', '/orgs/acme/robots', { name: 'reporter', team_ids: [team.id] })
  const scopes = ['write:billing', 'read:cluster']
  const made = await fixture.as('ada', 'POST', '/orgs/acme/robots/reporter/federated-credentials', content({ scopes }))
  t.is(made.status, 201, made.text)
  const { json } = await exchange(await issuer.mint({}), { client_id: 'acme+reporter' })
  const asPipeline = { token: String(json['access_token']) }
  const createdAt = new Date(Date.now() - 60_000).toISOString()
  const events = [newObject({ createdAt }).created(createdAt)]
  const body = { clusterUID: kubernetes.uid, events }
  const reported = await fixture.service.send('POST', '/api/v1/usage/acme/events', { ...asPipeline, body })
  t.like(reported.json, { results: [{ result: 'accepted' }] }, reported.text)
  const charts = await fixture.service.send('GET', '/api/v1/orgs/acme/chartrepositories', asPipeline)
  t.is(charts.status, 200, charts.text)
  const resource = `${fixture.service.baseUrl}/api/v1/clusters/acme/home`
  const confined = await exchange(await issuer.mint({}), { client_id: 'acme+reporter', resource })
  t.is(confined.json['scope'], 'read:cluster', 'a token for one cluster has its scopes only')
  const token = String(confined.json['access_token'])
  t.is((await fixture.service.send('GET', `${new URL(resource).pathname}/proxy/version`, { token })).status, 200)
  t.is((await fixture.service.send('GET', '/api/v1/orgs/acme/chartrepositories', { token })).status, 403)
})

test.serial('a federated credential shows why it last refused a token', async (t) => {
  const own = content({ name: 'shown', audience: 'https://shown.example' })
  const { id } = (await fixture.as('ada', 'POST', root, own)).json as { readonly id: number }
  const shown = async () => (await fixture.as('ada', 'GET', `${root}/${id}`)).json as Record<string, unknown>
  t.is((await shown())['last_refused_at'], undefined)
  await exchange(await issuer.mint({ aud: 'https://shown.example', repository_id: 'private <b>text</b>' }))
  const first = await shown()
  t.is(first['last_refusal'], 'The claim repository_id is absent, or does not meet its condition.')
  t.truthy(first['last_refused_at'])
  await exchange(await issuer.mint({ aud: 'https://elsewhere.example' }))
  t.deepEqual(await shown(), first, 'anyone can send tokens, so few are noted')
  const other = (await fixture.as('ada', 'POST', root, { ...own, name: 'signed' })).json as { readonly id: number }
  const { privateKey } = await jose.generateKeyPair('RS256')
  await exchange(await issuer.mint({ aud: 'https://shown.example' }, { key: privateKey }))
  const told = (await fixture.as('ada', 'GET', `${root}/${other.id}`)).json as Record<string, unknown>
  t.regex(String(told['last_refusal']), /not signed by a published key/)
})

test('a token is exchanged once, also by concurrent requests', async (t) => {
  const subject = await issuer.mint({})
  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(subject)))
  t.is(answers.filter(({ status }) => status === 200).length, 1)
  t.true(answers.every(({ status, json }) => status === 200 || json['error'] === 'invalid_grant'))
})

test('a request can ask for fewer scopes and not for others', async (t) => {
  t.like((await exchange(await issuer.mint({}), { scope: 'read:user' })).json, { scope: 'read:user' })
  t.like(await exchange(await issuer.mint({}), { scope: 'write:cluster' }), {
    status: 400,
    json: { error: 'invalid_scope' },
  })
})

const now = Math.floor(Date.now() / 1000)
for (const [what, claims] of [
  ['of another repository', { repository_id: '1' }],
  ['without the claim', { repository_id: undefined }],
  ['for another audience', { aud: 'https://elsewhere.example' }],
  ['of another issuer', { iss: 'https://issuer.example' }],
  ['that has expired', { exp: now - 600, iat: now - 900 }],
  ['that expires in a week', { exp: now + 604_800 }],
  ['without an expiry', { exp: undefined }],
] as const)
  test(`a token ${what} is refused`, async (t) => {
    t.like(await exchange(await issuer.mint(claims as jose.JWTPayload)), {
      status: 400,
      json: { error: 'invalid_grant' },
    })
  })

test('a token with another signature is refused, and unknown keys are looked for once', async (t) => {
  const { privateKey } = await jose.generateKeyPair('RS256')
  t.is((await exchange(await issuer.mint({}, { key: privateKey }))).json['error'], 'invalid_grant')
  for (let i = 0; i < 20; i += 1)
    t.is((await exchange(await issuer.mint({}, { kid: `unknown-${i}` }))).json['error'], 'invalid_grant')
  t.true(issuer.requests.filter((url) => url === '/keys').length <= 2, issuer.requests.join(' '))
})

for (const [what, forged] of [['unsigned', new jose.UnsecuredJWT({ aud: audience, repository_id: '702441' })]] as const)
  test(`an ${what} token is refused`, async (t) => {
    const token = forged.setIssuer(issuer.url).setExpirationTime('5m').setIssuedAt().encode()
    t.is((await exchange(token)).json['error'], 'invalid_grant')
  })

test('a token signed with a symmetric key is refused', async (t) => {
  const token = await new jose.SignJWT({
    iss: issuer.url,
    aud: audience,
    repository_id: '702441',
    iat: now,
    exp: now + 300,
  })
    .setProtectedHeader({ alg: 'HS256', kid: 'one' })
    .sign(new TextEncoder().encode('a secret of thirty-two characters'))
  t.is((await exchange(token)).json['error'], 'invalid_grant')
})

test('a request for something else than an access token is refused', async (t) => {
  const subject = await issuer.mint({})
  for (const resource of ['https://elsewhere.example', `${fixture.service.baseUrl}/api/v1/clusters/acme/none`])
    t.is((await exchange(await issuer.mint({}), { resource })).json['error'], 'invalid_target')
  for (const more of [
    { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
    { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
    { actor_token: subject },
  ])
    t.is((await exchange(subject, more)).json['error'], 'invalid_request')
  t.is((await exchange('no token')).json['error'], 'invalid_grant')
  t.is((await exchange(subject, { client_id: 'acme+other' })).json['error'], 'invalid_grant')
  t.is((await exchange(subject, { client_id: 'ada' })).status, 401)
})

test.serial('a disabled robot account and a removed credential end the exchange', async (t) => {
  const { json } = await exchange(await issuer.mint({}))
  const token = String(json['access_token'])
  await fixture.as('ada', 'PATCH', '/orgs/acme/robots/deployer', { active: false })
  t.is((await exchange(await issuer.mint({}))).json['error'], 'invalid_grant')
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401)
  await fixture.as('ada', 'PATCH', '/orgs/acme/robots/deployer', { active: true })
  const other = await fixture.as('ada', 'POST', root, content({ name: 'short', audience: 'https://short.example' }))
  const { id } = other.json as { id: number }
  t.is((await exchange(await issuer.mint({ aud: 'https://short.example' }))).status, 200)
  t.is((await fixture.as('ada', 'DELETE', `${root}/${id}`)).status, 204)
  t.is((await exchange(await issuer.mint({ aud: 'https://short.example' }))).json['error'], 'invalid_grant')
})

test('only owners decide whom a robot account trusts', async (t) => {
  for (const login of ['adam', 'ed', 'vic']) {
    t.is((await fixture.as(login, 'GET', root)).status, 403, login)
    t.is((await fixture.as(login, 'POST', root, content({ name: login }))).status, 403, login)
  }
  t.is((await fixture.as('eve', 'GET', root)).status, 404)
})

for (const [field, more] of [
  ['issuer', { issuer: 'no address' }],
  ['issuer', { issuer: '', cluster_uid: '' }],
  ['conditions', { conditions: [] }],
  ['conditions', { conditions: [{ claim: 'aud', value: 'x' }] }],
  ['conditions', { conditions: [{ claim: 'sub', value: '*' }] }],
  ['scopes', { scopes: ['write:admin'] }],
  ['scopes', { scopes: [] }],
  ['life_seconds', { life_seconds: 7_200 }],
  ['name', { name: 'pipeline' }],
  ['audience', { audience: '' }],
] as const)
  test(`a credential with a wrong field is refused: ${field} ${JSON.stringify(more)}`, async (t) => {
    const answer = await fixture.as('ada', 'POST', root, content({ name: 'other', ...more }))
    t.is(answer.status, 422, answer.text)
    t.regex(answer.text, new RegExp(field))
  })

test('conditions about names carry a warning', async (t) => {
  const github = 'https://token.actions.githubusercontent.com'
  const sent = content({ name: 'names', issuer: github, conditions: [{ claim: 'repository', value: 'acme/app' }] })
  const made = await fixture.as('ada', 'POST', root, sent)
  t.regex(made.text, /repository_id or repository_owner_id/)
})
