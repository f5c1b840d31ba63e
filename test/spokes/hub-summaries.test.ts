import test from 'ava'
import type { ServerResponse } from 'node:http'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { clusterApi } from './spoke-fixture.ts'

/** The list of hubs, of which some do not answer, at the wire. */
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
const counted =
  (count: number) =>
  (_req: unknown, res: ServerResponse): void =>
    json(res, {
      metadata: count > 1 ? { continue: 'more', remainingItemCount: count - 1 } : {},
      items: count === 0 ? [] : [{ metadata: { name: 'first' } }],
    })

const startHub = async (spokes: number, servesDeployments = true): Promise<FakeKubernetes> => {
  const fake = await startFakeKubernetes()
  fake.on('/apis/cluster.open-cluster-management.io', (_req, res) =>
    json(res, {
      kind: 'APIGroup',
      versions: [{ version: 'v1', groupVersion: 'cluster.open-cluster-management.io/v1' }],
      preferredVersion: { version: 'v1', groupVersion: 'cluster.open-cluster-management.io/v1' },
      resources: [{ name: 'managedclusters', kind: 'ManagedCluster', verbs: ['list'] }],
    }),
  )
  fake.on('/apis', (_req, res) =>
    json(res, { kind: 'APIGroupList', groups: [{ name: 'apps' }, { name: 'cluster.open-cluster-management.io' }] }),
  )
  fake.on('/apis/cluster.open-cluster-management.io', (_req, res) =>
    json(res, {
      kind: 'APIResourceList',
      resources: [{ name: 'managedclusters', kind: 'ManagedCluster', verbs: ['list'] }],
    }),
  )
  fake.on('/apis/apps/v1', (_req, res) =>
    json(res, {
      kind: 'APIResourceList',
      resources: servesDeployments ? [{ name: 'deployments', kind: 'Deployment', verbs: ['list'] }] : [],
    }),
  )
  fake.on('/apis/operator.open-cluster-management.io', (_req, res) => json(res, { items: [] }))
  fake.on('/api/v1/nodes', counted(3))
  fake.on('/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons', counted(2))
  fake.on(clusterApi, counted(spokes))
  return fake
}
const importHub = (fake: FakeKubernetes, org: string, name: string): Promise<ServiceAnswer> =>
  expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200)
const hubsOf = (org: string, person: Person = owner): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clusters/${org}/hubs`, { token: person.token })

test('hubs are listed with their claims, and other clusters are not hubs', async (t) => {
  const org = await people.organization(owner)
  const [hub, plane, plain] = await Promise.all([startHub(7), startHub(0, false), startFakeKubernetes()])
  t.teardown(() => Promise.all([hub.stop(), plane.stop(), plain.stop()]))
  await importHub(hub, org, 'zulu')
  await importHub(plane, org, 'alpha')
  await importHub(plain, org, 'plain')
  const { json: hubs } = await expectStatus(hubsOf(org), 200)
  t.like(hubs, [
    {
      name: 'alpha',
      displayName: 'alpha',
      ownerName: org,
      hubType: 'OCM-MC',
      spokeClusters: 0,
      addOns: 2,
      clusterNode: 0,
    },
    {
      name: 'zulu',
      hubClusterUID: hub.uid,
      hubType: 'OCM',
      spokeClusters: 7,
      addOns: 2,
      clusterNode: 3,
      provider: 'Generic',
      locations: '',
    },
  ])
  t.is(hubs.length, 2)
  t.regex(hubs[0].age, /^\d+[smhd]$/)
  t.false(plane.seen.slice(-3).some(({ url }) => url.startsWith('/api/v1/nodes')))
})

test('an account without hubs has an empty list, and others learn nothing', async (t) => {
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

test('of 20 hubs with 5 failing the list is whole and correct', async (t) => {
  const org = await people.organization(owner)
  const hubs = await Promise.all(Array.from({ length: 20 }, (_, index) => startHub(index)))
  t.teardown(() => Promise.all(hubs.map((hub) => hub.stop())))
  for (const [index, hub] of hubs.entries()) await importHub(hub, org, `hub-${String(index).padStart(2, '0')}`)
  // Among the first that are asked: the others need not answer before these are given up.
  const hanging = [1, 2, 4]
  for (const index of hanging) hubs[index]!.on('/api', () => undefined)
  hubs[5]!.acceptsToken = false
  await hubs[6]!.stop()
  const before = hanging.map((index) => hubs[index]!.openRequests())
  const asked = expectStatus(hubsOf(org), 200)
  await until('requests at all hubs that hang, at the same time', () =>
    hanging.every((index, at) => hubs[index]!.openRequests() > before[at]!) ? true : undefined,
  )
  const { json: listed } = await asked
  const answered = (index: number): boolean => ![...hanging, 5, 6].includes(index)
  t.deepEqual(
    listed.map(({ spokeClusters }: { spokeClusters: number }) => spokeClusters),
    hubs.map((_, index) => (answered(index) ? index : 0)),
  )
  const unknown = ['spokeClusters', 'addOns', 'clusterNode']
  t.deepEqual(
    listed.map(({ unknownCounts }: { unknownCounts?: string[] }) => unknownCounts),
    hubs.map((_, index) => (answered(index) ? undefined : unknown)),
  )
})
