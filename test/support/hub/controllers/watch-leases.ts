import { leases, managedClusters, type Lease } from '../api/kinds.ts'
import { conditionOf, reportStatus } from '../api/object-changes.ts'
import {
  acceptedCondition,
  availableCondition,
  clockCondition,
  clusterNameLabel,
  defaultLeaseSeconds,
  leaseName,
} from '../api/ocm-names.ts'
import { watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from './hub-fixture.ts'

const missedRenewals = 5

/**
 * 'Lease `managed-cluster-lease` in the cluster ns; no renewal for 5 x leaseDurationSeconds (default 60):
 * Available=Unknown' (note §3). A renewal also shows that the clocks of both agree.
 */
export const runLeaseController = (fixture: HubFixture): void => {
  const { client, owns, signal, clusters } = fixture
  const { add } = fixture.reconciler({
    name: 'lease',
    reconcile: async (name) => {
      const cluster = clusters.get(name)
      if (cluster === undefined || conditionOf(cluster, acceptedCondition) === undefined) return
      const graceMilliseconds = missedRenewals * 1_000 * (cluster.spec?.leaseDurationSeconds || defaultLeaseSeconds)
      const lease = watched.get(`${name}/${leaseName}`)
      const isDeleting = cluster.metadata.deletionTimestamp !== undefined
      if (lease === undefined && !isDeleting) return
      const left = lease === undefined ? 0 : Date.parse(lease.spec?.renewTime ?? '') + graceMilliseconds - Date.now()
      if (left > 0) {
        await reportStatus(client, managedClusters, cluster, [
          {
            type: clockCondition,
            status: 'True',
            reason: 'ManagedClusterClockSynced',
            message: 'The clock of the managed cluster is synced with the hub.',
          },
        ])
        return left
      }
      if (conditionOf(cluster, availableCondition)?.status !== 'Unknown') {
        await reportStatus(client, managedClusters, cluster, [
          {
            type: availableCondition,
            status: 'Unknown',
            reason: 'ManagedClusterLeaseUpdateStopped',
            message: 'Registration agent stopped updating its lease.',
          },
        ])
      }
      return
    },
  })
  const watched = watchObjects<Lease>(client, leases, {
    selection: { labelSelector: clusterNameLabel },
    keeps: ({ metadata }) => metadata.name === leaseName && owns(metadata.namespace ?? ''),
    onChange: ({ metadata }) => add(metadata.namespace ?? ''),
    signal,
  })
  fixture.onClusterChange(({ metadata }) => add(metadata.name))
}
