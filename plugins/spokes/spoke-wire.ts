import type * as t from 'io-ts'
import type { HubSummary } from '../../core/spokes/hub-summaries.ts'
import { hasNoWorkloads } from '../../core/spokes/hub-summaries.ts'
import type { ManagedCluster } from '../../core/spokes/managed-clusters.ts'
import { shortAge } from '../../core/kernel/clock.ts'
import type { HubCluster, ManagedClusterInfo } from './codecs.ts'

export const toHubCluster = ({ cluster, spokes, addOns, nodes }: HubSummary, now: Date): t.TypeOf<typeof HubCluster> => ({
  name: cluster.name,
  ownerName: cluster.ownerName,
  displayName: cluster.displayName,
  hubClusterUID: cluster.uid,
  spokeClusters: spokes,
  addOns,
  clusterNode: nodes,
  provider: cluster.provider,
  hubType: hasNoWorkloads(cluster) ? 'OCM-MC' : 'OCM',
  locations: cluster.location,
  age: shortAge(cluster.createdAt, now),
  createdAt: cluster.createdAt,
})

export const toManagedClusterInfo = ({ name, url, uid, clusterSet }: ManagedCluster): t.TypeOf<typeof ManagedClusterInfo> => ({
  name,
  clusterURL: url,
  clusterUID: uid,
  clusterSet,
})
