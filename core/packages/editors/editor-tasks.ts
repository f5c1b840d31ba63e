import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTasks, TaskCluster } from '../../cluster-tasks/ports.ts'
import { failedBeforeChange, inStep } from '../../cluster-tasks/types.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, definedFields, own } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmittedTask, TaskEnd, TaskHandler, TaskRun } from '../../tasks/ports.ts'
import type { JsonPatches, RecordFailure, ReleaseStore } from '../ports.ts'
import { ReleaseMissing } from '../ports.ts'
import type { HelmFlags, HelmRunner } from '../releases/ports.ts'
import { HelmMissing, ReleaseNameTaken } from '../releases/ports.ts'
import type { ApplyChartDeps } from '../releases/prepared-release.ts'
import { makeApplyChart } from '../releases/prepared-release.ts'
import type { ReleaseState } from '../releases/release-state.ts'
import { isPending, pendingElsewhere } from '../releases/release-state.ts'
import type { OpenedCluster, SubmitReleaseDeps, SubmitReleaseFailure } from '../releases/release-tasks.ts'
import { makeRecoverReleaseTask, openCluster, submitReleaseTask } from '../releases/release-tasks.ts'
import type { UninstallTaskDeps } from '../releases/uninstalls.ts'
import { removalKind } from '../releases/uninstalls.ts'
import type { Release } from '../types.ts'
import { editedResourceOf, withoutDefaults, readSubject } from './editor-charts.ts'
import type { LoadModelDeps, LoadModelFailure } from './models.ts'
import { makeLoadModel } from './models.ts'
import { ModelRefused, ObjectRefused } from './ports.ts'
import type { FilledModel, FillFailure } from './previews.ts'
import { makeFillModel } from './previews.ts'
import type { EditorSubject } from './types.ts'

export interface DeleteEditorDeps extends SubmitReleaseDeps {
  readonly releases: ReleaseStore
}
type DeletionRefusal = RecordFailure | Failure<'ModelRefused'> | Failure<'ReleaseMissing'>
export type DeleteFailure = SubmitReleaseFailure | DeletionRefusal

const deletionKind = 'packages.deleteEditor'
/** Reports whether the editor made the release. A mistyped name must not remove or replace another release. */
const isMadeBy = ({ resource }: EditorSubject, release: Release): boolean => {
  const edited = editedResourceOf(release.chart.metadata ?? {})
  return edited?.group === resource.group && (resource.name === '' || edited.name === resource.name)
}

const judgeDeletion = async (
  deps: DeleteEditorDeps,
  { cluster, driver }: OpenedCluster,
  subject: EditorSubject,
  { newest }: ReleaseState,
  signal: AbortSignal,
): Promise<DeletionRefusal | undefined> => {
  const { name, namespace } = subject.release
  if (newest === undefined) return ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`)
  const release = await deps.releases.read(cluster, driver, newest, signal)
  if (isLeft(release)) return release.left
  if (isMadeBy(subject, release.right)) return undefined
  const problem = `the release ${name} was not made by the editor of ${subject.resource.name || subject.resource.kind}`
  return ModelRefused(`Nothing was removed: ${problem}.`, { errors: [problem] })
}

export interface DeleteEditorInput {
  readonly grant: AccessGrant
  /** Names the subject, as a model does. */
  readonly about: FreeObject
  readonly responseId: string | undefined
}

/** Accepts the removal of what an editor installed, including its history. */
export const makeDeleteEditor =
  (deps: DeleteEditorDeps) =>
  async (
    call: SignedInCall<SubmittedTask>,
    { grant, about, responseId }: DeleteEditorInput,
  ): Outcome<DeleteFailure, SubmittedTask> => {
    const subject = readSubject(about)
    if (isLeft(subject)) return subject
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const { release } = subject.right
    const operation = {
      kind: deletionKind,
      verb: 'uninstall',
      title: 'Remove',
      release,
      input: { flags: {} },
      isDryRun: false,
      responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) =>
      judgeDeletion(deps, opened.right, subject.right, standing, call.signal),
    )
  }

export const deleteEditorKind = (deps: UninstallTaskDeps): TaskHandler => removalKind(deletionKind, deps)

const applyEditorKindName = 'packages.applyEditor'

/** The model to apply, as stored in the task's input. */
export interface ModelChange {
  /** A complete model; with `patch`, only the metadata that identifies its subject. */
  readonly model: FreeObject
  /** RFC 6902 patch on the model of the installed objects. */
  readonly patch?: Json
}

export interface ApplyRequest extends ModelChange {
  readonly grant: AccessGrant
  /** Also create the CRDs that the chart contains. */
  readonly installCrds: boolean
  readonly wait: boolean
  readonly timeoutSeconds: number | undefined
  readonly responseId: string | undefined
}

export interface ResolveModelDeps extends LoadModelDeps {
  readonly patches: JsonPatches
}
export type ApplyModelDeps = ResolveModelDeps & SubmitReleaseDeps & { readonly helm: Pick<HelmRunner, 'version'> }
export type ResolveFailure = LoadModelFailure | Failure<'PatchRefused'>
type ApplicationRefusal =
  | ResolveFailure
  | FillFailure
  | Failure<'HelmMissing'>
  | Failure<'ReleasePending'>
  | Failure<'ReleaseNameTaken'>
export type ApplyFailure = SubmitReleaseFailure | ApplicationRefusal

/**
 * Returns the complete model to apply. A patch is applied to the current model; a `remove` of a missing path is
 * ignored. Fails if the caller cannot read the whole model, because the unreadable part would be removed.
 */
const makeResolveModel = (deps: ResolveModelDeps) => {
  const load = makeLoadModel(deps)
  return async (
    cluster: MemberCluster,
    { model, patch }: ModelChange,
    signal: AbortSignal,
  ): Outcome<ResolveFailure, FreeObject> => {
    if (patch === undefined) return right(model)
    const loaded = await load(cluster, model, signal)
    if (isLeft(loaded)) return loaded
    const hidden = loaded.right.missing.find(({ reason }) => reason === 'forbidden')
    if (hidden !== undefined)
      return left(
        ObjectRefused(
          `The cluster does not let you read ${hidden.kind} ${hidden.name}, which a patch would have to ` +
            'keep. Send the whole model instead.',
        ),
      )
    const patched = deps.patches.apply(loaded.right.model, patch, { tolerateMissing: true })
    if (isLeft(patched)) return patched
    if (!isObject(patched.right))
      return left(ModelRefused('The patch leaves no model.', { errors: ['patch: leaves no model'] }))
    return right({ ...patched.right, metadata: own(model, 'metadata') })
  }
}

const inputOf = ({ model, patch, installCrds, wait, timeoutSeconds }: ApplyRequest): FreeObject => ({
  model,
  ...definedFields({ patch }),
  flags: {
    install: true,
    resetValues: true,
    skipCrds: !installCrds,
    wait,
    description: 'Apply editor',
    ...definedFields({ timeoutSeconds }),
  },
})

const resourceWord = ({ resource }: EditorSubject): string =>
  `${resource.name || resource.kind}${resource.group === '' ? '' : `.${resource.group}`}`

/**
 * Accepts a model, or a patch of one, for installation. It is validated now against the editor's chart and applied by a
 * task.
 */
export const makeApplyModel = (deps: ApplyModelDeps) => {
  const resolve = makeResolveModel(deps)
  const fill = makeFillModel(deps)
  /**
   * Rejects a release that another chart installed: an upgrade with the editor's chart would remove that chart's
   * objects.
   */
  const judgeFormer = async (
    place: OpenedCluster,
    subject: EditorSubject,
    { newest }: ReleaseState,
    signal: AbortSignal,
  ): Promise<ApplicationRefusal | undefined> => {
    const { name, namespace } = subject.release
    if (newest === undefined || newest.status === 'uninstalled') return undefined
    if (isPending(newest)) return pendingElsewhere(subject.release, newest)
    const former = await deps.releases.read(place.cluster, place.driver, newest, signal)
    if (isLeft(former)) return former.left.tag === 'ReleaseMissing' ? undefined : former.left
    return isMadeBy(subject, former.right)
      ? undefined
      : ReleaseNameTaken(
          `The release ${name} in the namespace ${namespace} was not made by this editor: choose another name.`,
        )
  }
  const judgeApplication = async (
    place: OpenedCluster,
    request: ApplyRequest,
    standing: ReleaseState,
    signal: AbortSignal,
  ): Promise<ApplicationRefusal | undefined> => {
    const { cluster } = place
    const model = await resolve(cluster, request, signal)
    if (isLeft(model)) return model.left
    const filled = await fill(cluster, model.right, signal, true)
    if (isLeft(filled)) return filled.left
    if ((await deps.helm.version()) === undefined)
      return HelmMissing('This service has no usable helm; the operator must run moorage doctor.')
    return judgeFormer(place, filled.right.opened.subject, standing, signal)
  }
  return async (call: SignedInCall<SubmittedTask>, request: ApplyRequest): Outcome<ApplyFailure, SubmittedTask> => {
    const subject = readSubject(request.model)
    if (isLeft(subject)) return subject
    const opened = await openCluster(deps, call, request.grant)
    if (isLeft(opened)) return opened
    const { release } = subject.right
    const operation = {
      kind: applyEditorKindName,
      verb: 'upgrade',
      title: `Apply the model of ${resourceWord(subject.right)} as`,
      release,
      input: inputOf(request),
      isDryRun: false,
      responseId: request.responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) =>
      judgeApplication(opened.right, request, standing, call.signal),
    )
  }
}

export interface ApplyEditorTaskDeps extends ApplyChartDeps, ResolveModelDeps {
  readonly clusterTasks: ClusterTasks
}

interface ApplyInput extends ModelChange {
  readonly flags: HelmFlags
}

/**
 * Reports whether the namespace is known to be missing. Only then is it created, because an attempt needs a right that
 * few users have.
 */
const lacksNamespace = async (cluster: MemberCluster, namespace: string, signal: AbortSignal): Promise<boolean> => {
  const answer = await cluster.request(
    { method: 'GET', target: `/api/v1/namespaces/${encodeURIComponent(namespace)}` },
    signal,
  )
  return !isLeft(answer) && answer.right.status === 404
}

const makePrepare = (deps: ApplyEditorTaskDeps) => {
  const resolve = makeResolveModel(deps)
  const fill = makeFillModel(deps)
  return (run: TaskRun, cluster: MemberCluster, input: ApplyInput): Outcome<Failure, FilledModel> =>
    inStep(run, { title: 'Prepare the model', failed: 'The model could not be prepared.' }, async (step) => {
      const model = await resolve(cluster, input, run.signal)
      const filled = isLeft(model) ? model : await fill(cluster, model.right, run.signal)
      if (isLeft(filled)) return filled
      const { opened, chart, values } = filled.right
      const keys = Object.keys(values.resources as FreeObject)
      step.say(
        `${opened.editor.origin === 'cluster' ? "The cluster's editor" : 'The built-in editor'} with the ` +
          `chart ${chart.chart.name} ${chart.chart.version}; resources: ${keys.join(', ') || 'none'}`,
        { data: { resources: keys } },
      )
      return filled
    })
}

/** Installs or upgrades a model. The model is the only source of values for the editor's chart. */
export const applyEditorKind = (deps: ApplyEditorTaskDeps): TaskHandler => {
  const prepare = makePrepare(deps)
  const applyChart = makeApplyChart(deps)
  const work = async (run: TaskRun, { cluster }: TaskCluster): Promise<TaskEnd> => {
    const input = run.input as unknown as ApplyInput
    const prepared = await prepare(run, cluster, input)
    if (isLeft(prepared)) return failedBeforeChange(run, prepared.left)
    const { values, chart, opened: editor } = prepared.right
    const { release } = editor.subject
    const createNamespace = await lacksNamespace(cluster, release.namespace, run.signal)
    return applyChart(run, {
      cluster,
      driver: await deps.driverOf(cluster),
      tenantId: cluster.ownerId,
      release,
      verb: 'upgrade',
      chart: withoutDefaults(chart.chart),
      values,
      flags: { ...input.flags, ...(createNamespace ? { createNamespace } : {}) },
    })
  }
  return {
    kind: applyEditorKindName,
    run: (asked) => deps.clusterTasks.run(asked, work),
    recover: makeRecoverReleaseTask(deps, 'upgrade'),
  }
}
