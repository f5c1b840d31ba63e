import { left, right } from 'fp-ts/lib/Either.js'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import { makeSqlTaskQueues } from '../../adapters/sql/tasks/task-queue.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import { ActorGone } from '../../core/kernel/principal.ts'
import type { ActorCalls } from '../../core/kernel/principal.ts'
import type { Log } from '../../core/kernel/log.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { TaskHandler, TaskQueue } from '../../core/tasks/ports.ts'
import { startWorker } from '../../core/tasks/worker.ts'

export interface WorkerOptions {
  readonly kind: TaskHandler
  readonly workers?: number
  readonly leaseSeconds?: number
  readonly holder?: string
  /** Puts something between the worker and its queue. */
  readonly around?: (queue: TaskQueue) => TaskQueue
  readonly isActorGone?: () => boolean
}

/** A worker over a real store, in the test's own process, with a log that is kept. */
export const startTestWorker = (db: SqlDatabase, options: WorkerOptions) => {
  const {
    kind,
    workers = 4,
    leaseSeconds = 30,
    holder = 'here',
    around = (queue) => queue,
    isActorGone = () => false,
  } = options
  const lines: string[] = []
  const keep = (fields: object, message: string): void =>
    void lines.push(
      `${message} ${JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? value.message : value))}`,
    )
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const actorCalls: ActorCalls = {
    callOf: async (actor, about, signal) =>
      isActorGone()
        ? left(ActorGone(`${actor.login} is gone.`))
        : right({
            ...about,
            signal,
            principal: {
              userId: actor.userId,
              login: actor.login,
              isSiteAdmin: false,
              method: actor.method,
              scopes: actor.scopes,
            },
          }),
  }
  const bus = makeInProcessTaskBus()
  const worker = startWorker({
    queue: around(makeSqlTaskQueues(db).open(holder, [kind.kind])),
    bus,
    workers,
    leaseSeconds,
    actorCalls,
    log,
    kindOf: (name) => (name === kind.kind ? kind : undefined),
    secretBox: { open: async () => secret('{"n":1}') },
    publisher: { kick: () => undefined },
    clock: systemClock,
  })
  return { worker, bus, lines }
}
