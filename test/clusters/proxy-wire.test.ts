import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import test from 'ava'
import { startFakeKubernetes, type FakeKubernetes, type SeenRequest } from '../support/fake-kubernetes.ts'
import { makeSendJson } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { expectStatus, importCluster } from './cluster-world.ts'

/** The whole service between a raw client and an API server that shows what reached it. */
let service: TestService
let fake: FakeKubernetes
let proxy: string

test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService()
  await expectStatus(importCluster(makeSendJson(service.baseUrl), service.adminToken, 'admin', 'wire', fake.kubeconfig()), 200)
  await expectStatus(importCluster(makeSendJson(service.baseUrl), service.adminToken, 'admin', 'wire', fake.kubeconfig()), 422)
  proxy = '/api/v1/clusters/admin/wire/proxy'
})

test.after.always(async () => {
  await service.stop()
  await fake.stop()
})

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** Header names and values go out exactly as given. */
const raw = (method: string, path: string, headers: readonly string[], body?: Buffer | string): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { hostname, port, host } = new URL(service.baseUrl)
    const sent = httpRequest({ hostname, port, method, path, headers: ['Host', host, 'Authorization', `Bearer ${service.adminToken}`, ...headers], setDefaultHeaders: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }))
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })

const seenAt = (path: string): SeenRequest => {
  const found = fake.seen.find(({ url }) => url.startsWith(path))
  if (found === undefined) throw new Error(`nothing reached ${path}`)
  return found
}
const valuesOf = ({ headers }: SeenRequest, name: string): string[] => headers.filter(([each]) => each === name).map(([, value]) => value)

/** Not chained: restify, in the same process, replaces `writeHead` with one that answers nothing. */
const reply = (res: ServerResponse, status: number, headers: Record<string, string>, body: Buffer | string): void => {
  res.writeHead(status, headers)
  res.end(body)
}

const answering = (path: string, answer: (req: IncomingMessage, res: ServerResponse) => void): void => fake.on(path, answer)

test('the cluster sees our identity and never the client’s', async (t) => {
  answering('/api/v1/namespaces/identity', (_req, res) => void res.end('{}'))
  const answer = await raw('GET', `${proxy}/api/v1/namespaces/identity?fieldSelector=a%3Db&token=${service.adminToken}&limit=5`, [
    'Cookie', 'moorage_session=steal-me', 'Impersonate-User', 'root', 'impersonate-group', 'system:masters', 'Impersonate-Extra-scopes', 'all',
    'X-Remote-User', 'root', 'X-Remote-Group', 'system:masters', 'X-Forwarded-For', '10.1.2.3', 'Proxy-Authorization', 'Basic x', 'TE', 'trailers',
    'Accept', 'application/json', 'User-Agent', 'kubectl/v1.34', 'Kubectl-Command', 'get', 'X-Csrf-Token', 'c',
  ])
  t.is(answer.status, 200)
  const seen = seenAt('/api/v1/namespaces/identity')
  t.deepEqual(valuesOf(seen, 'authorization'), [`Bearer ${fake.token}`])
  const names = new Set(seen.headers.map(([name]) => name))
  for (const name of ['cookie', 'impersonate-user', 'impersonate-group', 'impersonate-extra-scopes', 'x-remote-user', 'x-remote-group', 'x-forwarded-for', 'proxy-authorization', 'te', 'x-csrf-token']) t.false(names.has(name), name)
  t.deepEqual(valuesOf(seen, 'accept'), ['application/json'])
  t.deepEqual(valuesOf(seen, 'kubectl-command'), ['get'])
  t.false(JSON.stringify(seen).includes(service.adminToken))
  t.is(seen.url, '/api/v1/namespaces/identity?fieldSelector=a%3Db&limit=5')
})

for (const victim of ['Authorization', 'authorization', 'Impersonate-User', 'impersonate-group', 'Host', 'Content-Type']) {
  test(`Connection: ${victim} removes nothing that we add`, async (t) => {
    const at = `/api/v1/namespaces/hop-${victim}`
    answering(at, (_req, res) => void res.end('{}'))
    await raw('GET', `${proxy}${at}`, ['Connection', `keep-alive, ${victim}`, 'Impersonate-User', 'root'])
    const seen = seenAt(at)
    t.deepEqual(valuesOf(seen, 'authorization'), [`Bearer ${fake.token}`])
    t.deepEqual(valuesOf(seen, 'impersonate-user'), [])
    t.is(valuesOf(seen, 'host').length, 1)
  })
}

test('with impersonation the cluster gets the caller, once, for any headers of the client', async (t) => {
  const other = await startFakeKubernetes()
  t.teardown(() => other.stop())
  const send = makeSendJson(service.baseUrl)
  await expectStatus(importCluster(send, service.adminToken, 'admin', 'as-user', other.kubeconfig(), { impersonateUsers: true }), 200)
  const answer = await raw('GET', '/api/v1/clusters/admin/as-user/proxy/version', [
    'Connection', 'Impersonate-User, impersonate-group, impersonate-extra-moorage-user-id', 'Impersonate-User', 'root', 'Impersonate-Group', 'system:masters', 'Impersonate-Uid', '0',
  ])
  t.is(answer.status, 200)
  const seen = other.seen.at(-1)!
  t.deepEqual(seen.headers.filter(([name]) => name.startsWith('impersonate-')), [
    ['impersonate-user', 'moorage:admin'], ['impersonate-group', 'moorage:authenticated'], ['impersonate-group', 'moorage:org:admin'], ['impersonate-extra-moorage-user-id', '1'],
  ])
})

test('what the cluster sets for its own origin stays there', async (t) => {
  answering('/api/v1/namespaces/cookies', (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/html', 'Set-Cookie': ['moorage_session=x', 'b=c'], 'WWW-Authenticate': 'Basic', 'Clear-Site-Data': '"*"', 'Access-Control-Allow-Origin': '*', 'Audit-Id': 'a-1', Connection: 'X-Secret', 'X-Secret': '1', 'Warning': '299 - "old"' })
    res.end('<script>1</script>')
  })
  const { headers } = await raw('GET', `${proxy}/api/v1/namespaces/cookies`, [])
  for (const name of ['set-cookie', 'www-authenticate', 'clear-site-data', 'access-control-allow-origin', 'x-secret']) t.is(headers[name], undefined, name)
  t.is(headers['audit-id'], 'a-1')
  t.is(headers['warning'], '299 - "old"')
  t.is(headers['content-security-policy'], 'sandbox')
  t.is(headers['x-content-type-options'], 'nosniff')
})

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
  const small = await raw('POST', `${proxy}/api/v1/namespaces/exact`, ['Content-Type', 'application/json', 'Content-Length', String(exact.byteLength)], exact)
  t.is(small.status, 201)
  t.true(received.equals(exact))
  t.true(small.body.equals(exact))
  t.is(small.headers['content-type'], 'application/vnd.kubernetes.protobuf')
  const large = Buffer.alloc(5 * 1024 * 1024, 'a1b2c3 ')
  const chunked = await raw('PUT', `${proxy}/api/v1/namespaces/exact`, ['Transfer-Encoding', 'chunked'], large)
  t.true(received.equals(large))
  t.true(chunked.body.equals(large))
})

test('a 401 of the cluster is our fault, not the caller’s', async (t) => {
  answering('/api/v1/namespaces/refused', (_req, res) => reply(res, 401, { 'WWW-Authenticate': 'Basic' }, '{}'))
  const answer = await raw('GET', `${proxy}/api/v1/namespaces/refused`, [])
  t.true(answer.status >= 500, String(answer.status))
  t.is(answer.headers['www-authenticate'], undefined)
  t.regex(answer.body.toString(), /refused the stored credential/)
})

test('other refusals of the cluster pass with their own Status', async (t) => {
  answering('/api/v1/namespaces/forbidden', (_req, res) => reply(res, 403, { 'Content-Type': 'application/json' }, '{"kind":"Status","code":403}'))
  const answer = await raw('GET', `${proxy}/api/v1/namespaces/forbidden`, [])
  t.is(answer.status, 403)
  t.is(answer.body.toString(), '{"kind":"Status","code":403}')
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

test('a silent watch is accepted at once, and ends at the cluster when the client leaves', async (t) => {
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
  socket.write(`GET ${proxy}/api/v1/namespaces/slow-head HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\n\r\n`)
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

const refusedPaths = [
  '/api/v1/namespaces/default%2fpods', '/api/v1/namespaces/default%2Fpods', '/api/v1/..%2fsecrets', '/api/v1/%2e%2e/secrets', '/api/v1/../secrets', '/api/v1/./pods', '/api//v1/pods', '/api/v1\\pods',
  '/api/v1/%5cpods', '/api/v1/pods%00', '/api/v1/%252e%252e/pods', '/api/v1/pods;a=b', '/api/v1/pods%0d%0aX:1', '/api/v1/%c0%ae%c0%ae/pods', '/api/v1/pods%', '/api/v1/%zz', '/no-such-root/x', '/core/v1/namespaces/..%2f/pods', '/api/v1/pods%20x', '/api/v1/pods%3Fwatch',
]
for (const [index, path] of refusedPaths.entries()) {
  test(`refused before anything is sent: ${path}`, async (t) => {
    const mark = `mark=refused-${index}.`
    const { hostname, port, host } = new URL(service.baseUrl)
    const socket = connect(Number(port), hostname)
    socket.write(`GET ${proxy}${path}?${mark} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\nConnection: close\r\n\r\n`)
    const chunks: Buffer[] = []
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('latin1')
    // What is no UTF-8 already fails the router, which knows no such route.
    t.regex(text, path.includes('%c0') ? /^HTTP\/1\.1 40[04] / : /^HTTP\/1\.1 400 /)
    t.regex(text, /"message":/)
    t.false(fake.seen.some(({ url }) => url.includes(mark)))
  })
}
