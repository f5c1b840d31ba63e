import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeDashboardHttp } from '../../adapters/dashboards/dashboard-http.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import type { MetricsFixture } from './metrics-fixture.ts'
import { metricsOfPier, startMetricsFixture } from './metrics-fixture.ts'
import { startStandIn, valueAt } from './stand-in.ts'

let fixture: MetricsFixture
let proxyCluster: FakeKubernetes
const keeper = 'proxykeeper'

/** The objects of the cluster of the proxy, by their paths; what they are set to, and how requests fail. */
const objects = new Map<string, unknown>()
let status: number | undefined

const serveObjects = (kubernetes: FakeKubernetes, prefix: string): void =>
  kubernetes.on(prefix, (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const [path = '', query] = (req.url ?? '').split('?')
      const answer = (code: number): void => {
        res.writeHead(code, { 'content-type': 'application/json' })
        res.end(JSON.stringify({ kind: 'Status', code }))
      }
      if (status !== undefined) return answer(status)
      if (req.method === 'DELETE') return answer(objects.delete(path) ? 200 : 404)
      // Server-side apply needs this type and a manager.
      const isApply = req.headers['content-type'] === 'application/apply-patch+yaml' && query?.includes('fieldManager=')
      if (req.method !== 'PATCH' || isApply !== true) return answer(415)
      objects.set(path, JSON.parse(Buffer.concat(chunks).toString('utf8')))
      return answer(200)
    })
  })

test.before(async () => {
  fixture = await startMetricsFixture({
    MOORAGE_METRICS_PROXY_CLUSTER: `${keeper}/proxy`,
    MOORAGE_METRICS_PROXY_NAMESPACE: 'tsproxy',
    MOORAGE_METRICS_PROXY_INSTANCE: 'main',
  })
  proxyCluster = await startFakeKubernetes()
  serveObjects(proxyCluster, '/apis/trickstercache.org/v1alpha1/namespaces/tsproxy/')
  serveObjects(proxyCluster, '/api/v1/namespaces/tsproxy/')
})
test.after.always(async () => {
  await fixture.stop()
  await proxyCluster.stop()
})

test('a backend is registered in its cluster until its dashboards end', async (t) => {
  const { service, owner, register, unregister, uid, orgId, kubernetes, perses } = fixture
  const body = { metrics: metricsOfPier, clusterUID: uid }
  const missing = await register('dashB', owner.token, body)
  t.is(missing.status, 500, 'the cluster of the proxy is not imported yet')
  t.true(service.logText().includes(`${keeper}/proxy`))
  t.deepEqual(perses.projects(), [])

  const account = { username: keeper, email: 'keeper@example.com', password: 'quiet-harbour-lantern-7' }
  await expectStatus(
    service.send('POST', '/api/v1/admin/users', {
      token: service.adminToken,
      body: { ...account, must_change_password: false },
    }),
    201,
  )
  const token = await service.tokenFor(keeper)
  await expectStatus(importCluster(service.send, token, keeper, 'proxy', proxyCluster.kubeconfig()), 200)
  await expectStatus(register('dashB', owner.token, body), 200)
  const name = `${orgId}.${uid}`
  const secretPath = `/api/v1/namespaces/tsproxy/secrets/${name}`
  const backendPath = `/apis/trickstercache.org/v1alpha1/namespaces/tsproxy/tricksterbackends/${name}`
  t.deepEqual([...objects.keys()].sort(), [secretPath, backendPath].sort())
  const spec = valueAt(objects.get(backendPath), 'spec')
  t.is(
    valueAt(spec, 'origin_url'),
    `${kubernetes.url}/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy/prom`,
  )
  t.deepEqual(valueAt(spec, 'secret'), {
    name,
    items: ['token', 'tls.crt', 'tls.key'].map((key) => ({ key, path: `${name}/${key}` })),
  })
  t.is(valueAt(objects.get(backendPath), 'metadata', 'labels', 'trickstercache.org/metadata.name'), 'main')
  const data = valueAt(objects.get(secretPath), 'data')
  t.is(Buffer.from(String(valueAt(data, 'token')), 'base64').toString(), metricsOfPier.bearerToken)

  await expectStatus(register('dashA', owner.token, body), 200)
  await expectStatus(unregister('dashB', owner.token, { clusterUID: uid }), 200)
  t.is(objects.size, 2, 'dashboard system A still has it')
  status = 500
  t.is((await unregister('dashA', owner.token, { clusterUID: uid })).status, 500)
  status = undefined
  await expectStatus(unregister('dashA', owner.token, { clusterUID: uid }), 200)
  t.is(objects.size, 0)
  for (const secret of [metricsOfPier.bearerToken, metricsOfPier.tls.key]) t.false(service.logText().includes(secret))
})

test('a slow dashboard system fails, and its late answer is ignored', async (t) => {
  const standIn = await startStandIn(() => ({ status: 200, json: {} }))
  const slow = makeDashboardHttp(standIn.origin, undefined, { oneCall: 50, oneChange: 10_000 })
  const bounded = makeDashboardHttp(standIn.origin, undefined, { oneCall: 10_000, oneChange: 50 })
  const { signal } = new AbortController()
  for (const http of [slow, bounded]) {
    const failed = await standIn.during(
      () => 'hang',
      () => http.begin(signal).send('GET', '/x?token=canary', [200]),
    )
    t.true(isLeft(failed) && failed.left.reason?.startsWith('GET /x: '), JSON.stringify(failed))
    t.false(JSON.stringify(failed).includes('canary'))
  }
  const patient = makeDashboardHttp(standIn.origin, undefined)
  t.false(isLeft(await patient.begin(signal).send('GET', '/x', [200])))
  await Promise.all([slow.close(), bounded.close(), patient.close(), standIn.stop()])
})
