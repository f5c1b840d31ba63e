import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { TaskEnd, TaskRun } from '../tasks/ports.ts'
import { attendHelm } from './attended-helm.ts'
import type { ChartTexts } from './chart-ports.ts'
import { endOfHelm } from './end-of-helm.ts'
import { plannedHook } from './follow-helm.ts'
import type { HelmFlags, HelmRunner } from './helm-ports.ts'
import { labelOf, objectsOf, type ManifestObject } from './manifest-objects.ts'
import { ReleaseMissing, type ReleaseStore } from './ports.ts'
import { redactAll, redactSecrets } from './redact.ts'
import type { Pause } from './release-task-ports.ts'
import { readStanding, type RecordPlace } from './standing.ts'
import { failedBefore, stoppedBefore } from './task-ends.ts'
import type { Release } from './types.ts'
import { asTable } from './value-tables.ts'

/** A release that is to go. */
export interface ReleaseRemoval extends RecordPlace {
  /** Whose share of helm processes it is. */
  readonly tenantId: AccountId
  /** `keepHistory` leaves the records. */
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

/** Uninstalls a release within a task. The caller has opened the cluster as the task's actor and holds the release's lock. */
export const makeRemoveRelease = (deps: RemoveReleaseDeps) =>
  async (run: TaskRun, removal: ReleaseRemoval): Promise<TaskEnd> => {
    const { cluster, driver, release, tenantId, flags } = removal
    const before = await readStanding(deps.releases, removal, run.signal)
    if (isLeft(before)) return failedBefore(run, before.left)
    const { newest } = before.right
    if (newest === undefined) return failedBefore(run, ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`))
    const read = await deps.releases.read(cluster, driver, newest, run.signal)
    // A record that cannot be read tells less on the way, and helm may still remove it.
    const record: Release | undefined = isLeft(read) ? undefined : read.right
    const parsed = await objectsOf(deps.chartTexts, record?.manifest ?? '')
    const objects = isLeft(parsed) ? [] : parsed.right
    const kept = keptByPolicy(objects, release.namespace)
    if (kept.length > 0) run.progress.say(`As their policy says, ${kept.length === 1 ? 'one object stays' : `${kept.length} objects stay`}: ${kept.slice(0, 20).join(', ')}`, { data: { kept: kept.length } })
    if (run.signal.aborted) return stoppedBefore(run)
    const hooks = (record?.hooks ?? []).map(plannedHook)
    const about = {
      cluster,
      plan: { objects, hooks, home: release.namespace, driver, isRemoval: true },
      waits: false,
      undoes: false,
      redactAll: redactAll(record?.config),
      redactSecrets: redactSecrets(record?.config),
    }
    const done = await attendHelm(deps, run, about, (onEvent) => deps.helm.uninstall({ target: { cluster, driver, tenantId }, release, flags, onEvent }, run.signal))
    return endOfHelm(deps, run, { cluster, driver, release, verb: 'uninstall', before: before.right, wasAtomic: false }, isLeft(done) ? done.left : undefined)
  }
