import { sample as organizations } from '../organizations/sample.ts'
import { defineSample, refusedFor } from '../support/part-sample.ts'

/** The log of the organization. */
export const sample = defineSample({
  part: 'audit',
  make: async (tenant) => void (await tenant.of(organizations)),
  tables: (_, tenant) => {
    const rows = { tenant_id: [tenant.of(organizations).orgId] }
    return { audit_events: rows, audit_heads: rows }
  },
  harmless: {
    'audit.listOrganizationEvents [query actor]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /^\[\]$/,
    },
    'audit.listOwnEvents [query actor]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /^\[\]$/,
    },
    'audit.exportOrganizationEvents [query actor]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /^$/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', ['audit.listEvents', 'audit.exportEvents']),
  },
})
