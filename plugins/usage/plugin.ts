import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../kit/plugin.ts'
import { usageEventGroup } from './events.handlers.ts'
import { usageMonthsGroup, usageUpkeepGroup } from './usage.job.ts'
import { overviewGroup } from './overview.handlers.ts'
import { outageGroup } from './outages.handlers.ts'
import { namespaceReportGroup, reportGroup, viewGroup } from './views.handlers.ts'

const namespace = 'usage_mgmt'
const held = heldBy(namespace)

/** Permissions on the usage of an organization that a custom role can carry. */
const usagePermissions: readonly PermissionDefinition[] = [
  { namespace, action: 'view billing', level: 'owner', description: 'View the billing reports of the organization.' },
  {
    namespace,
    action: 'report usage',
    level: 'admin',
    description: 'Report the usage of clusters of the organization, as programs in clusters do.',
  },
]

/** Relations to the usage of an account as a whole. */
const usageObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'organization',
    listed: true,
    scope: 'billing',
    reading: ['can_view_billing', 'can_view_usage_analytics'],
    relations: {
      can_view_billing: held('view billing', 'owner'),
      can_report_usage: held('report usage', 'admin'),
      // view_usage_analytics:site_admin of the specification: no term, so that site admins alone hold it.
      can_view_usage_analytics: [],
    },
  },
]

export const usagePlugin = definePlugin({
  id: 'usage',
  summary: 'The usage of products on clusters, reports on it and their documents',
  listener: 'api',
  gate: 'billing-enabled',
  permissions: usagePermissions,
  objectTypes: usageObjectTypes,
  groups: [
    usageEventGroup,
    usageUpkeepGroup,
    outageGroup,
    usageMonthsGroup,
    overviewGroup,
    viewGroup,
    namespaceReportGroup,
    reportGroup,
  ],
})
