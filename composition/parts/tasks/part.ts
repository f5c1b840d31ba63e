import { tasksMigrations } from '../../../adapters/sql/tasks/migrations.ts'
import { makeInProcessTaskBus } from '../../../adapters/bus/in-process-task-bus.ts'
import { makeNatsTaskBus, taskBusRights } from '../../../adapters/bus/nats-task-bus.ts'
import { makeSqlActorCalls } from '../../../adapters/sql/identity/actor-calls.ts'
import { makeSqlTaskChanges, makeSqlTaskStore, makeSqlTaskRetention } from '../../../adapters/sql/tasks/task-store.ts'
import { makeSqlTaskOutbox } from '../../../adapters/sql/tasks/task-outbox.ts'
import { makeSqlTaskQueues } from '../../../adapters/sql/tasks/task-queue.ts'
import { KeyedDigestPort } from '../../../core/audit/ports.ts'
import { makeSealedKeys, makePlatformLogin } from '../../../core/bus/keys.ts'
import { BusIdentityStorePort, BusMintPort } from '../../../core/bus/ports.ts'
import { ActorCallsPort } from '../../../core/kernel/principal.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { makeEventPublisher } from '../../../core/tasks/events.ts'
import {
  TaskBusPort,
  TasksPort,
  EventPublisherPort,
  TaskHandlersPort,
  TaskLookupsPort,
  TaskOutboxPort,
  TaskQueuesPort,
  TaskRetentionPort,
  TaskStorePort,
  TaskUnitOfWorkPort,
} from '../../../core/tasks/ports.ts'
import { makeTasks, makeTaskKinds } from '../../../core/tasks/submission.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { tasksPlugin } from '../../../plugins/tasks/plugin.ts'
import { withDefault } from '../../part/setting.ts'
import { wholeNumber } from '../../part/setting-type.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { BusServersPort } from '../bus/part.ts'
import type { TaskBusLink, TaskWorker } from './worker.ts'
import { makeTaskWorker } from './worker.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

/** The most unfinished tasks of one account. A higher number indicates a fault of the caller. */
const maxUnfinished = 100

const TaskBusLinkPort = portKey<TaskBusLink & { close(): Promise<void> }>('tasks.TaskBusLink')
const TaskWorkerPort = portKey<TaskWorker>('tasks.TaskWorker')

/** Work that outlives its request. */
export const part = definePart({
  plugin: tasksPlugin,
  spans: [spansOf(TasksPort, { submit: { name: 'submit task' }, prepare: { name: 'prepare task' } })],
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
      bind(TaskHandlersPort, {}, () => makeTaskKinds()),
      bind(ActorCallsPort, { clock: ClockPort }, ({ clock }) => makeSqlActorCalls(database, clock)),
      bind(TaskStorePort, {}, () => makeSqlTaskStore(database)),
      bind(TaskLookupsPort, {}, () => changes()(database)),
      bind(TaskQueuesPort, {}, () => makeSqlTaskQueues(database)),
      bind(TaskOutboxPort, {}, () => makeSqlTaskOutbox(database, instanceId)),
      bind(TaskRetentionPort, {}, () => makeSqlTaskRetention(database)),
      bindUnitOfWork(database, TaskUnitOfWorkPort, () => (tx) => ({ tasks: changes()(tx) })),
      bind(TaskBusPort, { taskBusLink: TaskBusLinkPort }, ({ taskBusLink }) => taskBusLink.bus),
      bind(
        TaskBusLinkPort,
        { servers: BusServersPort, identities: BusIdentityStorePort, mint: BusMintPort, entropy: EntropyPort },
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
        EventPublisherPort,
        { outbox: TaskOutboxPort, bus: TaskBusPort },
        (given) => makeEventPublisher({ ...given, log: boot.log }),
        (publisher) => publisher.stop(),
      ),
      bind(
        TasksPort,
        {
          unitOfWork: TaskUnitOfWorkPort,
          lookups: TaskLookupsPort,
          kinds: TaskHandlersPort,
          digest: KeyedDigestPort,
          bus: TaskBusPort,
          publisher: EventPublisherPort,
          entropy: EntropyPort,
          clock: ClockPort,
        },
        (given) => makeTasks({ ...given, secretBox: boot.secretBox, maxUnfinished }),
      ),
      bind(
        TaskWorkerPort,
        {
          queues: TaskQueuesPort,
          kinds: TaskHandlersPort,
          link: TaskBusLinkPort,
          actorCalls: ActorCallsPort,
          publisher: EventPublisherPort,
          clock: ClockPort,
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
      { queues: TaskQueuesPort, worker: TaskWorkerPort, outbox: TaskOutboxPort, kinds: TaskHandlersPort },
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
  start: using({ worker: TaskWorkerPort }, ({ worker }) => {
    worker.start()
    return worker
  }),
})
