import type { PermissionDefinition } from '../../core/kernel/access.ts'

const namespace = 'cluster_mgmt'
const withView = [{ namespace, action: 'view clusters', required: true }]

/** What a custom role may carry about clusters. */
export const clusterPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'view clusters',
    level: 'read',
    description: 'See the clusters of the organization and their status.',
  },
  {
    namespace,
    action: 'connect to clusters',
    level: 'write',
    description: 'Reach the Kubernetes API of the clusters of the organization.',
    associated: withView,
  },
  {
    namespace,
    action: 'view accessconfig',
    level: 'write',
    description: 'Download a client configuration for a cluster. It carries no stored credential.',
    associated: [...withView, { namespace, action: 'connect to clusters', required: false }],
  },
  {
    namespace,
    action: 'import clusters',
    level: 'admin',
    description: 'Import clusters into the organization.',
    associated: withView,
  },
  {
    namespace,
    action: 'reconfigure clusters',
    level: 'admin',
    description: 'Change the name, components and stored credential of a cluster.',
    associated: withView,
  },
  {
    namespace,
    action: 'remove clusters',
    level: 'admin',
    description: 'Remove clusters from the organization.',
    associated: withView,
  },
]
