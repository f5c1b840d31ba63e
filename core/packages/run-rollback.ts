import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure } from '../kernel/failure.ts'
import type { TaskEnd, TaskRun } from '../tasks/ports.ts'
import { attendHelm } from './attended-helm.ts'
import type { ChartTexts } from './chart-ports.ts'
import { compareManifests } from './dry-run-release.ts'
import { endOfHelm } from './end-of-helm.ts'
import { plannedHook } from './follow-helm.ts'
import type { HelmFlags, HelmRunner } from './helm-ports.ts'
import { objectsOf } from './manifest-objects.ts'
import { ReleaseMissing, type ReleaseStore, type StorageDriverOf } from './ports.ts'
import { recreatePods } from './recreate-pods.ts'
import { redactAll, redactSecrets } from './redact.ts'
import type { Pause, TextDiff } from './release-task-ports.ts'
import { readStanding, type RecordPlace, type Standing } from './standing.ts'
import type { OpenTaskCluster } from './task-cluster.ts'
import { failedBefore, stoppedBefore, succeeded } from './task-ends.ts'
import type { Release, ReleaseKey, ReleaseRecordRef } from './types.ts'
import { whileAllowed } from './while-allowed.ts'

export type RollbackFlags = Pick<HelmFlags, 'disableHooks' | 'recreate' | 'wait' | 'force' | 'cleanupOnFail' | 'timeoutSeconds' | 'dryRun'>

export interface RollbackTaskDeps {
  readonly openTaskCluster: OpenTaskCluster
  readonly driverOf: StorageDriverOf
  readonly helm: HelmRunner
  readonly releases: ReleaseStore
  readonly chartTexts: ChartTexts
  readonly textDiff: TextDiff
  readonly pause: Pause
  readonly clock: Clock
}

/** The revision to go back to; 0 is the one before the newest. Undefined when it is not kept. */
export const targetOf = ({ newest, all }: Standing, revision: number): ReleaseRecordRef | undefined => {
  const wanted = revision === 0 ? (newest?.version ?? 0) - 1 : revision
  return all.find(({ version }) => version === wanted)
}

interface Planned extends RecordPlace {
  readonly before: Standing
  readonly target: Release
  readonly flags: RollbackFlags
  readonly description: string | undefined
}

const tryRollback = async (deps: RollbackTaskDeps, run: TaskRun, { cluster, driver, release, before, target }: Planned): Promise<TaskEnd> => {
  const ref = before.live ?? before.newest
  const read = ref === undefined ? left<Failure>(ReleaseMissing('No revision is live.')) : await deps.releases.read(cluster, driver, ref, run.signal)
  if (isLeft(read)) return failedBefore(run, read.left)
  const redact = redactSecrets(read.right.config, target.config)
  const compared = await compareManifests(deps, read.right.manifest, target.manifest, { home: release.namespace, redact })
  if (isLeft(compared)) return failedBefore(run, compared.left)
  const { text, diff } = compared.right
  return succeeded(`Dry run, nothing was changed: going back to revision ${target.version} means ${text}.`, {
    release: release.name, namespace: release.namespace, dryRun: true, revision: read.right.version, target: target.version, diff,
  })
}

const describe = async (deps: RollbackTaskDeps, run: TaskRun, place: Planned): Promise<void> => {
  const { cluster, driver, description, before } = place
  const after = await readStanding(deps.releases, place, run.signal)
  const newest = isLeft(after) ? undefined : after.right.newest
  if (description === undefined || newest === undefined || newest.version <= (before.newest?.version ?? 0)) return
  const amended = await deps.releases.amend(cluster, driver, newest, { description }, run.signal)
  if (isLeft(amended)) run.progress.say(`The description could not be written: ${amended.left.message}`, { level: 'warning' })
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
  const done = await attendHelm(deps, run, about, (onEvent) =>
    deps.helm.rollback({ target: { cluster, driver, tenantId: cluster.ownerId }, release, flags, onEvent }, target.version, run.signal),
  )
  if (!isLeft(done) && flags.recreate === true && !run.signal.aborted) await recreatePods(deps.helm, run, plan, objects)
  if (!isLeft(done) && run.signal.reason !== 'lease-lost' && run.signal.reason !== 'rights-lost') await describe(deps, run, plan)
  return endOfHelm(deps, run, { cluster, driver, release, verb: 'rollback', before, wasAtomic: false }, isLeft(done) ? done.left : undefined)
}

/** The work of a task that rolls a release back, or says what that would change. */
export const makeRunRollback = (deps: RollbackTaskDeps) => (asked: TaskRun): Promise<TaskEnd> =>
  whileAllowed(deps, asked, async (run, { cluster }) => {
    const place = { cluster, driver: await deps.driverOf(cluster), release: run.input.release as unknown as ReleaseKey }
    const before = await readStanding(deps.releases, place, run.signal)
    if (isLeft(before)) return failedBefore(run, before.left)
    const ref = targetOf(before.right, Number(run.input.revision ?? 0))
    if (ref === undefined) return failedBefore(run, ReleaseMissing('The revision to go back to is not kept any more.'))
    const target = await deps.releases.read(cluster, place.driver, ref, run.signal)
    if (isLeft(target)) return failedBefore(run, target.left)
    const flags = (run.input.flags ?? {}) as unknown as RollbackFlags
    const description = typeof run.input.description === 'string' ? run.input.description : undefined
    const plan: Planned = { ...place, before: before.right, target: target.right, flags, description }
    run.progress.say(`Back to revision ${ref.version}, from ${before.right.newest?.version ?? 0}`, { data: { target: ref.version } })
    if (flags.dryRun !== undefined) return tryRollback(deps, run, plan)
    if (run.signal.aborted) return stoppedBefore(run)
    return rollBack(deps, run, plan)
  })
