import { definePlugin } from '../kit/plugin.ts'
import { invoiceGroup, invoicingGroup } from './invoices.handlers.ts'
import { customerGroup, priceGroup } from './prices.handlers.ts'
import { ratingJobs } from './rating.job.ts'
import { sinkGroup } from './sinks.handlers.ts'

export const ratingPlugin = definePlugin({
  id: 'rating',
  summary: 'Price books, and invoices for what contracts have used',
  listener: 'api',
  gate: 'vendor-billing',
  groups: [priceGroup, customerGroup, invoiceGroup, invoicingGroup, sinkGroup, ratingJobs],
})
