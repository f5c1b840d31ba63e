import { definePlugin } from '../kit/plugin.ts'
import { knownRepositoryGroup, namedRepositoryGroup } from './chart-repositories.handlers.ts'
import { chartRepositoryPermissions, chartRepositoryObjectTypes } from './relations.ts'

export const chartRepositoriesPlugin = definePlugin({
  id: 'chart-repositories',
  summary: 'Named chart repositories of organizations and users, and their charts',
  listener: 'api',
  gate: 'always',
  permissions: chartRepositoryPermissions,
  objectTypes: chartRepositoryObjectTypes,
  groups: [namedRepositoryGroup, knownRepositoryGroup],
})
