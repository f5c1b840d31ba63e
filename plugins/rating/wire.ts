import type { Invoice, InvoiceWithLines } from '../../core/rating/invoices/ports.ts'
import { currencyDigits, roundingRule } from '../../core/rating/documents/amounts.ts'
import type { Party, RatedLine } from '../../core/rating/types.ts'

export const partyToWire = ({ legalName, street, city, postcode, country, taxId, email }: Party) => ({
  legalName,
  street,
  city,
  postcode,
  country,
  taxID: taxId,
  email,
})

export const lineToWire = ({ contractId, priceId, versionNumber, bookId: _, ...line }: RatedLine) => ({
  ...line,
  contractID: contractId,
  priceID: priceId,
  priceVersion: versionNumber,
})

export const summaryToWire = (invoice: Invoice) => ({
  id: invoice.id,
  kind: invoice.kind,
  state: invoice.state,
  number: invoice.number,
  account: invoice.ownerName,
  month: invoice.month,
  revision: invoice.revision,
  currency: invoice.currency,
  currencyDigits: currencyDigits(invoice),
  net: invoice.net,
  tax: invoice.tax,
  gross: invoice.net + invoice.tax,
  correctsInvoiceID: invoice.corrects?.id,
  correctsNumber: invoice.corrects?.number,
  createdAt: invoice.createdAt,
  issuedAt: invoice.issuedAt,
  dueAt: invoice.dueAt,
  sentAt: invoice.sentAt,
  paidAt: invoice.paidAt,
  paymentReference: invoice.paymentReference,
  voidedAt: invoice.voidedAt,
  voidReason: invoice.voidReason,
})

export const invoiceToWire = (invoice: InvoiceWithLines) => ({
  ...summaryToWire(invoice),
  seller: invoice.terms === undefined ? undefined : partyToWire(invoice.terms.seller),
  buyer: invoice.terms === undefined ? undefined : partyToWire(invoice.terms.buyer),
  taxCategory: invoice.terms?.taxCategory,
  taxPercent: invoice.terms?.taxPercent,
  taxReason: invoice.terms?.taxReason,
  rounding: roundingRule,
  lines: invoice.lines.map(lineToWire),
})
