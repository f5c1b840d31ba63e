import type { ManagedCluster } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import type { Reconciler, ReconcilerOptions } from '../api/reconciler.ts'
import type { WatchedObjects } from '../api/watched-objects.ts'

/** What the controllers of one test hub share. */
export interface HubFixture {
  /** As the admin of the hub. */
  readonly client: KubeClient
  /** True for the names of this test hub: other test files have theirs on the same server. */
  readonly owns: (name: string) => boolean
  readonly signal: AbortSignal
  readonly clusters: WatchedObjects<ManagedCluster>
  /** Called for each change of a cluster of this hub. */
  readonly onClusterChange: (listener: (cluster: ManagedCluster, isGone: boolean) => void) => void
  /** Makes a reconciler that stops with the hub. */
  readonly reconciler: (options: ReconcilerOptions) => Reconciler
}
