import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { StopReason, TaskEnd, TaskRun, TaskStep } from '../tasks/ports.ts'

/** Returns a failure's message with its list of problems, each once. */
export const wordsOf = ({ message, errors }: Pick<Failure, 'message' | 'errors'>): string => {
  const listed = new Set((errors ?? []).filter((line) => !message.includes(line)))
  return [message, ...[...listed].slice(0, 20)].join('\n')
}

const whyStopped: Readonly<Record<Exclude<StopReason, 'cancelled'>, string>> = {
  stopping: 'The service stops. Try again.',
  'lease-lost': 'Another process has taken the task over.',
  'rights-lost': 'The user who requested it may no longer connect to the cluster.',
}

/** Returns why the work stopped other than by a cancel. */
export const whyStoppedBy = ({ signal }: Pick<TaskRun, 'signal'>): string =>
  whyStopped[signal.reason as keyof typeof whyStopped]

/** Returns the end of a task that changed nothing, because of a failure or because it was aborted. */
export const failedBeforeChange = (
  run: Pick<TaskRun, 'signal'>,
  failure: Pick<Failure, 'message' | 'errors'>,
): TaskEnd => {
  if (!run.signal.aborted) return { state: 'failed', message: 'Nothing was changed.', error: wordsOf(failure) }
  if (run.signal.reason === 'cancelled') return { state: 'cancelled', message: 'Stopped before anything was changed.' }
  return { state: 'failed', message: 'Nothing was changed.', error: whyStoppedBy(run) }
}

/**
 * Returns the end of a task that was aborted just before its first change: cancelled, or failed with the reason of the
 * abort.
 */
export const cancelledBeforeChange = (run: Pick<TaskRun, 'signal'>): TaskEnd =>
  failedBeforeChange(run, { message: 'The work was to stop.' })

export const succeeded = (message: string, result: FreeObject): TaskEnd => ({ state: 'succeeded', message, result })

/** The error of a task whose worker died. */
export const workerDied = 'The process that worked on this task died.'

/**
 * Runs a part of a task as a step of its own. The step ends with the given texts, unless the part has ended it with a
 * text that says more.
 */
export const inStep = async <F extends Failure, A>(
  run: Pick<TaskRun, 'progress'>,
  { title, done, failed }: { readonly title: string; readonly done?: string; readonly failed: string },
  work: (step: TaskStep) => Outcome<F, A>,
): Outcome<F, A> => {
  const step = run.progress.step(title)
  const outcome = await work(step)
  if (isLeft(outcome)) step.failed(failed)
  else step.done(done)
  return outcome
}
