import type { ObjectTypeDefinition, PermissionDefinition } from '../../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../../kit/plugin.ts'
import {
  boundNamespaceGroup,
  clusterSetChangeGroup,
  clusterSetGroup,
  usersOfSetGroup,
} from './cluster-sets.handlers.ts'

const namespace = 'cluster_mgmt'
const held = heldBy(namespace)
const withView = [{ namespace, action: 'view hubs', required: true }]

/** Permissions on the cluster sets of hubs. */
const clusterSetPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'manage cluster sets',
    level: 'admin',
    description: 'Create and delete the cluster sets of hubs, and move spokes between them.',
    associated: withView,
  },
  {
    namespace,
    action: 'bind namespaces',
    level: 'admin',
    description: 'Decide which namespaces of a hub may place workloads on the spokes of a cluster set.',
    associated: withView,
  },
]

/** A cluster set is not in the database: authorization finds its hub, and the hub knows whether the set exists. */
const clusterSetObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'hub',
    listed: false,
    scope: 'cluster',
    reading: [],
    relations: {
      can_manage_cluster_sets: held('manage cluster sets', 'admin'),
      can_bind_namespaces: held('bind namespaces', 'admin'),
    },
  },
  {
    type: 'clusterset',
    place: { in: { type: 'hub' }, key: 'name', rows: 'container' },
    listed: false,
    scope: 'cluster',
    reading: ['can_view'],
    relations: { can_view: [{ by: 'container', relation: 'can_view' }] },
  },
]

export const clusterSetsPlugin = definePlugin({
  id: 'clustersets',
  summary: 'Cluster sets of hubs, their clusters, and the namespaces they are bound to',
  listener: 'api',
  gate: 'always',
  permissions: clusterSetPermissions,
  objectTypes: clusterSetObjectTypes,
  groups: [boundNamespaceGroup, clusterSetGroup, clusterSetChangeGroup, usersOfSetGroup],
})
