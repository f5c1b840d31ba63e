import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ContractId } from '../../contracts/types.ts'
import type { MonthStore } from '../../usage/months/ports.ts'
import type { UsageMonth } from '../../usage/types.ts'
import { decimal, digitsOf, minorText, sumOf, toMinor } from '../money.ts'
import { monthText } from '../months.ts'
import { CustomerMissing } from '../ports.ts'
import type { RatedLine } from '../types.ts'
import { chargeOf, isTooLarge, tooLarge } from './corrections.ts'
import { auditOfInvoice } from './drafts.ts'
import type {
  Invoice,
  InvoiceFilter,
  InvoiceId,
  InvoiceStore,
  InvoiceStores,
  InvoiceUnitOfWork,
  InvoiceWithLines,
} from './ports.ts'
import { InvoiceLineInvalid, InvoiceMissing, InvoiceStateRefused, MonthNotFinal } from './ports.ts'
import type { InvoiceStep } from './states.ts'
import { checkStep } from './states.ts'

export interface InvoiceDeps {
  readonly clock: Clock
  readonly unitOfWork: InvoiceUnitOfWork
}

interface IssueDeps extends InvoiceDeps {
  readonly invoices: Pick<InvoiceStore, 'find'>
  readonly months: Pick<MonthStore, 'newest'>
}

export interface InvoiceKey {
  readonly ownerId: AccountId
  readonly id: InvoiceId
}

type Missing = Failure<'InvoiceMissing'>
type Refused = Missing | Failure<'InvoiceStateRefused'>

const missing = (id: InvoiceId): Missing => InvoiceMissing(`The invoice ${id} does not exist.`)

/** Returns the invoices of an account, the newest month first. */
export const makeListInvoices =
  ({ invoices }: { readonly invoices: Pick<InvoiceStore, 'list'> }) =>
  async (
    _call: SignedInCall<never>,
    { page, ...filter }: InvoiceFilter & { readonly page: PageRequest },
  ): Outcome<never, Page<Invoice>> =>
    right(await invoices.list(filter, page))

/** Returns an invoice with its lines. A draft is shown to site admins only. */
export const makeGetInvoice =
  ({ invoices }: { readonly invoices: Pick<InvoiceStore, 'find'> }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, id, withDrafts }: InvoiceKey & { readonly withDrafts: boolean },
  ): Outcome<Missing, InvoiceWithLines> => {
    const invoice = await invoices.find(ownerId, id)
    return invoice === undefined || (invoice.state === 'draft' && !withDrafts) ? left(missing(id)) : right(invoice)
  }

/** Changes a locked invoice whose state allows the step, and returns it as it is then. */
const makeStep =
  ({ unitOfWork }: Pick<InvoiceDeps, 'unitOfWork'>) =>
  <F extends Failure>(
    call: SignedInCall<InvoiceWithLines>,
    { ownerId, id }: InvoiceKey,
    step: InvoiceStep,
    change: (stores: InvoiceStores, invoice: InvoiceWithLines) => Outcome<F, InvoiceId>,
  ): Outcome<F | Refused, InvoiceWithLines> =>
    unitOfWork.run<F | Refused, InvoiceWithLines>(call, async (stores) => {
      // As drafts are made, the details of the account are locked first, then the invoice.
      await stores.customers.lock(ownerId)
      const invoice = await stores.invoices.lock(ownerId, id)
      if (invoice === undefined) return left(missing(id))
      const checked = checkStep(invoice, step)
      if (isLeft(checked)) return checked
      const changed = await change(stores, invoice)
      if (isLeft(changed)) return changed
      const now = await stores.invoices.find(ownerId, changed.right)
      return now === undefined ? left(missing(id)) : right(now)
    })

export interface ManualLine {
  readonly contractId: ContractId
  readonly description: string
  /** In minor units; negative to take something off. */
  readonly amount: bigint
  readonly reason: string
}

/** Adds a line to a draft by hand. */
export const makeAddLine = (deps: InvoiceDeps) => {
  const step = makeStep(deps)
  return (
    call: SignedInCall<InvoiceWithLines>,
    { line, ...key }: InvoiceKey & { readonly line: ManualLine },
  ): Outcome<Refused | Failure<'InvoiceLineInvalid'>, InvoiceWithLines> =>
    step<Failure<'InvoiceLineInvalid'>>(call, key, 'change', async ({ invoices, audit }, invoice) => {
      const near = invoice.lines.find(({ contractId }) => contractId === line.contractId)
      if (near === undefined)
        return left(InvoiceLineInvalid('contractID must be a contract that the draft has lines of.'))
      const { contractId, contractName, bookId } = near
      const added: RatedLine = {
        ...chargeOf(line.amount, invoice.currency),
        contractId,
        contractName,
        bookId,
        priceId: '',
        description: line.description,
        model: 'manual',
        product: undefined,
        versionNumber: 0,
        reason: line.reason,
      }
      const lines = [...invoice.lines, added]
      const net = sumOf(lines.map((each) => each.net))
      if (isTooLarge(net)) return left(tooLarge())
      await invoices.setLines(invoice.id, { ...invoice, lines, net })
      const { description, reason } = line
      const amount = minorText(line.amount, digitsOf(invoice.currency) ?? 2)
      await audit.record(auditOfInvoice(invoice, 'invoice.changed', { description, reason, amount }))
      return right(invoice.id)
    })
}

/** Deletes a draft. */
export const makeDeleteDraft =
  ({ unitOfWork }: Pick<InvoiceDeps, 'unitOfWork'>) =>
  async (call: SignedInCall, { ownerId, id }: InvoiceKey): Outcome<Refused, void> =>
    unitOfWork.run<Refused, void>(call, async ({ customers, invoices, audit }) => {
      await customers.lock(ownerId)
      const invoice = await invoices.lock(ownerId, id)
      if (invoice === undefined) return left(missing(id))
      const checked = checkStep(invoice, 'change')
      if (isLeft(checked)) return checked
      await invoices.remove(id)
      await audit.record(auditOfInvoice(invoice, 'invoice.deleted'))
      return right(undefined)
    })

const numberDigits = 6

/** Whether a draft has the use of the final revision of its month. */
const isOf = (month: UsageMonth | undefined, { revision }: Invoice): boolean =>
  month?.status === 'final' && month.revision === revision

const outdated = ({ month }: Invoice): Failure<'MonthNotFinal'> =>
  MonthNotFinal(`The month ${monthText(month)} was computed again. Make its drafts again when it is final.`)

/**
 * Issues a draft: it gets its number, which is taken in the same transaction, and the parties and the tax of now. Then
 * it never changes. Numbers of an issuer have no gaps, because an issue that fails takes none.
 */
export const makeIssueInvoice = (deps: IssueDeps) => {
  const step = makeStep(deps)
  type Failed = Failure<'CustomerMissing'> | Failure<'InvoiceLineInvalid'> | Failure<'MonthNotFinal'>
  return async (call: SignedInCall<InvoiceWithLines>, key: InvoiceKey): Outcome<Refused | Failed, InvoiceWithLines> => {
    const drafted = await deps.invoices.find(key.ownerId, key.id)
    const month = drafted === undefined ? undefined : await deps.months.newest(key.ownerId, drafted.month)
    return step<Failed>(call, key, 'issue', async ({ books, customers, invoices, issuers, audit }, invoice) => {
      if (invoice.net < 0n)
        return left(InvoiceLineInvalid('The sum of an invoice is not negative. Credit the amount with a credit note.'))
      const customer = await customers.find(key.ownerId)
      if (customer === undefined) return left(CustomerMissing('The account has no billing details.'))
      if (invoice.corrects === undefined && !isOf(month, invoice)) return left(outdated(invoice))
      // Versions that are added now count after this month.
      await books.markInvoiced(
        invoice.lines.map(({ bookId }) => bookId),
        invoice.month,
      )
      const issuer = await issuers.lock(invoice.issuerId)
      if (issuer === undefined) throw new Error('The issuer of an invoice does not exist.')
      const sequence = issuer.nextNumber
      const number = `${issuer.numberPrefix}${String(sequence).padStart(numberDigits, '0')}`
      await issuers.setNextNumber(issuer.id, sequence + 1)
      const digits = digitsOf(invoice.currency) ?? 2
      const { party: buyer, taxCategory, taxPercent, taxReason, paymentDays } = customer
      const taxed = decimal(invoice.net).times(decimal(taxPercent)).times(decimal('0.01'))
      const tax = toMinor(taxed, 0)
      if (isTooLarge(invoice.net + tax)) return left(tooLarge())
      const issuedAt = deps.clock.now()
      await invoices.issue({
        id: invoice.id,
        sequence,
        number,
        tax,
        terms: { seller: issuer.party, buyer, taxCategory, taxPercent, taxReason, paymentDays, notes: issuer.notes },
        issuedAt,
        dueAt: laterByDays(issuedAt, paymentDays),
      })
      const net = minorText(invoice.net, digits)
      await audit.record(auditOfInvoice({ ...invoice, number }, 'invoice.issued', { number, net, kind: invoice.kind }))
      return right(invoice.id)
    })
  }
}

const titles = { invoice: 'Invoice', 'credit-note': 'Credit note' } as const

/** Mails the people of the account that an invoice is there, and marks it as sent. */
export const makeSendInvoice = (deps: InvoiceDeps) => {
  const step = makeStep(deps)
  return (
    call: SignedInCall<InvoiceWithLines>,
    key: InvoiceKey,
  ): Outcome<Refused | Failure<'CustomerMissing'>, InvoiceWithLines> =>
    step<Failure<'CustomerMissing'>>(call, key, 'send', async ({ customers, invoices, mail, audit }, invoice) => {
      const customer = await customers.find(key.ownerId)
      if (customer === undefined) return left(CustomerMissing('The account has no billing details.'))
      const { kind, currency, number = '', month, net, tax, dueAt } = invoice
      const total = `${minorText(net + tax, digitsOf(currency) ?? 2)} ${currency}`
      for (const to of new Set(customer.emails))
        await mail.post({
          to,
          subject: `${titles[kind]} ${number} of ${monthText(month)}`,
          paragraphs: [
            `${titles[kind]} ${number} of ${invoice.ownerName} for ${monthText(month)} (UTC): ${total} with tax.`,
            kind === 'invoice' && dueAt !== undefined
              ? `It is to be paid by ${dueAt.toISOString().slice(0, 10)}. Download it as PDF, XML, CSV or JSON.`
              : 'Download it as PDF, XML, CSV or JSON.',
          ],
          accountId: key.ownerId,
        })
      await invoices.markSent(invoice.id, deps.clock.now())
      await audit.record(auditOfInvoice(invoice, 'invoice.sent', { recipients: customer.emails.length }))
      return right(invoice.id)
    })
}

/** Records that an invoice was paid. No payment is made. */
export const makePayInvoice = (deps: InvoiceDeps) => {
  const step = makeStep(deps)
  return (
    call: SignedInCall<InvoiceWithLines>,
    { reference, paidAt, ...key }: InvoiceKey & { readonly reference: string; readonly paidAt: Date | undefined },
  ): Outcome<Refused, InvoiceWithLines> =>
    step<never>(call, key, 'pay', async ({ invoices, audit }, invoice) => {
      await invoices.markPaid(invoice.id, paidAt ?? deps.clock.now(), reference)
      await audit.record(auditOfInvoice(invoice, 'invoice.paid', { reference }))
      return right(invoice.id)
    })
}

/** Declares an invoice void. It keeps its number and its content, and its month is invoiced again. */
export const makeVoidInvoice = (deps: InvoiceDeps) => {
  const step = makeStep(deps)
  return (
    call: SignedInCall<InvoiceWithLines>,
    { reason, ...key }: InvoiceKey & { readonly reason: string },
  ): Outcome<Refused, InvoiceWithLines> =>
    step<Failure<'InvoiceStateRefused'>>(call, key, 'void', async ({ invoices, audit }, invoice) => {
      const credits = await invoices.listCorrecting(invoice)
      if (credits.length > 0) {
        const names = credits.map(({ id, number }) => number ?? `draft ${id}`).join(', ')
        return left(
          InvoiceStateRefused(`The invoice is credited by ${names}. Declare these void or delete them first.`),
        )
      }
      await invoices.markVoid(invoice.id, deps.clock.now(), reason)
      await invoices.setDraftedRevision(key.ownerId, invoice.month, 0)
      await audit.record(auditOfInvoice(invoice, 'invoice.voided', { reason }))
      return right(invoice.id)
    })
}

export interface CreditedLine {
  /** Of the invoice, from 1. */
  readonly line: number
  /** In minor units; the whole line if it is undefined. */
  readonly amount: bigint | undefined
}

/** Returns the lines of a credit note, or what is wrong with them. No line is credited beyond its amount. */
const creditedLines = (
  invoice: InvoiceWithLines,
  others: readonly InvoiceWithLines[],
  credited: readonly CreditedLine[],
  reason: string,
) => {
  const lines: RatedLine[] = []
  for (const { line: number, amount } of credited) {
    const line = invoice.lines[number - 1]
    if (line === undefined || line.net <= 0n) return left(InvoiceLineInvalid(`The line ${number} cannot be credited.`))
    const same = (each: RatedLine): boolean =>
      each.contractId === line.contractId && each.priceId === line.priceId && each.description === line.description
    const rest =
      line.net - sumOf([...others.flatMap((other) => other.lines), ...lines].filter(same).map(({ net }) => net))
    const net = amount ?? rest
    if (net <= 0n || net > rest)
      return left(InvoiceLineInvalid(`Of the line ${number}, at most ${rest} can be credited.`))
    lines.push({ ...line, ...chargeOf(net, invoice.currency), reason })
  }
  return right(lines)
}

/** Makes the draft of a credit note for an invoice that was issued: for some of its lines, or all of them. */
export const makeCreditInvoice = (deps: InvoiceDeps) => {
  const step = makeStep(deps)
  return (
    call: SignedInCall<InvoiceWithLines>,
    {
      reason,
      lines: named,
      ...key
    }: InvoiceKey & { readonly reason: string; readonly lines: readonly CreditedLine[] | undefined },
  ): Outcome<Refused | Failure<'InvoiceLineInvalid'>, InvoiceWithLines> =>
    step<Failure<'InvoiceLineInvalid'>>(call, key, 'credit', async ({ invoices, audit }, invoice) => {
      if (invoice.kind === 'credit-note')
        return left(InvoiceLineInvalid('A credit note is not credited. Declare it void.'))
      const all = invoice.lines.flatMap(({ net }, i) => (net > 0n ? [{ line: i + 1, amount: undefined }] : []))
      const others = await invoices.listCorrecting(invoice)
      const lines = creditedLines(invoice, others, named ?? all, reason)
      if (isLeft(lines)) return lines
      const { ownerId, issuerId, month, revision, currency } = invoice
      const net = sumOf(lines.right.map((line) => line.net))
      const draft = { ownerId, issuerId, month, revision, currency, lines: lines.right, net }
      const id = await invoices.insert({ ...draft, kind: 'credit-note', correctsId: invoice.id }, deps.clock.now())
      const corrects = invoice.number ?? ''
      await audit.record(auditOfInvoice({ id, ownerId, number: undefined }, 'invoice.drafted', { corrects, reason }))
      return right(id)
    })
}
