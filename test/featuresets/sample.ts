import { defineSample } from '../support/part-sample.ts'

/** Nothing of its own: the clusters of the tenants are no hubs. */
export const sample = defineSample({
  part: 'featuresets',
  make: async () => undefined,
  names: () => ({ feature: { name: 'backup' } }),
  sendsExample: (routeId) => routeId.startsWith('featuresets.'),
  refusedAs: (routeId) => (routeId.startsWith('featuresets.') ? 'NotAHub' : undefined),
})
