// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import { ClusterConnectionsPort, ClusterStorePort, CredentialSealerPort } from '../../core/clusters/ports.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { accounts, configMaps, managedClusterSets, namespaces } from '../support/hub/api/kinds.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { managedClusters } from '../support/hub/api/kinds.ts'
import { unwrap } from '../support/outcome.ts'
import { until } from '../support/until.ts'
import { eventsOf, type SeenTask } from '../tasks/task-client.ts'
import { startClientFixture, type ClientFixture } from './client-fixture.ts'

/** Clusters of client organizations: what is added, removed, refused, referred to and continued. */
const test = needing('kubernetes', 'spoke-kubernetes')

let fixture: ClientFixture
/** A second spoke, on the API server of the hub. */
let second: string
/** A spoke on the API server of the first, whose record the vendor removes. */
let third: string
/** A spoke there too, which leaves its hub. */
let fourth: string

test.before(async () => {
  fixture = await startClientFixture()
  second = await fixture.moreSpoke((await kubernetes())!)
  third = await fixture.moreSpoke(fixture.spokeServer)
  fourth = await fixture.moreSpoke(fixture.spokeServer)
})
test.after.always(() => fixture?.stop())

const add = (name: string, cluster: string, changes?: object) =>
  fixture.send('POST', `client/${name}/add-cluster`, fixture.cluster(cluster, changes))
const remove = (name: string, cluster: string, changes?: object) =>
  fixture.send('POST', `client/${name}/delete-cluster`, fixture.cluster(cluster, changes))
const succeeded = async (name: string) => {
  const task = await fixture.settled(name)
  if (task.state !== 'succeeded') throw new Error(JSON.stringify(task))
  return task
}
const created = (name: string, changes?: object) => fixture.created(name, changes)
const gone = (answer: { readonly status: number; readonly json: unknown; readonly text: string }) =>
  [answer.status, (answer.json as { readonly code: string }).code] as const

test('clusters are added and removed, and the overall status follows them', async (t) => {
  const name = fixture.name('umbrella')
  const id = await created(name)
  const added = await add(name, second, { useGateway: true })
  t.is(added.status, 200, added.text)
  await succeeded(name)
  t.deepEqual(await fixture.namespacesOf(name, fixture.hub.client), [name, `${name}-gw`, `${name}-monitoring`])
  t.is(await fixture.status(name), 'Active')
  t.deepEqual(gone(await add(name, second)), [400, 'ClientOrgInvalid'])
  t.deepEqual(gone(await add(name, fixture.spoke)), [400, 'ClientOrgInvalid'])
  const admin = await fixture.service.tokenFor(`admin-of-${name}`)
  const records = async () =>
    (
      (await expectStatus(fixture.service.send('GET', `/api/v1/clustersv2/${name}`, { token: admin }), 200))
        .json as readonly { readonly name: string }[]
    ).map((each) => each.name)
  t.deepEqual((await records()).sort(), [fixture.spoke, second].sort())

  await expectStatus(remove(name, second), 200)
  await succeeded(name)
  t.deepEqual(await fixture.namespacesOf(name, fixture.hub.client), [])
  t.deepEqual(await records(), [fixture.spoke])
  t.is(await fixture.status(name, second), 'Deleted')
  t.is(await fixture.status(name, fixture.spoke), 'Active')
  t.is(await fixture.status(name), 'Partially Deleted')
  const all = (await fixture.hub.client.list(accounts)).items
  t.true(all.some(({ metadata }) => metadata.labels?.['authentication.k8s.appscode.com/hub-owner'] === String(id)))
  t.is((await remove(name, second)).status, 200, 'again')
  await expectStatus(add(name, second), 200)
  await succeeded(name)
  t.is(await fixture.status(name), 'Active')
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(name)
  t.deepEqual(await fixture.namespacesOf(name), [])
  t.deepEqual(await fixture.namespacesOf(name, fixture.hub.client), [])
})

test('a deletion during the creation leaves nothing, and the name is free again', async (t) => {
  const name = fixture.name('hooli')
  for (let round = 0; round < 3; round += 1) {
    await expectStatus(
      fixture.send('POST', 'client/create', fixture.creating(name, { userPermission: ofAdmin(name) })),
      200,
    )
    const id = await fixture.orgId(name)
    const deleting = await Promise.all([
      fixture.send('DELETE', `client/delete/${id}`),
      fixture.send('DELETE', `client/delete/${id}`),
    ])
    for (const { status } of deleting) t.true([200, 404].includes(status), String(status))
    await succeeded(name)
    t.is(await fixture.status(name), 'Deleted')
    t.is(await fixture.status(name, fixture.spoke), 'Deleted')
    t.deepEqual(await fixture.namespacesOf(name), [])
    t.is((await fixture.send('GET', `client/${id}`)).status, 404)
  }
})

const ofAdmin = (name: string, changes: object = {}) => ({
  userName: `admin-of-${name}`,
  email: `admin-of-${name}@example.com`,
  permissions: [{ name: fixture.spoke }],
  ...changes,
})

test('the name stays taken until the namespaces of a deletion are gone', async (t) => {
  const name = fixture.name('vandelay')
  const id = await created(name)
  // A finalizer keeps the namespace, as a controller of the cluster would.
  await fixture.hub.spoke.create(configMaps, {
    metadata: { name: 'held', namespace: name, finalizers: ['example.com/held'] },
    data: {},
  })
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await until('the other namespaces to be gone', async () =>
    (await fixture.namespacesOf(name)).length === 1 ? true : undefined,
  )
  t.is(await fixture.status(name), 'Deleting')
  t.is((await fixture.hub.spoke.get(namespaces, name))?.metadata.labels?.['ace.appscode.com/client-org'], 'terminating')
  t.deepEqual(gone(await fixture.send('POST', 'client/create', fixture.creating(name))), [409, 'ClientOrgExists'])
  t.deepEqual(gone(await add(name, second)), [400, 'ClientOrgInvalid'])
  t.is((await fixture.send('DELETE', `client/delete/${id}`)).status, 200, 'again')
  t.is((await fixture.tasks(name)).length, 2, 'the unfinished task is joined')
  await fixture.hub.spoke.patch(
    configMaps,
    { metadata: { name: 'held', namespace: name } },
    { metadata: { finalizers: null } },
  )
  await succeeded(name)
  t.is(await fixture.status(name), 'Deleted')
})

test('a foreign namespace stays, the cluster fails, and a repetition continues', async (t) => {
  const name = fixture.name('soylent')
  await created(name, { userPermission: ofAdmin(name, { permissions: [] }) })
  t.is(await fixture.status(name), 'Active')
  await fixture.hub.spoke.create(namespaces, { metadata: { name: `${name}-monitoring` } })
  await expectStatus(add(name, fixture.spoke), 200)
  const failed = await fixture.settled(name)
  t.is(failed.state, 'failed')
  t.regex(failed.error ?? '', /not of this client organization/)
  t.is(
    (await fixture.hub.spoke.get(namespaces, `${name}-monitoring`))?.metadata.labels?.['app.kubernetes.io/managed-by'],
    undefined,
  )
  t.is(await fixture.status(name), 'Active')
  await fixture.hub.spoke.remove(namespaces, { metadata: { name: `${name}-monitoring` } })
  await until('it to be gone', async () =>
    (await fixture.hub.spoke.get(namespaces, `${name}-monitoring`)) === undefined ? true : undefined,
  )
  await expectStatus(add(name, fixture.spoke), 200)
  await succeeded(name)
  t.is((await fixture.namespacesOf(name)).length, 2, 'it has no gateway')
  const events = await eventsOf(fixture.service, fixture.service.adminToken, failed.id)
  t.true(events.some(({ step }) => step === `${fixture.spoke}: Create the namespaces`))
})

test('a shared gateway keeps its client organization', async (t) => {
  const [shared, user, private_] = [fixture.name('shared'), fixture.name('user'), fixture.name('private')]
  const id = await created(shared, { usableAsShared: true })
  await created(private_)
  const refusal = await fixture.send(
    'POST',
    'client/create',
    fixture.creating(user, { gatewayConfigRef: { name: 'g', namespace: `${private_}-gw` } }),
  )
  t.deepEqual(gone(refusal), [400, 'ClientOrgInvalid'])
  t.is(
    (await fixture.service.send('GET', `/api/v1/users/admin-of-${user}`, { token: fixture.service.adminToken })).status,
    404,
  )
  const userId = await created(user, { gatewayConfigRef: { name: 'g', namespace: `${shared}-gw` } })
  const kept = await fixture.send('DELETE', `client/delete/${id}`)
  t.deepEqual(gone(kept), [400, 'ClientOrgInUse'])
  t.regex(kept.text, new RegExp(user))
  t.is(await fixture.status(shared), 'Active')
  await expectStatus(fixture.send('DELETE', `client/delete/${userId}`), 200)
  await succeeded(user)
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(shared)
  const vendors = fixture.name('vendors')
  await created(vendors, { gatewayConfigRef: { name: 'g', namespace: 'gateways' } })
  t.is(
    (await fixture.hub.spoke.get(configMaps, 'client-gateway', `${vendors}-gw`))?.data?.['reference.json'],
    '{"name":"g","namespace":"gateways"}',
  )
})

test('a cluster set gives each of its accepted clusters', async (t) => {
  const [name, set] = [fixture.name('sets'), fixture.name('set')]
  await fixture.hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  const empty = ofAdmin(name, { permissions: [{ name: set, isClusterSet: true }] })
  t.deepEqual(gone(await fixture.send('POST', 'client/create', fixture.creating(name, { userPermission: empty }))), [
    422,
    'ClientOrgRefused',
  ])
  for (const each of [fixture.spoke, second])
    await fixture.hub.client.patch(
      managedClusters,
      { metadata: { name: each } },
      { metadata: { labels: { [clusterSetLabel]: set } } },
    )
  const id = await created(name, { userPermission: { ...empty, userName: `set-admin-${name}` } })
  t.is((await fixture.namespacesOf(name)).length, 3)
  t.is((await fixture.namespacesOf(name, fixture.hub.client)).length, 3)
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(name)
})

test('an organization that owns another object cannot be deleted or renamed', async (t) => {
  const name = fixture.name('tyrell')
  const id = await created(name)
  const store = fixture.service.running.container.resolve(ClusterStorePort)
  const record = (await store.find(id as OrgId, fixture.spoke))!
  const own = await store.insert({
    ...record,
    name: 'own',
    uid: randomUUID(),
    ref: '',
    sealedCredential: undefined,
  })
  const kept = await fixture.send('DELETE', `client/delete/${id}`)
  t.deepEqual(gone(kept), [400, 'ClientOrgInUse'])
  t.regex(kept.text, /cluster own/)
  if (own._tag === 'Right') await store.remove(own.right.id)
  const admin = { token: await fixture.service.tokenFor(`admin-of-${name}`) }
  t.is((await fixture.service.send('DELETE', `/api/v1/orgs/${name}`, admin)).status, 409)
  t.is(
    (await fixture.service.send('POST', `/api/v1/orgs/${name}/rename`, { ...admin, body: { new_name: 'other' } }))
      .status,
    422,
  )
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(name)
  t.is(await store.find(id as OrgId, fixture.spoke), undefined)
})

/** Removes the vendor's record of a cluster, as a release could that did not ask who uses it. Returns what restores it. */
const loseRecord = async (cluster: string) => {
  const { container } = fixture.service.running
  const [store, vendorId] = [container.resolve(ClusterStorePort), (await fixture.orgId(fixture.org)) as OrgId]
  const record = (await store.find(vendorId, cluster))!
  const opened = unwrap(await container.resolve(ClusterConnectionsPort).open(record.id))
  await store.remove(record.id)
  return async () => {
    const { ref, box } = await container.resolve(CredentialSealerPort)(vendorId, opened.credential)
    unwrap(await store.insert({ ...record, ref, sealedCredential: box }))
  }
}
const reportOf = async (name: string) =>
  (await expectStatus(fixture.send('GET', `client/${name}/status`), 200)).json as {
    readonly status: string
    readonly clusters: readonly {
      readonly status: string
      readonly remains: readonly string[]
      readonly message: string
    }[]
  }

test('a removal from an unreachable cluster needs force and names leftovers', async (t) => {
  const name = fixture.name('weyland')
  const id = await created(name, { userPermission: ofAdmin(name, { permissions: [{ name: third }] }) })
  const restore = await loseRecord(third)
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  const failed = await fixture.settled(name)
  t.is(failed.state, 'failed')
  t.regex(failed.error ?? '', /has no record of .* remains: namespaces, rights and accounts/)
  t.is(await fixture.status(name), 'Deleting')
  t.is((await fixture.send('GET', `client/${id}`)).status, 200, 'it is listed as long as it exists')
  t.is((await fixture.namespacesOf(name)).length, 3)

  await expectStatus(remove(name, third, { force: true }), 200)
  const given = await fixture.settled(name)
  t.is(given.state, 'failed')
  t.regex(given.error ?? '', new RegExp(`Given up: ${third}`))
  t.is(await fixture.status(name), 'Partially Deleted')
  t.regex((await reportOf(name)).clusters[0]!.message, /not known what remains/)
  t.is((await fixture.send('GET', `client/${id}`)).status, 404)
  t.deepEqual(gone(await fixture.send('POST', 'client/create', fixture.creating(name))), [409, 'ClientOrgExists'])

  await restore()
  const { remains } = (await reportOf(name)).clusters[0]!
  t.deepEqual([...remains].sort(), [
    ...[name, `${name}-gw`, `${name}-monitoring`].map((each) => `Namespace ${each}`),
    `ServiceAccount moorage-clients/${name}`,
  ])
  await expectStatus(remove(name, third), 200)
  await succeeded(name)
  t.deepEqual(await fixture.namespacesOf(name), [])
  t.is(await fixture.status(name), 'Deleted')
})

test('force gives up nothing that a removal has not failed to remove', async (t) => {
  const name = fixture.name('virtucon')
  const id = await created(name)
  t.deepEqual(gone(await remove(name, fixture.spoke, { force: true })), [422, 'ClientOrgRefused'])
  t.is(await fixture.status(name), 'Active')
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(name)
})

test('a cluster with clients stays on its hub', async (t) => {
  const name = fixture.name('oscorp')
  const id = await created(name, { userPermission: ofAdmin(name, { permissions: [{ name: fourth }] }) })
  const [hub, { token }] = [`/api/v1/clusters/${fixture.org}/hub`, fixture.vendor]
  const vendor = (method: string, path: string, body?: object) =>
    fixture.service.send(method, path, { token, ...(body === undefined ? {} : { body }) })
  const kept = [
    await vendor('POST', `${hub}/remove-managed-cluster`, { clusterName: fourth }),
    await vendor('POST', `/api/v1/clustersv2/${fixture.org}/${fourth}/remove`, { name: fourth }),
    await vendor('POST', `/api/v1/clustersv2/${fixture.org}/${fourth}/remove`, {
      components: { spokeComponent: true },
    }),
    await vendor('DELETE', `/api/v1/clusters/${fixture.org}/${fourth}`),
    await vendor('DELETE', hub),
  ]
  for (const answer of kept) {
    t.deepEqual(gone(answer), [409, 'ClusterInUse'])
    t.regex(answer.text, new RegExp(name))
  }
  await expectStatus(vendor('POST', `${hub}/remove-managed-cluster`, { clusterName: fourth, force: true }), 200)
  const tasks = async () =>
    (await expectStatus(vendor('GET', `/api/v1/tasks?account=${fixture.org}&kind=spokes.remove`), 200))
      .json as readonly SeenTask[]
  const ended = await until('the end of the removal', async () =>
    (await tasks()).find(({ state }) => state !== 'queued' && state !== 'running'),
  )
  t.is(ended.state, 'succeeded', JSON.stringify(ended))
  t.is(await fixture.hub.client.get(managedClusters, fourth), undefined)
  t.is(await fixture.status(name), 'Active')
  t.is((await fixture.namespacesOf(name)).length, 3)
  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  await succeeded(name)
  t.deepEqual(await fixture.namespacesOf(name), [])
  t.is(await fixture.status(name), 'Deleted')
})
