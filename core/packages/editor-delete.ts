import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SubmittedTask, TaskKind } from '../tasks/ports.ts'
import { editedResourceOf } from './editor-chart.ts'
import { ModelRefused } from './editor-ports.ts'
import { readSubject } from './editor-subject.ts'
import type { EditorSubject } from './editor-types.ts'
import { ReleaseMissing, type RecordFailure, type ReleaseStore } from './ports.ts'
import type { Standing } from './standing.ts'
import { openCluster, submitReleaseTask, type OpenedCluster, type SubmitReleaseDeps, type SubmitReleaseFailure } from './submit-release-task.ts'
import type { Release } from './types.ts'
import { removalKind, type UninstallTaskDeps } from './uninstall-release.ts'

export interface DeleteEditorDeps extends SubmitReleaseDeps {
  readonly releases: ReleaseStore
}
type JudgeFailure = RecordFailure | Failure<'ModelRefused'> | Failure<'ReleaseMissing'>
export type DeleteFailure = SubmitReleaseFailure | JudgeFailure

const kind = 'packages.deleteEditor'
/** A name typed wrong must not remove, or replace, a release that the editor did not make. */
export const isMadeBy = ({ resource }: EditorSubject, release: Release): boolean => {
  const edited = editedResourceOf(release.chart.metadata ?? {})
  return edited?.group === resource.group && (resource.name === '' || edited.name === resource.name)
}

const judge = async (deps: DeleteEditorDeps, { cluster, driver }: OpenedCluster, subject: EditorSubject, { newest }: Standing, signal: AbortSignal): Promise<JudgeFailure | undefined> => {
  const { name, namespace } = subject.release
  if (newest === undefined) return ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`)
  const release = await deps.releases.read(cluster, driver, newest, signal)
  if (isLeft(release)) return release.left
  if (isMadeBy(subject, release.right)) return undefined
  const problem = `the release ${name} was not made by the editor of ${subject.resource.name || subject.resource.kind}`
  return ModelRefused(`Nothing was removed: ${problem}.`, { errors: [problem] })
}

/** Accepts the removal of what an editor installed, its history included. */
export const makeDeleteEditor =
  (deps: DeleteEditorDeps) =>
  async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, about: FreeObject, responseId: string | undefined): Outcome<DeleteFailure, SubmittedTask> => {
    const subject = readSubject(about)
    if (isLeft(subject)) return subject
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const { release } = subject.right
    const operation = { kind, verb: 'uninstall', title: 'Remove', release, input: { flags: {} }, isDryRun: false, responseId } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judge(deps, opened.right, subject.right, standing, call.signal))
  }

/** Does what was accepted. */
export const deleteEditorKind = (deps: UninstallTaskDeps): TaskKind => removalKind(kind, deps)
