import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { SubmittedTask } from '../tasks/ports.ts'
import { makeLoadModel, type LoadModelDeps, type LoadModelFailure } from './editor-load-model.ts'
import { isMadeBy } from './editor-delete.ts'
import { isObject, own } from './editor-json.ts'
import { ModelRefused, ObjectRefused } from './editor-ports.ts'
import { makeFillModel, type FillFailure } from './editor-preview.ts'
import { readSubject } from './editor-subject.ts'
import type { EditorSubject } from './editor-types.ts'
import type { HelmRunner } from './helm-ports.ts'
import { HelmMissing } from './helm-ports.ts'
import type { JsonPatches } from './ports.ts'
import { ReleaseNameTaken } from './release-task-ports.ts'
import { isPending, pendingElsewhere, type Standing } from './standing.ts'
import { openCluster, submitReleaseTask, type OpenedCluster, type SubmitReleaseDeps, type SubmitReleaseFailure } from './submit-release-task.ts'

export const applyEditorKindName = 'packages.applyEditor'

/** What is to be applied, as it travels in the task's input. */
export interface ModelChange {
  /** A whole model, or with `patch` what it is about. */
  readonly model: FreeObject
  /** RFC 6902 on the model of what is installed. */
  readonly patch?: Json
}

export interface ApplyRequest extends ModelChange {
  /** Also create the definitions that come with the chart. */
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
type JudgeFailure = ResolveFailure | FillFailure | Failure<'HelmMissing'> | Failure<'ReleasePending'> | Failure<'ReleaseNameTaken'>
export type ApplyFailure = SubmitReleaseFailure | JudgeFailure

/**
 * The whole model that is meant. A patch is applied to the model of what is there now; removing what is not there does
 * nothing. Refused while the caller may not read all of it: what they do not see would be taken away.
 */
export const makeResolveModel = (deps: ResolveModelDeps) => {
  const load = makeLoadModel(deps)
  return async (cluster: MemberCluster, { model, patch }: ModelChange, signal: AbortSignal): Outcome<ResolveFailure, FreeObject> => {
    if (patch === undefined) return right(model)
    const loaded = await load(cluster, model, signal)
    if (isLeft(loaded)) return loaded
    const hidden = loaded.right.missing.find(({ reason }) => reason === 'forbidden')
    if (hidden !== undefined) return left(ObjectRefused(`The cluster does not let you read ${hidden.kind} ${hidden.name}, which a patch would have to keep. Send the whole model instead.`))
    const patched = deps.patches.apply(loaded.right.model, patch, { tolerateMissing: true })
    if (isLeft(patched)) return patched
    if (!isObject(patched.right)) return left(ModelRefused('The patch leaves no model.', { errors: ['patch: leaves no model'] }))
    return right({ ...patched.right, metadata: own(model, 'metadata') })
  }
}

const inputOf = ({ model, patch, installCrds, wait, timeoutSeconds }: ApplyRequest): FreeObject => ({
  model,
  ...(patch === undefined ? {} : { patch }),
  flags: {
    install: true,
    resetValues: true,
    skipCrds: !installCrds,
    wait,
    description: 'Apply editor',
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  },
})

const resourceWord = ({ resource }: EditorSubject): string => `${resource.name || resource.kind}${resource.group === '' ? '' : `.${resource.group}`}`

/** Accepts a model, or a change of one, for installation: judged now against the editor's chart, applied by a task. */
export const makeApplyModel = (deps: ApplyModelDeps) => {
  const resolve = makeResolveModel(deps)
  const fill = makeFillModel(deps)
  /** An upgrade by the editor's chart would remove whatever another chart installed. */
  const judgeFormer = async (place: OpenedCluster, subject: EditorSubject, { newest }: Standing, signal: AbortSignal): Promise<JudgeFailure | undefined> => {
    const { name, namespace } = subject.release
    if (newest === undefined || newest.status === 'uninstalled') return undefined
    if (isPending(newest)) return pendingElsewhere(subject.release, newest)
    const former = await deps.releases.read(place.cluster, place.driver, newest, signal)
    if (isLeft(former)) return former.left.tag === 'ReleaseMissing' ? undefined : former.left
    return isMadeBy(subject, former.right) ? undefined : ReleaseNameTaken(`The release ${name} in the namespace ${namespace} was not made by this editor: choose another name.`)
  }
  const judge = async (place: OpenedCluster, request: ApplyRequest, standing: Standing, signal: AbortSignal): Promise<JudgeFailure | undefined> => {
    const { cluster } = place
    const model = await resolve(cluster, request, signal)
    if (isLeft(model)) return model.left
    const filled = await fill(cluster, model.right, signal, true)
    if (isLeft(filled)) return filled.left
    if ((await deps.helm.version()) === undefined) return HelmMissing('There is no helm that this service can use; its operator is told how to get one by the command doctor.')
    return judgeFormer(place, filled.right.opened.subject, standing, signal)
  }
  return async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, request: ApplyRequest): Outcome<ApplyFailure, SubmittedTask> => {
    const subject = readSubject(request.model)
    if (isLeft(subject)) return subject
    const opened = await openCluster(deps, call, grant)
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
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judge(opened.right, request, standing, call.signal))
  }
}
