import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import { natsServers } from '../../adapters/bus/nats-connection.ts'
import { makeNatsTaskBus } from '../../adapters/bus/nats-task-bus.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlActorCalls } from '../../adapters/sql/identity/actor-calls.ts'
import { makeSqlTaskChanges, makeSqlTaskStore, makeSqlTaskRetention } from '../../adapters/sql/tasks/task-store.ts'
import { makeSqlTaskOutbox } from '../../adapters/sql/tasks/task-outbox.ts'
import { makeSqlTaskQueues } from '../../adapters/sql/tasks/task-queue.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken, KeyedDigestToken } from '../../core/audit/ports.ts'
import { makeSealedKeys, makePlatformLogin } from '../../core/bus/keys.ts'
import { BusIdentityStoreToken, BusMintToken } from '../../core/bus/ports.ts'
import { ActorCallsToken } from '../../core/kernel/principal.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { makeEventPublisher } from '../../core/tasks/events.ts'
import type { TaskBus } from '../../core/tasks/ports.ts'
import {
  TaskBusToken,
  TasksToken,
  EventPublisherToken,
  TaskHandlersToken,
  TaskLookupsToken,
  TaskOutboxToken,
  TaskQueuesToken,
  TaskRetentionToken,
  TaskStoreToken,
  TaskUnitOfWorkToken,
} from '../../core/tasks/ports.ts'
import { makeTasks, makeTaskKinds } from '../../core/tasks/submission.ts'
import { token } from '../../core/kernel/token.ts'
import type { Boot, Provide } from '../boot.ts'
import type { Resolve } from '../container.ts'

/** The most unfinished tasks of one account. A higher number indicates a fault of the caller. */
const maxUnfinished = 100

/** The bus of tasks with its connection. The running service starts the connection; commands need none. */
export interface TaskBusLink {
  readonly bus: TaskBus
  start(): void
}
export const TaskBusLinkToken = token<TaskBusLink>('tasks.TaskBusLink')

/** Provides work that outlives its request. The running service starts the worker itself. */
export const provideTasks: Provide = (container, boot) => {
  const { database, instanceId } = boot
  const changes = makeSqlTaskChanges(database, instanceId)
  container.provideValue(TaskHandlersToken, makeTaskKinds())
  container.provide(ActorCallsToken, (resolve) => makeSqlActorCalls(database, resolve(ClockToken)))
  container.provide(TaskStoreToken, () => makeSqlTaskStore(database))
  container.provide(TaskLookupsToken, () => changes(database))
  container.provide(TaskQueuesToken, () => makeSqlTaskQueues(database))
  container.provide(TaskOutboxToken, () => makeSqlTaskOutbox(database, instanceId))
  container.provide(TaskRetentionToken, () => makeSqlTaskRetention(database))
  container.provide(TaskUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ tasks: changes(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
  container.provide(TaskBusToken, (resolve) => resolve(TaskBusLinkToken).bus)
  container.provide(TaskBusLinkToken, (resolve) => linkOf(boot, resolve))
  container.provide(EventPublisherToken, (resolve) => {
    const publisher = makeEventPublisher({
      outbox: resolve(TaskOutboxToken),
      bus: resolve(TaskBusToken),
      log: boot.log,
    })
    boot.onStop('events of tasks', () => publisher.stop())
    return publisher
  })
  container.provide(TasksToken, (resolve) =>
    makeTasks({
      unitOfWork: resolve(TaskUnitOfWorkToken),
      lookups: resolve(TaskLookupsToken),
      kinds: resolve(TaskHandlersToken),
      secretBox: boot.secretBox,
      digest: resolve(KeyedDigestToken),
      bus: resolve(TaskBusToken),
      publisher: resolve(EventPublisherToken),
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
      maxUnfinished,
    }),
  )
}

const linkOf = (boot: Boot, resolve: Resolve): TaskBusLink => {
  const busUrl = boot.settings.busUrl.reveal()
  if (busUrl === 'inproc:') return { bus: makeInProcessTaskBus(), start: () => undefined }
  const safe = makeSealedKeys(boot.secretBox, resolve(EntropyToken))
  const bus = makeNatsTaskBus({
    servers: natsServers(busUrl),
    login: makePlatformLogin({ identities: resolve(BusIdentityStoreToken), mint: resolve(BusMintToken), safe }),
    log: boot.log,
  })
  boot.onStop('message bus of tasks', () => bus.close())
  return { bus, start: bus.start }
}
