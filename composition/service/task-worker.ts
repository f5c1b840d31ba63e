import { ActorCallsToken } from '../../core/kernel/principal.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { TaskBusToken, EventPublisherToken, TaskQueuesToken } from '../../core/tasks/ports.ts'
import type { Worker } from '../../core/tasks/worker.ts'
import { startWorker } from '../../core/tasks/worker.ts'
import type { Composition } from './compose.ts'
import type { Foundation } from './foundation.ts'
import { TaskBusLinkToken } from '../wiring/tasks.ts'

/** The time after which a dead worker is detected. */
const leaseSeconds = 30
/** From the start of a stop: the time until the process is killed, less the time that closing the rest takes. */
const stopBudgetMs = 22_000
const shortestWaitMs = 2_000

export interface TaskWorker extends Pick<Worker, 'beginStop'> {
  readonly running: number
  /** Waits for the handlers for the time that the stop has left for them. */
  stop(): Promise<void>
}

/** Starts the worker of this process, for the kinds of tasks that the open plugins declare. */
export const startTaskWorker = ({ boot, container, assembly }: Composition, { instanceId }: Foundation): TaskWorker => {
  const kinds = new Map(assembly.tasks.map((kind) => [kind.kind, kind]))
  const worker = startWorker({
    queue: container.resolve(TaskQueuesToken).open(instanceId, [...kinds.keys()]),
    bus: container.resolve(TaskBusToken),
    workers: boot.settings.taskWorkers,
    kindOf: (kind) => kinds.get(kind),
    secretBox: boot.secretBox,
    actorCalls: container.resolve(ActorCallsToken),
    publisher: container.resolve(EventPublisherToken),
    clock: container.resolve(ClockToken),
    log: boot.log,
    leaseSeconds,
  })
  container.resolve(TaskBusLinkToken).start()
  container.resolve(EventPublisherToken).start()
  let stopBeganAt: number | undefined
  const beginStop = (): void => {
    stopBeganAt ??= performance.now()
    worker.beginStop()
  }
  return {
    get running() {
      return worker.running
    },
    beginStop,
    stop: async () => {
      beginStop()
      const spentMs = performance.now() - (stopBeganAt ?? 0)
      const isDone = await worker.stop(Math.max(shortestWaitMs, stopBudgetMs - spentMs))
      if (!isDone) boot.log.warn({ tasks: worker.running }, 'tasks did not end in time; another worker finds out what became of them')
    },
  }
}
