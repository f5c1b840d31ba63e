import { defineSample } from '../support/part-sample.ts'

/** No objects: usage is metered for the one customer of a marketplace deployment, to its provider. */
export const sample = defineSample({
  part: 'metering',
  make: async () => undefined,
  sharedTables: {
    metering_usage: 'usage that is reported to the provider, for site admins alone',
    metering_calls: 'the record of the calls to the provider, which no route shows',
    metering_hours: 'the hours that the service reports itself, which no route shows',
  },
})
