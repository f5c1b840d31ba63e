import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'

/**
 * Tasks reveal what is done to clusters. A user who may connect to all clusters of an account sees its tasks; a user who may
 * change the clusters cancels the tasks of others.
 */
export const taskObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'organization',
    listed: true,
    scope: 'cluster',
    reading: ['can_view_tasks'],
    relations: {
      can_view_tasks: [{ by: 'owner' }, { by: 'level', atLeast: 'write' }, { by: 'permission', namespace: 'cluster_mgmt', action: 'connect to clusters' }],
      can_cancel_tasks: [{ by: 'owner' }, { by: 'level', atLeast: 'admin' }, { by: 'permission', namespace: 'cluster_mgmt', action: 'reconfigure clusters' }],
    },
  },
]
