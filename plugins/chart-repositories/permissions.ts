import type { PermissionDefinition } from '../../core/kernel/access.ts'

/** What a custom role may carry about chart repositories. Seeing them goes with seeing clusters. */
export const chartRepositoryPermissions: readonly PermissionDefinition[] = [
  {
    namespace: 'cluster_mgmt',
    action: 'manage chart repositories',
    level: 'admin',
    description: 'Name the chart repositories of the organization and store credentials for them.',
    associated: [{ namespace: 'cluster_mgmt', action: 'view clusters', required: true }],
  },
]
