import type { AccountId, ClusterId } from '../kernel/ids.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'

/** Returns the audit row of an action on the spokes of a hub. The object of the row is the record of the hub. */
export const auditOf = defineAudit(
  'cluster',
  ['cluster.spoke_accepted', 'cluster.spoke_requests_approved', 'cluster.spoke_command_issued', 'cluster.accounts_synced'],
  ({ id, ownerId, name }: { readonly id: ClusterId; readonly ownerId: AccountId; readonly name: string }) => ({ objectId: id, objectName: name, tenantId: ownerId }),
)
