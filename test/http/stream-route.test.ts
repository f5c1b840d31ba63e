import { once } from 'node:events'
import { connect } from 'node:net'
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import test from 'ava'
import fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { isForEveryone } from '../../adapters/outbound/account-limiter.ts'
import { forwardedQuery } from '../../composition/runtime/http/streams/stream-route.ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import { until } from '../support/until.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { grants, startStubServer } from './stub-server.ts'

let server: StubServer
test.before(async () => {
  server = await startStubServer(stubRoutes)
})
test.after.always(() => server.stop())

const proxy = '/api/v1/c/acme/prod/proxy'
const auth = { authorization: 'Bearer good' }

test('bytes pass both ways, and the path tail is forwarded encoded', async (t) => {
  const bytes = new Uint8Array(300_000).map((_, i) => (i * 31) % 256)
  const reply = await fetch(
    `${server.baseUrl}${proxy}/apis/x%3Ay/v1?watch=1&token=good&labelSelector=a%3Db&org=x&sudo=`,
    {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: bytes,
    },
  )
  t.is(reply.status, 201)
  t.is(reply.headers.get('x-seen'), 'PUT /apis/x%3Ay/v1 watch=1&labelSelector=a%3Db')
  t.deepEqual(new Uint8Array(await reply.arrayBuffer()), bytes)
})

test('the bare prefix is the root of the proxied API', async (t) => {
  const reply = await fetch(`${server.baseUrl}${proxy}/`, { headers: auth })
  t.is(reply.headers.get('x-seen'), 'GET / ')
})

for (const path of ['/a/../b', '/a%2fb', '/a%2Fb', '/a%5cb', '/%2e%2e/b', '//a', '/a\\b', '/a%00']) {
  test(`${path} below the prefix is refused before anything is forwarded`, async (t) => {
    const reply = await rawRequest(
      server.port,
      `GET ${proxy}${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n`,
    )
    t.is(reply.status, 400)
  })
}

test('a refusal is a Kubernetes Status that kubectl shows', async (t) => {
  const none = await fetch(`${server.baseUrl}${proxy}/api`)
  t.is(none.status, 401)
  const hidden = await fetch(`${server.baseUrl}/api/v1/c/acme/hidden/proxy/api`, { headers: auth })
  t.is(hidden.status, 404)
  t.like(await hidden.json(), {
    kind: 'Status',
    status: 'Failure',
    reason: 'NotFound',
    code: 404,
    url: 'http://127.0.0.1:3000/api/v1/docs#operation/stub.stream.get',
  })
  const scope = await fetch(`${server.baseUrl}${proxy}/api`, { headers: { authorization: 'token reader' } })
  t.is(scope.status, 403)
})

test('when the client leaves, the call’s signal says so', async (t) => {
  await new Promise<void>((resolve, reject) => {
    const req = request(`${server.baseUrl}${proxy}/endless`, { headers: auth }, (res) => {
      res.once('data', () => {
        req.destroy()
        resolve()
      })
    })
    req.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
    req.end()
  })
  for (
    let i = 0;
    i < 100 &&
    !server.lines.some((line) => line.fields['operation'] === 'stub.stream' && line.fields['bytesOut'] === 5);
    i++
  )
    await wait(20)
  t.true(server.lines.some((line) => line.fields['operation'] === 'stub.stream' && line.fields['bytesOut'] === 5))
})

const upgradeHead = (path: string, extra = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`

test('an upgraded connection carries bytes both ways, first bytes included', async (t) => {
  const socket = connect(server.port, '127.0.0.1')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.write(`${upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n')}early`)
  const text = (): string => Buffer.concat(received).toString()
  while (!text().endsWith('early')) await once(socket, 'data')
  socket.write('later')
  while (!text().endsWith('later')) await once(socket, 'data')
  socket.destroy()
  t.regex(text(), /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.true(text().endsWith('earlylater'))
})

test('an upgrade needs a credential, a known path and a checked target, as any request', async (t) => {
  const { port } = server
  t.is((await rawRequest(port, upgradeHead(`${proxy}/exec`))).status, 401)
  t.is((await rawRequest(port, upgradeHead('/api/v1/things/1', 'Authorization: Bearer good\r\n'))).status, 404)
  t.is((await rawRequest(port, upgradeHead(`${proxy}/a%2fb`, 'Authorization: Bearer good\r\n'))).status, 400)
  t.is((await rawRequest(port, upgradeHead(`${proxy}/exec`, 'Authorization: Bearer reader\r\n'))).status, 403)
  t.is(
    (
      await rawRequest(
        port,
        upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n').replace('Host: localhost', 'Host: ['),
      )
    ).status,
    400,
  )
})

test('a refused upgrade closes the connection: a second request on it is never read', async (t) => {
  const { port } = server
  const smuggled = `${upgradeHead(`${proxy}/refused`, 'Authorization: Bearer good\r\n')}GET /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n`
  const reply = await rawRequest(port, smuggled)
  t.is(reply.status, 403)
  t.true(reply.closed)
  t.is(reply.text.match(/HTTP\/1\.1/g)?.length, 1)
})

for (const path of ['/breaks', '/regrets']) {
  test(`an error after the accepted upgrade closes the tunnel: ${path}`, async (t) => {
    const reply = await rawRequest(server.port, upgradeHead(`${proxy}${path}`, 'Authorization: Bearer good\r\n'))
    t.is(reply.status, 101)
    t.true(reply.closed)
    t.is(reply.text.match(/HTTP\/1\.1/g)?.length, 1, 'no second head is written into it')
    t.true(reply.text.endsWith('\r\n\r\n'), reply.text)
  })
}

for (const path of ['/waits', '/gives-up']) {
  test(`the rest of an early-answered body is read: ${path}`, async (t) => {
    const socket = connect(server.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    const closed = once(socket, 'close')
    const size = 1_000_000
    const head = `Host: localhost\r\nAuthorization: Bearer good\r\n`
    socket.write(`POST ${proxy}${path} HTTP/1.1\r\n${head}Content-Length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size))
    socket.write(`GET ${proxy}/next HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)
    await closed
    t.regex(
      received,
      new RegExp(`^HTTP/1\\.1 201 [^]*x-seen: POST ${path} \\r\\n[^]*HTTP/1\\.1 201 [^]*x-seen: GET /next `),
    )
  })
}

test('an upgrade during an outage is 503 with Retry-After', async (t) => {
  const reply = await rawRequest(server.port, upgradeHead(`${proxy}/away`, 'Authorization: Bearer good\r\n'))
  t.is(reply.status, 503)
  t.regex(reply.text, /\r\nretry-after: [1-9]\d*\r\n/i)
  t.true(reply.text.includes('The database does not answer.'))
})

test('an Upgrade header of another protocol is a plain request', async (t) => {
  const head =
    'GET /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: token good\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n'
  t.is((await rawRequest(server.port, head)).status, 200)
})

test('a stop lets requests in flight end and cuts endless streams', async (t) => {
  const server = await startStubServer(stubRoutes)
  const endless = await fetch(`${server.baseUrl}${proxy}/endless`, { headers: auth })
  const tunnel = connect(server.port, '127.0.0.1')
  tunnel.on('error', () => undefined)
  tunnel.resume()
  tunnel.write(upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n'))
  await wait(50)
  const closed = new Promise((resolve) => tunnel.once('close', resolve))
  await server.stop({ requests: 5000, streams: 50 })
  await closed
  await t.throwsAsync(endless.text())
})

test('streams and tunnels end with their right at a used up rate limit', async (t) => {
  const state = { isUsedUp: false }
  const authorize: typeof grants = async (...asked) => {
    if (state.isUsedUp && !isForEveryone()) throw new Unavailable('The statements of this account wait.')
    return state.isUsedUp ? left(AccessDenied('Not any more.')) : grants(...asked)
  }
  const limited = await startStubServer(stubRoutes, {
    recheckMilliseconds: 10,
    rateLimit: () => ({ allowed: !state.isUsedUp, limit: 1, remaining: 0, resetSeconds: 60 }),
    authorizer: { authorize },
  })
  t.teardown(() => limited.stop())
  const endless = await fetch(`${limited.baseUrl}${proxy}/endless`, { headers: auth })
  const tunnel = connect(limited.port, '127.0.0.1')
  tunnel.on('error', () => undefined)
  const closed = new Promise((resolve) => tunnel.once('close', resolve))
  tunnel.write(upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n'))
  await once(tunnel, 'data')
  tunnel.resume()
  await wait(30)
  t.false(tunnel.destroyed)
  state.isUsedUp = true
  await closed
  await t.throwsAsync(endless.text())
})

test('a tunnel whose client leaves while its caller is checked is not checked again', async (t) => {
  const asked = { gone: 0, stays: 0 }
  const first = Promise.withResolvers<void>()
  const slow = await startStubServer(stubRoutes, {
    recheckMilliseconds: 5,
    authorizer: {
      authorize: async (...given: Parameters<typeof grants>) => {
        const isGone = JSON.stringify(given[1]).includes('gone')
        asked[isGone ? 'gone' : 'stays'] += 1
        if (isGone) await first.promise
        return grants(...given)
      },
    },
  })
  t.teardown(() => slow.stop({ requests: 100, streams: 100 }))
  const open = (cluster: string) => {
    const socket = connect(slow.port, '127.0.0.1').on('error', () => undefined)
    socket.write(upgradeHead(`/api/v1/c/acme/${cluster}/proxy/exec`, 'Authorization: Bearer good\r\n'))
    return socket.resume()
  }
  const gone = open('gone')
  await until('the check', () => asked.gone === 1 || undefined)
  gone.resetAndDestroy()
  open('stays')
  await until('checks of a tunnel', () => asked.stays > 4 || undefined)
  first.resolve()
  const before = asked.stays
  await until('checks of a tunnel', () => asked.stays > before + 10 || undefined)
  t.is(asked.gone, 1)
})

test('platform parameters leave the query, all else stays byte for byte and in order', (t) => {
  const pair = fc.tuple(
    fc.constantFrom('watch', 'token', 'labelSelector', 'org', 'sudo', 'access_token', 'limit', 'a%20b'),
    fc.constantFrom('', '1', 'x%3Dy', 'a+b'),
  )
  const own = new Set(['token', 'org', 'sudo', 'access_token'])
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 8 }), (pairs) => {
      const text = pairs.map(([name, value]) => `${name}=${value}`).join('&')
      const expected = pairs
        .filter(([name]) => !own.has(name))
        .map(([name, value]) => `${name}=${value}`)
        .join('&')
      return forwardedQuery(text) === expected
    }),
  )
  t.is(forwardedQuery('to%6ben=x&a=b'), 'a=b')
})
