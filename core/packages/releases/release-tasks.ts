import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterMissing, ClusterNotConnected, MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmitFailure, SubmittedTask, TaskEnd, TaskRun, Tasks, TaskSubmission } from '../../tasks/ports.ts'
import type { RecordFailure, ReleaseStore, StorageDriverOf } from '../ports.ts'
import type { HelmVerb, ReleaseKey, StorageDriver } from '../types.ts'
import type { OpenTaskCluster } from './cluster-tasks.ts'
import { clusterRefOf } from './cluster-tasks.ts'
import type { HelmFlags } from './ports.ts'
import { ReleaseOptionsRefused } from './ports.ts'
import type { FindFailure, ReleaseQuestion } from './release-reads.ts'
import { makeFindRelease } from './release-reads.ts'
import type { SettleDeps, Standing } from './release-state.ts'
import { makeRecoverRelease, readStanding, unknowable } from './release-state.ts'

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const labelPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Names that Helm and Kubernetes would take. The failure names the field of the request. */
export const checkReleaseKey = ({ name, namespace }: ReleaseKey): Either<Failure<'ReleaseOptionsRefused'>, void> => {
  if (name.length > 53 || !namePattern.test(name)) {
    return left(ReleaseOptionsRefused("releaseName: must be at most 53 characters of a-z, 0-9, '-' and '.', a letter or digit first and last in each part."))
  }
  if (!labelPattern.test(namespace)) {
    return left(ReleaseOptionsRefused("namespace: must be at most 63 characters of a-z, 0-9 and '-', a letter or digit first and last."))
  }
  return right(undefined)
}

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

/** The release that is meant; one that is not there yet where the upgrade may install, in `default` unless told. */
export const resolveRelease = async (
  deps: Pick<SubmitReleaseDeps, 'releases'>,
  call: SignedInCall<never>,
  { cluster, driver }: OpenedCluster,
  { name, namespace = '' }: ReleaseQuestion,
  mayBeNew: boolean,
): Outcome<FindFailure, ReleaseKey> => {
  if (namespace !== '') return right({ name, namespace })
  const found = await makeFindRelease(deps)(cluster, driver, { name }, call.signal)
  if (!isLeft(found)) return right({ name, namespace: found.right[0]?.namespace ?? '' })
  return found.left.tag === 'ReleaseMissing' && mayBeNew ? right({ name, namespace: 'default' }) : found
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

/** What a task's own words say of how things stood when it was accepted. */
export const beforeRevisionOf = (run: Pick<TaskRun, 'task'>): number => Number(run.task.about.revision ?? 0) || 0

/** Finds out what became of a release operation whose worker died, and ends its task truthfully. */
export const makeRecoverReleaseTask = (
  deps: SettleDeps & { readonly openTaskCluster: OpenTaskCluster; readonly driverOf: StorageDriverOf },
  verb: HelmVerb,
) => {
  const recover = makeRecoverRelease(deps)
  return async (run: TaskRun): Promise<TaskEnd> => {
    const flags = (run.input.flags ?? {}) as unknown as HelmFlags
    if (flags.dryRun !== undefined) return { state: 'failed', message: 'Nothing was changed: it was a dry run.', error: 'The process that worked on this task died.' }
    const opened = await deps.openTaskCluster(run)
    if (isLeft(opened)) return unknowable(opened.left.message)
    const { cluster } = opened.right
    const place = { cluster, driver: await deps.driverOf(cluster), release: run.input.release as unknown as ReleaseKey }
    return recover(place, { verb, beforeRevision: beforeRevisionOf(run), keepsHistory: flags.keepHistory === true })
  }
}
