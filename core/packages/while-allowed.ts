import { isLeft } from 'fp-ts/lib/Either.js'
import type { StopReason, TaskEnd, TaskRun } from '../tasks/ports.ts'
import type { Pause } from './release-task-ports.ts'
import type { OpenTaskCluster, TaskCluster } from './task-cluster.ts'
import { failedBefore } from './task-ends.ts'

export interface WhileAllowedDeps {
  readonly openTaskCluster: OpenTaskCluster
  readonly pause: Pause
}

/** Work on a cluster may take a day, and rights that were taken away must not last that long. */
const askAgainMilliseconds = 60_000

/** Resolves when `over` is aborted, or when the actor may no longer connect: then `lose` was called with the reason. */
const watchRights = async (pause: Pause, opened: TaskCluster, over: AbortSignal, lose: (why: string) => void): Promise<void> => {
  for (;;) {
    await pause(askAgainMilliseconds, over)
    if (over.aborted) return
    // No answer is no answer: the next one counts.
    const asked = await opened.stillAllowed().catch(() => undefined)
    if (over.aborted) return
    if (asked !== undefined && isLeft(asked)) return lose(asked.left.message)
  }
}

/**
 * Does work of a task on its cluster as its actor, and asks again once a minute whether they still may connect. A clear no
 * aborts the signal of the run that the work is given, with `rights-lost`.
 */
export const whileAllowed = async (deps: WhileAllowedDeps, run: TaskRun, work: (run: TaskRun, opened: TaskCluster) => Promise<TaskEnd>): Promise<TaskEnd> => {
  const opened = await deps.openTaskCluster(run)
  if (isLeft(opened)) return failedBefore(run, opened.left)
  const lost = new AbortController()
  const done = new AbortController()
  const over = AbortSignal.any([run.signal, done.signal])
  void watchRights(deps.pause, opened.right, over, (why) => {
    run.progress.say(why, { level: 'error' })
    lost.abort('rights-lost' satisfies StopReason)
  })
  try {
    return await work({ ...run, signal: AbortSignal.any([run.signal, lost.signal]) }, opened.right)
  } finally {
    done.abort()
  }
}
