import type { UsageMonth } from '../types.ts'
import type { ReportSources } from './build-report.ts'
import { buildReport } from './build-report.ts'
import type { ReportRenderer, UsageReportStore } from './ports.ts'

/** Returns the function that writes the report of a revision whose views are complete. The revision must have no report. */
export const makeWriteReport =
  (deps: ReportSources & { readonly renderer: ReportRenderer; readonly reports: UsageReportStore }) =>
  async (month: UsageMonth, signal: AbortSignal): Promise<void> => {
    const content = await buildReport(deps, month)
    let piece = 0
    for await (const bytes of deps.renderer.render(content, signal)) {
      await deps.reports.addPiece(month.id, piece, bytes)
      piece += 1
    }
  }
