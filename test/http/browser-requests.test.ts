import 'reflect-metadata'
import test from 'ava'
import { rawRequest } from './raw-request.ts'
import { asked, csrf, get, goneValue, post, remember, server, session, tls } from './browser-requests.fixture.ts'
import { request } from 'node:https'
import type { StubServer } from './stub-server.ts'

const codeOf = async (reply: Response): Promise<string> =>
  `${reply.status} ${((await reply.json()) as { code?: string }).code ?? ''}`.trim()

test.serial('a session cookie authorizes reads, and changes need the CSRF value', async (t) => {
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
})

test.serial("a session beside another user's credential is refused", async (t) => {
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
})

test.serial("a token as Basic password needs its owner's name or the placeholder", async (t) => {
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

test.serial('cookies never combine with sudo, Basic or password routes', async (t) => {
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

test.serial('a page of another site cannot open a tunnel with a session', async (t) => {
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
})

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

test.serial('cookies by HTTPS are Secure and bound to the host', async (t) => {
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
})
