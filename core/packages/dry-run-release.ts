import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { TaskEnd, TaskRun, TaskStep } from '../tasks/ports.ts'
import type { ApplyChartDeps, PreparedApplication } from './chart-application.ts'
import { describeDiff, diffManifests } from './diff-manifests.ts'
import type { HelmFailure, HelmWork } from './helm-ports.ts'
import { objectsOf } from './manifest-objects.ts'
import { failedBefore, succeeded } from './task-ends.ts'

/** Helm judges objects of a definition that only the chart would bring: those it can render, but not look up. */
const wantsCrds = (failure: HelmFailure): boolean => failure.tag === 'HelmRefused' && /ensure CRDs are installed first|no matches for kind/.test(failure.message)

const manifestOf = async (deps: ApplyChartDeps, prepared: PreparedApplication, step: TaskStep, signal: AbortSignal): Outcome<HelmFailure, string> => {
  const { cluster, driver, tenantId, release, flags, verb, archive, values, effective } = prepared
  const work: HelmWork = { target: { cluster, driver, tenantId }, release, flags }
  if (flags.dryRun === 'client') {
    const drawn = await deps.helm.template(work, { archive, values: effective }, signal)
    return isLeft(drawn) ? drawn : right(drawn.right.manifest)
  }
  const asked = await deps.helm[verb](work, { archive, values }, signal)
  if (!isLeft(asked)) return right(asked.right.release?.manifest ?? asked.right.manifest)
  if (!wantsCrds(asked.left)) return asked
  step.say('The chart brings definitions that the cluster lacks, so the cluster could not judge its objects; they were only rendered.', { level: 'warning' })
  const drawn = await deps.helm.template(work, { archive, values: effective }, signal)
  return isLeft(drawn) ? drawn : right(drawn.right.manifest)
}

/** A comparison: in one line, and whole. */
export interface ComparedManifests {
  readonly text: string
  readonly diff: FreeObject
}

/** Compares two manifests for a person; both texts are Helm's. */
export const compareManifests = async (
  deps: Pick<ApplyChartDeps, 'chartTexts' | 'textDiff'>,
  from: string,
  to: string,
  about: { readonly home: string; readonly redact: (text: string) => string },
): Outcome<Failure, ComparedManifests> => {
  const before = await objectsOf(deps.chartTexts, from)
  const after = await objectsOf(deps.chartTexts, to)
  if (isLeft(before)) return before
  if (isLeft(after)) return after
  const diff = await diffManifests(deps, before.right, after.right, about)
  return right({ text: describeDiff(diff), diff: diff as unknown as FreeObject })
}

/** What an install or upgrade would change: the cluster judges it and keeps nothing. */
export const dryRunApplication = async (deps: ApplyChartDeps, run: TaskRun, prepared: PreparedApplication): Promise<TaskEnd> => {
  const { release, former, flags } = prepared
  const step = run.progress.step(flags.dryRun === 'client' ? 'Render the chart' : 'Try it on the cluster, without changes')
  const manifest = await manifestOf(deps, prepared, step, run.signal)
  const compared: Either<Failure, ComparedManifests> = isLeft(manifest)
    ? left({ ...manifest.left, message: prepared.redactAll(manifest.left.message) })
    : await compareManifests(deps, former?.manifest ?? '', manifest.right, { home: release.namespace, redact: prepared.redactSecrets })
  if (isLeft(compared)) {
    step.failed('It would not succeed.')
    return failedBefore(run, compared.left)
  }
  step.done(compared.right.text)
  const result = { release: release.name, namespace: release.namespace, dryRun: true, revision: former?.version ?? 0, diff: compared.right.diff }
  return succeeded(`Dry run, nothing was changed: ${compared.right.text}.`, result)
}
