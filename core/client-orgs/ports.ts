import type { ClusterDependents, ClusterStore } from '../clusters/ports.ts'
import type { UserStore } from '../identity/ports.ts'
import type { IdentityChanges } from '../identity/ports.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { OrganizationFounder, OrganizationStore } from '../organizations/ports.ts'
import type { Organization } from '../organizations/types.ts'
import type { TaskStores } from '../tasks/ports.ts'
import type {
  ClientCluster,
  ClientClusterId,
  ClientOrg,
  ClientOrgId,
  ClientOrgState,
  ClusterState,
  MemberAccountId,
  NewClientCluster,
  NewClientOrg,
} from './types.ts'

/** No client organization has this id. */
export const ClientOrgMissing = defineFailure(
  'ClientOrgMissing',
  'NotFound',
  'No client organization has this id, or it was deleted.',
)
/**
 * A user or an organization has this name, or the deletion of the client organization of this name has not finished.
 */
export const ClientOrgExists = defineFailure(
  'ClientOrgExists',
  'Conflict',
  'A user or an organization has this name, also a client organization whose deletion has not finished.',
)
/** The request contradicts the state of the client organization, or of what it names. */
export const ClientOrgInvalid = defineFailure(
  'ClientOrgInvalid',
  'Invalid',
  'What the request names does not exist, or does not permit the request.',
)
/** A field of the body is not valid. */
export const ClientOrgRefused = defineFailure(
  'ClientOrgRefused',
  'Unprocessable',
  'A field of the body is not valid, or names something that cannot be used.',
)
/** Something of another organization depends on the client organization. */
export const ClientOrgInUse = defineFailure(
  'ClientOrgInUse',
  'Invalid',
  'A cluster of another client organization refers to its gateway, or it owns objects that must be removed first.',
)

/** Client organizations and their clusters. */
export interface ClientOrgStore extends ClusterDependents {
  /**
   * By name, without those that are deleted. With `hubOwner` only those that have a cluster of a hub of that account.
   */
  list(hubOwner: string | undefined, page: PageRequest): Promise<Page<Organization>>
  /** Returns the client organization of that name, also a deleted one. Names compare as they are. */
  find(name: string): Promise<ClientOrg | undefined>
  findByOrg(orgId: OrgId): Promise<ClientOrg | undefined>
  /** Returns every cluster, also the tombstones, by name. */
  clustersOf(id: ClientOrgId): Promise<readonly ClientCluster[]>
  /**
   * Returns the client organization that has this namespace, as its own or that of its gateway or metrics, on the
   * cluster with this UID.
   */
  ofNamespace(clusterUid: string, namespace: string): Promise<ClientOrg | undefined>
  /**
   * Returns at most `limit` client organizations whose clusters refer to the gateway of this one. Tombstones do not
   * count.
   */
  gatewayUsers(id: ClientOrgId, limit: number): Promise<readonly string[]>
  /**
   * Returns at most `limit` clusters of an earlier account layout on which a client organization has something, above an
   * id, in the order of their ids.
   */
  clustersToRenew(after: ClientClusterId, limit: number): Promise<readonly OwnedCluster[]>
  /** Returns the users who have accounts on a cluster, or are about to get them. */
  accountsOf(id: ClientClusterId): Promise<readonly UserId[]>
  /**
   * Returns the cluster by which an organization reaches the cluster with this UID, and the account of the user there;
   * undefined if it has nothing there, or is being removed.
   */
  findAccess(
    orgId: OrgId,
    uid: string,
    userId: UserId | undefined,
  ): Promise<{ readonly clusterId: ClientClusterId; readonly accountId: MemberAccountId | undefined } | undefined>
  /** Returns the cluster with its client organization. */
  findCluster(id: ClientClusterId): Promise<OwnedCluster | undefined>
  /** Records that a user gets an account, before it is made. Does nothing if it is recorded. */
  addAccount(id: ClientClusterId, userId: UserId): Promise<void>
  /**
   * Returns at most `limit` accounts, above an id, that must not exist any more: of users who are neither active members
   * nor active site admins, and of clusters from which the client organization was removed.
   */
  strayAccounts(after: MemberAccountId, limit: number): Promise<readonly MemberAccount[]>
  /** Deletes the row, after the account was removed from the cluster. */
  removeAccount(id: MemberAccountId): Promise<void>
}

/** A cluster with its client organization. */
export interface OwnedCluster {
  readonly cluster: ClientCluster
  readonly clientOrg: ClientOrg
}

/** An account of a user on a cluster. */
export interface MemberAccount {
  readonly id: MemberAccountId
  readonly clusterId: ClientClusterId
  readonly userId: UserId
}

export const ClientOrgStorePort = portKey<ClientOrgStore>('client-orgs.Store')

/** The same in a transaction. */
export interface ClientOrgChanges extends ClientOrgStore {
  /** Locks the row until the transaction ends. Returns undefined if it does not exist. */
  lock(id: ClientOrgId): Promise<ClientOrg | undefined>
  /** Inserts a client organization that is `Live`. A tombstone of its name is removed, with its clusters. */
  insert(clientOrg: NewClientOrg): Promise<ClientOrgId>
  setState(id: ClientOrgId, state: ClientOrgState): Promise<void>
  setSettling(id: ClientOrgId, settling: string): Promise<void>
  /** Inserts a cluster that is `Provisioning`. */
  insertCluster(cluster: NewClientCluster): Promise<void>
  /** Writes the plan of a cluster that failed or was deleted, and makes it `Provisioning`. */
  replanCluster(id: ClientClusterId, cluster: NewClientCluster): Promise<void>
  setAccountLayout(id: ClientClusterId, layout: number): Promise<void>
  setClusterState(id: ClientClusterId, state: ClusterState, message: string): Promise<void>
  /** Sets the state only if the cluster has this version. Returns false if it does not. */
  moveCluster(cluster: Pick<ClientCluster, 'id' | 'version'>, state: ClusterState, message: string): Promise<boolean>
}

/** The stores of a change to client organizations, in one transaction. */
export interface ClientOrgStores extends TaskStores, Pick<IdentityChanges, 'emails' | 'mail'> {
  readonly clientOrgs: ClientOrgChanges
  readonly organizations: Pick<OrganizationStore, 'blockingObjects' | 'findById' | 'lock' | 'remove'>
  readonly founder: OrganizationFounder
  readonly users: UserStore
  readonly clusters: ClusterStore
  readonly audit: AuditTrail
}
export type ClientOrgUnitOfWork = UnitOfWork<ClientOrgStores>
export const ClientOrgUnitOfWorkPort = portKey<ClientOrgUnitOfWork>('client-orgs.UnitOfWork')
