import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as tlsConnect } from 'node:tls'
import test from 'ava'
import type { FakeKubernetes } from '../../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { expectStatus, importCluster } from '../cluster-fixture.ts'
import { encodedToken } from './handshake.ts'

/** Connections that leave HTTP, through the whole service. */
let service: TestService
let fake: FakeKubernetes

test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService()
})

test.after.always(async () => {
  await service.stop()
  await fake.stop()
})

let clusters = 0
/** A record of its own, so that tests do not cut each other's connections. */
const makeProxy = async (target: FakeKubernetes = fake): Promise<{ name: string; proxy: string }> => {
  const name = `up-${(clusters += 1)}`
  const owner = await service.send('POST', '/api/v1/orgs', {
    token: service.adminToken,
    body: { username: `org-${name}` },
  })
  if (owner.status !== 201) throw new Error(owner.text)
  await expectStatus(importCluster(service.send, service.adminToken, `org-${name}`, name, target.kubeconfig()), 200)
  return { name: `org-${name}/${name}`, proxy: `/api/v1/clusters/org-${name}/${name}/proxy` }
}

const open = (): Socket => connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
const head = (path: string, lines: readonly string[], method = 'GET'): string =>
  [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(service.baseUrl).host}`,
    `Authorization: Bearer ${service.adminToken}`,
    ...lines,
    '',
    '',
  ].join('\r\n')
const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const exec = '/api/v1/namespaces/default/pods/web/exec?command=sh'

const readAll = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}

const accept = (socket: Duplex): void => {
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSet-Cookie: a=b\r\n\r\n',
  )
}

for (const [status, reason] of [
  [200, 'OK'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [500, 'Internal Server Error'],
] as const) {
  test(`an upgrade answered ${status} is an ordinary response without later bytes`, async (t) => {
    const own = await startFakeKubernetes()
    t.teardown(() => own.stop())
    own.onUpgrade((_req, socket) => {
      // Node hands the connection over whatever the answer is; a naive relay would leave it open and authenticated.
      socket.write(
        `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"kind":"Status"}`,
      )
      socket.on('data', (chunk: Buffer) => smuggled.push(chunk.toString('latin1')))
    })
    const smuggled: string[] = []
    const { proxy } = await makeProxy(own)
    const socket = open()
    socket.write(head(`${proxy}${exec}`, upgrade) + 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n')
    const text = await readAll(socket)
    t.regex(text, new RegExp(`^HTTP/1\\.1 ${status} `))
    t.regex(text, /\r\nX-Request-Id: [\w-]{36}\r\n/i)
    t.regex(text, /\r\nConnection: close\r\n/i)
    t.true(text.endsWith('{"kind":"Status"}'))
    t.is(text.match(/HTTP\/1\.1 /g)?.length, 1)
    t.deepEqual(smuggled, [])
    t.false(own.seen.some(({ url }) => url.includes('secrets')))
  })
}

test('an upgrade that the cluster refuses for our credential is our fault', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const { proxy } = await makeProxy(own)
  own.onUpgrade((_req, socket) => void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'))
  const socket = open()
  socket.write(head(`${proxy}${exec}`, upgrade))
  const text = await readAll(socket)
  t.regex(text, /^HTTP\/1\.1 5\d\d /)
  t.regex(text, /refused the stored credential/)
})

test('bytes pass both ways, including early ones, under our identity', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  own.onUpgrade((_req, socket, early) => {
    accept(socket)
    socket.write(Buffer.concat([Buffer.from('early:'), early]))
    socket.on('data', (chunk: Buffer) => socket.write(chunk))
    socket.on('end', () => socket.end())
    socket.on('error', () => undefined)
  })
  const { proxy } = await makeProxy(own)
  const socket = open()
  socket.write(
    head(`${proxy}${exec}`, [
      ...upgrade,
      'Cookie: moorage_session=x',
      'X-Remote-User: root',
      `Sec-WebSocket-Protocol: v5.channel.k8s.io, ${encodedToken(service.adminToken)}, v4.channel.k8s.io`,
    ]),
  )
  const sent = Buffer.alloc(3_000_000, 'wave-')
  const done = readAll(socket)
  await once(socket, 'data')
  socket.end(sent)
  const text = await done
  const seen = own.seen.find(({ url }) => url.startsWith('/api/v1/namespaces/default/pods/web/exec'))!
  t.is(seen.url, exec)
  const values = Object.fromEntries(seen.headers)
  t.is(values['authorization'], `Bearer ${own.token}`)
  t.is(values['sec-websocket-protocol'], 'v5.channel.k8s.io, v4.channel.k8s.io')
  t.is(values['cookie'], undefined)
  t.is(values['x-remote-user'], undefined)
  t.regex(text, /^HTTP\/1\.1 101 |^early:/)
  t.false(text.toLowerCase().includes('set-cookie'))
  t.is(text.match(/wave-/g)?.length, sent.byteLength / 5)
})

test('a stream ends on both sides when either side leaves', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const inside: Duplex[] = []
  own.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    // As Kubernetes does: the end of one direction is the end of both.
    socket.on('end', () => socket.end())
    socket.resume()
    inside.push(socket)
    accept(socket)
  })
  const { proxy } = await makeProxy(own)
  const first = open()
  first.write(head(`${proxy}${exec}`, upgrade))
  await once(first, 'data')
  const ended = once(inside[0]!, 'close')
  first.destroy()
  await ended
  const second = open()
  second.write(head(`${proxy}${exec}`, upgrade))
  await once(second, 'data')
  const closed = once(second, 'close')
  second.on('error', () => undefined)
  inside[1]!.destroy()
  await closed
  t.pass()
})

test("the cluster's last bytes arrive while the client still sends", async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const last = Buffer.alloc(200_000, 'last-')
  own.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    accept(socket)
    // Whatever is sent to it from now on fails on our side.
    socket.end(last, () => socket.destroy())
  })
  const { proxy } = await makeProxy(own)
  for (let round = 0; round < 40; round += 1) {
    const socket = tlsConnect({
      port: Number(new URL(service.baseUrl).port),
      host: '127.0.0.1',
      rejectUnauthorized: false,
    })
    socket.write(head(`${proxy}${exec}`, upgrade))
    const whole = readAll(socket)
    socket.once('readable', () => void (talking = setInterval(() => socket.write('bye'), 0)))
    let talking: NodeJS.Timeout | undefined
    const text = await whole.finally(() => clearInterval(talking))
    t.is(text.match(/last-/g)?.length, last.byteLength / 5)
  }
})

test('removing the cluster cuts its open streams and watches', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  own.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    accept(socket)
  })
  const { name, proxy } = await makeProxy(own)
  const [stream, watch] = [open(), open()]
  for (const socket of [stream, watch]) socket.on('error', () => undefined)
  stream.write(head(`${proxy}${exec}`, upgrade))
  watch.write(head(`${proxy}/api/v1/namespaces/default/configmaps?watch=true`, []))
  await Promise.all([once(stream, 'data'), once(watch, 'data')])
  const closed = Promise.all([once(stream, 'close'), once(watch, 'close')])
  for (const socket of [stream, watch]) socket.resume()
  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${name}/remove`, {
      token: service.adminToken,
      body: {},
    }),
    200,
  )
  await closed
  t.is((await service.send('GET', `${proxy}/version`, { token: service.adminToken })).status, 404)
})

test('other protocols are plain requests, and unauthorized ones are refused', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const { proxy } = await makeProxy(own)
  const h2c = open()
  h2c.write(head(`${proxy}/version`, ['Connection: Upgrade, close', 'Upgrade: h2c']))
  t.regex(await readAll(h2c), /^HTTP\/1\.1 200 /)
  const before = own.seen.length
  const stranger = open()
  stranger.write(head(`${proxy}${exec}`, upgrade).replace(service.adminToken, 'moor_wrong'))
  t.regex(await readAll(stranger), /^HTTP\/1\.1 401 /)
  t.is(own.seen.length, before)
})
