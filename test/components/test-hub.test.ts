// process: own - changes its process, or keeps it busy
import { acceptSpoke, requestsOf } from '../support/hub/accept-spoke.ts'
import {
  appliedManifestWorks,
  clusterRoles,
  configMaps,
  klusterlets,
  leases,
  managedClusterAddOns,
  managedClusters,
  managedClusterSetBindings,
  managedClusterSets,
  manifestWorks,
  namespaces,
  profileBindings,
  roleBindings,
  secrets,
  setProfiles,
  type ManagedCluster,
} from '../support/hub/api/kinds.ts'
import { conditionOf, isTrue } from '../support/hub/api/object-changes.ts'
import {
  acceptedCondition,
  availableCondition,
  bootstrapSecret,
  cleanupPriorityAnnotation,
  clusterNameLabel,
  clusterSetLabel,
  deletingCondition,
  joinedCondition,
  leaseName,
  workCleanupFinalizer,
} from '../support/hub/api/ocm-names.ts'
import type { TestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'
import { gone, hub } from './test-hub.fixture.ts'
import { declareHubApiCases } from './hub-api-cases.ts'
import { needing } from '../support/components/needing.ts'

/** Each behaviour of the test hub once. What the real controllers do is in the comments of its parts. */
const test = needing('kubernetes', 'spoke-kubernetes')

const clusterOf = (name: string, what: string, is: (cluster: ManagedCluster) => boolean): Promise<ManagedCluster> =>
  until(`${what} of ${name}: ${hub.problems().join('; ')}`, async () => {
    const found = await hub.client.get(managedClusters, name)
    return found !== undefined && is(found) ? found : undefined
  })

const joined = async (options: Parameters<TestHub['agent']>[1] = {}) => {
  const name = hub.name()
  const agent = await hub.agent(name, options)
  await acceptSpoke(hub.client, name)
  await clusterOf(name, 'join', (each) => isTrue(each, joinedCondition))
  return { name, agent }
}

test('a spoke registers with the bootstrap account and waits to be accepted', async (t) => {
  const name = hub.name()
  await hub.agent(name)
  const cluster = await clusterOf(name, 'registration', () => true)
  t.falsy(cluster.spec?.hubAcceptsClient)
  t.regex(cluster.spec?.managedClusterClientConfigs?.[0]?.url ?? '', /^https:/)
  const signing = await until('a request', async () => (await requestsOf(hub.client, name))[0])
  t.is(signing.spec.username, 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap')
  t.true(signing.spec.groups?.includes('system:serviceaccounts:open-cluster-management'))
  t.is(conditionOf(cluster, acceptedCondition), undefined)
})

test('an accepted spoke gets its namespace, rights and certificate, and reports itself', async (t) => {
  const { name } = await joined({
    claims: { 'cluster.ace.info': 'clusterMetadata: {}' },
    features: { enabled: { flux2: '2026.1.1' } },
  })
  const cluster = await clusterOf(
    name,
    'availability',
    (each) => isTrue(each, availableCondition) && isTrue(each, acceptedCondition),
  )
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
  await hub.client.patch(
    leases,
    { metadata: { name: leaseName, namespace: name } },
    { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } },
  )
  const cluster = await clusterOf(
    name,
    'missed renewals',
    (each) => conditionOf(each, availableCondition)?.status === 'Unknown',
  )
  t.is(conditionOf(cluster, availableCondition)?.reason, 'ManagedClusterLeaseUpdateStopped')
})

const release = (feature: string) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: {
    name: feature,
    namespace: 'kubeops',
    labels: { 'app.kubernetes.io/component': feature, 'app.kubernetes.io/part-of': 'core' },
  },
  spec: {
    interval: '5m',
    chart: { spec: { chart: feature, version: '2026.1.1', sourceRef: { kind: 'HelmRepository', name: 'charts' } } },
  },
})
const resourceIdentifier = (feature: string) => ({
  group: 'helm.toolkit.fluxcd.io',
  resource: 'helmreleases',
  name: feature,
  namespace: 'kubeops',
})
const work = (namespace: string, name: string, feature: string, annotations = {}) => ({
  metadata: { name, namespace, annotations },
  spec: {
    workload: { manifests: [release(feature)] },
    manifestConfigs: [
      {
        resourceIdentifier: resourceIdentifier(feature),
        feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'Ready', path: '.status.conditions' }] }],
      },
    ],
  },
})

test('a ManifestWork is applied with feedback, and its feature is claimed', async (t) => {
  const { name, agent } = await joined()
  await hub.client.create(manifestWorks, work(name, 'core', 'flux2'))
  const feedback = async () => {
    const found = await hub.client.get(manifestWorks, 'core', name)
    const status = found?.status?.resourceStatus as
      | { manifests?: { statusFeedback: { values: { name: string; fieldValue: { string: string } }[] } }[] }
      | undefined
    return status?.manifests?.[0]?.statusFeedback.values[0]?.fieldValue.string
  }
  await until('the feedback', async () => ((await feedback()) === 'True' ? true : undefined))
  t.true(isTrue((await hub.client.get(manifestWorks, 'core', name))!, 'Applied'))
  await clusterOf(name, 'the claim', (each) =>
    (each.status?.clusterClaims ?? []).some(({ value }) => value.includes('flux2: 2026.1.1')),
  )
  agent.features.setReady('flux2', false)
  await until('the failure', async () => ((await feedback()) === 'False' ? true : undefined))
  t.is((await hub.spoke.list(appliedManifestWorks)).items.filter(({ spec }) => spec.agentID === name).length, 1)
})

test('an agent on its own spoke creates and removes the objects of a work', async (t) => {
  const { name } = await joined({ appliesManifests: true })
  const [namespace, config] = [
    hub.name(),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'berth', namespace: hub.name() }, data: { depth: '12' } },
  ]
  const role = (apiGroup: string, resource: string) => ({
    metadata: { name: hub.name(), labels: { 'open-cluster-management.io/aggregate-to-work': 'true' } },
    rules: [{ apiGroups: [apiGroup], resources: [resource], verbs: ['get', 'create', 'update', 'patch', 'delete'] }],
  })
  const priority = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: hub.name() },
    value: 1,
  }
  await hub.client.create(manifestWorks, {
    metadata: { name: 'priority', namespace: name },
    spec: { workload: { manifests: [priority] } },
  })
  const forbidden = await until('the refusal', async () =>
    ((found) => (found?.status === 'False' ? found : undefined))(
      conditionOf((await hub.client.get(manifestWorks, 'priority', name))!, 'Applied'),
    ),
  )
  t.regex(
    forbidden.message,
    /priorityclasses\.scheduling\.k8s\.io ".*" is forbidden: User "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa"/,
  )
  await hub.spoke.create(clusterRoles, role('scheduling.k8s.io', 'priorityclasses'))
  await until('the application', async () =>
    isTrue((await hub.client.get(manifestWorks, 'priority', name))!, 'Applied') ? true : undefined,
  )
  await hub.spoke.create(clusterRoles, role('helm.toolkit.fluxcd.io', 'helmreleases'))
  await hub.client.create(manifestWorks, {
    metadata: { name: 'objects', namespace: name },
    spec: {
      workload: { manifests: [config, { ...release('flux2'), metadata: { ...release('flux2').metadata, namespace } }] },
    },
  })
  const found = await until('the ConfigMap', () => hub.spoke.get(configMaps, 'berth', config.metadata.namespace))
  t.deepEqual(found.data, { depth: '12' })
  t.is(found.metadata.ownerReferences?.[0]?.kind, 'AppliedManifestWork')
  const ready = () =>
    hub.spoke
      .call<{ status?: { conditions?: { type: string; status: string }[] } }>(
        'GET',
        `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/flux2`,
      )
      .catch(() => undefined)
  await until('the release', async () =>
    (await ready())?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
      ? true
      : undefined,
  )
  await hub.client.remove(manifestWorks, { metadata: { name: 'objects', namespace: name } })
  await gone('the ConfigMap', () => hub.spoke.get(configMaps, 'berth', config.metadata.namespace))
})

test('a deleted cluster loses add-ons, works and rights, and keeps its namespace', async (t) => {
  const { name } = await joined({ registersAgain: true })
  await hub.client.create(managedClusterAddOns, { metadata: { name: 'proxy', namespace: name }, spec: {} } as never)
  await hub.client.create(manifestWorks, work(name, 'first', 'a'))
  await hub.client.create(manifestWorks, work(name, 'last', 'b', { [cleanupPriorityAnnotation]: '100' }))
  await until('the finalizers', async () =>
    (await hub.client.list(manifestWorks, { namespace: name })).items.every(({ metadata }) =>
      metadata.finalizers?.includes(workCleanupFinalizer),
    )
      ? true
      : undefined,
  )
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
  await until('the finalizer', async () =>
    (await hub.client.get(manifestWorks, 'core', name))?.metadata.finalizers?.includes(workCleanupFinalizer)
      ? true
      : undefined,
  )
  await agent.stop()
  await hub.client.remove(managedClusters, { metadata: { name } })
  const cluster = await clusterOf(
    name,
    'the condition',
    (each) => conditionOf(each, deletingCondition)?.reason === 'ResourceRemaining',
  )
  t.is(
    conditionOf(cluster, deletingCondition)?.message,
    'The resource manifestworks is remaning, the remaining count is 1, the finalizer pending count is 1',
  )
  t.truthy(await hub.client.get(roleBindings, `open-cluster-management:managedcluster:${name}:work`, name))
  await hub.client.patch(
    manifestWorks,
    { metadata: { name: 'core', namespace: name } },
    { metadata: { finalizers: null } },
  )
  await gone('the cluster', () => hub.client.get(managedClusters, name))
})

test('a certified agent returns without a new registration', async (t) => {
  const { name } = await joined()
  await hub.client.remove(managedClusters, { metadata: { name } })
  await gone('the cluster', () => hub.client.get(managedClusters, name))
  t.is((await requestsOf(hub.client, name)).length, 1)
  await hub.client.create(managedClusters, { metadata: { name }, spec: { hubAcceptsClient: true } })
  await clusterOf(name, 'the return', (each) => isTrue(each, joinedCondition))
  t.is((await requestsOf(hub.client, name)).length, 1)
})

test('a cluster that is no longer accepted loses the rights of its agent', async (t) => {
  const { name } = await joined()
  await hub.client.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: false } })
  const cluster = await clusterOf(
    name,
    'the denial',
    (each) => conditionOf(each, acceptedCondition)?.status === 'False',
  )
  t.is(conditionOf(cluster, acceptedCondition)?.reason, 'HubClusterAdminDenied')
  t.is(
    await hub.client.get(roleBindings, `open-cluster-management:managedcluster:${name}:registration`, name),
    undefined,
  )
})

test('a Klusterlet with a bootstrap Secret starts an agent, which ends with it', async (t) => {
  const [name, namespace] = [hub.name(), `open-cluster-management-${hub.name()}`]
  await hub.spoke.create(namespaces, { metadata: { name: namespace } })
  const kubeconfig = Buffer.from(await hub.bootstrapKubeconfig()).toString('base64')
  await hub.spoke.create(secrets, { metadata: { name: bootstrapSecret, namespace }, data: { kubeconfig } })
  await hub.spoke.create(klusterlets, { metadata: { name }, spec: { clusterName: name, namespace } })
  await acceptSpoke(hub.client, name)
  await clusterOf(name, 'join', (each) => isTrue(each, joinedCondition))
  await until('the connection', async () =>
    ((await hub.spoke.get(klusterlets, name))?.status?.conditions ?? []).some(
      ({ reason }) => reason === 'HubConnectionFunctional',
    )
      ? true
      : undefined,
  )
  await hub.spoke.remove(klusterlets, { metadata: { name } })
  await gone('the Klusterlet', () => hub.spoke.get(klusterlets, name))
  await gone('its namespace', () => hub.spoke.get(namespaces, namespace))
  t.true(isTrue((await hub.client.get(managedClusters, name))!, acceptedCondition))
})

test('a set shows whether it is empty, and a binding whether its set exists', async (t) => {
  const [set, name, namespace] = [hub.name(), hub.name(), hub.name()]
  await hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  const empty = async () => conditionOf((await hub.client.get(managedClusterSets, set))!, 'ClusterSetEmpty')
  await until('an empty set', async () => ((await empty())?.status === 'True' ? true : undefined))
  await hub.client.create(managedClusters, { metadata: { name, labels: { [clusterSetLabel]: set } }, spec: {} })
  await until('a set of one', async () =>
    (await empty())?.message === '1 ManagedClusters selected' ? true : undefined,
  )
  await hub.client.create(namespaces, { metadata: { name: namespace } })
  await hub.client.create(managedClusterSetBindings, { metadata: { name: set, namespace }, spec: { clusterSet: set } })
  const bound = async () =>
    conditionOf((await hub.client.get(managedClusterSetBindings, set, namespace))!, 'Bound')?.reason
  await until('the bond', async () => ((await bound()) === 'ClusterSetBound' ? true : undefined))
  await hub.client.remove(managedClusterSets, { metadata: { name: set } })
  await until('the loss', async () => ((await bound()) === 'ClusterSetNotFound' ? true : undefined))
  t.pass()
})

test('a profile becomes one work for each feature set and removes them', async (t) => {
  const set = hub.name()
  await hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  const { name } = await joined({ features: { externallyManaged: ['cert-manager'] } })
  await hub.client.patch(managedClusters, { metadata: { name } }, { metadata: { labels: { [clusterSetLabel]: set } } })
  const feature = (featureSet: string, chart: string) => ({
    featureSet,
    chart: { name: chart, version: '2026.7.1', sourceRef: { name: 'charts' } },
  })
  const features = {
    'opscenter-features': feature('opscenter-core', 'opscenter-features'),
    'kube-ui-server': feature('opscenter-core', 'kube-ui-server'),
    'cert-manager': feature('security', 'cert-manager'),
    falco: feature('security', 'falco'),
  }
  await hub.client.create(setProfiles, { metadata: { name: set }, spec: { features } })
  const binding = await until('the binding', async () =>
    ((found) => (found?.status?.phase === 'Current' ? found : undefined))(
      await hub.client.get(profileBindings, name, name),
    ),
  )
  t.is(binding.status?.observedOpscenterFeaturesVersion, '2026.7.1')
  const works = async () =>
    Object.fromEntries(
      (await hub.client.list(manifestWorks, { namespace: name })).items.map(({ metadata, spec }) => [
        metadata.name,
        (spec.workload?.manifests ?? []).map((each) => each.metadata.name),
      ]),
    )
  t.deepEqual(await works(), { 'opscenter-core': ['kube-ui-server', 'opscenter-features'], security: ['falco'] })
  await clusterOf(name, 'the claim', (each) =>
    (each.status?.clusterClaims ?? []).some(({ value }) => value.includes('falco: 2026.7.1')),
  )
  await hub.client.patch(setProfiles, { metadata: { name: set } }, { spec: { features: { falco: null } } })
  await until('the work of a set without features to be gone', async () =>
    'security' in (await works()) ? undefined : true,
  )
  await hub.client.remove(managedClusterSets, { metadata: { name: set } })
  await gone('the binding', () => hub.client.get(profileBindings, name, name))
  await until('the works to be gone', async () => (Object.keys(await works()).length === 0 ? true : undefined))
})

test('a cluster without its identity claim gets no features', async (t) => {
  const set = hub.name()
  await hub.client.create(managedClusterSets, { metadata: { name: set }, spec: {} })
  const { name } = await joined({ claims: { 'cluster.ace.info': 'x'.repeat(1025) } })
  await hub.client.patch(managedClusters, { metadata: { name } }, { metadata: { labels: { [clusterSetLabel]: set } } })
  const feature = (chart: string) => ({
    featureSet: 'opscenter-core',
    chart: { name: chart, version: '2026.7.1', sourceRef: { name: 'charts' } },
  })
  await hub.client.create(setProfiles, {
    metadata: { name: set },
    spec: {
      features: { 'opscenter-features': feature('opscenter-features'), 'kube-ui-server': feature('kube-ui-server') },
    },
  })
  await until('the error', async () =>
    hub.problems().includes(`profile ${set}: cluster info not found`) ? true : undefined,
  )
  t.is(await hub.client.get(profileBindings, name, name), undefined)
})

test('an agent with a name over 57 characters ignores its certificate', async (t) => {
  const [long, short] = ['x', 'y'].map((end) =>
    hub.name(`${'n'.repeat(57)}${end}`.slice(0, (end === 'x' ? 58 : 57) - hub.prefix.length)),
  )
  for (const name of [long!, short!]) {
    await hub.agent(name)
    await acceptSpoke(hub.client, name)
  }
  await clusterOf(short!, 'join', (each) => isTrue(each, joinedCondition))
  await until('the certificate', async () =>
    (await requestsOf(hub.client, long!)).every(({ status }) => status?.certificate !== undefined) ? true : undefined,
  )
  t.false(isTrue((await hub.client.get(managedClusters, long!))!, joinedCondition))
})

declareHubApiCases()
