import type { ContractId } from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { InvoiceId, InvoiceKind, InvoiceState, InvoiceTerms } from '../../../core/rating/invoices/ports.ts'
import type { Customer, IssuerId, Party, Price, PriceBookId, RatedLine } from '../../../core/rating/types.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import {
  exact,
  id,
  instant,
  int,
  json,
  long,
  longText,
  nullable,
  rowId,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const ratingIssuers = table('rating_issuers', {
  id: rowId<IssuerId>(),
  name: text(63),
  party: json<Party>(),
  numberPrefix: text(20),
  notes: longText(),
  nextNumber: withDefault(long()),
  updatedAt: instant(),
})

export const ratingPriceBooks = table('rating_price_books', {
  id: rowId<PriceBookId>(),
  name: text(255),
  currency: text(3),
  issuerId: id<IssuerId>(),
  invoicedTo: nullable(int<MonthKey>()),
  createdAt: instant(),
})

export const ratingPriceVersions = table('rating_price_versions', {
  bookId: id<PriceBookId>(),
  number: int(),
  fromMonth: int<MonthKey>(),
  prices: json<readonly Price[]>(),
  createdAt: instant(),
})

export const ratingContractPrices = table('rating_contract_prices', {
  contractId: id<ContractId>(),
  fromMonth: int<MonthKey>(),
  bookId: id<PriceBookId>(),
  discountPercent: text(12),
  commitment: nullable(text(24)),
  createdAt: instant(),
})

export const ratingCustomers = table('rating_customers', {
  ownerId: id<AccountId>(),
  details: json<Omit<Customer, 'ownerId' | 'spendLimit'>>(),
  limitCurrency: nullable(text(3)),
  limitAmount: nullable(exact()),
  updatedAt: instant(),
})

export const ratingSpendAlerts = table('rating_spend_alerts', {
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  threshold: int(),
  sentAt: instant(),
})

export const ratingInvoices = table('rating_invoices', {
  id: rowId<InvoiceId>(),
  ownerId: id<AccountId>(),
  issuerId: id<IssuerId>(),
  kind: text<InvoiceKind>(16),
  state: text<InvoiceState>(8),
  month: int<MonthKey>(),
  revision: int(),
  currency: text(3),
  sequence: nullable(long()),
  number: nullable(text(64)),
  correctsId: nullable(id<InvoiceId>()),
  net: exact(),
  tax: withDefault(exact()),
  terms: nullable(json<InvoiceTerms>()),
  createdAt: instant(),
  issuedAt: nullable(instant()),
  dueAt: nullable(instant()),
  sentAt: nullable(instant()),
  paidAt: nullable(instant()),
  paymentReference: withDefault(text(255)),
  voidedAt: nullable(instant()),
  voidReason: withDefault(text(1000)),
})

export const ratingInvoiceLines = table('rating_invoice_lines', {
  invoiceId: id<InvoiceId>(),
  line: int(),
  contractId: id<ContractId>(),
  bookId: id<PriceBookId>(),
  details: json<Omit<RatedLine, 'contractId' | 'bookId' | 'net'>>(),
  net: exact(),
})

export const ratingMonths = table('rating_months', {
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  revision: int(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    rating: typeof import('./rating.ts')
  }
}
