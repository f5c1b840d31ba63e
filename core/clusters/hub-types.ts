import type { AccountId, UserId } from '../kernel/ids.ts'
import { at, listAt, textAt } from '../kernel/json.ts'
import type { ImpersonatedUser } from './ports.ts'
import type { HubEdit, HubKind, HubObject } from './hubs/ports.ts'

const uiApi = 'ui.k8s.appscode.com/v1alpha1'
const profileApi = 'profile.k8s.appscode.com/v1alpha1'
const accountApi = 'authentication.k8s.appscode.com'
const rightsApi = 'authorization.k8s.appscode.com/v1alpha1'

/**
 * The names of the distribution whose controllers act on hubs and spokes: API groups, keys and the features that it
 * cannot do without. Everything that is specific to it is here; the names of Open Cluster Management and Flux are not.
 */
export const distribution = {
  kinds: {
    feature: { apiVersion: uiApi, kind: 'Feature', plural: 'features' },
    featureSet: { apiVersion: uiApi, kind: 'FeatureSet', plural: 'featuresets' },
    clusterProfile: { apiVersion: uiApi, kind: 'ClusterProfile', plural: 'clusterprofiles' },
    /** What is installed on a cluster set; it has the name of the set. */
    setProfile: { apiVersion: profileApi, kind: 'ManagedClusterSetProfile', plural: 'managedclustersetprofiles' },
    /** What is installed on one spoke; namespace and name are the name of the spoke. */
    profileBinding: {
      apiVersion: profileApi,
      kind: 'ManagedClusterProfileBinding',
      plural: 'managedclusterprofilebindings',
    },
    /** A user of this platform on a hub. */
    account: { apiVersion: `${accountApi}/v1alpha1`, kind: 'Account', plural: 'accounts' },
    /** A role on one spoke, in whose namespace it is. */
    spokeRoleBinding: {
      apiVersion: rightsApi,
      kind: 'ManagedClusterRoleBinding',
      plural: 'managedclusterrolebindings',
    },
    /** A role on the spokes of a cluster set. */
    setRoleBinding: {
      apiVersion: rightsApi,
      kind: 'ManagedClusterSetRoleBinding',
      plural: 'managedclustersetrolebindings',
    },
  } satisfies Readonly<Record<string, HubKind>>,
  /** The name of a user's Account, and the user that requests through the hub have. */
  userPrefix: 'ace.user.',
  /** The key under which an Account and a request have the id of the organization. */
  organizationKey: 'ace.appscode.com/org-id',
  /**
   * The label on the namespace of a client organization, which has the name of the organization: `true`, or
   * `terminating`.
   */
  clientOrgLabel: 'ace.appscode.com/client-org',
  /** The label on a role binding with its user: the id, or the name of the user's Account. */
  userLabel: `${accountApi}/user`,
  /** The label on an Account with the id of the account of this platform to whose members it belongs. */
  ownerLabel: `${accountApi}/hub-owner`,
  /**
   * The prefix of a set of clusters that are imported with a profile; the rest of its name is the name of the profile.
   */
  profileSetPrefix: 'cp-',
  /** The add-on that installs the GitOps engine on a spoke. */
  gitOpsAddOn: 'fluxcd-addon',
  /**
   * The claim of a spoke with its name, UID and managers, as YAML. The controllers give features to no cluster set with
   * a spoke that lacks it.
   */
  infoClaim: 'cluster.ace.info',
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
  /** What brings the namespaces and the bootstrap of the suite to every spoke: works for many of this namespace. */
  bootstrap: { namespace: 'open-cluster-management-addon', names: ['ace-namespace', 'ace-bootstrap'] },
  /** In the spec of a binding: the suite version that the spoke stays at. Empty: it follows the set profile. */
  pinnedVersion: 'opscenterFeaturesVersion',
  /** In the status of a binding: the suite version that the spoke has. */
  observedVersion: 'observedOpscenterFeaturesVersion',
} as const

/** Returns the name of a user on a hub. It has the id: a login can change. */
export const hubUserName = (userId: UserId): string => `${distribution.userPrefix}${userId}`

/** Returns the identity that a user has on the hubs of an account. Groups come from the user's Account there. */
export const hubIdentity = (userId: UserId, accountId: AccountId): ImpersonatedUser => ({
  login: hubUserName(userId),
  groups: [],
  extra: { [distribution.organizationKey]: String(accountId) },
})

/**
 * Kinds of Kubernetes and of Open Cluster Management that several parts use on hubs and spokes. Those of one part are
 * in that part.
 */
export const configMapKind: HubKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
export const secretKind: HubKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
export const serviceAccountKind: HubKind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' }
/** On a spoke: the agents of one hub. */
export const klusterletKind: HubKind = {
  apiVersion: 'operator.open-cluster-management.io/v1',
  kind: 'Klusterlet',
  plural: 'klusterlets',
}
/** The objects that a hub sends to a spoke, in the namespace of the spoke, and what the spoke reports of them. */
export const manifestWorkKind: HubKind = {
  apiVersion: 'work.open-cluster-management.io/v1',
  kind: 'ManifestWork',
  plural: 'manifestworks',
}

/** On a hub: a work that is sent to many spokes. */
export const manifestWorkReplicaSetKind: HubKind = {
  apiVersion: 'work.open-cluster-management.io/v1alpha1',
  kind: 'ManifestWorkReplicaSet',
  plural: 'manifestworkreplicasets',
}

/** On a spoke: what the agents report to the hub as `status.clusterClaims`. */
export const clusterClaimKind: HubKind = {
  apiVersion: 'cluster.open-cluster-management.io/v1alpha1',
  kind: 'ClusterClaim',
  plural: 'clusterclaims',
}
export const clusterRoleKind: HubKind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
}

/** On objects that this service makes on hubs and spokes. */
export const managedByLabel = 'app.kubernetes.io/managed-by'
export const managedByValue = 'moorage'

/** Reports whether this service has made an object. */
export const isMadeByUs = ({ body }: Pick<HubObject, 'body'>): boolean =>
  textAt(body, 'metadata', 'labels', managedByLabel) === managedByValue

/**
 * The label that tells one role binding of a hub from all others. When a binding is deleted, the agent on a spoke deletes
 * every role and binding there that has all labels of the deleted one: without labels, everything.
 */
export const bindingLabel = 'app.kubernetes.io/instance'

/** Returns what a role binding of a hub needs before it is deleted; undefined if it has the label. */
export const uniqueLabelFor = ({ uid, body }: Pick<HubObject, 'uid' | 'body'>): HubEdit | undefined =>
  textAt(body, 'metadata', 'labels', bindingLabel) === ''
    ? { merge: { metadata: { labels: { [bindingLabel]: uid } } } }
    : undefined

/** The cluster role on a spoke with the rights that the work agent needs for feature sets. */
export const workRoleName = 'moorage:feature-releases'

/** Where the operator of the agents is on a spoke, and the bootstrap account on a hub. */
export const operatorNamespace = 'open-cluster-management'
/** Where the agents are on a spoke, unless their Klusterlet says otherwise. */
export const agentNamespace = 'open-cluster-management-agent'
/** The kubeconfig with which agents ask to join, in their namespace. */
export const bootstrapSecret = 'bootstrap-hub-kubeconfig'
/** What a hub publishes for clusters that join it. */
export const publicNamespace = 'kube-public'

/** The claim of a ManagedCluster with the UID of the namespace kube-system of its cluster. */
export const uidClaim = 'id.k8s.io'

/** Returns the value of a claim that a spoke reported to its hub; undefined if there is none. */
export const claimText = ({ body }: Pick<HubObject, 'body'>, name: string): string | undefined => {
  const claim = listAt(body, 'status', 'clusterClaims').find((each) => textAt(each, 'name') === name)
  return claim === undefined ? undefined : textAt(claim, 'value')
}

/** Reports whether a hub knows the identity of a spoke: its controllers give features to no other. */
export const isIdentified = (managed: Pick<HubObject, 'body'>): boolean =>
  claimText(managed, distribution.infoClaim) !== undefined

/** Returns the UID that a spoke claims; empty if its agent does not publish it, as that of a plain spoke. */
export const claimedUid = (cluster: Pick<HubObject, 'body'>): string => claimText(cluster, uidClaim) ?? ''

/**
 * Returns the address that a spoke states for its own API server; empty if it states none. Pages show it as a link, so
 * only an address of HTTP is taken: a spoke may state any text.
 */
export const statedUrl = ({ body }: Pick<HubObject, 'body'>): string => {
  const url = textAt(listAt(body, 'spec', 'managedClusterClientConfigs')[0], 'url')
  return /^https?:\/\/[^\s\u0000-\u001f\u007f-\u009f"'<>\\`]{1,2000}$/i.test(url) && URL.canParse(url) ? url : ''
}

/** Reports whether the hub has accepted a spoke. The condition of that name is later than the decision. */
export const isAccepted = ({ body }: Pick<HubObject, 'body'>): boolean => at(body, 'spec', 'hubAcceptsClient') === true
