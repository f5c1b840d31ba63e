import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import { cancelledBeforeChange, failedBeforeChange, succeeded } from '../../cluster-tasks/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmittedTask, TaskEnd, TaskHandler, TaskRun } from '../../tasks/ports.ts'
import type { ChartTexts } from '../charts/ports.ts'
import type { ReleaseStore, StorageDriverOf } from '../ports.ts'
import { ReleaseMissing } from '../ports.ts'
import type { Release, ReleaseKey, ReleaseRecordRef } from '../types.ts'
import { runHelmWithProgress, plannedHook } from './helm-progress.ts'
import { objectsOf, recreatePods } from './kubernetes-objects.ts'
import { compareManifests } from './manifest-diff.ts'
import type { HelmFlags, HelmRunner, TextDiff } from './ports.ts'
import { redactAll, redactSecrets } from '../../kernel/secret.ts'
import type { FindFailure, ReleaseQuestion } from './release-reads.ts'
import type { RecordPlace, ReleaseState } from './release-state.ts'
import { helmResult, readReleaseState } from './release-state.ts'
import type { SubmitReleaseDeps, SubmitReleaseFailure } from './release-tasks.ts'
import { makeRecoverReleaseTask, openCluster, releaseIn, resolveRelease, submitReleaseTask } from './release-tasks.ts'
import { definedFields } from '../../kernel/json.ts'

export type RollbackFlags = Pick<
  HelmFlags,
  'disableHooks' | 'recreate' | 'wait' | 'force' | 'cleanupOnFail' | 'timeoutSeconds' | 'dryRun'
>

export interface RollbackTaskDeps {
  readonly clusterTasks: ClusterTasks
  readonly driverOf: StorageDriverOf
  readonly helm: HelmRunner
  readonly releases: ReleaseStore
  readonly chartTexts: ChartTexts
  readonly textDiff: TextDiff
  readonly pause: Pause
  readonly clock: Clock
}

/** Returns the revision to roll back to; 0 is the one before the newest. Undefined if its record is not kept. */
const targetOf = ({ newest, all }: ReleaseState, revision: number): ReleaseRecordRef | undefined => {
  const wanted = revision === 0 ? (newest?.version ?? 0) - 1 : revision
  return all.find(({ version }) => version === wanted)
}

interface Planned extends RecordPlace {
  readonly before: ReleaseState
  readonly target: Release
  readonly flags: RollbackFlags
  readonly description: string | undefined
}

const tryRollback = async (
  deps: RollbackTaskDeps,
  run: TaskRun,
  { cluster, driver, release, before, target }: Planned,
): Promise<TaskEnd> => {
  const ref = before.live ?? before.newest
  const read =
    ref === undefined
      ? left<Failure>(ReleaseMissing('No revision is live.'))
      : await deps.releases.read(cluster, driver, ref, run.signal)
  if (isLeft(read)) return failedBeforeChange(run, read.left)
  const redact = redactSecrets(read.right.config, target.config)
  const compared = await compareManifests(deps, read.right.manifest, target.manifest, {
    home: release.namespace,
    redact,
  })
  if (isLeft(compared)) return failedBeforeChange(run, compared.left)
  const { text, diff } = compared.right
  return succeeded(`Dry run, nothing was changed: going back to revision ${target.version} means ${text}.`, {
    release: release.name,
    namespace: release.namespace,
    dryRun: true,
    revision: read.right.version,
    target: target.version,
    diff,
  })
}

const describe = async (deps: RollbackTaskDeps, run: TaskRun, place: Planned): Promise<void> => {
  const { cluster, driver, description, before } = place
  const after = await readReleaseState(deps.releases, place, run.signal)
  const newest = isLeft(after) ? undefined : after.right.newest
  if (description === undefined || newest === undefined || newest.version <= (before.newest?.version ?? 0)) return
  const amended = await deps.releases.amend(cluster, driver, newest, { description }, run.signal)
  if (isLeft(amended))
    run.progress.say(`The description could not be written: ${amended.left.message}`, { level: 'warning' })
}

const rollBack = async (deps: RollbackTaskDeps, run: TaskRun, plan: Planned): Promise<TaskEnd> => {
  const { cluster, driver, release, flags, target, before } = plan
  const parsed = await objectsOf(deps.chartTexts, target.manifest)
  const objects = isLeft(parsed) ? [] : parsed.right
  const about = {
    cluster,
    plan: { objects, hooks: (target.hooks ?? []).map(plannedHook), home: release.namespace, driver },
    waits: flags.wait === true,
    undoes: false,
    redactAll: redactAll(target.config),
    redactSecrets: redactSecrets(target.config),
  }
  const done = await runHelmWithProgress(deps, run, about, (onEvent) =>
    deps.helm.rollback(
      { target: { cluster, driver, tenantId: cluster.ownerId }, release, flags, onEvent },
      target.version,
      run.signal,
    ),
  )
  if (!isLeft(done) && flags.recreate === true && !run.signal.aborted) await recreatePods(deps.helm, run, plan, objects)
  if (!isLeft(done) && run.signal.reason !== 'lease-lost' && run.signal.reason !== 'rights-lost')
    await describe(deps, run, plan)
  return helmResult(
    deps,
    run,
    { cluster, driver, release, verb: 'rollback', before, wasAtomic: false },
    isLeft(done) ? done.left : undefined,
  )
}

/** The work of a task that rolls a release back, or reports what that would change. */
const makeRunRollback =
  (deps: RollbackTaskDeps) =>
  (asked: TaskRun): Promise<TaskEnd> =>
    deps.clusterTasks.run(asked, async (run, { cluster }) => {
      const place = { cluster, driver: await deps.driverOf(cluster), release: releaseIn(run) }
      const before = await readReleaseState(deps.releases, place, run.signal)
      if (isLeft(before)) return failedBeforeChange(run, before.left)
      const ref = targetOf(before.right, Number(run.input.revision ?? 0))
      if (ref === undefined)
        return failedBeforeChange(run, ReleaseMissing('The revision to go back to is not kept any more.'))
      const target = await deps.releases.read(cluster, place.driver, ref, run.signal)
      if (isLeft(target)) return failedBeforeChange(run, target.left)
      const flags = (run.input.flags ?? {}) as RollbackFlags
      const description = typeof run.input.description === 'string' ? run.input.description : undefined
      const plan: Planned = { ...place, before: before.right, target: target.right, flags, description }
      run.progress.say(`Back to revision ${ref.version}, from ${before.right.newest?.version ?? 0}`, {
        data: { target: ref.version },
      })
      if (flags.dryRun !== undefined) return tryRollback(deps, run, plan)
      if (run.signal.aborted) return cancelledBeforeChange(run)
      return rollBack(deps, run, plan)
    })

export interface RollbackRequest extends ReleaseQuestion {
  readonly grant: AccessGrant
  /** 0 means the previous one. */
  readonly revision: number
  readonly flags: RollbackFlags
  readonly description?: string
  readonly responseId: string | undefined
}

const kind = 'packages.rollbackRelease'

const judge = (
  { name, namespace }: ReleaseKey,
  revision: number,
  standing: ReleaseState,
): Failure<'ReleaseMissing'> | undefined => {
  if (standing.newest === undefined) return ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`)
  if (targetOf(standing, revision) !== undefined) return undefined
  const kept = standing.all.map(({ version }) => version).join(', ')
  return ReleaseMissing(
    `There is no revision ${revision === 0 ? `before ${standing.newest.version}` : revision} of ${name} to ` +
      `go back to; kept are ${kept}.`,
  )
}

/**
 * Accepts a rollback. A release that a dead helm process left pending can be rolled back; one that an unfinished task
 * works on cannot.
 */
export const makeRollbackRelease =
  (deps: SubmitReleaseDeps) =>
  async (
    call: SignedInCall<SubmittedTask>,
    request: RollbackRequest,
  ): Outcome<SubmitReleaseFailure | FindFailure, SubmittedTask> => {
    const { grant, revision, flags, description, responseId } = request
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, false)
    if (isLeft(release)) return release
    const input = { revision, flags, ...definedFields({ description }) } as FreeObject
    const operation = {
      kind,
      verb: 'rollback',
      release: release.right,
      input,
      isDryRun: flags.dryRun !== undefined,
      responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) =>
      judge(release.right, revision, standing),
    )
  }

export const rollbackReleaseKind = (deps: RollbackTaskDeps): TaskHandler => ({
  kind,
  run: makeRunRollback(deps),
  recover: makeRecoverReleaseTask(deps, 'rollback'),
})
