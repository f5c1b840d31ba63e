import {
  InvoiceLineInvalid,
  InvoiceMissing,
  InvoiceStateRefused,
  MonthNotFinal,
} from '../../core/rating/invoices/ports.ts'
import { PreviewTooLarge } from '../../core/rating/invoices/running.ts'
import { CustomerMissing } from '../../core/rating/ports.ts'
import { query, requires, siteAdmin } from '../kit/access.ts'
import { empty, json, list, packed, streamedFile } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  CreditRequest,
  DraftRequest,
  FileQuery,
  InAccount,
  Invoice,
  InvoicePath,
  Invoices,
  InvoiceSummary,
  ManualLine,
  MonthPath,
  Payment,
  Preview,
  VoidRequest,
} from './codecs.ts'
import { invoiceExample, previewExample, summaryExample } from './examples.ts'

const common = { tag: 'Prices & Invoices', scopeCategory: 'billing', query: InAccount } as const
const inAccount = { type: 'account', name: query('org') } as const
/** The owners of an account, and site admins. */
const ownRoute = routesOf({ ...common, access: requires('can_view_billing', inAccount) })
/** Site admins alone hold the relation. */
const adminRoute = routesOf({ ...common, access: requires('can_view_usage_analytics', inAccount) })
const stepRoute = routesOf({
  ...common,
  access: requires('can_view_usage_analytics', inAccount),
  params: InvoicePath,
  failures: [InvoiceMissing, InvoiceStateRefused],
})

const csv = 'text/csv; charset=utf-8; header=present'
const invoiceBody = (description?: string) => packed(json(200, Invoice, invoiceExample, description))
const createdBody = packed(json(201, Invoice, invoiceExample, 'Created'))

export const listInvoices = ownRoute({
  id: 'rating.listInvoices',
  method: 'GET',
  path: '/rating/invoices',
  summary: 'List the invoices and credit notes of an account, the newest month first',
  description: 'Site admins see drafts too.',
  ok: packed(list(InvoiceSummary, summaryExample)),
})

export const getInvoice = ownRoute({
  id: 'rating.getInvoice',
  method: 'GET',
  path: '/rating/invoices/{invoiceID}',
  summary: 'Get an invoice or a credit note with its lines',
  description: 'Site admins see drafts too.',
  params: InvoicePath,
  ok: invoiceBody(),
  failures: [InvoiceMissing],
})

export const downloadInvoice = ownRoute({
  id: 'rating.downloadInvoice',
  method: 'GET',
  path: '/rating/invoices/{invoiceID}/file',
  summary: 'Download an invoice that was issued as PDF, UBL or CSV',
  description:
    '`xml` is UBL 2.1 with the content of EN 16931. All formats have the same amounts. In CSV, a text that begins with ' +
    '`=`, `+`, `-`, `@` or an apostrophe has an apostrophe in front.',
  params: InvoicePath,
  query: FileQuery,
  ok: streamedFile(['application/pdf', 'application/xml', csv]),
  failures: [InvoiceMissing],
})

export const previewMonth = ownRoute({
  id: 'rating.previewMonth',
  method: 'GET',
  path: '/rating/preview',
  summary: 'Get what the running month costs an account so far',
  description: 'Computed when it is read, once in five minutes, for accounts with at most 20,000 objects.',
  ok: packed(json(200, Preview, previewExample)),
  failures: [PreviewTooLarge],
})

export const exportFocus = ownRoute({
  id: 'rating.exportFocus',
  method: 'GET',
  path: '/rating/focus/{month}',
  summary: 'Export what an account was invoiced for a month, in FOCUS 1.2',
  description:
    'The FinOps cost and usage specification as CSV: a row for each line and tax of the invoices that were issued and ' +
    'are not void. Credit notes have negative costs. Columns that begin with `x_` are our own.',
  params: MonthPath,
  ok: streamedFile([csv]),
})

export const exportAllFocus = routesOf({ tag: common.tag, scopeCategory: 'billing', access: siteAdmin })({
  id: 'rating.exportAllFocus',
  method: 'GET',
  path: '/rating/focus/{month}/all',
  summary: 'Export what all accounts were invoiced for a month, in FOCUS 1.2',
  description: 'As the export of one account.',
  params: MonthPath,
  ok: streamedFile([csv]),
})

export const draftInvoices = adminRoute({
  id: 'rating.draftInvoices',
  method: 'POST',
  path: '/rating/invoices',
  summary: 'Make drafts of a final month of an account',
  description:
    'One draft for each issuer and currency. A job does so when a month becomes final. A draft that exists is made ' +
    'again, with the lines that were added by hand. If the month was invoiced, a draft has the differences to it: an ' +
    'invoice, or a credit note if they are negative. No draft is made without a difference.',
  body: body(DraftRequest, { month: '2026-11' }),
  ok: packed(json(200, Invoices, { invoices: [invoiceExample] })),
  failures: [CustomerMissing, InvoiceLineInvalid, MonthNotFinal],
  statusOf: { CustomerMissing: 422 },
})

export const addInvoiceLine = stepRoute({
  id: 'rating.addInvoiceLine',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/lines',
  summary: 'Add a line to a draft by hand',
  description: 'The line stays when the draft is made again.',
  body: body(ManualLine, { contractID: 42, description: 'Support', amount: 10000, reason: 'Ordered by mail' }),
  ok: createdBody,
  failures: [InvoiceLineInvalid],
})

export const deleteDraft = stepRoute({
  id: 'rating.deleteDraft',
  method: 'DELETE',
  path: '/rating/invoices/{invoiceID}',
  summary: 'Delete a draft',
  description: 'An invoice that was issued stays. It can be declared void, or credited.',
  ok: empty(204),
})

export const issueInvoice = stepRoute({
  id: 'rating.issueInvoice',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/issue',
  summary: 'Issue a draft: it gets its number and never changes',
  description: 'The number is the next one of the issuer. Numbers have no gaps. Parties and tax are those of now.',
  ok: invoiceBody('The issued invoice'),
  failures: [CustomerMissing, InvoiceLineInvalid, MonthNotFinal],
  statusOf: { CustomerMissing: 422 },
})

export const sendInvoice = stepRoute({
  id: 'rating.sendInvoice',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/send',
  summary: 'Mail the people of the account that an invoice is there',
  description: 'The mail goes to `emails` of the billing details. It can be sent again until the invoice is paid.',
  ok: invoiceBody('The sent invoice'),
  failures: [CustomerMissing],
  statusOf: { CustomerMissing: 422 },
})

export const payInvoice = stepRoute({
  id: 'rating.payInvoice',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/pay',
  summary: 'Record that an invoice was paid',
  description: 'No payment is made.',
  body: body(Payment, { reference: 'transfer of 2026-12-20' }),
  ok: invoiceBody('The paid invoice'),
})

export const voidInvoice = stepRoute({
  id: 'rating.voidInvoice',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/void',
  summary: 'Declare an invoice void',
  description: 'It keeps its number and its content. Its month is drafted again.',
  body: body(VoidRequest, { reason: 'Wrong buyer' }),
  ok: invoiceBody('The void invoice'),
})

export const creditInvoice = stepRoute({
  id: 'rating.creditInvoice',
  method: 'POST',
  path: '/rating/invoices/{invoiceID}/credit-notes',
  summary: 'Make the draft of a credit note for an invoice',
  description: 'For some of its lines, or for what is left of all of them. No line is credited beyond its amount.',
  body: body(CreditRequest, { reason: 'Outage of 2026-11-20', lines: [{ line: 1, amount: 1000 }] }),
  ok: createdBody,
  failures: [InvoiceLineInvalid],
})
