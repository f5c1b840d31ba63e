import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { checkClusterName } from './cluster-name.ts'
import type { Identified, Identify, IdentifyFailure, SealCredential } from './identify.ts'
import { judge } from './phase.ts'
import { ClusterAlreadyImported, ClusterMismatch, type ClusterUnitOfWork } from './ports.ts'
import type { StillAllowed } from './still-allowed.ts'
import type { Cluster, HostingProvider, NewCluster } from './types.ts'

/** What a caller says about a cluster before it is known. */
export interface ClusterClaim {
  /** The account in the path, which authorization has checked. */
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly name: string | undefined
  readonly displayName: string | undefined
  readonly provider: HostingProvider | undefined
  readonly accessConfig: string | undefined
  readonly externalId: string
  readonly project: string
  readonly location: string
  readonly hubClusterUid: string
  readonly infraNamespace: string
  readonly impersonatesUsers: boolean
  /** Repeated in the body; must agree with the path and the cluster where given. */
  readonly claimedOwnerId: number | undefined
  readonly claimedUid: string | undefined
}

export type ImportFailure =
  | IdentifyFailure
  | Failure<'ClusterNameInvalid'>
  | Failure<'ClusterNameTaken'>
  | Failure<'ClusterAlreadyImported'>
  | Failure<'ClusterMismatch'>
  | Failure<'AccessDenied'>

/** Whether what the body repeats agrees with what is true. */
export const agrees = (claim: Pick<ClusterClaim, 'ownerId' | 'claimedOwnerId' | 'claimedUid'>, uid: string): Either<Failure<'ClusterMismatch'>, void> => {
  if (claim.claimedOwnerId !== undefined && claim.claimedOwnerId !== claim.ownerId)
    return left(ClusterMismatch('basicInfo.ownerID is not the account in the path.'))
  if (claim.claimedUid !== undefined && claim.claimedUid !== uid)
    return left(ClusterMismatch('basicInfo.clusterUID is not the UID of the cluster that the access config leads to.'))
  return right(undefined)
}

/** What would be recorded for a claim, were it imported now. */
export const candidate = (claim: ClusterClaim, name: string, { credential, facts }: Identified, at: Date) => ({
  ownerId: claim.ownerId,
  name,
  displayName: claim.displayName === undefined || claim.displayName === '' ? name : claim.displayName,
  uid: facts.uid,
  externalId: claim.externalId,
  provider: claim.provider ?? facts.provider,
  vendor: '',
  endpoint: credential.server,
  location: claim.location === '' ? facts.location : claim.location,
  project: claim.project === '' ? facts.project : claim.project,
  kubernetesVersion: facts.kubernetesVersion,
  nodeCount: facts.nodeCount,
  managers: facts.managers,
  hubClusterUid: claim.hubClusterUid,
  infraNamespace: claim.infraNamespace,
  status: judge(facts.uid, { kind: 'answered', facts }),
  impersonatesUsers: claim.impersonatesUsers,
  createdAt: at,
  checkedAt: at,
})

/** Records a cluster under an owner, with its credential sealed. The cluster is asked before anything is written. */
export const makeImportCluster = (deps: {
  readonly identify: Identify
  readonly seal: SealCredential
  readonly clock: Clock
  readonly stillAllowed: StillAllowed
  readonly unitOfWork: ClusterUnitOfWork
}) =>
  async (call: SignedInCall<Cluster>, claim: ClusterClaim): Outcome<ImportFailure, Cluster> => {
    const name = checkClusterName(claim.name ?? '')
    if (isLeft(name)) return name
    // Before the network: a claim for someone else must not cause a single connection.
    const own = agrees({ ...claim, claimedUid: undefined }, '')
    if (isLeft(own)) return own
    const identified = await deps.identify(claim.accessConfig, call.signal)
    if (isLeft(identified)) return identified
    const agreed = agrees(claim, identified.right.facts.uid)
    if (isLeft(agreed)) return agreed
    const still = await deps.stillAllowed(call, { type: 'account', name: claim.ownerName }, 'can_import_clusters')
    if (isLeft(still)) return still
    const sealed = await deps.seal(claim.ownerId, identified.right.credential)
    const record: NewCluster = {
      ...candidate(claim, name.right, identified.right, deps.clock.now()),
      importedBy: call.principal.userId,
      ref: sealed.ref,
      sealedCredential: sealed.box,
    }
    return deps.unitOfWork.run<ImportFailure, Cluster>(call, async ({ clusters, audit }) => {
      const known = await clusters.findByUid(record.ownerId, record.uid)
      if (known !== undefined && known.name !== record.name)
        return left(ClusterAlreadyImported(`This cluster is already imported as ${known.name}.`))
      const inserted = await clusters.insert(record)
      if (isLeft(inserted)) return inserted
      const { id } = inserted.right
      await audit.record({
        action: 'cluster.imported',
        objectType: 'cluster',
        objectId: id,
        objectName: record.name,
        tenantId: record.ownerId,
        changes: { uid: record.uid, endpoint: record.endpoint, provider: record.provider, impersonatesUsers: record.impersonatesUsers },
      })
      return inserted
    })
  }
