import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import type { ClusterSelection, ClusterStore } from '../../core/clusters/ports.ts'
import type { Cluster, NewCluster } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId, UserId } from '../../core/kernel/ids.ts'
import { nameOf } from '../authz/account-names.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import type { Fixture } from '../authz/fixture.ts'

/** A store of its own for each case, over the accounts below. */
export interface ClusterStoreBench {
  readonly store: ClusterStore
  close(): Promise<void>
}

/** Alice (1) belongs to 11 and 13; Bob (2) to all; Carol (3) is in a team of 13 without being a member. */
const alice = 1 as UserId
const bob = 2 as UserId
const carol = 3 as UserId
const org = 11 as AccountId
const otherOrg = 12 as AccountId
const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-02T08:00:00.456Z')
const absent = 999_999 as ClusterId

export const newCluster = (changes: Partial<NewCluster> = {}): NewCluster => ({
  ownerId: org,
  name: 'prod',
  displayName: 'Production ☂ é',
  uid: 'uid-1',
  externalId: '',
  provider: 'EKS',
  vendor: '',
  endpoint: 'https://k8s.example.com:6443',
  location: 'eu',
  project: '',
  kubernetesVersion: 'v1.34.1',
  nodeCount: 3,
  managers: ['OCMHub', 'Rancher'],
  hubClusterUid: '',
  managedClusterName: '',
  infraNamespace: '',
  status: { phase: 'Active', reason: undefined, message: '' },
  impersonatesUsers: true,
  createdAt: at,
  checkedAt: at,
  importedBy: alice,
  ref: 'ref-1',
  sealedCredential: new Uint8Array([0, 255, 1, 254]),
  ...changes,
})

const inserted = async (store: ClusterStore, changes: Partial<NewCluster> = {}): Promise<Cluster> => {
  const cluster = await store.insert(newCluster(changes))
  if (isLeft(cluster)) throw new Error(cluster.left.message)
  return cluster.right
}

const organization = (id: number, members: readonly number[]): Fixture['orgs'][number] => ({
  id,
  visibility: 'private',
  members,
  teams: [],
  roles: [],
  grants: [],
})

const fixture: Fixture = {
  users: [1, 2, 3],
  orgs: [
    organization(11, [1, 2]),
    organization(12, [2]),
    {
      ...organization(13, [1, 2]),
      teams: [{ id: 131, permission: 'none', members: [1, 3], roleIds: [] }],
      grants: [
        { objectType: 'cluster', objectId: 501, relation: 'viewer', subjectType: 'user', subjectId: 2 },
        { objectType: 'cluster', objectId: 501, relation: 'viewer', subjectType: 'user', subjectId: 3 },
        { objectType: 'cluster', objectId: 502, relation: 'viewer', subjectType: 'team', subjectId: 131 },
      ],
    },
  ],
  clusters: [
    { id: 501, ownerId: 13 },
    { id: 502, ownerId: 13 },
  ],
  tokens: [],
}

const about: SuiteAbout = {
  name: 'cluster-store',
  ports: ['ClusterStore'],
  needs: 'The users 1 to 3 and the organizations 11 to 13, without the clusters of 11 and 12.',
  fill: (database) => storeFixture(database, fixture),
}

/** What every ClusterStore keeps. Each case on an owner's data has its twin from another owner. */
export const clusterStoreSuite = contractSuite<ClusterStoreBench>(about, (onBench) => {
  onBench('the clusters of all accounts are listed by owner and name, page by page', async (t, { store }) => {
    const [b, a, theirs] = [
      await inserted(store, { name: 'b' }),
      await inserted(store, { name: 'a', uid: 'uid-2' }),
      await inserted(store, { ownerId: otherOrg, name: 'a' }),
    ]
    const all = await store.listAll({ page: 1, limit: 30 })
    t.is(all.total, all.items.length)
    t.deepEqual(
      all.items.filter(({ ownerId }) => ownerId === org).map(({ id }) => id),
      [a.id, b.id],
    )
    t.true(all.items.some(({ id }) => id === theirs.id))
    const runs = all.items.filter(({ ownerId }, n) => ownerId !== all.items[n - 1]?.ownerId)
    t.is(runs.length, new Set(all.items.map(({ ownerId }) => ownerId)).size, 'those of one owner stand together')
    const pages = await Promise.all([1, 2, 3, 4].map((page) => store.listAll({ page, limit: 2 })))
    t.deepEqual(
      pages.flatMap(({ items }) => items.map(({ id }) => id)),
      all.items.map(({ id }) => id),
    )
    t.deepEqual(new Set(pages.map(({ total }) => total)), new Set([all.total]))
  })

  onBench('a list of an owner is selected, sorted and paged', async (t, { store }) => {
    const all = { provider: undefined, phase: undefined, text: undefined, order: 'name', isDescending: false } as const
    const [b, a, c] = [
      await inserted(store, { name: 'b', uid: 'u-b', displayName: 'Wind %', provider: 'EKS' }),
      await inserted(store, { name: 'a', uid: 'u-a', displayName: 'Sea', provider: 'GKE' }),
      await inserted(store, {
        name: 'c',
        uid: 'u-c',
        displayName: 'sail_1',
        provider: 'EKS',
        status: { phase: 'Lost', reason: undefined, message: '' },
      }),
    ]
    await inserted(store, { ownerId: otherOrg, name: 'wind' })
    const names = new Map([a, b, c].map(({ id, name }) => [id, name]))
    const listed = async (selection: Partial<ClusterSelection>, page = { page: 1, limit: 10 }) => {
      const found = await store.listSelected(org, { ...all, ...selection }, page)
      return [found.total, ...found.items.map(({ id }) => names.get(id))]
    }
    t.deepEqual(await listed({}), [3, 'a', 'b', 'c'])
    t.deepEqual(await listed({ isDescending: true }, { page: 2, limit: 2 }), [3, 'a'])
    t.deepEqual(await listed({ provider: 'EKS' }), [2, 'b', 'c'])
    t.deepEqual(await listed({ phase: 'Lost' }), [1, 'c'])
    t.deepEqual(await listed({ text: 'wInD' }), [1, 'b'])
    t.deepEqual(await listed({ text: '%' }), [1, 'b'])
    t.deepEqual(await listed({ text: 'l_1' }), [1, 'c'])
    t.deepEqual(await listed({ text: 'u-', order: 'provider', isDescending: true }), [3, 'a', 'b', 'c'])
    t.deepEqual(await listed({ text: 'nothing' }), [0])
  })

  onBench('records of all accounts are counted by phase', async (t, { store }) => {
    const before = await store.countByPhase()
    await inserted(store, { status: { phase: 'Lost', reason: undefined, message: '' } })
    t.deepEqual(await store.countByPhase(), { ...before, Lost: (before['Lost'] ?? 0) + 1 })
  })

  onBench('sealed credentials of all accounts are read by id, a part at a time', async (t, { store }) => {
    const mine = await inserted(store)
    await inserted(store, { name: 'b', uid: 'uid-2', sealedCredential: undefined })
    const theirs = await inserted(store, { ownerId: otherOrg, name: 'a' })
    const { ref, sealedCredential: box } = newCluster()
    const before = (mine.id - 1) as ClusterId
    const first = await store.sealedAfter(before, 1)
    t.deepEqual(
      first.map((record) => ({ ...record, box: Uint8Array.from(record.box) })),
      [{ id: mine.id, ownerId: org, ownerName: nameOf(org), name: mine.name, ref, box }],
    )
    t.deepEqual(
      (await store.sealedAfter(before, 10)).map(({ id }) => id),
      [mine.id, theirs.id],
    )
    t.deepEqual(await store.sealedAfter(theirs.id, 10), [])
  })

  onBench('a cluster reads back as it was inserted, by id, name and UID', async (t, { store }) => {
    const cluster = await inserted(store)
    const { ref: _ref, sealedCredential: _sealed, ...told } = newCluster()
    t.deepEqual(cluster, {
      ...told,
      id: cluster.id,
      ownerName: nameOf(org),
      ownerIsOrganization: true,
      hasCredential: true,
      hubClusterName: '',
      clusterSetName: '',
      version: 1,
    })
    t.deepEqual(await store.get(cluster.id), cluster)
    t.deepEqual(await store.find(org, 'prod'), cluster)
    t.deepEqual(await store.findByUid(org, 'uid-1'), cluster)
  })

  onBench('a name is taken within its owner, and free under another', async (t, { store }) => {
    await inserted(store)
    const again = await store.insert(newCluster({ uid: 'uid-2' }))
    t.true(isLeft(again) && again.left.tag === 'ClusterNameTaken')
    const twin = await inserted(store, { ownerId: otherOrg })
    t.is(twin.ownerName, nameOf(otherOrg))
    const own = await inserted(store, { ownerId: alice })
    t.is(own.ownerIsOrganization, false)
  })

  onBench('look-ups and lists stay within the owner', async (t, { store }) => {
    const mine = await inserted(store)
    const first = await inserted(store, { name: 'a-first', uid: 'uid-2', provider: 'Generic' })
    const foreign = await inserted(store, { ownerId: otherOrg, name: 'foreign', uid: 'uid-3' })
    t.is(await store.find(org, 'foreign'), undefined)
    t.is(await store.findByUid(org, 'uid-3'), undefined)
    t.deepEqual(
      (await store.listOf(org)).map(({ id }) => id),
      [first.id, mine.id],
    )
    t.deepEqual(
      (await store.listOf(otherOrg)).map(({ id }) => id),
      [foreign.id],
    )
    t.deepEqual(await store.listOf(999 as AccountId), [])
  })

  onBench('a spoke is found by its name on the hub, within the owner', async (t, { store }) => {
    const managed = { hubClusterUid: 'uid-hub', managedClusterName: 'reef' }
    const spoke = await inserted(store, { name: 'spoke', uid: 'uid-2', ...managed })
    await inserted(store, { name: 'another-hub', uid: 'uid-3', ...managed, hubClusterUid: 'uid-hub-2' })
    await inserted(store, { name: 'another-name', uid: 'uid-4', ...managed, managedClusterName: 'reef-2' })
    await inserted(store, { name: 'z-later', uid: 'uid-5', ...managed })
    const theirs = await inserted(store, { ownerId: otherOrg, name: 'theirs', ...managed })
    t.deepEqual(await store.findSpoke(org, 'uid-hub', 'reef'), spoke)
    t.deepEqual(await store.findSpoke(otherOrg, 'uid-hub', 'reef'), theirs)
    for (const [hubUid, name] of [
      ['uid-hub', 'Reef'],
      ['uid-hub', ''],
      ['', 'reef'],
      ['uid-3', 'reef'],
    ] as const)
      t.is(await store.findSpoke(org, hubUid, name), undefined)
  })

  onBench('the credential is given for exactly the version that was asked for', async (t, { store }) => {
    const cluster = await inserted(store)
    const sealed = await store.sealed(cluster.id, 1)
    t.deepEqual({ ...sealed, box: [...(sealed?.box ?? [])] }, { box: [0, 255, 1, 254], ref: 'ref-1', ownerId: org })
    t.is(await store.sealed(cluster.id, 2), undefined)
    t.is(await store.sealed(absent, 1), undefined)
    t.deepEqual(await store.link(cluster.id), {
      id: cluster.id,
      name: 'prod',
      ownerId: org,
      ownerName: nameOf(org),
      version: 1,
      impersonatesUsers: true,
    })
    t.is(await store.link(absent), undefined)
  })

  onBench('a change touches what it names, raises the version, and fails on a stale one', async (t, { store }) => {
    const cluster = await inserted(store)
    const twin = await inserted(store, { ownerId: otherOrg })
    const changed = await store.change(cluster.id, 1, {
      displayName: 'New',
      impersonatesUsers: false,
      sealed: { ref: 'ref-2', box: new Uint8Array([7]) },
    })
    t.true(isRight(changed))
    t.deepEqual(await store.get(cluster.id), { ...cluster, displayName: 'New', impersonatesUsers: false, version: 2 })
    t.is((await store.sealed(cluster.id, 2))?.ref, 'ref-2')
    const stale = await store.change(cluster.id, 1, { displayName: 'Lost' })
    t.true(isLeft(stale) && stale.left.tag === 'ClusterChanged')
    t.is((await store.get(cluster.id))?.displayName, 'New')
    t.deepEqual(await store.get(twin.id), twin)
    t.true(isLeft(await store.change(absent, 1, {})))
  })

  onBench(
    'the link of a record without a credential names its hub; a hub is found by UID within its owner, if it has a credential',
    async (t, { store }) => {
      const hub = await inserted(store, { name: 'hub', uid: 'uid-hub' })
      const bare = { sealedCredential: undefined, hubClusterUid: 'uid-hub', managedClusterName: 'reef' }
      const spoke = await inserted(store, { name: 'spoke', uid: 'uid-2', ...bare })
      const itself = await inserted(store, { name: 'itself', uid: 'uid-3', ...bare, hubClusterUid: 'uid-3' })
      const unnamed = await inserted(store, { name: 'unnamed', uid: 'uid-4', ...bare, managedClusterName: '' })
      const managed = { hubClusterUid: 'uid-hub', managedClusterName: 'reef' }
      const connected = await inserted(store, { name: 'connected', uid: 'uid-5', ...managed })
      t.deepEqual((await store.link(spoke.id))?.managedBy, { ...managed, isOwnHub: false })
      t.true((await store.link(itself.id))?.managedBy?.isOwnHub)
      for (const { id } of [unnamed, connected, hub]) t.is((await store.link(id))?.managedBy, undefined)
      t.deepEqual(await store.linkByUid(org, 'uid-hub'), await store.link(hub.id))
      t.is(await store.linkByUid(otherOrg, 'uid-hub'), undefined)
      t.is(await store.linkByUid(org, 'uid-2'), undefined)
    },
  )

  onBench('of changes of one version at the same time one succeeds', async (t, { store }) => {
    const cluster = await inserted(store)
    const outcomes = await Promise.all(
      ['a', 'b', 'c', 'd'].map((displayName) => store.change(cluster.id, 1, { displayName })),
    )
    t.is(outcomes.filter(isRight).length, 1)
    t.is((await store.get(cluster.id))?.version, 2)
  })

  onBench('what was seen is kept without a new version', async (t, { store }) => {
    const cluster = await inserted(store)
    const lost = { phase: 'Lost', reason: 'ClusterNotFound', message: 'x'.repeat(3000) } as const
    await store.observe(cluster.id, lost, undefined, later)
    t.deepEqual(await store.get(cluster.id), {
      ...cluster,
      status: { ...lost, message: 'x'.repeat(1000) },
      checkedAt: later,
    })
    const facts = {
      uid: 'uid-1',
      provider: 'GKE',
      location: '',
      project: '',
      kubernetesVersion: 'v1.35.0',
      nodeCount: 9,
      managers: ['OCMSpoke'],
      isReady: true,
    } as const
    const active = { phase: 'Active', reason: undefined, message: '' } as const
    await store.observe(cluster.id, active, facts, later)
    t.deepEqual(await store.get(cluster.id), {
      ...cluster,
      status: active,
      checkedAt: later,
      kubernetesVersion: 'v1.35.0',
      nodeCount: 9,
      managers: ['OCMSpoke'],
    })
    await t.notThrowsAsync(store.observe(absent, active, facts, later))
  })

  onBench(
    'the cluster set is that in which the hub of the cluster has it, and keeps the version',
    async (t, { store }) => {
      const cluster = await inserted(store)
      t.is(cluster.clusterSetName, '')
      await store.observeSet(cluster.id, 'edge')
      t.is((await store.get(cluster.id))?.clusterSetName, '')
      const managed = {
        ...cluster,
        version: 2,
        hubClusterUid: 'uid-of-a-hub',
        managedClusterName: 'wharf',
        clusterSetName: 'edge',
      }
      t.deepEqual(
        await store.change(cluster.id, 1, { hubClusterUid: 'uid-of-a-hub', managedClusterName: 'wharf' }),
        right(managed),
      )
      await store.observeSet(cluster.id, '')
      t.deepEqual(await store.get(cluster.id), { ...managed, clusterSetName: '' })
      await t.notThrowsAsync(store.observeSet(absent, 'edge'))
    },
  )

  onBench('a removed cluster is gone, its twin is not', async (t, { store }) => {
    const cluster = await inserted(store)
    const twin = await inserted(store, { ownerId: otherOrg })
    t.true(await store.remove(cluster.id))
    t.false(await store.remove(cluster.id))
    t.is(await store.get(cluster.id), undefined)
    t.is(await store.link(cluster.id), undefined)
    t.deepEqual(await store.get(twin.id), twin)
    t.true(isRight(await store.insert(newCluster())))
  })

  onBench('the accounts of a user are the own one and the organizations with membership', async (t, { store }) => {
    const idsOf = async (userId: UserId): Promise<number[]> =>
      (await store.accountsOf(userId)).map(({ id }) => id).sort((a, b) => a - b)
    t.deepEqual(await idsOf(alice), [1, 11, 13])
    t.deepEqual(await idsOf(bob), [2, 11, 12, 13])
    t.deepEqual(await idsOf(carol), [3])
  })

  onBench(
    'direct grants count for members, by themselves and by their teams, in that organization only',
    async (t, { store }) => {
      const granted = async (userId: UserId, relations = ['viewer', 'owner']): Promise<number[]> =>
        (await store.listGranted(userId, relations)).map(({ id }) => Number(id)).sort()
      // Stored with the fixture: cluster 501 is granted to Bob, 502 to a team of Alice and Carol.
      t.deepEqual(await granted(bob), [501])
      t.deepEqual(await granted(bob, ['editor']), [])
      t.deepEqual(await granted(alice), [502])
      t.deepEqual(await granted(carol), [])
    },
  )
})
