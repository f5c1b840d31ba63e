import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import { AccessDenied } from '../authz/ports.ts'
import type { ObjectLocator } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId, ClusterId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { pageWithin } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { RecordTaskFailure } from './record-tasks.ts'
import { auditOf, prepareRecordTask } from './record-tasks.ts'
import type { Identified, Identify, IdentifyFailure, SealCredential } from './connections.ts'
import type { SubmittedTask, Tasks } from '../tasks/ports.ts'
import type {
  ClusterSelection,
  ClusterAccount,
  ClusterDependents,
  ClusterStore,
  ClusterTaskStores,
  ClusterTaskUnitOfWork,
  ClusterTransport,
} from './ports.ts'
import { AccessConfigRefused, clusterInUse, ClusterMismatch, ClusterMissing } from './ports.ts'
import type { SpokeRemovalFailure, SpokeRemovals } from './hubs/ports.ts'
import type { RefreshStatus } from './status.ts'
import { judge } from './status.ts'
import type { Cluster, ClusterChange, HostingProvider } from './types.ts'
import { hostingProviders } from './types.ts'
import type { FreeObject } from '../kernel/json.ts'
import { definedFields } from '../kernel/json.ts'

/**
 * Checks authorization again after a cluster was queried: the query can take as long as the cluster wants, and the
 * caller may be the one who runs the cluster. Failure: AccessDenied.
 */
export const makeStillAllowed =
  (authorizer: Authorizer) =>
  async (
    call: SignedInCall<never>,
    object: ObjectLocator,
    relation: string,
  ): Outcome<Failure<'AccessDenied'>, void> => {
    const decided = await authorizer.authorize(call.principal, object, relation)
    return isLeft(decided) ? left(AccessDenied('You may no longer do this.')) : right(undefined)
  }
export type StillAllowed = ReturnType<typeof makeStillAllowed>

/** Direct grants that allow their holder to see a cluster. */
const seeingRelations = ['viewer', 'editor']

/**
 * Lists the caller's own clusters; with `all`, also those of every organization where the caller may see them. Makes
 * one decision per account, by the same evaluator as every route; direct grants are decided one by one.
 */
export const makeListUserClusters =
  (deps: { readonly clusters: ClusterStore; readonly authorizer: Authorizer }) =>
  async (
    { principal }: SignedInCall<never>,
    { all }: { readonly all: boolean },
  ): Outcome<never, readonly Cluster[]> => {
    const mayList = async (account: ClusterAccount): Promise<boolean> =>
      !isLeft(await deps.authorizer.authorize(principal, { type: 'account', name: account.name }, 'can_list_clusters'))
    const mayView = async (cluster: Cluster): Promise<boolean> =>
      !isLeft(
        await deps.authorizer.authorize(
          principal,
          { type: 'cluster', account: cluster.ownerName, name: cluster.name },
          'can_view',
        ),
      )

    const accounts = (await deps.clusters.accountsOf(principal.userId)).filter(
      ({ id }) => all || id === principal.userId,
    )
    const found = new Map<number, Cluster>()
    for (const account of accounts) {
      if (!(await mayList(account))) continue
      for (const cluster of await deps.clusters.listOf(account.id)) found.set(cluster.id, cluster)
    }
    for (const cluster of all ? await deps.clusters.listGranted(principal.userId, seeingRelations) : []) {
      if (!found.has(cluster.id) && (await mayView(cluster))) found.set(cluster.id, cluster)
    }
    return right([...found.values()])
  }
export type ListUserClusters = ReturnType<typeof makeListUserClusters>

/**
 * Returns the hosting provider with this name, without regard to case. An unknown name returns undefined and leaves the
 * provider to detection.
 */
export const providerNamed = (name: string | undefined): HostingProvider | undefined =>
  hostingProviders.find((provider) => provider.toLowerCase() === name?.toLowerCase())

export interface ListOwnerClustersInput {
  readonly ownerId: AccountId
  /** The name of a hosting provider, to list its clusters only. No cluster has an unknown provider. */
  readonly provider: string | undefined
  readonly selection: Omit<ClusterSelection, 'provider'>
  readonly page: PageRequest
}

/** Lists the clusters of an account. */
export const makeListOwnerClusters =
  ({ clusters }: { readonly clusters: Pick<ClusterStore, 'listSelected'> }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, provider: name, selection, page }: ListOwnerClustersInput,
  ): Outcome<never, Page<Cluster>> => {
    const provider = providerNamed(name)
    if ((name ?? '') !== '' && provider === undefined) return right(pageWithin([], page))
    return right(await clusters.listSelected(ownerId, { ...selection, provider }, page))
  }

/** Returns a cluster as it was last surveyed. */
export const makeGetCluster =
  ({ clusters }: { readonly clusters: Pick<ClusterStore, 'get'> }) =>
  async (_call: SignedInCall<never>, id: ClusterId): Outcome<Failure<'ClusterMissing'>, Cluster> => {
    const found = await clusters.get(id)
    return found === undefined ? left(ClusterMissing('The cluster does not exist.')) : right(found)
  }

/** The changes that a caller requests; undefined fields keep their value. */
export interface RequestedCluster {
  /** Must equal the name in the path. */
  readonly name: string | undefined
  readonly displayName: string | undefined
  readonly provider: HostingProvider | undefined
  readonly infraNamespace: string | undefined
  readonly impersonatesUsers: boolean | undefined
  readonly claimedOwnerId?: number | undefined
  readonly claimedUid?: string | undefined
  /** Replaces the stored credential, if it connects to the same cluster. */
  readonly accessConfig: string | undefined
}

export const noRequest: RequestedCluster = {
  name: undefined,
  displayName: undefined,
  provider: undefined,
  infraNamespace: undefined,
  impersonatesUsers: undefined,
  accessConfig: undefined,
}

export type ChangeFailure =
  | IdentifyFailure
  | Failure<'ClusterMissing'>
  | Failure<'ClusterMismatch'>
  | Failure<'ClusterChanged'>
  | Failure<'AccessDenied'>

/** Returns the error in a name in the body of a request about the cluster of this name; undefined if there is none. */
const nameMismatch = (name: string, claimed: string | undefined): string | undefined =>
  claimed === undefined || claimed === '' || claimed === name
    ? undefined
    : 'A cluster keeps the name in the path; the name in the body is another.'

const mismatchOf = (cluster: Cluster, requested: RequestedCluster): string | undefined => {
  const misnamed = nameMismatch(cluster.name, requested.name)
  if (misnamed !== undefined) return misnamed
  if (requested.claimedOwnerId !== undefined && requested.claimedOwnerId !== cluster.ownerId)
    return 'basicInfo.ownerID is not the account in the path.'
  if (requested.claimedUid !== undefined && requested.claimedUid !== cluster.uid)
    return 'basicInfo.clusterUID is not the UID of this cluster.'
  return undefined
}

const changeOf = (requested: RequestedCluster): ClusterChange => ({
  ...definedFields({
    displayName: requested.displayName === '' ? undefined : requested.displayName,
    provider: requested.provider,
    infraNamespace: requested.infraNamespace,
    impersonatesUsers: requested.impersonatesUsers,
  }),
})

/** Returns what distinguishes a request for a change from another one with the same `response-id`. */
const wordsOf = (requested: RequestedCluster): FreeObject => ({
  ...definedFields({
    displayName: requested.displayName,
    infraNamespace: requested.infraNamespace,
    impersonatesUsers: requested.impersonatesUsers,
  }),
})

interface Deps {
  readonly clusters: Pick<ClusterStore, 'get'>
  readonly identify: Identify
  readonly seal: SealCredential
  readonly clock: Clock
  readonly stillAllowed: StillAllowed
  readonly unitOfWork: ClusterTaskUnitOfWork
}

export interface ChangeClusterInput {
  readonly id: ClusterId
  readonly requested: RequestedCluster
}
export type ChangeCluster = (call: SignedInCall<Cluster>, input: ChangeClusterInput) => Outcome<ChangeFailure, Cluster>

/** What the transaction of a change writes before the record. */
type Beforehand<F extends Failure> = (cluster: Cluster) => Promise<(stores: ClusterTaskStores) => Outcome<F, unknown>>

const makeApply = (deps: Deps) => {
  const identifySame = async (
    call: SignedInCall<never>,
    cluster: Cluster,
    accessConfig: string,
  ): Outcome<ChangeFailure, Identified> => {
    const identified = await deps.identify(accessConfig, call.signal)
    if (isLeft(identified)) return identified
    if (identified.right.facts.uid !== cluster.uid)
      return left(ClusterMismatch('The access config leads to another cluster than the one that was imported.'))
    const still = await deps.stillAllowed(
      call,
      { type: 'cluster', account: cluster.ownerName, name: cluster.name },
      'can_reconfigure',
    )
    return isLeft(still) ? still : identified
  }

  const write = async <F extends Failure>(
    call: SignedInCall<Cluster>,
    cluster: Cluster,
    {
      requested,
      found,
      before,
    }: {
      readonly requested: RequestedCluster
      readonly found: Identified | undefined
      readonly before: Awaited<ReturnType<Beforehand<F>>>
    },
  ): Outcome<ChangeFailure | F, Cluster> => {
    // Each credential gets a new reference, so that restoring a previously sealed one is always detected.
    const sealed = found === undefined ? undefined : await deps.seal(cluster.ownerId, found.credential)
    const change: ClusterChange = {
      ...changeOf(requested),
      ...definedFields({ endpoint: found?.credential.server, sealed }),
    }
    return deps.unitOfWork.run<ChangeFailure | F, Cluster>(call, async (stores) => {
      const { clusters, audit } = stores
      const done = await before(stores)
      if (isLeft(done)) return done
      const changed = await clusters.change(cluster.id, cluster.version, change)
      if (isLeft(changed)) return changed
      const { sealed: replaced, ...plain } = change
      const action = replaced === undefined ? 'cluster.changed' : 'cluster.connected'
      await audit.record(auditOf(cluster, action, { ...plain, credentialReplaced: replaced !== undefined }))
      if (found === undefined) return changed
      const { facts } = found
      const status = judge(cluster.uid, { kind: 'answered', facts })
      const checkedAt = deps.clock.now()
      await clusters.observe(cluster.id, status, facts, checkedAt)
      const { kubernetesVersion, nodeCount, managers } = facts
      return right({ ...changed.right, status, checkedAt, kubernetesVersion, nodeCount, managers })
    })
  }

  return async <F extends Failure>(
    call: SignedInCall<Cluster>,
    { id, requested }: ChangeClusterInput,
    beforehand: Beforehand<F>,
  ): Outcome<ChangeFailure | F, Cluster> => {
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(ClusterMissing('The cluster does not exist.'))
    const mismatch = mismatchOf(cluster, requested)
    if (mismatch !== undefined) return left(ClusterMismatch(mismatch))
    const found =
      requested.accessConfig === undefined || requested.accessConfig === ''
        ? undefined
        : await identifySame(call, cluster, requested.accessConfig)
    if (found !== undefined && isLeft(found)) return found
    return write(call, cluster, { requested, found: found?.right, before: await beforehand(cluster) })
  }
}

/**
 * Changes a record and, if an access config is given, its credential, which new requests use; what is under way ends by
 * itself.
 */
export const makeChangeCluster = (deps: Deps): ChangeCluster => {
  const apply = makeApply(deps)
  return (call, input) => apply<never>(call, input, async () => async () => right(undefined))
}

export interface ReconfigureClusterInput extends ChangeClusterInput {
  /** The components that are requested. None is installed: the task says so. */
  readonly components: readonly string[]
  readonly responseId: string | undefined
}

/** Changes a record, and submits the task that reports it, in one transaction. */
export const makeReconfigureCluster = (deps: Deps & { readonly tasks: Pick<Tasks, 'prepare'> }) => {
  const apply = makeApply(deps)
  return async (
    call: SignedInCall<Cluster>,
    input: ReconfigureClusterInput,
  ): Outcome<ChangeFailure | RecordTaskFailure, Cluster> => {
    const { requested, components, responseId } = input
    let announce: () => void = () => undefined
    const changed = await apply<RecordTaskFailure>(call, input, async (cluster) => {
      const task = await prepareRecordTask(
        deps,
        call,
        { ...cluster, owner: cluster.ownerName },
        { verb: 'reconfigure', input: { wish: wordsOf(requested), components }, responseId },
      )
      announce = task.announce
      return task.acceptIn
    })
    if (!isLeft(changed)) announce()
    return changed
  }
}

/** What a caller sends to connect a cluster. */
export interface ConnectClusterInput {
  readonly id: ClusterId
  /** The name of the cluster in the path. */
  readonly objectName: string
  readonly name: string | undefined
  /** The access config, which clients send under several names. */
  readonly accessConfigs: readonly (string | undefined)[]
  readonly credential: string | undefined
}

/** Returns what is requested. The access configs that are sent must be equal. */
const requestedConnection = ({
  name,
  accessConfigs,
  credential,
}: ConnectClusterInput): Either<Failure<'AccessConfigRefused'>, RequestedCluster> => {
  const sent = accessConfigs.filter((text) => text !== undefined && text !== '')
  const [accessConfig, ...others] = [...new Set(sent)]
  if (others.length > 0)
    return left(AccessConfigRefused('accessConfig and kubeConfig are names of the same field and must not differ.'))
  if ((credential ?? '') !== '') {
    return left(
      AccessConfigRefused(
        'credential: a stored credential cannot connect a cluster. Send a kubeconfig as accessConfig and ' +
          'omit credential.',
      ),
    )
  }
  return right({ ...noRequest, name, accessConfig })
}

/** Stores an access config for a cluster. Without one, the cluster is surveyed again with the stored credential. */
export const makeConnectCluster =
  (deps: { readonly change: ChangeCluster; readonly refresh: RefreshStatus }) =>
  async (call: SignedInCall<Cluster>, input: ConnectClusterInput): Outcome<ChangeFailure, Cluster> => {
    const requested = requestedConnection(input)
    if (isLeft(requested)) return requested
    const mismatch = nameMismatch(input.objectName, requested.right.name)
    if (mismatch !== undefined) return left(ClusterMismatch(mismatch))
    const { id } = input
    return requested.right.accessConfig === undefined
      ? deps.refresh(call, { id, evenIfFresh: true })
      : deps.change(call, { id, requested: requested.right })
  }

export interface RemoveClusterInput {
  readonly id: ClusterId
  /** From the body; if given, must be the name in the path. */
  readonly name: string | undefined
  /** Removes the spoke from its hub first, with a task of its own. The record is deleted at the end of that task. */
  readonly leavesHub: boolean
  readonly responseId: string | undefined
}

export type RemoveClusterFailure =
  | Failure<'ClusterMissing' | 'ClusterMismatch' | 'ClusterInUse'>
  | RecordTaskFailure
  | SpokeRemovalFailure

/** Client organizations in a message. */
const namedClients = 10

/**
 * Deletes a cluster's record, credential, grants and open connections, and submits the task that reports it, in one
 * transaction. The cluster itself is not changed, and a hub that manages it still does. One that client organizations
 * use stays: their rights on it could not be revoked without the record.
 */
export const makeRemoveCluster =
  (deps: {
    readonly clusters: Pick<ClusterStore, 'get'>
    readonly dependents: ClusterDependents
    readonly tasks: Pick<Tasks, 'prepare'>
    readonly spokeRemovals: SpokeRemovals
    readonly unitOfWork: ClusterTaskUnitOfWork
    readonly transport: Pick<ClusterTransport, 'forget'>
  }) =>
  async (
    call: SignedInCall<SubmittedTask>,
    { id, name, leavesHub, responseId }: RemoveClusterInput,
  ): Outcome<RemoveClusterFailure, SubmittedTask> => {
    const missing = ClusterMissing('The cluster does not exist.')
    const cluster = await deps.clusters.get(id)
    if (cluster === undefined) return left(missing)
    if (name !== undefined && name !== '' && name !== cluster.name)
      return left(ClusterMismatch('The name in the body is not the name in the path.'))
    const clients = await deps.dependents.clientsOfCluster(cluster.ownerId, cluster.uid, namedClients)
    const inUse = clusterInUse(cluster.name, clients)
    if (inUse !== undefined) return left(inUse)
    if (leavesHub) {
      if (cluster.hubClusterName === '' || cluster.managedClusterName === '')
        return left(ClusterMismatch('components.spokeComponent: no hub of this account manages the cluster.'))
      return deps.spokeRemovals.removeWithRecord(call, cluster, responseId)
    }
    const task = await prepareRecordTask(
      deps,
      call,
      { ...cluster, owner: cluster.ownerName },
      { verb: 'remove', input: { id }, responseId },
    )
    const removed = await deps.unitOfWork.run<RemoveClusterFailure, SubmittedTask>(
      call,
      async ({ clusters, audit, tasks }) => {
        const accepted = await task.acceptIn({ tasks, audit })
        if (isLeft(accepted)) return accepted
        if (!(await clusters.remove(id))) return left(missing)
        await audit.record(auditOf(cluster, 'cluster.removed', { uid: cluster.uid }))
        return right({ id: accepted.right.id, subject: accepted.right.subject })
      },
    )
    if (isLeft(removed)) return removed
    task.announce()
    await deps.transport.forget(id)
    return removed
  }
