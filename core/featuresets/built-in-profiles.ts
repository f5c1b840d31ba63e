/** The features that a cluster profile requires, by feature set. */
export type RequiredFeatures = Readonly<Record<string, readonly string[]>>

const databases = ['kubedb', 'kubedb-opscenter', 'kubedb-ui-presets']
const observability = ['grafana-operator', 'kube-prometheus-stack', 'monitoring-operator', 'panopticon', 'prometheus-adapter']

/** What the profiles for databases on any cluster have in common. */
const databasePlatform: RequiredFeatures = {
  'capi-core': ['cluster-presets'],
  'opscenter-backup': ['kubestash', 'stash-presets'],
  'opscenter-core': ['license-proxyserver'],
  'opscenter-cost': ['keda', 'keda-add-ons-http'],
  'opscenter-datastore': databases,
  'opscenter-observability': observability,
  'opscenter-security': ['cert-manager', 'cert-manager-csi-driver-cacerts'],
  'opscenter-storage': ['snapshot-controller'],
  'opscenter-tools': ['sidekick', 'supervisor'],
}

/** What the profiles for databases on the clusters of a cloud have in common. */
const cloudDatabases = (provider: string): RequiredFeatures => ({
  'capi-core': ['cluster-presets', 'capi-ops-manager'],
  crossplane: ['crossplane', provider],
  'opscenter-core': ['license-proxyserver'],
  'opscenter-datastore': databases,
  'opscenter-tools': ['sidekick', 'supervisor'],
})

const saas = { 'saas-core': ['catalog-manager', 'service-gateway-presets'] }

/** The profiles of the distribution, for clusters that do not have them as objects. */
export const builtInProfiles: ReadonlyMap<string, RequiredFeatures> = new Map<string, RequiredFeatures>([
  ['generic', { 'opscenter-core': ['license-proxyserver'] }],
  ['dbaas-generic', { ...databasePlatform, ...saas }],
  ['dbaas-client-org', { ...databasePlatform, 'saas-core': ['catalog-manager'] }],
  ['dbaas-aks', cloudDatabases('kubedb-provider-azure')],
  ['dbaas-eks', { ...cloudDatabases('kubedb-provider-aws'), 'capi-capa': ['cluster-autoscaler', 'aws-credential-manager', 'aws-ebs-csi-driver'] }],
  ['dbaas-gke', cloudDatabases('kubedb-provider-gcp')],
  [
    'observability-cluster',
    { ...databasePlatform, ...saas, 'opscenter-observability': [...observability, 'prom-label-proxy', 'thanos-operator', 'tenant-operator'] },
  ],
])
