// process: own - breaks what a service needs
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { findings } from './ledger-findings.ts'
import { inTime, untilReadiness } from './linked-service.ts'
import { until } from '../support/until.ts'
import { makeWriteLedger } from './write-ledger.ts'

const lastAnswerPlugin = fileURLToPath(new URL('fixtures/last-answer-plugin.ts', import.meta.url))

/** Opens a watch through the proxy; `ended` tells how its stream ended. */
const openWatch = async (
  service: ServiceProcess,
  path: string,
  token: string,
): Promise<{ readonly status: number; readonly ended: Promise<'whole' | 'cut'> }> => {
  const asking = request(new URL(path, service.baseUrl), { headers: { authorization: `Bearer ${token}` } })
  asking.on('error', () => undefined)
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.on('error', () => undefined)
  answer.resume()
  return {
    status: answer.statusCode ?? 0,
    ended: new Promise((resolve) => answer.once('close', () => resolve(answer.complete ? 'whole' : 'cut'))),
  }
}

/** Opens a tunnel through the proxy and proves that bytes pass; `closed` resolves when its connection is over. */
const openTunnel = async (
  service: ServiceProcess,
  path: string,
  token: string,
): Promise<{ readonly echoed: string; readonly closed: Promise<unknown> }> => {
  const { hostname, port, host } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  let text = ''
  const echoed = new Promise<string>((resolve) => {
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      if (text.includes('101') && text.endsWith('\r\n\r\n')) socket.write('ahoy')
      if (text.endsWith('ahoy')) resolve(text)
    })
  })
  return { echoed: await inTime('the tunnel', echoed), closed }
}

const prepare = async (service: ServiceProcess, kubeconfig: string): Promise<string> => {
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'ledger', scopes: ['all'] },
  })
  const token = made.json.sha1 as string
  await expectStatus(service.send('POST', '/api/v1/orgs', { token, body: { username: 'home' } }), 201)
  await expectStatus(importCluster(service.send, token, 'home', 'pier', kubeconfig), 200)
  return token
}

test('SIGTERM answers open requests, watches and tunnels and exits with 0', async (t) => {
  const fake = await startFakeKubernetes()
  fake.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
    )
    socket.pipe(socket)
  })
  const url = `sqlite:${await migratedSqlitePath()}`
  const service = await startServiceProcess({
    settings: {
      MOORAGE_DATABASE_URL: url,
      MOORAGE_PLUGINS: lastAnswerPlugin,
      MOORAGE_TLS: 'false',
      MOORAGE_DRAIN_SECONDS: '5',
    },
  })
  const database = await openPatiently(url)
  t.teardown(async () => {
    await service.stop()
    await fake.stop()
    await database.close()
  })
  const token = await prepare(service, fake.kubeconfig())
  const proxy = '/api/v1/clusters/home/pier/proxy/api/v1/namespaces/default'
  const watch = await openWatch(service, `${proxy}/configmaps?watch=true`, token)
  t.is(watch.status, 200)
  const tunnel = await openTunnel(service, `${proxy}/pods/web/exec?command=sh`, token)
  t.regex(tunnel.echoed, /^HTTP\/1\.1 101 /)

  const ledger = makeWriteLedger({ target: service, token, home: 'home', prefix: 's' })
  const last = Promise.all([1, 2].map(() => service.send('GET', '/api/v1/last-answer')))
  const stream = ledger.run(6)
  t.teardown(() => stream.stop())
  await ledger.untilAcknowledged(30)
  service.signal('SIGTERM')
  const told = await untilReadiness(service.opsUrl, 503, /not stopping/)
  t.regex(told, /^not ready: /)
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  // A load balancer that has seen it sends nothing more.
  await stream.stop()
  await until('nothing new is accepted', () =>
    fetch(`${service.baseUrl}/api/v1/version`).then(
      () => undefined,
      () => true,
    ),
  )
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200, 'requests are in flight, and probes are answered')
  service.signal('SIGUSR2')
  t.deepEqual(
    (await last).map(({ status, json }) => [status, json.text]),
    [
      [200, 'the last'],
      [200, 'the last'],
    ],
  )
  t.is(await inTime('the process', service.exited), 0)
  t.is(await inTime('the watch', watch.ended), 'whole')
  await inTime('the tunnel', tunnel.closed)

  t.deepEqual(
    ledger.attempts
      .filter(({ answer }) => answer !== undefined && answer.status >= 300)
      .map(({ answer }) => answer?.text),
    [],
  )
  t.deepEqual(await findings(database, ledger.attempts), [])
  t.deepEqual(
    ledger.attempts.filter(({ answer }) => answer === undefined).map(({ name }) => name),
    [],
    'each request was answered',
  )
})

/** What became of one request of a writer. */
type EventOutcome =
  | { readonly status: number; readonly saysClose: boolean; readonly begunWhenNotReady: boolean }
  | string

/**
 * Clients of a load balancer: they keep their connections, send bodies in two parts, and go elsewhere when they are
 * told.
 */
const startWriters = (service: ServiceProcess, token: string, many: number) => {
  const { protocol, hostname, port } = new URL(service.baseUrl)
  const isSecure = protocol === 'https:'
  const agent = isSecure
    ? new SecureAgent({ keepAlive: true, rejectUnauthorized: false })
    : new Agent({ keepAlive: true })
  const state = { isNotReady: false, isElsewhere: false }
  const outcomes: EventOutcome[][] = Array.from({ length: many }, () => [])
  const send = (body: string): Promise<EventOutcome> =>
    new Promise((resolve) => {
      const begunWhenNotReady = state.isNotReady
      const headers = {
        authorization: `token ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
      }
      const options = {
        agent,
        hostname,
        port,
        method: 'PATCH',
        path: '/api/v1/user/settings',
        headers,
        ...(isSecure ? { rejectUnauthorized: false } : {}),
      }
      const asked = (isSecure ? secureRequest : request)(options, (answer) => {
        answer.resume()
        answer.on('close', () =>
          resolve(
            answer.complete
              ? { status: answer.statusCode ?? 0, saysClose: answer.headers.connection === 'close', begunWhenNotReady }
              : 'truncated',
          ),
        )
      })
      asked.on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code ?? ''} ${error.message}`))
      asked.write(body.slice(0, 10), () => asked.end(body.slice(10)))
    })
  const work = async (own: EventOutcome[]): Promise<void> => {
    while (!state.isElsewhere) own.push(await send(JSON.stringify({ description: `${own.length}` })))
  }
  const all = Promise.all(outcomes.map(work))
  return {
    outcomes,
    seeNotReady: () => void (state.isNotReady = true),
    goElsewhere: async () => {
      state.isElsewhere = true
      await all
      agent.destroy()
    },
  }
}

for (const [scheme, workers] of [
  ['http', 1],
  ['https', 1],
  ['https', 2],
] as const) {
  const served = workers === 1 ? '' : `, two workers`
  test(`SIGTERM under 40 writers by ${scheme}${served} resets no connection`, async (t) => {
    const plain = await startServiceProcess({
      settings: { MOORAGE_DRAIN_SECONDS: '15', MOORAGE_WORKERS: String(workers) },
    })
    t.teardown(() => plain.stop())
    const service = { ...plain, baseUrl: plain.baseUrl.replace(/^http:/, `${scheme}:`) }
    const made = await plain.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
      basic: [adminLogin, adminPassword],
      body: { name: 'writer', scopes: ['all'] },
    })
    const writers = startWriters(service, made.json.sha1 as string, 40)
    const untilEach = (count: number, what: (outcome: EventOutcome) => boolean) =>
      until('each writer was answered', () =>
        writers.outcomes.every((own) => own.filter(what).length >= count) ? true : undefined,
      )
    await untilEach(2, () => true)
    service.signal('SIGTERM')
    await untilReadiness(service.opsUrl, 503, /not stopping/)
    writers.seeNotReady()
    await untilEach(1, (outcome) => typeof outcome !== 'string' && outcome.begunWhenNotReady)
    await writers.goElsewhere()
    const outcomes = writers.outcomes.flat()
    t.deepEqual(
      outcomes.filter((outcome) => typeof outcome === 'string' || outcome.status !== 200),
      [],
    )
    t.deepEqual(
      outcomes.filter((outcome) => typeof outcome !== 'string' && outcome.begunWhenNotReady && !outcome.saysClose),
      [],
    )
    // The rest of the time to drain needs no waiting for.
    service.signal('SIGTERM')
    await service.exited
  })
}
