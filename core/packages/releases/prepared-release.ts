import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { cancelledBeforeChange, failedBeforeChange, inStep, succeeded } from '../../cluster-tasks/types.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { TaskEnd, TaskRun, TaskStep } from '../../tasks/ports.ts'
import type { Chart, ChartTexts, ChartTools } from '../charts/ports.ts'
import { exactValues } from '../charts/values.ts'
import { asTable, mergeTables, repeatedDefaults } from '../../formats/helm/value-tables.ts'
import type { ReleaseStore } from '../ports.ts'
import type { Release, ReleaseKey, StorageDriver } from '../types.ts'
import type { PlannedHook } from './helm-progress.ts'
import { runHelmWithProgress, plannedHook } from './helm-progress.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { countByKind, countOf } from '../../formats/kubernetes/objects.ts'
import { objectsOf, recreatePods } from './kubernetes-objects.ts'
import type { ComparedManifests } from './manifest-diff.ts'
import { chartCrds, compareCrds, compareManifests } from './manifest-diff.ts'
import { describeDiff, diffManifests } from '../../formats/kubernetes/manifest-diff.ts'
import type {
  HelmEvent,
  HelmFailure,
  HelmFlags,
  HelmRendering,
  HelmRunner,
  HelmWork,
  RecordSizes,
  TextDiff,
} from './ports.ts'
import { bigFiles, checkValues, missingRights, recordLimitBytes, storedParts } from './preflight.ts'
import type { Redact } from '../../kernel/secret.ts'
import { redactAll, redactSecrets } from '../../kernel/secret.ts'
import type { ReleaseState } from './release-state.ts'
import { helmResult, isPending, pendingElsewhere, readReleaseState } from './release-state.ts'
import { definedFields } from '../../kernel/json.ts'

/** A chart to install or upgrade as a release. */
export interface ReleaseChange {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  /** The tenant whose share of helm processes is used. */
  readonly tenantId: AccountId
  readonly release: ReleaseKey
  /** `upgrade` with the flag `install` installs the release if it does not exist. */
  readonly verb: 'install' | 'upgrade'
  readonly chart: Chart
  /**
   * What the caller set (see `storedValues`): helm stores it and merges it over the defaults. Undefined keeps that of
   * the previous revision.
   */
  readonly values: FreeObject | undefined
  /** With `dryRun`, nothing is changed and the result contains a diff. */
  readonly flags: HelmFlags
  /** Added to Chart.yaml. */
  readonly annotations?: Readonly<Record<string, string>>
}

export interface ApplyChartDeps {
  readonly helm: HelmRunner
  readonly chartTexts: ChartTexts
  readonly chartTools: ChartTools
  readonly releases: ReleaseStore
  readonly textDiff: TextDiff
  readonly recordSizes: RecordSizes
  readonly pause: Pause
  readonly clock: Clock
}

/** An application with everything that is known before helm runs. */
export interface PreparedRelease extends ReleaseChange {
  readonly before: ReleaseState
  /** The deployed revision, else the newest one; an upgrade starts from it. */
  readonly former: Release | undefined
  /** The values of the new release, without the chart's defaults. */
  readonly effective: FreeObject
  readonly archive: Uint8Array
  /** For output of helm, which may quote any value. */
  readonly redactAll: Redact
  /** For text that people read. */
  readonly redactSecrets: Redact
}

/**
 * Reports whether helm failed on objects whose CRDs are only part of the chart: it can render them, but not look them
 * up.
 */
const wantsCrds = (failure: HelmFailure): boolean =>
  failure.tag === 'HelmRefused' && /ensure CRDs are installed first|no matches for kind/.test(failure.message)

const manifestOf = async (
  deps: ApplyChartDeps,
  prepared: PreparedRelease,
  step: TaskStep,
  signal: AbortSignal,
): Outcome<HelmFailure, string> => {
  const { cluster, driver, tenantId, release, flags, verb, archive, values, effective } = prepared
  const work: HelmWork = { target: { cluster, driver, tenantId }, release, flags }
  if (flags.dryRun === 'client') {
    const drawn = await deps.helm.template(work, { archive, values: effective }, signal)
    return isLeft(drawn) ? drawn : right(drawn.right.manifest)
  }
  const asked = await deps.helm[verb](work, { archive, values }, signal)
  if (!isLeft(asked)) return right(asked.right.release?.manifest ?? asked.right.manifest)
  if (!wantsCrds(asked.left)) return asked
  step.say(
    'The chart brings definitions that the cluster lacks, so the cluster could not judge its objects; they ' +
      'were only rendered.',
    { level: 'warning' },
  )
  const drawn = await deps.helm.template(work, { archive, values: effective }, signal)
  return isLeft(drawn) ? drawn : right(drawn.right.manifest)
}

/** What a failure may name although a value is equal to it. */
const namesOf = ({ release, chart }: ReleaseChange): readonly string[] => [release.name, release.namespace, chart.name]

/** Reports what an install or upgrade would change: the cluster validates it and stores nothing. */
const dryRunRelease = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedRelease): Promise<TaskEnd> => {
  const { release, former, flags } = prepared
  const step = run.progress.step(
    flags.dryRun === 'client' ? 'Render the chart' : 'Try it on the cluster, without changes',
  )
  const manifest = await manifestOf(deps, prepared, step, run.signal)
  const compared: Either<Failure, ComparedManifests> = isLeft(manifest)
    ? left({ ...manifest.left, message: prepared.redactAll(manifest.left.message, namesOf(prepared)) })
    : await compareManifests(deps, former?.manifest ?? '', manifest.right, {
        home: release.namespace,
        redact: prepared.redactSecrets,
      })
  if (isLeft(compared)) {
    step.failed('It would not succeed.')
    return failedBeforeChange(run, compared.left)
  }
  step.done(compared.right.text)
  const result = {
    release: release.name,
    namespace: release.namespace,
    dryRun: true,
    revision: former?.version ?? 0,
    diff: compared.right.diff,
  }
  return succeeded(`Dry run, nothing was changed: ${compared.right.text}.`, result)
}

interface Rendered {
  readonly objects: readonly ManifestObject[]
  readonly hooks: readonly PlannedHook[]
  readonly manifest: string
}

/** Maximum number of objects in one line. */
const maxNamed = 20

const isNew = ({ before, verb }: PreparedRelease): boolean => verb === 'install' || before.newest === undefined

const workOf = (
  { cluster, driver, tenantId, release, flags }: ReleaseChange,
  onEvent?: (event: HelmEvent) => void,
): HelmWork => ({
  target: { cluster, driver, tenantId },
  release,
  flags,
  ...definedFields({ onEvent }),
})

const render = (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedRelease): Outcome<Failure, Rendered> =>
  inStep(run, { title: 'Render the chart', failed: 'The chart could not be rendered.' }, async (step) => {
    const { cluster, chart, archive, effective, flags } = prepared
    const rendered = await deps.helm.template(workOf(prepared), { archive, values: effective }, run.signal)
    if (isLeft(rendered))
      return left({ ...rendered.left, message: prepared.redactAll(rendered.left.message, namesOf(prepared)) })
    const objects = await objectsOf(deps.chartTexts, rendered.right.manifest)
    if (isLeft(objects)) {
      step.failed('What the chart renders cannot be read.')
      return objects
    }
    const { text, counts } = countByKind(objects.right)
    const hooks = rendered.right.hooks.map(plannedHook)
    step.say(
      `${countOf(objects.right.length, 'object')}${text === '' ? '' : `: ${text}`}; ${countOf(hooks.length, 'hook')}`,
      { data: { objects: objects.right.length, kinds: counts, hooks: hooks.length } },
    )
    const crds = await chartCrds(deps.chartTexts, chart)
    if (crds.length > 0) {
      const standing = await compareCrds(cluster, crds, run.signal)
      const installs = isNew(prepared) && flags.skipCrds !== true
      if (installs && standing.missing.length > 0)
        step.say(`${countOf(standing.missing.length, 'CRD')} will be created: ${standing.missing.join(', ')}`)
      const notApplied = [...standing.differing, ...(installs ? [] : standing.missing)]
      if (notApplied.length > 0) {
        const data = { differing: standing.differing, missing: installs ? [] : standing.missing }
        step.say(
          `${notApplied.length === 1 ? '1 CRD differs' : `${notApplied.length} CRDs differ`}, not applied: ` +
            `${notApplied.join(', ')}. An upgrade changes no CRDs; apply them from the chart's folder crds.`,
          { level: 'warning', data },
        )
      }
    }
    return right({ objects: objects.right, hooks, manifest: rendered.right.manifest })
  })

/** Reports what an upgrade will change before it starts, so that it can still be cancelled. */
const sayChanges = async (
  deps: ApplyChartDeps,
  step: TaskStep,
  { former, release, redactSecrets }: PreparedRelease,
  { objects }: Rendered,
): Promise<void> => {
  const before = former === undefined ? undefined : await objectsOf(deps.chartTexts, former.manifest)
  if (former === undefined || before === undefined || isLeft(before)) return
  const diff = await diffManifests(deps, before.right, objects, { home: release.namespace, redact: redactSecrets })
  const removed = diff.objects.filter(({ change }) => change === 'removed').map(({ object }) => object)
  const { added, changed, kept, unchanged } = diff
  const names =
    removed.length === 0
      ? ''
      : `; to be removed: ${removed.slice(0, maxNamed).join(', ')}${removed.length > maxNamed ? ', …' : ''}`
  step.say(`Compared with revision ${former.version}: ${describeDiff(diff)}${names}`, {
    data: { added, changed, removed: diff.removed, kept, unchanged },
  })
}

const check = (
  deps: ApplyChartDeps,
  run: TaskRun,
  prepared: PreparedRelease,
  rendered: Rendered,
): Outcome<Failure, void> =>
  inStep(run, { title: 'Check rights and size', failed: 'Rights are missing.' }, async (step) => {
    const verb = isNew(prepared) ? 'create' : 'patch'
    const missing = await missingRights(
      prepared.cluster,
      rendered.objects,
      { home: prepared.release.namespace, verb },
      run.signal,
    )
    if (missing.length > 0 && verb === 'create') {
      return left({
        tag: 'RightsMissing',
        kind: 'Forbidden',
        message: `The cluster does not let you ${missing.join('; ')}.`,
      })
    }
    // Rights may be granted for single names, so the check is not conclusive.
    if (missing.length > 0)
      step.say(`The cluster may not let you ${missing.join('; ')}`, { level: 'warning', data: { missing } })
    await sayChanges(deps, step, prepared, rendered)
    const size = await deps.recordSizes.packed(storedParts(prepared.chart, rendered.manifest, prepared.effective))
    if (size > recordLimitBytes) {
      step.failed('The release is too large.')
      const message = `The record of the release would take ${Math.ceil(size / 1024)} KiB, and a ${prepared.driver} holds 1024 KiB. The largest files of the chart: ${bigFiles(prepared.chart)}.`
      return left({ tag: 'RecordTooLarge', kind: 'Unprocessable', message })
    }
    step.say(`The record takes about ${Math.ceil(size / 1024)} of 1024 KiB`, { data: { bytes: size } })
    return right(undefined)
  })

const callHelm = (
  deps: ApplyChartDeps,
  run: TaskRun,
  prepared: PreparedRelease,
  rendered: Rendered,
): Outcome<HelmFailure, HelmRendering> => {
  const { cluster, archive, values, release, flags, verb, driver, redactAll, redactSecrets } = prepared
  const undoes = flags.atomic === true
  const plan = { ...rendered, home: release.namespace, driver }
  return runHelmWithProgress(
    deps,
    run,
    { cluster, plan, waits: flags.wait === true || undoes, undoes, redactAll, redactSecrets },
    (onEvent) => deps.helm[verb](workOf(prepared, onEvent), { archive, values }, run.signal),
  )
}

/** Renders, validates and runs helm. Every step is reported, and the end states which revision is deployed. */
const applyRelease = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedRelease): Promise<TaskEnd> => {
  const rendered = await render(deps, run, prepared)
  if (isLeft(rendered)) return failedBeforeChange(run, rendered.left)
  const checked = await check(deps, run, prepared, rendered.right)
  if (isLeft(checked)) return failedBeforeChange(run, checked.left)
  if (run.signal.aborted) return cancelledBeforeChange(run)
  const done = await callHelm(deps, run, prepared, rendered.right)
  if (!isLeft(done) && prepared.flags.recreate === true && !run.signal.aborted)
    await recreatePods(deps.helm, run, prepared, rendered.right.objects)
  // Notes may contain values, so they are not repeated here.
  if (!isLeft(done) && done.right.notes.trim() !== '')
    run.progress.say('The chart has notes: they are in the release, under `info.notes`.')
  return helmResult(
    deps,
    run,
    { ...prepared, wasAtomic: prepared.flags.atomic === true },
    isLeft(done) ? done.left : undefined,
  )
}

const formerOf = async (
  deps: ApplyChartDeps,
  { cluster, driver }: ReleaseChange,
  before: ReleaseState,
  signal: AbortSignal,
): Outcome<Failure, Release | undefined> => {
  const ref = before.live ?? before.newest
  if (ref === undefined) return right(undefined)
  const read = await deps.releases.read(cluster, driver, ref, signal)
  if (!isLeft(read)) return read
  return read.left.tag === 'ReleaseMissing' ? right(undefined) : read
}

/** Returns the effective values, so that they can be validated before helm starts. */
const effectiveValues = ({ flags, values, verb, chart }: ReleaseChange, former: Release | undefined): FreeObject => {
  const kept = verb === 'install' || flags.resetValues === true ? {} : (asTable(former?.config) ?? {})
  // Helm reuses the old chart's defaults too, instead of those of the new chart.
  if (verb === 'upgrade' && flags.reuseValues === true && flags.resetValues !== true && former !== undefined) {
    return exactValues(chart, mergeTables(mergeTables(asTable(former.chart.values) ?? {}, kept), values ?? {}))
  }
  if (values === undefined) return kept
  return flags.resetThenReuseValues === true ? mergeTables(kept, values) : values
}

/** Reports whether the new revision contains the values of the previous one. */
const keepsConfig = ({ verb, flags, values }: ReleaseChange): boolean =>
  verb === 'upgrade' &&
  flags.resetValues !== true &&
  (values === undefined || flags.resetThenReuseValues === true) &&
  flags.reuseValues !== true

const pathList = (paths: readonly string[]): string =>
  `${paths.slice(0, maxNamed).join(', ')}${paths.length > maxNamed ? ', …' : ''}`

/**
 * Warns if values that the upgrade keeps repeat defaults of the previous chart, and the new chart has others: the
 * record may contain a complete set of values instead of what the user set. Only paths are reported.
 */
const sayRepeatedDefaults = (step: TaskStep, change: ReleaseChange, former: Release | undefined): void => {
  const config = asTable(former?.config)
  if (former === undefined || config === undefined || !keepsConfig(change)) return
  const { outdated, own } = repeatedDefaults(config, asTable(former.chart.values) ?? {}, change.chart.values)
  if (outdated.length === 0) return
  const sets = own.length === 0 ? '' : ` and give the other values of the record: ${pathList(own)}`
  step.say(
    `Revision ${former.version} stores values that are only defaults of its chart. They are kept although ` +
      `the new chart has other defaults: ${pathList(outdated)}. To take the new defaults, upgrade with ` +
      `resetValues${sets}.`,
    { level: 'warning', data: { outdatedValues: outdated.slice(0, maxNamed), ownValues: own.slice(0, maxNamed) } },
  )
}

const checkPrepared = async (
  deps: ApplyChartDeps,
  change: ReleaseChange,
  values: FreeObject,
  signal: AbortSignal,
): Outcome<Failure, void> => {
  const checked = await checkValues(deps, workOf(change), { chart: change.chart, values }, signal)
  // What helm says of a chart may quote a value.
  return isLeft(checked) && checked.left.tag !== 'ValuesRefused'
    ? left({ ...checked.left, message: redactAll(values)(checked.left.message, namesOf(change)) })
    : checked
}

const prepare = async (
  deps: ApplyChartDeps,
  run: TaskRun,
  application: ReleaseChange,
): Outcome<Failure, PreparedRelease> => {
  const { release, chart } = application
  const before = await readReleaseState(deps.releases, application, run.signal)
  if (isLeft(before)) return before
  const { newest } = before.right
  if (application.flags.dryRun === undefined && newest !== undefined && isPending(newest))
    return left(pendingElsewhere(release, newest))
  const former = await formerOf(deps, application, before.right, run.signal)
  if (isLeft(former)) return former
  const effective = effectiveValues(application, former.right)
  const texts = {
    title: 'Check the values',
    done: 'The values fit the chart',
    failed: 'The values do not fit the chart.',
  }
  const judged = await inStep(run, texts, (step) => {
    sayRepeatedDefaults(step, application, former.right)
    return checkPrepared(deps, application, effective, run.signal)
  })
  if (isLeft(judged)) return judged
  const archive = await deps.chartTools.pack(chart, definedFields({ annotations: application.annotations }))
  const said = [application.values, effective, former.right?.config]
  return right({
    ...application,
    before: before.right,
    former: former.right,
    effective,
    archive,
    redactAll: redactAll(...said),
    redactSecrets: redactSecrets(...said),
  })
}

/**
 * Installs or upgrades a chart within a task: validates, renders, checks rights, runs helm, reports all of it as steps,
 * and states at the end which revision is deployed. Never throws for errors of a cluster, a chart or helm. The caller
 * must have opened the cluster as the task's actor and must hold the release's lock.
 */
export const makeApplyChart =
  (deps: ApplyChartDeps) =>
  async (run: TaskRun, application: ReleaseChange): Promise<TaskEnd> => {
    const prepared = await prepare(deps, run, application)
    if (isLeft(prepared)) return failedBeforeChange(run, prepared.left)
    return application.flags.dryRun === undefined
      ? applyRelease(deps, run, prepared.right)
      : dryRunRelease(deps, run, prepared.right)
  }
