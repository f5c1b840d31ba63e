import { expectStatus, peoplesPassword, type Person } from '../clusters/cluster-fixture.ts'
import { startClientFixture, type ClientFixture } from '../client-orgs/client-fixture.ts'
import { exampleFor, startUpstream } from '../metrics-proxy/nginx-example.ts'
import { startPersesStandIn } from '../metrics-proxy/perses-stand-in.ts'
import { startMarket } from '../marketplace/market-service.ts'
import { giveCredentials, region, startCloudAProvider } from '../metering/cloud-a-provider.ts'
import { chartOf } from '../packages/chart-archive.ts'
import { startCharts } from '../packages/package-fixture.ts'
import { helm } from '../support/components/available.ts'
import { startNginx } from '../support/components/nginx.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { acceptSpoke } from '../support/hub/accept-spoke.ts'
import {
  appliedManifestWorks,
  clusterRoles,
  managedClusters,
  managedClusterSets,
  namespaces,
  setProfiles,
  type Kind,
  type KubeObject,
} from '../support/hub/api/kinds.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { makeSendJson, type SendOptions, type ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'

/** Where a request of the walk goes, by the variable that the page has for it. */
type Target = 'VENDOR' | 'MARKET' | 'HOOKS' | 'PROXY'

const catalogueOf = (kind: string): Kind<KubeObject & { readonly spec: object }> => ({
  apiVersion: 'ui.k8s.appscode.com/v1alpha1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  isNamespaced: false,
})
export const helmReleases: Kind<KubeObject> = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  plural: 'helmreleases',
  isNamespaced: true,
}

const persesToken = 'token-of-the-dashboard'

/** The features without which the controllers of a hub give a cluster set nothing. */
const coreFeatures = ['opscenter-features', 'kube-ui-server']

/**
 * Puts the spoke of the vendor into a cluster set with the core features, starts its agent, which creates what works
 * name, and adds a database feature to the catalogue.
 */
const prepareFeatures = async ({ hub, spoke }: ClientFixture) => {
  const [set, core, featureSet, feature, namespace] = [
    hub.name('set'),
    hub.name('core'),
    hub.name('databases'),
    hub.name('postgres'),
    hub.name('features'),
  ] as const
  const chart = (name: string) => ({ name, version: '1.0.0', sourceRef: { kind: 'HelmRepository', name: 'charts' } })
  await hub.client.create(catalogueOf('FeatureSet'), {
    metadata: { name: featureSet },
    spec: { title: 'Databases', description: 'Databases', chart: chart('set') },
  })
  await hub.client.create(catalogueOf('Feature'), {
    metadata: { name: feature },
    spec: { title: 'Postgres', description: 'Databases of Postgres', featureSet, chart: chart(feature) },
  })
  await hub.spoke.create(clusterRoles, {
    metadata: { name: hub.name('works'), labels: { 'open-cluster-management.io/aggregate-to-work': 'true' } },
    rules: [
      {
        apiGroups: ['helm.toolkit.fluxcd.io'],
        resources: ['helmreleases'],
        verbs: ['get', 'create', 'update', 'patch', 'delete'],
      },
    ],
  })
  await hub.client.create(managedClusterSets, { metadata: { name: set } })
  await hub.client.patch(
    managedClusters,
    { metadata: { name: spoke } },
    { metadata: { labels: { [clusterSetLabel]: set } } },
  )
  await hub.agent(spoke, { appliesManifests: true })
  await acceptSpoke(hub.client, spoke)
  await until('the claims of the spoke', async () =>
    (await hub.client.get(managedClusters, spoke))?.status?.clusterClaims?.some(
      ({ name }) => name === 'cluster.ace.info',
    )
      ? true
      : undefined,
  )
  const contents = coreFeatures.map((name) => [name, { featureSet: core, chart: { ...chart(name), namespace } }])
  await hub.client.create(setProfiles, {
    metadata: { name: set },
    spec: { features: Object.fromEntries(contents) },
  })
  return {
    set,
    featureSet,
    feature,
    namespace,
    remove: async () => {
      await hub.client.remove(managedClusterSets, { metadata: { name: set } })
      await hub.client.remove(setProfiles, { metadata: { name: set } })
      await hub.client.remove(catalogueOf('Feature'), { metadata: { name: feature } })
      await hub.client.remove(catalogueOf('FeatureSet'), { metadata: { name: featureSet } })
      await hub.spoke.remove(clusterRoles, { metadata: { name: hub.name('works') } })
      await hub.spoke.remove(namespaces, { metadata: { name: namespace } })
    },
  }
}

/**
 * A vendor with a deployment for its marketplace and one for its customers. A marketplace deployment has no contract
 * routes, and a vendor-hosted one no marketplace. Beside them: a hub and a spoke on real API servers, the real nginx
 * before an upstream with tenants, the provider of cloud A as its SDK meets it, and a Perses as it was seen to answer.
 */
export const startWalk = async (onRequest: (method: string, target: Target, path: string) => void) => {
  giveCredentials()
  const provider = await startCloudAProvider()
  const perses = await startPersesStandIn(persesToken)
  const upstream = await startUpstream()
  const { charts, settings } = await startCharts(await chartOf('minimal'))
  const port = await reservedPort()
  const [clients, market] = await Promise.all([
    startClientFixture({
      ...settings,
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_HELM: (await helm())!.helm4,
      MOORAGE_METRICS_PROXY_URL: `http://127.0.0.1:${port}/metrics`,
      MOORAGE_DASH_B_URL: perses.origin,
      MOORAGE_DASH_B_TOKEN: persesToken,
    }),
    startMarket('A', {
      settings: { MOORAGE_METERING_ENDPOINT: provider.origin, MOORAGE_METERING_REGION: region },
    }),
  ])
  const nginx = await startNginx(port, exampleFor(new URL(clients.service.baseUrl).port, upstream.port, port))
  const features = await prepareFeatures(clients)
  const readProxy = makeSendJson(`http://127.0.0.1:${port}`)

  const send = (target: Target, method: string, path: string, options: SendOptions = {}): Promise<ServiceAnswer> => {
    onRequest(method, target, path)
    if (target === 'VENDOR') return clients.service.send(method, path, options)
    if (target === 'MARKET') return market.send(method, path, options)
    return target === 'HOOKS' ? market.sendTo(method, path, options) : readProxy(method, path, options)
  }
  const person = async (login: string): Promise<Person> => {
    const body = { login_name: login, source_id: 0, password: peoplesPassword, must_change_password: false }
    await expectStatus(
      send('VENDOR', 'PATCH', `/api/v1/admin/users/${login}`, { token: clients.service.adminToken, body }),
      200,
    )
    const { json } = await expectStatus(
      send('VENDOR', 'POST', `/api/v1/users/${login}/tokens`, {
        basic: [login, peoplesPassword],
        body: { name: 'walk', scopes: ['all'] },
      }),
      201,
    )
    return { login, token: json.sha1 as string }
  }
  return {
    clients,
    market,
    provider,
    perses,
    upstream,
    charts,
    features,
    send,
    /** As a site admin of that deployment. */
    admin: (target: 'VENDOR' | 'MARKET', method: string, path: string, body?: unknown): Promise<ServiceAnswer> => {
      const token = target === 'VENDOR' ? clients.service.adminToken : market.adminToken
      return send(target, method, path, { token, body })
    },
    /** Signs in a user whose account a creation has made. */
    signedIn: person,
    /** The works of the vendor on the spoke, by name. */
    applied: async () =>
      (await clients.hub.spoke.list(appliedManifestWorks)).items
        .filter(({ spec }) => spec.agentID === clients.spoke)
        .map(({ spec }) => spec.manifestWorkName),
    stop: async () => {
      await features.remove()
      await nginx.stop()
      await Promise.all([clients.stop(), market.stop()])
      await Promise.all([charts.stop(), perses.stop(), provider.stop()])
      upstream.stop()
    },
  }
}
export type Walk = Awaited<ReturnType<typeof startWalk>>
