import {
  managedClusterAddOns,
  managedClusters,
  manifestWorks,
  type Kind,
  type KubeObject,
  type ManagedCluster,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { reportStatus } from '../api/object-changes.ts'
import { cleanupPriorityAnnotation, deletingCondition } from '../api/ocm-names.ts'

/** 'OCM's default gc list: managedclusteraddons, then manifestworks' (note §5, remove-managed-cluster). */
const order: readonly Kind<KubeObject>[] = [managedClusterAddOns, manifestWorks]

/** Deletes what is next in the namespace of a cluster that is being deleted; returns true when nothing is left. */
export const deleteContents = async (client: KubeClient, cluster: ManagedCluster): Promise<boolean> => {
  const { name } = cluster.metadata
  for (const kind of order) {
    const { items } = await client.list(kind, { namespace: name })
    if (items.length === 0) continue
    const pending = items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0).length
    await reportDeleting(
      client,
      cluster,
      false,
      'ResourceRemaining',
      `The resource ${kind.plural} is remaning, the remaining count is ${items.length}, the finalizer pending count is ${pending}`,
    )
    for (const each of nextToDelete(items)) await client.remove(kind, each)
    return false
  }
  await reportDeleting(client, cluster, true, 'NoResource', 'No cleaned resource in cluster ns.')
  return true
}

/**
 * 'Lower `cleanup-priority` first, one priority class per pass' (note §5); a value that is no number from 0 to 100 is
 * 0.
 */
const nextToDelete = (items: readonly KubeObject[]): readonly KubeObject[] => {
  const priorityOf = ({ metadata }: KubeObject): number => {
    const text = metadata.annotations?.[cleanupPriorityAnnotation] ?? ''
    const value = /^\d+$/.test(text) ? Number(text) : 0
    return value > 100 ? 0 : value
  }
  const lowest = Math.min(...items.map(priorityOf))
  return items.filter((each) => priorityOf(each) === lowest)
}

/** 'Conditions ...: `Deleting` (reasons ResourceRemaining/NoResource/DeletingError)' (note §3). */
const reportDeleting = async (
  client: KubeClient,
  cluster: ManagedCluster,
  isDone: boolean,
  reason: string,
  message: string,
): Promise<void> => {
  const latest = await client.get(managedClusters, cluster.metadata.name)
  if (latest !== undefined)
    await reportStatus(client, managedClusters, latest, [
      { type: deletingCondition, status: isDone ? 'True' : 'False', reason, message },
    ])
}
