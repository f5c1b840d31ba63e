import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../kernel/json.ts'
import type { TaskEnd, TaskRun } from '../tasks/ports.ts'
import type { HelmFailure } from './helm-ports.ts'
import type { RecordFailure } from './ports.ts'
import { settle, type SettleDeps } from './settle-release.ts'
import { describeStanding, isPending, type RecordPlace, type Standing } from './standing.ts'
import { whyStoppedBy, wordsOf } from './task-ends.ts'
import type { HelmVerb } from './types.ts'

/** What helm was asked for, and how things stood before. */
export interface HelmAftermath extends RecordPlace {
  readonly verb: HelmVerb
  readonly before: Standing
  /** A failure undoes what was done. */
  readonly wasAtomic: boolean
}

const undone = ({ verb, wasAtomic, before }: HelmAftermath, after: Standing): string => {
  if (!wasAtomic) return ''
  if (verb === 'install' && after.newest === undefined) return ' What had been installed was uninstalled again; a namespace and definitions of the chart may stay.'
  const attempt = (before.newest?.version ?? 0) + 1
  return verb === 'upgrade' && after.live !== undefined && after.live.version > attempt ? ' The upgrade was rolled back.' : ''
}

const reached = (about: HelmAftermath, after: Standing): string => {
  const isUnrecorded = after.newest?.version === about.before.newest?.version && after.newest?.status === about.before.newest?.status
  if (!isUnrecorded) return ''
  return about.verb === 'install' ? ' Nothing was recorded; a namespace and definitions of the chart may have been created.' : ' Nothing new was recorded.'
}

const resultOf = ({ release, driver }: HelmAftermath, { newest, live }: Standing): FreeObject => ({
  release: release.name,
  namespace: release.namespace,
  driver,
  ...(newest === undefined ? {} : { revision: newest.version, status: newest.status }),
  ...(live === undefined ? {} : { live: live.version }),
})

const doneWords: Readonly<Record<HelmVerb, string>> = { install: 'is installed', upgrade: 'is upgraded', rollback: 'is rolled back', uninstall: 'is uninstalled' }

const endOfSuccess = (run: Pick<TaskRun, 'signal'>, about: HelmAftermath, after: Standing | undefined): TaskEnd => {
  const late = run.signal.reason === 'cancelled' || run.signal.reason === 'rights-lost' ? ' It had gone too far to be stopped.' : ''
  const isGone = about.verb === 'uninstall' && after?.newest === undefined
  const revision = after?.newest === undefined ? '' : ` Revision ${after.newest.version} is recorded as ${after.newest.status}.`
  const history = isGone && after !== undefined ? ' Its history was removed.' : ''
  const result = after === undefined ? { release: about.release.name, namespace: about.release.namespace } : resultOf(about, after)
  return { state: 'succeeded', message: `Release ${about.release.name} ${doneWords[about.verb]}.${revision}${history}${late}`, result }
}

/** Of a release that its actor may no longer see, only what they did is told. */
const endOfLostRights = (run: Pick<TaskRun, 'signal'>, { verb, release }: HelmAftermath, settled: Either<RecordFailure, Standing>): TaskEnd => {
  const isLeftPending = isLeft(settled) || isPending(settled.right.newest)
  const revision = isLeftPending ? 'A revision may be left pending; then roll back or uninstall.' : 'No revision was left pending.'
  const rest = verb === 'uninstall' ? 'A part of the release may be gone; uninstalling it again removes the rest.' : revision
  return {
    state: 'failed',
    message: `Stopped on the way, for the right to connect to the cluster was lost. What had been done stays, and how the release stands is not told. ${rest}`,
    error: whyStoppedBy(run),
    result: { release: release.name, namespace: release.namespace },
  }
}

/** Whoever has the task now reads the records and says how it ended; here nothing may be changed any more. */
const takenOver: TaskEnd = { state: 'unknown', message: 'Another process has taken the task over.' }

/** Helm's words when somebody else's helm has the release, or took the revision first. */
const isOthers = /another operation \(.*\) is in progress|sh\.helm\.release\.v1\.\S+ already exists/

/** The newest revision that our helm may have left pending: one that another helm works on at this moment is not ours to end. */
const lastOfOurs = ({ before, wasAtomic }: HelmAftermath, failure: HelmFailure | undefined): number => {
  const { version = 0 } = before.newest ?? {}
  const hasBegun = failure?.tag === 'HelmStopped' || (failure?.tag === 'HelmRefused' && !isOthers.test(failure.message))
  return hasBegun ? version + (wasAtomic ? 2 : 1) : version
}

/** An upgrade that may install does so where nothing is recorded. */
const asWasDone = (about: HelmAftermath): HelmAftermath => (about.verb === 'upgrade' && about.before.newest === undefined ? { ...about, verb: 'install' } : about)

/** How a task ends after helm has: the root cause first, then what was undone and what is live now. */
export const endOfHelm = async (deps: SettleDeps, run: Pick<TaskRun, 'signal'>, asked: HelmAftermath, failure: HelmFailure | undefined): Promise<TaskEnd> => {
  if (run.signal.aborted && run.signal.reason === 'lease-lost') return takenOver
  const about = asWasDone(asked)
  const mayTell = run.signal.reason !== 'rights-lost'
  const settled = await settle(deps, about, about.before.newest?.version ?? 0, lastOfOurs(about, failure))
  if (failure === undefined) return endOfSuccess(run, about, isLeft(settled) || !mayTell ? undefined : settled.right)
  if (!mayTell) return endOfLostRights(run, about, settled)
  const error = wordsOf(failure)
  if (isLeft(settled)) return { state: 'failed', message: `How the release stands could not be read: ${settled.left.message}`, error }
  const after = settled.right
  const message = `${describeStanding(after)}${undone(about, after) || reached(about, after)}`
  const result = resultOf(about, after)
  if (failure.tag === 'HelmStopped' && run.signal.aborted) {
    const isAsked = run.signal.reason === 'cancelled'
    return { state: isAsked ? 'cancelled' : 'failed', message: `${isAsked ? 'Stopped as asked' : 'Stopped, for the service stops'}. ${message}`, error, result }
  }
  return { state: 'failed', message, error, result }
}
