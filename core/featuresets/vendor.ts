import type { HubKind } from '../clusters/hubs/ports.ts'

const uiApi = 'ui.k8s.appscode.com/v1alpha1'
const profileApi = 'profile.k8s.appscode.com/v1alpha1'

/**
 * The names of the feature distribution whose controllers act on hubs and spokes: API groups, keys and the features that it cannot do
 * without. Everything that is specific to it is here; the names of Open Cluster Management and Flux are not.
 */
export const distribution = {
  kinds: {
    feature: { apiVersion: uiApi, kind: 'Feature', plural: 'features' },
    featureSet: { apiVersion: uiApi, kind: 'FeatureSet', plural: 'featuresets' },
    clusterProfile: { apiVersion: uiApi, kind: 'ClusterProfile', plural: 'clusterprofiles' },
    /** What is installed on a cluster set; it has the name of the set. */
    setProfile: { apiVersion: profileApi, kind: 'ManagedClusterSetProfile', plural: 'managedclustersetprofiles' },
    /** What is installed on one spoke; namespace and name are the name of the spoke. */
    profileBinding: { apiVersion: profileApi, kind: 'ManagedClusterProfileBinding', plural: 'managedclusterprofilebindings' },
  } satisfies Readonly<Record<string, HubKind>>,
  /** The claim of a spoke that lists its features, as YAML. */
  featuresClaim: 'features.ace.info',
  /** The label on objects that come from a set profile; the value is its name. */
  profileLabel: 'cluster.appscode.com/profile',
  /** The feature that carries the catalogue; its version is that of the whole suite. */
  suiteFeature: 'opscenter-features',
  /** The feature set whose required features cannot be disabled. */
  coreFeatureSet: 'opscenter-core',
  /** The controllers act on no set profile without these features. */
  coreFeatures: ['opscenter-features', 'kube-ui-server'],
  /** In the spec of a binding: the suite version that the spoke stays at. Empty: it follows the set profile. */
  pinnedVersion: 'opscenterFeaturesVersion',
  /** In the status of a binding: the suite version that the spoke has. */
  observedVersion: 'observedOpscenterFeaturesVersion',
} as const

/** A release that Flux installs. */
export const helmReleaseKind: HubKind = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', plural: 'helmreleases' }
/** The objects that a hub sends to a spoke, and what the spoke reports of them. */
export const manifestWorkKind: HubKind = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'ManifestWork', plural: 'manifestworks' }
/** The label on a release with the name of its feature. */
export const componentLabel = 'app.kubernetes.io/component'
