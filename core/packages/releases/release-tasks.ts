import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTasks, ClusterWork } from '../../cluster-tasks/ports.ts'
import { workerDied } from '../../cluster-tasks/types.ts'
import type { ClusterMissing, ClusterNotConnected, MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmitFailure, SubmittedTask, TaskEnd, TaskRun } from '../../tasks/ports.ts'
import type { RecordFailure, ReleaseStore, StorageDriverOf } from '../ports.ts'
import type { HelmVerb, ReleaseKey, StorageDriver } from '../types.ts'
import type { HelmFlags } from './ports.ts'
import { ReleaseOptionsRefused } from './ports.ts'
import type { FindFailure, ReleaseQuestion } from './release-reads.ts'
import { makeFindRelease } from './release-reads.ts'
import type { ReconcileDeps, ReleaseState } from './release-state.ts'
import { makeRecoverRelease, readReleaseState, unknowable } from './release-state.ts'

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const labelPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Validates names by the rules of Helm and Kubernetes. The failure names the field of the request. */
export const checkReleaseKey = ({ name, namespace }: ReleaseKey): Either<Failure<'ReleaseOptionsRefused'>, void> => {
  if (name.length > 53 || !namePattern.test(name)) {
    return left(
      ReleaseOptionsRefused(
        "releaseName: must be at most 53 characters of a-z, 0-9, '-' and '.', a letter or digit first and " +
          'last in each part.',
      ),
    )
  }
  if (!labelPattern.test(namespace)) {
    return left(
      ReleaseOptionsRefused(
        "namespace: must be at most 63 characters of a-z, 0-9 and '-', a letter or digit first and last.",
      ),
    )
  }
  return right(undefined)
}

export interface SubmitReleaseDeps {
  readonly memberClusters: MemberClusters
  readonly driverOf: StorageDriverOf
  readonly releases: Pick<ReleaseStore, 'index'>
  readonly clusterTasks: ClusterTasks
}

export type OpenFailure = ReturnType<typeof ClusterMissing> | ReturnType<typeof ClusterNotConnected>
/** Failures common to all operations on a release. */
export type SubmitReleaseFailure = OpenFailure | RecordFailure | SubmitFailure

/** A cluster with the driver that stores its records. */
export interface OpenedCluster {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
}

export const openCluster = async (
  deps: Pick<SubmitReleaseDeps, 'memberClusters' | 'driverOf'>,
  call: SignedInCall<never>,
  grant: AccessGrant,
): Outcome<OpenFailure, OpenedCluster> => {
  const cluster = await deps.memberClusters.open(call, grant)
  return isLeft(cluster) ? cluster : right({ cluster: cluster.right, driver: await deps.driverOf(cluster.right) })
}

/**
 * Returns the release of a request. It may not exist yet if the upgrade may install it; its namespace is then `default`
 * unless given.
 */
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

const titles: Readonly<Record<HelmVerb, string>> = {
  install: 'Install',
  upgrade: 'Upgrade',
  rollback: 'Roll back',
  uninstall: 'Uninstall',
}

/** The parameters of a release operation. `input` is stored beside the cluster and the release in the task's input. */
export interface ReleaseOperation {
  readonly kind: string
  readonly verb: HelmVerb
  /** The title of the work, if it differs from the verb's: `Apply the model of`. */
  readonly title?: string
  readonly release: ReleaseKey
  readonly input: FreeObject
  /** Changes nothing, so it takes no lock. */
  readonly isDryRun: boolean
  readonly responseId: string | undefined
}

/** A dry run changes nothing, so it takes no lock. */
const workOf = (operation: ReleaseOperation): ClusterWork => {
  const { kind, release, verb, isDryRun, responseId } = operation
  return {
    kind,
    title:
      `${operation.title ?? titles[verb]} release ${release.name} in namespace ` +
      `${release.namespace}${isDryRun ? ' (dry run)' : ''}`,
    about: { namespace: release.namespace, release: release.name, verb },
    lock: isDryRun ? undefined : `${release.namespace}/${release.name}`,
    input: { release: { ...release }, ...operation.input },
    responseId,
  }
}

/**
 * Accepts an operation on a release. A repeated request returns the first response; an operation that another task
 * blocks is rejected; then the records are checked as the caller. The newest revision at that time is stored with the
 * task, for recovery.
 */
export const submitReleaseTask = async <F extends Failure>(
  deps: Pick<SubmitReleaseDeps, 'releases' | 'clusterTasks'>,
  call: SignedInCall<SubmittedTask>,
  { cluster, driver }: OpenedCluster,
  operation: ReleaseOperation,
  judge: (standing: ReleaseState) => F | undefined | Promise<F | undefined>,
): Outcome<RecordFailure | SubmitFailure | F, SubmittedTask> =>
  deps.clusterTasks.submit<RecordFailure | F>(call, cluster, workOf(operation), async () => {
    const standing = await readReleaseState(deps.releases, { cluster, driver, release: operation.release }, call.signal)
    if (isLeft(standing)) return standing
    const refused = await judge(standing.right)
    return refused === undefined ? right({ revision: String(standing.right.newest?.version ?? 0) }) : left(refused)
  })

/** Returns the release that a task works on. */
export const releaseIn = ({ input }: Pick<TaskRun, 'input'>): ReleaseKey => input.release as unknown as ReleaseKey

/** Returns the newest revision at acceptance, as stored with the task. */
const beforeRevisionOf = (run: Pick<TaskRun, 'task'>): number => Number(run.task.about.revision ?? 0) || 0

/** Determines the result of a release operation whose worker died, and ends its task accordingly. */
export const makeRecoverReleaseTask = (
  deps: ReconcileDeps & { readonly clusterTasks: ClusterTasks; readonly driverOf: StorageDriverOf },
  verb: HelmVerb,
) => {
  const recover = makeRecoverRelease(deps)
  return async (run: TaskRun): Promise<TaskEnd> => {
    const flags = (run.input.flags ?? {}) as HelmFlags
    if (flags.dryRun !== undefined)
      return { state: 'failed', message: 'Nothing was changed: it was a dry run.', error: workerDied }
    return deps.clusterTasks.recover(run, {
      unknowable,
      find: async ({ cluster }) => {
        const place = { cluster, driver: await deps.driverOf(cluster), release: releaseIn(run) }
        return recover(place, { verb, beforeRevision: beforeRevisionOf(run), keepsHistory: flags.keepHistory === true })
      },
    })
  }
}
