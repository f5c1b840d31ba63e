import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/database.ts'
import { expectStatus, importCluster } from '../clusters/cluster-world.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { findings } from './ledger-findings.ts'
import { inTime, untilReadiness } from './linked-service.ts'
import { makeWriteLedger } from './write-ledger.ts'

const lastAnswerPlugin = fileURLToPath(new URL('fixtures/last-answer-plugin.ts', import.meta.url))

/** Opens a watch through the proxy; `ended` resolves when its stream is over, however it ended. */
const openWatch = async (service: ServiceProcess, path: string, token: string): Promise<{ readonly status: number; readonly ended: Promise<unknown> }> => {
  const asking = request(new URL(path, service.baseUrl), { headers: { authorization: `Bearer ${token}` } })
  asking.on('error', () => undefined)
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.on('error', () => undefined)
  answer.resume()
  return { status: answer.statusCode ?? 0, ended: new Promise((resolve) => answer.once('close', resolve)) }
}

/** Opens a tunnel through the proxy and proves that bytes pass; `closed` resolves when its connection is over. */
const openTunnel = async (service: ServiceProcess, path: string, token: string): Promise<{ readonly echoed: string; readonly closed: Promise<unknown> }> => {
  const { hostname, port, host } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`)
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
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, { basic: [adminLogin, adminPassword], body: { name: 'ledger', scopes: ['all'] } })
  const token = made.json.sha1 as string
  await expectStatus(service.send('POST', '/api/v1/orgs', { token, body: { username: 'home' } }), 201)
  await expectStatus(importCluster(service.send, token, 'home', 'pier', kubeconfig), 200)
  return token
}

test('SIGTERM with requests, a watch and a tunnel open: not ready at once, what was taken is answered, exit 0', async (t) => {
  const fake = await startFakeKubernetes()
  fake.onUpgrade((_req, socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n')
    socket.pipe(socket)
  })
  const url = `sqlite:${await migratedSqlitePath()}`
  const service = await startServiceProcess({ settings: { MOORAGE_DATABASE_URL: url, MOORAGE_PLUGINS: lastAnswerPlugin, MOORAGE_TLS: 'false' } })
  const database = await openDatabase(url)
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
  await t.throwsAsync(fetch(`${service.baseUrl}/api/v1/version`), undefined, 'nothing new is accepted')
  t.deepEqual((await last).map(({ status, json }) => [status, json.text]), [[200, 'the last'], [200, 'the last']])
  t.is(await inTime('the process', service.exited), 0)
  await stream.stop()
  await inTime('the watch', watch.ended)
  await inTime('the tunnel', tunnel.closed)

  t.deepEqual(ledger.attempts.filter(({ answer }) => answer !== undefined && answer.status >= 300).map(({ answer }) => answer?.text), [])
  t.deepEqual(await findings(database, ledger.attempts), [])
  const unheard: string[] = []
  for (const attempt of ledger.attempts.filter(({ answer }) => answer === undefined)) {
    const [row] = await database.query<{ n: number }>((k) => k('audit_events').where('object_name', attempt.name).count({ n: '*' }))
    if (row?.n !== 0) unheard.push(`${attempt.kind} ${attempt.name}`)
  }
  t.deepEqual(unheard, [], 'a request that was carried out was answered')
})
