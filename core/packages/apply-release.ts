import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { TaskEnd, TaskRun, TaskStep } from '../tasks/ports.ts'
import { attendHelm } from './attended-helm.ts'
import type { ApplyChartDeps, PreparedApplication } from './chart-application.ts'
import { chartCrds, compareCrds } from './crd-differences.ts'
import { describeDiff, diffManifests } from './diff-manifests.ts'
import { endOfHelm } from './end-of-helm.ts'
import { plannedHook, type PlannedHook } from './follow-helm.ts'
import type { HelmEvent, HelmFailure, HelmRendering, HelmWork } from './helm-ports.ts'
import { countByKind, countOf, objectsOf, type ManifestObject } from './manifest-objects.ts'
import { bigFiles, missingRights, recordLimitBytes, storedParts } from './preflight.ts'
import { recreatePods } from './recreate-pods.ts'
import { failedBefore, stoppedBefore } from './task-ends.ts'

interface Rendered {
  readonly objects: readonly ManifestObject[]
  readonly hooks: readonly PlannedHook[]
  readonly manifest: string
}

/** Objects that one line names. */
const maxNamed = 20

const isNew = ({ before, verb }: PreparedApplication): boolean => verb === 'install' || before.newest === undefined

const workOf = ({ cluster, driver, tenantId, release, flags }: PreparedApplication, onEvent?: (event: HelmEvent) => void): HelmWork => ({
  target: { cluster, driver, tenantId },
  release,
  flags,
  ...(onEvent === undefined ? {} : { onEvent }),
})

const render = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedApplication): Outcome<Failure, Rendered> => {
  const step = run.progress.step('Render the chart')
  const { cluster, chart, archive, effective, flags } = prepared
  const rendered = await deps.helm.template(workOf(prepared), { archive, values: effective }, run.signal)
  if (isLeft(rendered)) {
    step.failed('The chart could not be rendered.')
    return left({ ...rendered.left, message: prepared.redactAll(rendered.left.message) })
  }
  const objects = await objectsOf(deps.chartTexts, rendered.right.manifest)
  if (isLeft(objects)) {
    step.failed('What the chart renders cannot be read.')
    return objects
  }
  const { text, counts } = countByKind(objects.right)
  const hooks = rendered.right.hooks.map(plannedHook)
  step.say(`${countOf(objects.right.length, 'object')}${text === '' ? '' : `: ${text}`}; ${countOf(hooks.length, 'hook')}`, { data: { objects: objects.right.length, kinds: counts, hooks: hooks.length } })
  const crds = await chartCrds(deps.chartTexts, chart)
  if (crds.length > 0) {
    const standing = await compareCrds(cluster, crds, run.signal)
    const installs = isNew(prepared) && flags.skipCrds !== true
    if (installs && standing.missing.length > 0) step.say(`${countOf(standing.missing.length, 'CRD')} will be created: ${standing.missing.join(', ')}`)
    const notApplied = [...standing.differing, ...(installs ? [] : standing.missing)]
    if (notApplied.length > 0) {
      const data = { differing: standing.differing, missing: installs ? [] : standing.missing }
      step.say(`${notApplied.length === 1 ? '1 CRD differs' : `${notApplied.length} CRDs differ`}, not applied: ${notApplied.join(', ')}. An upgrade changes no CRDs; apply them from the chart's folder crds.`, { level: 'warning', data })
    }
  }
  step.done()
  return right({ objects: objects.right, hooks, manifest: rendered.right.manifest })
}

/** What an upgrade changes, before it does: for a person who looks on, and may still cancel. */
const sayChanges = async (deps: ApplyChartDeps, step: TaskStep, { former, release, redactSecrets }: PreparedApplication, { objects }: Rendered): Promise<void> => {
  const before = former === undefined ? undefined : await objectsOf(deps.chartTexts, former.manifest)
  if (former === undefined || before === undefined || isLeft(before)) return
  const diff = await diffManifests(deps, before.right, objects, { home: release.namespace, redact: redactSecrets })
  const removed = diff.objects.filter(({ change }) => change === 'removed').map(({ object }) => object)
  const { added, changed, kept, unchanged } = diff
  const names = removed.length === 0 ? '' : `; to be removed: ${removed.slice(0, maxNamed).join(', ')}${removed.length > maxNamed ? ', …' : ''}`
  step.say(`Compared with revision ${former.version}: ${describeDiff(diff)}${names}`, { data: { added, changed, removed: diff.removed, kept, unchanged } })
}

const check = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedApplication, rendered: Rendered): Outcome<Failure, void> => {
  const step = run.progress.step('Check rights and size')
  const verb = isNew(prepared) ? 'create' : 'patch'
  const missing = await missingRights(prepared.cluster, rendered.objects, { home: prepared.release.namespace, verb }, run.signal)
  if (missing.length > 0 && verb === 'create') {
    step.failed('Rights are missing.')
    return left({ tag: 'RightsMissing', kind: 'Forbidden', message: `The cluster does not let you ${missing.join('; ')}.` })
  }
  // A right may be given for single names: then only the attempt tells.
  if (missing.length > 0) step.say(`The cluster may not let you ${missing.join('; ')}`, { level: 'warning', data: { missing } })
  await sayChanges(deps, step, prepared, rendered)
  const size = await deps.recordSizes.packed(storedParts(prepared.chart, rendered.manifest, prepared.effective))
  if (size > recordLimitBytes) {
    step.failed('The release is too large.')
    const message = `The record of the release would take ${Math.ceil(size / 1024)} KiB, and a ${prepared.driver} holds 1024 KiB. The largest files of the chart: ${bigFiles(prepared.chart)}.`
    return left({ tag: 'RecordTooLarge', kind: 'Unprocessable', message })
  }
  step.say(`The record takes about ${Math.ceil(size / 1024)} of 1024 KiB`, { data: { bytes: size } })
  step.done()
  return right(undefined)
}

const callHelm = (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedApplication, rendered: Rendered): Outcome<HelmFailure, HelmRendering> => {
  const { cluster, archive, values, release, flags, verb, driver, redactAll, redactSecrets } = prepared
  const undoes = flags.atomic === true
  const plan = { ...rendered, home: release.namespace, driver }
  return attendHelm(deps, run, { cluster, plan, waits: flags.wait === true || undoes, undoes, redactAll, redactSecrets }, (onEvent) =>
    deps.helm[verb](workOf(prepared, onEvent), { archive, values }, run.signal),
  )
}

/** Renders, checks and runs helm; every step is told, and the end says what is live. */
export const runApplication = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedApplication): Promise<TaskEnd> => {
  const rendered = await render(deps, run, prepared)
  if (isLeft(rendered)) return failedBefore(run, rendered.left)
  const checked = await check(deps, run, prepared, rendered.right)
  if (isLeft(checked)) return failedBefore(run, checked.left)
  if (run.signal.aborted) return stoppedBefore(run)
  const done = await callHelm(deps, run, prepared, rendered.right)
  if (!isLeft(done) && prepared.flags.recreate === true && !run.signal.aborted) await recreatePods(deps.helm, run, prepared, rendered.right.objects)
  // Notes may show what the values hold, so they are not repeated here.
  if (!isLeft(done) && done.right.notes.trim() !== '') run.progress.say('The chart has notes: they are in the release, under `info.notes`.')
  return endOfHelm(deps, run, { ...prepared, wasAtomic: prepared.flags.atomic === true }, isLeft(done) ? done.left : undefined)
}
