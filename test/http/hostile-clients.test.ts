import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep, setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import * as io from 'io-ts'
import * as t from 'io-ts'
import type { HttpLimits } from '../../composition/runtime/http/connections.ts'
import { httpLimits } from '../../composition/runtime/http/connections.ts'
import { readBody } from '../../composition/runtime/http/request/body.ts'
import { anyone, read, signedIn } from '../../plugins/kit/access.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { json } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { until } from '../support/until.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { startStubServer } from './stub-server.ts'

const largeText = 'x'.repeat(32 * 1024 * 1024)
const largeRoute = handle(
  defineRoute({
    id: 'stub.large',
    method: 'GET',
    path: '/large',
    summary: 's',
    tag: 'Miscellaneous',
    access: anyone,
    ok: json(200, io.string, 'x'),
    failures: [],
  }),
  async () => right(largeText),
)

let server: StubServer
test.before(async () => {
  server = await startStubServer(stubRoutes)
})
test.after.always(() => server.stop())

const upgradeHead = (path: string, extra = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`
const proxy = '/api/v1/c/acme/prod/proxy'
const linesOf = async (operation: string, status: number) => {
  for (let i = 0; i < 40; i += 1) {
    const found = server.lines.find(
      ({ message, fields }) =>
        message === 'request' && fields['operation'] === operation && fields['status'] === status,
    )
    if (found !== undefined) return found
    await sleep(25)
  }
  return undefined
}

test('a connection that leaves HTTP or is refused has an access log line', async (t) => {
  const tunnel = connect(server.port, '127.0.0.1')
  tunnel.write(upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n'))
  await once(tunnel, 'data')
  tunnel.destroy()
  t.like(await linesOf('stub.stream', 101), { fields: { userId: 7, method: 'GET' } })
  t.is((await rawRequest(server.port, upgradeHead(`${proxy}/exec`))).status, 401)
  t.like(await linesOf('stub.stream', 401), { fields: { code: 'NotAuthenticated' } })
  t.is((await rawRequest(server.port, upgradeHead(`${proxy}/refused`, 'Authorization: Bearer good\r\n'))).status, 403)
  t.truthy(await linesOf('stub.stream', 403))
})

test('invalid UTF-8 escapes in an upgrade path are 404', async (t) => {
  t.is((await rawRequest(server.port, upgradeHead('/api/v1/c/%ff/prod/proxy/exec'))).status, 404)
  t.deepEqual(
    server.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

/** A server with the limits of a service, shortened. */
const hasty = (limits: Partial<HttpLimits>): Promise<StubServer> =>
  startStubServer([...stubRoutes, largeRoute], { limits })
const isOver = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
const flood = 'GET /api/v1/c/acme/prod/proxy/flood HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n'
const large = 'GET /api/v1/large HTTP/1.1\r\nHost: a\r\n\r\n'

test('a client that does not read is disconnected, and its feed ends', async (t) => {
  for (const head of [flood, large]) {
    const own = await hasty({ unread: 300 })
    t.teardown(() => own.stop())
    const client = connect(own.port, '127.0.0.1')
    client.pause()
    client.write(head)
    const done = await until('its line in the access log', () => own.lines.find(({ message }) => message === 'request'))
    t.is(done.fields['status'], 200)
    client.resume()
    await isOver(client)
  }
})

test('a client that takes its answer slowly is not cut, however long that lasts', async (t) => {
  const own = await hasty({ unread: 300 })
  t.teardown(() => own.stop())
  const client = connect(own.port, '127.0.0.1')
  t.teardown(() => client.destroy())
  client.write(large)
  let bytes = 0
  // Slower than the limit would allow for the whole, and steadily.
  for await (const chunk of client as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > largeText.length) break
    await sleep(2)
  }
  t.true(bytes > largeText.length)
})

const trickle = (port: number, head: string): { readonly text: () => string; readonly over: Promise<unknown> } => {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  client.on('data', (chunk: Buffer) => void (text += chunk.toString()))
  client.write(head)
  // Goes on whatever it is told, until it cannot.
  const going = setInterval(() => void client.write('a'), 20)
  const over = isOver(client).then(() => clearInterval(going))
  return { text: () => text, over }
}

for (const [what, head] of [
  ['headers', 'GET /api/v1/things HTTP/1.1\r\nX-Slow: '],
  [
    'a body',
    'POST /api/v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n',
  ],
] as const) {
  test(`a client that sends ${what} byte by byte is answered 408 and disconnected`, async (t) => {
    const own = await hasty({ headers: 200, request: 400 })
    t.teardown(() => own.stop())
    const client = trickle(own.port, head)
    await client.over
    t.regex(client.text(), /^HTTP\/1\.1 408 [^]*Connection: close/)
    t.is(client.text().match(/HTTP\/1\.1/g)?.length, 1)
  })
}

test('the limits of a service equal those of the security page', async (t) => {
  const page = (await readFile(new URL('../../docs/security.md', import.meta.url), 'utf8')).replaceAll('\n', ' ')
  const seconds = (ms: number): string => `${ms / 1000} s`
  for (const claim of [
    `${seconds(httpLimits.firstBytes)} for its first byte and the TLS handshake`,
    `${seconds(httpLimits.headers)} for its headers`,
    `${seconds(httpLimits.request)} in all`,
    `reads nothing of its response for ${seconds(httpLimits.unread)} is disconnected`,
  ])
    t.true(page.includes(claim), claim)
})

const typed = (type: string): Promise<boolean> =>
  readBody(
    {
      headers: { 'content-type': type, 'content-length': '2' },
      on: () => undefined,
      off: () => undefined,
      pause: () => undefined,
    } as unknown as IncomingMessage,
    1,
  ).then((read) => !read.ok && read.refusal.status === 413)

test('JSON content types are accepted in client forms, within a time bound', async (t) => {
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/merge-patch+json',
    'application/json;',
    'application/json;charset=UTF8',
    'application/json; charset="utf8"; version=1',
    'application/json;odata=verbose',
  ])
    t.true(await typed(type), type)
  for (const type of [
    '',
    'text/plain',
    'application/json; charset=utf-16',
    'application/jsonx',
    'application/json, text/plain',
    'text/x+json',
    'json',
    `application/json${' '.repeat(240)};`,
  ])
    t.false(await typed(type), type)
})

/** Its log has the lines of raw requests only. */
let rawServer: StubServer
test.before(async () => {
  rawServer = await startStubServer(stubRoutes)
})
test.after.always(() => rawServer.stop())

const get = (headers: string, target = '/api/v1/things/1'): string => `GET ${target} HTTP/1.1\r\n${headers}\r\n`
const token = 'Authorization: token good\r\n'

const cases: readonly [name: string, payload: string | Buffer, statuses: readonly number[]][] = [
  ['Host: [', get(`Host: [\r\n${token}`), [400]],
  ['a Host with a path', get(`Host: a/api/v1/admin/x?\r\n${token}`), [400]],
  ['no Host', get(token), [400]],
  ['two Hosts', get(`Host: a\r\nHost: b\r\n${token}`), [400]],
  ['absolute form', get(`Host: localhost\r\n${token}`, 'http://localhost/api/v1/things/1'), [200]],
  ['a target that is no URL', get(`Host: localhost\r\n${token}`, 'http://['), [400]],
  ['TRACE', `TRACE /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [405]],
  ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n`, [405]],
  ['HTTP/2 in the form of HTTP/1', `GET /api/v1/things/1 HTTP/2.0\r\nHost: localhost\r\n${token}\r\n`, [505]],
  ['HTTP/0.9 in the form of HTTP/1', `GET /api/v1/things/1 HTTP/0.9\r\nHost: localhost\r\n${token}\r\n`, [505]],
  [
    'a transfer coding in HTTP/1.0',
    `POST /api/v1/things HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n${token}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`,
    [400],
  ],
  ['a made-up method', `BREW /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [400, 405]],
  ['a lower-case method', `get /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [400, 405]],
  [
    'Content-Length and Transfer-Encoding',
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    [400],
  ],
  [
    'two Content-Lengths',
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`,
    [400],
  ],
  ['space before the colon', get(`Host : localhost\r\n${token}`), [400]],
  ['a 20 KB header', get(`Host: localhost\r\nX-Big: ${'x'.repeat(20_000)}\r\n`), [431]],
  ['no HTTP at all', 'hello\r\n\r\n', [400]],
  [
    'a gzip body that is none',
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc`,
    [415],
  ],
]
for (const [name, payload, statuses] of cases) {
  test(`${name} is answered, and the service lives on`, async (t) => {
    const { port, baseUrl } = rawServer
    const reply = await rawRequest(port, payload)
    t.true(statuses.includes(reply.status), `${reply.status}: ${reply.text.slice(0, 200)}`)
    t.is((await fetch(`${baseUrl}/api/v1/things/1`, { headers: { authorization: 'token good' } })).status, 200)
  })
}

test('ambiguous requests and unknown methods are refused', async (t) => {
  const { port } = rawServer
  const head = `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}`
  const smuggled = [
    'Content-Length: 4\r\nTransfer-Encoding: chunked',
    'Content-Length: 4\r\nContent-Length: 5',
    'Content-Length: +4',
    'Transfer-Encoding : chunked',
  ]
  for (const headers of smuggled)
    t.is((await rawRequest(port, `${head}${headers}\r\n\r\n0\r\n\r\n`)).status, 400, headers)
  for (const method of ['TRACE', 'PROPFIND', 'PURGE', 'MKCOL'])
    t.is(
      (await rawRequest(port, `${method} /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n${token}\r\n`)).status,
      405,
      method,
    )
})

test('invalid bytes after a request do not affect its answer', async (t) => {
  const { port } = rawServer
  const statuses = (text: string): readonly string[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '')
  const made = `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"x"}`
  for (const [after, expected] of [
    ['garbage\r\n\r\n', ['201', '201', '400']],
    [`${made.replace('Content-Length: 12', 'Content-Length: +12')}`, ['201', '201', '400']],
    [`${made.replace('Content-Length: 12', 'Transfer-Encoding: chunked')}`, ['201', '201', '400']],
    [get(`Host: localhost\r\n${token}X-Big: ${'x'.repeat(20_000)}\r\n`), ['201', '201', '431']],
  ] as const) {
    const reply = await rawRequest(port, made + made + after, 1000)
    t.deepEqual([statuses(reply.text), reply.closed], [expected, true], after.slice(0, 200))
  }
  const last = await rawRequest(port, `${made.replace('Host', 'Connection: close\r\nHost')}garbage\r\n\r\n`, 1000)
  t.deepEqual([statuses(last.text), last.closed], [['201'], true])
})

test('a body in an unknown transfer coding is 501', async (t) => {
  const { port, lines } = rawServer
  const head = (path: string) =>
    `POST /api/v1/${path} HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\n`
  for (const coding of [
    'xchunked',
    'gzip, chunked',
    'identity',
    'gzip',
    'chunked, gzip',
    'chunked, chunked',
    'chunked;q=1',
    'identity\r\nTransfer-Encoding: chunked',
  ]) {
    for (const path of ['things', 'signin', 'nothing']) {
      const reply = await rawRequest(
        port,
        `${head(path)}Transfer-Encoding: ${coding}\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`,
        1000,
      )
      t.deepEqual(
        [reply.status, reply.text.match(/HTTP\/1\.1 /g)?.length, reply.closed],
        [501, 1, true],
        `${coding} ${path}: ${reply.text}`,
      )
      t.regex(reply.text, /only \\"chunked\\"/)
    }
  }
  t.is(
    (await rawRequest(port, `${head('things')}Transfer-Encoding: Chunked\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`))
      .status,
    201,
  )
  t.false(
    lines.some(({ fields }) => fields['operation'] === 'stub.signin'),
    'nothing of it reached a handler',
  )
})

test('two different Authorization headers are refused', async (t) => {
  const { port } = rawServer
  const ask = async (...values: string[]) =>
    (await rawRequest(port, get(`Host: localhost\r\n${values.map((value) => `Authorization: ${value}\r\n`).join('')}`)))
      .status
  t.is(await ask('token good', 'token good'), 200)
  t.is(await ask('token good', 'token admin'), 401)
  t.is(await ask('token good', 'token nope'), 401)
  t.is(await ask('token good', `Basic ${btoa('ada:pass:word')}`), 401)
  t.is(await ask('token good', ''), 401)
  t.is(await ask('', 'token good'), 401)
})

test('a request without Host is refused with a body that says so', async (t) => {
  const reply = await rawRequest(rawServer.port, get(token))
  t.is(reply.status, 400)
  t.like(JSON.parse(reply.text.slice(reply.text.indexOf('{'))), {
    code: 'BadRequestTarget',
    url: 'http://127.0.0.1:3000/api/v1/docs',
  })
})

test('an unknown expectation is no reason to refuse', async (t) => {
  t.is((await rawRequest(rawServer.port, get(`Host: localhost\r\nExpect: lunch\r\n${token}`))).status, 200)
})

test('a gzip bomb is refused by its header, unread', async (t) => {
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const head = `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`
  t.is((await rawRequest(rawServer.port, Buffer.concat([Buffer.from(head), bomb.subarray(0, 1000)]))).status, 415)
})

test('a chunked body without end is cut at the limit, and the connection closed', async (t) => {
  const socket = connect(rawServer.port, '127.0.0.1')
  let sent = 0
  let reply = ''
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  const chunk = `400\r\n${'a'.repeat(1024)}\r\n`
  while (!socket.destroyed && sent < 50_000_000) {
    if (socket.write(chunk)) await wait(0)
    else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    sent += chunk.length
  }
  await closed
  t.regex(reply, /^HTTP\/1\.1 413/)
  t.true(sent < 10_000_000)
})

test('a client that sends a body whole before it reads gets the refusal, not a reset', async (t) => {
  const body = Buffer.alloc(6_000_000, 'a')
  const socket = connect(rawServer.port, '127.0.0.1')
  const failures: string[] = []
  socket.on('error', ({ message }) => failures.push(message))
  socket.pause()
  socket.write(
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  const pieces = 6
  for (let piece = 0; piece < pieces && !socket.destroyed; piece += 1) {
    await new Promise((resolve) =>
      socket.write(body.subarray((piece * body.length) / pieces, ((piece + 1) * body.length) / pieces), resolve),
    )
    await wait(200)
  }
  let reply = ''
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()))
  socket.resume()
  await new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve())))
  t.deepEqual(failures, [])
  t.regex(reply, /^HTTP\/1\.1 413/)
  t.regex(reply, /connection: close/i)
})

test('a body that ends before its length reaches no handler', async (t) => {
  const { port, lines } = rawServer
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n`,
  )
  // The 100 says that the head has arrived: what is cut before that is no request.
  await once(socket, 'data')
  socket.write('{"name":"', () => socket.destroy())
  const isLeft = (line: (typeof lines)[number]): boolean =>
    line.fields['operation'] === 'stub.post' && line.fields['status'] === 499
  t.truthy(await until('the log line', () => lines.find(isLeft)))
})

test('two requests on one connection are both answered, in order', async (t) => {
  const one = get(`Host: localhost\r\n${token}`)
  const reply = await rawRequest(rawServer.port, one + get(`Host: localhost\r\n${token}`, '/api/v1/things/2'))
  t.is(reply.text.match(/HTTP\/1\.1 200/g)?.length, 2)
  t.true(reply.text.indexOf('thing 1') < reply.text.indexOf('thing 2'))
})

test('outside the API any GET is the start page, anything else is refused', async (t) => {
  const { baseUrl } = rawServer
  const page = await fetch(`${baseUrl}/console/anything`)
  t.is(page.status, 200)
  t.regex(page.headers.get('content-type') ?? '', /text\/html/)
  t.is((await fetch(`${baseUrl}/console`, { method: 'POST' })).status, 404)
})

const waits = defineRoute({
  id: 'stub.waits',
  method: 'GET',
  path: '/waits',
  summary: 's',
  tag: 'Miscellaneous',
  access: signedIn,
  scope: read('misc'),
  failures: [],
  ok: json(200, t.string, 'x'),
})

/** A request whose client leaves once the handler runs; answers what was logged for it. */
const leave = async (
  fail: (signal: AbortSignal) => unknown,
): Promise<readonly { readonly level: string; readonly fields: Readonly<Record<string, unknown>> }[]> => {
  const begun = Promise.withResolvers<void>()
  const server = await startStubServer([
    handle(
      waits,
      (call) =>
        new Promise<never>((_, reject) => {
          call.signal.addEventListener('abort', () => reject(fail(call.signal) as Error))
          begun.resolve()
        }),
    ),
  ])
  const asked = request(`${server.baseUrl}/api/v1/waits`, { headers: { authorization: 'token good' } }).on(
    'error',
    () => undefined,
  )
  asked.end()
  await begun.promise
  asked.destroy()
  while (!server.lines.some(({ fields }) => JSON.stringify(fields).includes('stub.waits')))
    await new Promise((resolve) => setImmediate(resolve))
  await server.stop()
  return server.lines
}

test('work that ends because its client left is no error', async (assert) => {
  const lines = await leave((signal) => signal.reason)
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [],
  )
})

test('a failure while a client leaves is logged as a failure', async (assert) => {
  const lines = await leave(() => new Error('broken'))
  assert.is(lines.filter(({ level }) => level === 'error').length, 1)
})
