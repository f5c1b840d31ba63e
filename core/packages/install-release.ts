import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SubmittedTask, TaskKind } from '../tasks/ports.ts'
import { makeRecoverReleaseTask, makeRunChartTask, type ChartOrder, type ChartTaskDeps } from './chart-task.ts'
import { checkValuesSpec, type ValueReaders } from './compose-values.ts'
import { checkReleaseKey } from './release-key.ts'
import { ReleaseNameTaken } from './release-task-ports.ts'
import { isPending, pendingElsewhere, type Standing } from './standing.ts'
import { openCluster, submitReleaseTask, type SubmitReleaseDeps, type SubmitReleaseFailure } from './submit-release-task.ts'
import type { ReleaseKey } from './types.ts'

export interface InstallRequest extends ChartOrder {
  readonly release: ReleaseKey
  readonly responseId: string | undefined
}

export type OrderFailure = SubmitReleaseFailure | Failure<'ReleaseOptionsRefused'> | Failure<'ReleasePending'> | Failure<'ValuesRefused'>

const kind = 'packages.installRelease'

const again = (status: string): string =>
  status === 'failed' || status === 'uninstalled' ? 'Upgrade it, or install with `replace`.' : 'Upgrade it, or choose another name.'

/** Helm uses a name again only when it is told to, and nothing of the former release is there. */
export const judgeName = (release: ReleaseKey, { flags }: Pick<ChartOrder, 'flags'>, { newest }: Standing): Failure<'ReleaseNameTaken'> | Failure<'ReleasePending'> | undefined => {
  if (newest === undefined || flags.dryRun === 'client') return undefined
  if (isPending(newest)) return pendingElsewhere(release, newest)
  const isFree = newest.status === 'uninstalled' || newest.status === 'failed'
  if (flags.replace === true && isFree) return undefined
  return ReleaseNameTaken(`There is a release ${release.name} in the namespace ${release.namespace}: revision ${newest.version}, ${newest.status}. ${again(newest.status)}`)
}

/** An order as a task's input keeps it. */
export const orderInput = ({ chart, values, flags, partOf }: ChartOrder): FreeObject =>
  ({ chart, values, flags, ...(partOf === undefined ? {} : { partOf }) }) as unknown as FreeObject

/**
 * Accepts an installation. What can be seen to be wrong is refused now: names, the form of values, a name that is in use.
 * The chart is fetched, and the values are judged by it, in the task.
 */
export const makeInstallRelease = (deps: SubmitReleaseDeps & ValueReaders) =>
  async (call: SignedInCall<SubmittedTask>, grant: AccessGrant, request: InstallRequest): Outcome<OrderFailure | Failure<'ReleaseNameTaken'>, SubmittedTask> => {
    const { release, flags, responseId } = request
    const key = checkReleaseKey(release)
    if (isLeft(key)) return key
    const values = await checkValuesSpec(deps, request.values)
    if (isLeft(values)) return values
    const opened = await openCluster(deps, call, grant)
    if (isLeft(opened)) return opened
    const operation = { kind, verb: 'install', release, input: orderInput(request), isDryRun: flags.dryRun !== undefined, responseId } as const
    return submitReleaseTask(deps, call, opened.right, operation, (standing) => judgeName(release, request, standing))
  }

/** Does what was accepted. */
export const installReleaseKind = (deps: ChartTaskDeps): TaskKind => ({
  kind,
  run: makeRunChartTask(deps, 'install'),
  recover: makeRecoverReleaseTask(deps, 'install'),
})
