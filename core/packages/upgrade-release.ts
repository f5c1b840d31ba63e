import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SubmittedTask, TaskKind } from '../tasks/ports.ts'
import { makeRecoverReleaseTask, makeRunChartTask, type ChartOrder, type ChartTaskDeps } from './chart-task.ts'
import { checkValuesSpec, type ValueReaders } from './compose-values.ts'
import { makeFindRelease, type FindFailure, type ReleaseQuestion } from './find-release.ts'
import { orderInput, type OrderFailure } from './install-release.ts'
import { ReleaseMissing } from './ports.ts'
import { checkReleaseKey } from './release-key.ts'
import { isPending, pendingElsewhere, type Standing } from './standing.ts'
import { openCluster, submitReleaseTask, type OpenedCluster, type SubmitReleaseDeps } from './submit-release-task.ts'
import type { ReleaseKey } from './types.ts'

export interface UpgradeRequest extends ChartOrder, ReleaseQuestion {
  readonly responseId: string | undefined
}

const kind = 'packages.upgradeRelease'

/** The release that is meant; one that is not there yet where the upgrade may install, in `default` unless told. */
export const resolveRelease = async (
  deps: Pick<SubmitReleaseDeps, 'releases'>,
  call: SignedInCall<never>,
  { cluster, driver }: OpenedCluster,
  { name, namespace = '' }: ReleaseQuestion,
  mayBeNew: boolean,
): Outcome<FindFailure, ReleaseKey> => {
  if (namespace !== '') return right({ name, namespace })
  const found = await makeFindRelease(deps)(cluster, driver, { name }, call.signal)
  if (!isLeft(found)) return right({ name, namespace: found.right[0]?.namespace ?? '' })
  return found.left.tag === 'ReleaseMissing' && mayBeNew ? right({ name, namespace: 'default' }) : found
}

const judge = (release: ReleaseKey, { flags }: UpgradeRequest, { newest }: Standing): Failure<'ReleaseMissing'> | Failure<'ReleasePending'> | undefined => {
  if (newest === undefined) return flags.install === true ? undefined : ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`)
  return isPending(newest) && flags.dryRun === undefined ? pendingElsewhere(release, newest) : undefined
}

/** Accepts an upgrade of a release that exists; of any, where `install` is said. */
export const makeUpgradeRelease = (deps: SubmitReleaseDeps & ValueReaders) =>
  async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, request: UpgradeRequest): Outcome<OrderFailure | FindFailure, SubmittedTask> => {
    const { flags, responseId } = request
    const values = await checkValuesSpec(deps, request.values)
    if (isLeft(values)) return values
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const release = await resolveRelease(deps, call, opened.right, request, flags.install === true)
    if (isLeft(release)) return release
    const key = checkReleaseKey(release.right)
    if (isLeft(key)) return flags.install === true ? key : left(ReleaseMissing(`There is no release ${request.name}.`))
    const operation = { kind, verb: 'upgrade', release: release.right, input: orderInput(request), isDryRun: flags.dryRun !== undefined, responseId } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judge(release.right, request, standing))
  }

/** Does what was accepted. */
export const upgradeReleaseKind = (deps: ChartTaskDeps): TaskKind => ({
  kind,
  run: makeRunChartTask(deps, 'upgrade'),
  recover: makeRecoverReleaseTask(deps, 'upgrade'),
})
