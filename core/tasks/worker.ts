import type { AccountId } from '../kernel/ids.ts'
import type { TaskBus } from './ports.ts'
import type { RunTaskDeps, TaskUnderWay } from './run-task.ts'
import { startTask } from './run-task.ts'
import type { ClaimedTask, TaskQueue } from './store-ports.ts'
import { startedEvent, takenOverEvent } from './task-rules.ts'

export interface WorkerDeps extends Omit<RunTaskDeps, 'queue'> {
  readonly queue: TaskQueue
  readonly bus: Pick<TaskBus, 'onWake'>
  /** Tasks at a time in this process. */
  readonly workers: number
}

/** Does tasks in this process until it is stopped. */
export interface Worker {
  readonly running: number
  /** Claims nothing more and tells the handlers that the service stops. Waits for nothing. */
  beginStop(): void
  /** As `beginStop`; then waits for the handlers, at most so long. True when all of them ended in time. */
  stop(budgetMs: number): Promise<boolean>
}

/** How long work waits at most when its wake-up was lost. */
const pollMs = 2_000

/**
 * Claims and does tasks, as many at a time as there are workers.
 *
 * Fair share: a queued task of the tenant with the fewest running tasks, on all instances, comes first. And one worker of
 * each process is never the same tenant's as all the others, so that a tenant who comes late waits for nobody's long work.
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
        opening: (task, isTakenOver) => (isTakenOver ? takenOverEvent : startedEvent)(task, deps.clock.now()),
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
      if (task !== undefined && !task.claimed.isTakenOver) task.abort('cancelled')
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
      // A timer that is left running keeps the process alive for the rest of the budget.
      return Promise.race([all, used]).finally(() => clearTimeout(budget))
    },
  }
}

/** The tenant that has its share of this process; there is at most one while a worker is free. */
const fullTenant = (underWay: Iterable<TaskUnderWay>, share: number): AccountId | undefined => {
  const counts = new Map<AccountId, number>()
  for (const { claimed } of underWay) {
    const count = (counts.get(claimed.task.tenantId) ?? 0) + 1
    if (count >= share) return claimed.task.tenantId
    counts.set(claimed.task.tenantId, count)
  }
  return undefined
}
