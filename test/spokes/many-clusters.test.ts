import type { ServerResponse } from 'node:http'
import test from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { clusterApi, signingApi } from './spoke-fixture.ts'

/** Hubs with more clusters than fit into one page or one moment, at the wire. */
let service: TestService
let owner: Person
let fake: FakeKubernetes
test.before(async () => {
  service = await startService()
  owner = await makePeople(service).person('owner')
  fake = await startFakeKubernetes()
  await expectStatus(importCluster(service.send, owner.token, owner.login, 'hub', fake.kubeconfig()), 200)
})
test.after.always(async () => {
  await service?.stop()
  await fake?.stop()
})
const json = (res: ServerResponse, body: object): void => {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}
const at = (route: string): string => `/api/v1/clusters/${owner.login}/hub/${route}`

test.serial('the raw list of 1,203 clusters is one list, with the bytes of the hub', async (t) => {
  const items = Array.from(
    { length: 1203 },
    (_, index) =>
      `{"metadata": {"name":"c-${index}","generation":9007199254740993,"x-unknown":{"b":1.0,"7":"\\u00e9","a":-0}}}`,
  )
  fake.on(clusterApi, (req, res) => {
    const { searchParams } = new URL(req.url ?? '', 'https://hub')
    const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit'))]
    const place =
      from + limit < items.length
        ? `"continue":"${from + limit}","remainingItemCount":${items.length - from - limit},`
        : ''
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(
      `{"kind":"ManagedClusterList","apiVersion":"v1","metadata":{${place}"resourceVersion":"9007199254740995"},"items":[${items.slice(from, from + limit).join(', ')}]}\n`,
    )
  })
  const { text } = await expectStatus(service.send('GET', at('managed-clusters'), { token: owner.token }), 200)
  const pages = [0, 500, 1000].map((from) => items.slice(from, from + 500).join(', '))
  t.is(
    text,
    `{"kind":"ManagedClusterList","apiVersion":"v1","metadata":{"resourceVersion":"9007199254740995"},"items":[${pages.join(',')}]}\n`,
  )
})

test.serial('100 clusters are accepted 8 at a time', async (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `c-${index}`)
  let most = 0
  let held: (() => void)[] = []
  const answered = new Set<string>()
  fake.on(clusterApi, (req, res) => {
    const name = (req.url ?? '').slice(clusterApi.length + 1)
    const annotations = { 'agent.open-cluster-management.io/managed-cluster-arn': 'x' }
    const send = (): void =>
      json(res, {
        metadata: { name, uid: name, resourceVersion: '1', annotations },
        spec: { hubAcceptsClient: req.method === 'PATCH' },
      })
    if (req.method !== 'GET' || answered.has(name)) return send()
    // The first request for a cluster is held, so that all clusters that are dealt with at a time are seen.
    answered.add(name)
    held.push(send)
    most = Math.max(most, held.length)
  })
  fake.on('/api/v1/namespaces', (_req, res) => json(res, { metadata: {}, items: [] }))
  let isDone = false
  const accepted = service
    .send('POST', at('accept-spoke'), { token: owner.token, body: { clusters: names } })
    .finally(() => (isDone = true))
  for (let left = names.length; left > 0;) {
    const expected = Math.min(8, left)
    await until(`${expected} clusters at a time`, () => (held.length >= expected || isDone ? true : undefined))
    left -= held.length
    for (const send of held.splice(0)) send()
    held = []
  }
  t.is((await accepted).status, 200)
  t.deepEqual([answered.size, most], [100, 8])
})

test.serial('100 accepted clusters of a hub are read with a few lists', async (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `d-${index}`)
  const empty = { metadata: {}, items: [] }
  const accepted = new Set<string>()
  fake.on(signingApi, (_req, res) => json(res, empty))
  fake.on('/api/v1/namespaces', (_req, res) => json(res, empty))
  fake.on(clusterApi, (req, res) => {
    const name = (req.url ?? '').slice(clusterApi.length + 1)
    if (req.method === 'PATCH') accepted.add(name)
    json(res, { metadata: { name, uid: name, resourceVersion: '1' }, spec: { hubAcceptsClient: accepted.has(name) } })
  })
  const before = fake.seen.length
  await expectStatus(
    service.send('POST', at('accept-spoke'), { token: owner.token, body: { clusters: names, skipApproveCheck: true } }),
    200,
  )
  const asked = fake.seen.slice(before).map(({ method, url }) => ({ method, url: new URL(url, 'https://hub') }))
  const listed = asked
    .filter(({ url }) => url.pathname === signingApi)
    .map(({ url }) => url.searchParams.get('labelSelector') ?? '')
  t.deepEqual(
    listed.flatMap((selector) => selector.slice(selector.indexOf('(') + 1, -1).split(',')).sort(),
    names.toSorted(),
  )
  t.deepEqual([listed.length, accepted.size], [2, 100])
  // Each cluster is read and changed; the namespaces that are being deleted are one list.
  t.is(asked.length, 2 * names.length + listed.length + 1)
})
