import type { HubKind } from './ports.ts'

const uiApi = 'ui.k8s.appscode.com/v1alpha1'
const profileApi = 'profile.k8s.appscode.com/v1alpha1'
const accountApi = 'authentication.k8s.appscode.com'
const rightsApi = 'authorization.k8s.appscode.com/v1alpha1'

/**
 * The names of the distribution whose controllers act on hubs and spokes: API groups, keys and the features that it cannot do
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
    /** A user of this platform on a hub. */
    account: { apiVersion: `${accountApi}/v1alpha1`, kind: 'Account', plural: 'accounts' },
    /** A role on one spoke, in whose namespace it is. */
    spokeRoleBinding: { apiVersion: rightsApi, kind: 'ManagedClusterRoleBinding', plural: 'managedclusterrolebindings' },
    /** A role on the spokes of a cluster set. */
    setRoleBinding: { apiVersion: rightsApi, kind: 'ManagedClusterSetRoleBinding', plural: 'managedclustersetrolebindings' },
  } satisfies Readonly<Record<string, HubKind>>,
  /** The name of a user's Account, and the user that requests through the hub have. */
  userPrefix: 'ace.user.',
  /** The key under which an Account and a request have the id of the organization. */
  organizationKey: 'ace.appscode.com/org-id',
  /** The label on a role binding with its user: the id, or the name of the user's Account. */
  userLabel: `${accountApi}/user`,
  /** The label on an Account with the id of the account of this platform to whose members it belongs. */
  ownerLabel: `${accountApi}/hub-owner`,
  /** The prefix of a set of clusters that are imported with a profile; the rest of its name is the name of the profile. */
  profileSetPrefix: 'cp-',
  /** The add-on that installs the GitOps engine on a spoke. */
  gitOpsAddOn: 'fluxcd-addon',
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
