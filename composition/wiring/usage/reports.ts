import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { makeSqlOwnerNames } from '../../../adapters/sql/usage/owner-names.ts'
import { makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import { plainBranding } from '../../../core/platform/branding.ts'
import { BrandingStoreToken } from '../../../core/platform/ports.ts'
import { MonthReportToken } from '../../../core/usage/months/ports.ts'
import { ReportFrameToken, ReportRendererToken, UsageReportStoreToken } from '../../../core/usage/reports/ports.ts'
import { makeWriteReport } from '../../../core/usage/reports/write-report.ts'
import { UsageViewStoreToken } from '../../../core/usage/views/ports.ts'
import type { Provide } from '../../boot.ts'

/** Returns the bytes of a picture in a `data:` URL; undefined if the text is empty. */
const pictureIn = (dataUrl: string): Uint8Array | undefined => (dataUrl === '' ? undefined : new Uint8Array(Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64')))

/** Provides the reports of usage. */
export const provideUsageReports: Provide = (container, boot) => {
  const { database } = boot
  const reports = makeSqlUsageReportStore(database)
  const nameOf = makeSqlOwnerNames(database)
  const renderer = makePdfRenderer()
  boot.onStop('the writer of reports', () => renderer.close())
  container.provide(UsageReportStoreToken, () => reports(database))
  container.provideValue(ReportRendererToken, renderer)
  container.provide(ReportFrameToken, (resolve) => ({
    nameOf,
    async branding() {
      const { logo, primaryColor } = (await resolve(BrandingStoreToken).read()) ?? plainBranding
      return { logo: pictureIn(logo), color: primaryColor }
    },
  }))
  container.provide(MonthReportToken, (resolve) => ({
    write: makeWriteReport({ views: resolve(UsageViewStoreToken), frame: resolve(ReportFrameToken), renderer: resolve(ReportRendererToken), reports: resolve(UsageReportStoreToken) }),
  }))
}
