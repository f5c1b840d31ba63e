import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEnd } from '../tasks/ports.ts'
import { settle, type SettleDeps } from './settle-release.ts'
import { describeStanding, isPending, type RecordPlace, type Standing } from './standing.ts'
import type { HelmVerb } from './types.ts'

/** A task whose worker died. */
export interface LostOperation {
  readonly verb: HelmVerb
  /** The newest revision when the task was accepted; 0 when there was none. */
  readonly beforeRevision: number
  /** Of an uninstall: the records stay. */
  readonly keepsHistory: boolean
}

const workerDied = 'The process that worked on this task died.'

const judgeUninstall = (lost: LostOperation, standing: Standing): TaskEnd => {
  const { newest } = standing
  if (newest === undefined) return { state: 'succeeded', message: 'The release is uninstalled, and its history removed.' }
  if (newest.status === 'uninstalled' && lost.keepsHistory) return { state: 'succeeded', message: 'The release is uninstalled; its history was kept.' }
  if (newest.status === 'uninstalling' || newest.status === 'uninstalled') {
    return { state: 'failed', message: `A part of the release is gone; its record says ${newest.status}. Uninstall it again to remove the rest.`, error: workerDied }
  }
  return { state: 'failed', message: `${describeStanding(standing)} Its objects were not removed; hooks before the deletion may have run.`, error: workerDied }
}

/** What became of an operation, by what the records say now. Pure: pending records have been settled before. */
export const judgeLost = (lost: LostOperation, standing: Standing): TaskEnd => {
  if (lost.verb === 'uninstall') return judgeUninstall(lost, standing)
  const { newest } = standing
  const live = describeStanding(standing)
  if (newest === undefined || newest.version <= lost.beforeRevision) {
    const made = lost.verb === 'rollback' ? '' : ' Only a namespace and definitions of the chart may have been created.'
    return { state: 'failed', message: `No new revision was recorded. ${live}${made}`, error: workerDied }
  }
  if (newest.status === 'deployed') return { state: 'succeeded', message: `Revision ${newest.version} was recorded as deployed before the worker died.` }
  if (isPending(newest)) return { state: 'unknown', message: `Revision ${newest.version} is ${newest.status}, and its record could not be changed. Roll back or uninstall.`, error: workerDied }
  return { state: 'failed', message: `${live} Roll back, or try again.`, error: workerDied }
}

/**
 * Ends a task whose worker died, without doing its work again: reads the records, sets a revision that its dead helm left
 * pending to failed, and says what stands. May be repeated.
 */
export const makeRecoverRelease = (deps: SettleDeps) =>
  async (place: RecordPlace, lost: LostOperation): Promise<TaskEnd> => {
    const settled = await settle(deps, place, lost.beforeRevision)
    if (isLeft(settled)) return unknowable(settled.left.message)
    const { newest, live } = settled.right
    const end = judgeLost(lost, settled.right)
    const revision = newest === undefined ? {} : { revision: newest.version, status: newest.status }
    return { ...end, result: { release: place.release.name, namespace: place.release.namespace, ...revision, ...(live === undefined ? {} : { live: live.version }) } }
  }

/** The worker died, and what became of its work cannot be seen. */
export const unknowable = (why: string): TaskEnd => ({
  state: 'unknown',
  message: `What became of the release could not be found out: ${why} Look at its revisions; one that is pending can be rolled back or uninstalled.`,
  error: workerDied,
})
