// process: waiting - uses components
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { acceptSpoke } from '../support/hub/accept-spoke.ts'
import {
  clusterClaims,
  clusterRoles,
  managedClusters,
  managedClusterSets,
  manifestWorks,
  profileBindings,
  secrets,
  setProfiles,
} from '../support/hub/api/kinds.ts'
import { isTrue } from '../support/hub/api/object-changes.ts'
import { agentNamespace, bootstrapSecret, clusterSetLabel, joinedCondition } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { unwrap } from '../support/outcome.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { untilEnd } from '../tasks/task-client.ts'

/** What the real controllers of hubs do to spokes during imports, looks and removals, as the test hub does it. */
const test = needing('kubernetes', 'spoke-kubernetes').serial

let hub: TestHub
let service: TestService
let owner: Person
let org: string
let spokeConfig: string

const roleName = 'moorage:feature-releases'

test.before(async () => {
  const [hubServer, spokeServer] = [(await kubernetes())!, (await spokeKubernetes())!]
  hub = await startTestHub(hubServer, { spokes: spokeServer, defaultClusterSet: 'start' })
  service = await startService({ settings: { MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback' } })
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  spokeConfig = spokeServer.kubeconfig()
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', hubServer.kubeconfig()), 200)
})
test.after.always(async () => {
  await service?.stop()
  await hub?.stop()
})

const post = (path: string, body: object) =>
  service.send('POST', `/api/v1/clusters/${org}/hub/${path}`, { token: owner.token, body })
const shown = async (name: string) =>
  (await expectStatus(service.send('GET', `/api/v1/clusters/${org}/${name}`, { token: owner.token }), 200)).json as {
    id: ClusterId
    uid: string
    status: { message: string }
  }
const ended = async (kind: string, managedCluster: string) => {
  const id = await until(`a task ${kind}`, async () => {
    const { json } = await expectStatus(
      service.send('GET', `/api/v1/tasks?account=${org}&kind=${kind}`, { token: owner.token }),
      200,
    )
    return (json as { id: string; about: { managedCluster?: string } }[]).find(
      ({ about }) => about.managedCluster === managedCluster,
    )?.id
  })
  return (await untilEnd(service, owner.token, id)) as { state: string; message: string; error?: string }
}
const joined = async (options: Parameters<TestHub['agent']>[1] = {}) => {
  const name = hub.name()
  const agent = await hub.agent(name, options)
  await acceptSpoke(hub.client, name)
  await until('the join', async () =>
    ((found) => (found !== undefined && isTrue(found, joinedCondition) ? true : undefined))(
      await hub.client.get(managedClusters, name),
    ),
  )
  return { name, agent }
}

test('features of the set that the hub puts a leaving cluster into are removed with it', async (t) => {
  const start = hub.name('start')
  await hub.client.create(managedClusterSets, { metadata: { name: start }, spec: {} })
  const feature = (chart: string) => ({
    featureSet: 'opscenter-core',
    chart: { name: chart, version: '2026.7.1', sourceRef: { name: 'charts' } },
  })
  await hub.client.create(setProfiles, {
    metadata: { name: start },
    spec: {
      features: { 'opscenter-features': feature('opscenter-features'), 'kube-ui-server': feature('kube-ui-server') },
    },
  })
  const set = hub.name()
  await hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  const { name } = await joined()
  await hub.client.patch(managedClusters, { metadata: { name } }, { metadata: { labels: { [clusterSetLabel]: set } } })
  await expectStatus(post('remove-managed-cluster', { clusterName: name }), 200)
  const removed = await ended('spokes.remove', name)
  t.is(removed.state, 'succeeded', JSON.stringify(removed))
  t.is(await hub.client.get(managedClusters, name), undefined)
  t.is(await hub.client.get(profileBindings, name, name), undefined)
  t.deepEqual((await hub.client.list(manifestWorks, { namespace: name })).items, [])
  const { json } = await expectStatus(
    service.send('GET', `/api/v1/tasks?account=${org}&kind=spokes.remove`, { token: owner.token }),
    200,
  )
  const events = await service.send('GET', `/api/v1/tasks/${(json as { id: string }[])[0]!.id}/events`, {
    token: owner.token,
  })
  t.regex(events.text, new RegExp(`The hub has put the cluster into the set ${start}`))
  await hub.client.remove(managedClusterSets, { metadata: { name: start } })
})

test('an access config without admin rights registers nothing', async (t) => {
  const name = hub.name()
  const limited = await (await spokeKubernetes())!.createUserKubeconfig(hub.name('limited'))
  const role = {
    metadata: { name: hub.name('limited') },
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }],
  }
  await hub.spoke.create(clusterRoles, role)
  const apiGroup = 'rbac.authorization.k8s.io'
  await hub.spoke.call('POST', `/apis/${apiGroup}/v1/clusterrolebindings`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: role.metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: role.metadata.name },
    subjects: [{ kind: 'User', apiGroup, name: role.metadata.name }],
  })
  await expectStatus(post('import-spoke', { basicInfo: { name }, provider: { accessConfig: limited } }), 200)
  const failed = await ended('spokes.import', name)
  t.is(failed.state, 'failed')
  t.regex(failed.error ?? '', /lacks rights: get namespaces, create namespaces, .*list klusterlets, create klusterlets/)
  t.regex(failed.message, /^Connect to the cluster: failed\. The hub does not have the cluster\./)
  t.is(await hub.client.get(managedClusters, name), undefined)
  t.regex(
    (await shown(name)).status.message,
    /^The import into the hub failed\. The access config of the cluster lacks rights/,
  )
  const clusters = service.running.container.resolve(ClusterStorePort)
  const { id } = await shown(name)
  t.is((await clusters.get(id))?.hubClusterUid, '')
  await expectStatus(post('import-spoke', { basicInfo: { name }, provider: { accessConfig: limited } }), 200)
  t.is((await ended('spokes.import', name)).state, 'failed')
  t.is((await clusters.get(id))?.hubClusterUid, '')
  await expectStatus(service.send('DELETE', `/api/v1/clusters/${org}/${name}`, { token: owner.token }), 200)
})

test('an import whose agents cannot be installed is taken back on the hub', async (t) => {
  const name = hub.name()
  // A namespace that is being deleted, in which no credential can be written.
  const held = hub.name()
  await hub.spoke.call('POST', '/api/v1/namespaces', { metadata: { name: held } })
  const before = await hub.spoke.get(secrets, bootstrapSecret, agentNamespace)
  await hub.spoke.call('POST', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: held },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['secrets'] },
        ],
      },
      validations: [{ expression: `object.metadata.name != '${bootstrapSecret}'`, message: 'no credentials here' }],
    },
  })
  await hub.spoke.call('POST', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: held },
    spec: { policyName: held, validationActions: ['Deny'] },
  })
  t.teardown(async () => {
    for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
      await hub.spoke.call('DELETE', `/apis/admissionregistration.k8s.io/v1/${plural}/${held}`)
  })
  await until('the policy', async () => {
    const made = await hub.spoke
      .call('POST', `/api/v1/namespaces/${held}/secrets?dryRun=All`, { metadata: { name: bootstrapSecret } })
      .then(
        () => true,
        () => false,
      )
    return made ? undefined : true
  })
  await expectStatus(post('import-spoke', { basicInfo: { name }, provider: { accessConfig: spokeConfig } }), 200)
  const failed = await ended('spokes.import', name)
  t.is(failed.state, 'failed')
  t.regex(failed.error ?? '', /no credentials here/)
  t.regex(failed.message, /^Install the agents: failed\. It is removed from the hub again\./)
  await until('the end of the cluster', async () =>
    (await hub.client.get(managedClusters, name)) === undefined ? true : undefined,
  )
  t.deepEqual((await hub.spoke.get(secrets, bootstrapSecret, agentNamespace))?.metadata.uid, before?.metadata.uid)
  await expectStatus(service.send('DELETE', `/api/v1/clusters/${org}/${name}`, { token: owner.token }), 200)
})

test('an unidentified spoke gets its claim and role at the next inspection', async (t) => {
  const record = hub.name()
  for (const name of ['id.k8s.io', 'cluster.ace.info']) await hub.spoke.remove(clusterClaims, { metadata: { name } })
  await hub.spoke.remove(clusterRoles, { metadata: { name: roleName } })
  await expectStatus(importCluster(service.send, owner.token, org, record, spokeConfig), 200)
  const { uid, id } = await shown(record)
  const { name } = await joined({ claims: { 'cluster.ace.info': 'x'.repeat(1025) } })
  // As a release before has left it: linked, and without the claim.
  const store = service.running.container.resolve(ClusterStorePort)
  const stored = await store.get(id)
  unwrap(await store.change(id, stored!.version, { hubClusterUid: (await shown('hub')).uid, managedClusterName: name }))
  await store.observe(id, stored!.status, undefined, new Date(0))
  await expectStatus(service.send('GET', `/api/v1/clustersv2/${org}/${record}/status`, { token: owner.token }), 200)
  const claim = await until('the claim', () => hub.spoke.get(clusterClaims, 'cluster.ace.info'))
  const { clusterMetadata } = JSON.parse(claim.spec?.value ?? '{}') as {
    clusterMetadata: { uid: string; name: string; clusterManagers: readonly string[] }
  }
  t.like(clusterMetadata, { uid, name })
  // Tests of hubs on the same server make it a hub too.
  t.true(clusterMetadata.clusterManagers.includes('OCMSpoke'))
  t.is(
    (await hub.spoke.get(clusterRoles, roleName))?.metadata.labels?.['open-cluster-management.io/aggregate-to-work'],
    'true',
  )
})

test('a hub does not become its own spoke', async (t) => {
  const answer = await post('convert/spoke', { basicInfo: { name: 'hub' } })
  t.is(answer.status, 422)
  t.regex(answer.text, /is the hub itself/)
  t.is(
    (await expectStatus(service.send('GET', `/api/v1/clusters/${org}/hub`, { token: owner.token }), 200)).json
      .hubClusterName,
    '',
  )
})

test('a cluster that joins by the command does not take the UID of another record', async (t) => {
  const [record] = (await expectStatus(service.send('GET', `/api/v1/clustersv2/${org}`, { token: owner.token }), 200))
    .json as { name: string; uid: string }[]
  const { name } = await joined({ claims: { 'id.k8s.io': record!.uid } })
  await expectStatus(post('import-spoke', { basicInfo: { name } }), 200)
  const failed = await ended('spokes.import', name)
  t.is(failed.state, 'failed')
  t.regex(failed.error ?? '', new RegExp(`already imported as ${record!.name}`))
  t.is((await shown(name)).uid, '')
})

test('a cluster name over 57 characters is refused', async (t) => {
  const name = hub.name('n'.repeat(58)).slice(0, 58)
  const agent = await hub.agent(name)
  await until('the registration', () => hub.client.get(managedClusters, name))
  const refused = await post('accept-spoke', { clusters: [name] })
  t.is(refused.status, 422)
  t.regex(refused.text, /at most 57 characters/)
  t.falsy((await hub.client.get(managedClusters, name))?.spec?.hubAcceptsClient)
  t.is((await post('spoke-command', { clusterName: name })).status, 422)
  await agent.stop()
})
