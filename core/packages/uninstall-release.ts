import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SubmittedTask, TaskKind } from '../tasks/ports.ts'
import { makeRecoverReleaseTask } from './chart-task.ts'
import type { FindFailure, ReleaseQuestion } from './find-release.ts'
import { ReleaseMissing, type StorageDriverOf } from './ports.ts'
import { makeRemoveRelease, type ReleaseRemoval, type RemoveReleaseDeps } from './remove-release.ts'
import { openCluster, submitReleaseTask, type SubmitReleaseDeps, type SubmitReleaseFailure } from './submit-release-task.ts'
import type { OpenTaskCluster } from './task-cluster.ts'
import type { ReleaseKey } from './types.ts'
import { resolveRelease } from './upgrade-release.ts'
import { whileAllowed } from './while-allowed.ts'

export interface UninstallRequest extends ReleaseQuestion {
  readonly flags: ReleaseRemoval['flags']
  readonly responseId: string | undefined
}

const kind = 'packages.uninstallRelease'

/** Accepts an uninstallation. A release that a dead helm left pending can be uninstalled; one that a task of ours works on cannot. */
export const makeUninstallRelease = (deps: SubmitReleaseDeps) =>
  async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, request: UninstallRequest): Outcome<SubmitReleaseFailure | FindFailure, SubmittedTask> => {
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, false)
    if (isLeft(release)) return release
    const { name, namespace } = release.right
    const input = { flags: request.flags } as unknown as FreeObject
    const operation = { kind, verb: 'uninstall', release: release.right, input, isDryRun: false, responseId: request.responseId } as const
    return submitReleaseTask(deps, call, opened.right, operation, ({ newest }) =>
      newest === undefined ? ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`) : undefined,
    )
  }

export interface UninstallTaskDeps extends RemoveReleaseDeps {
  readonly openTaskCluster: OpenTaskCluster
  readonly driverOf: StorageDriverOf
}

/** Removes the release of the task's input with the flags of the task's input. */
export const removalKind = (kind: string, deps: UninstallTaskDeps): TaskKind => {
  const remove = makeRemoveRelease(deps)
  return {
    kind,
    run: (asked) =>
      whileAllowed(deps, asked, async (run, { cluster }) => {
        const release = run.input.release as unknown as ReleaseKey
        const flags = run.input.flags as unknown as ReleaseRemoval['flags']
        return remove(run, { cluster, driver: await deps.driverOf(cluster), release, tenantId: cluster.ownerId, flags })
      }),
    recover: makeRecoverReleaseTask(deps, 'uninstall'),
  }
}

/** Does what was accepted. */
export const uninstallReleaseKind = (deps: UninstallTaskDeps): TaskKind => removalKind(kind, deps)
