// process: waiting - uses components
import { randomBytes } from 'node:crypto'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import { builtInProfiles } from '../../core/hubs/featuresets/profiles.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import { kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusterSets } from '../support/hub/api/kinds.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { clusterProfiles, hubObjects, setRoleBindings, type HubObjects } from './hub-objects.ts'

/** What the routes of cluster sets show, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
let org: string
let hubId: ClusterId
let objects: HubObjects

test.before(async () => {
  const server = (await kubernetes())!
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

const get = (path: string, person: Person = owner, at = `${org}/hub`): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clusters/${at}/${path}`, { token: person.token })
const shown = async (path: string): Promise<ServiceAnswer['json']> => (await expectStatus(get(path), 200)).json
/** The elements of a list that are about these names: other tests share the hub. */
const among = (names: readonly string[], list: readonly string[]): readonly string[] =>
  list.filter((name) => names.includes(name))

test('sets are listed by name with their clusters and profile titles', async (t) => {
  const { cluster, set, client, unique } = objects
  const tier = unique('tier')
  const [plain, empty] = [await set(), await set()]
  const byLabels = await set({
    selectorType: 'LabelSelector',
    labelSelector: { matchLabels: { tier }, matchExpressions: [{ key: 'retired', operator: 'DoesNotExist' }] },
  })
  const all = await set({ selectorType: 'LabelSelector', labelSelector: {} })
  const [profile, titled, untitled] = [unique('profile'), unique('cp'), unique('cp')]
  await client.create(clusterProfiles, { metadata: { name: profile }, spec: { title: 'Databases', description: 'd' } })
  await client.create(managedClusterSets, { metadata: { name: `cp-${profile}` } })
  await client.create(managedClusterSets, { metadata: { name: untitled } })
  await client.create(clusterProfiles, {
    metadata: { name: titled },
    spec: { title: 'Not of a set', description: 'd' },
  })
  for (const each of [
    { set: plain, labels: { tier } },
    { set: plain },
    { labels: { tier, retired: 'yes' } },
    { labels: { tier: 'other' } },
  ])
    await cluster(each)
  const list = (await shown('clustersets')) as { clusterSetName: string; clusterSetTitle: string; clusters: number }[]
  t.deepEqual(
    list.map(({ clusterSetName }) => clusterSetName),
    list.map(({ clusterSetName }) => clusterSetName).sort(),
  )
  const of = (name: string) => list.find(({ clusterSetName }) => clusterSetName === name)
  t.deepEqual(of(plain), { clusterSetName: plain, clusterSetTitle: '', clusters: 2 })
  t.is(of(empty)?.clusters, 0)
  t.is(of(byLabels)?.clusters, 1)
  t.true((of(all)?.clusters ?? 0) >= 4)
  t.is(of(`cp-${profile}`)?.clusterSetTitle, 'Databases')
  t.is(of(untitled)?.clusterSetTitle, '')
  t.deepEqual(
    among([plain, empty, byLabels, all], await shown('available-clustersets')),
    [plain, empty, byLabels, all].sort(),
  )
  t.deepEqual(among([plain, empty], await shown('available-clustersets?type=anything')), [plain, empty].sort())
})

test('the clusters of a set show their records and are found by UID or name', async (t) => {
  const { cluster, set } = objects
  const name = await set()
  const [fake, silent, unsurveyed] = [
    await startFakeKubernetes(),
    await startFakeKubernetes(),
    await startFakeKubernetes(),
  ]
  t.teardown(() => Promise.all([fake.stop(), silent.stop(), unsurveyed.stop()]))
  const imports = async (of: FakeKubernetes, displayName: string): Promise<ClusterId> =>
    (
      await expectStatus(
        importCluster(service.send, owner.token, org, `wharf-${randomBytes(3).toString('hex')}`, of.kubeconfig(), {
          displayName,
        }),
        200,
      )
    ).json.id
  await imports(fake, 'The Wharf')
  const silentId = await imports(silent, 'The Silent')
  const required = Object.values(builtInProfiles.get('dbaas-client-org')!).flat()
  const imported = await cluster({ set: name, uid: fake.uid, version: 'v1.34.2', features: required })
  const foreign = await cluster({ set: name })
  // An agent of OCM alone publishes no UID.
  const unclaimed = await cluster({ set: name })
  const store = service.running.container.resolve(ClusterStorePort)
  const { version } = (await store.get(silentId))!
  unwrap(
    await store.change(silentId, version, {
      hubClusterUid: (await store.get(hubId))!.uid,
      managedClusterName: unclaimed,
    }),
  )
  const unsurveyedId = await imports(unsurveyed, 'The Unknown')
  unwrap(await store.change(unsurveyedId, (await store.get(unsurveyedId))!.version, { uid: '' }))
  const elsewhere = await cluster()
  const list = (await shown(`clustersets/${name}/clusters`)) as { name: string }[]
  t.deepEqual(
    list.map((each) => each.name),
    [imported, foreign, unclaimed].sort(),
  )
  t.like(
    list.find((each) => each.name === unclaimed),
    { displayName: 'The Silent', imported: true },
  )
  t.deepEqual(
    list.find((each) => each.name === imported),
    {
      name: imported,
      displayName: 'The Wharf',
      clusterNode: 0,
      provider: 'Generic',
      kubernetesVersion: 'v1.34.2',
      imported: true,
    },
  )
  t.deepEqual(
    list.find((each) => each.name === foreign),
    {
      name: foreign,
      displayName: foreign,
      clusterNode: 0,
      provider: 'Generic',
      kubernetesVersion: '',
      imported: false,
    },
  )
  t.false(list.some((each) => each.name === elsewhere))
  t.deepEqual(await shown(`clustersets/${await set()}/clusters`), [])
  // A set is eligible by one spoke that is accepted, imported and has the features of the profile.
  const [pending, bare, byLabels] = [
    await set(),
    await set(),
    await set({ selectorType: 'LabelSelector', labelSelector: { matchLabels: { of: name } } }),
  ]
  await cluster({ set: pending, uid: fake.uid, isAccepted: false, features: required })
  await cluster({ set: bare, uid: fake.uid, features: required.slice(1) })
  await cluster({ labels: { of: name }, uid: fake.uid, features: required })
  const eligible = (await shown('available-clustersets?type=client-org')) as string[]
  t.deepEqual(among([name, pending, bare, byLabels, 'global', 'default'], eligible), [name, byLabels].sort())
})

test('the candidates of a set are the accepted clusters that are not in it and stay', async (t) => {
  const { cluster, set, deleteCluster } = objects
  const name = await set()
  const [member, free, ofOther, pending, leaving] = [
    await cluster({ set: name }),
    await cluster(),
    await cluster({ set: await set() }),
    await cluster({ isAccepted: false }),
    await cluster({ finalizers: ['example.com/stay'] }),
  ]
  await deleteCluster(leaving)
  const mine = [member, free, ofOther, pending, leaving]
  const candidates = (await shown(`clustersets/${name}/clusterlist`)) as string[]
  t.deepEqual(among(mine, candidates), [free, ofOther].sort())
  t.deepEqual(candidates, candidates.toSorted())
  const byLabels = await set({ selectorType: 'LabelSelector', labelSelector: {} })
  t.deepEqual(await shown(`clustersets/${byLabels}/clusterlist`), [])
  t.true(
    among(
      mine,
      ((await shown(`clustersets/${byLabels}/clusters`)) as { name: string }[]).map((each) => each.name),
    ).length === mine.length,
  )
})

test('visible users are listed by role, once each', async (t) => {
  const { set, client, unique } = objects
  const name = await set()
  const [ann, bob, hidden, member] = [
    await people.person('ann'),
    await people.person('bob'),
    await people.person('hidden'),
    await people.person('member'),
  ]
  const idOf = async ({ token }: Person): Promise<number> =>
    (await expectStatus(service.send('GET', '/api/v1/user', { token }), 200)).json.id
  await people.teamWithRole(owner, org, [member], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
  for (const { login } of [hidden, member])
    await expectStatus(
      service.send('PATCH', `/api/v1/admin/users/${login}`, {
        token: service.adminToken,
        body: { login_name: login, source_id: 0, visibility: 'private' },
      }),
      200,
    )
  const bind = (role: string, user: string | undefined, of = name) =>
    client.create(setRoleBindings, {
      metadata: {
        name: unique('binding'),
        ...(user === undefined ? {} : { labels: { 'authentication.k8s.appscode.com/user': user } }),
      },
      clusterSetRef: { name: of },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [],
    })
  await bind('edit', String(await idOf(bob)))
  await bind('edit', `ace.user.${await idOf(bob)}`)
  await bind('edit', String(await idOf(ann)))
  for (const user of [hidden, member]) await bind('view', String(await idOf(user)))
  for (const user of ['999999999999', '0', 'ace.sa.1', undefined, '1.5', '1e3']) await bind('view', user)
  await bind('admin', String(await idOf(ann)), 'another-set')
  const byRole = (await shown(`clustersets/${name}/auth-info`)) as Record<string, { login: string; email: string }[]>
  t.deepEqual(Object.keys(byRole).sort(), ['edit', 'view'])
  t.deepEqual(
    byRole['edit']?.map(({ login }) => login),
    [ann.login, bob.login],
  )
  t.deepEqual(
    byRole['view']?.map(({ login }) => login),
    [member.login],
    'a private member of the organization, as in the list of its members',
  )
  const confined = await expectStatus(
    service.send('POST', '/api/v1/user/settings/tokens/access-tokens', {
      token: owner.token,
      body: { name: 'clusters', scopes: ['read:cluster'] },
    }),
    201,
  )
  t.deepEqual(
    (await expectStatus(get(`clustersets/${name}/auth-info`, { ...owner, token: confined.json.token as string }), 200))
      .json['view'],
    [],
    'a token that does not reach organizations sees no private members',
  )
  t.notRegex(JSON.stringify(byRole), /ann-.*@example\.com/)
  t.deepEqual(await shown(`clustersets/${await set()}/auth-info`), {})
})

test('a set that does not exist, and a name that no set can have, is 404', async (t) => {
  for (const what of ['clusters', 'clusterlist', 'auth-info']) {
    const absent = await get(`clustersets/no-such-set/${what}`)
    t.is(absent.status, 404)
    t.is(absent.json.code, 'ClusterSetMissing')
    for (const bad of ['A', 'a.b', 'x'.repeat(64), 'a b'])
      t.is((await get(`clustersets/${bad}/${what}`)).status, 404, bad)
  }
})

test('reading sets needs the right to view hubs', async (t) => {
  const [connector, reader, stranger] = [
    await people.person('connector'),
    await people.person('reader'),
    await people.person('stranger'),
  ]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [connector], held('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [reader], held('view clusters', 'view hubs'))
  await people.organization(stranger)
  const set = await objects.set()
  for (const path of [
    'clustersets',
    'available-clustersets',
    `clustersets/${set}/clusters`,
    `clustersets/${set}/clusterlist`,
    `clustersets/${set}/auth-info`,
  ]) {
    t.is((await get(path, connector)).status, 403, path)
    t.is((await get(path, reader)).status, 200, path)
    t.is((await get(path, stranger)).status, 404, path)
  }
})
