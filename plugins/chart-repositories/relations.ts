import type { ObjectTypeDefinition, RelationTerm } from '../../core/kernel/access.ts'

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
