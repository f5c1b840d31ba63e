import { isLeft } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ClusterStore } from '../ports.ts'
import type { Cluster } from '../types.ts'
import type { Hubs } from './ports.ts'
import { managedClusterKind } from './ports.ts'

/** The claim of a ManagedCluster with the UID of the namespace kube-system of its cluster. */
const uidClaim = 'id.k8s.io'

/** Returns the value of a claim that a spoke reported to its hub; empty if there is none. */
export const claimIn = (managedCluster: FreeObject, name: string): string =>
  textAt(listAt(managedCluster, 'status', 'clusterClaims').find((claim) => textAt(claim, 'name') === name), 'value')

/** The hub that manages a cluster, and the name under which it does. */
export interface FoundHub {
  readonly hub: Cluster
  readonly managedClusterName: string
}

/**
 * Returns the hub of the same account whose ManagedCluster has the UID of the cluster. Hubs that the caller may not view, or
 * that do not respond, are skipped.
 */
export const makeFindHub = (deps: { readonly clusters: Pick<ClusterStore, 'listOf'>; readonly authorizer: Authorizer; readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, cluster: Pick<Cluster, 'ownerId' | 'uid'>): Promise<FoundHub | undefined> => {
    // The agent of a plain spoke reports no UID: such a spoke has no UID to compare, as has a record that was never surveyed.
    if (cluster.uid === '') return undefined
    for (const hub of await deps.clusters.listOf(cluster.ownerId)) {
      if (!hub.managers.includes('OCMHub') || call.signal.aborted) continue
      const grant = await deps.authorizer.authorize(call.principal, { type: 'hub', account: hub.ownerName, name: hub.name }, 'can_view')
      if (isLeft(grant)) continue
      const opened = await deps.hubs.open(call, grant.right)
      if (isLeft(opened)) continue
      const managed = await opened.right.list(managedClusterKind)
      if (isLeft(managed)) continue
      const same = managed.right.find(({ body, isDeleting }) => !isDeleting && claimIn(body, uidClaim) === cluster.uid)
      if (same !== undefined) return { hub, managedClusterName: same.name }
    }
    return undefined
  }
export type FindHub = ReturnType<typeof makeFindHub>
