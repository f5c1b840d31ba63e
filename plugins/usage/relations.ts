import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { heldBy } from '../kit/relations.ts'

const namespace = 'usage_mgmt'
const held = heldBy(namespace)

/** Permissions on the usage of an organization that a custom role can carry. */
export const usagePermissions: readonly PermissionDefinition[] = [
  { namespace, action: 'view billing', level: 'owner', description: 'View the billing reports of the organization.' },
  { namespace, action: 'report usage', level: 'admin', description: 'Report the usage of clusters of the organization, as programs in clusters do.' },
]

/** Relations to the usage of an account as a whole. */
export const usageObjectTypes: readonly ObjectTypeDefinition[] = [
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
