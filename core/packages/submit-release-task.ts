import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterMissing, ClusterNotConnected, MemberCluster, MemberClusters } from '../clusters/ports.ts'
import type { SubmitFailure, SubmittedTask, Tasks, TaskSubmission } from '../tasks/ports.ts'
import type { RecordFailure, ReleaseStore, StorageDriverOf } from './ports.ts'
import { readStanding, type Standing } from './standing.ts'
import { clusterRefOf } from './task-cluster.ts'
import type { HelmVerb, ReleaseKey, StorageDriver } from './types.ts'

export interface SubmitReleaseDeps {
  readonly memberClusters: MemberClusters
  readonly driverOf: StorageDriverOf
  readonly releases: Pick<ReleaseStore, 'index'>
  readonly tasks: Tasks
}

export type OpenFailure = ReturnType<typeof ClusterMissing> | ReturnType<typeof ClusterNotConnected>
/** What every operation on a release may be refused for. */
export type SubmitReleaseFailure = OpenFailure | RecordFailure | SubmitFailure

/** A cluster with the driver that its records are kept by. */
export interface OpenedCluster {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
}

export const openCluster = async (deps: Pick<SubmitReleaseDeps, 'memberClusters' | 'driverOf'>, call: SignedInCall<never>, grant: AccessGrant): Outcome<OpenFailure, OpenedCluster> => {
  const cluster = await deps.memberClusters.open(call, grant)
  return isLeft(cluster) ? cluster : right({ cluster: cluster.right, driver: await deps.driverOf(cluster.right) })
}

const titles: Readonly<Record<HelmVerb, string>> = { install: 'Install', upgrade: 'Upgrade', rollback: 'Roll back', uninstall: 'Uninstall' }

/** What a release operation is asked with. `input` lies beside the cluster and the release in the task's input. */
export interface ReleaseOperation {
  readonly kind: string
  readonly verb: HelmVerb
  /** What the work is called, where the verb alone does not say it: `Apply the model of`. */
  readonly title?: string
  readonly release: ReleaseKey
  readonly input: FreeObject
  /** Changes nothing, so that it waits for nobody. */
  readonly isDryRun: boolean
  readonly responseId: string | undefined
}

/**
 * While a task with this key is unfinished, no other one on the same release is accepted. Within one owner: a cluster that
 * somebody else imports can claim any UID, and must not hold up this one's releases.
 */
export const releaseLockKey = ({ ownerId, uid }: Pick<MemberCluster, 'ownerId' | 'uid'>, { namespace, name }: ReleaseKey): string => `cluster/${ownerId}/${uid}/${namespace}/${name}`

const submissionOf = (cluster: MemberCluster, operation: ReleaseOperation): TaskSubmission => {
  const { release, verb, isDryRun } = operation
  return {
    kind: operation.kind,
    title: `${operation.title ?? titles[verb]} release ${release.name} in namespace ${release.namespace}${isDryRun ? ' (dry run)' : ''}`,
    tenantId: cluster.ownerId,
    about: { cluster: cluster.name, owner: cluster.ownerName, namespace: release.namespace, release: release.name, verb },
    ...(isDryRun ? {} : { lockKey: releaseLockKey(cluster, release) }),
    input: { cluster: clusterRefOf(cluster), release: { ...release }, ...operation.input },
    responseId: operation.responseId,
  }
}

/**
 * Accepts an operation on a release: a repetition is answered as the first time, one that a task of ours stands in the
 * way of is refused, then the records are judged, as the caller sees them. The newest revision of that moment is kept with
 * the task, for whoever must find out later what became of it.
 */
export const submitReleaseTask = async <F extends Failure>(
  deps: Pick<SubmitReleaseDeps, 'releases' | 'tasks'>,
  call: SignedInCall<SubmittedTask>,
  { cluster, driver }: OpenedCluster,
  operation: ReleaseOperation,
  judge: (standing: Standing) => F | undefined | Promise<F | undefined>,
): Outcome<RecordFailure | SubmitFailure | F, SubmittedTask> => {
  const submission = submissionOf(cluster, operation)
  const foreseen = await deps.tasks.foresee(call, submission)
  if (isLeft(foreseen)) return foreseen
  if (foreseen.right !== undefined) return right(foreseen.right)
  const standing = await readStanding(deps.releases, { cluster, driver, release: operation.release }, call.signal)
  if (isLeft(standing)) return standing
  const refused = await judge(standing.right)
  if (refused !== undefined) return left(refused)
  const revision = String(standing.right.newest?.version ?? 0)
  return deps.tasks.submit(call, { ...submission, about: { ...submission.about, revision } })
}
