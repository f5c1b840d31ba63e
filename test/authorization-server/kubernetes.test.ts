// process: waiting - uses components
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlane } from '../support/components/control-plane.ts'
import { needing } from '../support/components/needing.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startSpokeControlPlane } from '../support/components/spoke-control-plane.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const test = needing('kubernetes')
const password = 'a long passphrase of ours'
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

const folder = mkdtempSync(join(tmpdir(), 'moorage-trusted-'))
let service: TestService
let cluster: ControlPlane
let origin: string
let clientId: string

interface Sent {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Sends by plain HTTP to the port of the service, whose base URL is https: clusters trust no other issuer. */
const send = async (method: string, path: string, { token, headers, body }: Sent = {}) => {
  const reply = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      ...headers,
      ...(token === undefined ? {} : { authorization: `token ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
  return { headers: reply.headers, json: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

const form = async (path: string, fields: Record<string, string>): Promise<Record<string, string>> =>
  (await fetch(`${origin}/oidc${path}`, { method: 'POST', body: new URLSearchParams(fields) })).json() as Promise<
    Record<string, string>
  >

/** Returns an ID token of a person, by a device code that the person allows. */
const idTokenOf = async (login: string): Promise<string> => {
  const begun = await form('/device/auth', { client_id: clientId, scope: 'openid profile groups' })
  const jar = makeCookieJar()
  const signedIn = await send('POST', '/user/signin', { body: { username: login, password } })
  jar.take({ 'set-cookie': signedIn.headers.getSetCookie() })
  const answer = { user_code: begun['user_code'], is_accepted: true }
  await send('POST', '/user/devices', { headers: jar.headers('/api/v1/user/devices'), body: answer })
  const sent = { grant_type: deviceGrant, client_id: clientId, device_code: begun['device_code'] ?? '' }
  return (await form('/token', sent))['id_token'] ?? ''
}

/** The page docs/authorization-server.md shows the same configuration. */
const configurationOf = (issuer: string): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: {
        url: issuer,
        audiences: [clientId],
        certificateAuthority: readFileSync(join(folder, 'tls', 'certificate.pem'), 'utf8'),
      },
      claimMappings: {
        username: { claim: 'sub', prefix: 'moorage:' },
        groups: { claim: 'groups', prefix: 'moorage:' },
      },
    },
  ],
})

test.before(async () => {
  const port = await reservedPort()
  origin = `http://127.0.0.1:${port}`
  const baseUrl = `https://127.0.0.1:${port}`
  service = await startService({
    settings: { MOORAGE_LISTEN: `127.0.0.1:${port}`, MOORAGE_BASE_URL: baseUrl, MOORAGE_DATA_DIR: folder },
  })
  const { adminToken: token } = service
  for (const username of ['ed', 'vic']) {
    const body = { username, email: `${username}@example.org`, password, must_change_password: false }
    await send('POST', '/admin/users', { token, body })
  }
  await send('POST', '/orgs', { token, body: { username: 'acme', email: 'acme@example.org' } })
  const teams = (await send('GET', '/orgs/acme/teams', { token })).json as unknown as { id: number; name: string }[]
  const teamId = (name: string): number => teams.find((team) => team.name === name)?.id ?? 0
  await send('PUT', `/teams/${teamId('Editors')}/members/ed`, { token })
  await send('PUT', `/teams/${teamId('Viewers')}/members/vic`, { token })
  const body = { name: 'kubectl', isPublic: true, redirectUri: 'http://127.0.0.1/' }
  const made = await send('POST', '/orgs/acme/applications/oauth2', { token, body })
  clientId = String(made.json['clientId'])
  const path = join(folder, 'authentication.yaml')
  writeFileSync(path, dump(configurationOf(`${baseUrl}/oidc`)))
  const first = await kubernetes()
  if (first === undefined) throw new Error('there is no kube-apiserver')
  cluster = await startSpokeControlPlane(first, 'trusting', undefined, path)
})
test.after.always(async () => {
  await cluster?.stop()
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test.serial('kube-apiserver knows people by our ID tokens, and their teams as groups', async (t) => {
  await cluster.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'editors-of-acme' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'moorage:acme:Editors' }],
  })
  const [ed, vic] = [await idTokenOf('ed'), await idTokenOf('vic')]
  const status = async (token: string) =>
    (await cluster.request('GET', '/api/v1/namespaces/default/configmaps', undefined, { token })).status
  // The server reads the keys of a new issuer soon after its start.
  await until('the server trusts the issuer', async () => ((await status(ed)) === 401 ? undefined : true))
  t.is(await status(ed), 200)
  t.is(await status(vic), 403)
  t.is(await status(`${ed.slice(0, -4)}AAAA`), 401)
  const review = await cluster.request(
    'POST',
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    { token: ed },
  )
  t.regex(JSON.stringify(review.body), /"username":"moorage:\d+"/)
  t.regex(JSON.stringify(review.body), /"moorage:acme","moorage:acme:Editors"/)
})
