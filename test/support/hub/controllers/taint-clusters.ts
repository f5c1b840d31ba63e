import { managedClusters } from '../api/kinds.ts'
import { conditionOf } from '../api/object-changes.ts'
import { availableCondition } from '../api/ocm-names.ts'
import type { HubFixture } from './hub-fixture.ts'

const prefix = 'cluster.open-cluster-management.io'

/**
 * The taint of a cluster that is not available. No reader of the API needs it, but it is a change of the object by the
 * hub a moment after it was created, so that a resource version goes stale as on a real hub (note §4, Writes).
 */
export const runTaintController = (fixture: HubFixture): void => {
  const { client, clusters } = fixture
  const { add } = fixture.reconciler({
    name: 'taint',
    reconcile: async (name) => {
      const cluster = clusters.get(name)
      if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return
      const status = conditionOf(cluster, availableCondition)?.status
      const wanted = status === 'True' ? undefined : `${prefix}/${status === 'False' ? 'unavailable' : 'unreachable'}`
      const taints = cluster.spec?.taints ?? []
      const ours = taints.filter(({ key }) => key === `${prefix}/unavailable` || key === `${prefix}/unreachable`)
      if (ours.length === (wanted === undefined ? 0 : 1) && ours.every(({ key }) => key === wanted)) return
      const added =
        wanted === undefined
          ? []
          : [{ key: wanted, effect: 'NoSelect', timeAdded: new Date().toISOString().replace(/\.\d+Z$/, 'Z') }]
      await client.patch(managedClusters, cluster, {
        metadata: { resourceVersion: cluster.metadata.resourceVersion },
        spec: { taints: [...taints.filter((each) => !ours.includes(each)), ...added] },
      })
    },
  })
  fixture.onClusterChange(({ metadata }) => add(metadata.name))
}
