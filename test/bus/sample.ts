import { sample as identity } from '../identity/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { plantBusToken } from '../support/plant-bus-token.ts'
import { defineSample } from '../support/part-sample.ts'

/** Credentials of the bus, of the owner and of the organization. */
export const sample = defineSample({
  part: 'bus',
  make: async (tenant) => {
    const { owner, viewer } = await tenant.of(identity)
    const { orgId } = await tenant.of(organizations)
    await plantBusToken(tenant.service, viewer.id)
    return {
      ownId: await plantBusToken(tenant.service, owner.id),
      organizationsId: await plantBusToken(tenant.service, orgId),
    }
  },
  names: ({ ownId, organizationsId }) => ({
    'bus credentials': { id: ownId },
    'bus credentials of an organization': { id: organizationsId },
  }),
  tables: (_, tenant) => ({
    bus_identities: { owner_id: accountIds(tenant) },
    bus_users: { owner_id: accountIds(tenant) },
  }),
})
