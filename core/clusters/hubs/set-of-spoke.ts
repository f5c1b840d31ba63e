import { isLeft } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import { textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ClusterStore } from '../ports.ts'
import type { Cluster } from '../types.ts'
import type { Hubs } from './ports.ts'
import { clusterSetLabel, managedClusterKind } from './ports.ts'

/** How long a hub may take. The set is shown beside other facts, which do not wait longer for it. */
const patienceMilliseconds = 2_500

/**
 * Reads from the hub of a cluster in which cluster set it is. Returns empty text if it is in none, or the hub does not manage it, and
 * undefined if that is not known: no hub is recorded, the caller may not view it, or it does not respond.
 */
export const makeReadSetOfSpoke = ({ authorizer, clusters, hubs }: { readonly authorizer: Authorizer; readonly clusters: Pick<ClusterStore, 'findByUid'>; readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, { ownerId, hubClusterUid, managedClusterName: name }: Cluster): Promise<string | undefined> => {
    const record = hubClusterUid === '' || name === '' ? undefined : await clusters.findByUid(ownerId, hubClusterUid)
    if (record === undefined) return undefined
    const grant = await authorizer.authorize(call.principal, { type: 'hub', account: record.ownerName, name: record.name }, 'can_view')
    if (isLeft(grant)) return undefined
    const hub = await hubs.open({ ...call, signal: AbortSignal.timeout(patienceMilliseconds) }, grant.right)
    const managed = isLeft(hub) ? hub : await hub.right.get(managedClusterKind, { name })
    return isLeft(managed) ? undefined : textAt(managed.right?.body, 'metadata', 'labels', clusterSetLabel)
  }
export type ReadSetOfSpoke = ReturnType<typeof makeReadSetOfSpoke>
