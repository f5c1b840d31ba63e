import { leases, managedClusters, manifestWorks, namespaces, type ManagedCluster } from '../api/kinds.ts'
import { KubeRefusal, type KubeClient } from '../api/kube-client.ts'
import { addFinalizers, isTrue, reportStatus } from '../api/object-changes.ts'
import {
  acceptedCondition,
  apiCleanupFinalizer,
  clusterNameLabel,
  leaseName,
  resourceCleanupFinalizer,
} from '../api/ocm-names.ts'
import {
  applyClusterRole,
  grantAgentRights,
  releaseWorkBinding,
  revokeClusterRole,
  revokeNamespaceRights,
} from './cluster-rbac.ts'
import type { HubFixture } from './hub-fixture.ts'
import { deleteContents } from './delete-contents.ts'

const againMilliseconds = 100

/** Acceptance, denial and deletion of managed clusters. */
export const runClusterController = (fixture: HubFixture): void => {
  const { client, clusters } = fixture
  /**
   * The UIDs of clusters whose agents have their rights: nothing is to be done for them until they are denied or
   * deleted.
   */
  const granted = new Set<string>()
  const { add } = fixture.reconciler({
    name: 'managed cluster',
    reconcile: async (name) => {
      const cluster = clusters.get(name)
      if (cluster === undefined) return removeRights(client, name)
      const { deletionTimestamp, uid = '' } = cluster.metadata
      if (deletionTimestamp !== undefined) return finishDeletion(client, cluster)
      if (cluster.spec?.hubAcceptsClient !== true) {
        granted.delete(uid)
        return denyCluster(client, cluster)
      }
      if (granted.has(uid) && isTrue(cluster, acceptedCondition)) return
      if (await acceptCluster(client, cluster)) granted.add(uid)
      return
    },
  })
  fixture.onClusterChange(({ metadata }) => add(metadata.name))
}

/**
 * 'What a hub then does: namespace `<cluster>` labelled cluster-name, ClusterRole/Binding, RoleBindings
 * `...:registration` and `...:work`, finalizer, condition HubAccepted' (note §5, accept-spoke). The hub makes the lease
 * that the agent renews. Returns true when all of it is done.
 */
const acceptCluster = async (client: KubeClient, cluster: ManagedCluster): Promise<boolean> => {
  const { name } = cluster.metadata
  const labels = { [clusterNameLabel]: name }
  const kept = await addFinalizers(client, managedClusters, cluster, resourceCleanupFinalizer, apiCleanupFinalizer)
  if (kept === undefined) return false
  try {
    if (!(await client.createIfMissing(namespaces, { metadata: { name, labels } })))
      await client.patch(namespaces, { metadata: { name } }, { metadata: { labels } })
    await grantAgentRights(client, name)
  } catch (cause) {
    // A name with a dot is no name of a namespace.
    if (!(cause instanceof KubeRefusal && (cause.status === 422 || cause.status === 403))) throw cause
    await reportStatus(client, managedClusters, kept, [
      { type: acceptedCondition, status: 'False', reason: 'Error', message: cause.message },
    ])
    return false
  }
  await client.createIfMissing(leases, {
    metadata: { name: leaseName, namespace: name, labels },
    spec: { holderIdentity: leaseName, renewTime: microTime() },
  })
  await reportStatus(client, managedClusters, kept, [
    {
      type: acceptedCondition,
      status: 'True',
      reason: 'HubClusterAdminAccepted',
      message: 'Accepted by hub cluster admin',
    },
  ])
  return true
}

/** The form of times in a lease. */
export const microTime = (): string => new Date().toISOString().replace('Z', '000Z')

/**
 * A cluster that was accepted before loses its rights; one that was never accepted gets no condition (`accept-spoke`
 * reads the spec, note §5).
 */
const denyCluster = async (client: KubeClient, cluster: ManagedCluster): Promise<number | undefined> => {
  // 'Finalizers `...api-resource-cleanup` and `.../resource-cleanup` on ManagedCluster' (note §3, Keys); the second on
  // every one.
  const kept = await addFinalizers(client, managedClusters, cluster, resourceCleanupFinalizer)
  if (kept === undefined || !isTrue(cluster, acceptedCondition)) return
  const { name } = cluster.metadata
  await applyClusterRole(client, name, false)
  await revokeNamespaceRights(client, name)
  if (await hasWorks(client, name)) return againMilliseconds
  await releaseWorkBinding(client, name)
  await reportStatus(client, managedClusters, kept, [
    {
      type: acceptedCondition,
      status: 'False',
      reason: 'HubClusterAdminDenied',
      message: 'Denied by hub cluster admin',
    },
  ])
  return
}

/**
 * 'DELETE managedcluster ...; hub controllers gc the RBAC, finalizers' (note §5, remove-managed-cluster). The rights go
 * at once, except that for works; the contents of the namespace go in their order. The namespace itself and the lease
 * stay.
 */
const finishDeletion = async (client: KubeClient, cluster: ManagedCluster): Promise<number | undefined> => {
  const { name } = cluster.metadata
  const [isEmpty, again] = [await deleteContents(client, cluster), await removeRights(client, name)]
  const done = [...(isEmpty ? [resourceCleanupFinalizer] : []), ...(again === undefined ? [apiCleanupFinalizer] : [])]
  const latest = await client.get(managedClusters, name)
  if (latest === undefined) return
  const { finalizers = [], resourceVersion } = latest.metadata
  const left = finalizers.filter((each) => !done.includes(each))
  if (left.length < finalizers.length)
    await client.patch(managedClusters, latest, { metadata: { resourceVersion, finalizers: left } })
  return isEmpty && again === undefined ? undefined : againMilliseconds
}

/** Returns when to look again, while ManifestWorks keep the binding for works. */
const removeRights = async (client: KubeClient, name: string): Promise<number | undefined> => {
  await revokeClusterRole(client, name)
  await revokeNamespaceRights(client, name)
  if (await hasWorks(client, name)) return againMilliseconds
  await releaseWorkBinding(client, name)
  return
}

const hasWorks = async (client: KubeClient, cluster: string): Promise<boolean> =>
  (await client.list(manifestWorks, { namespace: cluster })).items.length > 0
