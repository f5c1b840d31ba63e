// process: waiting - uses components
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusterSets } from '../support/hub/api/kinds.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { setProfiles } from './hub-objects.ts'
import { change, objects, org, owner, people, recordOf, rowsOf, server, service } from './set-changes.fixture.ts'

/** Changes of cluster sets, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')
const done = async (...asked: Parameters<typeof change>): Promise<void> =>
  void (await expectStatus(change(...asked), 200))
/** A refusal of the request itself, with its message. */
const refused = async (...asked: Parameters<typeof change>): Promise<string> => {
  const { json } = await expectStatus(change(...asked), 422)
  if (json.code !== 'ClusterSetRefused') throw new Error(`refused with ${json.code}: ${json.message}`)
  return json.message
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

test('clusters are added and moved, and unchanged ones are not written', async (t) => {
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

test('unchangeable clusters are listed, and the others are changed', async (t) => {
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

test('an empty set without bindings is deleted with its profile', async (t) => {
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

test('changing sets needs the right to manage cluster sets', async (t) => {
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

test("a spoke's record shows its last known cluster set", async (t) => {
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
