import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Identified, Identify, IdentifyFailure, SealCredential } from './identify.ts'
import { judge } from './phase.ts'
import { ClusterMismatch, ClusterMissing, type ClusterStore, type ClusterTransport, type ClusterUnitOfWork } from './ports.ts'
import type { StillAllowed } from './still-allowed.ts'
import type { Cluster, ClusterChange, HostingProvider } from './types.ts'

/** What a caller wants changed; what is undefined stays. */
export interface ClusterWish {
  /** Repeated in the body: must be the name in the path. */
  readonly name: string | undefined
  readonly displayName: string | undefined
  readonly provider: HostingProvider | undefined
  readonly infraNamespace: string | undefined
  readonly impersonatesUsers: boolean | undefined
  readonly claimedOwnerId?: number | undefined
  readonly claimedUid?: string | undefined
  /** Replaces the stored credential, if it leads to the same cluster. */
  readonly accessConfig: string | undefined
}

export type ChangeFailure = IdentifyFailure | Failure<'ClusterMissing'> | Failure<'ClusterMismatch'> | Failure<'ClusterChanged'> | Failure<'AccessDenied'>

/** What is wrong with a name in the body of a request about the cluster of this name; undefined when nothing is. */
export const nameMismatch = (name: string, claimed: string | undefined): string | undefined =>
  claimed === undefined || claimed === '' || claimed === name ? undefined : 'A cluster keeps the name in the path; the name in the body is another.'

const mismatchOf = (cluster: Cluster, wish: ClusterWish): string | undefined => {
  const misnamed = nameMismatch(cluster.name, wish.name)
  if (misnamed !== undefined) return misnamed
  if (wish.claimedOwnerId !== undefined && wish.claimedOwnerId !== cluster.ownerId) return 'basicInfo.ownerID is not the account in the path.'
  if (wish.claimedUid !== undefined && wish.claimedUid !== cluster.uid) return 'basicInfo.clusterUID is not the UID of this cluster.'
  return undefined
}

const changeOf = (wish: ClusterWish): ClusterChange => ({
  ...(wish.displayName === undefined || wish.displayName === '' ? {} : { displayName: wish.displayName }),
  ...(wish.provider === undefined ? {} : { provider: wish.provider }),
  ...(wish.infraNamespace === undefined ? {} : { infraNamespace: wish.infraNamespace }),
  ...(wish.impersonatesUsers === undefined ? {} : { impersonatesUsers: wish.impersonatesUsers }),
})

interface Deps {
  readonly clusters: Pick<ClusterStore, 'get'>
  readonly identify: Identify
  readonly seal: SealCredential
  readonly clock: Clock
  readonly stillAllowed: StillAllowed
  readonly transport: Pick<ClusterTransport, 'forget'>
  readonly unitOfWork: ClusterUnitOfWork
}

/** Changes a record and, when an access config is given, its credential. Connections made before are cut then. */
export const makeChangeCluster = (deps: Deps) => {
  const identifySame = async (call: SignedInCall<never>, cluster: Cluster, accessConfig: string): Outcome<ChangeFailure, Identified> => {
    const identified = await deps.identify(accessConfig, call.signal)
    if (isLeft(identified)) return identified
    if (identified.right.facts.uid !== cluster.uid) return left(ClusterMismatch('The access config leads to another cluster than the one that was imported.'))
    const still = await deps.stillAllowed(call, { type: 'cluster', owner: cluster.ownerName, name: cluster.name }, 'can_reconfigure')
    return isLeft(still) ? still : identified
  }

  const write = async (call: SignedInCall<Cluster>, cluster: Cluster, wish: ClusterWish, found: Identified | undefined): Outcome<ChangeFailure, Cluster> => {
    // A new reference with each credential: what was sealed before can never be put back in its place unnoticed.
    const sealed = found === undefined ? undefined : await deps.seal(cluster.ownerId, found.credential)
    const change: ClusterChange = {
      ...changeOf(wish),
      ...(found === undefined || sealed === undefined ? {} : { endpoint: found.credential.server, sealed }),
    }
    return deps.unitOfWork.run<ChangeFailure, Cluster>(call, async ({ clusters, audit }) => {
      const changed = await clusters.change(cluster.id, cluster.version, change)
      if (isLeft(changed)) return changed
      const { sealed: replaced, ...plain } = change
      await audit.record({
        action: replaced === undefined ? 'cluster.changed' : 'cluster.connected',
        objectType: 'cluster',
        objectId: cluster.id,
        objectName: cluster.name,
        tenantId: cluster.ownerId,
        changes: { ...plain, credentialReplaced: replaced !== undefined },
      })
      if (found === undefined) return changed
      const { facts } = found
      const status = judge(cluster.uid, { kind: 'answered', facts })
      const checkedAt = deps.clock.now()
      await clusters.observe(cluster.id, status, facts, checkedAt)
      const { kubernetesVersion, nodeCount, managers } = facts
      return right({ ...changed.right, status, checkedAt, kubernetesVersion, nodeCount, managers })
    })
  }

  return async (call: SignedInCall<Cluster>, id: ClusterId, wish: ClusterWish): Outcome<ChangeFailure, Cluster> => {
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(ClusterMissing('There is no such cluster.'))
    const mismatch = mismatchOf(cluster, wish)
    if (mismatch !== undefined) return left(ClusterMismatch(mismatch))
    const found = wish.accessConfig === undefined || wish.accessConfig === '' ? undefined : await identifySame(call, cluster, wish.accessConfig)
    if (found !== undefined && isLeft(found)) return found
    const changed = await write(call, cluster, wish, found?.right)
    if (isLeft(changed)) return changed
    await deps.transport.forget(id)
    return changed
  }
}
