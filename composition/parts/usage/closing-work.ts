import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { PackText } from '../../../adapters/sql/usage/packed-text.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { makeSpools } from '../../../adapters/system/spools.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { MonthReport, Spools } from '../../../core/usage/months/ports.ts'
import type { RunningDigest } from '../../../core/usage/months/month-work.ts'
import { makeMonthWork } from '../../../core/usage/months/month-work.ts'
import { makeSqlBrandingStore } from '../../../adapters/sql/kernel/site-store.ts'
import { makeSqlOwnerNames, makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import { plainBranding } from '../../../core/platform/branding.ts'
import type { BrandingStore } from '../../../core/platform/ports.ts'
import type { ReportFrame, ReportRenderer } from '../../../core/usage/reports/ports.ts'
import { makeWriteReport } from '../../../core/usage/reports/month-report.ts'

export const sha256 = (): RunningDigest => {
  const hash = createHash('sha256')
  return { add: (text) => void hash.update(text), end: () => hash.digest('hex') }
}

/** Beside the database, whose disk has room for a month. */
export const makeClosingSpools = (dataDir: string): Spools => makeSpools(join(dataDir, 'usage'))

export interface ClosingWorkOptions {
  /** On a thread that nothing else waits for. */
  readonly isAlone: boolean
  readonly pack: PackText
}

/** Composes the work of closing months on a database. */
export const makeClosingWork = (db: SqlDatabase, spools: Spools, { isAlone, pack }: ClosingWorkOptions) =>
  makeMonthWork({
    inputs: makeSqlUsageInputs(db, { isAlone }),
    spools,
    digest: sha256,
    views: makeSqlUsageViewStore(db, pack)(db),
  })

/** How work ended on another thread or in another process, where a thrown error cannot be passed on as it is. */
export type Ended<Result> =
  | { readonly result: Result }
  | { readonly unavailable: string }
  | { readonly message: string; readonly stack: string }

export const endOf = async <Result>(work: Promise<Result>): Promise<Ended<Result>> => {
  try {
    return { result: await work }
  } catch (thrown) {
    if (thrown instanceof Unavailable) return { unavailable: thrown.message }
    const { message, stack = '' } = thrown instanceof Error ? thrown : new Error(String(thrown))
    return { message, stack }
  }
}

/** Returns the result of work, or throws as it did. */
export const resultOf = <Result>(end: Ended<Result>): Result => {
  if ('unavailable' in end) throw new Unavailable(end.unavailable)
  if ('message' in end) throw Object.assign(new Error(end.message), { stack: end.stack })
  return end.result
}

/** Returns the bytes of a picture in a `data:` URL; undefined if the text is empty. */
const pictureIn = (dataUrl: string): Uint8Array | undefined =>
  dataUrl === '' ? undefined : new Uint8Array(Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64'))

/** Returns how the look of documents is read. */
export const brandingOf =
  (branding: Pick<BrandingStore, 'read'>): ReportFrame['branding'] =>
  async () => {
    const { logo, primaryColor } = (await branding.read()) ?? plainBranding
    return { logo: pictureIn(logo), color: primaryColor }
  }

/** Composes the writing of reports on a database. */
export const makeReportWork = (db: SqlDatabase, renderer: ReportRenderer): MonthReport => {
  const frame = { nameOf: makeSqlOwnerNames(db), branding: brandingOf(makeSqlBrandingStore(db)(db)) }
  return {
    write: makeWriteReport({
      views: makeSqlUsageViewStore(db)(db),
      frame,
      renderer,
      reports: makeSqlUsageReportStore(db)(db),
    }),
  }
}
