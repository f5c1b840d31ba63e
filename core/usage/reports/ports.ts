import { token } from '../../kernel/token.ts'
import type { MonthKey, UsageMonthId, UsageMonthStatus } from '../types.ts'

/** A column of a table. Numbers are aligned to the right. */
export interface ReportColumn {
  readonly title: string
  /** The share of the width of the table, relative to the other columns. */
  readonly width: number
  readonly isNumber: boolean
}

export interface ReportTable {
  readonly title: string
  readonly columns: readonly ReportColumn[]
  /** In the order of the columns, as they are shown. May be read once. */
  readonly rows: AsyncIterable<readonly (readonly string[])[]>
  /** The last row, set off from the others; undefined if there is none. */
  readonly totals: readonly string[] | undefined
}

/** A bar for each day of the month. */
export interface ReportChart {
  readonly title: string
  readonly unit: string
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
}

export interface ReportSection {
  readonly title: string
  /** Name and value, as they are shown. */
  readonly figures: readonly (readonly [string, string])[]
  readonly charts: readonly ReportChart[]
  readonly tables: readonly ReportTable[]
}

/** What the report of a month shows. */
export interface ReportContent {
  readonly ownerName: string
  /** A picture in PNG or JPEG, and the colour of headings as `#rrggbb`. */
  readonly branding: { readonly logo: Uint8Array | undefined; readonly color: string }
  readonly month: MonthKey
  readonly revision: number
  readonly status: UsageMonthStatus
  readonly generatedAt: Date
  readonly sections: readonly ReportSection[]
}

/** Writes a report as PDF, away from the event loop. The same content gives the same bytes. */
export interface ReportRenderer {
  /** Returns the bytes in pieces of any size. Throws the reason of the signal if it is aborted. */
  render(content: ReportContent, signal: AbortSignal): AsyncIterable<Uint8Array>
  close(): Promise<void>
}
export const ReportRendererToken = token<ReportRenderer>('usage.ReportRenderer')

/** The reports of all revisions. */
export interface UsageReportStore {
  /** Adds a piece of a report. Pieces are numbered from 0. */
  addPiece(monthId: UsageMonthId, piece: number, body: Uint8Array): Promise<void>
  /** Returns the size of a report in bytes; undefined if the revision has none. */
  sizeOf(monthId: UsageMonthId): Promise<number | undefined>
  pieces(monthId: UsageMonthId): AsyncIterable<Uint8Array>
}
export const UsageReportStoreToken = token<UsageReportStore>('usage.UsageReportStore')
