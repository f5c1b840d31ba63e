import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskEnd, TaskRun } from '../tasks/ports.ts'
import { makeApplyChart } from './apply-chart.ts'
import type { ApplyChartDeps } from './chart-application.ts'
import { ChartSourceUnreachable, type Chart, type ChartSource, type FetchedChart } from './chart-ports.ts'
import { composeOverrides, composeValues, exactValues, saysValues, type ValueReaders, type ValuesSpec } from './compose-values.ts'
import type { HelmFlags } from './helm-ports.ts'
import type { JsonPatches, StorageDriverOf } from './ports.ts'
import { makeRecoverRelease, unknowable } from './recover-release.ts'
import type { OpenTaskCluster, TaskCluster } from './task-cluster.ts'
import { failedBefore } from './task-ends.ts'
import type { ChartRef, ReleaseKey } from './types.ts'
import { whileAllowed } from './while-allowed.ts'

/** What an install or an upgrade is asked with, as it travels in the task's input. */
export interface ChartOrder {
  readonly chart: ChartRef
  readonly values: ValuesSpec
  readonly flags: HelmFlags
  /** Added to Chart.yaml as `app.kubernetes.io/part-of`. */
  readonly partOf?: string
}

export interface ChartTaskDeps extends ApplyChartDeps {
  readonly openTaskCluster: OpenTaskCluster
  readonly driverOf: StorageDriverOf
  readonly chartSource: ChartSource
  readonly patches: JsonPatches
}

/** The newest version of all, those before a release included, where `devel` is said and no version is. */
const refOf = ({ chart, flags }: ChartOrder): ChartRef => (flags.devel === true && chart.version === '' ? { ...chart, version: '>0.0.0-0' } : chart)

const shownSource = ({ source }: ChartRef): string =>
  `${source.kind} ${source.namespace === '' ? '' : `${source.namespace}/`}${source.name.replace(/\/\/[^/@]*@/, '//')}`

const fetchChart = async (deps: ChartTaskDeps, run: TaskRun, order: ChartOrder, cluster: MemberCluster): Outcome<Failure, FetchedChart> => {
  const ref = refOf(order)
  const step = run.progress.step(`Fetch the chart ${ref.name}`)
  step.say(`From ${shownSource(ref)}${ref.version === '' ? ', the newest version' : `, version ${ref.version}`}`)
  const fetched = await deps.chartSource.fetch(ref, { cluster, tenantId: cluster.ownerId }, run.signal).catch((error: unknown) => {
    // A fetch that is broken off throws: that the task was to stop is no fault of the service's.
    if (!run.signal.aborted) throw error
    return left(ChartSourceUnreachable('The fetch was broken off.'))
  })
  if (isLeft(fetched)) {
    step.failed('The chart could not be fetched.')
    return fetched
  }
  const { chart, digest, size } = fetched.right
  step.say(`${chart.name} ${chart.version}, ${Math.ceil(size / 1024)} KiB, ${digest}`, { data: { chart: chart.name, version: chart.version, digest, size } })
  if (chart.metadata.deprecated === true) step.say('The chart is marked as deprecated.', { level: 'warning' })
  step.done()
  return fetched
}

/** Whether only what the caller sets goes to helm, which puts the former values below. */
const keepsFormer = ({ flags, values }: ChartOrder): boolean =>
  (flags.reuseValues === true || flags.resetThenReuseValues === true) &&
  values.replaceValues === undefined && values.valuesPatch === undefined && values.valuesFile === undefined

const valuesFor = async (readers: ValueReaders, chart: Chart, order: ChartOrder): Outcome<Failure<'ValuesRefused'>, FreeObject | undefined> => {
  if (!saysValues(order.values)) return right(undefined)
  if (keepsFormer(order)) return composeOverrides(readers, order.values)
  const complete = await composeValues(readers, chart, order.values)
  return isLeft(complete) ? complete : right(exactValues(chart, complete.right))
}

const orderOf = (input: FreeObject): ChartOrder => input as unknown as ChartOrder
const releaseOf = (input: FreeObject): ReleaseKey => input.release as unknown as ReleaseKey

/** The work of a task that installs or upgrades: fetches the chart, composes the values, and applies both. */
export const makeRunChartTask = (deps: ChartTaskDeps, verb: 'install' | 'upgrade') => {
  const applyChart = makeApplyChart(deps)
  const work = async (run: TaskRun, { cluster }: TaskCluster): Promise<TaskEnd> => {
    const order = orderOf(run.input)
    const fetched = await fetchChart(deps, run, order, cluster)
    if (isLeft(fetched)) return failedBefore(run, fetched.left)
    const { chart } = fetched.right
    const values = await valuesFor(deps, chart, order)
    if (isLeft(values)) return failedBefore(run, values.left)
    const ended = await applyChart(run, {
      cluster, verb, chart,
      driver: await deps.driverOf(cluster),
      tenantId: cluster.ownerId,
      release: releaseOf(run.input),
      values: values.right,
      flags: order.flags,
      ...(order.partOf === undefined ? {} : { annotations: { 'app.kubernetes.io/part-of': order.partOf } }),
    })
    return ended.result === undefined ? ended : { ...ended, result: { ...ended.result, chart: `${chart.name}-${chart.version}` } }
  }
  return (run: TaskRun): Promise<TaskEnd> => whileAllowed(deps, run, work)
}

/** What a task's own words say of how things stood when it was accepted. */
export const beforeRevisionOf = (run: Pick<TaskRun, 'task'>): number => Number(run.task.about.revision ?? 0) || 0

/** Finds out what became of a release operation whose worker died, and ends its task truthfully. */
export const makeRecoverReleaseTask = (
  deps: Pick<ChartTaskDeps, 'openTaskCluster' | 'driverOf' | 'releases' | 'pause'>,
  verb: 'install' | 'upgrade' | 'rollback' | 'uninstall',
) => {
  const recover = makeRecoverRelease(deps)
  return async (run: TaskRun): Promise<TaskEnd> => {
    const flags = (run.input.flags ?? {}) as unknown as HelmFlags
    if (flags.dryRun !== undefined) return { state: 'failed', message: 'Nothing was changed: it was a dry run.', error: 'The process that worked on this task died.' }
    const opened = await deps.openTaskCluster(run)
    if (isLeft(opened)) return unknowable(opened.left.message)
    const { cluster } = opened.right
    const place = { cluster, driver: await deps.driverOf(cluster), release: releaseOf(run.input) }
    return recover(place, { verb, beforeRevision: beforeRevisionOf(run), keepsHistory: flags.keepHistory === true })
  }
}
