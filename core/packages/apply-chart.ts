import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { TaskEnd, TaskRun } from '../tasks/ports.ts'
import { runApplication } from './apply-release.ts'
import type { ApplyChartDeps, ChartApplication, PreparedApplication } from './chart-application.ts'
import { dryRunApplication } from './dry-run-release.ts'
import { redactAll, redactSecrets } from './redact.ts'
import { isPending, pendingElsewhere, readStanding, type Standing } from './standing.ts'
import { failedBefore } from './task-ends.ts'
import type { Release } from './types.ts'
import { mergeTables } from './value-tables.ts'

const formerOf = async (deps: ApplyChartDeps, { cluster, driver }: ChartApplication, before: Standing, signal: AbortSignal): Outcome<Failure, Release | undefined> => {
  const ref = before.live ?? before.newest
  if (ref === undefined) return right(undefined)
  const read = await deps.releases.read(cluster, driver, ref, signal)
  if (!isLeft(read)) return read
  return read.left.tag === 'ReleaseMissing' ? right(undefined) : read
}

/** The values that count, so that they can be judged before helm starts. */
const effectiveValues = ({ flags, values, verb }: ChartApplication, former: Release | undefined): FreeObject => {
  const kept = verb === 'install' || flags.resetValues === true ? {} : (former?.config ?? {})
  if (values === undefined) return kept
  return flags.reuseValues === true || flags.resetThenReuseValues === true ? mergeTables(kept, values) : values
}

const prepare = async (deps: ApplyChartDeps, run: TaskRun, application: ChartApplication): Outcome<Failure, PreparedApplication> => {
  const { release, chart } = application
  const before = await readStanding(deps.releases, application, run.signal)
  if (isLeft(before)) return before
  const { newest } = before.right
  if (application.flags.dryRun === undefined && newest !== undefined && isPending(newest)) return left(pendingElsewhere(release, newest))
  const former = await formerOf(deps, application, before.right, run.signal)
  if (isLeft(former)) return former
  const effective = effectiveValues(application, former.right)
  const step = run.progress.step('Check the values')
  const judged = await deps.chartTools.checkValues(chart, effective)
  if (isLeft(judged)) {
    step.failed('The values do not fit the chart.')
    return judged
  }
  step.done('The values fit the chart')
  const archive = await deps.chartTools.pack(chart, application.annotations === undefined ? {} : { annotations: application.annotations })
  const said = [application.values, effective, former.right?.config]
  return right({ ...application, before: before.right, former: former.right, effective, archive, redactAll: redactAll(...said), redactSecrets: redactSecrets(...said) })
}

/**
 * Makes a chart a release, or a new revision of one, within a task: checks, renders, asks for rights, runs helm, tells all
 * of it as steps, and says at the end what is live. Never throws for what a cluster, a chart or helm does. The caller has
 * opened the cluster as the task's actor and holds the release's lock.
 */
export const makeApplyChart = (deps: ApplyChartDeps) =>
  async (run: TaskRun, application: ChartApplication): Promise<TaskEnd> => {
    const prepared = await prepare(deps, run, application)
    if (isLeft(prepared)) return failedBefore(run, prepared.left)
    return application.flags.dryRun === undefined ? runApplication(deps, run, prepared.right) : dryRunApplication(deps, run, prepared.right)
  }
