import type { ObjectTypeDefinition, PermissionDefinition, RelationTerm } from '../../core/kernel/access.ts'

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

const held = (action: string, atLeast: 'read' | 'admin'): readonly RelationTerm[] => [
  { by: 'owner' },
  { by: 'level', atLeast },
  { by: 'permission', namespace: 'cluster_mgmt', action },
]

/** What an organization, or a person in the own account, may do about the repositories that it names. */
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
