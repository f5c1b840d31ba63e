// process: waiting - uses components
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import {
  deleteCluster,
  importCluster as importRoute,
  reconfigureCluster,
  getClusterIdentity,
  getHubInfo,
  hasHub,
  listAllClusters,
} from '../../plugins/clusters/clusters.routes.ts'
import type { Client } from '../../plugins/kit/client.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { klusterlets, managedClusters, namespaces } from '../support/hub/api/kinds.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { startService, type TestService } from '../support/service.ts'
import { eventsOf, openFeed, untilEnd } from '../tasks/task-client.ts'
import { expectStatus, importCluster, makePeople, type Person } from './cluster-fixture.ts'

/**
 * Import, reconfigure and remove as tasks, and the routes about the hubs of an account, with a hub and a spoke on real
 * API servers.
 */
const test = needing('kubernetes', 'spoke-kubernetes')

let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
let stranger: Person
let client: Client
let hub: TestHub
let hubServer: ControlPlaneAccess
let hubConfig: string
let spokeConfig: string

test.before(async () => {
  hubServer = (await kubernetes())!
  const spokeServer = (await spokeKubernetes())!
  hub = await startTestHub(hubServer, { spokes: spokeServer })
  hubConfig = hubServer.kubeconfig()
  spokeConfig = spokeServer.kubeconfig()
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  client = clientAs(service, owner)
})
test.after.always(async () => {
  await service?.stop()
  await hub?.stop()
})

interface Listed {
  readonly id: string
  readonly kind: string
}
const taskOf = async (org: string, kind: string): Promise<string> => {
  const { json } = await expectStatus(
    service.send('GET', `/api/v1/tasks?account=${org}&kind=${kind}`, { token: owner.token }),
    200,
  )
  const [found, ...others] = json as readonly Listed[]
  if (found === undefined || others.length > 0) throw new Error(`expected one task ${kind}: ${JSON.stringify(json)}`)
  return found.id
}
const body = (name: string, accessConfig: string) => ({ basicInfo: { name }, provider: { accessConfig } })

test("import, reconfiguration and removal end under the client's response-id", async (t) => {
  const org = await people.organization(owner)
  const made = await valueOf(
    client.call(importRoute, {
      params: { owner: org },
      query: { 'response-id': `${org}-import` },
      body: body('plain', hubConfig),
    }),
  )
  t.is(made.name, 'plain')
  const imported = await untilEnd(service, owner.token, await taskOf(org, 'clusters.import'))
  t.like(imported, {
    state: 'succeeded',
    subject: `natjobs.resp.${org}-import`,
    result: { cluster: 'plain', owner: org, phase: 'Active' },
  })
  const feed = await openFeed(service.baseUrl, `/api/v1/tasks/${imported.id}/events`, owner.token)
  await feed.ended
  t.is(feed.events.at(-1)?.event.status, 'Success')
  t.true(feed.events.some(({ event }) => event.step === 'Record the cluster'))

  const params = { owner: org, cluster: 'plain' }
  await valueOf(
    client.call(reconfigureCluster, {
      params,
      query: { 'response-id': `${org}-change` },
      body: { basicInfo: { displayName: 'Changed' } },
    }),
  )
  t.like(await untilEnd(service, owner.token, await taskOf(org, 'clusters.reconfigure')), {
    state: 'succeeded',
    subject: `natjobs.resp.${org}-change`,
  })

  await expectStatus(
    service.send('POST', `/api/v1/clustersv2/${org}/plain/remove?response-id=${org}-remove`, { token: owner.token }),
    200,
  )
  await expectStatus(service.send('GET', `/api/v1/clusters/${org}/plain`, { token: owner.token }), 404)
  t.like(await untilEnd(service, owner.token, await taskOf(org, 'clusters.remove')), {
    state: 'succeeded',
    subject: `natjobs.resp.${org}-remove`,
    result: { cluster: 'plain' },
  })
})

test('a refused import submits no task', async (t) => {
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'Not_a_label', hubConfig), 422)
  await expectStatus(importCluster(service.send, owner.token, org, 'first', hubConfig), 200)
  await expectStatus(importCluster(service.send, owner.token, org, 'second', hubConfig), 422)
  t.regex((await untilEnd(service, owner.token, await taskOf(org, 'clusters.import'))).message, /first/)
})

test('a repeated response-id returns the same import, and another import is 409', async (t) => {
  const org = await people.organization(owner)
  const send = (name: string, config: string) =>
    client.call(importRoute, {
      params: { owner: org },
      query: { 'response-id': `${org}-once` },
      body: body(name, config),
    })
  const first = await valueOf(send('once', hubConfig))
  const again = await valueOf(send('once', hubConfig))
  t.is(again.id, first.id)
  await taskOf(org, 'clusters.import')
  const other = await service.send('POST', `/api/v1/clustersv2/${org}/import?response-id=${org}-once`, {
    token: owner.token,
    body: body('other', spokeConfig),
  })
  t.is(other.status, 422)
  t.is(
    await service.running.container
      .resolve(ClusterStorePort)
      .listOf(first.ownerID as never)
      .then((all) => all.length),
    1,
  )
})

test('DELETE of a cluster answers with the task, and the record no longer exists', async (t) => {
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'gone', hubConfig), 200)
  const params = { owner: org, cluster: 'gone' }
  const { id, subject } = await valueOf(client.call(deleteCluster, { params }))
  t.regex(subject, /^natjobs\.resp\./)
  await expectStatus(service.send('GET', `/api/v1/clusters/${org}/gone`, { token: owner.token }), 404)
  t.is((await untilEnd(service, owner.token, id)).state, 'succeeded')
  await expectStatus(service.send('DELETE', `/api/v1/clusters/${org}/gone`, { token: owner.token }), 404)
  await expectStatus(service.send('DELETE', `/api/v1/clusters/${org}/gone`, { token: stranger.token }), 404)
})

// Other test files have spokes on the same API server, so the name under which the hub manages it is not asserted.
test('the import of a spoke finds the hub of the account that manages it', async (t) => {
  const org = await people.organization(owner)
  const name = hub.name()
  const uid = (await hub.spoke.get(namespaces, 'kube-system'))?.metadata.uid
  await hub.client.create(managedClusters, { metadata: { name }, spec: { hubAcceptsClient: true } })
  const status = { conditions: [], version: {}, clusterClaims: [{ name: 'id.k8s.io', value: uid }] }
  const path = `/apis/cluster.open-cluster-management.io/v1/managedclusters/${name}/status`
  t.is(
    (await hubServer.request('PATCH', path, { status }, { contentType: 'application/merge-patch+json' })).status,
    200,
  )
  await hub.spoke.createIfMissing(klusterlets, { metadata: { name }, spec: { clusterName: name } })
  const hubCluster = await valueOf(
    client.call(importRoute, { params: { owner: org }, body: body('the-hub', hubConfig) }),
  )
  await valueOf(
    client.call(importRoute, {
      params: { owner: org },
      query: { 'response-id': `${org}-spoke` },
      body: body('the-spoke', spokeConfig),
    }),
  )
  const { json } = await expectStatus(
    service.send('GET', `/api/v1/tasks?account=${org}&kind=clusters.import`, { token: owner.token }),
    200,
  )
  const task = (json as readonly (Listed & { about: { cluster: string } })[]).find(
    ({ about }) => about.cluster === 'the-spoke',
  )!
  t.is((await untilEnd(service, owner.token, task.id)).state, 'succeeded')
  t.true(
    (await eventsOf(service, owner.token, task.id)).some(({ msg }) => msg.startsWith('The hub the-hub manages it as ')),
  )
  const shown = (await valueOf(client.call(listAllClusters, { params: { owner: org } }))).find(
    (cluster) => cluster.name === 'the-spoke',
  )
  t.like(shown, { hubClusterName: 'the-hub', hubClusterUID: hubCluster.uid, hubClusterOwnerName: org })
  const { json: audit } = await expectStatus(
    service.send('GET', `/api/v1/orgs/${org}/audit?limit=100`, { token: owner.token }),
    200,
  )
  t.like(
    (audit as { action: string }[]).find(({ action }) => action === 'cluster.linked'),
    { object_name: 'the-spoke', changes: { hub: 'the-hub' } },
  )
})

test('hubs of an account are listed to its members only', async (t) => {
  const org = await people.organization(owner)
  const params = { owner: org }
  t.deepEqual(await valueOf(client.call(hasHub, { params })), { 'has-hub': false })
  t.deepEqual(await valueOf(client.call(getHubInfo, { params })), {})
  const { uid } = await valueOf(client.call(importRoute, { params, body: body('h1', hubConfig) }))
  t.deepEqual(await valueOf(client.call(hasHub, { params })), { 'has-hub': true })
  const answer = await expectStatus(
    service.send('GET', `/api/v1/clustersv2/${org}/hub-info`, { token: owner.token }),
    200,
  )
  t.is(answer.headers['cache-control'], 'no-store')
  const { apiServer, token } = (answer.json as Record<string, { apiServer: string; token: string }>)['h1']!
  t.true(apiServer.endsWith(`/api/v1/clusters/${org}/h1/proxy`))
  t.false(answer.text.includes(hub.client.server.url))
  await expectStatus(service.send('GET', `/api/v1/clusters/${org}/h1/proxy/api/v1/namespaces/default`, { token }), 200)
  await expectStatus(service.send('GET', `/api/v1/clustersv2/${org}`, { token }), 403)
  t.deepEqual(
    (
      await expectStatus(
        service.send('GET', `/api/v1/clustersv2/${org}/hub-info?token=none`, { token: owner.token }),
        200,
      )
    ).json,
    { h1: { apiServer } },
  )

  t.like(await valueOf(client.call(getClusterIdentity, { params: { clusterID: uid } })), {
    uid,
    ownerType: 'org',
    caBundle: hub.client.server.caPem,
  })
  await expectStatus(service.send('GET', '/api/v1/clustersv2/identity/no-such-uid', { token: owner.token }), 404)
  for (const path of [`identity/${uid}`, `${org}/hub-info`, `${org}/has-hub`, `${org}/all-clusters`]) {
    const refused = await service.send('GET', `/api/v1/clustersv2/${path}`, { token: stranger.token })
    t.true([403, 404].includes(refused.status), `${path}: ${refused.status}`)
  }
})
