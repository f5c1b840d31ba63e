import type { Failure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { StopReason, TaskEnd, TaskRun } from '../../tasks/ports.ts'

/** Returns a failure's message with its list of problems. */
export const wordsOf = ({ message, errors }: Pick<Failure, 'message' | 'errors'>): string => {
  const listed = (errors ?? []).filter((line) => !message.includes(line)).slice(0, 20)
  return [message, ...listed].join('\n')
}

const whyStopped: Readonly<Record<Exclude<StopReason, 'cancelled'>, string>> = {
  stopping: 'The service stops. Try again.',
  'lease-lost': 'Another process has taken the task over.',
  'rights-lost': 'The user who requested it may no longer connect to the cluster.',
}

/** Returns why the work stopped other than by a cancel. */
export const whyStoppedBy = ({ signal }: Pick<TaskRun, 'signal'>): string => whyStopped[signal.reason as keyof typeof whyStopped]

/** Returns the end of a task that changed nothing, because of a failure or because it was aborted. */
export const failedBefore = (run: Pick<TaskRun, 'signal'>, failure: Pick<Failure, 'message' | 'errors'>): TaskEnd => {
  if (!run.signal.aborted) return { state: 'failed', message: 'Nothing was changed.', error: wordsOf(failure) }
  if (run.signal.reason === 'cancelled') return { state: 'cancelled', message: 'Stopped before anything was changed.' }
  return { state: 'failed', message: 'Nothing was changed.', error: whyStoppedBy(run) }
}

/** Returns the end of a task that was aborted just before its first change. */
export const stoppedBefore = (run: Pick<TaskRun, 'signal'>): TaskEnd => failedBefore(run, { message: 'The work was to stop.' })

export const succeeded = (message: string, result: FreeObject): TaskEnd => ({ state: 'succeeded', message, result })
