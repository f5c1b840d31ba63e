import { defineSample, isOfMarketplace } from '../support/part-sample.ts'

const shared = 'what a marketplace deployment reports to its provider, for site admins alone'

export const sample = defineSample({
  part: 'metering',
  isServed: isOfMarketplace,
  make: async () => ({}),
  names: () => ({}),
  sharedTables: {
    metering_usage: shared,
    metering_calls: shared,
    metering_scopes: shared,
    metering_hours: shared,
  },
})
