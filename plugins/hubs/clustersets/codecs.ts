import * as t from 'io-ts'
import { inCluster } from '../../clusters/codecs.ts'
import { User } from '../../identity/codecs.ts'
import {
  answer,
  described,
  DnsLabel,
  freeText,
  int32,
  listOf,
  naming,
  optional,
  plainValue,
  request,
} from '../../kit/codecs.ts'

/** The cluster sets that are bound to each namespace. */
export const BoundNamespaces = t.record(t.string, t.readonlyArray(t.string))
export const BindNamespaceOptions = request(
  {
    clusterSet: described(DnsLabel, 'The name of the cluster set.'),
    namespace: described(DnsLabel, 'The name of the namespace on the hub.'),
  },
  'BindNamespaceOptions',
)

/** Parts of paths that lead to a cluster set of a hub. */
export const inClusterSet = {
  ...inCluster,
  clusterset: described(naming(DnsLabel, 'clusterset', 'name'), 'The name of the cluster set on the hub.'),
}
export const ClusterSetPath = request(inClusterSet, 'ClusterSetPath')
/** An unknown type is ignored. */
export const AvailableSetsQuery = request(
  {
    type: described(
      optional(plainValue(freeText(64))),
      '`client-org` for the sets in which an organization of a client can be placed; any other value is ignored, ' +
        'and all sets are listed.',
    ),
  },
  'AvailableSetsQuery',
)

export const ListClusterSetResp = answer(
  {
    clusterSetName: described(t.string, 'The name of the cluster set.'),
    clusterSetTitle: described(t.string, 'The title of the profile of the set; empty for a set without a profile.'),
    clusters: described(int32(0), 'The number of managed clusters that the set selects.'),
  },
  'ListClusterSetResp',
)
export const ClustersResp = answer(
  {
    name: described(t.string, 'The name of the cluster on the hub.'),
    displayName: described(
      t.string,
      'The name of the cluster for people, from its import; the name on the hub if it is not imported.',
    ),
    clusterNode: described(int32(0), 'The number of nodes at the last check of the cluster; 0 if it is not imported.'),
    provider: described(t.string, 'The hosting provider, from its import; `Generic` if it is not imported.'),
    kubernetesVersion: described(t.string, 'The version of Kubernetes, as `v1.34.2`; empty if it is not known.'),
    imported: described(t.boolean, 'Whether the owner of the hub has imported the cluster.'),
  },
  'ClustersResp',
)
/** The users to whom each role is bound. */
export const UsersByRole = t.record(t.string, t.readonlyArray(User))

/** As many as a hub is expected to manage. */
const maxClusters = 1000
export const CreateClusterSetOptions = request(
  {
    clusterSet: described(DnsLabel, 'The name of the new cluster set.'),
    clusters: described(
      optional(listOf(DnsLabel, maxClusters)),
      'The names of the managed clusters to add to it, at most 1,000; none by default.',
    ),
  },
  'CreateClusterSetOptions',
)
export const DeleteClusterSetOptions = request(
  {
    clusterSet: described(DnsLabel, 'The name of the cluster set to delete.'),
  },
  'DeleteClusterSetOptions',
)
export const ClusterSetOptions = request(
  {
    clusterSet: described(DnsLabel, 'The name of the cluster set.'),
    clusters: described(
      listOf(DnsLabel, maxClusters, 1),
      'The names of the managed clusters to add or remove, 1 to 1,000.',
    ),
  },
  'ClusterSetOptions',
)
