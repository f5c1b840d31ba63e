import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { whyStoppedBy, wordsOf, workerDied } from '../../cluster-tasks/types.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { TaskEnd, TaskRun } from '../../tasks/ports.ts'
import type { RecordFailure, ReleaseStore } from '../ports.ts'
import type { HelmVerb, ReleaseKey, ReleaseRecordRef, StorageDriver } from '../types.ts'
import type { HelmFailure } from './ports.ts'
import { ReleasePending } from './ports.ts'

/** The location of a release's records. */
export interface RecordPlace {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  readonly release: ReleaseKey
}

/** The state of a release according to its records. */
export interface ReleaseState {
  /** Undefined if there is no record. */
  readonly newest: ReleaseRecordRef | undefined
  /** The newest revision with status deployed. */
  readonly live: ReleaseRecordRef | undefined
  /** Newest first. */
  readonly all: readonly ReleaseRecordRef[]
}

/** @internal */
export const releaseStateOf = (records: readonly ReleaseRecordRef[]): ReleaseState => {
  const all = [...records].sort((a, b) => b.version - a.version)
  return { newest: all[0], live: all.find(({ status }) => status === 'deployed'), all }
}

/** Reads the labels of one release's records as the caller. */
export const readReleaseState = async (
  releases: Pick<ReleaseStore, 'index'>,
  place: RecordPlace,
  signal: AbortSignal,
): Outcome<RecordFailure, ReleaseState> => {
  const refs = await releases.index(
    place.cluster,
    place.driver,
    { namespace: place.release.namespace, name: place.release.name },
    signal,
  )
  return isLeft(refs) ? refs : right(releaseStateOf(refs.right))
}

/** Reports whether a helm process works on the revision, or died during its work. */
export const isPending = (record: ReleaseRecordRef | undefined): boolean =>
  record?.status.startsWith('pending-') === true

/** Returns the failure for a revision on which another helm process works or died. */
export const pendingElsewhere = ({ name }: ReleaseKey, newest: ReleaseRecordRef): Failure<'ReleasePending'> =>
  ReleasePending(
    `Revision ${newest.version} of ${name} is ${newest.status}, and no task of this service works on it: ` +
      'another helm is at work, or one died. ' +
      'Wait for it. When it is dead, ' +
      `${newest.version > 1 ? 'roll back to an earlier revision, or uninstall' : 'uninstall'}.`,
  )

/** Returns one sentence on the deployed revision and the newest one. @internal */
export const describeReleaseState = ({ newest, live }: ReleaseState): string => {
  if (newest === undefined) return 'No revision is recorded.'
  const liveText = live === undefined ? 'No revision is live' : `Revision ${live.version} is live`
  return newest === live ? `${liveText}.` : `${liveText}; revision ${newest.version} is recorded as ${newest.status}.`
}

export interface ReconcileDeps {
  readonly releases: Pick<ReleaseStore, 'index' | 'amend'>
  readonly pause: Pause
}

/** The state is read even after the task was aborted, within this time. */
const patienceMilliseconds = 20_000
/** Helm often fails because the cluster is briefly unreachable, so reads are retried. */
const pausesMilliseconds = [500, 1000, 2000, 4000, 8000]

/** Description written to a revision whose helm process died. @internal */
export const interruptedDescription = 'Interrupted: what worked on this revision ended before it was done.'

/** Retries with increasing pauses while the cluster is unreachable. */
const untilReached = async <F extends Failure, A>(
  pause: Pause,
  patience: AbortSignal,
  ask: () => Promise<Either<F, A>>,
): Outcome<F, A> => {
  let answer = await ask()
  for (const milliseconds of pausesMilliseconds) {
    if (!isLeft(answer) || answer.left.tag !== 'ClusterUnreachable') return answer
    await pause(milliseconds, patience)
    if (patience.aborted) return answer
    answer = await ask()
  }
  return answer
}

/**
 * Returns the current state of a release. A pending revision newer than `beforeRevision`, up to `lastOfOurs`, has no
 * helm process any more and is amended to failed, so that the next operation can start.
 */
const settle = async (
  { releases, pause }: ReconcileDeps,
  place: RecordPlace,
  beforeRevision: number,
  lastOfOurs = Number.MAX_SAFE_INTEGER,
): Outcome<RecordFailure, ReleaseState> => {
  const patience = AbortSignal.timeout(patienceMilliseconds)
  const read = (): Outcome<RecordFailure, ReleaseState> => readReleaseState(releases, place, patience)
  const found = await untilReached(pause, patience, read)
  if (isLeft(found)) return found
  const { newest } = found.right
  if (newest === undefined || !isPending(newest) || newest.version <= beforeRevision || newest.version > lastOfOurs)
    return found
  const change = { status: 'failed', description: interruptedDescription } as const
  await untilReached(pause, patience, () => releases.amend(place.cluster, place.driver, newest, change, patience))
  // Read again after any result: the amendment may have succeeded with its response lost.
  const after = await read()
  return isLeft(after) ? found : after
}

/** An operation of a task whose worker died. */
export interface LostOperation {
  readonly verb: HelmVerb
  /** The newest revision when the task was accepted; 0 if there was none. */
  readonly beforeRevision: number
  /** For an uninstall: the records are kept. */
  readonly keepsHistory: boolean
}

const judgeUninstall = (lost: LostOperation, standing: ReleaseState): TaskEnd => {
  const { newest } = standing
  if (newest === undefined)
    return { state: 'succeeded', message: 'The release is uninstalled, and its history removed.' }
  if (newest.status === 'uninstalled' && lost.keepsHistory)
    return { state: 'succeeded', message: 'The release is uninstalled; its history was kept.' }
  if (newest.status === 'uninstalling' || newest.status === 'uninstalled') {
    return {
      state: 'failed',
      message:
        `A part of the release is gone; its record says ${newest.status}. Uninstall it again to remove the ` + 'rest.',
      error: workerDied,
    }
  }
  return {
    state: 'failed',
    message: `${describeReleaseState(standing)} Its objects were not removed; hooks before the deletion may have run.`,
    error: workerDied,
  }
}

/** Determines the result of an operation from its records. Pure: pending records must be settled before. */
const judgeLost = (lost: LostOperation, standing: ReleaseState): TaskEnd => {
  if (lost.verb === 'uninstall') return judgeUninstall(lost, standing)
  const { newest } = standing
  const live = describeReleaseState(standing)
  if (newest === undefined || newest.version <= lost.beforeRevision) {
    const made = lost.verb === 'rollback' ? '' : ' Only a namespace and definitions of the chart may have been created.'
    return { state: 'failed', message: `No new revision was recorded. ${live}${made}`, error: workerDied }
  }
  if (newest.status === 'deployed')
    return {
      state: 'succeeded',
      message: `Revision ${newest.version} was recorded as deployed before the worker died.`,
    }
  if (isPending(newest))
    return {
      state: 'unknown',
      message:
        `Revision ${newest.version} is ${newest.status}, and its record could not be changed. Roll back or ` +
        'uninstall.',
      error: workerDied,
    }
  return { state: 'failed', message: `${live} Roll back, or try again.`, error: workerDied }
}

const revisionsOf = ({ newest, live }: ReleaseState): FreeObject =>
  definedFields({ revision: newest?.version, status: newest?.status, live: live?.version })

/**
 * Ends a task whose worker died, without repeating its work: reads the records, sets a revision that the dead helm
 * process left pending to failed, and reports the state. May be repeated.
 */
export const makeRecoverRelease =
  (deps: ReconcileDeps) =>
  async (place: RecordPlace, lost: LostOperation): Promise<TaskEnd> => {
    const settled = await settle(deps, place, lost.beforeRevision)
    if (isLeft(settled)) return unknowable(settled.left.message)
    const end = judgeLost(lost, settled.right)
    return {
      ...end,
      result: { release: place.release.name, namespace: place.release.namespace, ...revisionsOf(settled.right) },
    }
  }

/** Returns the end of a task whose worker died and whose result cannot be determined. */
export const unknowable = (why: string): TaskEnd => ({
  state: 'unknown',
  message:
    `What became of the release could not be found out: ${why} Look at its revisions; one that is pending ` +
    'can be rolled back or uninstalled.',
  error: workerDied,
})

/** The requested helm operation, and the state before it. */
export interface HelmAftermath extends RecordPlace {
  readonly verb: HelmVerb
  readonly before: ReleaseState
  /** A failure is rolled back. */
  readonly wasAtomic: boolean
}

const undone = ({ verb, wasAtomic, before }: HelmAftermath, after: ReleaseState): string => {
  if (!wasAtomic) return ''
  if (verb === 'install' && after.newest === undefined)
    return ' What had been installed was uninstalled again; a namespace and definitions of the chart may stay.'
  const attempt = (before.newest?.version ?? 0) + 1
  return verb === 'upgrade' && after.live !== undefined && after.live.version > attempt
    ? ' The upgrade was rolled back.'
    : ''
}

const reached = (about: HelmAftermath, after: ReleaseState): string => {
  const isUnrecorded =
    after.newest?.version === about.before.newest?.version && after.newest?.status === about.before.newest?.status
  if (!isUnrecorded) return ''
  return about.verb === 'install'
    ? ' Nothing was recorded; a namespace and definitions of the chart may have been created.'
    : ' Nothing new was recorded.'
}

const resultOf = ({ release, driver }: HelmAftermath, standing: ReleaseState): FreeObject => ({
  release: release.name,
  namespace: release.namespace,
  driver,
  ...revisionsOf(standing),
})

const doneWords: Readonly<Record<HelmVerb, string>> = {
  install: 'is installed',
  upgrade: 'is upgraded',
  rollback: 'is rolled back',
  uninstall: 'is uninstalled',
}

const endOfSuccess = (run: Pick<TaskRun, 'signal'>, about: HelmAftermath, after: ReleaseState | undefined): TaskEnd => {
  const late =
    run.signal.reason === 'cancelled' || run.signal.reason === 'rights-lost'
      ? ' It had gone too far to be stopped.'
      : ''
  const isGone = about.verb === 'uninstall' && after?.newest === undefined
  const revision =
    after?.newest === undefined ? '' : ` Revision ${after.newest.version} is recorded as ${after.newest.status}.`
  const history = isGone && after !== undefined ? ' Its history was removed.' : ''
  const result =
    after === undefined ? { release: about.release.name, namespace: about.release.namespace } : resultOf(about, after)
  return {
    state: 'succeeded',
    message: `Release ${about.release.name} ${doneWords[about.verb]}.${revision}${history}${late}`,
    result,
  }
}

/** For a release that its actor may no longer see, only the actor's own changes are reported. */
const endOfLostRights = (
  run: Pick<TaskRun, 'signal'>,
  { verb, release }: HelmAftermath,
  settled: Either<RecordFailure, ReleaseState>,
): TaskEnd => {
  const isLeftPending = isLeft(settled) || isPending(settled.right.newest)
  const revision = isLeftPending
    ? 'A revision may be left pending; then roll back or uninstall.'
    : 'No revision was left pending.'
  const rest =
    verb === 'uninstall' ? 'A part of the release may be gone; uninstalling it again removes the rest.' : revision
  return {
    state: 'failed',
    message:
      'Stopped because the right to connect to the cluster was lost. Finished changes are kept, and the ' +
      `state of the release is not shown. ${rest}`,
    error: whyStoppedBy(run),
    result: { release: release.name, namespace: release.namespace },
  }
}

/** The process that took over the task reads the records and ends the task; this one must not change anything. */
const takenOver: TaskEnd = { state: 'unknown', message: 'Another process has taken the task over.' }

/** Helm's messages when another helm process works on the release or created the revision first. */
const isOthers = /another operation \(.*\) is in progress|sh\.helm\.release\.v1\.\S+ already exists/

/**
 * Returns the newest revision that this helm process may have left pending. A revision of another, running helm process
 * must not be amended.
 */
const lastOfOurs = ({ before, wasAtomic }: HelmAftermath, failure: HelmFailure | undefined): number => {
  const { version = 0 } = before.newest ?? {}
  const hasBegun = failure?.tag === 'HelmStopped' || (failure?.tag === 'HelmRefused' && !isOthers.test(failure.message))
  return hasBegun ? version + (wasAtomic ? 2 : 1) : version
}

/** An upgrade with `install` counts as an install if there is no record. */
const asWasDone = (about: HelmAftermath): HelmAftermath =>
  about.verb === 'upgrade' && about.before.newest === undefined ? { ...about, verb: 'install' } : about

/**
 * Returns the end of a task after helm has ended: the root cause first, then what was rolled back and which revision is
 * deployed.
 */
export const helmResult = async (
  deps: ReconcileDeps,
  run: Pick<TaskRun, 'signal'>,
  asked: HelmAftermath,
  failure: HelmFailure | undefined,
): Promise<TaskEnd> => {
  if (run.signal.aborted && run.signal.reason === 'lease-lost') return takenOver
  const about = asWasDone(asked)
  const mayTell = run.signal.reason !== 'rights-lost'
  const settled = await settle(deps, about, about.before.newest?.version ?? 0, lastOfOurs(about, failure))
  if (failure === undefined) return endOfSuccess(run, about, isLeft(settled) || !mayTell ? undefined : settled.right)
  if (!mayTell) return endOfLostRights(run, about, settled)
  const error = wordsOf(failure)
  if (isLeft(settled))
    return { state: 'failed', message: `How the release stands could not be read: ${settled.left.message}`, error }
  const after = settled.right
  const message = `${describeReleaseState(after)}${undone(about, after) || reached(about, after)}`
  const result = resultOf(about, after)
  if (failure.tag === 'HelmStopped' && run.signal.aborted) {
    const isAsked = run.signal.reason === 'cancelled'
    return {
      state: isAsked ? 'cancelled' : 'failed',
      message: `${isAsked ? 'Stopped as asked' : 'Stopped, for the service stops'}. ${message}`,
      error,
      result,
    }
  }
  return { state: 'failed', message, error, result }
}
