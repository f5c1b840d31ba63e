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
import type { Boot } from '../../part/boot.ts'
import type { Durations, Sample } from '../../part/gauges.ts'
import { makeDurations } from '../../part/gauges.ts'
import { definedFields } from '../../../core/kernel/json.ts'

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
  /** How long tasks took here, by kind and end. */
  durations(): readonly Sample[]
  /** Takes tasks of the kinds that the open plugins declare. */
  start(): void
  /** Waits for the handlers for the time that the stop has left for them. */
  stop(): Promise<void>
}

/** In seconds. */
const durationBounds = [1, 5, 15, 60, 300, 900, 3600]
/** The kinds of tasks that plugins declare, each with five ends, are fewer. */
const mostDurations = 1000

/** What surrounds the work of each task. */
type Surround = (of: TaskRun, work: () => Promise<TaskEnd>) => Promise<TaskEnd>

/**
 * All that a task reads of other servers counts for its account. It continues the trace of its request, and its lines
 * of the log have the id of the request.
 */
const surroundOf =
  ({ readings, tracing, scope }: TaskWorkerFacts, durations: Durations): Surround =>
  async (of, work) => {
    const { kind, ref, tenantId } = of.task
    const since = performance.now()
    let end: string | undefined
    const traced = (): Promise<TaskEnd> =>
      tracing.span(
        {
          name: `task ${kind}`,
          kind: 'consumer',
          parent: of.origin?.trace,
          attributes: { 'moorage.task.kind': kind, 'moorage.task.ref': ref },
        },
        async (span) => {
          const ended = await readings.task(tenantId, work)
          if (ended.state !== 'succeeded') span.fail(ended.state)
          return ended
        },
      )
    try {
      const ended = await scope.run({ task: ref, ...definedFields({ requestId: of.origin?.requestId }) }, traced)
      end = ended.state
      return ended
    } finally {
      durations.observe((performance.now() - since) / 1000, {
        kind,
        end: end ?? (of.signal.aborted ? 'left' : 'failed'),
      })
    }
  }

const surrounded = (within: Surround, handler: TaskHandler): TaskHandler => {
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

type TaskWorkerFacts = Pick<Boot, 'instanceId' | 'log' | 'readings' | 'secretBox' | 'tracing' | 'scope'> & {
  readonly workers: number
}

/** Returns the worker of this process. */
export const makeTaskWorker = (ports: TaskWorkerPorts, facts: TaskWorkerFacts): TaskWorker => {
  const { link, publisher, actorCalls, clock } = ports
  const { log, secretBox, workers } = facts
  const durations = makeDurations(durationBounds, mostDurations)
  const within = surroundOf(facts, durations)
  let worker: Worker | undefined
  const start = (): void => {
    const kinds = new Map(ports.kinds.all().map((kind) => [kind.kind, surrounded(within, kind)]))
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
    durations: durations.samples,
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
