// process: own - keeps its process busy
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import anyTest from 'ava'
import type { TestFn } from 'ava'
import { rawRequest } from '../http/raw-request.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'

const test = anyTest as TestFn<{ service: ServiceProcess; port: number; ended: { code: number | string | undefined } }>

test.before(async (t) => {
  const service = await startServiceProcess()
  const ended: { code: number | string | undefined } = { code: undefined }
  void service.exited.then((code) => (ended.code = code))
  t.context = { service, port: Number(new URL(service.baseUrl).port), ended }
})
test.after.always((t) => t.context.service.stop())

const host = 'Host: localhost\r\n'
const get = (headers: string, target = '/api/v1/version', method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\n${headers}\r\n`
const post = (headers: string, body = ''): string =>
  `POST /api/v1/user/signin HTTP/1.1\r\n${host}Content-Type: application/json\r\n${headers}\r\n${body}`

const hosts = [
  '[',
  'a b',
  'a/path',
  'a/api/v1/admin/users?',
  'a?x',
  'a#x',
  'a@b',
  'a:99999',
  'a:b',
  ':80',
  '[::1',
  '[::1]:x',
  'http://a',
  'a,b',
  '%00',
  'ü',
  '..',
  '',
]
const hostCases = hosts.map((value) => [`Host ${JSON.stringify(value)}`, get(`Host: ${value}\r\n`), [400]] as const)

const smuggled = [
  [
    'Content-Length with Transfer-Encoding',
    post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    [400],
  ],
  ['two Content-Lengths', post('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcde'), [400]],
  ['Content-Length with a sign', post('Content-Length: +4\r\n', 'abcd'), [400]],
  ['an obscured Transfer-Encoding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), [501]],
  [
    'Transfer-Encoding twice',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
    [400, 501],
  ],
  ['a chunk size that is none', post('Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n'), [400]],
  ['space before the colon', get('Host : localhost\r\n'), [400]],
  ['a folded header', get(`${host}X-A: b\r\n c\r\n`), [200, 400]],
  ['a bare line feed', `GET /api/v1/version HTTP/1.1\nHost: localhost\n\n`, [400]],
  ['NUL in a header', get(`${host}X-A: a\u0000b\r\n`), [400]],
  ['HTTP/0.9', 'GET /\r\n\r\n', [400]],
  ['HTTP/3.0', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', [400, 505]],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 405, 505]],
  ['no HTTP at all', '\u0080\u0003\u0001\u0002\u0000', [400]],
] as const

const oversized = [
  ['one header of 20 KB', get(`${host}X-A: ${'x'.repeat(20_000)}\r\n`), [431]],
  [
    '3,000 headers',
    get(host + Array.from({ length: 3000 }, (_, index) => `X-${index}: 1\r\n`).join('')),
    [431, 400, 200],
  ],
  ['a target of 10 KB', get(host, `/api/v1/users/${'a'.repeat(10_000)}`), [400, 404, 414]],
  ['a query of 17 KB', get(host, `/api/v1/version?${'a'.repeat(17_000)}`), [400, 414, 431]],
] as const

const methods = [
  ...['TRACE', 'PROPFIND', 'PURGE', 'MKCOL'].map(
    (method) => [method, get(host, '/api/v1/version', method), [405]] as const,
  ),
  ...['BREW', 'get', 'GE T'].map((method) => [method, get(host, '/api/v1/version', method), [400, 405]] as const),
  ['CONNECT', get(host, 'localhost:80', 'CONNECT'), [400, 405, 0]],
  ['OPTIONS', get(host, '/api/v1/version', 'OPTIONS'), [204]],
  ['HEAD', get(host, '/api/v1/version', 'HEAD'), [200]],
  ['DELETE where only GET is', get(host, '/api/v1/version', 'DELETE'), [405]],
  ['an override that is no method', get(`${host}X-HTTP-Method-Override: DELETE\r\n`), [200]],
  ['absolute form', get(host, 'http://localhost/api/v1/version'), [200]],
  ['a target that is no path', get(host, '*'), [400]],
] as const

const bodies = [
  [
    'a gzip bomb',
    Buffer.concat([
      Buffer.from(post('Content-Encoding: gzip\r\nContent-Length: 200000\r\n')),
      gzipSync(Buffer.alloc(20_000_000)).subarray(0, 500),
    ]),
    [415],
  ],
  ['broken gzip', post('Content-Encoding: gzip\r\nContent-Length: 3\r\n', 'abc'), [415]],
  ['a body announced as 100 MB', post('Content-Length: 104857600\r\n', '{'), [413]],
  ['nesting of 100,000', post('Content-Length: 100000\r\n', '['.repeat(100_000)), [400]],
  ['an upgrade to nothing', get(`${host}Connection: Upgrade\r\nUpgrade: websocket\r\n`), [200, 400, 404, 426]],
] as const

const cases: readonly (readonly [string, string | Buffer, readonly number[]])[] = [
  ...hostCases,
  ...smuggled,
  ...oversized,
  ...methods,
  ...bodies,
]

for (const [name, payload, statuses] of cases) {
  test.serial(`${name} is answered, and the same process lives on`, async (t) => {
    const { port, service, ended } = t.context
    const reply = await rawRequest(port, typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload)
    t.true(statuses.includes(reply.status), `${reply.status}: ${reply.text.slice(0, 300)}`)
    t.is(ended.code, undefined)
    t.is((await service.send('GET', '/api/v1/version')).status, 200)
  })
}

test.serial('silent connections and clients that never read do no harm', async (t) => {
  const { port, service, ended } = t.context
  const idle = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  const deaf = connect(port, '127.0.0.1').on('error', () => undefined)
  deaf.pause()
  deaf.write(get(host, '/api/v1/openapi.json').repeat(20))
  for (const socket of idle) socket.write('GET /api/v1/ver')
  for (let i = 0; i < 20; i++) t.is((await service.send('GET', '/api/v1/version')).status, 200)
  for (const socket of [...idle, deaf]) socket.destroy()
  t.is(ended.code, undefined)
})

test.serial('two pipelined requests are answered in order', async (t) => {
  const { text } = await rawRequest(
    t.context.port,
    get(host) + get(host, '/api/v1/user') + get(`${host}Connection: close\r\n`, '/api/v1/version'),
  )
  t.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]),
    ['200', '401', '200'],
  )
})

test.serial('all of it left the memory where it was', (t) => {
  const resident = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${t.context.service.pid}/status`, 'utf8'))?.[1])
  t.true(resident < 400_000, `${resident} kB`)
  t.notRegex(t.context.service.stderr(), /uncaught|unhandled|RangeError|ERR_/i)
})
