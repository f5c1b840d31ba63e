import { makeCookieJar } from '../../support/cookie-jar.ts'
import { callApi, makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { databaseConnections } from '../lab.ts'
import { compare, generatorNote, ratioOf, readingOf } from '../measure.ts'
import { formRequest, getRequest, loadOn } from '../requests.ts'
import type { BenchService } from '../service-process.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow } from './row.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const connections = 32

interface Application {
  readonly clientId: string
  readonly clientSecret: string
}

const basic = ({ clientId, clientSecret }: Application): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`

const token = async (
  service: BenchService,
  path: string,
  application: Application,
  fields: Record<string, string>,
): Promise<Record<string, string>> => {
  const answer = await fetch(`${service.baseUrl}/oidc${path}`, {
    method: 'POST',
    headers: { authorization: basic(application) },
    body: new URLSearchParams(fields),
  })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}

/** Returns an access token of a person, who allows the application by the code of a device. */
const tokenOfPerson = async (
  service: BenchService,
  application: Application,
  { login, password }: { readonly login: string; readonly password: string },
): Promise<string> => {
  const begun = await token(service, '/device/auth', application, { scope: 'openid profile email groups' })
  const jar = makeCookieJar()
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${service.baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...jar.headers(`/api/v1${path}`) },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
    jar.take({ 'set-cookie': answer.headers.getSetCookie() })
  }
  await post('/user/signin', { username: login, password })
  await post('/user/devices', { user_code: begun['user_code'], is_accepted: true })
  const granted = { grant_type: deviceGrant, device_code: begun['device_code'] ?? '' }
  return (await token(service, '/token', application, granted))['access_token'] ?? ''
}

/** Row 41: introspection, userinfo and client credentials, beside a bare server with one statement. */
export const authorizationServer: MeasureRow = async ({ lab, bench }) => {
  const { service, user, databaseUrl } = await lab.onMariaDb()
  const bare = await lab.twin('twins/mysql-twin.ts', { databaseUrl, connections: databaseConnections })
  const owner = await makeUser(service, `bench-owner-${process.hrtime.bigint()}`)
  const asOwner = { authorization: `Bearer ${owner.token}` }
  await callApi(service, '/orgs', { ...asOwner, body: { username: 'bench-oidc' } })
  const robot = (await callApi(service, '/orgs/bench-oidc/robots', { ...asOwner, body: { name: 'app' } })) as {
    readonly id: number
  }
  const application = (await callApi(service, '/orgs/bench-oidc/applications/oauth2', {
    ...asOwner,
    body: { name: 'bench', redirectUri: 'https://app.example.com/callback', robotId: robot.id },
  })) as Application
  const own = { grant_type: 'client_credentials', scope: 'read:organization' }
  const value = (await token(service, '/token', application, own))['access_token'] ?? ''
  const asClient = { authorization: basic(application) }
  const requests = {
    introspection: formRequest('/oidc/token/introspection', asClient, { token: value }),
    userinfo: getRequest('/oidc/me', await tokenOfPerson(service, application, owner)),
    'client credentials': formRequest('/oidc/token', asClient, own),
  }
  const lines: BenchLine[] = []
  for (const [what, request] of Object.entries(requests)) {
    const { ours, twin } = await compare(bench, `${what}, ${connections} connections`, {
      ours: { target: loadOn(what, service.port, request, connections), pid: service.pid },
      twin: {
        target: loadOn(`${what} twin`, bare.port, getRequest('/api/v1/user', user.token), connections),
        pid: bare.pid,
      },
    })
    lines.push({
      row: '41',
      what,
      ours: readingOf(ours),
      against: 'node:http + prepared mysql2 join',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      ...(what === 'client credentials' ? {} : { bar: bars.authorizationServer }),
      ...note(generatorNote(ours, twin)),
    })
  }
  return lines
}
