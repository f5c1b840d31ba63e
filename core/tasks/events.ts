import type { Clock } from '../kernel/clock.ts'
import type { FreeObject } from '../kernel/json.ts'
import { definedFields, toWireJson } from '../kernel/json.ts'
import type { Log } from '../kernel/log.ts'
import type { EventPublisher, NewTaskEvent, OutboxItem, TaskBus, TaskOutbox, TaskProgress, TaskStep } from './ports.ts'
import { bounded } from './task-rules.ts'
import type { Task } from './types.ts'

export interface JournalDeps {
  /** Stores events, in order; returns false if another worker now has the task. */
  readonly store: (events: readonly NewTaskEvent[]) => Promise<boolean>
  readonly onStored: () => void
  readonly onLost: () => void
}

/** Batches events, so that a handler that reports much needs few transactions. */
export interface Journal {
  add(event: NewTaskEvent): void
  /** Stops storing; returns the events that are not stored yet. */
  close(): Promise<readonly NewTaskEvent[]>
}

const flushMs = 100
const retryMs = 1_000
const atOnce = 200
/** Lines of a worker's run beyond either limit are dropped; steps and ends are kept. */
const maxLines = 2_000
const maxLineCharacters = 1024 * 1024
const charactersOf = ({ msg, data }: NewTaskEvent): number =>
  msg.length + (data === undefined ? 0 : toWireJson(data).length)

export const makeJournal = ({ store, onStored, onLost }: JournalDeps): Journal => {
  let waiting: NewTaskEvent[] = []
  let lines = 0
  let characters = 0
  let isFull = false
  let isClosed = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let flushing: Promise<void> | undefined

  const flush = async (): Promise<void> => {
    const events = waiting.splice(0, atOnce)
    try {
      if (await store(events)) onStored()
      else {
        isClosed = true
        onLost()
      }
    } catch {
      // The database is unreachable: unstored events stay first and are retried.
      waiting = [...events, ...waiting]
      schedule(retryMs)
    }
  }

  const schedule = (ms: number): void => {
    if (isClosed || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      flushing ??= flush().finally(() => {
        flushing = undefined
        if (waiting.length > 0) schedule(flushMs)
      })
    }, ms)
  }

  const keep = (event: NewTaskEvent): void => {
    waiting.push(event)
    schedule(flushMs)
  }
  const keepLine = (line: NewTaskEvent): void => {
    lines += 1
    characters += charactersOf(line)
    isFull = lines > maxLines || characters > maxLineCharacters
    keep(
      isFull
        ? { at: line.at, id: line.id, status: 'Running', level: 'warning', msg: 'Further lines are not kept.' }
        : line,
    )
  }

  return {
    add: (event) => {
      if (isClosed) return
      if (event.status !== 'Running') keep(event)
      else if (!isFull) keepLine(event)
    },
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await flushing
      return waiting
    },
  }
}

const maxDataCharacters = 8 * 1024
/** Maximum number of reported steps in one worker's run; the work of further steps is still done. */
const maxSteps = 1000
const untold: TaskStep = { say: () => undefined, done: () => undefined, failed: () => undefined }

const boundedData = (data: FreeObject): FreeObject =>
  toWireJson(data).length <= maxDataCharacters ? data : { isTruncated: true }

/** Progress that can be closed. */
export interface OpenProgress extends TaskProgress {
  /** Ends the open steps, newest first, with the result of their task. */
  closeSteps(isGood: boolean): void
}

/**
 * Turns a handler's reports into events. A step's id consists of the task's ref, the worker's fence and a number, so it
 * stays unique when another worker takes over.
 */
export const makeProgress = (
  task: Pick<Task, 'ref' | 'fence'>,
  clock: Clock,
  add: (event: NewTaskEvent) => void,
): OpenProgress => {
  const open = new Map<string, TaskStep>()
  let steps = 0

  const sayAs =
    (id: string): TaskStep['say'] =>
    (msg, { level, data } = {}) =>
      add({
        at: clock.now(),
        id,
        status: 'Running',
        msg: bounded(msg),
        ...definedFields({ level, data: data && boundedData(data) }),
      })

  const openStep = (title: string): TaskStep => {
    steps += 1
    if (steps === maxSteps + 1)
      add({ at: clock.now(), id: task.ref, status: 'Running', level: 'warning', msg: 'Further steps are not told.' })
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

export interface PublisherDeps {
  readonly outbox: TaskOutbox
  readonly bus: Pick<TaskBus, 'publish'>
  readonly log: Log
}

const batch = 100
const sweepMs = 5_000
const firstPauseMs = 500
const firstWaitMs = 50
const longestWaitMs = 2_000
/** Shorter than the time for which events belong to this process, so that no other process adopts them as lost. */
const longestPauseMs = 8_000

/**
 * Publishes committed events until the bus has accepted them: at once after `kick`, and with retries while the bus is
 * unreachable. An event is sent after the bus has accepted all earlier events of its task, whichever process sent them.
 * An event is published once or, after a crash in between, a second time with the same id.
 */
export const makeEventPublisher = ({ outbox, bus, log }: PublisherDeps): EventPublisher => {
  let isStopped = false
  let isWanted = false
  let isTold = false
  let pauseMs = 0
  let waitMs = 0
  let running: Promise<void> | undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const publishAll = async (): Promise<void> => {
    for (let items = await outbox.mine(batch); items.length > 0; items = await outbox.mine(batch)) {
      const done: number[] = []
      try {
        for (const item of items) done.push(await publishOne(bus, item))
      } finally {
        if (done.length > 0) await outbox.published(done)
      }
      waitMs = 0
    }
    if (!(await outbox.waits())) return
    waitMs = waitMs === 0 ? firstWaitMs : Math.min(longestWaitMs, waitMs * 2)
    later(waitMs)
  }

  const work = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false
      try {
        await publishAll()
        if (isTold) log.info({}, 'events of tasks are published again')
        isTold = false
        pauseMs = 0
      } catch (error) {
        if (!isTold) log.warn({ reason: (error as Error).message }, 'events of tasks cannot be published; retrying')
        isTold = true
        pauseMs = Math.min(longestPauseMs, pauseMs === 0 ? firstPauseMs : pauseMs * 2)
        later(pauseMs)
        return
      }
    }
  }

  const later = (ms: number): void => {
    clearTimeout(retry)
    if (!isStopped) retry = setTimeout(kick, ms)
  }

  const kick = (): void => {
    isWanted = true
    if (isStopped || running !== undefined) return
    running = work().finally(() => {
      running = undefined
      // An event may have arrived after the last check.
      if (isWanted && pauseMs === 0) kick()
    })
  }

  const adopt = (): void => {
    outbox.adopt(batch).then(
      (adopted) => {
        if (adopted > 0) kick()
        if (adopted === batch && !isStopped) adopt()
      },
      () => undefined,
    )
  }
  let sweep: ReturnType<typeof setInterval> | undefined

  return {
    kick,
    start: () => {
      sweep ??= setInterval(adopt, sweepMs)
      kick()
    },
    stop: async () => {
      clearInterval(sweep)
      isStopped = true
      clearTimeout(retry)
      await running
    },
  }
}

const publishOne = async (bus: Pick<TaskBus, 'publish'>, { id, message }: OutboxItem): Promise<number> => {
  await bus.publish(message)
  return id
}
