import { AuthorizerToken } from '../../core/authz/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { makeCancelTask, makeFollowTask, makeFindSeenTask, makeListTasks, makeReadEvents, makeViewTask } from '../../core/tasks/tasks.ts'
import { TaskBusToken, EventPublisherToken, TaskRetentionToken, TaskStoreToken, TaskUnitOfWorkToken } from '../../core/tasks/ports.ts'
import { makeRetireTasks } from '../../core/tasks/retention.ts'
import { definePlugin } from '../kit/plugin.ts'
import { taskObjectTypes } from './relations.ts'
import { retireTasksJob } from './retire-tasks.job.ts'
import { taskRoutes } from './tasks.handlers.ts'

/** Work that runs after its request is answered: listing, following and cancelling it. */
export const tasksPlugin = definePlugin({
  id: 'tasks',
  summary: 'Work that continues after its request was answered, and its progress',
  listener: 'api',
  gate: 'always',
  needs: {
    tasks: TaskStoreToken,
    authorizer: AuthorizerToken,
    bus: TaskBusToken,
    unitOfWork: TaskUnitOfWorkToken,
    retention: TaskRetentionToken,
    publisher: EventPublisherToken,
    entropy: EntropyToken,
    clock: ClockToken,
    log: LogToken,
  },
  routes: (given) => {
    const cancel = makeCancelTask({ ...given, find: makeFindSeenTask(given) })
    return taskRoutes({ list: makeListTasks(given), view: makeViewTask(given), cancel, read: makeReadEvents(given), follow: makeFollowTask(given) })
  },
  jobs: (given) => [retireTasksJob(makeRetireTasks({ ...given, ownCall: makeOwnCall(given.entropy) }))],
  objectTypes: taskObjectTypes,
})
