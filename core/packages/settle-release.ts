import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { RecordFailure, ReleaseStore } from './ports.ts'
import type { Pause } from './release-task-ports.ts'
import { isPending, readStanding, type RecordPlace, type Standing } from './standing.ts'

export interface SettleDeps {
  readonly releases: Pick<ReleaseStore, 'index' | 'amend'>
  readonly pause: Pause
}

/** The truth is read also when the task has been told to stop. */
const patienceMilliseconds = 20_000
/** Helm often ends because the cluster went away, which may be back in a moment. */
const pausesMilliseconds = [500, 1000, 2000, 4000, 8000]

/** The words that a revision gets whose helm is dead. */
export const interruptedDescription = 'Interrupted: what worked on this revision ended before it was done.'

/** Asks again, after growing pauses, as long as the cluster does not answer. */
const untilReached = async <F extends Failure, A>(pause: Pause, patience: AbortSignal, ask: () => Promise<Either<F, A>>): Outcome<F, A> => {
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
 * How a release stands now. A revision that is newer than `beforeRevision`, up to `lastOfOurs`, and still pending has no
 * helm any more: it is amended to failed, so that the next operation may begin.
 */
export const settle = async ({ releases, pause }: SettleDeps, place: RecordPlace, beforeRevision: number, lastOfOurs = Number.MAX_SAFE_INTEGER): Outcome<RecordFailure, Standing> => {
  const patience = AbortSignal.timeout(patienceMilliseconds)
  const read = (): Outcome<RecordFailure, Standing> => readStanding(releases, place, patience)
  const found = await untilReached(pause, patience, read)
  if (isLeft(found)) return found
  const { newest } = found.right
  if (newest === undefined || !isPending(newest) || newest.version <= beforeRevision || newest.version > lastOfOurs) return found
  const change = { status: 'failed', description: interruptedDescription } as const
  await untilReached(pause, patience, () => releases.amend(place.cluster, place.driver, newest, change, patience))
  // Whatever was answered: an amendment may have been made whose answer was lost.
  const after = await read()
  return isLeft(after) ? found : after
}
