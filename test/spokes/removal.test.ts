// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import { needing } from '../support/components/needing.ts'
import {
  managedClusterAddOns,
  managedClusters,
  managedClusterSets,
  manifestWorks,
  namespaces,
  signingRequests,
} from '../support/hub/api/kinds.ts'
import { cleanupPriorityAnnotation, clusterNameLabel, clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { until } from '../support/until.ts'
import { eventsOf } from '../tasks/task-client.ts'
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { startLifeFixture, type LifeFixture } from './life-fixture.ts'

/** The removal of spokes, with the controllers and agents of the test hub. */
const test = needing('kubernetes')

let fixture: LifeFixture

test.before(async () => {
  fixture = await startLifeFixture({ imports: false })
})
test.after.always(() => fixture?.stop())

const remove = (clusterName: string, more: object = {}) =>
  fixture.post('remove-managed-cluster', { clusterName, ...more })
const ended = (name: string) => fixture.ended('spokes.remove', name)
const workOf = (namespace: string, name: string, priority?: string) => ({
  metadata: {
    name,
    namespace,
    ...(priority === undefined ? {} : { annotations: { [cleanupPriorityAnnotation]: priority } }),
  },
  spec: {
    workload: {
      manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: {} }],
    },
  },
})
const worksOf = async (namespace: string): Promise<readonly string[]> =>
  (await fixture.hub.client.list(manifestWorks, { namespace })).items.map(({ metadata }) => metadata.name)

test('a spoke with works and an add-on is removed once', async (t) => {
  const { name } = await fixture.joined()
  await fixture.hub.client.create(manifestWorks, workOf(name, 'late', '50'))
  await fixture.hub.client.create(manifestWorks, workOf(name, 'early'))
  const addOn = { metadata: { name: 'hello', namespace: name }, spec: {} }
  await fixture.hub.client.create(managedClusterAddOns, addOn)
  await until('the agent to hold the works', async () =>
    (await fixture.hub.client.list(manifestWorks, { namespace: name })).items.every(
      ({ metadata }) => (metadata.finalizers ?? []).length > 0,
    )
      ? true
      : undefined,
  )
  const answers = await Promise.all([1, 2, 3].map(() => remove(name)))
  t.deepEqual(
    answers.map(({ status, text }) => [status, text]),
    [
      [200, ''],
      [200, ''],
      [200, ''],
    ],
  )
  const task = await ended(name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  t.is(await fixture.managed(name), undefined)
  t.deepEqual(await worksOf(name), [])
  const steps = (await eventsOf(fixture.service, fixture.owner.token, task.id)).flatMap(({ step }) => step ?? [])
  t.deepEqual(steps.slice(2), [
    'Free the cluster from sets and bindings',
    'Remove the add-ons',
    'Remove the works',
    'Remove the agents from the cluster',
    'Remove the cluster from the hub',
    'Update the records',
  ])
  await expectStatus(remove(name), 200)
  t.is((await fixture.task('spokes.remove', name)).id, task.id)
  t.true((await fixture.actions()).includes('cluster.spoke_removed'))
})

test('an unaccepted spoke is removed with its requests', async (t) => {
  const name = fixture.hub.name()
  const agent = await fixture.hub.agent(name, { registersAgain: false })
  const requests = async () =>
    (await fixture.hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })).items.map(
      ({ metadata }) => metadata.uid,
    )
  const before = await until('a request', async () =>
    ((found) => (found.length > 0 ? found : undefined))(await requests()),
  )
  await agent.stop()
  await expectStatus(remove(name), 200)
  t.is((await ended(name)).state, 'succeeded')
  t.is(await fixture.managed(name), undefined)
  t.false((await requests()).some((uid) => before.includes(uid)))
})

test('a removal waits for works of a dead agent until cancel or force', async (t) => {
  const { name, agent } = await fixture.joined()
  await fixture.hub.client.create(manifestWorks, workOf(name, 'held'))
  await until('the agent to hold the work', async () =>
    (await fixture.hub.client.get(manifestWorks, 'held', name))?.metadata.finalizers?.length ? true : undefined,
  )
  await agent.stop()
  await expectStatus(remove(name), 200)
  await until('the work to be deleted', async () =>
    (await fixture.hub.client.get(manifestWorks, 'held', name))?.metadata.deletionTimestamp === undefined
      ? undefined
      : true,
  )
  const waiting = await fixture.task('spokes.remove', name)
  const forcedTooEarly = await remove(name, { force: true })
  t.is(forcedTooEarly.status, 409, 'force does not disappear in the task that runs without it')
  t.true(forcedTooEarly.text.includes(waiting.id), forcedTooEarly.text)
  await expectStatus(remove(name), 200)
  const said = await until('the reason for the wait', async () =>
    (await eventsOf(fixture.service, fixture.owner.token, waiting.id)).find(({ msg }) => msg.startsWith('Waits. ')),
  )
  t.regex(said.msg, /1 work remains: held\. The agent/)
  t.is(waiting.state, 'running')
  t.is(
    (await fixture.managed(name))?.metadata.deletionTimestamp,
    undefined,
    'the ManagedCluster is not deleted before its works',
  )
  await expectStatus(
    fixture.service.send('POST', `/api/v1/tasks/${waiting.id}/cancel`, { token: fixture.owner.token }),
    202,
  )
  const cancelled = await ended(name)
  t.is(cancelled.state, 'cancelled')
  t.regex(
    cancelled.message,
    /^Stopped in "Remove the works"\. The hub still has the cluster, in no cluster set, with 1 work, being deleted\. .* The same request continues\.$/,
  )
  await expectStatus(remove(name, { force: true }), 200)
  await expectStatus(remove(name, { force: true }), 200)
  const forced = await until('the second task', async () =>
    ((found) => (found.id === cancelled.id ? undefined : found))(await fixture.task('spokes.remove', name)),
  )
  const done = await until('its end', async () =>
    ((found) => (found.id === forced.id ? found : undefined))(await ended(name)),
  )
  t.is(done.state, 'succeeded', JSON.stringify(done))
  t.deepEqual(await worksOf(name), [])
})

test('a cancelled removal is in the record of the spoke, until it is continued', async (t) => {
  const { name, agent } = await fixture.joined({ claims: { 'id.k8s.io': randomUUID() } })
  const set = fixture.hub.name()
  await fixture.hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  await fixture.hub.client.patch(
    managedClusters,
    { metadata: { name } },
    { metadata: { labels: { [clusterSetLabel]: set } } },
  )
  await expectStatus(fixture.post('import-spoke', { basicInfo: { name } }), 200)
  t.is((await fixture.ended('spokes.import', name)).state, 'succeeded')
  await fixture.hub.client.create(manifestWorks, workOf(name, 'held'))
  await until('the agent to hold the work', async () =>
    (await fixture.hub.client.get(manifestWorks, 'held', name))?.metadata.finalizers?.length ? true : undefined,
  )
  await agent.stop()
  await expectStatus(remove(name), 200)
  await until('the work to be deleted', async () =>
    (await fixture.hub.client.get(manifestWorks, 'held', name))?.metadata.deletionTimestamp === undefined
      ? undefined
      : true,
  )
  const shown = async () =>
    (
      await expectStatus(
        fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
        200,
      )
    ).json as { status: { message: string }; clusterSetName: string }
  await expectStatus(
    fixture.service.send('POST', `/api/v1/tasks/${(await fixture.task('spokes.remove', name)).id}/cancel`, {
      token: fixture.owner.token,
    }),
    202,
  )
  t.is((await ended(name)).state, 'cancelled')
  t.regex(
    (await shown()).status.message,
    /^The removal from the hub was cancelled\. Stopped in "Remove the works"\. The hub still has the cluster/,
  )
  t.falsy((await shown()).clusterSetName, 'the set that the cluster has left')
  await fixture.hub.client.patch(
    manifestWorks,
    { metadata: { name: 'held', namespace: name } },
    { metadata: { finalizers: null } },
  )
})

test('force leaves a live agent time to remove its objects', async (t) => {
  const { name } = await fixture.joined()
  await fixture.hub.client.create(manifestWorks, workOf(name, 'applied'))
  await until('the agent to hold the work', async () =>
    (await fixture.hub.client.get(manifestWorks, 'applied', name))?.metadata.finalizers?.length ? true : undefined,
  )
  await expectStatus(remove(name, { force: true }), 200)
  const task = await ended(name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  const texts = (await eventsOf(fixture.service, fixture.owner.token, task.id)).map(({ msg }) => msg)
  t.true(
    texts.some((text) => text.includes('1 work removed')),
    JSON.stringify(texts),
  )
  t.false(texts.some((text) => text.includes('given up')))
})

test('the spoke leaves its cluster set first', async (t) => {
  const { name } = await fixture.joined()
  await fixture.hub.client.patch(
    managedClusters,
    { metadata: { name } },
    { metadata: { labels: { [clusterSetLabel]: 'default' }, finalizers: ['test.example/held'] } },
  )
  await expectStatus(remove(name), 200)
  const found = await until('the spoke to be in no set', async () =>
    ((cluster) => (cluster?.metadata.labels?.[clusterSetLabel] === undefined ? cluster : undefined))(
      await fixture.managed(name),
    ),
  )
  t.is(found.metadata.name, name)
  await until('the deletion', async () =>
    (await fixture.managed(name))?.metadata.deletionTimestamp === undefined ? undefined : true,
  )
  t.is((await fixture.managed(name))?.spec?.hubAcceptsClient, false)
  await fixture.hub.client.patch(managedClusters, { metadata: { name } }, { metadata: { finalizers: null } })
  t.is((await ended(name)).state, 'succeeded')
})

test('invalid names are 422, and other people are refused', async (t) => {
  for (const body of [{}, { clusterName: 'A_b' }, { clusterName: 'a/b' }, { clusterName: 7 }, { clusterName: '' }])
    t.is((await fixture.post('remove-managed-cluster', body)).status, 422, JSON.stringify(body))
  const stranger = await fixture.people.person('stranger')
  t.is((await fixture.post('remove-managed-cluster', { clusterName: 'kube' }, stranger)).status, 404)
  const member = await fixture.people.person('member')
  await fixture.people.teamWithRole(
    fixture.owner,
    fixture.org,
    [member],
    [
      { namespace: 'cluster_mgmt', action: 'view clusters' },
      { namespace: 'cluster_mgmt', action: 'view hubs' },
      { namespace: 'cluster_mgmt', action: 'accept spokes' },
    ],
  )
  t.is((await fixture.post('remove-managed-cluster', { clusterName: 'kube' }, member)).status, 403)
  t.is((await fixture.post('remove-managed-cluster', { clusterName: 'no-such-spoke' })).text, '')
  t.truthy(await fixture.hub.client.get(namespaces, 'default'))
})

test('a caller sees the hubs of the own accounts only', async (t) => {
  const hubsOf = async (token: string): Promise<readonly unknown[]> =>
    (await expectStatus(fixture.service.send('GET', '/api/v1/clustersv2/all-hubs', { token }), 200)).json
  const [found, ...others] = await hubsOf(fixture.owner.token)
  t.like(found, { name: 'hub', ownerName: fixture.org, hubType: 'OCM' })
  t.deepEqual(others, [])
  t.deepEqual(await hubsOf((await fixture.people.person('somebody-else')).token), [])
})
