import type { NameTable } from '../kit/names.ts'

/** The segments of the usage reports of products. */
const products = {
  kubeDb: 'dbProduct',
  kubeStash: 'backupProduct',
  kubeVault: 'vaultProduct',
  voyager: 'ingressProduct',
} as const
const clouds = { aws: 'cloudA', azure: 'cloudB', gcp: 'cloudC' } as const
const marketplaces = { Aws: 'CloudA', Azure: 'CloudB', Gcp: 'CloudC' } as const
const ofProduct = (name: string): string => `/dashboard/summary/{}/{}/usage-report/products/${name}`

/** The names of the reference for what the specification calls otherwise. This is the only list of them. */
export const referenceNames: NameTable = {
  paths: [
    // The reference reads a list of clusters as an object with `items`. Its library sends a Content-Type with every
    // request.
    { other: '/clustersv2/{}', own: '/reference-names/clustersv2/{}', ifReadHasContentType: true },
    { other: '/user/nats', own: '/user/bus' },
    { other: '/user/firebase-token', own: '/user/extidp-token' },
    { other: '/user/settings/tokens/nats-tokens', own: '/user/settings/tokens/bus-tokens' },
    { other: '/orgs/{}/tokens/nats-tokens', own: '/orgs/{}/tokens/bus-tokens' },
    {
      other: '/clusters/{}/{}/clustersets/{}/sync-status/opscenter-features-version',
      own: '/clusters/{}/{}/clustersets/{}/sync-status/suite-features-version',
    },
    { other: '/trickster', own: '/tsproxy' },
    {
      other: '/ace-installer/deployment/marketplace/installers',
      own: '/platform-installer/deployment/marketplace/installers',
    },
    { other: '/ace-installer', own: '/installer' },
    { other: '/rancher', own: '/fleet' },
    ...Object.entries(products).map(([other, own]) => ({ other: ofProduct(other), own: ofProduct(own) })),
    ...Object.entries(clouds).map(([other, own]) => ({
      other: `/proxy/metered-billing/marketplaces/${other}`,
      own: `/proxy/metered-billing/marketplaces/${own}`,
    })),
    ...Object.entries(marketplaces).map(([other, own]) => ({
      other: `/dashboard/marketplaces/${other}`,
      own: `/dashboard/marketplaces/${own}`,
    })),
    ...Object.entries(clouds).map(([other, own]) => ({
      other: `/marketplaces/${other}`,
      own: `/marketplaces/${own}`,
      listener: 'marketplace' as const,
    })),
  ],
  fields: {
    kubeConfig: 'accessConfig',
    fluxCD: 'gitopsEngine',
    eksAuthMode: 'managedAuthMode',
    natsEndpoints: 'endpoints',
    natsPubKey: 'busPubKey',
    firebaseToken: 'customToken',
    rancher_endpoint: 'fleet_endpoint',
    rancherManagementClusterEndPoint: 'fleetManagementClusterEndPoint',
    helm3: 'pkg3',
    'driver.helm3.driverName': 'driver.pkg3.driverName',
    kubeDBUI: 'productUI',
    kubeDBConfig: 'dbProductConfig',
    prometheus: 'metrics',
    grafana: 'dashA',
    perses: 'dashB',
    AWSAccountID: 'cloudAAccountID',
    hostedB3BaseURL: 'hostedConsoleBaseURL',
  },
  values: { marketplace: marketplaces },
}
