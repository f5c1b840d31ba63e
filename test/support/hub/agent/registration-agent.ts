import { clusterClaims, leases, managedClusters, type ClusterClaim, type ManagedCluster } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { isTrue, reportStatus } from '../api/object-changes.ts'
import {
  acceptedCondition,
  availableCondition,
  defaultLeaseSeconds,
  joinedCondition,
  leaseName,
} from '../api/ocm-names.ts'
import { watchObjects } from '../api/watched-objects.ts'
import { microTime } from '../controllers/accept-clusters.ts'
import type { AgentFixture } from './spoke-agent.ts'

/**
 * Reports the spoke to the hub. Resolves when the agent ends, or is to register again. An agent with a certificate does
 * not: it waits until its ManagedCluster is back.
 */
export const runRegistrationAgent = (fixture: AgentFixture, client: KubeClient): Promise<void> => {
  const { cluster, signal, state } = fixture
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  const claimed =
    fixture.claimsOfSpoke === true && fixture.spoke !== undefined
      ? watchObjects<ClusterClaim>(fixture.spoke, clusterClaims, { onChange: () => status.add(cluster), signal })
      : undefined
  const claims = (): Readonly<Record<string, string>> =>
    Object.fromEntries((claimed?.all() ?? []).map(({ metadata, spec }) => [metadata.name, spec?.value ?? '']))
  const status = fixture.reconciler({
    name: `status of ${cluster}`,
    reconcile: () => reportSpoke(fixture, claims(), client, watched.get(cluster)),
  })
  const lease = fixture.reconciler({
    name: `lease of ${cluster}`,
    reconcile: () => renewLease(client, watched.get(cluster)),
  })
  const watched = watchObjects<ManagedCluster>(client, managedClusters, {
    selection: { fieldSelector: `metadata.name=${cluster}` },
    onChange: (object, isGone) => {
      if (isGone) {
        if (fixture.registersAgain === true) resolve()
        return
      }
      status.add(cluster)
      if (isTrue(object, acceptedCondition) && !isRenewing) {
        isRenewing = true
        lease.add(cluster)
      }
    },
    signal,
  })
  let isRenewing = false
  state.onChange(() => status.add(cluster))
  return promise
}

/**
 * 'Claims in `status.clusterClaims`: ... each claim value max 1024 chars' (note §3), the reserved one first; conditions
 * Joined and Available are the agent's.
 */
const reportSpoke = async (
  { claims = {}, kubernetesVersion = 'v1.34.0', state }: AgentFixture,
  ofSpoke: Readonly<Record<string, string>>,
  client: KubeClient,
  cluster: ManagedCluster | undefined,
): Promise<void> => {
  if (cluster === undefined || !isTrue(cluster, acceptedCondition)) return
  const custom = Object.entries({ ...claims, ...ofSpoke, ...state.claims() }).sort(([one], [other]) =>
    one < other ? -1 : 1,
  )
  const isReserved = ([name]: readonly [string, string]): boolean => name === 'id.k8s.io'
  const all = [...custom.filter(isReserved), ...custom.filter((each) => !isReserved(each))].filter(
    ([, value]) => value.length <= 1024,
  )
  await reportStatus(
    client,
    managedClusters,
    cluster,
    [
      { type: joinedCondition, status: 'True', reason: 'ManagedClusterJoined', message: 'Managed cluster joined' },
      {
        type: availableCondition,
        status: 'True',
        reason: 'ManagedClusterAvailable',
        message: 'Managed cluster is available',
      },
    ],
    { version: { kubernetes: kubernetesVersion }, clusterClaims: all.map(([name, value]) => ({ name, value })) },
  )
}

/** 'Lease `managed-cluster-lease` in the cluster ns' (note §3): renewed once in `leaseDurationSeconds`. */
const renewLease = async (client: KubeClient, cluster: ManagedCluster | undefined): Promise<number> => {
  const milliseconds = 1_000 * (cluster?.spec?.leaseDurationSeconds || defaultLeaseSeconds)
  if (cluster === undefined || !isTrue(cluster, acceptedCondition)) return milliseconds
  const lease = await client.get(leases, leaseName, cluster.metadata.name)
  // The hub makes it a moment after it has accepted the cluster.
  if (lease === undefined) return 100
  await client.replace(leases, { ...lease, spec: { ...lease.spec, renewTime: microTime() } })
  return milliseconds
}
