import 'reflect-metadata'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TlsIdentity } from '../../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity } from '../../adapters/security/tls-identity.ts'
import type { ApiServerDeps } from '../../composition/http/api-server.ts'
import { makeAuthenticate } from '../../composition/http/request/authenticate.ts'
import type { RequestContext } from '../../composition/http/request/request-context.ts'
import { NotAuthenticated } from '../../core/identity/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { principal, startStubServer } from './stub-server.ts'

const rememberValue = `${'s'.repeat(22)}.${'x'.repeat(43)}`
const goneValue = `${'g'.repeat(22)}.${'x'.repeat(43)}`

/** Knows one remember cookie, and counts how often it was asked. */
const makeResumption = () => {
  const asked: string[] = []
  const resumption: ApiServerDeps['resumption'] = {
    async resume(_call, value) {
      asked.push(value.reveal())
      if (value.reveal() !== rememberValue) return left(NotAuthenticated('There is no such login.'))
      const next = { value: secret(rememberValue.replace('x', 'y')), validSeconds: 60 }
      return right({
        principal: { ...principal, method: 'session' },
        sessionKey: secret('session-key'),
        remembered: next,
        busPass: secret('bus'),
      })
    },
    userOf: async () => undefined,
  }
  return { asked, resumption }
}

let server: StubServer
let asked: string[]
let folder: string
let tls: TlsIdentity
test.before(async () => {
  const made = makeResumption()
  folder = await mkdtemp(join(tmpdir(), 'moorage-cookies-'))
  tls = await openSelfSignedIdentity(folder, ['127.0.0.1'])
  asked = made.asked
  server = await startStubServer(stubRoutes, { resumption: made.resumption, tls })
})
test.after.always(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const session = 'moorage_session=session-key'
const remember = `moorage_session_remember=${rememberValue}`
const csrf = { 'x-csrf-token': 'csrf-of-session-key' }
const get = (server: StubServer, headers: Record<string, string>, path = '/things/1', method = 'GET') =>
  fetch(`${server.baseUrl}/api/v1${path}`, { method, headers })
const post = (server: StubServer, headers: Record<string, string>) =>
  fetch(`${server.baseUrl}/api/v1/count`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"name":"x"}',
  })
const codeOf = async (reply: Response): Promise<string> =>
  `${reply.status} ${((await reply.json()) as { code?: string }).code ?? ''}`.trim()

test.serial(
  'a living session cookie proves a reading request; a change wants the value that scripts read',
  async (t) => {
    t.is((await get(server, { cookie: session })).status, 200)
    t.is((await get(server, { cookie: 'moorage_session=wrong' })).status, 401)
    t.is(await codeOf(await post(server, { cookie: session })), '403 CsrfTokenMissing')
    for (const wrong of ['', 'x', 'csrf-of-other', 'session-key'])
      t.is(await codeOf(await post(server, { cookie: session, 'x-csrf-token': wrong })), '403 CsrfTokenMissing', wrong)
    t.is((await post(server, { cookie: session, ...csrf })).status, 201)
    t.is(
      await codeOf(await post(server, { cookie: `${session}; _csrf=csrf-of-session-key` })),
      '403 CsrfTokenMissing',
      'the cookie alone is sent unasked as well',
    )
  },
)

test.serial(
  'the session of one user beside the credential of another is refused; beside an own one it does not count',
  async (t) => {
    const basic = (text: string) => `Basic ${btoa(text)}`
    const own = ['token good', 'Bearer good', basic('ada:pass:word'), basic('ada:good'), basic('good:x-oauth-basic')]
    for (const authorization of own) {
      t.is((await get(server, { cookie: session, authorization })).status, 200, authorization)
      t.is(
        (await post(server, { cookie: session, authorization })).status,
        201,
        `${authorization}: no cookie proved this change`,
      )
    }
    for (const path of ['/things/1', '/things', '/admin/x', '/c/acme/prod/proxy/x']) {
      t.is(
        await codeOf(await get(server, { cookie: session, authorization: 'token admin' }, path)),
        path.startsWith('/c/') ? '401 401' : '401 NotAuthenticated',
        path,
      )
      t.is((await get(server, { cookie: session }, `${path}?token=admin`)).status, 401, path)
    }
    for (const over of ['moorage_session=over', 'moorage_session=session-key; moorage_session=x', remember])
      t.is((await get(server, { cookie: over, authorization: 'token admin' }, '/admin/x')).status, 204, over)
    t.is(
      (await get(server, { cookie: session, authorization: 'token good', sudo: 'eve' })).status,
      200,
      'the acting user is compared, not the target of sudo',
    )
    t.is((await get(server, { cookie: session, authorization: 'token admin', sudo: 'ada' })).status, 401)
  },
)

test.serial('a token as the password of HTTP Basic wants the name of its owner, or the placeholder', async (t) => {
  const ask = async (name: string, path = '/things/1') =>
    (await get(server, { authorization: `Basic ${btoa(`${name}:good`)}` }, path)).status
  for (const name of ['ada', 'ADA', 'x-oauth-basic']) t.is(await ask(name), 200, name)
  for (const name of ['eve', '', 'root', 'good', 'X-OAuth-Basic', 'ada@example.org'])
    t.deepEqual([await ask(name), await ask(name, '/things')], [401, 401], name)
  t.is((await get(server, { authorization: `Basic ${btoa('eve:good')}` }, '/things/1?token=good')).status, 401)
  t.is((await get(server, { authorization: `Basic ${btoa('ada:good')}` }, '/things/1?token=good')).status, 200)
})

test.serial('a page of another site cannot sign in or out', async (t) => {
  const signIn = (headers: Record<string, string>) =>
    fetch(`${server.baseUrl}/api/v1/signin`, { method: 'POST', headers })
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]
  for (const headers of foreign) {
    const refused = await signIn(headers)
    t.deepEqual(
      [await codeOf(refused), refused.headers.getSetCookie()],
      ['403 CrossSiteRequest', []],
      JSON.stringify(headers),
    )
    t.is((await signIn({ ...headers, authorization: 'token good' })).status, 403, JSON.stringify(headers))
  }
  for (const headers of [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: server.baseUrl },
    { origin: 'http://127.0.0.1:3000' },
  ])
    t.is((await signIn(headers)).status, 200, JSON.stringify(headers))
})

const plantings = [
  'a=1; moorage_session=session-key; moorage_session=session-key',
  'moorage_session=session-key; moorage_session=planted',
  'moorage_session=;moorage_session=session-key',
]
for (const cookie of plantings) {
  test.serial(`two session cookies of one name are none: ${cookie}`, async (t) => {
    t.is((await get(server, { cookie })).status, 401)
  })
}

test.serial('a cookie whose name only ends alike is another cookie', async (t) => {
  t.is((await get(server, { cookie: `x_moorage_session=planted; ${session}` })).status, 200)
  t.is((await get(server, { cookie: `a=moorage_session=planted; ${session}` })).status, 200)
  t.is((await get(server, { cookie: 'x_moorage_session=session-key' })).status, 401)
})

test.serial('two remember cookies are none', async (t) => {
  const before = asked.length
  t.is((await get(server, { cookie: `${remember}; moorage_session_remember=${goneValue}` })).status, 401)
  t.is(asked.length, before)
})

const sites: readonly (readonly [Record<string, string>, boolean])[] = [
  [{}, true],
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-site': 'same-site' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'anything' }, false],
  [{ 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:3000' }, false],
  [{ origin: 'http://127.0.0.1:3000' }, true],
  [{ origin: 'https://127.0.0.1:3000' }, false],
  [{ origin: 'http://127.0.0.1:3001' }, false],
  [{ origin: 'http://evil.example' }, false],
  [{ origin: 'http://127.0.0.1:3000.evil.example' }, false],
  [{ origin: 'null' }, false],
  [{ origin: '' }, false],
]
for (const [headers, isOurs] of sites) {
  test.serial(
    `cookies on a request of ${JSON.stringify(headers)} ${isOurs ? 'count' : 'are refused'}, whatever the method`,
    async (t) => {
      // undici sends these headers as they are; fetch may not.
      const raw = async (head: string) => (await rawRequest(server.port, head)).status
      const lines = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      const common = `Host: 127.0.0.1:3000\r\nConnection: close\r\n${lines}`
      t.is(await raw(`GET /api/v1/things/1 HTTP/1.1\r\n${common}Cookie: ${session}\r\n\r\n`), isOurs ? 200 : 403)
      const change = `POST /api/v1/count HTTP/1.1\r\n${common}Cookie: ${session}\r\nX-Csrf-Token: csrf-of-session-key\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"x"}`
      t.is(await raw(change), isOurs ? 201 : 403)
      t.is(await raw(`GET /api/v1/things/1 HTTP/1.1\r\n${common}Cookie: ${remember}\r\n\r\n`), isOurs ? 200 : 403)
      t.is(
        await raw(`GET /api/v1/things/1 HTTP/1.1\r\n${common}Authorization: Bearer good\r\n\r\n`),
        200,
        'a token is no cookie',
      )
      // What was typed into the browser's own dialog goes out with the forms of other sites: without a body, and as
      // multipart.
      const basic = `${common}Authorization: Basic ${btoa('ada:pass:word')}\r\n`
      t.is(await raw(`GET /api/v1/things/1 HTTP/1.1\r\n${basic}\r\n`), 200, 'whose page cannot read the answer')
      t.is(await raw(`POST /api/v1/password HTTP/1.1\r\n${basic}Content-Length: 0\r\n\r\n`), isOurs ? 204 : 403)
      t.is(
        await raw(
          `POST /api/v1/count HTTP/1.1\r\n${basic.replace('Basic', 'BASIC')}Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"x"}`,
        ),
        isOurs ? 201 : 403,
      )
      t.is(
        (await raw(
          `GET /api/v1/c/o/n/proxy/x HTTP/1.1\r\n${basic.replace('Connection: close', 'Connection: Upgrade\r\nUpgrade: websocket')}\r\n`,
        )) === 403,
        !isOurs,
      )
    },
  )
}

test.serial('the address that a request was sent to is an origin of ours, the base URL too', async (t) => {
  const head = (origin: string) =>
    `GET /api/v1/things/1 HTTP/1.1\r\nHost: console.example:8080\r\nOrigin: ${origin}\r\nConnection: close\r\nCookie: ${session}\r\n\r\n`
  t.is((await rawRequest(server.port, head('http://console.example:8080'))).status, 200)
  t.is((await rawRequest(server.port, head('http://127.0.0.1:3000'))).status, 200)
  t.is((await rawRequest(server.port, head('http://console.example'))).status, 403)
})

test.serial('cookies never combine with sudo, nor with Basic, nor with routes that demand the password', async (t) => {
  const before = asked.length
  for (const cookie of [session, remember]) {
    t.is((await get(server, { cookie, sudo: 'bob' })).status, 403)
    t.is((await get(server, { cookie }, '/things/1?sudo=bob')).status, 403)
    t.is((await get(server, { cookie }, '/password', 'POST')).status, 401)
    t.is((await get(server, { cookie, authorization: 'Bearer wrong' })).status, 401, 'another credential counts alone')
    t.is((await get(server, { cookie, authorization: `Basic ${btoa('ada:wrong')}` })).status, 401)
    t.is((await get(server, { cookie, authorization: '' })).status, 401)
  }
  t.is(asked.length, before, 'and nothing is resumed')
})

test.serial('a remember cookie opens a session on a reading request, and the answer brings all cookies', async (t) => {
  for (const cookie of [remember, `${remember}; moorage_session=over`]) {
    const reply = await get(server, { cookie })
    t.is(reply.status, 200)
    t.is(reply.headers.get('cache-control'), 'no-store')
    t.deepEqual(reply.headers.getSetCookie(), [
      'moorage_session=session-key; Path=/; HttpOnly; SameSite=Lax',
      '_csrf=csrf-of-session-key; Path=/; SameSite=Lax',
      `moorage_session_remember=${rememberValue.replace('x', 'y')}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax`,
      'moorage_bus=bus; Max-Age=86400; Path=/bus; HttpOnly; SameSite=Lax',
    ])
  }
})

test.serial('with a living session the remember cookie is not touched', async (t) => {
  const reply = await get(server, { cookie: `${session}; moorage_session_remember=${goneValue}` })
  t.is(reply.status, 200)
  t.deepEqual(reply.headers.getSetCookie(), [])
})

test.serial('refusals, streams, 304 and cookies of the route itself carry the new session as well', async (t) => {
  const names = (reply: Response) => reply.headers.getSetCookie().map((cookie) => cookie.split('=')[0])
  const all = ['moorage_session', '_csrf', 'moorage_session_remember', 'moorage_bus']
  const refused = await get(server, { cookie: remember }, '/things/9')
  t.is(refused.status, 409)
  t.deepEqual(names(refused), all)
  for (const reply of [
    refused,
    await get(server, { cookie: session }),
    await get(server, { cookie: session }, '/things/9'),
  ])
    t.is(reply.headers.get('cache-control'), 'no-store')
  const denied = await get(server, { cookie: remember }, '/admin/x')
  t.is(denied.status, 403)
  t.deepEqual(names(denied), all)
  const streamed = await get(server, { cookie: remember }, '/c/acme/prod/proxy/x')
  t.is(streamed.status, 201)
  t.deepEqual(names(streamed), all)
  const etag = (await get(server, { cookie: session })).headers.get('etag') ?? ''
  const unchanged = await get(server, { cookie: remember, 'if-none-match': etag })
  t.is(unchanged.status, 304)
  t.is(unchanged.headers.get('cache-control'), 'no-store')
  t.deepEqual(names(unchanged), all)
})

test.serial('HEAD resumes like GET; a change gets a request to send a GET first, and nothing is used up', async (t) => {
  t.is((await get(server, { cookie: remember }, '/things/1', 'HEAD')).headers.getSetCookie().length, 4)
  const before = asked.length
  for (const more of [{}, csrf]) {
    for (const cookie of [remember, `${remember}; moorage_session=over`]) {
      const reply = await post(server, { cookie, ...more, 'x-csrf-token': 'csrf-of-over' })
      t.is(reply.status, 403)
      t.like(await reply.json(), { code: 'CsrfTokenMissing' })
      t.deepEqual(reply.headers.getSetCookie(), [])
    }
  }
  const told = (await (await post(server, { cookie: remember })).json()) as { message: string }
  t.regex(told.message, /send a GET first/)
  t.is(asked.length, before)
})

test.serial('an invalid remember cookie is removed, and does not lock a caller out of public routes', async (t) => {
  const cookie = `moorage_session_remember=${goneValue}`
  const refused = await get(server, { cookie })
  t.is(refused.status, 401)
  t.deepEqual(
    refused.headers.getSetCookie().map((one) => one.split('; ').slice(0, 3)),
    [
      ['moorage_session=', 'Max-Age=0', 'Path=/'],
      ['_csrf=', 'Max-Age=0', 'Path=/'],
      ['moorage_session_remember=', 'Max-Age=0', 'Path=/'],
      ['moorage_bus=', 'Max-Age=0', 'Path=/bus'],
    ],
  )
  const open = await get(server, { cookie }, '/things')
  t.is(open.status, 200)
  t.is(open.headers.getSetCookie().length, 4)
})

test.serial('what has not the form of a remember cookie is looked up nowhere', async (t) => {
  const before = asked.length
  for (const value of [
    'x',
    `${rememberValue}x`,
    `%00${rememberValue}`,
    rememberValue.replace('.', '%2e%2e'),
    'x'.repeat(5000),
  ]) {
    t.is((await get(server, { cookie: `moorage_session_remember=${value}` })).status, 401)
  }
  t.is(asked.length, before)
})

test.serial(
  'a page of another site opens no tunnel with a session: browsers send the cookie, and name the origin',
  async (t) => {
    const head = (origin: string) =>
      `GET /api/v1/c/acme/prod/proxy/exec HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n${origin}Connection: Upgrade\r\nUpgrade: websocket\r\nCookie: ${session}\r\n\r\n`
    const { port } = server
    for (const line of [
      'Origin: http://evil.example\r\n',
      'Origin: null\r\n',
      'Sec-Fetch-Site: cross-site\r\n',
      'Sec-Fetch-Site: same-site\r\n',
    ])
      t.is((await rawRequest(port, head(line))).status, 403, line)
    for (const line of ['Origin: http://127.0.0.1:3000\r\n', 'Sec-Fetch-Site: same-origin\r\n'])
      t.is((await rawRequest(port, head(line))).status, 101, line)
  },
)

test.serial('an upgrade resumes nothing: no answer of it would carry the cookies', async (t) => {
  const before = asked.length
  const head = `GET /api/v1/c/acme/prod/proxy/exec HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: ${remember}\r\n\r\n`
  t.is((await rawRequest(server.port, head)).status, 403)
  t.is((await rawRequest(server.port, head.replace('Cookie: ', 'Cookie: moorage_session=over; '))).status, 401)
  t.is(asked.length, before)
})

test.serial(
  'who is asked again on an open stream is asked by the session that the first request opened, never by the old cookie',
  async (t) => {
    const { asked, resumption } = makeResumption()
    const known = new Set(['session-key'])
    const authenticator: ApiServerDeps['authenticator'] = {
      authenticate: async (credential) =>
        credential.kind === 'session' && known.has(credential.sessionKey.reveal())
          ? right(principal)
          : left(NotAuthenticated('Over.')),
      authenticateAgain: async (proven) => right(proven),
      spendCode: async (proven) => right(proven),
      userOfSession: async () => undefined,
    }
    const csrf = { of: () => 'c', matches: () => false }
    const sessions = { sessionCookie: 'moorage_session', sessionSeconds: 60 }
    const { authenticate } = makeAuthenticate({
      authenticator,
      csrf,
      resumption,
      sessions,
      secureCookies: false,
      baseUrl: 'http://h',
      isAccessToken: () => false,
      takesQueryTokens: true,
    })
    const route = { access: { kind: 'signed-in' as const }, scope: undefined, refusesSudo: false }
    const ask = async (cookie: string, context: RequestContext) =>
      isLeft(
        await authenticate(
          { headers: { cookie }, rawHeaders: [], method: 'GET', socket: {} } as unknown as IncomingMessage,
          context,
          route,
        ),
      )
        ? 'refused'
        : 'proven'
    const fresh = () =>
      ({
        params: new URLSearchParams(),
        sourceIp: '192.0.2.7',
        setCookies: [],
        resumedKey: undefined,
        principal: undefined,
      }) as unknown as RequestContext

    const resumed = fresh()
    t.deepEqual([await ask(remember, resumed), await ask(remember, resumed)], ['proven', 'proven'])
    t.is(asked.length, 1)
    known.delete('session-key')
    t.is(await ask(remember, resumed), 'refused', 'cut, and the old cookie is not shown again')
    t.is(asked.length, 1)

    known.add('session-key')
    const living = fresh()
    t.is(await ask(`${session}; ${remember}`, living), 'proven')
    known.delete('session-key')
    t.is(
      await ask(`${session}; ${remember}`, living),
      'refused',
      'a session that ends under an open stream is not resumed: no answer is left to carry it',
    )
    t.is(asked.length, 1)
  },
)

interface SecureReply {
  readonly status: number
  readonly cookies: readonly string[]
}
const secure = (server: StubServer, ca: string, path: string, cookie = '', method = 'GET'): Promise<SecureReply> =>
  new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        port: server.port,
        ca,
        path: `/api/v1${path}`,
        method,
        headers: cookie === '' ? {} : { cookie },
      },
      (res) => {
        res.resume()
        res.on('end', () => resolve({ status: res.statusCode ?? 0, cookies: res.headers['set-cookie'] ?? [] }))
      },
    )
    req.on('error', reject)
    req.end()
  })

test.serial(
  'cookies that go out by HTTPS are Secure and pinned to the host, also where the base URL says http',
  async (t) => {
    const opened = await secure(server, tls.certificatePem, '/signin', '', 'POST')
    t.deepEqual(opened.cookies, [
      '__Host-moorage_session=k; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax',
      '_csrf=c; Path=/; Secure; SameSite=Lax',
    ])
    t.is((await secure(server, tls.certificatePem, '/things/1', '__Host-moorage_session=session-key')).status, 200)
    t.is(
      (await secure(server, tls.certificatePem, '/things/1', session)).status,
      401,
      'one without the prefix may be planted by a parent domain',
    )
    t.is(
      (await secure(server, tls.certificatePem, '/things/1', `__Host-moorage_session=session-key; ${session}x`)).status,
      200,
      'a planted one does no harm',
    )
    const resumed = await secure(server, tls.certificatePem, '/things/1', `__Host-${remember}`)
    t.is(resumed.status, 200)
    t.deepEqual(
      resumed.cookies.map((cookie) => [cookie.split('=')[0], /; Secure/.test(cookie)]),
      [
        ['__Host-moorage_session', true],
        ['_csrf', true],
        ['__Host-moorage_session_remember', true],
        ['moorage_bus', true],
      ],
    )
    t.is(
      (await get(server, { cookie: '__Host-moorage_session=session-key' })).status,
      401,
      'by HTTP the prefix is no browser’s',
    )
  },
)
