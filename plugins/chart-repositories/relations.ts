import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { heldBy } from '../kit/relations.ts'

/** Permissions on chart repositories that a custom role can carry. Viewing them comes with viewing clusters. */
export const chartRepositoryPermissions: readonly PermissionDefinition[] = [
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
export const chartRepositoryObjectTypes: readonly ObjectTypeDefinition[] = [
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
