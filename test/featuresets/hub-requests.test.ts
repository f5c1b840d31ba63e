import type { IncomingMessage, ServerResponse } from 'node:http'
import test from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startService, type TestService } from '../support/service.ts'
import { modelOf } from './features-fixture.ts'

/**
 * Which requests the routes of feature sets send to a hub. What a hub may answer instead is in
 * test/clustersets/hub-failures.test.ts.
 */
let service: TestService
let owner: Person
test.before(async () => {
  service = await startService()
  owner = await makePeople(service).person('owner')
})
test.after.always(() => service?.stop())

let made = 0
const importHub = async (t: {
  teardown(end: () => unknown): void
}): Promise<{ readonly fake: FakeKubernetes; readonly below: string }> => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const name = `hub-${(made += 1)}`
  await expectStatus(importCluster(service.send, owner.token, owner.login, name, fake.kubeconfig()), 200)
  return { fake, below: `/api/v1/clusters/${owner.login}/${name}` }
}
const json = (res: ServerResponse, status: number, body: unknown): void => {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}

test('a read takes the same number of requests for one spoke as for hundreds', async (t) => {
  const { fake, below } = await importHub(t)
  const reads = [
    'featuresets',
    'sync-status/all-features',
    'sync-status/suite-features-version',
    'sync-status/backup',
    'auto-update/check',
  ]
  const countOf = async (read: string, size: number): Promise<number> => {
    const listOf = (items: readonly object[]): object => ({ metadata: {}, items: items.slice(0, size) })
    const spokes = Array.from({ length: size }, (_, index) => ({
      metadata: { name: `c${index}`, labels: { 'cluster.open-cluster-management.io/clusterset': 'edge' } },
    }))
    fake.on('/apis/', (req: IncomingMessage, res: ServerResponse) => {
      const path = (req.url ?? '').split('?')[0] ?? ''
      if (path.endsWith('/managedclusters')) return json(res, 200, listOf(spokes))
      return /s\/[\w-]+$/.test(path.replace(/^\/apis\/[^/]+\/[^/]+/, ''))
        ? json(res, 200, { metadata: { name: path.split('/').at(-1) } })
        : json(res, 200, listOf([]))
    })
    const before = fake.seen.length
    await expectStatus(service.send('GET', `${below}/clustersets/edge/${read}`, { token: owner.token }), 200)
    return fake.seen.length - before
  }
  for (const read of reads) {
    const few = await countOf(read, 1)
    t.true(few <= 7, `${read}: ${few}`)
    t.is(await countOf(read, 400), few, read)
  }
})

test('bad names and bodies are refused before a request reaches the hub', async (t) => {
  const { fake, below } = await importHub(t)
  const seen = fake.seen.length
  const post = async (path: string, body: unknown): Promise<number> =>
    (await service.send('POST', `${below}/clustersets/${path}`, { token: owner.token, body })).status
  for (const bad of ['A', 'a.b', '-a', 'a-', 'x'.repeat(64)]) {
    t.is(await post(`${bad}/install-featureset`, modelOf('one', { a: {} })), 404, bad)
    t.is(await post(`${bad}/disable-featureset`, { clusterSet: 'edge', featureSet: 'one' }), 404, bad)
    t.is(await post(`edge/${bad}/update-featureset`, modelOf('one', { a: {} })), 404, bad)
    t.is(await post(`${bad}/auto-update`, undefined), 404, bad)
    t.is(await post('edge/disable-featureset', { clusterSet: bad, featureSet: 'one' }), 422, bad)
    t.is(
      (await service.send('GET', `${below}/clustersets/${bad}/featuresets`, { token: owner.token })).status,
      404,
      bad,
    )
  }
  for (const bad of ['', 'A', '-a', 'a/b', 'x'.repeat(254), 7, null, {}]) {
    t.is(await post('edge/disable-featureset', { clusterSet: 'edge', featureSet: bad }), 422, String(bad))
    t.is(
      await post('edge/disable-featureset', { clusterSet: 'edge', featureSet: 'one', features: [bad] }),
      422,
      String(bad),
    )
  }
  for (const body of [{}, { metadata: 7, resources: [] }, modelOf('', { a: {} }), modelOf('one', {})]) {
    t.is(await post('edge/install-featureset', body), 422)
    t.is(await post('edge/wharf/update-featureset', body), 422)
  }
  t.is(fake.seen.length, seen)
})

test('a hub without the feature kinds is 400, and the claim validates a profile', async (t) => {
  const { fake, below } = await importHub(t)
  fake.on('/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/edge', (_req, res) =>
    json(res, 200, { metadata: { name: 'edge' } }),
  )
  fake.on('/apis/cluster.open-cluster-management.io/v1/managedclusters', (_req, res) =>
    json(res, 200, { metadata: {}, items: [] }),
  )
  for (const read of [
    'featuresets',
    'sync-status/all-features',
    'sync-status/suite-features-version',
    'sync-status/backup',
    'auto-update/check',
  ])
    t.like(
      await service.send('GET', `${below}/clustersets/edge/${read}`, { token: owner.token }),
      { status: 400, json: { code: 'NotAHub' } },
      read,
    )
  t.deepEqual(
    (await expectStatus(service.send('GET', `${below}/validate-profile?profile=generic`, { token: owner.token }), 200))
      .json,
    { valid: 'false', 'recommended-features': ['license-proxyserver'] },
  )
  fake.acceptsToken = false
  t.like(await service.send('GET', `${below}/validate-profile`, { token: owner.token }), {
    status: 500,
    json: { code: 'CredentialRefused' },
  })
})
