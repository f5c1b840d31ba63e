import * as t from 'io-ts'
import { User } from '../identity/codecs.ts'
import { answer, DnsLabel, freeText, int32, listOf, optional, PathName, request } from '../kit/codecs.ts'

/** The cluster sets that are bound to each namespace. */
export const BoundNamespaces = t.record(t.string, t.readonlyArray(t.string))
export const BindNamespaceOptions = request({ clusterSet: DnsLabel, namespace: DnsLabel }, 'BindNamespaceOptions')

export const ClusterSetPath = request({ owner: PathName, cluster: PathName, clusterset: DnsLabel }, 'ClusterSetPath')
/** An unknown type is ignored. */
export const AvailableSetsQuery = request({ type: optional(freeText(64)) }, 'AvailableSetsQuery')

export const ListClusterSetResp = answer({ clusterSetName: t.string, clusterSetTitle: t.string, clusters: int32(0) }, 'ListClusterSetResp')
export const ClustersResp = answer(
  { name: t.string, displayName: t.string, clusterNode: int32(0), provider: t.string, kubernetesVersion: t.string, imported: t.boolean },
  'ClustersResp',
)
/** The users to whom each role is bound. */
export const UsersByRole = t.record(t.string, t.readonlyArray(User))

/** As many as a hub is expected to manage. */
const maxClusters = 1000
export const CreateClusterSetOptions = request({ clusterSet: DnsLabel, clusters: optional(listOf(DnsLabel, maxClusters)) }, 'CreateClusterSetOptions')
export const DeleteClusterSetOptions = request({ clusterSet: DnsLabel }, 'DeleteClusterSetOptions')
export const ClusterSetOptions = request({ clusterSet: DnsLabel, clusters: listOf(DnsLabel, maxClusters, 1) }, 'ClusterSetOptions')
