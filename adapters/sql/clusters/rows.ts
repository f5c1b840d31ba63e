import {
  clusterPhases,
  hostingProviders,
  phaseReasons,
  type Cluster,
  type ClusterLink,
  type ClusterStatus,
  type NewCluster,
} from '../../../core/clusters/types.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, cutTo, flag, orElse, pick, qualified, selectedAs, without } from '../kit/columns.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import { clusters } from '../tables/clusters.ts'
import { accounts } from '../tables/identity.ts'

/**
 * Where the objects of this part's types are. A hub is the record of a cluster: whether it serves the kinds of a hub
 * shows in its answers.
 */
export const clusterObjectRows: readonly ObjectRows[] = [
  { type: 'cluster', table: 'clusters', owner: 'owner_id', version: 'version', keepsAccount: true },
  { type: 'hub', table: 'clusters', owner: 'owner_id', version: 'version' },
]

const owner = aliased(accounts, 'a')
const hasCredential = computed(flag(), 'case when c.sealed_credential is null then 0 else 1 end')

/** A cluster `c` with its owner `a`, without the sealed credential. The query selects the name of its hub. */
export const clusterRow = {
  ...qualified(without(clusters, 'ref', 'sealedCredential'), 'c'),
  ownerName: owner.name,
  ownerKind: owner.kind,
  hubClusterName: selectedAs(orElse(clusters.name, '')),
  hasCredential,
}

/** Returns a known word. A word written by a newer release is read as the fallback. */
const known = <A extends string>(words: readonly A[], word: A, fallback: A): A =>
  words.find((each) => each === word) ?? fallback

const statusOf = ({ phase, phaseReason, phaseMessage }: Row<typeof clusterRow>): ClusterStatus => ({
  phase: known(clusterPhases, phase, 'Inactive'),
  reason: phaseReason === '' ? undefined : known(phaseReasons, phaseReason, 'Unknown'),
  message: phaseMessage,
})

export const clusterOf = (row: Row<typeof clusterRow>): Cluster => {
  const { phase: _phase, phaseReason: _reason, phaseMessage: _message, ownerKind, ...cluster } = row
  return {
    ...cluster,
    ownerIsOrganization: ownerKind === 'organization',
    provider: known(hostingProviders, cluster.provider, 'Generic'),
    // The set is one of the hub that manages the cluster.
    clusterSetName: cluster.managedClusterName === '' ? '' : cluster.clusterSetName,
    status: statusOf(row),
  }
}

/** What requests to a cluster depend on, of a cluster `c` with its owner `a`. */
export const linkRow = {
  ...pick(
    aliased(clusters, 'c'),
    'id',
    'name',
    'ownerId',
    'version',
    'impersonatesUsers',
    'uid',
    'hubClusterUid',
    'managedClusterName',
  ),
  ownerName: owner.name,
  hasCredential,
}

export const linkOf = (row: Row<typeof linkRow>): ClusterLink => {
  const { uid, hubClusterUid, managedClusterName, hasCredential: isDirect, ...link } = row
  const isManaged = !isDirect && hubClusterUid !== '' && managedClusterName !== ''
  return {
    ...link,
    ...definedFields({
      managedBy: isManaged ? { hubClusterUid, managedClusterName, isOwnHub: hubClusterUid === uid } : undefined,
    }),
  }
}

/** Returns the columns of a status. */
export const statusColumns = ({ phase, reason, message }: ClusterStatus) => ({
  phase,
  phaseReason: reason ?? ('' as const),
  phaseMessage: cutTo(clusters.phaseMessage, message),
})

/** Returns the columns of a new row. */
export const newColumns = ({ status, ...cluster }: NewCluster) => ({
  ...cluster,
  ...statusColumns(status),
  location: cutTo(clusters.location, cluster.location),
  project: cutTo(clusters.project, cluster.project),
  kubernetesVersion: cutTo(clusters.kubernetesVersion, cluster.kubernetesVersion),
})
