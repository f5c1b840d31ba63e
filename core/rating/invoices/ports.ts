import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, Brand } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { MailOutbox } from '../../mail/ports.ts'
import type { MonthKey } from '../../usage/types.ts'
import type { PriceStores } from '../ports.ts'
import type { IssuerId, Party, RatedLine, TaxCategory } from '../types.ts'

export type InvoiceId = Brand<number, 'InvoiceId'>

/** The account has no invoice with this id. */
export const InvoiceMissing = defineFailure(
  'InvoiceMissing',
  'NotFound',
  'The invoice does not exist, or the caller may not see it.',
)
/** The state of the invoice does not allow the change. */
export const InvoiceStateRefused = defineFailure(
  'InvoiceStateRefused',
  'Conflict',
  'The state of the invoice does not allow the change.',
)
/** The month is not final, so it cannot be invoiced. */
export const MonthNotFinal = defineFailure('MonthNotFinal', 'Conflict', 'The month has no final report.')
/** A line of the request is not valid. */
export const InvoiceLineInvalid = defineFailure('InvoiceLineInvalid', 'Unprocessable', 'A line is not valid.')

export type InvoiceKind = 'invoice' | 'credit-note'
export const invoiceKinds: readonly [InvoiceKind, ...InvoiceKind[]] = ['invoice', 'credit-note']

/** `draft` has no number. From `issued` on, nothing changes but the state. */
export const invoiceStates = ['draft', 'issued', 'sent', 'paid', 'void'] as const
export type InvoiceState = (typeof invoiceStates)[number]

/** The parties and the tax, as they were when the invoice was issued. */
export interface InvoiceTerms {
  readonly seller: Party
  readonly buyer: Party
  readonly taxCategory: TaxCategory
  readonly taxPercent: string
  readonly taxReason: string
  readonly paymentDays: number
  readonly notes: string
}

/** An invoice without its lines. Amounts of a credit note are positive: they are credited. */
export interface Invoice {
  readonly id: InvoiceId
  readonly ownerId: AccountId
  /** The login of the account; empty if it is gone. */
  readonly ownerName: string
  readonly issuerId: IssuerId
  readonly kind: InvoiceKind
  readonly state: InvoiceState
  readonly month: MonthKey
  /** Of the usage of the month. */
  readonly revision: number
  readonly currency: string
  /** Unique for the issuer; undefined for a draft. */
  readonly number: string | undefined
  /** What a credit note corrects. */
  readonly corrects: { readonly id: InvoiceId; readonly number: string } | undefined
  readonly net: bigint
  readonly tax: bigint
  /** Undefined for a draft. */
  readonly terms: InvoiceTerms | undefined
  readonly createdAt: Date
  readonly issuedAt: Date | undefined
  readonly dueAt: Date | undefined
  readonly sentAt: Date | undefined
  readonly paidAt: Date | undefined
  readonly paymentReference: string
  readonly voidedAt: Date | undefined
  readonly voidReason: string
}

export interface InvoiceWithLines extends Invoice {
  readonly lines: readonly RatedLine[]
}

/** What a month of an account is invoiced as. */
export interface InvoiceGroup {
  readonly ownerId: AccountId
  readonly issuerId: IssuerId
  readonly month: MonthKey
  readonly currency: string
}

export interface NewDraft extends InvoiceGroup {
  readonly kind: InvoiceKind
  readonly revision: number
  readonly correctsId: InvoiceId | undefined
  readonly lines: readonly RatedLine[]
  /** The sum of the lines. */
  readonly net: bigint
}

/** What a list of invoices is narrowed to. */
export interface InvoiceFilter {
  readonly ownerId: AccountId
  readonly withDrafts: boolean
}

/** Invoices and credit notes. A statement with an id from a caller also has the owner's id. */
export interface InvoiceStore {
  /** Returns a page of the invoices of an account, the newest month first. */
  list(filter: InvoiceFilter, page: PageRequest): Promise<Page<Invoice>>
  find(ownerId: AccountId, id: InvoiceId): Promise<InvoiceWithLines | undefined>
  /** Returns an invoice and locks it until the transaction ends. */
  lock(ownerId: AccountId, id: InvoiceId): Promise<InvoiceWithLines | undefined>
  /** Returns what was invoiced of a month of an account, drafts included and void ones not. */
  listOfMonth(ownerId: AccountId, month: MonthKey): Promise<readonly InvoiceWithLines[]>
  /** Returns the credit notes of an invoice that are not void, drafts included. */
  listCorrecting(invoice: Pick<Invoice, 'ownerId' | 'month' | 'id'>): Promise<readonly InvoiceWithLines[]>
  /** Returns the invoices of a month that were issued and are not void, by id; of one account if it is named. */
  issuedIn(month: MonthKey, ownerId: AccountId | undefined): AsyncIterable<InvoiceWithLines>
  insert(draft: NewDraft, at: Date): Promise<InvoiceId>
  /** Replaces the lines, their sum and the revision of a locked draft. */
  setLines(id: InvoiceId, content: Pick<NewDraft, 'revision' | 'lines' | 'net'>): Promise<void>
  remove(id: InvoiceId): Promise<void>
  /** Gives a locked draft its number and its terms. */
  issue(
    invoice: Pick<Invoice, 'id' | 'tax'> & {
      readonly sequence: number
      readonly number: string
      readonly terms: InvoiceTerms
      readonly issuedAt: Date
      readonly dueAt: Date
    },
  ): Promise<void>
  markSent(id: InvoiceId, at: Date): Promise<void>
  markPaid(id: InvoiceId, at: Date, reference: string): Promise<void>
  markVoid(id: InvoiceId, at: Date, reason: string): Promise<void>
  /** Returns the revisions that were drafted last, of all accounts, of months from `first` on. */
  draftedSince(
    first: MonthKey,
  ): Promise<readonly { readonly ownerId: AccountId; readonly month: MonthKey; readonly revision: number }[]>
  setDraftedRevision(ownerId: AccountId, month: MonthKey, revision: number): Promise<void>
}
export const InvoiceStorePort = portKey<InvoiceStore>('rating.InvoiceStore')

export interface InvoiceStores extends PriceStores {
  readonly invoices: InvoiceStore
  readonly mail: MailOutbox
}
export type InvoiceUnitOfWork = UnitOfWork<InvoiceStores>
export const InvoiceUnitOfWorkPort = portKey<InvoiceUnitOfWork>('rating.InvoiceUnitOfWork')
