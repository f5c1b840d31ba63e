import { portKey } from '../../kernel/port-key.ts'
import type { ReportBranding, ReportRenderer } from '../../usage/reports/ports.ts'

/** Writes the documents of invoices. */
export interface InvoiceDocuments extends Pick<ReportRenderer, 'render'> {
  branding(): Promise<ReportBranding>
}
export const InvoiceDocumentsPort = portKey<InvoiceDocuments>('rating.InvoiceDocuments')
