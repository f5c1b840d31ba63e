import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import { cancelledBeforeChange, failedBeforeChange } from '../../cluster-tasks/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmittedTask, TaskEnd, TaskHandler, TaskRun } from '../../tasks/ports.ts'
import type { ChartTexts } from '../charts/ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { ReleaseStore, StorageDriverOf } from '../ports.ts'
import { ReleaseMissing } from '../ports.ts'
import type { Release } from '../types.ts'
import { runHelmWithProgress, plannedHook } from './helm-progress.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { labelOf } from '../../formats/kubernetes/objects.ts'
import { objectsOf } from './kubernetes-objects.ts'
import type { HelmFlags, HelmRunner } from './ports.ts'
import { redactAll, redactSecrets } from '../../kernel/secret.ts'
import type { FindFailure, ReleaseQuestion } from './release-reads.ts'
import type { RecordPlace } from './release-state.ts'
import { helmResult, readReleaseState } from './release-state.ts'
import type { SubmitReleaseDeps, SubmitReleaseFailure } from './release-tasks.ts'
import { makeRecoverReleaseTask, openCluster, releaseIn, resolveRelease, submitReleaseTask } from './release-tasks.ts'

/** A release to uninstall. */
export interface ReleaseRemoval extends RecordPlace {
  /** The tenant whose share of helm processes is used. */
  readonly tenantId: AccountId
  /** `keepHistory` keeps the records. */
  readonly flags: Pick<HelmFlags, 'disableHooks' | 'keepHistory' | 'timeoutSeconds' | 'description' | 'wait'>
}

export interface RemoveReleaseDeps {
  readonly helm: HelmRunner
  readonly releases: ReleaseStore
  readonly chartTexts: ChartTexts
  readonly pause: Pause
  readonly clock: Clock
}

const keptByPolicy = (objects: readonly ManifestObject[], home: string): readonly string[] =>
  objects
    .filter(({ body }) => asTable(asTable(body.metadata)?.annotations)?.['helm.sh/resource-policy'] === 'keep')
    .map((object) => labelOf(object, home))

/**
 * Uninstalls a release within a task. The caller must have opened the cluster as the task's actor and must hold the
 * release's lock.
 */
const makeRemoveRelease =
  (deps: RemoveReleaseDeps) =>
  async (run: TaskRun, removal: ReleaseRemoval): Promise<TaskEnd> => {
    const { cluster, driver, release, tenantId, flags } = removal
    const before = await readReleaseState(deps.releases, removal, run.signal)
    if (isLeft(before)) return failedBeforeChange(run, before.left)
    const { newest } = before.right
    if (newest === undefined)
      return failedBeforeChange(
        run,
        ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`),
      )
    const read = await deps.releases.read(cluster, driver, newest, run.signal)
    // Without a readable record fewer details are reported, but helm may still be able to uninstall.
    const record: Release | undefined = isLeft(read) ? undefined : read.right
    const parsed = await objectsOf(deps.chartTexts, record?.manifest ?? '')
    const objects = isLeft(parsed) ? [] : parsed.right
    const kept = keptByPolicy(objects, release.namespace)
    if (kept.length > 0)
      run.progress.say(
        `As their policy says, ${kept.length === 1 ? 'one object stays' : `${kept.length} objects stay`}: ` +
          `${kept.slice(0, 20).join(', ')}`,
        { data: { kept: kept.length } },
      )
    if (run.signal.aborted) return cancelledBeforeChange(run)
    const hooks = (record?.hooks ?? []).map(plannedHook)
    const about = {
      cluster,
      plan: { objects, hooks, home: release.namespace, driver, isRemoval: true },
      waits: false,
      undoes: false,
      redactAll: redactAll(record?.config),
      redactSecrets: redactSecrets(record?.config),
    }
    const done = await runHelmWithProgress(deps, run, about, (onEvent) =>
      deps.helm.uninstall({ target: { cluster, driver, tenantId }, release, flags, onEvent }, run.signal),
    )
    return helmResult(
      deps,
      run,
      { cluster, driver, release, verb: 'uninstall', before: before.right, wasAtomic: false },
      isLeft(done) ? done.left : undefined,
    )
  }

export interface UninstallRequest extends ReleaseQuestion {
  readonly grant: AccessGrant
  readonly flags: ReleaseRemoval['flags']
  readonly responseId: string | undefined
}

const kind = 'packages.uninstallRelease'

/**
 * Accepts an uninstall. A release that a dead helm process left pending can be uninstalled; one that an unfinished task
 * works on cannot.
 */
export const makeUninstallRelease =
  (deps: SubmitReleaseDeps) =>
  async (
    call: SignedInCall<SubmittedTask>,
    request: UninstallRequest,
  ): Outcome<SubmitReleaseFailure | FindFailure, SubmittedTask> => {
    const opened = await openCluster(deps, call, request.grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, false)
    if (isLeft(release)) return release
    const { name, namespace } = release.right
    const input = { flags: request.flags } as FreeObject
    const operation = {
      kind,
      verb: 'uninstall',
      release: release.right,
      input,
      isDryRun: false,
      responseId: request.responseId,
    } as const
    return submitReleaseTask(deps, call, opened.right, operation, ({ newest }) =>
      newest === undefined ? ReleaseMissing(`There is no release ${name} in the namespace ${namespace}.`) : undefined,
    )
  }

export interface UninstallTaskDeps extends RemoveReleaseDeps {
  readonly clusterTasks: ClusterTasks
  readonly driverOf: StorageDriverOf
}

/** Uninstalls the release of the task's input with the flags of the task's input. */
export const removalKind = (kind: string, deps: UninstallTaskDeps): TaskHandler => {
  const remove = makeRemoveRelease(deps)
  return {
    kind,
    run: (asked) =>
      deps.clusterTasks.run(asked, async (run, { cluster }) => {
        const release = releaseIn(run)
        const flags = run.input.flags as ReleaseRemoval['flags']
        return remove(run, { cluster, driver: await deps.driverOf(cluster), release, tenantId: cluster.ownerId, flags })
      }),
    recover: makeRecoverReleaseTask(deps, 'uninstall'),
  }
}

export const uninstallReleaseKind = (deps: UninstallTaskDeps): TaskHandler => removalKind(kind, deps)
