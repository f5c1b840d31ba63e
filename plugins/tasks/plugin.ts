import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'
import { definePlugin } from '../kit/plugin.ts'
import { retireTasks } from './retire-tasks.job.ts'
import { taskGroup } from './tasks.handlers.ts'

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
