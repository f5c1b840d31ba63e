import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { TaskEnd, NewTaskEvent } from './ports.ts'
import { TaskEnded } from './ports.ts'
import type { Task, TaskState } from './types.ts'
import { isFinal } from './types.ts'

/** What a task can turn into. A final state is for ever; nothing goes back to `queued`. */
const nextStates: Readonly<Record<TaskState, readonly TaskState[]>> = {
  queued: ['running', 'cancelled', 'failed'],
  running: ['running', 'succeeded', 'failed', 'cancelled', 'unknown'],
  succeeded: [],
  failed: [],
  cancelled: [],
  unknown: [],
}

/** Whether a task may move so. `running` to `running` is a worker that takes over from a dead one. */
export const mayBecome = (from: TaskState, to: TaskState): boolean => nextStates[from].includes(to)

/** What a wish to end a task leads to: a queued one ends at once, a running one is asked to. */
export const cancelDecision = (state: TaskState): Either<Failure<'TaskEnded'>, 'end-now' | 'ask-worker'> => {
  if (isFinal(state)) return left(TaskEnded(`The task has ended already: it ${wordsOf[state]}.`))
  return right(state === 'queued' ? 'end-now' : 'ask-worker')
}

const wordsOf: Readonly<Record<TaskState, string>> = {
  queued: 'waits',
  running: 'is running',
  succeeded: 'has succeeded',
  failed: 'has failed',
  cancelled: 'was cancelled',
  unknown: 'was lost, and what became of it is not known',
}

/** As an actor subscribes to it, within the bus account of their own. */
export const subjectOf = (responseId: string): string => `natjobs.resp.${responseId}`

const maxMessage = 4000

/** Texts of a task are bounded, as its columns and the bus are. */
export const bounded = (text: string, most = maxMessage): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)

type Titled = Pick<Task, 'ref' | 'title'>

/** The first event. It, and the start, name the title: whoever begins to listen in between learns it too. */
export const pendingEvent = ({ ref, title }: Titled, at: Date): NewTaskEvent => ({ at, id: ref, status: 'Pending', step: title, msg: `${title}: waits for a worker` })

export const startedEvent = ({ ref, title }: Titled, at: Date): NewTaskEvent => ({
  at, id: ref, status: 'Started', step: title, msg: `${title} started!`, isNotable: true,
})

export const takenOverEvent = ({ ref }: Titled, at: Date): NewTaskEvent => ({
  at, id: ref, status: 'Running', level: 'warning', msg: 'The worker that began this has ended. Another one finds out what became of it; the work is not done again.',
})

/** The last event of a task. */
export const endEvent = ({ ref }: Titled, end: TaskEnd, at: Date): NewTaskEvent => {
  const isGood = end.state === 'succeeded'
  return {
    at,
    id: ref,
    status: isGood ? 'Success' : 'Failed',
    msg: end.message,
    ...(isGood ? {} : { error: end.error ?? end.message }),
    data: { state: end.state },
    isNotable: true,
  }
}

/** Ended tasks that are kept for an account: the newest ones. */
export const keptEnded = 1_000

const maxResultKibibytes = 256
const bytesOf = (text: string): number => new TextEncoder().encode(text).length
const leftOut = { isTruncated: true, message: `The result is larger than ${maxResultKibibytes} KiB and was not kept.` }

/** An end whose texts fit. A result that does not fit is left out and said to be. */
export const boundedEnd = (end: TaskEnd, resultText: string | undefined): TaskEnd => {
  const { result: _result, error, ...rest } = end
  const fits = resultText === undefined || bytesOf(resultText) <= maxResultKibibytes * 1024
  return {
    ...rest,
    message: bounded(end.message, 1000),
    ...(error === undefined ? {} : { error: bounded(error) }),
    ...(end.result === undefined ? {} : { result: fits ? end.result : leftOut }),
  }
}
