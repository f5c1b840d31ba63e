import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId, ClusterId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Tasks } from '../tasks/ports.ts'
import type { StillAllowed } from './clusters.ts'
import type { Identified, Identify, IdentifyFailure, SealCredential } from './connections.ts'
import type { ClusterImportWatcher, ClusterStore, ClusterTaskUnitOfWork } from './ports.ts'
import { ClusterAlreadyImported, ClusterMismatch } from './ports.ts'
import type { RecordTaskFailure } from './record-tasks.ts'
import { auditOf, prepareRecordTask } from './record-tasks.ts'
import { judge, notImported } from './status.ts'
import type { Cluster, HostingProvider, NewCluster } from './types.ts'

/** The name is not a valid cluster name. */
export const ClusterNameInvalid = defineFailure(
  'ClusterNameInvalid',
  'Unprocessable',
  'The cluster name is reserved, or it is not a DNS label of a permitted length.',
)

/** Words that are reserved in paths at the position of a cluster's name. */
const reservedClusterNames: ReadonlySet<string> = new Set([
  'all-clusters',
  'check',
  'has-hub',
  'hub-info',
  'hubs',
  'import',
  'validate',
  'vcluster',
])

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Accepts a DNS-1123 label of at most 63 characters that is not a reserved word. @internal */
export const checkClusterName = (name: string): Either<Failure<'ClusterNameInvalid'>, string> => {
  if (!dnsLabel.test(name))
    return left(
      ClusterNameInvalid(
        'The cluster name must be 1 to 63 lower-case letters, digits and hyphens, beginning and ending ' +
          'with a letter or digit.',
      ),
    )
  if (reservedClusterNames.has(name)) return left(ClusterNameInvalid(`The cluster name ${name} is reserved.`))
  return right(name)
}

/** What a caller states about a cluster before it is surveyed. */
export interface ClusterClaim {
  /** The account in the path, already authorized. */
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
  /** From the body; if given, must match the path and the cluster. */
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

/** Checks that the values repeated in the body are correct. */
const agrees = (
  claim: Pick<ClusterClaim, 'ownerId' | 'claimedOwnerId' | 'claimedUid'>,
  uid: string,
): Either<Failure<'ClusterMismatch'>, void> => {
  if (claim.claimedOwnerId !== undefined && claim.claimedOwnerId !== claim.ownerId)
    return left(ClusterMismatch('basicInfo.ownerID is not the account in the path.'))
  if (claim.claimedUid !== undefined && claim.claimedUid !== uid)
    return left(ClusterMismatch('basicInfo.clusterUID is not the UID of the cluster that the access config leads to.'))
  return right(undefined)
}

/** Returns the record that an import of the claim would create. */
const candidate = (claim: ClusterClaim, name: string, { credential, facts }: Identified, at: Date) => ({
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
  managedClusterName: '',
  infraNamespace: claim.infraNamespace,
  status: judge(facts.uid, { kind: 'answered', facts }),
  impersonatesUsers: claim.impersonatesUsers,
  createdAt: at,
  checkedAt: at,
})

export interface ImportClusterInput {
  readonly claim: ClusterClaim
  /** The components that are requested. None is installed: the task says so. */
  readonly components: readonly string[]
  /** The client's `response-id` for the task that reports the import. */
  readonly responseId: string | undefined
}

/**
 * Records a cluster under an owner, with its sealed credential, and submits the task that reports the import and finds
 * the hub of a spoke, both in one transaction. The cluster is contacted before anything is written.
 */
export const makeImportCluster =
  (deps: {
    readonly identify: Identify
    readonly seal: SealCredential
    readonly clock: Clock
    readonly stillAllowed: StillAllowed
    readonly tasks: Pick<Tasks, 'prepare'>
    readonly unitOfWork: ClusterTaskUnitOfWork
  }) =>
  async (
    call: SignedInCall<Cluster>,
    { claim, components, responseId }: ImportClusterInput,
  ): Outcome<ImportFailure | RecordTaskFailure, Cluster> => {
    const name = checkClusterName(claim.name ?? '')
    if (isLeft(name)) return name
    // Checked before network access: a claim for another account must not cause a connection.
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
    const task = await prepareRecordTask(
      deps,
      call,
      { ...record, owner: claim.ownerName },
      { verb: 'import', input: { uid: record.uid, components }, responseId },
    )
    const imported = await deps.unitOfWork.run<ImportFailure | RecordTaskFailure, Cluster>(
      call,
      async ({ clusters, audit, tasks }) => {
        const accepted = await task.acceptIn({ tasks, audit })
        if (isLeft(accepted)) return accepted
        const repeated = accepted.right.isRepetition ? await clusters.find(record.ownerId, record.name) : undefined
        if (repeated !== undefined) return right(repeated)
        const known = await clusters.findByUid(record.ownerId, record.uid)
        if (known !== undefined && known.name !== record.name)
          return left(ClusterAlreadyImported(`This cluster is already imported as ${known.name}.`))
        const inserted = await clusters.insert(record)
        if (isLeft(inserted)) return inserted
        const { uid, endpoint, provider, impersonatesUsers } = record
        await audit.record(auditOf(inserted.right, 'cluster.imported', { uid, endpoint, provider, impersonatesUsers }))
        return inserted
      },
    )
    if (!isLeft(imported)) task.announce()
    return imported
  }

export type CheckFailure = IdentifyFailure | Failure<'ClusterMismatch'>

/** The owner's account as shown in the response. */
export interface ClaimOwner {
  readonly name: string
  readonly isOrganization: boolean
}

export interface CheckClusterInput {
  readonly claim: ClusterClaim
  readonly owner: ClaimOwner
}

interface Deps {
  readonly identify: Identify
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid'>
  readonly clock: Clock
}

const identifyClaim = async (
  deps: Deps,
  call: SignedInCall<never>,
  claim: ClusterClaim,
): Outcome<CheckFailure, Identified> => {
  const own = agrees({ ...claim, claimedUid: undefined }, '')
  if (isLeft(own)) return own
  const identified = await deps.identify(claim.accessConfig, call.signal)
  if (isLeft(identified)) return identified
  const agreed = agrees(claim, identified.right.facts.uid)
  return isLeft(agreed) ? agreed : identified
}

/**
 * Surveys a cluster without recording it. Returns the owner's record of it, or the record that an import would create
 * (phase NotImported, id 0).
 */
export const makeCheckCluster =
  (deps: Deps) =>
  async (call: SignedInCall<never>, { claim, owner }: CheckClusterInput): Outcome<CheckFailure, Cluster> => {
    const identified = await identifyClaim(deps, call, claim)
    if (isLeft(identified)) return identified
    const { facts } = identified.right
    const known = await deps.clusters.findByUid(claim.ownerId, facts.uid)
    if (known !== undefined) return right({ ...known, status: judge(known.uid, { kind: 'answered', facts }) })
    return right({
      ...candidate(claim, claim.name ?? '', identified.right, deps.clock.now()),
      id: 0 as ClusterId,
      ownerName: owner.name,
      ownerIsOrganization: owner.isOrganization,
      status: notImported,
      hasCredential: false,
      hubClusterName: '',
      clusterSetName: '',
      importedBy: undefined,
      version: 0,
    })
  }

/** Reports whether one field of a claim is valid for import, and if not, why. */
export interface FieldJudgement {
  readonly valid: boolean
  readonly reason: string
}

export interface ImportJudgement {
  readonly alreadyImported: boolean
  readonly name: FieldJudgement
  readonly uid: FieldJudgement
  readonly message: string
  readonly identified: Identified
}

const valid: FieldJudgement = { valid: true, reason: '' }
const invalid = (reason: string): FieldJudgement => ({ valid: false, reason })

/** Validates a claim field by field, for a form that is still being filled in. Records nothing. */
export const makeValidateImport =
  (deps: Deps) =>
  async (call: SignedInCall<never>, claim: ClusterClaim): Outcome<CheckFailure, ImportJudgement> => {
    const identified = await identifyClaim(deps, call, claim)
    if (isLeft(identified)) return identified
    const named = checkClusterName(claim.name ?? '')
    const [sameName, sameUid] = await Promise.all([
      isLeft(named) ? undefined : deps.clusters.find(claim.ownerId, named.right),
      deps.clusters.findByUid(claim.ownerId, identified.right.facts.uid),
    ])
    const name = isLeft(named)
      ? invalid(named.left.message)
      : sameName === undefined
        ? valid
        : invalid(`The cluster name ${sameName.name} is already in use.`)
    const uid = sameUid === undefined ? valid : invalid(`This cluster is already imported as ${sameUid.name}.`)
    return right({
      alreadyImported: sameUid !== undefined,
      name,
      uid,
      message:
        name.valid && uid.valid
          ? 'The cluster can be imported.'
          : [name.reason, uid.reason].filter((reason) => reason !== '').join(' '),
      identified: identified.right,
    })
  }

/**
 * Returns a store that reports a cluster to the watcher when its UID is recorded: with its record, or later for a
 * cluster that was not known yet.
 */
export const withImportWatcher = (store: ClusterStore, watcher: ClusterImportWatcher): ClusterStore => ({
  ...store,
  async insert(cluster) {
    const inserted = await store.insert(cluster)
    if (isRight(inserted) && inserted.right.uid !== '') await watcher.imported(inserted.right)
    return inserted
  },
  async change(id, version, change) {
    const changed = await store.change(id, version, change)
    if (isRight(changed) && change.uid !== undefined && change.uid !== '') await watcher.imported(changed.right)
    return changed
  },
})
