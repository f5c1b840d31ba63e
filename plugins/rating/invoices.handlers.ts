import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { CachesPort } from '../../core/kernel/cache.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { IssuedInvoice } from '../../core/rating/documents/files.ts'
import { csvFileOf, documentOf, isIssued, ublFileOf } from '../../core/rating/documents/files.ts'
import { focusOf } from '../../core/rating/documents/focus.ts'
import { currencyDigits } from '../../core/rating/documents/amounts.ts'
import type { InvoiceDocuments } from '../../core/rating/documents/ports.ts'
import { InvoiceDocumentsPort } from '../../core/rating/documents/ports.ts'
import { makeDraftMonth } from '../../core/rating/invoices/drafts.ts'
import {
  makeAddLine,
  makeCreditInvoice,
  makeDeleteDraft,
  makeGetInvoice,
  makeIssueInvoice,
  makeListInvoices,
  makePayInvoice,
  makeSendInvoice,
  makeVoidInvoice,
} from '../../core/rating/invoices/invoices.ts'
import { InvoiceMissing, InvoiceStorePort, InvoiceUnitOfWorkPort } from '../../core/rating/invoices/ports.ts'
import { makePreviewMonth } from '../../core/rating/invoices/running.ts'
import { monthText } from '../../core/rating/months.ts'
import { ContractPricingStorePort, PriceBookStorePort } from '../../core/rating/ports.ts'
import { MonthStorePort } from '../../core/usage/months/ports.ts'
import { BilledUsePort } from '../../core/usage/overview-ports.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { Representation, Streamed } from '../kit/reply.ts'
import { attachment } from '../kit/reply.ts'
import {
  addInvoiceLine,
  creditInvoice,
  deleteDraft,
  downloadInvoice,
  draftInvoices,
  exportAllFocus,
  exportFocus,
  getInvoice,
  issueInvoice,
  listInvoices,
  payInvoice,
  previewMonth,
  sendInvoice,
  voidInvoice,
} from './invoices.routes.ts'
import { invoiceToWire, lineToWire, summaryToWire } from './wire.ts'

async function* text(content: string): AsyncGenerator<string> {
  yield content
}

const csvType = 'text/csv; charset=utf-8; header=present'

/** Returns an invoice in a format. A document shows the state, so its tag names it. */
const fileOf = (
  invoice: IssuedInvoice,
  format: 'pdf' | 'xml' | 'csv',
  documents: InvoiceDocuments,
  signal: AbortSignal,
): Streamed => {
  const name = `${invoice.kind}-${invoice.number}.${format}`
  const headers = { 'Content-Disposition': attachment(name) }
  const tag = `${invoice.id}-${invoice.state}-${format}`
  const lastModified = invoice.voidedAt ?? invoice.paidAt ?? invoice.sentAt ?? invoice.issuedAt
  const as = (contentType: string, pieces: Representation['pieces']): Streamed => ({
    lastModified,
    representations: [{ contentType, tag, headers, pieces }],
  })
  if (format === 'xml') return as('application/xml', () => text(ublFileOf(invoice)))
  if (format === 'csv') return as(csvType, () => text(csvFileOf(invoice)))
  return as('application/pdf', async function* () {
    yield* documents.render(documentOf(invoice, await documents.branding()), signal)
  })
}

const focusFile = (now: Date, month: MonthKey, of: string, pieces: Representation['pieces']): Streamed => ({
  lastModified: now,
  representations: [
    {
      contentType: csvType,
      // It is read for each request.
      tag: `at-${now.getTime()}`,
      headers: { 'Content-Disposition': attachment(`focus-${of}-${monthText(month)}.csv`) },
      pieces,
    },
  ],
})

/** What the owners of an account see of its invoices. */
export const invoiceGroup = defineGroup({
  needs: {
    books: PriceBookStorePort,
    caches: CachesPort,
    clock: ClockPort,
    documents: InvoiceDocumentsPort,
    invoices: InvoiceStorePort,
    pricings: ContractPricingStorePort,
    use: BilledUsePort,
  },
  routes: (given) => {
    const get = makeGetInvoice(given)
    return [
      handle(listInvoices, makeListInvoices(given), {
        input: ({ call, grant, page }) => ({ ownerId: grant.ownerId, withDrafts: call.principal.isSiteAdmin, page }),
        reply: summaryToWire,
      }),
      handle(getInvoice, get, {
        input: ({ call, grant, params }) => ({
          ownerId: grant.ownerId,
          id: params.invoiceID,
          withDrafts: call.principal.isSiteAdmin,
        }),
        reply: invoiceToWire,
      }),
      handle(downloadInvoice, async (call, { grant, params, query }) => {
        const found = await get(call, { ownerId: grant.ownerId, id: params.invoiceID, withDrafts: false })
        if (isLeft(found)) return found
        if (!isIssued(found.right)) return left(InvoiceMissing(`The invoice ${params.invoiceID} was not issued.`))
        return right(fileOf(found.right, query.format ?? 'pdf', given.documents, call.signal))
      }),
      handle(previewMonth, makePreviewMonth(given), {
        input: ({ grant }) => ({ ownerId: grant.ownerId }),
        reply: ({ month, computedAt, groups, unpriced }) => ({
          month,
          computedAt,
          totals: groups.map(({ issuerName, currency, net, lines }) => ({
            issuer: issuerName,
            currency,
            currencyDigits: currencyDigits({ currency }),
            net,
            lines: lines.map(lineToWire),
          })),
          contractsWithoutPrices: unpriced,
        }),
      }),
      handle(exportFocus, async (_call, { grant, params: { month } }) =>
        right(
          focusFile(given.clock.now(), month, grant.objectName, () => focusOf(given.invoices, month, grant.ownerId)),
        ),
      ),
      handle(exportAllFocus, async (_call, { params: { month } }) =>
        right(focusFile(given.clock.now(), month, 'all', () => focusOf(given.invoices, month, undefined))),
      ),
    ]
  },
})

/** How the vendor makes, issues and corrects invoices. */
export const invoicingGroup = defineGroup({
  needs: {
    clock: ClockPort,
    invoices: InvoiceStorePort,
    months: MonthStorePort,
    unitOfWork: InvoiceUnitOfWorkPort,
    use: BilledUsePort,
  },
  routes: (given) => [
    handle(draftInvoices, makeDraftMonth(given), {
      input: ({ grant, body }) => ({ ownerId: grant.ownerId, month: body.month }),
      reply: (invoices) => ({ invoices: invoices.map(invoiceToWire) }),
    }),
    handle(addInvoiceLine, makeAddLine(given), {
      input: ({ grant, params, body: { contractID, amount, ...line } }) => ({
        ownerId: grant.ownerId,
        id: params.invoiceID,
        line: { ...line, contractId: contractID, amount: BigInt(amount) },
      }),
      reply: invoiceToWire,
    }),
    handle(deleteDraft, makeDeleteDraft(given), {
      input: ({ grant, params }) => ({ ownerId: grant.ownerId, id: params.invoiceID }),
    }),
    handle(issueInvoice, makeIssueInvoice(given), {
      input: ({ grant, params }) => ({ ownerId: grant.ownerId, id: params.invoiceID }),
      reply: invoiceToWire,
    }),
    handle(sendInvoice, makeSendInvoice(given), {
      input: ({ grant, params }) => ({ ownerId: grant.ownerId, id: params.invoiceID }),
      reply: invoiceToWire,
    }),
    handle(payInvoice, makePayInvoice(given), {
      input: ({ grant, params, body }) => ({ ownerId: grant.ownerId, id: params.invoiceID, ...body }),
      reply: invoiceToWire,
    }),
    handle(voidInvoice, makeVoidInvoice(given), {
      input: ({ grant, params, body }) => ({ ownerId: grant.ownerId, id: params.invoiceID, ...body }),
      reply: invoiceToWire,
    }),
    handle(creditInvoice, makeCreditInvoice(given), {
      input: ({ grant, params, body: { reason, lines } }) => ({
        ownerId: grant.ownerId,
        id: params.invoiceID,
        reason,
        lines: lines?.map(({ line, amount }) => ({ line, amount: amount === undefined ? undefined : BigInt(amount) })),
      }),
      reply: invoiceToWire,
    }),
  ],
})
