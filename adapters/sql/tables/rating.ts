import type { ContractId } from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { InvoiceId, InvoiceKind, InvoiceState, InvoiceTerms } from '../../../core/rating/invoices/ports.ts'
import type { SinkEventId, SinkEventState, SinkId, SinkKind } from '../../../core/rating/sinks/ports.ts'
import type { Customer, IssuerId, Measure, Party, Price, PriceBookId, RatedLine } from '../../../core/rating/types.ts'
import type { MonthKey, UsageProduct } from '../../../core/usage/types.ts'
import {
  exact,
  flag,
  id,
  instant,
  int,
  json,
  long,
  longText,
  nullable,
  rowId,
  sealed,
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

export const ratingSinks = table('rating_sinks', {
  id: rowId<SinkId>(),
  name: text(63),
  kind: text<SinkKind>(16),
  address: longText(),
  fromMonth: int<MonthKey>(),
  isEnabled: flag(),
  ref: text(36),
  sealedKey: sealed(),
  nextAttemptAt: instant(),
  failures: withDefault(int()),
  lastError: withDefault(text(500)),
})

export const ratingSinkCustomers = table('rating_sink_customers', {
  sinkId: id<SinkId>(),
  ownerId: id<AccountId>(),
  externalId: text(255),
})

export const ratingSinkMonths = table('rating_sink_months', {
  sinkId: id<SinkId>(),
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  revision: int(),
})

export const ratingSinkEvents = table('rating_sink_events', {
  id: rowId<SinkEventId>(),
  ref: text(100),
  sinkId: id<SinkId>(),
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  revision: int(),
  contractId: id<ContractId>(),
  product: text<UsageProduct>(32),
  measure: text<Measure>(16),
  pricedUse: text<'prod' | 'non-prod'>(16),
  thousandths: exact(),
  datedAt: instant(),
  state: text<SinkEventState>(16),
  reason: withDefault(text(500)),
  createdAt: instant(),
  attemptedAt: nullable(instant()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    rating: typeof import('./rating.ts')
  }
}
