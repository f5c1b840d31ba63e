import { UsageReportMissing } from '../../core/usage/reports/find-report.ts'
import { streamedFile } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { MonthPath, ReportQuery } from './view-codecs.ts'
import { summaryAccess } from './views.routes.ts'

const route = routesOf({ tag: 'Billing Dashboard', scopeCategory: 'billing', access: summaryAccess, failures: [UsageReportMissing] })

export const downloadReport = route({
  id: 'usage.downloadReport',
  method: 'GET',
  path: '/dashboard/summary/{year}/{month}/download',
  summary: 'Download the usage report of a month',
  description: 'As it was written when the month was generated, with the figures of the views of the same revision.',
  params: MonthPath,
  query: ReportQuery,
  badPathAs: 400,
  ok: streamedFile(['application/pdf'], 'The report as PDF'),
})
