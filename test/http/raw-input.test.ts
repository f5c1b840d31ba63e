import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import anyTest from 'ava'
import type { TestFn } from 'ava'
import { until } from '../support/until.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { startStubServer } from './stub-server.ts'

const test = anyTest as TestFn<{ server: StubServer }>
test.before(async (t) => {
  t.context.server = await startStubServer(stubRoutes)
})
test.after.always((t) => t.context.server.stop())

const get = (headers: string, target = '/api/v1/things/1'): string => `GET ${target} HTTP/1.1\r\n${headers}\r\n`
const token = 'Authorization: token good\r\n'

const cases: readonly [name: string, payload: string | Buffer, statuses: readonly number[]][] = [
  ['Host: [', get(`Host: [\r\n${token}`), [400]],
  ['a Host with a path', get(`Host: a/api/v1/admin/x?\r\n${token}`), [400]],
  ['no Host', get(token), [400]],
  ['two Hosts', get(`Host: a\r\nHost: b\r\n${token}`), [400]],
  ['absolute form', get(`Host: localhost\r\n${token}`, 'http://localhost/api/v1/things/1'), [400]],
  ['a target that is no URL', get(`Host: localhost\r\n${token}`, 'http://['), [400]],
  ['TRACE', `TRACE /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [405]],
  ['a made-up method', `BREW /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [400, 405]],
  ['a lower-case method', `get /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`, [400, 405]],
  ['Content-Length and Transfer-Encoding', `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, [400]],
  ['two Content-Lengths', `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`, [400]],
  ['space before the colon', get(`Host : localhost\r\n${token}`), [400]],
  ['a 20 KB header', get(`Host: localhost\r\nX-Big: ${'x'.repeat(20_000)}\r\n`), [431]],
  ['no HTTP at all', 'hello\r\n\r\n', [400]],
  ['a gzip body that is none', `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc`, [415]],
]
for (const [name, payload, statuses] of cases) {
  test(`${name} is answered, and the service lives on`, async (t) => {
    const { port, baseUrl } = t.context.server
    const reply = await rawRequest(port, payload)
    t.true(statuses.includes(reply.status), `${reply.status}: ${reply.text.slice(0, 200)}`)
    t.is((await fetch(`${baseUrl}/api/v1/things/1`, { headers: { authorization: 'token good' } })).status, 200)
  })
}

test('what could be read as two requests, and every method that no route has, is refused', async (t) => {
  const { port } = t.context.server
  const head = `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}`
  const smuggled = ['Content-Length: 4\r\nTransfer-Encoding: chunked', 'Content-Length: 4\r\nContent-Length: 5', 'Content-Length: +4', 'Transfer-Encoding : chunked']
  for (const headers of smuggled) t.is((await rawRequest(port, `${head}${headers}\r\n\r\n0\r\n\r\n`)).status, 400, headers)
  for (const method of ['TRACE', 'PROPFIND', 'PURGE', 'MKCOL']) t.is((await rawRequest(port, `${method} /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n${token}\r\n`)).status, 405, method)
})

test('a body in another transfer coding than chunked is 501, whatever else is around it', async (t) => {
  const { port, lines } = t.context.server
  const head = (path: string) => `POST /api/v1/${path} HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\n`
  for (const coding of ['xchunked', 'gzip, chunked', 'identity', 'gzip', 'chunked, gzip', 'chunked, chunked', 'chunked;q=1', 'identity\r\nTransfer-Encoding: chunked']) {
    for (const path of ['things', 'signin', 'nothing']) {
      const reply = await rawRequest(port, `${head(path)}Transfer-Encoding: ${coding}\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`, 1000)
      t.deepEqual([reply.status, reply.text.match(/HTTP\/1\.1 /g)?.length, reply.closed], [501, 1, true], `${coding} ${path}: ${reply.text}`)
      t.regex(reply.text, /only \\"chunked\\"/)
    }
  }
  t.is((await rawRequest(port, `${head('things')}Transfer-Encoding: Chunked\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`)).status, 201)
  t.false(lines.some(({ fields }) => fields['operation'] === 'stub.signin'), 'nothing of it reached a handler')
})

test('of two Authorization headers neither is chosen: they are refused unless they are one', async (t) => {
  const { port } = t.context.server
  const ask = async (...values: string[]) => (await rawRequest(port, get(`Host: localhost\r\n${values.map((value) => `Authorization: ${value}\r\n`).join('')}`))).status
  t.is(await ask('token good', 'token good'), 200)
  t.is(await ask('token good', 'token admin'), 401)
  t.is(await ask('token good', 'token nope'), 401)
  t.is(await ask('token good', `Basic ${btoa('ada:pass:word')}`), 401)
  t.is(await ask('token good', ''), 401)
  t.is(await ask('', 'token good'), 401)
})

test('a request without Host is refused with a body that says so', async (t) => {
  const reply = await rawRequest(t.context.server.port, get(token))
  t.is(reply.status, 400)
  t.like(JSON.parse(reply.text.slice(reply.text.indexOf('{'))), { code: 'BadRequestTarget', url: 'http://127.0.0.1:3000/api/v1/docs' })
})

test('an unknown expectation is no reason to refuse', async (t) => {
  t.is((await rawRequest(t.context.server.port, get(`Host: localhost\r\nExpect: lunch\r\n${token}`))).status, 200)
})

test('a gzip bomb is refused by its header, unread', async (t) => {
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const head = `POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`
  t.is((await rawRequest(t.context.server.port, Buffer.concat([Buffer.from(head), bomb.subarray(0, 1000)]))).status, 415)
})

test('a chunked body without end is cut at the limit, and the connection closed', async (t) => {
  const socket = connect(t.context.server.port, '127.0.0.1')
  let sent = 0
  let reply = ''
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(`POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`)
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

test('a body that ends before its length reaches no handler', async (t) => {
  const { port, lines } = t.context.server
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n`)
  // The 100 says that the head has arrived: what is cut before that is no request.
  await once(socket, 'data')
  socket.write('{"name":"', () => socket.destroy())
  const isLeft = (line: (typeof lines)[number]): boolean => line.fields['operation'] === 'stub.post' && line.fields['status'] === 499
  t.truthy(await until('the log line', () => lines.find(isLeft)))
})

test('two requests on one connection are both answered, in order', async (t) => {
  const one = get(`Host: localhost\r\n${token}`)
  const reply = await rawRequest(t.context.server.port, one + get(`Host: localhost\r\n${token}`, '/api/v1/things/2'))
  t.is(reply.text.match(/HTTP\/1\.1 200/g)?.length, 2)
  t.true(reply.text.indexOf('thing 1') < reply.text.indexOf('thing 2'))
})

test('outside the API any GET is the start page, anything else is refused', async (t) => {
  const { baseUrl } = t.context.server
  const page = await fetch(`${baseUrl}/console/anything`)
  t.is(page.status, 200)
  t.regex(page.headers.get('content-type') ?? '', /text\/html/)
  t.is((await fetch(`${baseUrl}/console`, { method: 'POST' })).status, 404)
})
