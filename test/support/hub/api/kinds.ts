/** What all objects of a Kubernetes API have. */
interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly generateName?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
  }[]
}

export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

/** A resource of the API, and the type that its objects have here. */
export interface Kind<Object extends KubeObject> {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
  /** Carries the type only. */
  readonly example?: Object
}

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime?: string
  readonly observedGeneration?: number
}

const inCluster = <Object extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural = `${kind.toLowerCase()}s`,
): Kind<Object> => ({ apiVersion, kind, plural, isNamespaced: false })
const inNamespace = <Object extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural = `${kind.toLowerCase()}s`,
): Kind<Object> => ({ apiVersion, kind, plural, isNamespaced: true })

export interface ManagedCluster extends KubeObject {
  readonly spec?: {
    readonly hubAcceptsClient?: boolean
    readonly leaseDurationSeconds?: number
    readonly managedClusterClientConfigs?: readonly { readonly url: string; readonly caBundle?: string }[]
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly timeAdded?: string }[]
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly version?: { readonly kubernetes?: string }
    readonly clusterClaims?: readonly { readonly name: string; readonly value: string }[]
  }
}
export const managedClusters = inCluster<ManagedCluster>('cluster.open-cluster-management.io/v1', 'ManagedCluster')

export interface ManagedClusterSet extends KubeObject {
  readonly spec?: {
    readonly clusterSelector?: { readonly selectorType?: string; readonly labelSelector?: LabelSelector }
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}
export const managedClusterSets = inCluster<ManagedClusterSet>(
  'cluster.open-cluster-management.io/v1beta2',
  'ManagedClusterSet',
)

export interface ManagedClusterSetBinding extends KubeObject {
  readonly spec: { readonly clusterSet: string }
  readonly status?: { readonly conditions?: readonly Condition[] }
}
export const managedClusterSetBindings = inNamespace<ManagedClusterSetBinding>(
  'cluster.open-cluster-management.io/v1beta2',
  'ManagedClusterSetBinding',
)

export const managedClusterAddOns = inNamespace('addon.open-cluster-management.io/v1alpha1', 'ManagedClusterAddOn')

export interface Manifest extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>
}
export interface ManifestWork extends KubeObject {
  readonly spec: {
    readonly workload?: { readonly manifests?: readonly Manifest[] }
    readonly manifestConfigs?: readonly {
      readonly resourceIdentifier: {
        readonly group?: string
        readonly resource: string
        readonly name: string
        readonly namespace?: string
      }
      readonly feedbackRules?: readonly {
        readonly jsonPaths?: readonly { readonly name: string; readonly path: string }[]
      }[]
    }[]
  }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly resourceStatus?: unknown }
}
export const manifestWorks = inNamespace<ManifestWork>('work.open-cluster-management.io/v1', 'ManifestWork')

export interface AppliedManifestWork extends KubeObject {
  readonly spec: { readonly hubHash: string; readonly agentID: string; readonly manifestWorkName: string }
}
export const appliedManifestWorks = inCluster<AppliedManifestWork>(
  'work.open-cluster-management.io/v1',
  'AppliedManifestWork',
)

export interface Klusterlet extends KubeObject {
  readonly spec?: {
    readonly clusterName?: string
    readonly namespace?: string
    readonly externalServerURLs?: readonly { readonly url: string }[]
    readonly registrationConfiguration?: { readonly clusterAnnotations?: Readonly<Record<string, string>> }
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}
export const klusterlets = inCluster<Klusterlet>('operator.open-cluster-management.io/v1', 'Klusterlet')

/** A feature of a profile: a chart of a feature set, with values. */
export interface ProfileFeature {
  readonly featureSet?: string
  readonly chart?: {
    readonly name: string
    readonly namespace?: string
    readonly createNamespace?: boolean
    readonly version?: string
    readonly sourceRef: Readonly<Record<string, string>>
  }
  readonly values?: unknown
  readonly valuesFrom?: readonly unknown[]
}
export interface ManagedClusterSetProfile extends KubeObject {
  readonly spec?: { readonly features?: Readonly<Record<string, ProfileFeature>> }
}
export const setProfiles = inCluster<ManagedClusterSetProfile>(
  'profile.k8s.appscode.com/v1alpha1',
  'ManagedClusterSetProfile',
)

export interface ManagedClusterProfileBinding extends KubeObject {
  readonly spec: {
    readonly profileRef: { readonly name: string }
    readonly clusterMetadata: {
      readonly uid: string
      readonly name: string
      readonly clusterManagers: readonly string[]
    }
    readonly opscenterFeaturesVersion?: string
    readonly features?: Readonly<Record<string, ProfileFeature>>
  }
  readonly status?: { readonly phase?: string; readonly observedOpscenterFeaturesVersion?: string }
}
export const profileBindings = inNamespace<ManagedClusterProfileBinding>(
  'profile.k8s.appscode.com/v1alpha1',
  'ManagedClusterProfileBinding',
)

export interface Account extends KubeObject {
  readonly spec?: { readonly username?: string; readonly uid?: string }
  readonly status?: { readonly phase?: string }
}
export const accounts = inCluster<Account>('authentication.k8s.appscode.com/v1alpha1', 'Account')

export interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string }
}
export const leases = inNamespace<Lease>('coordination.k8s.io/v1', 'Lease')

export interface CertificateSigningRequest extends KubeObject {
  readonly spec: {
    readonly signerName: string
    readonly request: string
    readonly usages: readonly string[]
    readonly expirationSeconds?: number
    readonly username?: string
    readonly groups?: readonly string[]
  }
  readonly status?: { readonly conditions?: readonly { readonly type: string }[]; readonly certificate?: string }
}
export const signingRequests = inCluster<CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'CertificateSigningRequest',
)

export interface Namespace extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] }
  readonly status?: { readonly phase?: string }
}
export const namespaces = inCluster<Namespace>('v1', 'Namespace')

export interface Secret extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}
export const secrets = inNamespace<Secret>('v1', 'Secret')

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
export const configMaps = inNamespace<ConfigMap>('v1', 'ConfigMap')
export const serviceAccounts = inNamespace('v1', 'ServiceAccount')

interface RoleRef {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
  readonly subjects: readonly {
    readonly kind: string
    readonly name: string
    readonly apiGroup?: string
    readonly namespace?: string
  }[]
}
export interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}
interface Rules {
  readonly rules: readonly Rule[]
}
export interface ClusterClaim extends KubeObject {
  readonly spec?: { readonly value?: string }
}
export const clusterClaims = inCluster<ClusterClaim>('cluster.open-cluster-management.io/v1alpha1', 'ClusterClaim')
export const clusterRoles = inCluster<KubeObject & Rules>('rbac.authorization.k8s.io/v1', 'ClusterRole')
export const clusterRoleBindings = inCluster<KubeObject & RoleRef>('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding')
export const roleBindings = inNamespace<KubeObject & RoleRef>('rbac.authorization.k8s.io/v1', 'RoleBinding')
export const spokeRoleBindings = inNamespace<KubeObject & RoleRef>(
  'authorization.k8s.appscode.com/v1alpha1',
  'ManagedClusterRoleBinding',
)
