import type { Failure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { StopReason, TaskEnd, TaskRun } from '../../tasks/ports.ts'

/** A failure as people read it, its list of problems included. */
export const wordsOf = ({ message, errors }: Pick<Failure, 'message' | 'errors'>): string => {
  const listed = (errors ?? []).filter((line) => !message.includes(line)).slice(0, 20)
  return [message, ...listed].join('\n')
}

const whyStopped: Readonly<Record<Exclude<StopReason, 'cancelled'>, string>> = {
  stopping: 'The service stops. Try again.',
  'lease-lost': 'Another process has taken the task over.',
  'rights-lost': 'Whoever asked for it may no longer connect to the cluster.',
}

/** What made the work stop, where it was not asked to. */
export const whyStoppedBy = ({ signal }: Pick<TaskRun, 'signal'>): string => whyStopped[signal.reason as keyof typeof whyStopped]

/** An end before anything was changed: by a failure, or because the task was to stop. */
export const failedBefore = (run: Pick<TaskRun, 'signal'>, failure: Pick<Failure, 'message' | 'errors'>): TaskEnd => {
  if (!run.signal.aborted) return { state: 'failed', message: 'Nothing was changed.', error: wordsOf(failure) }
  if (run.signal.reason === 'cancelled') return { state: 'cancelled', message: 'Stopped before anything was changed.' }
  return { state: 'failed', message: 'Nothing was changed.', error: whyStoppedBy(run) }
}

/** The task was to stop when something was about to be changed. */
export const stoppedBefore = (run: Pick<TaskRun, 'signal'>): TaskEnd => failedBefore(run, { message: 'The work was to stop.' })

export const succeeded = (message: string, result: FreeObject): TaskEnd => ({ state: 'succeeded', message, result })
