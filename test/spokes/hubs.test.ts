import test from 'ava'
import type { ServerResponse } from 'node:http'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-world.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { clusterApi } from './spoke-world.ts'

/** Hubs at the wire: a list of hubs of which some do not answer, and hubs with many clusters. */
let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
test.before(async () => {
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
})
test.after.always(() => service?.stop())

const json = (res: ServerResponse, body: unknown): void => {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}
/** The first page of a list of that many objects, as kube-apiserver has it. */
const counted = (count: number) => (_req: unknown, res: ServerResponse): void =>
  json(res, { metadata: count > 1 ? { continue: 'more', remainingItemCount: count - 1 } : {}, items: count === 0 ? [] : [{ metadata: { name: 'first' } }] })

const startHub = async (spokes: number, servesDeployments = true): Promise<FakeKubernetes> => {
  const fake = await startFakeKubernetes()
  fake.on('/apis/cluster.open-cluster-management.io', (_req, res) => json(res, { kind: 'APIGroup', versions: [{ version: 'v1', groupVersion: 'cluster.open-cluster-management.io/v1' }], preferredVersion: { version: 'v1', groupVersion: 'cluster.open-cluster-management.io/v1' }, resources: [{ name: 'managedclusters', kind: 'ManagedCluster', verbs: ['list'] }] }))
  fake.on('/apis', (_req, res) => json(res, { kind: 'APIGroupList', groups: [{ name: 'apps' }, { name: 'cluster.open-cluster-management.io' }] }))
  fake.on('/apis/cluster.open-cluster-management.io', (_req, res) => json(res, { kind: 'APIResourceList', resources: [{ name: 'managedclusters', kind: 'ManagedCluster', verbs: ['list'] }] }))
  fake.on('/apis/apps/v1', (_req, res) => json(res, { kind: 'APIResourceList', resources: servesDeployments ? [{ name: 'deployments', kind: 'Deployment', verbs: ['list'] }] : [] }))
  fake.on('/apis/operator.open-cluster-management.io', (_req, res) => json(res, { items: [] }))
  fake.on('/api/v1/nodes', counted(3))
  fake.on('/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons', counted(2))
  fake.on(clusterApi, counted(spokes))
  return fake
}
const importHub = (fake: FakeKubernetes, org: string, name: string): Promise<ServiceAnswer> => expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200)
const hubsOf = (org: string, person: Person = owner): Promise<ServiceAnswer> => service.send('GET', `/api/v1/clusters/${org}/hubs`, { token: person.token })

test('hubs are listed with what they state; other clusters are no hubs', async (t) => {
  const org = await people.organization(owner)
  const [hub, plane, plain] = await Promise.all([startHub(7), startHub(0, false), startFakeKubernetes()])
  t.teardown(() => Promise.all([hub.stop(), plane.stop(), plain.stop()]))
  await importHub(hub, org, 'zulu')
  await importHub(plane, org, 'alpha')
  await importHub(plain, org, 'plain')
  const { json: hubs } = await expectStatus(hubsOf(org), 200)
  t.like(hubs, [
    { name: 'alpha', displayName: 'alpha', ownerName: org, hubType: 'OCM-MC', spokeClusters: 0, addOns: 2, clusterNode: 0 },
    { name: 'zulu', hubClusterUID: hub.uid, hubType: 'OCM', spokeClusters: 7, addOns: 2, clusterNode: 3, provider: 'Generic', locations: '' },
  ])
  t.is(hubs.length, 2)
  t.regex(hubs[0].age, /^\d+[smhd]$/)
  t.false(plane.seen.slice(-3).some(({ url }) => url.startsWith('/api/v1/nodes')))
})

test('an account without hubs has an empty list; others learn nothing', async (t) => {
  const org = await people.organization(owner)
  t.deepEqual((await expectStatus(hubsOf(org), 200)).json, [])
  const stranger = await people.person('stranger')
  t.is((await hubsOf(org, stranger)).status, 403)
})

test('a member who may list clusters but not view hubs gets an empty list', async (t) => {
  const org = await people.organization(owner)
  const hub = await startHub(1)
  t.teardown(() => hub.stop())
  await importHub(hub, org, 'hub')
  const [lister, viewer] = [await people.person('lister'), await people.person('viewer')]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [lister], held('view clusters'))
  await people.teamWithRole(owner, org, [viewer], held('view clusters', 'view hubs'))
  const seen = hub.seen.length
  t.deepEqual((await expectStatus(hubsOf(org, lister), 200)).json, [])
  t.is(hub.seen.length, seen)
  t.is((await expectStatus(hubsOf(org, viewer), 200)).json.length, 1)
})

test('of 20 hubs 3 hang, 1 refuses and 1 is gone: the list is whole, and the rest is right', async (t) => {
  const org = await people.organization(owner)
  const hubs = await Promise.all(Array.from({ length: 20 }, (_, index) => startHub(index)))
  t.teardown(() => Promise.all(hubs.map((hub) => hub.stop())))
  for (const [index, hub] of hubs.entries()) await importHub(hub, org, `hub-${String(index).padStart(2, '0')}`)
  const hanging = [2, 11, 19]
  for (const index of hanging) hubs[index]!.on('/api', () => undefined)
  hubs[5]!.acceptsToken = false
  await hubs[6]!.stop()
  const before = hanging.map((index) => hubs[index]!.openRequests())
  const asked = expectStatus(hubsOf(org), 200)
  await until('requests at all hubs that hang, at the same time', () => (hanging.every((index, at) => hubs[index]!.openRequests() > before[at]!) ? true : undefined))
  const { json: listed } = await asked
  const answered = (index: number): boolean => ![...hanging, 5, 6].includes(index)
  t.deepEqual(listed.map(({ spokeClusters }: { spokeClusters: number }) => spokeClusters), hubs.map((_, index) => (answered(index) ? index : 0)))
})

/** A hub with more clusters than fit into one page or one moment. */
const many = async (): Promise<{ readonly fake: FakeKubernetes; readonly at: (route: string) => string; readonly person: Person }> => {
  const [fake, person] = [await startFakeKubernetes(), await people.person('many')]
  await expectStatus(importCluster(service.send, person.token, person.login, 'hub', fake.kubeconfig()), 200)
  return { fake, person, at: (route) => `/api/v1/clusters/${person.login}/hub/${route}` }
}

test.serial('the raw list of 1,203 clusters is one list, with the bytes of the hub', async (t) => {
  const { fake, at, person } = await many()
  t.teardown(() => fake.stop())
  const items = Array.from({ length: 1203 }, (_, index) => `{"metadata": {"name":"c-${index}","generation":9007199254740993,"x-unknown":{"b":1.0,"7":"\\u00e9","a":-0}}}`)
  fake.on(clusterApi, (req, res) => {
    const { searchParams } = new URL(req.url ?? '', 'https://hub')
    const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit'))]
    const place = from + limit < items.length ? `"continue":"${from + limit}","remainingItemCount":${items.length - from - limit},` : ''
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(`{"kind":"ManagedClusterList","apiVersion":"v1","metadata":{${place}"resourceVersion":"9007199254740995"},"items":[${items.slice(from, from + limit).join(', ')}]}\n`)
  })
  const { text } = await expectStatus(service.send('GET', at('managed-clusters'), { token: person.token }), 200)
  const pages = [0, 500, 1000].map((from) => items.slice(from, from + 500).join(', '))
  t.is(text, `{"kind":"ManagedClusterList","apiVersion":"v1","metadata":{"resourceVersion":"9007199254740995"},"items":[${pages.join(',')}]}`)
})

test.serial('100 clusters are accepted 8 at a time', async (t) => {
  const { fake, at, person } = await many()
  t.teardown(() => fake.stop())
  const names = Array.from({ length: 100 }, (_, index) => `c-${index}`)
  let most = 0
  let held: (() => void)[] = []
  const answered = new Set<string>()
  fake.on(clusterApi, (req, res) => {
    const name = (req.url ?? '').slice(clusterApi.length + 1)
    const send = (): void => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ metadata: { name, uid: name, resourceVersion: '1', annotations: { 'agent.open-cluster-management.io/managed-cluster-arn': 'x' } }, spec: { hubAcceptsClient: req.method === 'PATCH' } }))
    }
    if (req.method !== 'GET' || answered.has(name)) return send()
    // The first request for a cluster is held, so that all clusters that are dealt with at a time are seen.
    answered.add(name)
    held.push(send)
    most = Math.max(most, held.length)
  })
  fake.on('/api/v1/namespaces/c-', (_req, res) => {
    res.writeHead(404, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ kind: 'Status', reason: 'NotFound', code: 404 }))
  })
  let isDone = false
  const accepted = service.send('POST', at('accept-spoke'), { token: person.token, body: { clusters: names } }).finally(() => (isDone = true))
  for (let left = names.length; left > 0; ) {
    const expected = Math.min(8, left)
    await until(`${expected} clusters at a time`, () => (held.length >= expected || isDone ? true : undefined))
    left -= held.length
    for (const send of held.splice(0)) send()
    held = []
  }
  t.is((await accepted).status, 200)
  t.deepEqual([answered.size, most], [100, 8])
})
