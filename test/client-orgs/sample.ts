import { ClientOrgUnitOfWorkPort } from '../../core/client-orgs/ports.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { operatorCall } from '../../composition/part/operator.ts'
import { right } from 'fp-ts/lib/Either.js'
import { clientOrgType } from '../../core/organizations/types.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { unwrap } from '../support/outcome.ts'
import { defineSample, refusedFor, type Tenant } from '../support/part-sample.ts'

const clusterOf = (tenant: Tenant): Record<string, unknown> => ({
  hubClusterOwnerName: tenant.key('organization'),
  hubClusterName: tenant.key('cluster'),
  hubClusterUID: tenant.key('cluster', 'uid'),
  spokeClusterName: tenant.key('cluster'),
})

const clientOf = (tenant: Tenant, changes: object = {}): Record<string, unknown> => ({
  clientOrg: { orgName: 'unlikely', orgType: 'client' },
  hubClusterOwnerName: tenant.key('organization'),
  hubClusterUID: tenant.key('cluster', 'uid'),
  userPermission: { id: tenant.id('user'), permissions: [] },
  ...changes,
})

const shared = 'rows of all client organizations, for site admins alone'

/** A client organization without clusters: the clusters of the tenants are no hubs. */
export const sample = defineSample({
  part: 'client-orgs',
  make: async (tenant) => {
    await tenant.of(organizations)
    const name = `${tenant.prefix.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}customer`
    const unitOfWork = tenant.service.running.container.resolve(ClientOrgUnitOfWorkPort)
    const orgId = unwrap(
      await unitOfWork.run(operatorCall('test.sample'), async ({ clientOrgs, founder, users }) => {
        const owner = await users.byLogin(Object.values(tenant.people)[0] ?? '')
        const adminId = owner?.id as UserId
        const now = new Date()
        const founded = unwrap(
          await founder.found({ name, profile: {}, orgType: clientOrgType, ownerId: adminId }, now),
        )
        const { id } = founded
        await clientOrgs.insert({
          orgId: id,
          name,
          vendorId: id,
          adminId,
          isShared: false,
          settling: '',
          createdAt: now,
        })
        return right(id)
      }),
    ) as OrgId
    return { orgId, name }
  },
  names: ({ orgId, name }) => ({ 'client organization': { id: orgId, name } }),
  bodies: {
    'client-orgs.createClientOrg': (mine, theirs) => ({
      own: clientOf(mine),
      hubClusterUID: clientOf(mine, { hubClusterUID: theirs.key('cluster', 'uid') }),
      hubClusterOwnerName: clientOf(mine, { hubClusterOwnerName: theirs.key('organization') }),
      userPermission: clientOf(mine, { userPermission: { id: theirs.id('user') } }),
    }),
    'client-orgs.addCluster': (mine, theirs) => ({
      own: clusterOf(mine),
      theirs: clusterOf(theirs),
    }),
    'client-orgs.removeCluster': (mine, theirs) => ({
      own: clusterOf(mine),
      theirs: clusterOf(theirs),
    }),
  },
  refusedToOwner: refusedFor('client organizations are for site admins', [
    'client-orgs.addCluster',
    'client-orgs.createClientOrg',
    'client-orgs.deleteClientOrg',
    'client-orgs.getClientOrg',
    'client-orgs.getClientStatus',
    'client-orgs.getClusterStatus',
    'client-orgs.listClientOrgs',
    'client-orgs.removeCluster',
  ]),
  sharedTables: { client_orgs: shared, client_org_clusters: shared, client_org_accounts: shared },
})
