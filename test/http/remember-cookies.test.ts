import 'reflect-metadata'
import type { IncomingMessage } from 'node:http'
import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ApiServerDeps } from '../../composition/runtime/http/api-server.ts'
import { makeAuthenticate } from '../../composition/runtime/http/request/authenticate.ts'
import type { RequestContext } from '../../composition/runtime/http/request/request-context.ts'
import { NotAuthenticated } from '../../core/identity/ports.ts'
import { rawRequest } from './raw-request.ts'
import { principal } from './stub-server.ts'
import {
  asked,
  csrf,
  get,
  goneValue,
  makeResumption,
  post,
  remember,
  rememberValue,
  server,
  session,
} from './browser-requests.fixture.ts'

test.serial('a remember cookie opens a session on a read and brings all cookies', async (t) => {
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

test.serial('refusals, streams and 304 carry the new session too', async (t) => {
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

test.serial('HEAD resumes like GET, and a change asks for a GET first', async (t) => {
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

test.serial('an invalid remember cookie is removed and blocks no public route', async (t) => {
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

test.serial('a malformed remember cookie is not looked up', async (t) => {
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

test.serial('an upgrade resumes nothing: no answer of it would carry the cookies', async (t) => {
  const before = asked.length
  const head = `GET /api/v1/c/acme/prod/proxy/exec HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: ${remember}\r\n\r\n`
  t.is((await rawRequest(server.port, head)).status, 403)
  t.is((await rawRequest(server.port, head.replace('Cookie: ', 'Cookie: moorage_session=over; '))).status, 401)
  t.is(asked.length, before)
})

test.serial('an open stream is rechecked by its session, never by the old cookie', async (t) => {
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
})
