import { definePlugin } from '../kit/plugin.ts'
import { usageEventGroup } from './events.handlers.ts'
import { usageMonthsGroup } from './months.job.ts'
import { namespaceReportGroup } from './namespaces.handlers.ts'
import { outageGroup } from './outages.handlers.ts'
import { usageObjectTypes, usagePermissions } from './relations.ts'
import { reportGroup } from './reports.handlers.ts'
import { usageUpkeepGroup } from './upkeep.job.ts'
import { viewGroup } from './views.handlers.ts'

export const usagePlugin = definePlugin({
  id: 'usage',
  summary: 'The usage of products on clusters, reports on it and their documents',
  listener: 'api',
  gate: 'billing-enabled',
  permissions: usagePermissions,
  objectTypes: usageObjectTypes,
  groups: [usageEventGroup, usageUpkeepGroup, outageGroup, usageMonthsGroup, viewGroup, namespaceReportGroup, reportGroup],
})
