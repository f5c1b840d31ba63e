import type { AccountId, ClusterId, UserId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'

/** The managers of a cluster. The number is the bit in the stored mask; never renumber. */
export const managerBits = {
  Platform: 1,
  OCMHub: 2,
  OCMMulticlusterControlplane: 4,
  OCMSpoke: 8,
  OpenShift: 16,
  Rancher: 32,
  VirtualCluster: 64,
} as const
export type ClusterManager = keyof typeof managerBits

const names = Object.keys(managerBits) as readonly ClusterManager[]

export const toManagerMask = (managers: readonly ClusterManager[]): number =>
  managers.reduce((mask, manager) => mask | managerBits[manager], 0)

/** Returns the managers of a mask in the order of their bits. Unknown bits are ignored. */
export const fromManagerMask = (mask: number): readonly ClusterManager[] =>
  names.filter((manager) => (mask & managerBits[manager]) !== 0)

export const clusterPhases = [
  'Active',
  'Inactive',
  'NotReady',
  'NotConnected',
  'Registered',
  'NotImported',
  'Lost',
] as const
export type ClusterPhase = (typeof clusterPhases)[number]

export const phaseReasons = ['Unknown', 'ClusterNotFound', 'AuthIssue', 'MissingComponent'] as const
export type PhaseReason = (typeof phaseReasons)[number]

/** How this service authenticates to a cluster. */
export type ClusterIdentity =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'certificate'; readonly certificatePem: string; readonly keyPem: Secret }
  /**
   * A token for each user, which is issued by means of the record with that UID, of that account. The token is that of
   * the caller of an opened connection; it is never stored.
   */
  | { readonly kind: 'issued'; readonly issuerId: AccountId; readonly issuerUid: string; readonly token?: Secret }

/** Everything needed to connect to a cluster, as read from a kubeconfig. */
export interface ClusterCredential {
  /** `https://host[:port][/prefix]`, without a trailing slash. */
  readonly server: string
  /** PEM; undefined if a public authority signed the server's certificate. */
  readonly authorityPem: string | undefined
  /** The expected name in the server's certificate, if it differs from the host. */
  readonly tlsServerName: string | undefined
  readonly identity: ClusterIdentity
}

/** What a node's fields say about where it runs. */
export interface NodeFacts {
  readonly providerId: string
  readonly labels: Readonly<Record<string, string>>
}

/** What a survey read from a cluster. */
export interface ClusterSurvey {
  /** UID of the namespace kube-system. */
  readonly uid: string
  readonly kubernetesVersion: string
  readonly isReady: boolean
  /** A sample of the nodes; empty if there are none or they cannot be listed. */
  readonly nodes: readonly NodeFacts[]
  readonly nodeCount: number
  /** Names of the API groups that the cluster serves. */
  readonly groups: readonly string[]
  readonly servesManagedClusters: boolean
  readonly servesDeployments: boolean
  readonly hasKlusterlet: boolean
}

/** The conclusions from a survey. */
export interface ClusterFacts {
  /** UID of the namespace kube-system. */
  readonly uid: string
  readonly provider: HostingProvider
  readonly location: string
  readonly project: string
  readonly kubernetesVersion: string
  readonly nodeCount: number
  readonly managers: readonly ClusterManager[]
  /** Whether `/readyz` returned ok. */
  readonly isReady: boolean
}

export const hostingProviders = [
  'AKS',
  'DigitalOcean',
  'EKS',
  'Exoscale',
  'Generic',
  'GKE',
  'Linode',
  'Akamai',
  'Packet',
  'Rancher',
  'Scaleway',
  'Vultr',
] as const
export type HostingProvider = (typeof hostingProviders)[number]

export interface ClusterStatus {
  readonly phase: ClusterPhase
  readonly reason: PhaseReason | undefined
  /** For display; contains no secret. */
  readonly message: string
}

/** A cluster that an account has imported, without its credential. */
export interface Cluster {
  readonly id: ClusterId
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly ownerIsOrganization: boolean
  readonly name: string
  readonly displayName: string
  readonly uid: string
  readonly externalId: string
  readonly provider: HostingProvider
  readonly vendor: string
  readonly endpoint: string
  readonly location: string
  readonly project: string
  readonly kubernetesVersion: string
  readonly nodeCount: number
  readonly managers: readonly ClusterManager[]
  /** UID of the hub that manages this cluster; empty if none does. */
  readonly hubClusterUid: string
  /** The name under which the hub manages it: that of its ManagedCluster. Empty if no hub does. */
  readonly managedClusterName: string
  /** The cluster set in which that hub had it when it was last observed. Empty if it was in none, or never observed. */
  readonly clusterSetName: string
  /** The name of the owner's record of that hub; empty if there is none. */
  readonly hubClusterName: string
  readonly infraNamespace: string
  readonly status: ClusterStatus
  readonly impersonatesUsers: boolean
  readonly hasCredential: boolean
  readonly createdAt: Date
  readonly checkedAt: Date | undefined
  readonly importedBy: UserId | undefined
  readonly version: number
}

/** A new record; the store assigns id and version. */
export type NewCluster = Omit<
  Cluster,
  'id' | 'version' | 'ownerName' | 'ownerIsOrganization' | 'hasCredential' | 'hubClusterName' | 'clusterSetName'
> & {
  /** The random reference that the sealed credential is bound to. */
  readonly ref: string
  /** Undefined for a spoke that is reached only through its hub. */
  readonly sealedCredential: Uint8Array | undefined
}

/** The fields that may change later. */
export interface ClusterChange {
  readonly displayName?: string
  readonly provider?: HostingProvider
  readonly infraNamespace?: string
  readonly impersonatesUsers?: boolean
  readonly endpoint?: string
  readonly uid?: string
  readonly hubClusterUid?: string
  readonly managedClusterName?: string
  /** A new credential, with the reference that it is bound to. */
  readonly sealed?: { readonly ref: string; readonly box: Uint8Array }
}

/** The state of a record that determines how requests to its cluster are made. */
export interface ClusterLink {
  readonly id: ClusterId
  readonly name: string
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly version: number
  readonly impersonatesUsers: boolean
  /** Set if the record contains no credential and names a hub that manages the cluster. */
  readonly managedBy?: ManagedPlace
}

/** How a hub knows a cluster that it manages. */
export interface ManagedPlace {
  readonly hubClusterUid: string
  readonly managedClusterName: string
  /** The cluster is recorded as its own hub. */
  readonly isOwnHub: boolean
}

/** The API group of the cluster gateway of a hub. */
export const gatewayGroup = 'gateway.open-cluster-management.io'
/** The path of its API. The discovery document there is served exactly if the gateway is installed and answers. */
export const gatewayRoot = `/apis/${gatewayGroup}/v1alpha1`

/** The way to a cluster through the gateway of the hub that manages it. */
export interface GatewayRoute {
  /** The record of the hub, whose credential is used. */
  readonly hub: ClusterLink
  /** The path of the cluster below the hub's server, without a trailing slash. */
  readonly path: string
  /** The name of the cluster on the hub. */
  readonly managedClusterName: string
}

/** A link with an opened credential, from which connections are made. */
export interface ClusterConnection {
  readonly link: ClusterLink
  /** The credential of the record, or that of the hub's record if `via` is set. */
  readonly credential: ClusterCredential
  /**
   * Set if the cluster is reached through its hub. The hub's credential must never be used there without a caller's
   * identity.
   */
  readonly via?: GatewayRoute
}
