import { definePlugin } from '../kit/plugin.ts'
import { boundNamespaceGroup } from './bound-namespaces.handlers.ts'
import { clusterSetChangeGroup, clusterSetGroup, usersOfSetGroup } from './cluster-sets.handlers.ts'
import { clusterSetObjectTypes, clusterSetPermissions } from './relations.ts'

export const clusterSetsPlugin = definePlugin({
  id: 'clustersets',
  summary: 'Cluster sets of hubs, their clusters, and the namespaces they are bound to',
  listener: 'api',
  gate: 'always',
  permissions: clusterSetPermissions,
  objectTypes: clusterSetObjectTypes,
  groups: [boundNamespaceGroup, clusterSetGroup, clusterSetChangeGroup, usersOfSetGroup],
})
