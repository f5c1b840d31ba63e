import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import type { Hubs, SpokeHubs } from '../../clusters/hubs/ports.ts'
import { isIdentified } from '../../clusters/hub-types.ts'
import type { ClusterStore, ClusterTaskUnitOfWork, MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import { untilNotOvertaken } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { isTrue, joined } from './import-state.ts'
import type { ImportSpokeFailure, SpokeImport, SpokeTaskInput } from './imports.ts'
import { checkClaims, openHub, prepareSpokeTask } from './imports.ts'
import { checkSpokeName, SpokeRefused } from './spoke-names.ts'
import { isClusterChanged, lifeAuditOf, maxAttempts } from './spoke-records.ts'

/** An imported cluster to make a spoke of a hub, found by its UID or else by its name. */
export type SpokeConversion = Pick<
  SpokeImport,
  'grant' | 'claimedOwnerId' | 'claimedHubUid' | 'claimedUid' | 'clusterProfile' | 'components' | 'responseId'
> & { readonly name: string | undefined }

interface Deps {
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid'>
  readonly clusterTasks: ClusterTasks
  readonly hubs: Hubs
  readonly memberClusters: MemberClusters
  readonly spokeHubs: SpokeHubs
  readonly unitOfWork: ClusterTaskUnitOfWork
}

/** Finds the record to convert, whose stored credential the caller may use. */
const findRecord = async (
  { clusters, authorizer }: Deps,
  call: SignedInCall<never>,
  { grant, name, claimedUid }: SpokeConversion,
): Outcome<Failure<'SpokeRefused'>, Cluster> => {
  const record =
    claimedUid !== undefined
      ? await clusters.findByUid(grant.ownerId, claimedUid)
      : name === undefined
        ? undefined
        : await clusters.find(grant.ownerId, name)
  if (record === undefined || (name !== undefined && record.name !== name))
    return left(SpokeRefused('The account has no cluster with the name or UID of basicInfo.'))
  if (!record.hasCredential)
    return left(SpokeRefused(`No access config is stored for the cluster ${record.name}: connect it first.`))
  const allowed = await authorizer.authorize(
    call.principal,
    { type: 'cluster', account: record.ownerName, name: record.name },
    'can_connect',
  )
  return isLeft(allowed) ? left(SpokeRefused(`You may not connect to the cluster ${record.name}.`)) : right(record)
}

const checkHub = (record: Cluster, { id, uid, name }: MemberCluster): Either<Failure<'SpokeRefused'>, void> => {
  if (record.id === id || (record.uid !== '' && record.uid === uid))
    return left(SpokeRefused(`The cluster ${record.name} is the hub itself. A hub does not become its own spoke.`))
  const isFree = record.hubClusterUid === '' || record.managedClusterName === ''
  return isFree || record.hubClusterUid === uid
    ? right(undefined)
    : left(
        SpokeRefused(
          `The cluster ${record.name} is a spoke of another hub than ${name}. Remove it from that one first.`,
        ),
      )
}

/**
 * Makes an imported cluster a spoke of a hub, with its stored credential. The record and the task are written in one
 * transaction. A cluster that is a spoke of the hub already stays as it is, and its record gets the name that it has
 * there; the same request after a failure continues the conversion.
 */
export const makeConvertToSpoke = (deps: Deps) => {
  const convert = makeConvertOnce(deps)
  // The task of an import that has just ended may write to the same record.
  return (call: SignedInCall, wanted: SpokeConversion): Outcome<ImportSpokeFailure, void> =>
    untilNotOvertaken(maxAttempts, isClusterChanged, () => convert(call, wanted))
}

const makeConvertOnce =
  (deps: Deps) =>
  async (call: SignedInCall, wanted: SpokeConversion): Outcome<ImportSpokeFailure, void> => {
    const found = await findRecord(deps, call, wanted)
    if (isLeft(found)) return found
    const record = found.right
    const planned = record.managedClusterName === '' ? record.name : record.managedClusterName
    const first = await openHub(deps, call, wanted.grant, planned)
    if (isLeft(first)) return first
    const free = checkHub(record, first.right.cluster)
    if (isLeft(free)) return free
    const isLinked = record.hubClusterUid === first.right.cluster.uid && isTrue(first.right.managed, joined)
    // The hub may have the cluster already, under a name that the record does not know.
    const name = isLinked
      ? planned
      : ((await deps.spokeHubs.nameByAgents(call, record, first.right.cluster.uid)) ?? planned)
    const opened = name === planned ? first : await openHub(deps, call, wanted.grant, name)
    if (isLeft(opened)) return opened
    const { cluster, hub } = opened.right
    const claims = checkClaims(cluster, wanted)
    if (isLeft(claims)) return claims
    const named = opened.right.managed === undefined ? checkSpokeName(name) : right(name)
    if (isLeft(named)) return named
    const isComplete = isLinked && opened.right.managed !== undefined && isIdentified(opened.right.managed)
    if (isComplete && wanted.clusterProfile === undefined && !wanted.components.gitOpsEngine) return right(undefined)
    const input: SpokeTaskInput = {
      name,
      claimedUid: record.uid === '' ? wanted.claimedUid : record.uid,
      clusterProfile: wanted.clusterProfile,
      components: wanted.components,
      installsAgents: true,
    }
    const task = await prepareSpokeTask(deps, call, opened.right, {
      verb: 'Convert',
      input,
      responseId: wanted.responseId,
    })
    const written = await deps.unitOfWork.run<ImportSpokeFailure, void>(call, async ({ clusters, tasks, audit }) => {
      const accepted = await task.acceptIn({ tasks, audit })
      if (isLeft(accepted) || accepted.right.isRepetition) return isLeft(accepted) ? accepted : right(undefined)
      const changed = await clusters.change(record.id, record.version, {
        hubClusterUid: cluster.uid,
        managedClusterName: name,
      })
      if (isLeft(changed)) return changed
      await audit.record(lifeAuditOf(hub, 'cluster.spoke_conversion_requested', { spoke: name, cluster: record.name }))
      return right(undefined)
    })
    if (!isLeft(written)) task.announce()
    return written
  }
