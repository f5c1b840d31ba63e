import { sample as clusters } from '../clusters/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { defineSample, type Tenant } from '../support/part-sample.ts'

const url = 'https://93.184.216.34/prom'
const registering = (mine: Tenant, changes: object = {}): object => ({
  metrics: { url },
  clusterUID: mine.key('cluster', 'uid'),
  ...changes,
})
const registers = (mine: Tenant, theirs: Tenant) => ({
  own: registering(mine),
  clusterUID: registering(theirs),
  hubUID: registering(mine, { hubUID: theirs.key('cluster', 'uid') }),
  clientOrgID: registering(mine, { clientOrgID: String(theirs.id('organization')) }),
  'clientOrgID and clusterUID': registering(theirs, { clientOrgID: String(mine.id('organization')) }),
})
const contexts = (mine: Tenant, theirs: Tenant) => ({
  own: { clusterUID: mine.key('cluster', 'uid') },
  clusterUID: { clusterUID: theirs.key('cluster', 'uid') },
  hubUID: { clusterUID: mine.key('cluster', 'uid'), hubUID: theirs.key('cluster', 'uid') },
  clientOrgID: { clusterUID: mine.key('cluster', 'uid'), clientOrgID: String(theirs.id('organization')) },
})

const noSystem = 'the services of these tests have no dashboard systems'

/** The cluster of the tenant: nothing is registered, since there is no dashboard system. */
export const sample = defineSample({
  part: 'metrics-proxy',
  make: async (tenant) => {
    const { orgId } = await tenant.of(organizations)
    const { kubernetes } = await tenant.of(clusters)
    return { identifier: `${orgId}.${kubernetes.uid}` }
  },
  names: ({ identifier }) => ({ 'metrics tenant': { identifier } }),
  bodies: {
    'metricsProxy.registerDashA': registers,
    'metricsProxy.unregisterDashA': contexts,
    'metricsProxy.registerDashB': registers,
    'metricsProxy.unregisterDashB': contexts,
  },
  tables: (_, tenant) => ({ metrics_registrations: { owner_id: accountIds(tenant) } }),
  refusedToOwner: {
    'metricsProxy.registerDashA []': noSystem,
    'metricsProxy.registerDashB []': noSystem,
  },
})
