import type { ObjectTypeDefinition, PermissionDefinition } from '../../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../../kit/plugin.ts'
import { knownRepositoryGroup, namedRepositoryGroup } from './chart-repositories.handlers.ts'

/** Permissions on chart repositories that a custom role can carry. Viewing them comes with viewing clusters. */
const chartRepositoryPermissions: readonly PermissionDefinition[] = [
  {
    namespace: 'cluster_mgmt',
    action: 'manage chart repositories',
    level: 'admin',
    description: 'Manage the chart repositories of the organization and their credentials.',
    associated: [{ namespace: 'cluster_mgmt', action: 'view clusters', required: true }],
  },
]

const held = heldBy('cluster_mgmt')

/** Relations of an organization, or of a user in the own account, to the chart repositories of the account. */
const chartRepositoryObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'organization',
    listed: true,
    scope: 'cluster',
    reading: ['can_list_chart_repositories'],
    relations: {
      can_list_chart_repositories: held('view clusters', 'read'),
      can_manage_chart_repositories: held('manage chart repositories', 'admin'),
    },
  },
]

export const chartRepositoriesPlugin = definePlugin({
  id: 'chart-repositories',
  summary: 'Named chart repositories of organizations and users, and their charts',
  listener: 'api',
  gate: 'always',
  permissions: chartRepositoryPermissions,
  objectTypes: chartRepositoryObjectTypes,
  groups: [namedRepositoryGroup, knownRepositoryGroup],
})
