import { load } from 'js-yaml'
import {
  manifestWorks,
  profileBindings,
  type ManagedCluster,
  type ManagedClusterProfileBinding,
  type Manifest,
  type ManifestWork,
  type ProfileFeature,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'

const managedLabel = 'featureset.appscode.com/managed'
const profileLabel = 'cluster.appscode.com/profile'
const defaultNamespace = 'kubeops'

interface FeatureWorks {
  readonly profile: string
  readonly binding: ManagedClusterProfileBinding
  readonly features: Readonly<Record<string, ProfileFeature>>
  readonly cluster: ManagedCluster | undefined
}

/**
 * 'Stores one ManifestWork per feature set (name = feature set, ns = cluster, labels managed=true + profile), feedback
 * rules `Ready` and `Released` per HelmRelease; ... drops HelmReleases not in the list' (note §6). 'It deletes works
 * only of sets that still have a feature' (real controllers, 5). The objects that ManifestWorkReplicaSets bring to a
 * spoke before are not made here.
 */
export const writeFeatureWorks = async (
  client: KubeClient,
  { profile, binding, features, cluster }: FeatureWorks,
): Promise<void> => {
  const namespace = binding.metadata.name
  const left = leftOut(cluster)
  const bySet = Map.groupBy(
    Object.entries(features).filter(([name]) => !left.has(name)),
    ([, feature]) => feature.featureSet ?? '',
  )
  for (const [set, entries] of bySet) {
    const work = workOf(set, namespace, profile, binding, entries)
    const known = await client.get(manifestWorks, set, namespace)
    if (known === undefined) await client.createIfMissing(manifestWorks, work)
    else await client.patch(manifestWorks, work, { metadata: work.metadata, spec: work.spec })
  }
  const kept = new Set(Object.values(features).map((feature) => feature.featureSet ?? ''))
  const { items } = await client.list(manifestWorks, { namespace, labelSelector: `${managedLabel}=true` })
  for (const each of items.filter(({ metadata }) => kept.has(metadata.name) && !bySet.has(metadata.name)))
    await client.remove(manifestWorks, each)
}

/**
 * 'Skips features that are externally managed, disabled, or blocked by an exclusion group' (note §6), as far as the
 * claim says so.
 */
const leftOut = (cluster: ManagedCluster | undefined): ReadonlySet<string> => {
  const claim = cluster?.status?.clusterClaims?.find(({ name }) => name === 'features.ace.info')?.value ?? '{}'
  const { externallyManagedFeatures = [], disabledFeatures = [] } = load(claim) as {
    readonly externallyManagedFeatures?: readonly string[]
    readonly disabledFeatures?: readonly string[]
  }
  return new Set([...externallyManagedFeatures, ...disabledFeatures])
}

const workOf = (
  set: string,
  namespace: string,
  profile: string,
  binding: ManagedClusterProfileBinding,
  entries: readonly (readonly [string, ProfileFeature])[],
): ManifestWork => {
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1))
  const ownerReferences = [
    {
      apiVersion: profileBindings.apiVersion,
      kind: profileBindings.kind,
      name: binding.metadata.name,
      uid: binding.metadata.uid ?? '',
    },
  ]
  return {
    metadata: { name: set, namespace, labels: { [managedLabel]: 'true', [profileLabel]: profile }, ownerReferences },
    spec: {
      workload: { manifests: sorted.map(([name, feature]) => releaseOf(name, feature)) },
      manifestConfigs: sorted.map(([name, feature]) => ({
        resourceIdentifier: {
          group: 'helm.toolkit.fluxcd.io',
          resource: 'helmreleases',
          name,
          namespace: feature.chart?.namespace ?? defaultNamespace,
        },
        feedbackRules: [
          {
            type: 'JSONPaths',
            jsonPaths: ['Ready', 'Released'].map((type) => ({
              name: type,
              path: `.status.conditions[?(@.type=="${type}")].status`,
            })),
          },
        ],
      })),
    },
  }
}

/**
 * 'HelmRelease v2 fields used: chart.spec{chart,version,sourceRef}, install{createNamespace,...}, interval 5m, timeout
 * 30m, releaseName, ...' (note §14).
 */
const releaseOf = (name: string, { featureSet = '', chart, values, valuesFrom }: ProfileFeature): Manifest => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: {
    name,
    namespace: chart?.namespace ?? defaultNamespace,
    labels: { 'app.kubernetes.io/component': name, 'app.kubernetes.io/part-of': featureSet },
  },
  spec: {
    chart: {
      spec: {
        chart: chart?.name ?? name,
        version: chart?.version ?? '',
        sourceRef: { kind: 'HelmRepository', ...chart?.sourceRef },
      },
    },
    install: { createNamespace: chart?.createNamespace ?? true, remediation: { retries: -1 } },
    interval: '5m',
    timeout: '30m',
    releaseName: name,
    storageNamespace: chart?.namespace ?? defaultNamespace,
    targetNamespace: chart?.namespace ?? defaultNamespace,
    ...(values === undefined ? {} : { values }),
    ...(valuesFrom === undefined ? {} : { valuesFrom }),
  },
})
