import type { AccountId, Brand, OrgId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'

export type ClientOrgId = Brand<number, 'ClientOrgId'>
/** Of an account that a member has on a cluster. */
export type MemberAccountId = Brand<number, 'MemberAccountId'>
export type ClientClusterId = Brand<number, 'ClientClusterId'>

/**
 * `Deleted` is a tombstone: the organization no longer exists, and its name may be used again.
 */
export const clientOrgStates = ['Live', 'Deleting', 'Deleted'] as const
export type ClientOrgState = (typeof clientOrgStates)[number]

/** A customer on shared clusters. */
export interface ClientOrg {
  readonly id: ClientOrgId
  /** The organization. After its deletion no other organization has this id. */
  readonly orgId: OrgId
  /** A DNS label: the name of the organization and of its namespaces. */
  readonly name: string
  /** The owner of the hub that it was created on; sees its tasks and audit rows. */
  readonly vendorId: AccountId
  readonly adminId: UserId
  readonly state: ClientOrgState
  /** Whether clusters of other client organizations may refer to its gateway. */
  readonly isShared: boolean
  /** The lock of the task that works on its clusters; empty if none does. */
  readonly settling: string
  readonly createdAt: Date
}
export type NewClientOrg = Omit<ClientOrg, 'id' | 'state'>

/**
 * `Provisioning` and `Deleting` are work for the task. `Failed`: what was requested is not whole; the same request to
 * add the cluster continues. `Deleted` and `Abandoned` are tombstones: nothing is on the cluster, or what is there was
 * given up after a removal that failed.
 */
export type ClusterState = 'Provisioning' | 'Active' | 'Failed' | 'Deleting' | 'Deleted' | 'Abandoned'

/** Reports whether a client organization has, or is to have, something on a cluster in this state. */
export const holdsObjects = (state: ClusterState): boolean =>
  state === 'Provisioning' || state === 'Active' || state === 'Failed'

/**
 * How members reach a cluster. 1: by one account for all of them, with a token that the cluster stores. 2: by an account
 * for each of them, in a namespace that they cannot write.
 */
export const accountLayout = 2

/** A role of the client's admin on a cluster. */
export interface ClientGrant {
  readonly roleType: 'ClusterRole' | 'Role'
  readonly roleName: string
  /** Namespaces of the client organization. */
  readonly namespaces: readonly string[]
  /** The cluster set through which the role was given; undefined if the cluster itself was named. */
  readonly clusterSet?: string
  /** The name of the binding on the hub; undefined for one that this service chooses. */
  readonly bindingName?: string
}

/** What a client organization is to have on a cluster. */
export interface ClusterPlan {
  /** On the namespace of the organization. */
  readonly annotations: Readonly<Record<string, string>>
  /** Node selector and tolerations of databases. */
  readonly dbProductConfig?: FreeObject
  readonly useGateway: boolean
  readonly gatewayConfig?: FreeObject
  /** The configuration or the preset of a gateway that exists on the cluster: name and namespace. */
  readonly gatewayRef?: FreeObject
  readonly telemetry?: FreeObject
  readonly grants: readonly ClientGrant[]
  /** Whether the cluster is recorded for the client organization, so that its members reach it. */
  readonly importsCluster: boolean
}

/** A cluster of a client organization. */
export interface ClientCluster {
  readonly id: ClientClusterId
  readonly clientOrgId: ClientOrgId
  /** The name of the spoke on its hub, and of the record of the client organization. */
  readonly name: string
  readonly uid: string
  readonly hubOwnerId: AccountId
  readonly hubUid: string
  /** The client organization whose gateway the plan refers to. */
  readonly gatewayOfId: ClientOrgId | undefined
  readonly state: ClusterState
  readonly plan: ClusterPlan
  /** `accountLayout`, or an earlier one. */
  readonly accountLayout: number
  /** Why the last attempt failed, or what it found; empty if nothing is to be said. */
  readonly message: string
  /** Incremented by each request and each change of state. */
  readonly version: number
}
export type NewClientCluster = Omit<ClientCluster, 'id' | 'state' | 'accountLayout' | 'message' | 'version'>

/**
 * Returns the namespaces of a client organization on a cluster: its own, that of its gateway and that of its metrics.
 */
export const namespacesOf = (
  name: string,
  { useGateway }: Pick<ClusterPlan, 'useGateway'>,
): readonly [string, ...string[]] => [
  name,
  ...(useGateway ? [gatewayNamespaceOf(name)] : []),
  monitoringNamespaceOf(name),
]

export const gatewayNamespaceOf = (name: string): string => `${name}-gw`
export const monitoringNamespaceOf = (name: string): string => `${name}-monitoring`

export const clientOrgStatuses = ['Active', 'Deleting', 'Partially Deleted', 'Deleted', 'NotFound'] as const
export type ClientOrgStatus = (typeof clientOrgStatuses)[number]

/**
 * Returns the status of a client organization on one cluster. `present` has its namespaces that exist there; undefined
 * if the cluster does not say.
 */
export const statusOfCluster = (
  name: string,
  { state }: Pick<ClientCluster, 'state'>,
  present: ReadonlySet<string> | undefined,
): ClientOrgStatus => {
  if (state === 'Deleted') return 'Deleted'
  if (state === 'Abandoned') return 'Partially Deleted'
  if (state === 'Failed') return present?.has(name) === false ? 'NotFound' : 'Active'
  if (state !== 'Deleting') return 'Active'
  // Without namespaces there may be accounts, and the record: `Deleted` is the end of the task alone.
  if (present === undefined || present.has(name) || present.size === 0) return 'Deleting'
  return 'Partially Deleted'
}

/**
 * Returns the status of a client organization from those of its clusters. A cluster on which nothing was made does not
 * count.
 */
export const statusOfAll = (state: ClientOrgState, clusters: readonly ClientOrgStatus[]): ClientOrgStatus => {
  const counted = new Set(clusters.filter((status) => status !== 'NotFound'))
  if (counted.size === 0) return ({ Live: 'Active', Deleting: 'Deleting', Deleted: 'Deleted' } as const)[state]
  if (counted.has('Deleting') || (state === 'Deleting' && counted.has('Deleted'))) return 'Deleting'
  const [only, ...others] = counted
  return only === undefined || others.length > 0 ? 'Partially Deleted' : only
}

/**
 * Reports whether a client organization may have this name: a DNS label of at most 40 characters, and not that of a
 * namespace of Kubernetes or of another client organization.
 */
export const isClientName = (text: string): boolean =>
  /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(text) &&
  text !== 'default' &&
  // The namespace of the accounts of all client organizations.
  text !== 'moorage-clients' &&
  !text.startsWith('kube-') &&
  ![gatewayNamespaceOf(''), monitoringNamespaceOf('')].some((ending) => text.endsWith(ending))

/** Returns the audit row of a change to a client organization. It is in the log of the owner of the hub. */
export const auditOf = defineAudit(
  'client_org',
  [
    'client_org.created',
    'client_org.cluster_requested',
    'client_org.cluster_ready',
    'client_org.cluster_removal_requested',
    'client_org.cluster_removed',
    'client_org.cluster_abandoned',
    'client_org.accounts_renewed',
    'client_org.account_removed',
    'client_org.deletion_requested',
    'client_org.deleted',
  ],
  ({ orgId, name, vendorId }: Pick<ClientOrg, 'orgId' | 'name' | 'vendorId'>) => ({
    objectId: orgId,
    objectName: name,
    tenantId: vendorId,
  }),
)
