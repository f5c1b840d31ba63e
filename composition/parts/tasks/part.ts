import { tasksMigrations } from '../../../adapters/sql/tasks/migrations.ts'
import { makeInProcessTaskBus } from '../../../adapters/bus/in-process-task-bus.ts'
import { makeNatsTaskBus, taskBusRights } from '../../../adapters/bus/nats-task-bus.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlActorCalls } from '../../../adapters/sql/identity/actor-calls.ts'
import { makeSqlTaskChanges, makeSqlTaskStore, makeSqlTaskRetention } from '../../../adapters/sql/tasks/task-store.ts'
import { makeSqlTaskOutbox } from '../../../adapters/sql/tasks/task-outbox.ts'
import { makeSqlTaskQueues } from '../../../adapters/sql/tasks/task-queue.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken, KeyedDigestToken } from '../../../core/audit/ports.ts'
import { makeSealedKeys, makePlatformLogin } from '../../../core/bus/keys.ts'
import { BusIdentityStoreToken, BusMintToken } from '../../../core/bus/ports.ts'
import { ActorCallsToken } from '../../../core/kernel/principal.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import { makeEventPublisher } from '../../../core/tasks/events.ts'
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
} from '../../../core/tasks/ports.ts'
import { makeTasks, makeTaskKinds } from '../../../core/tasks/submission.ts'
import { token } from '../../../core/kernel/token.ts'
import { tasksPlugin } from '../../../plugins/tasks/plugin.ts'
import { withDefault } from '../../config/setting.ts'
import { wholeNumber } from '../../config/setting-type.ts'
import { bind, lazily, using } from '../../binding.ts'
import { defineGauges } from '../../http/gauges.ts'
import { definePart } from '../../part.ts'
import { BusServersToken } from '../bus/part.ts'
import type { TaskBusLink, TaskWorker } from './worker.ts'
import { makeTaskWorker } from './worker.ts'

/** The most unfinished tasks of one account. A higher number indicates a fault of the caller. */
const maxUnfinished = 100

const TaskBusLinkToken = token<TaskBusLink & { close(): Promise<void> }>('tasks.TaskBusLink')
const TaskWorkerToken = token<TaskWorker>('tasks.TaskWorker')

/** Work that outlives its request. */
export const part = definePart({
  plugin: tasksPlugin,
  migrations: tasksMigrations,
  settings: {
    taskWorkers: withDefault(
      'MOORAGE_TASK_WORKERS',
      wholeNumber(1, 64),
      '4',
      'Number of tasks that this instance runs at a time.',
      { after: 'MOORAGE_KUBECONFIG_HOURS' },
    ),
  },
  provide(boot) {
    const { database, instanceId } = boot
    const changes = lazily(() => makeSqlTaskChanges(database, instanceId))
    return [
      bind(TaskHandlersToken, {}, () => makeTaskKinds()),
      bind(ActorCallsToken, { clock: ClockToken }, ({ clock }) => makeSqlActorCalls(database, clock)),
      bind(TaskStoreToken, {}, () => makeSqlTaskStore(database)),
      bind(TaskLookupsToken, {}, () => changes()(database)),
      bind(TaskQueuesToken, {}, () => makeSqlTaskQueues(database)),
      bind(TaskOutboxToken, {}, () => makeSqlTaskOutbox(database, instanceId)),
      bind(TaskRetentionToken, {}, () => makeSqlTaskRetention(database)),
      bind(TaskUnitOfWorkToken, { auditChain: AuditChainToken }, ({ auditChain }) =>
        makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ tasks: changes()(tx), audit }),
          makeSqlAuditTrail(database, auditChain),
        ),
      ),
      bind(TaskBusToken, { taskBusLink: TaskBusLinkToken }, ({ taskBusLink }) => taskBusLink.bus),
      bind(
        TaskBusLinkToken,
        { servers: BusServersToken, identities: BusIdentityStoreToken, mint: BusMintToken, entropy: EntropyToken },
        ({ servers, identities, mint, entropy }) => {
          if (servers.length === 0)
            return {
              bus: makeInProcessTaskBus(boot.processes.topic('task bus')),
              start: () => undefined,
              close: async () => undefined,
            }
          const safe = makeSealedKeys(boot.secretBox, entropy)
          const bus = makeNatsTaskBus({
            servers,
            login: makePlatformLogin({ identities, mint, safe }, taskBusRights),
            log: boot.log,
          })
          return { bus, start: bus.start, close: () => bus.close() }
        },
        (link) => link.close(),
      ),
      bind(
        EventPublisherToken,
        { outbox: TaskOutboxToken, bus: TaskBusToken },
        (given) => makeEventPublisher({ ...given, log: boot.log }),
        (publisher) => publisher.stop(),
      ),
      bind(
        TasksToken,
        {
          unitOfWork: TaskUnitOfWorkToken,
          lookups: TaskLookupsToken,
          kinds: TaskHandlersToken,
          digest: KeyedDigestToken,
          bus: TaskBusToken,
          publisher: EventPublisherToken,
          entropy: EntropyToken,
          clock: ClockToken,
        },
        (given) => makeTasks({ ...given, secretBox: boot.secretBox, maxUnfinished }),
      ),
      bind(
        TaskWorkerToken,
        {
          queues: TaskQueuesToken,
          kinds: TaskHandlersToken,
          link: TaskBusLinkToken,
          actorCalls: ActorCallsToken,
          publisher: EventPublisherToken,
          clock: ClockToken,
        },
        (given) => makeTaskWorker(given, { ...boot, workers: boot.processes.share(boot.settings.taskWorkers) }),
      ),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_tasks: { help: 'Tasks of the last week by state, of all instances.', label: 'state' },
        moorage_task_oldest_queued_seconds: { help: 'How long the oldest task waits; 0 when none does.' },
        moorage_tasks_running_here: { help: 'Tasks that this instance does now.', ofProcesses: 'sum' },
      },
      { queues: TaskQueuesToken, worker: TaskWorkerToken },
      ({ queues, worker }) =>
        async () => {
          const { byState, oldestQueuedSeconds } = await queues.counts()
          return {
            moorage_tasks: byState,
            moorage_task_oldest_queued_seconds: oldestQueuedSeconds,
            moorage_tasks_running_here: worker.running,
          }
        },
    ),
  ],
  start: using({ worker: TaskWorkerToken }, ({ worker }) => {
    worker.start()
    return worker
  }),
})
