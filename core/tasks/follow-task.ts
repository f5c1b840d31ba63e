import type { TaskBus } from './ports.ts'
import type { TaskStore } from './store-ports.ts'
import type { Task, TaskEvent } from './types.ts'
import { isFinal } from './types.ts'
import { eventsAtOnce } from './view-task.ts'

export interface FollowDeps {
  readonly tasks: TaskStore
  readonly bus: Pick<TaskBus, 'onProgress'>
}

/** How long an event waits at most when the bus lost its hint. */
const pollMs = 5_000
/** Every so many polls that found nothing, whether the task is still there. */
const pollsUntilLook = 6

/** Whether this is the task's own end: no event follows it. */
export const isEndOf = ({ ref }: Pick<Task, 'ref'>, { id, status }: TaskEvent): boolean => id === ref && (status === 'Success' || status === 'Failed')

/**
 * The events of a task after a number: those that are there, then each as it comes, until the task's own end or the signal.
 * Each is read from the store, so that none is missed and none comes twice, whatever the bus does.
 */
export const makeFollowTask = ({ tasks, bus }: FollowDeps) =>
  async function* (task: Pick<Task, 'id' | 'ref'>, afterSeq: number, signal: AbortSignal): AsyncGenerator<TaskEvent, void, void> {
    const bell = makeBell(signal)
    const forget = bus.onProgress(task.ref, bell.ring)
    let after = afterSeq
    try {
      for (let empty = 0; !signal.aborted; ) {
        const events = await tasks.events(task.id, after, eventsAtOnce)
        for (const event of events) {
          yield event
          after = event.seq
          if (isEndOf(task, event)) return
        }
        if (events.length === eventsAtOnce) continue
        empty = events.length === 0 ? empty + 1 : 0
        if (empty % pollsUntilLook === 1 && (await isOver(tasks, task.ref))) {
          // Its last events may have come since they were looked for.
          yield* await tasks.events(task.id, after, eventsAtOnce)
          return
        }
        await bell.wait(pollMs)
      }
    } finally {
      forget()
    }
  }
export type FollowTask = ReturnType<typeof makeFollowTask>

const isOver = async (tasks: TaskStore, ref: string): Promise<boolean> => {
  const found = await tasks.find(ref)
  return found === undefined || isFinal(found.task.state)
}

/** A ring that comes while nobody waits is not lost. */
const makeBell = (signal: AbortSignal) => {
  let hasRung = false
  let wake: (() => void) | undefined
  const ring = (): void => {
    hasRung = true
    wake?.()
  }
  return {
    ring,
    wait: async (ms: number): Promise<void> => {
      if (!hasRung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            signal.removeEventListener('abort', ring)
            resolve()
          }
          signal.addEventListener('abort', ring, { once: true })
        })
        signal.removeEventListener('abort', ring)
      }
      hasRung = false
      wake = undefined
    },
  }
}
