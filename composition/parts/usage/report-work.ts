import { makeSqlBrandingStore } from '../../../adapters/sql/kernel/site-store.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlOwnerNames, makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { plainBranding } from '../../../core/platform/branding.ts'
import type { MonthReport } from '../../../core/usage/months/ports.ts'
import type { ReportRenderer } from '../../../core/usage/reports/ports.ts'
import { makeWriteReport } from '../../../core/usage/reports/month-report.ts'

/** Returns the bytes of a picture in a `data:` URL; undefined if the text is empty. */
const pictureIn = (dataUrl: string): Uint8Array | undefined =>
  dataUrl === '' ? undefined : new Uint8Array(Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64'))

/** Composes the writing of reports on a database. */
export const makeReportWork = (db: SqlDatabase, renderer: ReportRenderer): MonthReport => {
  const branding = makeSqlBrandingStore(db)(db)
  const frame = {
    nameOf: makeSqlOwnerNames(db),
    async branding() {
      const { logo, primaryColor } = (await branding.read()) ?? plainBranding
      return { logo: pictureIn(logo), color: primaryColor }
    },
  }
  return {
    write: makeWriteReport({
      views: makeSqlUsageViewStore(db)(db),
      frame,
      renderer,
      reports: makeSqlUsageReportStore(db)(db),
    }),
  }
}
