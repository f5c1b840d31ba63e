import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { Busy } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { fromWireJson, toWireJson } from '../kernel/json.ts'
import type { Log } from '../kernel/log.ts'
import type { ActorCalls } from '../kernel/principal.ts'
import { ActorGone } from '../kernel/principal.ts'
import type { SecretBox } from '../kernel/secret.ts'
import type {
  ClaimedTask,
  EventPublisher,
  NewTaskEvent,
  StopReason,
  TaskBus,
  TaskEnd,
  TaskHandler,
  TaskQueue,
  TaskRun,
} from './ports.ts'
import type { OpenProgress } from './events.ts'
import { makeJournal, makeProgress } from './events.ts'
import { inputPlace } from './submission.ts'
import { boundedEnd, endEvent, resumedEvent, startedEvent, takenOverEvent } from './task-rules.ts'

export interface LeaseKeeperDeps {
  /** Returns false if another worker has the task. */
  readonly renew: () => Promise<boolean>
  readonly leaseSeconds: number
  /** When the lease was requested, by `performance.now()`, before the database was called. */
  readonly takenAtMs: number
  readonly onLost: () => void
}

/**
 * Renews a lease three times within its length. The lease counts as lost when the database says so, and a tenth before
 * its end if the database does not respond: the work must stop by then, because another worker may take over from then
 * on. Returns a function that stops renewing.
 */
const keepLease = ({ renew, leaseSeconds, takenAtMs, onLost }: LeaseKeeperDeps): (() => void) => {
  let isOver = false
  let deadline: ReturnType<typeof setTimeout> | undefined

  const stop = (): void => {
    isOver = true
    clearInterval(beat)
    clearTimeout(deadline)
  }
  const lose = (): void => {
    if (isOver) return
    stop()
    onLost()
  }
  const holdFrom = (ms: number): void => {
    clearTimeout(deadline)
    if (!isOver) deadline = setTimeout(lose, ms + leaseSeconds * 900 - performance.now())
  }
  const once = async (): Promise<void> => {
    const askedAt = performance.now()
    try {
      if (await renew()) holdFrom(askedAt)
      else lose()
    } catch {
      // An error does not mean that the lease is lost: the next renewal retries, and the deadline is unchanged.
    }
  }
  const beat = setInterval(() => void once(), (leaseSeconds * 1000) / 3)
  holdFrom(takenAtMs)
  return stop
}

export interface RunTaskDeps {
  readonly queue: Pick<TaskQueue, 'renew' | 'record' | 'end' | 'giveBack'>
  readonly kindOf: (kind: string) => TaskHandler | undefined
  readonly secretBox: Pick<SecretBox, 'open'>
  readonly actorCalls: ActorCalls
  readonly publisher: Pick<EventPublisher, 'kick'>
  readonly clock: Clock
  readonly log: Log
  readonly leaseSeconds: number
}

/** A running task of this process. */
export interface TaskUnderWay {
  readonly claimed: ClaimedTask
  /** Aborts the handler, once. */
  abort(reason: StopReason): void
  /** Resolves when this process has nothing left to do for the task. */
  readonly done: Promise<void>
}

/**
 * Number of workers that may die while recovering the same task; then it is given up, so that no further worker dies.
 */
const mostRecoveries = 5
const endRetryMs = 1_000

/** Runs or recovers a claimed task and writes its end; does nothing of this once the lease is lost. */
const startTask = (deps: RunTaskDeps, claimed: ClaimedTask, takenAtMs: number): TaskUnderWay => {
  const stop = new AbortController()
  const held = { isLost: false }
  const lose = (): void => {
    held.isLost = true
    stop.abort('lease-lost' satisfies StopReason)
  }
  const { task } = claimed
  const journal = makeJournal({
    store: (events) => deps.queue.record(claimed, events),
    onStored: deps.publisher.kick,
    onLost: lose,
  })
  const progress = makeProgress(task, deps.clock, journal.add)
  const release = keepLease({
    renew: () => deps.queue.renew(claimed, deps.leaseSeconds),
    leaseSeconds: deps.leaseSeconds,
    takenAtMs,
    onLost: lose,
  })

  const work = async (): Promise<void> => {
    const end = await endOf(deps, claimed, { progress, signal: stop.signal, held })
    if (end === undefined) progress.closeSteps(false)
    else progress.closeSteps(end.state === 'succeeded')
    const unsaid = await journal.close()
    if (held.isLost)
      return deps.log.warn(
        { task: task.ref, kind: task.kind },
        'a task was taken over by another worker; this worker writes nothing more of it',
      )
    if (end === undefined) return deps.queue.giveBack({ ...claimed, isTakenOver: true })
    await writeEnd(deps, claimed, end, unsaid, held)
  }
  const done = work()
    .catch((error: unknown) =>
      deps.log.error({ task: task.ref, kind: task.kind, error }, 'a task could not be ended here; its lease runs out'),
    )
    .finally(() => {
      release()
      deps.publisher.kick()
    })
  return { claimed, abort: (reason) => stop.abort(reason), done }
}

/** Reports whether a claim is for finding out what became of the work. That is not cancelled. */
const isRecovery = (kind: TaskHandler | undefined, { isTakenOver }: ClaimedTask): boolean =>
  isTakenOver && kind?.recover !== 'run-again'

interface Surroundings {
  readonly progress: OpenProgress
  readonly signal: AbortSignal
  readonly held: { readonly isLost: boolean }
}

/**
 * Returns the end; undefined if the handler stopped because the service is stopping, so that the task is recovered
 * later.
 */
const endOf = async (
  deps: RunTaskDeps,
  claimed: ClaimedTask,
  { progress, signal, held }: Surroundings,
): Promise<TaskEnd | undefined> => {
  const { task, actor, origin, isTakenOver } = claimed
  if (task.fence > mostRecoveries + 1) {
    return {
      state: 'unknown',
      message: `${task.title}: what became of it could not be found out.`,
      error: `${mostRecoveries} workers ended while they looked.`,
    }
  }
  try {
    const kind = deps.kindOf(task.kind)
    if (kind === undefined) throw new Error(`a task of the kind ${task.kind} was claimed, which no plugin declares`)
    const run: TaskRun = {
      task,
      input: fromWireJson(
        (await deps.secretBox.open(claimed.sealedInput, inputPlace(task.ref, task.tenantId))).reveal(),
      ) as FreeObject,
      origin,
      progress,
      signal,
      callNow: async () =>
        held.isLost
          ? left(ActorGone('This worker has lost the task to another one.'))
          : deps.actorCalls.callOf(actor, origin, signal),
    }
    if (isTakenOver && kind.recover !== 'run-again') return await kind.recover(run)
    const call = await run.callNow()
    if (isLeft(call))
      return {
        state: 'failed',
        message: `${task.title}: not ${isTakenOver ? 'continued' : 'begun'}.`,
        error: call.left.message,
      }
    return await kind.run(run)
  } catch (error) {
    if (signal.reason === 'stopping') return undefined
    deps.log.error({ task: task.ref, kind: task.kind, isTakenOver, error }, 'a task failed unexpectedly')
    return isRecovery(deps.kindOf(task.kind), claimed)
      ? {
          state: 'unknown',
          message: `${task.title}: what became of it could not be found out.`,
          error: 'The service met an error of its own; its log says more.',
        }
      : {
          state: 'failed',
          message: `${task.title} failed!`,
          error: error instanceof Busy ? error.message : 'The service met an error of its own; its log says more.',
        }
  }
}

/** Retries until the row is written or belongs to another worker. */
const writeEnd = async (
  deps: RunTaskDeps,
  claimed: ClaimedTask,
  end: TaskEnd,
  unsaid: readonly NewTaskEvent[],
  held: { readonly isLost: boolean },
): Promise<void> => {
  const bounded = boundedEnd(end, end.result === undefined ? undefined : toWireJson(end.result))
  const events = [...unsaid, endEvent(claimed.task, bounded, deps.clock.now())]
  while (!held.isLost) {
    try {
      if (!(await deps.queue.end(claimed, bounded, events)))
        deps.log.warn({ task: claimed.task.ref }, 'the end of a task was not written: another worker has it')
      return
    } catch (error) {
      deps.log.warn({ task: claimed.task.ref, error }, 'the end of a task could not be written yet')
      await new Promise((resolve) => setTimeout(resolve, endRetryMs))
    }
  }
}

export interface WorkerDeps extends Omit<RunTaskDeps, 'queue'> {
  readonly queue: TaskQueue
  readonly bus: Pick<TaskBus, 'onWake'>
  /** Number of concurrent tasks in this process. */
  readonly workers: number
}

/** Runs tasks in this process until it is stopped. */
export interface Worker {
  readonly running: number
  /** Stops claiming and signals the handlers that the service is stopping. Does not wait. */
  beginStop(): void
  /** Like `beginStop`; then waits for the handlers, at most `budgetMs`. Returns true if all of them ended in time. */
  stop(budgetMs: number): Promise<boolean>
}

/** Maximum delay of queued work if its wake-up was lost. */
const pollMs = 2_000

/**
 * Claims and runs tasks, as many at a time as there are workers. Fair share: a queued task of the tenant with the
 * fewest running tasks, across all instances, comes first. In addition, the workers of one process never all serve the
 * same tenant, so that a newly arriving tenant does not wait for another's long work.
 */
export const startWorker = (deps: WorkerDeps): Worker => {
  const underWay = new Map<number, TaskUnderWay>()
  const share = Math.max(1, deps.workers - 1)
  let isStopping = false
  let isWanted = false
  let filling: Promise<void> | undefined

  const fill = async (): Promise<void> => {
    while (!isStopping && underWay.size < deps.workers) {
      const takenAtMs = performance.now()
      const claimed = await deps.queue.claim({
        leaseSeconds: deps.leaseSeconds,
        exceptTenant: fullTenant(underWay.values(), share),
        opening: (task, isTakenOver) =>
          (!isTakenOver
            ? startedEvent
            : deps.kindOf(task.kind)?.recover === 'run-again'
              ? resumedEvent
              : takenOverEvent)(task, deps.clock.now()),
      })
      if (claimed === undefined) return
      if (isStopping) return deps.queue.giveBack(claimed)
      begin(claimed, takenAtMs)
    }
  }
  const begin = (claimed: ClaimedTask, takenAtMs: number): void => {
    const started = startTask(deps, claimed, takenAtMs)
    underWay.set(claimed.task.id, started)
    deps.publisher.kick()
    void started.done.then(() => {
      underWay.delete(claimed.task.id)
      look()
    })
  }
  const obeyCancels = async (): Promise<void> => {
    if (underWay.size === 0) return
    for (const id of await deps.queue.cancelRequested()) {
      const task = underWay.get(id)
      if (task !== undefined && !isRecovery(deps.kindOf(task.claimed.task.kind), task.claimed)) task.abort('cancelled')
    }
  }
  const lookOnce = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false
      try {
        await obeyCancels()
        await fill()
      } catch (error) {
        deps.log.warn({ error }, 'tasks could not be claimed; this is tried again')
        return
      }
    }
  }
  const look = (): void => {
    isWanted = true
    filling ??= lookOnce().finally(() => {
      filling = undefined
    })
  }

  const forget = deps.bus.onWake(look)
  const poll = setInterval(look, pollMs)
  look()

  const beginStop = (): void => {
    if (isStopping) return
    isStopping = true
    clearInterval(poll)
    forget()
    for (const task of underWay.values()) task.abort('stopping')
  }
  return {
    get running() {
      return underWay.size
    },
    beginStop,
    stop: async (budgetMs) => {
      beginStop()
      await filling
      const all = Promise.all([...underWay.values()].map(({ done }) => done)).then(() => true)
      let budget: NodeJS.Timeout | undefined
      const used = new Promise<boolean>((resolve) => {
        budget = setTimeout(resolve, budgetMs, false)
      })
      // A running timer would keep the process alive for the rest of the budget.
      return Promise.race([all, used]).finally(() => clearTimeout(budget))
    },
  }
}

/** Returns the tenant that has used its share of this process; there is at most one while a worker is free. */
const fullTenant = (underWay: Iterable<TaskUnderWay>, share: number): AccountId | undefined => {
  const counts = new Map<AccountId, number>()
  for (const { claimed } of underWay) {
    const count = (counts.get(claimed.task.tenantId) ?? 0) + 1
    if (count >= share) return claimed.task.tenantId
    counts.set(claimed.task.tenantId, count)
  }
  return undefined
}
