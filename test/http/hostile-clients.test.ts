import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import * as io from 'io-ts'
import { readBody } from '../../composition/http/request/body.ts'
import { httpLimits, type HttpLimits } from '../../composition/http/http-limits.ts'
import { anyone } from '../../plugins/kit/access.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { json } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { until } from '../support/until.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import { startStubServer, type StubServer } from './stub-server.ts'

const largeText = 'x'.repeat(32 * 1024 * 1024)
const largeRoute = handle(
  defineRoute({ id: 'stub.large', method: 'GET', path: '/large', summary: 's', tag: 'Miscellaneous', access: anyone, ok: json(200, io.string, 'x'), failures: [] }),
  async () => right(largeText),
)

let server: StubServer
test.before(async () => {
  server = await startStubServer(stubRoutes)
})
test.after.always(() => server.stop())

const upgradeHead = (path: string, extra = ''): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`
const proxy = '/api/v1/c/acme/prod/proxy'
const linesOf = async (operation: string, status: number) => {
  for (let i = 0; i < 40; i += 1) {
    const found = server.lines.find(({ message, fields }) => message === 'request' && fields['operation'] === operation && fields['status'] === status)
    if (found !== undefined) return found
    await sleep(25)
  }
  return undefined
}

test('a connection that leaves HTTP has its line in the access log when it ends, and so has a refused one', async (t) => {
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

test('escapes that are no UTF-8 in the path of an upgrade are not found, and are no error of ours', async (t) => {
  t.is((await rawRequest(server.port, upgradeHead('/api/v1/c/%ff/prod/proxy/exec'))).status, 404)
  t.deepEqual(server.lines.filter(({ level }) => level === 'error'), [])
})

/** A server with the limits of a service, shortened. */
const hasty = (limits: Partial<HttpLimits>): Promise<StubServer> => startStubServer([...stubRoutes, largeRoute], { limits })
const isOver = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
const flood = 'GET /api/v1/c/acme/prod/proxy/flood HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n'
const large = 'GET /api/v1/large HTTP/1.1\r\nHost: a\r\n\r\n'

test('a client that takes nothing of its answer is cut, and what feeds it ends', async (t) => {
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
  ['a body', 'POST /api/v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n'],
] as const) {
  test(`a client that sends ${what} byte by byte is answered 408 and cut, although it continues`, async (t) => {
    const own = await hasty({ headers: 200, request: 400 })
    t.teardown(() => own.stop())
    const client = trickle(own.port, head)
    await client.over
    t.regex(client.text(), /^HTTP\/1\.1 408 [^]*Connection: close/)
    t.is(client.text().match(/HTTP\/1\.1/g)?.length, 1)
  })
}

test('the limits of a service are those that the page on security names', async (t) => {
  const page = (await readFile(new URL('../../docs/security.md', import.meta.url), 'utf8')).replaceAll('\n', ' ')
  const seconds = (ms: number): string => `${ms / 1000} s`
  for (const claim of [
    `${seconds(httpLimits.firstBytes)} for its first byte and the TLS handshake`,
    `${seconds(httpLimits.headers)} for its headers`,
    `${seconds(httpLimits.request)} in all`,
    `reads nothing of its response for ${seconds(httpLimits.unread)} is disconnected`,
  ]) t.true(page.includes(claim), claim)
})

const typed = (type: string): Promise<boolean> =>
  readBody({ headers: { 'content-type': type, 'content-length': '2' }, on: () => undefined, off: () => undefined, pause: () => undefined } as unknown as IncomingMessage, 1).then(
    (read) => !read.ok && read.refusal.status === 413,
  )

test('content types of JSON are taken as clients write them, and none is searched through at length', async (t) => {
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"', 'application/merge-patch+json', 'application/json;']) t.true(await typed(type), type)
  for (const type of ['', 'text/plain', 'application/json; charset=utf-16', 'application/jsonx', `application/json${' '.repeat(9)};`]) t.false(await typed(type), type)
})
