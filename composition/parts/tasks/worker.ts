import type { ReadingBudgets } from '../../../adapters/outbound/reading-budgets.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { ActorCalls } from '../../../core/kernel/principal.ts'
import type {
  EventPublisher,
  TaskBus,
  TaskEnd,
  TaskHandler,
  TaskHandlers,
  TaskQueues,
  TaskRun,
} from '../../../core/tasks/ports.ts'
import type { Worker } from '../../../core/tasks/worker.ts'
import { startWorker } from '../../../core/tasks/worker.ts'
import type { Boot } from '../../boot.ts'

/** The bus of tasks with its connection. `serve` starts the connection; commands need none. */
export interface TaskBusLink {
  readonly bus: TaskBus
  start(): void
}

/** The time after which a dead worker is detected. */
const leaseSeconds = 30
/** From the start of a stop: the time until the process is killed, less the time that closing the rest takes. */
const stopBudgetMs = 22_000
const shortestWaitMs = 2_000

export interface TaskWorker extends Pick<Worker, 'beginStop'> {
  readonly running: number
  /** Takes tasks of the kinds that the open plugins declare. */
  start(): void
  /** Waits for the handlers for the time that the stop has left for them. */
  stop(): Promise<void>
}

/** All that a task reads of other servers counts for its account. */
const withinBudget = (readings: Pick<ReadingBudgets, 'task'>, handler: TaskHandler): TaskHandler => {
  const within = (of: TaskRun, work: () => Promise<TaskEnd>) => readings.task(of.task.tenantId, work)
  const { kind, recover } = handler
  return {
    kind,
    run: (of) => within(of, () => handler.run(of)),
    recover: recover === 'run-again' ? recover : (of) => within(of, () => recover(of)),
  }
}

export interface TaskWorkerPorts {
  readonly queues: TaskQueues
  readonly kinds: TaskHandlers
  readonly link: TaskBusLink
  readonly actorCalls: ActorCalls
  readonly publisher: EventPublisher
  readonly clock: Clock
}

type TaskWorkerFacts = Pick<Boot, 'instanceId' | 'log' | 'readings' | 'secretBox'> & { readonly workers: number }

/** Returns the worker of this process. */
export const makeTaskWorker = (ports: TaskWorkerPorts, facts: TaskWorkerFacts): TaskWorker => {
  const { link, publisher, actorCalls, clock } = ports
  const { log, readings, secretBox, workers } = facts
  let worker: Worker | undefined
  const start = (): void => {
    const kinds = new Map(ports.kinds.all().map((kind) => [kind.kind, withinBudget(readings, kind)]))
    worker = startWorker({
      queue: ports.queues.open(facts.instanceId, [...kinds.keys()]),
      bus: link.bus,
      workers,
      kindOf: (kind) => kinds.get(kind),
      secretBox,
      actorCalls,
      publisher,
      clock,
      log,
      leaseSeconds,
    })
    link.start()
    publisher.start()
  }
  let stopBeganAt: number | undefined
  const beginStop = (): void => {
    stopBeganAt ??= performance.now()
    worker?.beginStop()
  }
  return {
    get running() {
      return worker?.running ?? 0
    },
    start,
    beginStop,
    stop: async () => {
      beginStop()
      if (worker === undefined) return
      const spentMs = performance.now() - (stopBeganAt ?? 0)
      const isDone = await worker.stop(Math.max(shortestWaitMs, stopBudgetMs - spentMs))
      if (!isDone)
        log.warn({ tasks: worker.running }, 'tasks did not end in time; another worker finds out what became of them')
    },
  }
}
