import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Failure } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { TaskEnd, NewTaskEvent } from './ports.ts'
import { TaskEnded } from './ports.ts'
import type { Task, TaskState } from './types.ts'
import { isFinal } from './types.ts'

/** Returns the audit row of an action on a task. A task has no id before it is inserted. */
export const auditOf = defineAudit(
  'task',
  ['task.submitted', 'task.cancelled'],
  ({ id, title, tenantId }: Pick<Task, 'title' | 'tenantId'> & Partial<Pick<Task, 'id'>>) => ({
    ...definedFields({ objectId: id }),
    objectName: title,
    tenantId,
  }),
)

/** The possible transitions of a task. A final state never changes; no task returns to `queued`. */
const nextStates: Readonly<Record<TaskState, readonly TaskState[]>> = {
  queued: ['running', 'cancelled', 'failed'],
  running: ['running', 'succeeded', 'failed', 'cancelled', 'unknown'],
  succeeded: [],
  failed: [],
  cancelled: [],
  unknown: [],
}

/**
 * Reports whether a transition is allowed. `running` to `running` is a worker that takes over from a dead one.
 *
 * @internal
 */
export const mayBecome = (from: TaskState, to: TaskState): boolean => nextStates[from].includes(to)

/** Returns the effect of a cancel: a queued task ends at once, a running one is requested to stop. */
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

/** Returns the subject that an actor subscribes to, within the actor's own bus account. */
export const subjectOf = (responseId: string): string => `natjobs.resp.${responseId}`

const maxMessage = 4000

/** Truncates a text of a task to the limits of the columns and the bus. */
export const bounded = (text: string, most = maxMessage): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`

type Titled = Pick<Task, 'ref' | 'title'>

/**
 * Returns the first event. It and the start event contain the title, so that a client that subscribes in between
 * receives it too.
 */
export const pendingEvent = ({ ref, title }: Titled, at: Date): NewTaskEvent => ({
  at,
  id: ref,
  status: 'Pending',
  step: title,
  msg: `${title}: waits for a worker`,
})

export const startedEvent = ({ ref, title }: Titled, at: Date): NewTaskEvent => ({
  at,
  id: ref,
  status: 'Started',
  step: title,
  msg: `${title} started!`,
  isNotable: true,
})

export const takenOverEvent = ({ ref }: Titled, at: Date): NewTaskEvent => ({
  at,
  id: ref,
  status: 'Running',
  level: 'warning',
  msg: 'The worker that began this has ended. Another one finds out what became of it; the work is not done again.',
})

/** Returns the event of a worker that runs a task again whose steps are idempotent. */
export const resumedEvent = ({ ref }: Titled, at: Date): NewTaskEvent => ({
  at,
  id: ref,
  status: 'Running',
  level: 'warning',
  msg: 'The worker that began this has ended. Another one continues; what is done is not repeated.',
})

/** Returns the last event of a task. */
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

/** Number of ended tasks that are kept for an account, the newest ones. */
export const keptEnded = 1_000

const maxResultKibibytes = 256
const bytesOf = (text: string): number => new TextEncoder().encode(text).length
const leftOut = { isTruncated: true, message: `The result is larger than ${maxResultKibibytes} KiB and was not kept.` }

/** A shorter part of a text may well occur in it more than once: a name, or a word. */
const shortestSentence = 24

/**
 * Returns a text without the sentences that it has had before. A program that reports a failure for each of many
 * objects repeats the cause for each; what is particular to an object stays.
 *
 * @internal
 */
export const eachSentenceOnce = (text: string): string => {
  const seen = new Set<string>()
  const parts = text.split(/((?<=[.!?;:])\s+|\s+[*&]+\s+|\n+)/)
  const kept = parts.map((part, index) => {
    const sentence = part.trim().replace(/[.;:]+$/, '')
    if (index % 2 === 1 || sentence.length < shortestSentence) return part
    if (seen.has(sentence)) return ''
    seen.add(sentence)
    return part
  })
  return kept
    .join('')
    .replaceAll(/(\s+[*&]+\s+)(?:\s*[*&]+\s+)+/g, '$1')
    .replaceAll(/ {2,}/g, ' ')
    .replaceAll(/\n{2,}/g, '\n')
    .trim()
}

/** Returns an end whose texts fit. A result that is too large is omitted, and the message says so. */
export const boundedEnd = (end: TaskEnd, resultText: string | undefined): TaskEnd => {
  const { result: _result, error, ...rest } = end
  const fits = resultText === undefined || bytesOf(resultText) <= maxResultKibibytes * 1024
  return {
    ...rest,
    message: bounded(end.message, 1000),
    ...definedFields({
      error: error === undefined ? undefined : bounded(eachSentenceOnce(error)),
      result: end.result === undefined || fits ? end.result : leftOut,
    }),
  }
}
