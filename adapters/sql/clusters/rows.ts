import type { AccountId, ClusterId, UserId } from '../../../core/kernel/ids.ts'
import {
  clusterPhases,
  fromManagerMask,
  hostingProviders,
  phaseReasons,
  toManagerMask,
  type Cluster,
  type ClusterStatus,
  type NewCluster,
} from '../../../core/clusters/types.ts'
import type { Bind } from '../kit/statement.ts'
import type { ObjectRows } from '../kit/object-rows.ts'

/**
 * Where the objects of this part's types are. A hub is the record of a cluster: whether it serves the kinds of a hub
 * shows in its answers.
 */
export const clusterObjectRows: readonly ObjectRows[] = [
  { type: 'cluster', table: 'clusters', owner: 'owner_id', version: 'version', keepsAccount: true },
  { type: 'hub', table: 'clusters', owner: 'owner_id', version: 'version' },
]

/** A row of `clusters` joined with its owner, without the sealed credential. */
export interface ClusterRow {
  readonly id: number
  readonly owner_id: number
  readonly owner_name: string
  readonly owner_kind: string
  readonly name: string
  readonly display_name: string
  readonly uid: string
  readonly external_id: string
  readonly provider: string
  readonly vendor: string
  readonly endpoint: string
  readonly location: string
  readonly project: string
  readonly kubernetes_version: string
  readonly node_count: number
  readonly managers: number
  readonly hub_cluster_uid: string
  readonly managed_cluster_name: string
  readonly cluster_set_name: string
  readonly hub_cluster_name: string | null
  readonly infra_namespace: string
  readonly phase: string
  readonly phase_reason: string
  readonly phase_message: string
  readonly impersonates_users: number
  readonly has_credential: number
  readonly created_at: number
  readonly checked_at: number | null
  readonly imported_by: number | null
  readonly version: number
}

/** Returns a known word. A word written by a newer release is read as the fallback. */
const known = <A extends string>(words: readonly A[], word: string, fallback: A): A =>
  words.find((each) => each === word) ?? fallback

const statusOf = (row: ClusterRow): ClusterStatus => ({
  phase: known(clusterPhases, row.phase, 'Inactive'),
  reason: row.phase_reason === '' ? undefined : known(phaseReasons, row.phase_reason, 'Unknown'),
  message: row.phase_message,
})

export const clusterOf = (row: ClusterRow): Cluster => ({
  id: row.id as ClusterId,
  ownerId: row.owner_id as AccountId,
  ownerName: row.owner_name,
  ownerIsOrganization: row.owner_kind === 'organization',
  name: row.name,
  displayName: row.display_name,
  uid: row.uid,
  externalId: row.external_id,
  provider: known(hostingProviders, row.provider, 'Generic'),
  vendor: row.vendor,
  endpoint: row.endpoint,
  location: row.location,
  project: row.project,
  kubernetesVersion: row.kubernetes_version,
  nodeCount: row.node_count,
  managers: fromManagerMask(row.managers),
  hubClusterUid: row.hub_cluster_uid,
  managedClusterName: row.managed_cluster_name,
  // The set is one of the hub that manages the cluster.
  clusterSetName: row.managed_cluster_name === '' ? '' : row.cluster_set_name,
  hubClusterName: row.hub_cluster_name ?? '',
  infraNamespace: row.infra_namespace,
  status: statusOf(row),
  impersonatesUsers: row.impersonates_users === 1,
  hasCredential: row.has_credential === 1,
  createdAt: new Date(row.created_at),
  checkedAt: row.checked_at === null ? undefined : new Date(row.checked_at),
  importedBy: row.imported_by === null ? undefined : (row.imported_by as UserId),
  version: row.version,
})

/** Columns of a new row, in the order of the table. */
export const newColumns = [
  'owner_id',
  'name',
  'display_name',
  'uid',
  'external_id',
  'provider',
  'vendor',
  'endpoint',
  'location',
  'project',
  'kubernetes_version',
  'node_count',
  'managers',
  'hub_cluster_uid',
  'managed_cluster_name',
  'infra_namespace',
  'phase',
  'phase_reason',
  'phase_message',
  'impersonates_users',
  'ref',
  'sealed_credential',
  'created_at',
  'checked_at',
  'imported_by',
] as const

const cutTo = (text: string, length: number): string => text.slice(0, length)

export const newBinds = (cluster: NewCluster): Record<(typeof newColumns)[number], Bind> => ({
  owner_id: cluster.ownerId,
  name: cluster.name,
  display_name: cluster.displayName,
  uid: cluster.uid,
  external_id: cluster.externalId,
  provider: cluster.provider,
  vendor: cluster.vendor,
  endpoint: cluster.endpoint,
  location: cutTo(cluster.location, 128),
  project: cutTo(cluster.project, 128),
  kubernetes_version: cutTo(cluster.kubernetesVersion, 64),
  node_count: cluster.nodeCount,
  managers: toManagerMask(cluster.managers),
  hub_cluster_uid: cluster.hubClusterUid,
  managed_cluster_name: cluster.managedClusterName,
  infra_namespace: cluster.infraNamespace,
  phase: cluster.status.phase,
  phase_reason: cluster.status.reason ?? '',
  phase_message: cutTo(cluster.status.message, 1000),
  impersonates_users: cluster.impersonatesUsers ? 1 : 0,
  ref: cluster.ref,
  sealed_credential: cluster.sealedCredential ?? null,
  created_at: cluster.createdAt.getTime(),
  checked_at: cluster.checkedAt?.getTime() ?? null,
  imported_by: cluster.importedBy ?? null,
})
