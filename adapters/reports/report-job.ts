import type { MessagePort } from 'node:worker_threads'
import type { ReportChart, ReportContent, ReportSummary, ReportTable } from '../../core/usage/reports/ports.ts'

/** A report without the rows of its tables, as it is sent to the thread. */
export interface ReportOutline extends Omit<ReportContent, 'sections'> {
  readonly sections: readonly {
    readonly title: string
    readonly summary: ReportSummary
    readonly figures: readonly (readonly [string, string])[]
    readonly charts: readonly ReportChart[]
    readonly tables: readonly Omit<ReportTable, 'rows'>[]
  }[]
}

export interface ReportJob {
  readonly outline: ReportOutline
  /** The thread asks, and waits for each answer before it asks again. */
  readonly port: MessagePort
}

/** `table`: its number among the tables of all sections, from 0. */
export type ThreadAsks =
  { readonly kind: 'rows'; readonly table: number } | { readonly kind: 'bytes'; readonly bytes: Uint8Array }

/** To `rows`: the next rows, or undefined after the last. To `bytes`: undefined once the bytes are taken. */
export type ThreadAnswer = readonly (readonly string[])[] | undefined
