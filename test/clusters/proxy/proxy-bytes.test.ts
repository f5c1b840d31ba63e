import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import test from 'ava'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { makeSendJson } from '../../support/send-json.ts'
import { expectStatus, importCluster } from '../cluster-fixture.ts'
import { answering, fake, proxy, raw, reply, seenAt, service, valuesOf } from './proxy-wire.fixture.ts'

test('bytes pass as they are: int64, key order, white space, 5 MB', async (t) => {
  const exact = Buffer.from('{ "z": 9223372036854775807, "a": 1.0,\n "b": 1e400, "b": "\\u00e9" }')
  let received = Buffer.alloc(0)
  answering('/api/v1/namespaces/exact', (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      received = Buffer.concat(chunks)
      reply(res, 201, { 'Content-Type': 'application/vnd.kubernetes.protobuf' }, received)
    })
  })
  const small = await raw(
    'POST',
    `${proxy}/api/v1/namespaces/exact`,
    ['Content-Type', 'application/json', 'Content-Length', String(exact.byteLength)],
    exact,
  )
  t.is(small.status, 201)
  t.true(received.equals(exact))
  t.true(small.body.equals(exact))
  t.is(small.headers['content-type'], 'application/vnd.kubernetes.protobuf')
  const large = Buffer.alloc(5 * 1024 * 1024, 'a1b2c3 ')
  const chunked = await raw('PUT', `${proxy}/api/v1/namespaces/exact`, ['Transfer-Encoding', 'chunked'], large)
  t.true(received.equals(large))
  t.true(chunked.body.equals(large))
})

test('half an answer is never made to look whole', async (t) => {
  answering('/api/v1/namespaces/half', (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' })
    res.write('{"items":[')
    setTimeout(() => res.destroy(), 20)
  })
  await t.throwsAsync(raw('GET', `${proxy}/api/v1/namespaces/half`, []), { code: 'ECONNRESET' })
})

const openWatch = async (path: string): Promise<{ socket: Socket; head: string }> => {
  const { hostname, port, host } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  return { socket, head: first.toString('latin1') }
}

test('a silent watch is accepted at once and ends with its client', async (t) => {
  const closed = new Promise<void>((resolve) => {
    answering('/api/v1/namespaces/silent', (_req, res) => {
      res.on('close', resolve)
      res.writeHead(200, { 'Content-Type': 'application/json' })
      res.flushHeaders()
    })
  })
  const { socket, head } = await openWatch(`${proxy}/api/v1/namespaces/silent?watch=true`)
  t.regex(head, /^HTTP\/1\.1 200 /)
  socket.destroy()
  await closed
  t.pass()
})

test('a client that leaves before the cluster answered cuts the request there as well', async (t) => {
  let arrived: () => void = () => undefined
  const arrival = new Promise<void>((resolve) => (arrived = resolve))
  const closed = new Promise<void>((resolve) => {
    answering('/api/v1/namespaces/slow-head', (_req, res) => {
      res.on('close', resolve)
      arrived()
    })
  })
  const { hostname, port, host } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET ${proxy}/api/v1/namespaces/slow-head HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\n\r\n`,
  )
  await arrival
  socket.destroy()
  await closed
  t.pass()
})

test('a client that does not read holds the cluster back instead of filling our memory', async (t) => {
  let written = 0
  let isBlocked: () => void = () => undefined
  const blocked = new Promise<void>((resolve) => (isBlocked = resolve))
  const closed = new Promise<void>((resolve) => {
    answering('/api/v1/namespaces/flood', (_req, res) => {
      res.writeHead(200, { 'Content-Type': 'application/json' })
      const chunk = Buffer.alloc(64 * 1024, 'x')
      let stalled: NodeJS.Timeout | undefined
      const pump = (): void => {
        clearTimeout(stalled)
        while (written < 512 * 1024 * 1024) {
          written += chunk.byteLength
          if (!res.write(chunk)) {
            // Blocked when nothing drained for a while.
            stalled = setTimeout(isBlocked, 500)
            return
          }
        }
        isBlocked()
      }
      res.on('drain', pump)
      res.on('close', resolve)
      pump()
    })
  })
  const { socket } = await openWatch(`${proxy}/api/v1/namespaces/flood?watch=1`)
  socket.pause()
  await blocked
  t.true(written < 64 * 1024 * 1024, `${written} bytes were taken from the cluster`)
  socket.destroy()
  await closed
})

test('a change of the record ends nothing that is under way, and keeps the connections', async (t) => {
  const own = await startFakeKubernetes()
  t.teardown(() => own.stop())
  const send = makeSendJson(service.baseUrl)
  await expectStatus(send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: 'renaming' } }), 201)
  await expectStatus(importCluster(send, service.adminToken, 'renaming', 'r', own.kubeconfig()), 200)
  const base = '/api/v1/clusters/renaming/r/proxy'
  const [watches, slow]: [ServerResponse[], ServerResponse[]] = [[], []]
  own.on('/api/v1/namespaces/watched', (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' })
    res.flushHeaders()
    watches.push(res)
  })
  own.on('/api/v1/namespaces/slow', (_req, res) => void slow.push(res))
  own.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.on('data', (chunk: Buffer) => socket.write(chunk))
  })
  const watch = await openWatch(`${base}/api/v1/namespaces/watched?watch=true`)
  const { hostname, port, host } = new URL(service.baseUrl)
  const tunnel = connect(Number(port), hostname)
  t.teardown(() => [watch.socket, tunnel].forEach((socket) => socket.destroy()))
  tunnel.write(
    `GET ${base}/api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  await once(tunnel, 'data')
  const pending = raw('GET', `${base}/api/v1/namespaces/slow`, [])
  while (slow.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  for (const displayName of ['One', 'Two', 'Three']) {
    const change = send('POST', '/api/v1/clustersv2/renaming/r/reconfigure', {
      token: service.adminToken,
      body: { basicInfo: { displayName } },
    })
    const reads = Array.from({ length: 10 }, () => raw('GET', `${base}/version`, []))
    await expectStatus(change, 200)
    t.deepEqual([...new Set((await Promise.all(reads)).map(({ status }) => status))], [200])
  }
  slow[0]!.end('{"late":true}')
  t.is((await pending).body.toString(), '{"late":true}')
  watches[0]!.write('{"type":"ADDED"}\n')
  t.regex(String((await once(watch.socket, 'data'))[0]), /ADDED/)
  tunnel.write('echo')
  t.is(String((await once(tunnel, 'data'))[0]), 'echo')
})

test('a websocket of a service gets its own path, query and headers', async (t) => {
  const at = '/api/v1/namespaces/a/services/live/proxy/ws//x/'
  const upgrade = [
    'Connection',
    'Upgrade',
    'Upgrade',
    'websocket',
    'Sec-WebSocket-Version',
    '13',
    'Sec-WebSocket-Key',
    'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol',
    'graphql-ws',
    'Origin',
    'https://app.example',
    'Cookie',
    'a=b; moorage_bus=c',
    'X-Scope-OrgID',
    '3',
  ]
  t.is((await raw('GET', `${proxy}${at}?token=of-the-app`, upgrade)).status, 403)
  const seen = seenAt(at)
  t.is(seen.url, `${at}?token=of-the-app`)
  t.deepEqual(
    ['sec-websocket-protocol', 'origin', 'cookie', 'x-scope-orgid', 'authorization'].map((name) =>
      valuesOf(seen, name).join(),
    ),
    ['graphql-ws', 'https://app.example', 'a=b', '3', `Bearer ${fake.token}`],
  )
})
