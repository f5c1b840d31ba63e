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
import { withDefault } from '../../part/setting.ts'
import { wholeNumber } from '../../part/setting-type.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
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
  spans: [spansOf(TasksToken, { submit: { name: 'submit task' }, prepare: { name: 'prepare task' } })],
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
        moorage_task_oldest_queued_seconds: {
          help: 'For how long the oldest task of a kind waits, of all instances; 0 when none does.',
          label: 'kind',
        },
        moorage_task_oldest_running_seconds: {
          help: 'For how long the oldest task of a kind runs, of all instances; 0 when none does.',
          label: 'kind',
        },
        moorage_tasks_running_here: { help: 'Tasks that this instance does now.', ofProcesses: 'sum' },
        moorage_task_duration_seconds: {
          type: 'histogram',
          help: 'How long this instance worked on tasks, by kind and how they ended; left ones were given back.',
          label: ['kind', 'end'],
        },
        moorage_task_outbox_events: { help: 'Events of tasks that the bus has not accepted yet, of all instances.' },
        moorage_task_outbox_oldest_seconds: { help: 'For how long the oldest of them waits; 0 without one.' },
      },
      { queues: TaskQueuesToken, worker: TaskWorkerToken, outbox: TaskOutboxToken, kinds: TaskHandlersToken },
      ({ queues, worker, outbox, kinds }) =>
        async () => {
          const { byState, oldest } = await queues.counts()
          const { count, oldestSeconds } = await outbox.lag()
          const ages = (of: 'queued' | 'running'): Record<string, number> => ({
            ...Object.fromEntries(kinds.all().map(({ kind }) => [kind, 0])),
            ...Object.fromEntries(oldest.flatMap((each) => (each.state === of ? [[each.kind, each.seconds]] : []))),
          })
          return {
            moorage_tasks: byState,
            moorage_task_oldest_queued_seconds: ages('queued'),
            moorage_task_oldest_running_seconds: ages('running'),
            moorage_tasks_running_here: worker.running,
            moorage_task_duration_seconds: worker.durations(),
            moorage_task_outbox_events: count,
            moorage_task_outbox_oldest_seconds: oldestSeconds,
          }
        },
    ),
  ],
  start: using({ worker: TaskWorkerToken }, ({ worker }) => {
    worker.start()
    return worker
  }),
})
