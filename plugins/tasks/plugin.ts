import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'
import { definePlugin } from '../kit/plugin.ts'
import { taskGroup } from './tasks.handlers.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EventPublisherPort, TaskRetentionPort, TaskUnitOfWorkPort } from '../../core/tasks/ports.ts'
import { makeRetireTasks } from '../../core/tasks/tasks.ts'
import { defineGroup } from '../kit/group.ts'

const retireTasks = defineGroup({
  needs: {
    retention: TaskRetentionPort,
    unitOfWork: TaskUnitOfWorkPort,
    publisher: EventPublisherPort,
    entropy: EntropyPort,
    clock: ClockPort,
    log: LogPort,
  },
  jobs: (given) => [
    {
      id: 'tasks.retire',
      summary: 'Remove tasks that ended a week ago, with their events, and end those that no instance can run',
      everySeconds: 3600,
      run: makeRetireTasks({ ...given, ownCall: makeOwnCall(given.entropy) }),
    },
  ],
})

/**
 * Tasks reveal what is done to clusters. A user who may connect to all clusters of an account sees its tasks; a user
 * who may change the clusters cancels the tasks of others.
 */
const taskObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'organization',
    listed: true,
    scope: 'cluster',
    reading: ['can_view_tasks'],
    relations: {
      can_view_tasks: [
        { by: 'owner' },
        { by: 'level', atLeast: 'write' },
        { by: 'permission', namespace: 'cluster_mgmt', action: 'connect to clusters' },
      ],
      can_cancel_tasks: [
        { by: 'owner' },
        { by: 'level', atLeast: 'admin' },
        { by: 'permission', namespace: 'cluster_mgmt', action: 'reconfigure clusters' },
      ],
    },
  },
]

/** Work that runs after its request is answered: listing, following and cancelling it. */
export const tasksPlugin = definePlugin({
  id: 'tasks',
  summary: 'Work that continues after its request was answered, and its progress',
  listener: 'api',
  gate: 'always',
  groups: [taskGroup, retireTasks],
  objectTypes: taskObjectTypes,
})
