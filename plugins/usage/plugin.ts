import { definePlugin } from '../kit/plugin.ts'
import { usageEventGroup } from './events.handlers.ts'
import { outageGroup } from './outages.handlers.ts'
import { usageObjectTypes, usagePermissions } from './relations.ts'
import { usageUpkeepGroup } from './upkeep.job.ts'

export const usagePlugin = definePlugin({
  id: 'usage',
  summary: 'The usage of products on clusters, reports on it and their documents',
  listener: 'api',
  gate: 'billing-enabled',
  permissions: usagePermissions,
  objectTypes: usageObjectTypes,
  groups: [usageEventGroup, usageUpkeepGroup, outageGroup],
})
