import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { appliedManifestWorks, clusterRoles, leases, managedClusterAddOns, managedClusters, manifestWorks, namespaces, roleBindings, secrets, serviceAccounts, signingRequests, type ManagedCluster } from '../support/hub/api/kinds.ts'
import { conditionOf, isTrue } from '../support/hub/api/object-changes.ts'
import { acceptedCondition, availableCondition, cleanupPriorityAnnotation, clusterNameLabel, deletingCondition, joinedCondition, leaseName, workCleanupFinalizer } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'

/** Each behaviour of the test hub once. What the real controllers do is in the comments of its parts. */
const test = needing('kubernetes', 'spoke-kubernetes')

let hub: TestHub

test.before(async () => {
  hub = await startTestHub((await kubernetes())!, { spokes: (await spokeKubernetes())! })
})
test.after.always(async () => {
  await hub?.stop()
})

const clusterOf = (name: string, what: string, is: (cluster: ManagedCluster) => boolean): Promise<ManagedCluster> =>
  until(`${what} of ${name}: ${hub.problems().join('; ')}`, async () => {
    const found = await hub.client.get(managedClusters, name)
    return found !== undefined && is(found) ? found : undefined
  })
const gone = (what: string, find: () => Promise<unknown>): Promise<true> => until(`${what} to be gone`, async () => ((await find()) === undefined ? true : undefined))

const requestsOf = async (name: string) => (await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })).items
/** What an admin does with `clusteradm accept`. */
const accept = async (name: string): Promise<void> => {
  await clusterOf(name, 'registration', () => true)
  const [request] = await until(`the request of ${name}`, async () => ((found) => (found.length > 0 ? found : undefined))(await requestsOf(name)))
  const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' }
  await hub.client.call('PUT', `/apis/certificates.k8s.io/v1/certificatesigningrequests/${request!.metadata.name}/approval`, { ...request, status: { conditions: [approved] } })
  await hub.client.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: true } })
}
const joined = async (options: Parameters<TestHub['agent']>[1] = {}) => {
  const name = hub.name()
  const agent = await hub.agent(name, options)
  await accept(name)
  await clusterOf(name, 'join', (each) => isTrue(each, joinedCondition))
  return { name, agent }
}

test('a spoke registers with the bootstrap account and waits to be accepted', async (t) => {
  const name = hub.name()
  await hub.agent(name)
  const cluster = await clusterOf(name, 'registration', () => true)
  t.falsy(cluster.spec?.hubAcceptsClient)
  t.regex(cluster.spec?.managedClusterClientConfigs?.[0]?.url ?? '', /^https:/)
  const [request] = await until('a request', async () => ((found) => (found.length > 0 ? found : undefined))(await requestsOf(name)))
  t.is(request?.spec.username, 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap')
  t.true(request?.spec.groups?.includes('system:serviceaccounts:open-cluster-management'))
  t.is(conditionOf(cluster, acceptedCondition), undefined)
})

test('an accepted spoke gets its namespace, rights and certificate, and reports itself', async (t) => {
  const { name } = await joined({ claims: { 'cluster.ace.info': 'clusterMetadata: {}' }, features: { enabled: { flux2: '2026.1.1' } } })
  const cluster = await clusterOf(name, 'availability', (each) => isTrue(each, availableCondition) && isTrue(each, acceptedCondition))
  const claims = Object.fromEntries((cluster.status?.clusterClaims ?? []).map((each) => [each.name, each.value]))
  t.deepEqual(Object.keys(claims).sort(), ['cluster.ace.info', 'features.ace.info', 'id.k8s.io'])
  t.regex(claims['features.ace.info'] ?? '', /flux2: 2026.1.1/)
  t.not(claims['id.k8s.io'], (await hub.client.get(namespaces, 'kube-system'))?.metadata.uid)
  t.is((await hub.client.get(namespaces, name))?.metadata.labels?.[clusterNameLabel], name)
  t.truthy(await hub.client.get(clusterRoles, `open-cluster-management:managedcluster:${name}`))
  t.truthy(await hub.client.get(roleBindings, `open-cluster-management:managedcluster:${name}:work`, name))
  t.truthy(await hub.client.get(leases, leaseName, name))
})

test('a spoke whose agent has died becomes Unknown after five lease durations', async (t) => {
  const { name, agent } = await joined()
  await agent.stop()
  await hub.client.patch(leases, { metadata: { name: leaseName, namespace: name } }, { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } })
  const cluster = await clusterOf(name, 'missed renewals', (each) => conditionOf(each, availableCondition)?.status === 'Unknown')
  t.is(conditionOf(cluster, availableCondition)?.reason, 'ManagedClusterLeaseUpdateStopped')
})

const release = (feature: string) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease',
  metadata: { name: feature, namespace: 'kubeops', labels: { 'app.kubernetes.io/component': feature, 'app.kubernetes.io/part-of': 'core' } },
  spec: { interval: '5m', chart: { spec: { chart: feature, version: '2026.1.1', sourceRef: { kind: 'HelmRepository', name: 'charts' } } } },
})
const resourceIdentifier = (feature: string) => ({ group: 'helm.toolkit.fluxcd.io', resource: 'helmreleases', name: feature, namespace: 'kubeops' })
const work = (namespace: string, name: string, feature: string, annotations = {}) => ({
  metadata: { name, namespace, annotations },
  spec: {
    workload: { manifests: [release(feature)] },
    manifestConfigs: [{ resourceIdentifier: resourceIdentifier(feature), feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'Ready', path: '.status.conditions' }] }] }],
  },
})

test('a ManifestWork is applied with feedback, and its feature is claimed', async (t) => {
  const { name, agent } = await joined()
  await hub.client.create(manifestWorks, work(name, 'core', 'flux2'))
  const feedback = async () => {
    const found = await hub.client.get(manifestWorks, 'core', name)
    const status = found?.status?.resourceStatus as { manifests?: { statusFeedback: { values: { name: string; fieldValue: { string: string } }[] } }[] } | undefined
    return status?.manifests?.[0]?.statusFeedback.values[0]?.fieldValue.string
  }
  await until('the feedback', async () => ((await feedback()) === 'True' ? true : undefined))
  t.true(isTrue((await hub.client.get(manifestWorks, 'core', name))!, 'Applied'))
  await clusterOf(name, 'the claim', (each) => (each.status?.clusterClaims ?? []).some(({ value }) => value.includes('flux2: 2026.1.1')))
  agent.features.setReady('flux2', false)
  await until('the failure', async () => ((await feedback()) === 'False' ? true : undefined))
  t.is((await hub.spoke.list(appliedManifestWorks)).items.filter(({ spec }) => spec.agentID === name).length, 1)
})

test('a deleted cluster loses addons, then works by priority, then its rights; the namespace stays, and the agent registers again', async (t) => {
  const { name } = await joined()
  await hub.client.create(managedClusterAddOns, { metadata: { name: 'proxy', namespace: name }, spec: {} } as never)
  await hub.client.create(manifestWorks, work(name, 'first', 'a'))
  await hub.client.create(manifestWorks, work(name, 'last', 'b', { [cleanupPriorityAnnotation]: '100' }))
  await until('the finalizers', async () => ((await hub.client.list(manifestWorks, { namespace: name })).items.every(({ metadata }) => metadata.finalizers?.includes(workCleanupFinalizer)) ? true : undefined))
  const { uid } = (await hub.client.get(managedClusters, name))!.metadata
  await hub.client.remove(managedClusters, { metadata: { name } })
  const next = await clusterOf(name, 'a new registration', ({ metadata }) => metadata.uid !== uid)
  t.falsy(next.spec?.hubAcceptsClient)
  t.is((await hub.client.list(manifestWorks, { namespace: name })).items.length, 0)
  t.is((await hub.client.list(managedClusterAddOns, { namespace: name })).items.length, 0)
  t.is(await hub.client.get(clusterRoles, `open-cluster-management:managedcluster:${name}`), undefined)
  t.is((await hub.client.get(namespaces, name))?.metadata.deletionTimestamp, undefined)
})

test('works of a dead agent keep a deleted cluster', async (t) => {
  const { name, agent } = await joined()
  await hub.client.create(manifestWorks, work(name, 'core', 'a'))
  await until('the finalizer', async () => ((await hub.client.get(manifestWorks, 'core', name))?.metadata.finalizers?.includes(workCleanupFinalizer) ? true : undefined))
  await agent.stop()
  await hub.client.remove(managedClusters, { metadata: { name } })
  const cluster = await clusterOf(name, 'the condition', (each) => conditionOf(each, deletingCondition)?.reason === 'ResourceRemaining')
  t.is(conditionOf(cluster, deletingCondition)?.message, 'The resource manifestworks is remaning, the remaining count is 1, the finalizer pending count is 1')
  t.truthy(await hub.client.get(roleBindings, `open-cluster-management:managedcluster:${name}:work`, name))
  await hub.client.patch(manifestWorks, { metadata: { name: 'core', namespace: name } }, { metadata: { finalizers: null } })
  await gone('the cluster', () => hub.client.get(managedClusters, name))
})

test('a cluster that is no longer accepted loses the rights of its agent', async (t) => {
  const { name } = await joined()
  await hub.client.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: false } })
  const cluster = await clusterOf(name, 'the denial', (each) => conditionOf(each, acceptedCondition)?.status === 'False')
  t.is(conditionOf(cluster, acceptedCondition)?.reason, 'HubClusterAdminDenied')
  t.is(await hub.client.get(roleBindings, `open-cluster-management:managedcluster:${name}:registration`, name), undefined)
})

test('a namespace is emptied and finished, and a token Secret is filled', async (t) => {
  const namespace = hub.name()
  await hub.client.create(namespaces, { metadata: { name: namespace } })
  await hub.client.create(serviceAccounts, { metadata: { name: 'mate', namespace } })
  await hub.client.create(secrets, { metadata: { name: 'mate', namespace, annotations: { 'kubernetes.io/service-account.name': 'mate' } }, type: 'kubernetes.io/service-account-token' })
  const secret = await until('the token', async () => ((found) => (found?.data?.['token'] === undefined ? undefined : found))(await hub.client.get(secrets, 'mate', namespace)))
  t.deepEqual(Object.keys(secret.data ?? {}).sort(), ['ca.crt', 'namespace', 'token'])
  await hub.client.remove(namespaces, { metadata: { name: namespace } })
  await gone('the namespace', () => hub.client.get(namespaces, namespace))
})
