import type { Clock } from '../kernel/clock.ts'
import type { FreeObject } from '../kernel/json.ts'
import { toWireJson } from '../kernel/json.ts'
import type { TaskProgress, TaskStep } from './ports.ts'
import type { NewTaskEvent } from './store-ports.ts'
import { bounded } from './task-rules.ts'
import type { Task } from './types.ts'

const maxDataCharacters = 8 * 1024
/** Steps of one worker's run; what would be more is done and not told. */
const maxSteps = 1000
const untold: TaskStep = { say: () => undefined, done: () => undefined, failed: () => undefined }

const boundedData = (data: FreeObject): FreeObject => (toWireJson(data).length <= maxDataCharacters ? data : { isTruncated: true })

/** Progress with what ends it. */
export interface OpenProgress extends TaskProgress {
  /** Ends the steps that are still open, the newest first, as their task ended. */
  closeSteps(isGood: boolean): void
}

/**
 * Turns what a handler says into events. A step's id is the task's ref, the worker's fence and a number: unique also when
 * another worker takes over.
 */
export const makeProgress = (task: Pick<Task, 'ref' | 'fence'>, clock: Clock, add: (event: NewTaskEvent) => void): OpenProgress => {
  const open = new Map<string, TaskStep>()
  let steps = 0

  const sayAs = (id: string): TaskStep['say'] => (msg, { level, data } = {}) =>
    add({
      at: clock.now(), id, status: 'Running', msg: bounded(msg),
      ...(level === undefined ? {} : { level }),
      ...(data === undefined ? {} : { data: boundedData(data) }),
    })

  const openStep = (title: string): TaskStep => {
    steps += 1
    if (steps === maxSteps + 1) add({ at: clock.now(), id: task.ref, status: 'Running', level: 'warning', msg: 'Further steps are not told.' })
    if (steps > maxSteps) return untold
    const id = `${task.ref}.${task.fence}.${steps}`
    const step = bounded(title, 255)
    add({ at: clock.now(), id, status: 'Started', step, msg: step })
    const close = (event: Pick<NewTaskEvent, 'status' | 'msg' | 'error'>): void => {
      if (open.delete(id)) add({ at: clock.now(), id, ...event })
    }
    const say = sayAs(id)
    const opened: TaskStep = {
      say: (msg, options) => {
        if (open.has(id)) say(msg, options)
      },
      done: (msg = step) => close({ status: 'Success', msg: bounded(msg) }),
      failed: (error) => close({ status: 'Failed', msg: step, error: bounded(error) }),
    }
    open.set(id, opened)
    return opened
  }

  return {
    say: sayAs(task.ref),
    step: openStep,
    closeSteps: (isGood) => {
      for (const step of [...open.values()].reverse()) {
        if (isGood) step.done()
        else step.failed('Not finished.')
      }
    },
  }
}
