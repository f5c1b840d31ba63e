import type { AccountId } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { MonthKey, UsageMonth, UsageMonthId, UsageMonthStatus } from '../types.ts'

/** A column of a table. Numbers are aligned to the right. */
export interface ReportColumn {
  /** One line, or two that a line break divides. */
  readonly title: string
  /** The share of the width of the table, relative to the other columns. */
  readonly width: number
  readonly isNumber: boolean
  /** Set smaller: texts of equal length that are compared, not read, such as UIDs. */
  readonly isId?: boolean
}

/** A short table whose rows are known. */
export interface ReportSummary {
  readonly columns: readonly ReportColumn[]
  readonly rows: readonly (readonly string[])[]
  /** The positions of rows that are sums of others. */
  readonly subtotals: readonly number[]
  /** The last row, set off from the others; undefined if there is none. */
  readonly totals: readonly string[] | undefined
  /** Shown below. */
  readonly footnote: string
}

export interface ReportTable {
  readonly title: string
  readonly columns: readonly ReportColumn[]
  /** In the order of the columns, as they are shown. May be read once. */
  readonly rows: AsyncIterable<readonly (readonly string[])[]>
  /** The last row, set off from the others; undefined if there is none. */
  readonly totals: readonly string[] | undefined
  /** Shown instead of a table without rows. */
  readonly note: string
  /** Shown below a table that has rows. */
  readonly footnote?: string
  /** Rows with this text in this column are sums of the rows directly above, and are set in bold. */
  readonly sums?: { readonly column: number; readonly text: string }
}

/** A bar for each day of the month. */
export interface ReportChart {
  readonly title: string
  readonly unit: string
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
}

export interface ReportSection {
  readonly title: string
  /** What the cover shows of it. */
  readonly summary: ReportSummary
  /** Name and value, as they are shown. */
  readonly figures: readonly (readonly [string, string])[]
  readonly charts: readonly ReportChart[]
  readonly tables: readonly ReportTable[]
}

/** The look of a report. */
export interface ReportBranding {
  /** A picture in PNG, JPEG or WebP. A picture that cannot be read is left out. */
  readonly logo: Uint8Array | undefined
  /** The colour of headings as `#rrggbb`. */
  readonly color: string
}

/** The first page of a document that is no report of usage. */
export interface ReportCover {
  readonly title: string
  /** Name and value, as they are shown. */
  readonly figures: readonly (readonly [string, string])[]
  /** Shown before those of the sections. */
  readonly summaries: readonly { readonly title: string; readonly summary: ReportSummary }[]
  readonly footnote: string
  /** Paragraphs at the end of the cover. */
  readonly notes: readonly string[]
}

/** What the report of a month shows. */
export interface ReportContent {
  readonly ownerName: string
  /** That of a report of usage if it is absent. */
  readonly cover?: ReportCover
  readonly branding: ReportBranding
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

/** What a report shows that is not usage. */
export interface ReportFrame {
  /** Returns the name of an account; undefined if it does not exist any more. */
  nameOf(ownerId: AccountId): Promise<string | undefined>
  branding(): Promise<ReportBranding>
}

/** The report of a revision. */
export interface StoredReport {
  readonly month: UsageMonth
  /** Bytes of all pieces. */
  readonly size: number
}

/** The reports of all revisions. A report is written once and never changes. */
export interface UsageReportStore {
  /** Adds a piece of a report. Pieces are numbered from 0. */
  addPiece(monthId: UsageMonthId, piece: number, body: Uint8Array): Promise<void>
  /**
   * Returns the report of a revision of a month of an owner, the newest if no revision is named; undefined if there is
   * none.
   */
  find(ownerId: AccountId, month: MonthKey, revision?: number): Promise<StoredReport | undefined>
  pieces(report: StoredReport): AsyncIterable<Uint8Array>
}
export const UsageReportStorePort = portKey<UsageReportStore>('usage.UsageReportStore')
