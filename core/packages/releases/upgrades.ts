import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTasks, TaskCluster } from '../../cluster-tasks/ports.ts'
import { failedBeforeChange, inStep } from '../../cluster-tasks/types.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmittedTask, TaskEnd, TaskHandler, TaskRun } from '../../tasks/ports.ts'
import type { Chart, ChartSource, FetchedChart } from '../charts/ports.ts'
import { ChartSourceUnreachable } from '../charts/ports.ts'
import type { ValueReaders, ValuesSpec } from '../charts/values.ts'
import { checkValuesSpec, composeOverrides, composeValues, saysValues, storedValues } from '../charts/values.ts'
import type { JsonPatches, StorageDriverOf } from '../ports.ts'
import { ReleaseMissing } from '../ports.ts'
import type { ChartRef, ReleaseKey } from '../types.ts'
import type { HelmFlags } from './ports.ts'
import { ReleaseNameTaken } from './ports.ts'
import type { ApplyChartDeps } from './prepared-release.ts'
import { makeApplyChart } from './prepared-release.ts'
import type { FindFailure, ReleaseQuestion } from './release-reads.ts'
import type { ReleaseState } from './release-state.ts'
import { isPending, pendingElsewhere } from './release-state.ts'
import type { SubmitReleaseDeps, SubmitReleaseFailure } from './release-tasks.ts'
import {
  checkReleaseKey,
  makeRecoverReleaseTask,
  openCluster,
  releaseIn,
  resolveRelease,
  submitReleaseTask,
} from './release-tasks.ts'
import { definedFields } from '../../kernel/json.ts'

/** The parameters of an install or upgrade, as stored in the task's input. */
export interface ReleaseRequest {
  readonly chart: ChartRef
  readonly values: ValuesSpec
  readonly flags: HelmFlags
  /** Added to Chart.yaml as `app.kubernetes.io/part-of`. */
  readonly partOf?: string
}

export interface ChartTaskDeps extends ApplyChartDeps {
  readonly clusterTasks: ClusterTasks
  readonly driverOf: StorageDriverOf
  readonly chartSource: ChartSource
  readonly patches: JsonPatches
}

/** Returns the chart reference. With `devel` and no version it is the newest version, including pre-releases. */
const refOf = ({ chart, flags }: ReleaseRequest): ChartRef =>
  flags.devel === true && chart.version === '' ? { ...chart, version: '>0.0.0-0' } : chart

const shownSource = ({ source }: ChartRef): string =>
  `${source.kind} ${source.namespace === '' ? '' : `${source.namespace}/`}${source.name.replace(/\/\/[^/@]*@/, '//')}`

const fetchChart = async (
  deps: ChartTaskDeps,
  run: TaskRun,
  order: ReleaseRequest,
  cluster: MemberCluster,
): Outcome<Failure, FetchedChart> => {
  const ref = refOf(order)
  return inStep(
    run,
    { title: `Fetch the chart ${ref.name}`, failed: 'The chart could not be fetched.' },
    async (step) => {
      step.say(`From ${shownSource(ref)}${ref.version === '' ? ', the newest version' : `, version ${ref.version}`}`)
      const fetched = await deps.chartSource
        .fetch(ref, { cluster, tenantId: cluster.ownerId }, run.signal)
        .catch((error: unknown) => {
          // An aborted fetch throws; a cancelled task is not an internal error.
          if (!run.signal.aborted) throw error
          return left(ChartSourceUnreachable('The fetch was broken off.'))
        })
      if (isLeft(fetched)) return fetched
      const { chart, digest, size } = fetched.right
      step.say(`${chart.name} ${chart.version}, ${Math.ceil(size / 1024)} KiB, ${digest}`, {
        data: { chart: chart.name, version: chart.version, digest, size },
      })
      if (chart.metadata.deprecated === true) step.say('The chart is marked as deprecated.', { level: 'warning' })
      return fetched
    },
  )
}

/** Reports whether helm gets only what the caller sets, and merges the previous values below it. */
const keepsFormer = ({ flags, values }: ReleaseRequest): boolean =>
  (flags.reuseValues === true || flags.resetThenReuseValues === true) &&
  values.replaceValues === undefined &&
  values.valuesPatch === undefined &&
  values.valuesFile === undefined

/**
 * The values for helm, in the form of `ReleaseChange`, with the flags that tell helm what to do with the previous ones.
 */
interface ChosenValues {
  readonly values: FreeObject | undefined
  readonly flags: HelmFlags
}

const chooseValues = async (
  readers: ValueReaders,
  chart: Chart,
  order: ReleaseRequest,
): Outcome<Failure<'ValuesRefused'>, ChosenValues> => {
  const { values: spec, flags } = order
  if (!saysValues(spec)) return right({ values: undefined, flags })
  if (keepsFormer(order)) {
    const overrides = await composeOverrides(readers, spec)
    return isLeft(overrides) ? overrides : right({ values: overrides.right, flags })
  }
  const composed = await composeValues(readers, chart, spec)
  if (isLeft(composed)) return composed
  // Helm takes an empty set of values for none and would keep the previous ones.
  const { reuseValues: _reuse, resetThenReuseValues: _resetThenReuse, ...others } = flags
  return right({ values: storedValues(chart, composed.right), flags: { ...others, resetValues: true } })
}

const orderOf = (input: FreeObject): ReleaseRequest => input as unknown as ReleaseRequest

/** The work of a task that installs or upgrades: fetches the chart, composes the values, and applies both. */
const makeRunChartTask = (deps: ChartTaskDeps, verb: 'install' | 'upgrade') => {
  const applyChart = makeApplyChart(deps)
  const work = async (run: TaskRun, { cluster }: TaskCluster): Promise<TaskEnd> => {
    const order = orderOf(run.input)
    const fetched = await fetchChart(deps, run, order, cluster)
    if (isLeft(fetched)) return failedBeforeChange(run, fetched.left)
    const { chart } = fetched.right
    const chosen = await chooseValues(deps, chart, order)
    if (isLeft(chosen)) return failedBeforeChange(run, chosen.left)
    const ended = await applyChart(run, {
      cluster,
      verb,
      chart,
      driver: await deps.driverOf(cluster),
      tenantId: cluster.ownerId,
      release: releaseIn(run),
      ...chosen.right,
      ...definedFields({
        annotations: order.partOf === undefined ? undefined : { 'app.kubernetes.io/part-of': order.partOf },
      }),
    })
    return ended.result === undefined
      ? ended
      : { ...ended, result: { ...ended.result, chart: `${chart.name}-${chart.version}` } }
  }
  return (run: TaskRun): Promise<TaskEnd> => deps.clusterTasks.run(run, work)
}

export interface InstallRequest extends ReleaseRequest {
  readonly grant: AccessGrant
  readonly release: ReleaseKey
  readonly responseId: string | undefined
}

export type OrderFailure =
  | SubmitReleaseFailure
  | Failure<'ReleaseOptionsRefused'>
  | Failure<'ReleasePending'>
  | Failure<'ValuesRefused'>

const installKind = 'packages.installRelease'

const again = (status: string): string =>
  status === 'failed' || status === 'uninstalled'
    ? 'Upgrade it, or install with `replace`.'
    : 'Upgrade it, or choose another name.'

/**
 * Rejects a name in use. Helm reuses a name only with the `replace` option, and if nothing of the previous release
 * remains.
 */
const judgeName = (
  release: ReleaseKey,
  { flags }: Pick<ReleaseRequest, 'flags'>,
  { newest }: ReleaseState,
): Failure<'ReleaseNameTaken'> | Failure<'ReleasePending'> | undefined => {
  if (newest === undefined || flags.dryRun === 'client') return undefined
  if (isPending(newest)) return pendingElsewhere(release, newest)
  const isFree = newest.status === 'uninstalled' || newest.status === 'failed'
  if (flags.replace === true && isFree) return undefined
  return ReleaseNameTaken(
    `There is a release ${release.name} in the namespace ${release.namespace}: revision ${newest.version}, ` +
      `${newest.status}. ${again(newest.status)}`,
  )
}

/** Returns an order in the form stored in a task's input. */
const orderInput = ({ chart, values, flags, partOf }: ReleaseRequest): FreeObject =>
  ({ chart, values, flags, ...definedFields({ partOf }) }) as unknown as FreeObject

/**
 * Accepts an install. Errors that are visible without the chart are returned now: names, the form of values, a name in
 * use. The task fetches the chart and validates the values against it.
 */
export const makeInstallRelease =
  (deps: SubmitReleaseDeps & ValueReaders) =>
  async (
    call: SignedInCall<SubmittedTask>,
    request: InstallRequest,
  ): Outcome<OrderFailure | Failure<'ReleaseNameTaken'>, SubmittedTask> => {
    const { grant, release, flags, responseId } = request
    const key = checkReleaseKey(release)
    if (isLeft(key)) return key
    const values = await checkValuesSpec(deps, request.values)
    if (isLeft(values)) return values
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const operation = {
      kind: installKind,
      verb: 'install',
      release,
      input: orderInput(request),
      isDryRun: flags.dryRun !== undefined,
      responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judgeName(release, request, standing))
  }

export const installReleaseKind = (deps: ChartTaskDeps): TaskHandler => ({
  kind: installKind,
  run: makeRunChartTask(deps, 'install'),
  recover: makeRecoverReleaseTask(deps, 'install'),
})

export interface UpgradeRequest extends ReleaseRequest, ReleaseQuestion {
  readonly grant: AccessGrant
  readonly responseId: string | undefined
}

const upgradeKind = 'packages.upgradeRelease'

const judge = (
  release: ReleaseKey,
  { flags }: UpgradeRequest,
  { newest }: ReleaseState,
): Failure<'ReleaseMissing'> | Failure<'ReleasePending'> | undefined => {
  if (newest === undefined)
    return flags.install === true
      ? undefined
      : ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`)
  return isPending(newest) && flags.dryRun === undefined ? pendingElsewhere(release, newest) : undefined
}

/** Accepts an upgrade of an existing release; with `install`, of any release. */
export const makeUpgradeRelease =
  (deps: SubmitReleaseDeps & ValueReaders) =>
  async (
    call: SignedInCall<SubmittedTask>,
    request: UpgradeRequest,
  ): Outcome<OrderFailure | FindFailure, SubmittedTask> => {
    const { grant, flags, responseId } = request
    const values = await checkValuesSpec(deps, request.values)
    if (isLeft(values)) return values
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, flags.install === true)
    if (isLeft(release)) return release
    const key = checkReleaseKey(release.right)
    if (isLeft(key)) return flags.install === true ? key : left(ReleaseMissing(`There is no release ${request.name}.`))
    const operation = {
      kind: upgradeKind,
      verb: 'upgrade',
      release: release.right,
      input: orderInput(request),
      isDryRun: flags.dryRun !== undefined,
      responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judge(release.right, request, standing))
  }

export const upgradeReleaseKind = (deps: ChartTaskDeps): TaskHandler => ({
  kind: upgradeKind,
  run: makeRunChartTask(deps, 'upgrade'),
  recover: makeRecoverReleaseTask(deps, 'upgrade'),
})
