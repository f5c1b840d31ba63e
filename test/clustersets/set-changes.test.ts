// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hubs } from '../../core/clusters/hubs/ports.ts'
import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import { makeAddToClusterSet } from '../../core/clustersets/membership.ts'
import { makeCreateClusterSet, makeDeleteClusterSet } from '../../core/clustersets/cluster-sets.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { AuditEntry } from '../../core/kernel/unit-of-work.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-world.ts'
import { disturbedHub, type Disturbance } from '../clusters/disturbed-hub.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { managedClusterSets } from '../support/hub/api/kinds.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { hubObjects, setProfiles, type HubObjects } from './hub-objects.ts'

/** Changes of cluster sets, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

let server: ControlPlaneAccess
let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
let org: string
let hubId: number
let objects: HubObjects

test.before(async () => {
  server = (await kubernetes())!
  objects = await hubObjects(server)
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  hubId = (await expectStatus(importCluster(service.send, owner.token, org, 'hub', server.kubeconfig()), 200)).json.id
})
test.after.always(async () => {
  await service?.stop()
  await objects?.client.close()
})

type Verb = 'create' | 'delete' | 'add' | 'remove'
const change = (verb: Verb, clusterSet: unknown, clusters?: unknown, person: Person = owner): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/clusters/${org}/hub/clustersets/${verb}`, {
    token: person.token,
    body: { clusterSet, ...(clusters === undefined ? {} : { clusters }) },
  })
const done = async (...asked: Parameters<typeof change>): Promise<void> =>
  void (await expectStatus(change(...asked), 200))
/** A refusal of the request itself, with its message. */
const refused = async (...asked: Parameters<typeof change>): Promise<string> => {
  const { json } = await expectStatus(change(...asked), 422)
  if (json.code !== 'ClusterSetRefused') throw new Error(`refused with ${json.code}: ${json.message}`)
  return json.message
}

interface Row {
  readonly action: string
  readonly object_name: string
  readonly changes: {
    readonly clusterSet?: string
    readonly from?: string
    readonly to?: string
    readonly clusters?: readonly string[]
  }
}
/** The audit rows about a set, oldest first. */
const rowsOf = async (set: string): Promise<readonly unknown[]> => {
  const { json } = await expectStatus(
    service.send('GET', `/api/v1/orgs/${org}/audit?limit=200`, { token: owner.token }),
    200,
  )
  const rows = (json as Row[]).filter(({ changes }) => [changes.clusterSet, changes.from, changes.to].includes(set))
  return rows
    .map(({ action, changes: { clusterSet, from, to, clusters } }) =>
      action === 'cluster.spokes_moved' ? [from, to, clusters] : [action, clusterSet],
    )
    .reverse()
}

test('a set is created with clusters, and the same one again', async (t) => {
  const { cluster, setsOf, hasSet, set, unique } = objects
  const [name, other] = [unique('set'), await set()]
  const [a, b] = [await cluster(), await cluster({ set: other })]
  await done('create', name, [a, b, a])
  t.deepEqual(await setsOf(a, b), [name, name])
  await done('create', name, [a])
  await done('create', name)
  await done('create', name, null)
  t.true(await hasSet(name))
  t.deepEqual(await rowsOf(name), [
    ['cluster.set_created', name],
    ['', name, [a]],
    [other, name, [b]],
  ])
})

test('a set that exists and is another one, or is being deleted, is refused', async (t) => {
  const { client, set, cluster, setsOf, unique, deleteSet } = objects
  const a = await cluster()
  const byLabels = await set({ selectorType: 'LabelSelector', labelSelector: {} })
  t.regex(await refused('create', byLabels, [a]), /Another cluster set .* exists/)
  const [managing, leaving] = [unique('set'), unique('set')]
  await client.create(managedClusterSets, {
    metadata: { name: managing },
    spec: { managedNamespaces: [{ name: 'shop' }] } as object,
  })
  t.regex(await refused('create', managing, [a]), /Another cluster set/)
  await client.create(managedClusterSets, { metadata: { name: leaving, finalizers: ['example.com/stay'] } })
  await deleteSet(leaving)
  for (const verb of ['create', 'add'] as const) t.regex(await refused(verb, leaving, [a]), /is being deleted/)
  t.deepEqual(await setsOf(a), [undefined])
})

test('the names of the sets of the hub itself are refused', async (t) => {
  for (const name of ['default', 'global'])
    for (const verb of ['create', 'delete'] as const) t.regex(await refused(verb, name), /made by the hub itself/)
})

test('clusters are added and moved; what is as requested already is not written', async (t) => {
  const { cluster, set, setsOf, client } = objects
  const [from, to] = [await set(), await set()]
  const [a, b, c] = [await cluster({ labels: { tier: 'x' } }), await cluster({ set: from }), await cluster({ set: to })]
  const versionOf = async (name: string) =>
    (
      await client.get(
        {
          apiVersion: 'cluster.open-cluster-management.io/v1',
          kind: 'ManagedCluster',
          plural: 'managedclusters',
          isNamespaced: false,
        },
        name,
      )
    )?.metadata
  const before = await versionOf(c)
  await done('add', to, [a, b, c])
  await done('add', to, [a, b, c])
  t.deepEqual(await setsOf(a, b, c), [to, to, to])
  t.is((await versionOf(c))?.resourceVersion, before?.resourceVersion)
  t.is((await versionOf(a))?.labels?.['tier'], 'x')
  t.deepEqual(await rowsOf(to), [
    ['', to, [a]],
    [from, to, [b]],
  ])
})

test('clusters are removed from the set that is named, and from no other', async (t) => {
  const { cluster, set, setsOf, deleteCluster } = objects
  const [mine, other] = [await set(), await set()]
  const leaving = await cluster({ set: mine, finalizers: ['example.com/stay'] })
  const [a, b, c] = [await cluster({ set: mine }), await cluster({ set: other }), await cluster()]
  await deleteCluster(leaving)
  await done('remove', mine, [a, b, c, leaving])
  await done('remove', mine, [a])
  t.deepEqual(await setsOf(a, b, c, leaving), [undefined, other, undefined, undefined])
  t.deepEqual(await rowsOf(mine), [[mine, '', [a, leaving].sort()]])
})

test('clusters that cannot be changed are listed, and the others are changed and recorded', async (t) => {
  const { cluster, set, setsOf, deleteCluster } = objects
  const name = await set()
  const many = await Promise.all(Array.from({ length: 20 }, () => cluster()))
  const leaving = await cluster({ finalizers: ['example.com/stay'] })
  await deleteCluster(leaving)
  const { json } = await expectStatus(change('add', name, [leaving, ...many, 'no-such-spoke']), 422)
  t.is(json.code, 'ClusterSetRefused')
  t.regex(json.message, /^2 of 22 clusters could not be changed\..*The other clusters are done\.$/)
  t.deepEqual(
    json.errors,
    ['no-such-spoke: The cluster does not exist on the hub.', `${leaving}: The cluster is being deleted.`].sort(),
  )
  t.deepEqual(new Set(await setsOf(...many)), new Set([name]))
  t.deepEqual(await setsOf(leaving), [undefined])
  t.deepEqual(await rowsOf(name), [['', name, many.toSorted()]])
  t.regex(
    await refused('remove', name, ['no-such-spoke']),
    /^1 of 1 clusters could not be changed\. no-such-spoke: The cluster does not exist on the hub\.$/,
  )
})

test('a partly refused request may be repeated with its Idempotency-Key', async (t) => {
  const { cluster, set, setsOf } = objects
  const [name, a] = [await set(), await cluster()]
  const send = (): Promise<ServiceAnswer> =>
    service.send('POST', `/api/v1/clusters/${org}/hub/clustersets/add`, {
      token: owner.token,
      headers: { 'Idempotency-Key': `add-${name}` },
      body: { clusterSet: name, clusters: [a, 'no-such-spoke'] },
    })
  for (const _ of [1, 2]) t.is((await send()).json.code, 'ClusterSetRefused')
  t.deepEqual(await setsOf(a), [name])
  t.deepEqual(await rowsOf(name), [['', name, [a]]])
})

test('a set that does not exist, or selects by labels, takes and loses no clusters', async (t) => {
  const { cluster, set, setsOf } = objects
  const [a, byLabels] = [
    await cluster(),
    await set({ selectorType: 'LabelSelector', labelSelector: { matchLabels: { a: 'b' } } }),
  ]
  for (const verb of ['add', 'remove'] as const) {
    t.regex(await refused(verb, 'no-such-set', [a]), /no-such-set does not exist on the hub/)
    t.regex(await refused(verb, byLabels, [a]), /selects its clusters by their labels/)
  }
  t.deepEqual(await setsOf(a), [undefined])
})

test('a set is deleted with its profile when it has no clusters and is bound to no namespace', async (t) => {
  const { client, cluster, set, bind, hasSet, move } = objects
  const [name, namespace, a] = [await set(), await server.createNamespace(), await cluster()]
  await move(a, name)
  await client.create(setProfiles, { metadata: { name }, spec: {} })
  await bind(namespace, 'another-name', name)
  t.regex(await refused('delete', name), new RegExp(`bound to the namespaces ${namespace}`))
  await server.request(
    'DELETE',
    `/apis/cluster.open-cluster-management.io/v1beta2/namespaces/${namespace}/managedclustersetbindings/another-name`,
  )
  t.regex(await refused('delete', name), new RegExp(`has the clusters ${a}`))
  t.true(await hasSet(name))
  await done('remove', name, [a])
  await done('delete', name)
  await done('delete', name)
  t.false(await hasSet(name))
  t.is(await client.get(setProfiles, name), undefined)
  t.deepEqual(await rowsOf(name), [
    [name, '', [a]],
    ['cluster.set_deleted', name],
  ])
})

test('a set that selects by labels is not deleted while it has clusters', async (t) => {
  const { cluster, set, hasSet, unique, deleteCluster } = objects
  const team = unique('team')
  const [byLabels, a] = [
    await set({ selectorType: 'LabelSelector', labelSelector: { matchLabels: { team } } }),
    await cluster({ labels: { team } }),
  ]
  t.regex(await refused('delete', byLabels), new RegExp(`has the clusters ${a}\\. Change their labels first`))
  t.true(await hasSet(byLabels))
  await deleteCluster(a)
  await done('delete', byLabels)
  t.false(await hasSet(byLabels))
})

test('deleting a set that is gone removes the clusters that still name it', async (t) => {
  const { cluster, setsOf, unique } = objects
  const name = unique('set')
  const a = await cluster({ set: name })
  await done('delete', name)
  t.deepEqual(await setsOf(a), [undefined])
  t.deepEqual(await rowsOf(name), [[name, '', [a]]])
})

test('bad bodies are 422 and change nothing', async (t) => {
  const set = await objects.set()
  for (const bad of ['', 'A', 'a.b', '-a', '..', 'x'.repeat(64), 7, null, undefined])
    for (const verb of ['create', 'delete', 'add', 'remove'] as const)
      t.is((await change(verb, bad, ['a'])).status, 422, String(bad))
  for (const bad of [
    [],
    undefined,
    null,
    'a',
    [7],
    [null],
    ['A'],
    ['a.b'],
    Array.from({ length: 1001 }, (_, index) => `c${index}`),
  ])
    for (const verb of ['add', 'remove'] as const)
      t.is((await change(verb, set, bad)).status, 422, JSON.stringify(bad)?.slice(0, 50))
  t.is((await change('create', 'set-of-bad-names', ['A'])).status, 422)
  t.false(await objects.hasSet('set-of-bad-names'))
})

test('changing needs the right to manage cluster sets; for another organization the hub does not exist', async (t) => {
  const [reader, manager, stranger] = [
    await people.person('reader'),
    await people.person('manager'),
    await people.person('stranger'),
  ]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [reader], held('view clusters', 'view hubs', 'bind namespaces'))
  await people.teamWithRole(owner, org, [manager], held('view clusters', 'view hubs', 'manage cluster sets'))
  await people.organization(stranger)
  const [set, a] = [await objects.set(), await objects.cluster()]
  for (const verb of ['create', 'add', 'remove', 'delete'] as const) {
    t.is((await change(verb, set, [a], reader)).status, 403, verb)
    t.is((await change(verb, set, [a], stranger)).status, 404, verb)
    t.is((await change(verb, set, [a], manager)).status, 200, verb)
  }
})

test('a cluster that is added to two sets at once is in one of them, and the audit log tells how it came there', async (t) => {
  const { cluster, set, setsOf } = objects
  const [one, two] = [await set(), await set()]
  const clusters = await Promise.all([1, 2, 3, 4].map(() => cluster()))
  const answers = await Promise.all([
    change('add', one, clusters),
    change('add', two, clusters),
    change('add', one, clusters),
    change('add', two, clusters),
  ])
  // A conflict five times in a row is possible, and reported.
  for (const { status } of answers) t.true([200, 409, 422].includes(status))
  const ends = await setsOf(...clusters)
  const moves = [
    ...new Map([...(await rowsOf(one)), ...(await rowsOf(two))].map((row) => [JSON.stringify(row), row])).values(),
  ] as unknown as [string, string, string[]][]
  for (const [index, name] of clusters.entries()) {
    const own = moves.filter(([, , names]) => names.includes(name))
    t.true(ends[index] === one || ends[index] === two)
    t.is(own.filter(([from]) => from === '').length, 1, 'it left no set once')
    t.true(own.some(([, to]) => to === ends[index]))
  }
})

test('two creates of one set both succeed, and one of them is recorded', async (t) => {
  const { cluster, setsOf, unique } = objects
  const name = unique('set')
  const [a, b] = [await cluster(), await cluster()]
  const answers = await Promise.all([change('create', name, [a]), change('create', name, [b]), change('create', name)])
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.deepEqual(await setsOf(a, b), [name, name])
  t.is((await rowsOf(name)).filter((row) => (row as string[])[0] === 'cluster.set_created').length, 1)
})

test('however a deletion and an addition meet, no cluster is left with the name of a set that is gone', async (t) => {
  const { cluster, set, setsOf, hasSet } = objects
  const rounds = await Promise.all(Array.from({ length: 8 }, async () => [await set(), await cluster()] as const))
  await Promise.all(
    rounds.map(async ([name, a]) => {
      const [added, deleted] = await Promise.all([change('add', name, [a]), change('delete', name)])
      t.true([200, 422].includes(added.status), added.text)
      t.true([200, 422].includes(deleted.status), deleted.text)
      t.deepEqual(
        [await hasSet(name), ...(await setsOf(a))],
        deleted.status === 200 ? [false, undefined] : [true, name],
      )
    }),
  )
})

/** A record of a cluster that the hub manages under a name. */
const recordOf = async (t: { teardown(end: () => unknown): void }, managedClusterName: string) => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  fake.uid = randomUUID()
  const name = objects.unique('record')
  const { ownerID } = (await expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200))
    .json
  const store = service.running.container.resolve(ClusterStoreToken)
  const record = (await store.find(ownerID, name))!
  const hub = (await store.get(hubId as Cluster['id']))!
  unwrap(await store.change(record.id, record.version, { hubClusterUid: hub.uid, managedClusterName }))
  const read = async (path: string): Promise<string> =>
    (await expectStatus(service.send('GET', `/api/v1/${path}`, { token: owner.token }), 200)).json.clusterSetName
  return {
    /** Reads the set from the hub: as if the record was not observed for long. */
    refresh: async (): Promise<string> => (
      await store.observe(record.id, record.status, undefined, new Date(0)),
      read(`clustersv2/${org}/${name}/status`)
    ),
    shown: () => read(`clusters/${org}/${name}`),
    listed: async (): Promise<unknown> =>
      (
        (await expectStatus(service.send('GET', `/api/v1/clustersv2/${org}`, { token: owner.token }), 200)).json as {
          name: string
          clusterSetName: string
        }[]
      ).find((each) => each.name === name)?.clusterSetName,
  }
}

test('the record of a spoke shows the cluster set that it was last seen in, or moved to', async (t) => {
  const { cluster, set, move } = objects
  const [first, second] = [await set(), await set()]
  const spoke = await cluster({ set: first })
  const record = await recordOf(t, spoke)
  t.deepEqual(
    [await record.shown(), await record.refresh(), await record.shown(), await record.listed()],
    ['', first, first, first],
  )
  await done('add', second, [spoke])
  t.deepEqual([await record.shown(), await record.listed()], [second, second])
  await done('remove', second, [spoke])
  t.is(await record.shown(), '')
  await move(spoke, first)
  t.deepEqual([await record.shown(), await record.refresh()], ['', first])
  await move(spoke, null)
  t.deepEqual([await record.refresh(), await record.shown()], ['', ''])
})

test('a spoke that its hub does not manage, or no longer, is in no set', async (t) => {
  const [set, gone] = [await objects.set(), objects.unique('spoke')]
  const record = await recordOf(t, gone)
  t.is(await record.refresh(), '')
  const known = await objects.cluster({ set })
  const other = await recordOf(t, known)
  t.is(await other.refresh(), set)
  await objects.deleteCluster(known)
  t.is(await other.refresh(), '')
})

/** The use cases on a hub where something else happens before chosen requests, and what they record. */
const meeting = async (before: Disturbance) => {
  const { hub } = await disturbedHub(service, hubId, before)
  const recorded: AuditEntry[] = []
  const deps = {
    hubs: { open: async () => right(hub), openSpoke: async () => right(hub) } as Hubs,
    clusters: service.running.container.resolve(ClusterStoreToken),
    unitOfWork: {
      run: async (
        _call: unknown,
        work: (stores: { audit: { record(entry: AuditEntry): Promise<void> } }) => Promise<never>,
      ) => work({ audit: { record: async (entry) => void recorded.push(entry) } }),
    } as never,
  }
  return { deps, recorded, call: {} as SignedInCall, grant: {} as AccessGrant }
}
/** Runs once, before the first request that fits. */
const once = (fits: (method: string, target: string) => boolean, work: () => Promise<unknown>): Disturbance => {
  let isDone = false
  return async ({ method, target }) => {
    if (isDone || !fits(method, target)) return
    isDone = true
    await work()
  }
}

test('a cluster that is added between the check and the deletion is removed from the set', async (t) => {
  const { cluster, set, setsOf, hasSet, move } = objects
  const [name, a] = [await set(), await cluster()]
  const { deps, recorded, call, grant } = await meeting(
    once(
      (method) => method === 'DELETE',
      () => move(a, name),
    ),
  )
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.false(await hasSet(name))
  t.deepEqual(await setsOf(a), [undefined])
  t.deepEqual(
    recorded.map(({ action, changes }) => [action, changes]),
    [
      ['cluster.set_deleted', { clusterSet: name }],
      ['cluster.spokes_moved', { from: name, to: '', clusters: [a] }],
    ],
  )
})

test('a set that was replaced by a new one of its name between the check and the deletion stays, with its clusters', async (t) => {
  const { cluster, set, setsOf, hasSet, move, deleteSet, client } = objects
  const [name, a] = [await set(), await cluster()]
  const { deps, recorded, call, grant } = await meeting(
    once(
      (method) => method === 'DELETE',
      async () => {
        await deleteSet(name)
        await client.create(managedClusterSets, { metadata: { name } })
        await move(a, name)
      },
    ),
  )
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.true(await hasSet(name))
  t.deepEqual(await setsOf(a), [name])
  t.deepEqual(recorded, [])
})

test('a cluster that moves to another set while it is swept stays there', async (t) => {
  const { cluster, set, setsOf, move } = objects
  const [name, other, a] = [await set(), await set(), await cluster()]
  const added = once(
    (method) => method === 'DELETE',
    () => move(a, name),
  )
  const moved = once(
    (method) => method === 'PATCH',
    () => move(a, other),
  )
  const { deps, call, grant } = await meeting(async (request) => (await added(request), await moved(request)))
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.deepEqual(await setsOf(a), [other])
})

test('clusters leave a set that is deleted while they are added', async (t) => {
  const { cluster, set, setsOf, deleteSet, unique } = objects
  for (const make of [makeAddToClusterSet, makeCreateClusterSet]) {
    const [name, a] = [make === makeAddToClusterSet ? await set() : unique('set'), await cluster()]
    const { deps, recorded, call, grant } = await meeting(
      once(
        (method) => method === 'PATCH',
        () => deleteSet(name),
      ),
    )
    const outcome = await make(deps)(call, { grant, clusterSet: name, clusters: [a] })
    t.is(tagOf(outcome), 'ClusterSetRefused')
    t.regex(isLeft(outcome) ? outcome.left.message : '', /was deleted during the request/)
    t.deepEqual(await setsOf(a), [undefined])
    t.deepEqual(
      recorded.filter(({ action }) => action === 'cluster.spokes_moved').map(({ changes }) => changes),
      [
        { from: '', to: name, clusters: [a] },
        { from: name, to: '', clusters: [a] },
      ],
    )
  }
})

test('a cluster that changes while it is added is judged again', async (t) => {
  const { cluster, set, setsOf, deleteCluster } = objects
  const [name, other] = [await set(), await set()]
  const [a, leaving] = [await cluster(), await cluster({ finalizers: ['example.com/stay'] })]
  const moved = await meeting(
    once(
      (method) => method === 'PATCH',
      () => objects.move(a, other),
    ),
  )
  t.is(
    tagOf(await makeAddToClusterSet(moved.deps)(moved.call, { grant: moved.grant, clusterSet: name, clusters: [a] })),
    'done',
  )
  t.deepEqual(
    moved.recorded.map(({ changes }) => changes),
    [{ from: other, to: name, clusters: [a] }],
  )
  const deleted = await meeting(
    once(
      (method) => method === 'PATCH',
      () => deleteCluster(leaving),
    ),
  )
  t.is(
    tagOf(
      await makeAddToClusterSet(deleted.deps)(deleted.call, {
        grant: deleted.grant,
        clusterSet: name,
        clusters: [leaving],
      }),
    ),
    'ClusterSetRefused',
  )
  t.deepEqual(await setsOf(a, leaving), [name, undefined])
})

test('no more than eight clusters are changed at a time', async (t) => {
  const { cluster, set, setsOf } = objects
  const name = await set()
  const clusters = await Promise.all(Array.from({ length: 24 }, () => cluster()))
  const open = new Set<string>()
  let most = 0
  const { deps, call, grant } = await meeting(async ({ method, target }) => {
    const spoke = /managedclusters\/([^/?]+)$/.exec(target)?.[1]
    if (spoke === undefined) return
    if (method === 'GET') open.add(spoke)
    most = Math.max(most, open.size)
    // The cluster counts until its change is sent.
    if (method === 'PATCH') open.delete(spoke)
  })
  t.is(tagOf(await makeAddToClusterSet(deps)(call, { grant, clusterSet: name, clusters })), 'done')
  t.true(most > 1 && most <= 8, String(most))
  t.deepEqual(new Set(await setsOf(...clusters)), new Set([name]))
})
