import { defineSample } from '../support/part-sample.ts'

/** Nothing of its own: the clusters of the tenants are no hubs, whose rights decide on cluster sets. */
export const sample = defineSample({
  part: 'clustersets',
  make: async () => undefined,
  names: () => ({ clusterset: { name: 'global' }, managedcluster: { name: 'spoke' } }),
  sendsExample: (routeId) => routeId.startsWith('clustersets.'),
  refusedAs: (routeId) => (routeId.startsWith('clustersets.') ? 'NotAHub' : undefined),
})
