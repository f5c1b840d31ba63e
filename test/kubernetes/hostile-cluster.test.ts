import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import test from 'ava'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { readIndex } from '../../adapters/helm/records/record-objects.ts'
import type { ConnectionProblem } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools, ShortPlace } from '../../adapters/kubernetes/connections.ts'
import { makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeJsonReader } from '../../adapters/outbound/json-reader.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import { makeComputeResponse } from '../../adapters/kubernetes/computed-responses.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { Busy } from '../../core/kernel/failure.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { makeServerCertificate } from '../support/server-certificate.ts'
import { until } from '../support/until.ts'
import { recordedExchange } from './recorded-exchange.ts'

const MiB = 1024 * 1024
const egress = makeEgressPolicy(new Set(['loopback'] as const))
const pools = makeConnectionPools(egress)
const json = makeJsonReader()
const request = { bytes: 16 * MiB, answers: 40, milliseconds: 120_000, heldBytes: 96 * MiB }
const limits = { request, accountHeldBytes: 6 * MiB, heldBytes: 16 * MiB }

const fakes: FakeKubernetes[] = []
test.after.always(async () => {
  await pools.close()
  await json.close()
  await Promise.all(fakes.map((fake) => fake.stop()))
})

const credentialOf = (kubeconfig: string): ClusterCredential => {
  const parsed = makeKubeconfigParser().parse(kubeconfig)
  if (isLeft(parsed)) throw new Error(parsed.left.message)
  return parsed.right
}

let lastId = 900
const hostile = async () => {
  const fake = await startFakeKubernetes()
  fakes.push(fake)
  lastId += 1
  const connection: ClusterConnection = {
    link: {
      id: lastId as ClusterId,
      ownerId: lastId as AccountId,
      name: 'c',
      ownerName: 'mallory',
      version: 1,
      impersonatesUsers: false,
    },
    credential: credentialOf(fake.kubeconfig()),
  }
  const budgets = makeReadingBudgets(limits)
  const api = makeUndiciClusterApi(pools, egress, { budgets, json, report: () => undefined })
  const member = { request: (asked, signal) => api.request(connection, asked, signal) } as Pick<
    MemberCluster,
    'request'
  > as MemberCluster
  return { fake, api, budgets, connection, member }
}
const never = new AbortController().signal
const failureOf = (outcome: Either<Failure, unknown>): string => (isLeft(outcome) ? outcome.left.message : 'no failure')

test('a slow cluster fails with a time-out, a silent address does not', async (t) => {
  const { fake, api, connection } = await hostile()
  fake.on('/hang', () => undefined)
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  t.teardown(() => void silent.close())
  await until('the port', () => (silent.listening ? true : undefined))
  const elsewhere = (await hostile()).connection
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const [slow, dead] = await Promise.all([
    api.request(connection, { method: 'GET', target: '/hang' }, never),
    api.request(
      { ...elsewhere, credential: { ...elsewhere.credential, server } },
      { method: 'GET', target: '/hang' },
      never,
    ),
  ])
  t.is(isLeft(slow) ? slow.left.kind : '', 'GatewayTimeout')
  t.is(isLeft(dead) ? dead.left.kind : '', 'Upstream')
  t.regex(failureOf(dead), /cannot be reached from here/)
})

const respondWith = (fake: FakeKubernetes, prefix: string, text: string): void =>
  fake.on(prefix, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(text)
  })
const manyValues = `{"metadata":{"continue":"more"},"items":[${'{"metadata":{}},'.repeat(30_000)}{}]}`
const largePage = (bytes: number): string =>
  JSON.stringify({ metadata: { continue: 'more' }, items: [{ metadata: { name: 'x'.repeat(bytes) } }] })

test('an endless list of release records stops at its limit', async (t) => {
  const { fake, budgets, member } = await hostile()
  respondWith(fake, '/api/v1/secrets', largePage(3 * MiB))
  t.is(
    failureOf(
      await budgets.request(
        () => 1,
        () => readIndex(member, 'Secret', {}, never),
      ),
    ),
    'The cluster sent more than one request may read.',
  )
  t.is(fake.seen.length, 6)
  t.is(budgets.held(), 0)
})

test('empty pages stop at the limit of answers for one request', async (t) => {
  const { fake, budgets, member } = await hostile()
  respondWith(fake, '/api/v1/secrets', '{"metadata":{"continue":"more"},"items":[]}')
  t.regex(
    failureOf(
      await budgets.request(
        () => 1,
        () => readIndex(member, 'Secret', {}, never),
      ),
    ),
    /^The cluster was asked more often/,
  )
  t.is(fake.seen.length, 40)
})

test('a page that is too large, or has too many values, is refused with the first one', async (t) => {
  for (const text of [largePage(5 * MiB), manyValues]) {
    const { fake, budgets, member } = await hostile()
    respondWith(fake, '/api/v1/secrets', text)
    t.regex(
      failureOf(await readIndex(member, 'Secret', {}, never)),
      /^The cluster (?:answered with more than can be read|sent JSON with more than)/,
    )
    t.is(fake.seen.length, 1)
    t.is(budgets.held(), 0)
  }
})

test('requests of one account share a budget, and another account still reads', async (t) => {
  const { fake, api, budgets, connection } = await hostile()
  respondWith(fake, '/large', largePage(2 * MiB))
  const read = () => api.request(connection, { method: 'GET', target: '/large' }, never)
  await budgets.request(
    () => 'a',
    async () => {
      t.true(isRight(await read()))
      t.true(isRight(await read()))
      t.regex(
        failureOf(await budgets.request(() => 'a', read)),
        /^The cluster sent more than can be read beside the other requests/,
      )
      t.true(isRight(await budgets.request(() => 'b', read)))
    },
  )
  t.true(isRight(await budgets.request(() => 'a', read)), 'a request that has ended holds nothing')
  t.is(budgets.held(), 0)
})

const getting = (target: string) => ({
  method: 'GET',
  target,
  headers: [],
  isLongLived: false,
  createdAsOk: false,
  answerHeaders: () => [],
  acceptHeaders: () => [],
})

test('an account that holds all connections to a cluster holds up no other account', async (t) => {
  const { fake, api, budgets, connection } = await hostile()
  const problems: ConnectionProblem[] = []
  const reads = { budgets, json, report: (problem: ConnectionProblem) => void problems.push(problem) }
  const transport = makeUndiciClusterTransport(pools, egress, reads)
  fake.on('/held', () => undefined)
  const gone = new AbortController()
  const relayOf = (account: number, target: string, signal: AbortSignal) => {
    const exchange = recordedExchange('GET', target)
    const outcome = budgets.request(
      () => account,
      () => transport.relay(connection, getting(target), exchange, signal),
    )
    return { exchange, outcome }
  }
  const held = Array.from({ length: 100 }, () => relayOf(1, '/held', gone.signal).outcome)
  await until('the connections are taken', () => fake.openRequests() >= 64 || undefined)
  const other = relayOf(2, '/version', never)
  t.true(isRight(await other.outcome))
  t.is(other.exchange.answer.status, 200)
  const read = budgets.request(
    () => 3,
    () => api.request(connection, { method: 'GET', target: '/version' }, never),
  )
  t.true(isRight(await read))
  t.is(fake.openRequests(), 64, 'the others of the first account wait')
  // On a machine that is busy, a connection may not be made in time.
  const before = problems.length
  gone.abort()
  await Promise.all(held)
  t.is(problems.length, before, 'a client that leaves is no fault of the cluster')
  t.is((await relayOf(1, '/version', never).outcome)._tag, 'Right')
})

test('many requests of another account proceed beside a flood', async (t) => {
  const { fake, api, budgets, connection } = await hostile()
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json, report: () => undefined })
  fake.on('/held', () => undefined)
  const gone = new AbortController()
  const relay = (account: number, target: string, signal: AbortSignal) =>
    budgets.request(
      () => account,
      () => transport.relay(connection, getting(target), recordedExchange('GET', target), signal),
    )
  const read = (account: number, signal: AbortSignal) =>
    budgets.request(
      () => account,
      () => api.request(connection, { method: 'GET', target: '/version' }, signal),
    )
  const held = Array.from({ length: 100 }, () => relay(1, '/held', gone.signal))
  await until('the connections are taken', () => fake.openRequests() >= 64 || undefined)
  const others = await Promise.all(
    Array.from<unknown, Promise<Either<Failure, unknown>>>({ length: 50 }, (_, each) =>
      each % 2 === 0 ? relay(2, '/version', never) : read(2, never),
    ),
  )
  t.deepEqual(others.map(failureOf), Array(50).fill('no failure'))
  const waits = [relay(1, '/version', gone.signal), read(1, gone.signal)]
  t.is(fake.openRequests(), 64)
  gone.abort()
  await Promise.all([...held, ...waits])
  // All places are free again: as many requests as there are connections do not wait for each other.
  const opened = pools.of(connection) ?? t.fail()
  const places = Array.from({ length: 65 }, () => new ShortPlace(opened, 3))
  let entered = 0
  for (const place of places) place.enter(() => (entered += 1))
  t.is(entered, 64)
  for (const place of places) place.leave()
  t.is(entered, 65)
})

test('a read survives a closed connection, and no change is sent twice', async (t) => {
  const { fake, api, budgets, connection } = await hostile()
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json, report: () => undefined })
  const asked = (method: string) => fake.seen.filter((seen) => seen.method === method).length
  let closes = true
  fake.on('/closing', (req, res) => {
    closes = !closes
    if (closes) res.end('{}')
    else req.socket.destroy()
  })
  const relay = async (method: string) => {
    closes = true
    const exchange = recordedExchange(method, '/closing')
    const outcome = await transport.relay(connection, { ...getting('/closing'), method }, exchange, never)
    return isLeft(outcome) ? outcome.left.tag : exchange.answer.status
  }
  const request = async (method: 'GET' | 'POST' | 'DELETE' | 'PATCH') => {
    closes = true
    const outcome = await api.request(connection, { method, target: '/closing' }, never)
    return isLeft(outcome) ? outcome.left.tag : outcome.right.status
  }
  t.deepEqual([await relay('GET'), await request('GET'), asked('GET')], [200, 200, 4])
  t.deepEqual([await relay('HEAD'), asked('HEAD')], [200, 2])
  for (const method of ['POST', 'DELETE', 'PATCH'] as const)
    t.deepEqual(
      [await relay(method), await request(method), asked(method)],
      ['ClusterUnreachable', 'ClusterUnreachable', 2],
    )
  fake.on('/closes', (req) => req.socket.destroy())
  const outcome = await transport.relay(connection, getting('/closes'), recordedExchange('GET', '/closes'), never)
  t.is(failureOf(outcome).slice(0, 27), 'The cluster cannot be reach')
  t.is(fake.seen.filter(({ url }) => url === '/closes').length, 2, 'only once more')
})

test('an answer that has no body by its status ends there, whatever length it says', async (t) => {
  const { fake, budgets, connection } = await hostile()
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json, report: () => undefined })
  for (const status of [204, 304]) {
    const path = `/without-body-${status}`
    fake.on(path, (_req, res) =>
      res.socket?.write(`HTTP/1.1 ${status} Without\r\nContent-Length: 5\r\nETag: "a"\r\n\r\n`),
    )
    const exchange = recordedExchange('GET', path)
    const upstream = {
      ...getting(path),
      answerHeaders: () => [['content-length', '5'] as const, ['etag', '"a"'] as const],
    }
    t.true(isRight(await transport.relay(connection, upstream, exchange, never)))
    t.deepEqual(exchange.answer, { status, headers: { etag: '"a"' }, ended: true, aborted: false })
  }
})

test('an unrequested transfer coding is passed on with its name only', async (t) => {
  const { fake, budgets, connection } = await hostile()
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json, report: () => undefined })
  fake.on('/coded', (_req, res) =>
    res.socket?.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nHELLO\r\n0\r\n\r\n'),
  )
  const exchange = recordedExchange('GET', '/coded')
  t.is((await transport.relay(connection, getting('/coded'), exchange, never))._tag, 'Left')
  t.false(exchange.hasResponded)
})

test('a hub answer without capacity refuses the request', async (t) => {
  const { fake, budgets, connection } = await hostile()
  fake.on('/gateway/reef/', (_req, res) => {
    res.writeHead(404, { 'content-type': 'text/plain' })
    res.end('404 page not found')
  })
  const busy = new Busy('Too many requests of this kind wait already.', { retryAfterSeconds: 1 })
  const full = { ...json, parse: () => Promise.reject(busy) }
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json: full, report: () => undefined })
  const exchange = recordedExchange('GET', '/')
  const via = { hub: connection.link, path: '/gateway/reef', managedClusterName: 'reef' }
  const spoke = { ...connection, link: { ...connection.link, id: (connection.link.id + 500) as ClusterId }, via }
  const relayed = budgets.request(
    () => 1,
    () => transport.relay(spoke, getting('/api/v1/pods'), exchange, never),
  )
  t.is(await t.throwsAsync(relayed), busy)
  t.false(exchange.hasResponded)
})

test('kinds without end, or with long lists, are not listed together', async (t) => {
  const listAll = async (kinds: number, text: string) => {
    const { fake, api, connection } = await hostile()
    const resources = Array.from({ length: kinds }, (_, at) => ({ name: `k${at}`, kind: `K${at}`, verbs: ['list'] }))
    fake.on('/apis/evil.example/v1', (req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(req.url === '/apis/evil.example/v1' ? JSON.stringify({ resources }) : text)
    })
    const exchange = recordedExchange('GET', '/')
    const target = { form: 'all-available', group: 'evil.example', version: 'v1', path: '/' } as const
    const computed = makeComputeResponse({ api })({ connection, target, exchange, as: undefined, signal: never })
    return { failure: failureOf((await computed)!), asked: fake.seen.length }
  }
  t.deepEqual(await listAll(5_000, '{"items":[]}'), {
    failure: 'The cluster has more than 200 kinds in this group, which are not listed together.',
    asked: 1,
  })
  const { failure, asked } = await listAll(150, largePage(3 * MiB))
  t.is(failure, 'The cluster answered with more than can be read.')
  t.true(asked <= 13, `${asked} requests`)
})

test('unreachable addresses get one text for callers and a reason in the report', async (t) => {
  const listen = async (server: Server): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const { fake, budgets } = await hostile()
  const problems: ConnectionProblem[] = []
  const other = await hostile()
  respondWith(other.fake, '/api/v1/namespaces/kube-system', 'hello')
  const talksHttp = await listen(
    createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')),
  )
  const closes = await listen(createServer((socket) => socket.destroy()))
  const foreign = await makeServerCertificate('localhost')
  const [usual, somethingElse] = [credentialOf(fake.kubeconfig()), credentialOf(other.fake.kubeconfig())]
  const inner = makeEgressPolicy(new Set(['public'] as const), (_name, _options, done) =>
    done(null, [{ address: '10.1.2.3', family: 4 }]),
  )
  const cases: readonly (readonly [string, ClusterCredential, typeof egress, RegExp])[] = [
    ['a port that is closed', { ...usual, server: 'https://127.0.0.1:1' }, egress, /ECONNREFUSED/],
    ['no TLS', { ...usual, server: `https://127.0.0.1:${talksHttp}` }, egress, /./],
    ['a connection that closes', { ...usual, server: `https://127.0.0.1:${closes}` }, egress, /./],
    [
      'a certificate of another authority',
      { ...usual, authorityPem: foreign.certificatePem },
      egress,
      /CERT|SIGN|VERIFY/,
    ],
    ['no API server', somethingElse, egress, /kube-system/],
    [
      'a name that does not exist',
      { ...usual, server: 'https://no-such-name.invalid' },
      makeEgressPolicy(new Set(['public'] as const), (name, _options, done) =>
        done(Object.assign(new Error(name), { code: 'ENOTFOUND' }), []),
      ),
      /ENOTFOUND/,
    ],
    ['a name that leads to a refused address', { ...usual, server: 'https://inner.example' }, inner, /10\.1\.2\.3/],
  ]
  const told = new Set<string>()
  for (const [what, credential, policy, reason] of cases) {
    problems.length = 0
    const surveyed = await makeUndiciClusterApi(pools, policy, {
      budgets,
      json,
      report: (problem) => problems.push(problem),
    }).survey(credential, never)
    told.add(isLeft(surveyed) ? `${surveyed.left.tag} ${surveyed.left.message}` : what)
    t.is(problems.length, 1, what)
    t.regex(problems[0]?.reason ?? '', reason, what)
  }
  t.is(told.size, 1, [...told].join('\n'))
})

test('a cluster that sends interim responses without end is not reached', async (t) => {
  const { fake, budgets, connection } = await hostile()
  const reasons: string[] = []
  const report = ({ reason }: ConnectionProblem) => void reasons.push(reason)
  const transport = makeUndiciClusterTransport(pools, egress, { budgets, json, report })
  const sendInterim = (socket: Socket, count: number): void => {
    for (let sent = 0; sent < count; sent += 1) socket.write('HTTP/1.1 103 Early Hints\r\n\r\n')
  }
  fake.on('/few', (req, res) => {
    sendInterim(req.socket, 5)
    res.end('{}')
  })
  fake.on('/endless', (req) => sendInterim(req.socket, 6))
  for (const isLongLived of [false, true]) {
    const relay = async (target: string) => {
      const exchange = recordedExchange('GET', target)
      const outcome = await transport.relay(connection, { ...getting(target), isLongLived }, exchange, never)
      return isLeft(outcome) ? outcome.left.tag : exchange.answer.status
    }
    t.is(await relay('/few'), 200)
    t.is(await relay('/endless'), 'ClusterUnreachable')
  }
  await until('the requests are gone', () => fake.openRequests() === 0 || undefined)
  t.deepEqual(reasons, ['more than 5 interim responses', 'more than 5 interim responses'])
})
