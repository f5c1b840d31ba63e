import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SubmittedTask, TaskKind } from '../tasks/ports.ts'
import { makeRecoverReleaseTask } from './chart-task.ts'
import type { FindFailure, ReleaseQuestion } from './find-release.ts'
import { ReleaseMissing } from './ports.ts'
import { makeRunRollback, targetOf, type RollbackFlags, type RollbackTaskDeps } from './run-rollback.ts'
import type { Standing } from './standing.ts'
import { openCluster, submitReleaseTask, type SubmitReleaseDeps, type SubmitReleaseFailure } from './submit-release-task.ts'
import type { ReleaseKey } from './types.ts'
import { resolveRelease } from './upgrade-release.ts'

export interface RollbackRequest extends ReleaseQuestion {
  /** 0: the one before. */
  readonly revision: number
  readonly flags: RollbackFlags
  readonly description?: string
  readonly responseId: string | undefined
}

const kind = 'packages.rollbackRelease'

const judge = ({ name, namespace }: ReleaseKey, revision: number, standing: Standing): Failure<'ReleaseMissing'> | undefined => {
  if (standing.newest === undefined) return ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`)
  if (targetOf(standing, revision) !== undefined) return undefined
  const kept = standing.all.map(({ version }) => version).join(', ')
  return ReleaseMissing(`There is no revision ${revision === 0 ? `before ${standing.newest.version}` : revision} of ${name} to go back to; kept are ${kept}.`)
}

/** Accepts a rollback. A release that a dead helm left pending can be rolled back; one that a task of ours works on cannot. */
export const makeRollbackRelease = (deps: SubmitReleaseDeps) =>
  async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, request: RollbackRequest): Outcome<SubmitReleaseFailure | FindFailure, SubmittedTask> => {
    const { revision, flags, description, responseId } = request
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, false)
    if (isLeft(release)) return release
    const input = { revision, flags, ...(description === undefined ? {} : { description }) } as unknown as FreeObject
    const operation = { kind, verb: 'rollback', release: release.right, input, isDryRun: flags.dryRun !== undefined, responseId } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judge(release.right, revision, standing))
  }

/** Does what was accepted. */
export const rollbackReleaseKind = (deps: RollbackTaskDeps): TaskKind => ({
  kind,
  run: makeRunRollback(deps),
  recover: makeRecoverReleaseTask(deps, 'rollback'),
})
