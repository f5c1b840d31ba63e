import { definePlugin } from '../kit/plugin.ts'
import { accountHubGroup } from './account-hubs.handlers.ts'
import { accountClusterGroup, clusterGroup, recordTaskGroup } from './clusters.handlers.ts'
import { proxyGroup } from './proxy.handlers.ts'
import { clusterPermissions, clusterObjectTypes } from './relations.ts'

export const clustersPlugin = definePlugin({
  id: 'clusters',
  summary: 'Imported clusters and access to their Kubernetes API',
  listener: 'api',
  gate: 'always',
  permissions: clusterPermissions,
  objectTypes: clusterObjectTypes,
  groups: [accountClusterGroup, accountHubGroup, clusterGroup, recordTaskGroup, proxyGroup],
})
