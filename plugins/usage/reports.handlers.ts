import { monthKey, monthText } from '../../core/usage/month.ts'
import { makeFindReport } from '../../core/usage/reports/find-report.ts'
import { UsageReportStoreToken } from '../../core/usage/reports/ports.ts'
import { attachment } from '../kit/attachment.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { downloadReport } from './reports.routes.ts'

/** The reports of months as documents. */
export const reportGroup = defineGroup({
  needs: { reports: UsageReportStoreToken },
  routes: (given) => [
    handle(downloadReport, makeFindReport(given), {
      input: ({ grant, params, query }) => ({ ownerId: grant.ownerId, month: monthKey(params.year, params.month), revision: query.revision }),
      reply: (report) => ({
        lastModified: report.month.generatedAt,
        representations: [
          {
            contentType: 'application/pdf',
            tag: `${report.month.revision}-${report.month.status}-${report.month.inputHash.slice(0, 22)}-pdf`,
            headers: { 'Content-Disposition': attachment(`usage-${monthText(report.month.month)}.pdf`), 'Content-Length': String(report.size) },
            pieces: () => given.reports.pieces(report),
          },
        ],
      }),
    }),
  ],
})
