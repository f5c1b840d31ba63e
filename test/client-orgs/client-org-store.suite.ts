import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import type { ClientOrgChanges } from '../../core/client-orgs/ports.ts'
import type {
  ClientClusterId,
  ClientOrgId,
  MemberAccountId,
  NewClientCluster,
  NewClientOrg,
} from '../../core/client-orgs/types.ts'
import { accountLayout } from '../../core/client-orgs/types.ts'
import type { AccountId, OrgId, UserId } from '../../core/kernel/ids.ts'

/** A store of its own for each case, without rows. */
export interface ClientOrgStoreBench {
  readonly store: ClientOrgChanges
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')

/** @internal */
export const newClientOrg: Omit<NewClientOrg, 'name'> = {
  orgId: 40 as OrgId,
  vendorId: 7 as AccountId,
  adminId: 9 as UserId,
  isShared: true,
  settling: '',
  createdAt: at,
}

/** @internal */
export const newClientCluster: Omit<NewClientCluster, 'clientOrgId' | 'name'> = {
  uid: 'uid-1',
  hubOwnerId: 7 as AccountId,
  hubUid: 'hub-1',
  gatewayOfId: undefined,
  plan: { annotations: { a: 'b' }, useGateway: true, grants: [], importsCluster: true },
}

const withCluster = async (store: ClientOrgChanges, name: string, changes: Partial<NewClientCluster> = {}) => {
  const id = await store.insert({ ...newClientOrg, orgId: name.length as OrgId, name })
  await store.insertCluster({ ...newClientCluster, clientOrgId: id, name: 'shop', ...changes })
  const [cluster] = await store.clustersOf(id)
  if (cluster === undefined) throw new Error('The cluster does not exist.')
  return { id, cluster }
}

const about: SuiteAbout = {
  name: 'client-org-store',
  ports: ['ClientOrgStore', 'ClientOrgChanges'],
  needs: 'A store without rows.',
}

export const clientOrgStoreSuite = contractSuite<ClientOrgStoreBench>(about, (test) => {
  test('a client organization is found by name and by organization, and locked', async (t, { store }) => {
    const id = await store.insert({ ...newClientOrg, name: 'acme' })
    const expected = { ...newClientOrg, id, name: 'acme', state: 'Live' as const }
    t.deepEqual(await store.find('acme'), expected)
    t.deepEqual(await store.findByOrg(newClientOrg.orgId), expected)
    t.deepEqual(await store.lock(id), expected)
    t.is(await store.find('Acme'), undefined)
    t.is(await store.lock((id + 1) as ClientOrgId), undefined)
    await store.setSettling(id, 'a lock')
    t.is((await store.find('acme'))?.settling, 'a lock')
  })

  test('a name is free again once its client organization is deleted, and not before', async (t, { store }) => {
    const { id } = await withCluster(store, 'acme')
    await store.setState(id, 'Deleting')
    await t.throwsAsync(store.insert({ ...newClientOrg, name: 'acme' }))
    await store.setState(id, 'Deleted')
    t.is((await store.find('acme'))?.state, 'Deleted')
    const again = await store.insert({ ...newClientOrg, name: 'acme' })
    t.not(again, id)
    t.deepEqual(await store.clustersOf(again), [])
    t.deepEqual(await store.clustersOf(id), [])
  })

  test('the state of a cluster is moved only from the version that was read', async (t, { store }) => {
    const { id, cluster } = await withCluster(store, 'acme')
    t.like(cluster, { ...newClientCluster, state: 'Provisioning', message: '', version: 1 })
    t.true(await store.moveCluster(cluster, 'Failed', 'why'))
    t.false(await store.moveCluster(cluster, 'Active', ''))
    t.like((await store.clustersOf(id))[0], { state: 'Failed', message: 'why', version: 2 })
    await store.setClusterState(cluster.id, 'Deleting', '')
    t.like((await store.clustersOf(id))[0], { state: 'Deleting', message: '', version: 3 })
    await store.replanCluster(cluster.id, { ...newClientCluster, clientOrgId: id, name: 'shop', uid: 'uid-2' })
    t.like((await store.clustersOf(id))[0], { state: 'Provisioning', uid: 'uid-2', version: 4 })
  })

  test('a namespace belongs to the client organization that has it on that cluster', async (t, { store }) => {
    const { id, cluster } = await withCluster(store, 'acme')
    const plan = { ...newClientCluster.plan, useGateway: false }
    await withCluster(store, 'globex', { plan })
    for (const namespace of ['acme', 'acme-gw', 'acme-monitoring'])
      t.is((await store.ofNamespace('uid-1', namespace))?.id, id, namespace)
    t.is(await store.ofNamespace('uid-2', 'acme'), undefined)
    t.is(await store.ofNamespace('uid-1', 'acme-other'), undefined)
    t.is((await store.ofNamespace('uid-1', 'globex-monitoring'))?.name, 'globex')
    t.is(await store.ofNamespace('uid-1', 'globex-gw'), undefined, 'it has no gateway')
    await store.setClusterState(cluster.id, 'Deleted', '')
    t.is(await store.ofNamespace('uid-1', 'acme'), undefined)
  })

  test('current users of a gateway are listed once', async (t, { store }) => {
    const { id } = await withCluster(store, 'acme')
    const user = await withCluster(store, 'globex', { gatewayOfId: id })
    await store.insertCluster({ ...newClientCluster, clientOrgId: user.id, name: 'shop-2', gatewayOfId: id })
    t.deepEqual(await store.gatewayUsers(id, 10), ['globex'])
    for (const cluster of await store.clustersOf(user.id)) await store.setClusterState(cluster.id, 'Deleted', '')
    t.deepEqual(await store.gatewayUsers(id, 10), [])
    t.deepEqual(await store.gatewayUsers(user.id, 10), [])
  })

  test("objects of a cluster are found by its UID, its hub's UID and its name", async (t, { store }) => {
    const owner = newClientCluster.hubOwnerId
    const { cluster } = await withCluster(store, 'acme')
    await withCluster(store, 'globex')
    t.deepEqual(await store.clientsOfCluster(owner, 'uid-1', 10), ['acme', 'globex'])
    t.deepEqual(await store.clientsOfCluster(owner, 'hub-1', 10), ['acme', 'globex'])
    t.deepEqual(await store.clientsOfCluster(owner, 'uid-1', 1), ['acme'])
    t.deepEqual(await store.clientsOfCluster(owner, 'uid-2', 10), [])
    t.deepEqual(await store.clientsOfCluster(8 as AccountId, 'uid-1', 10), [], 'the record of another account')
    t.deepEqual(await store.clientsOfSpoke(owner, 'hub-1', 'shop', 10), ['acme', 'globex'])
    t.deepEqual(await store.clientsOfSpoke(owner, 'hub-1', 'other', 10), [])
    await store.setClusterState(cluster.id, 'Abandoned', 'why')
    t.deepEqual(await store.clientsOfCluster(owner, 'uid-1', 10), ['globex'])
  })

  test('an account is recorded once, found while the cluster is used, and removed', async (t, { store }) => {
    const { id, cluster } = await withCluster(store, 'acme')
    const [orgId, user] = ['acme'.length as OrgId, 9 as UserId]
    t.deepEqual(await store.findAccess(orgId, 'uid-1', user), { clusterId: cluster.id, accountId: undefined })
    await store.addAccount(cluster.id, user)
    await store.addAccount(cluster.id, user)
    const access = await store.findAccess(orgId, 'uid-1', user)
    t.is(access?.clusterId, cluster.id)
    t.not(access?.accountId, undefined)
    t.deepEqual(await store.findAccess(orgId, 'uid-1', undefined), { clusterId: cluster.id, accountId: undefined })
    t.is(await store.findAccess(orgId, 'uid-2', user), undefined)
    t.is(await store.findAccess(99 as OrgId, 'uid-1', user), undefined)
    t.deepEqual(await store.accountsOf(cluster.id), [user])
    t.like(await store.findCluster(cluster.id), { clientOrg: { id, name: 'acme' }, cluster: { id: cluster.id } })
    // The store has no such user: the account must not exist any more.
    const [stray, ...others] = await store.strayAccounts(0 as MemberAccountId, 10)
    t.deepEqual(stray, { id: access!.accountId!, clusterId: cluster.id, userId: user })
    t.deepEqual(others, [])
    t.deepEqual(await store.strayAccounts(stray!.id, 10), [])
    await store.removeAccount(stray!.id)
    t.deepEqual(await store.accountsOf(cluster.id), [])
    await store.setClusterState(cluster.id, 'Deleting', '')
    t.is(await store.findAccess(orgId, 'uid-1', user), undefined)
  })

  test('a cluster of an earlier account layout is listed until it has the present one', async (t, { store }) => {
    const { cluster } = await withCluster(store, 'acme')
    await store.setClusterState(cluster.id, 'Active', '')
    const listed = () => store.clustersToRenew(0 as ClientClusterId, 10)
    t.deepEqual(await listed(), [], 'a new cluster has the present one')
    await store.setAccountLayout(cluster.id, 1)
    t.like(await listed(), [{ clientOrg: { name: 'acme' }, cluster: { id: cluster.id, accountLayout: 1 } }])
    t.deepEqual(await store.clustersToRenew(cluster.id, 10), [])
    await store.setAccountLayout(cluster.id, accountLayout)
    t.deepEqual(await listed(), [])
  })
})
