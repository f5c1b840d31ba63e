import { csvCell } from '../../formats/usage-csv.ts'
import type { UblInvoice } from '../../formats/ubl-invoice.ts'
import { ublOf } from '../../formats/ubl-invoice.ts'
import type { ReportBranding, ReportColumn, ReportContent, ReportSummary } from '../../usage/reports/ports.ts'
import type { InvoiceTerms, InvoiceWithLines } from '../invoices/ports.ts'
import { decimal } from '../money.ts'
import { monthText, periodOf } from '../months.ts'
import type { Party } from '../types.ts'
import { costsOf, roundingRule, shownIn, unsigned } from './amounts.ts'

/** An invoice that was issued. */
export interface IssuedInvoice extends InvoiceWithLines {
  readonly number: string
  readonly terms: InvoiceTerms
  readonly issuedAt: Date
  readonly dueAt: Date
}

/** Reports whether an invoice was issued, and so has its number and its parties. */
export const isIssued = (invoice: InvoiceWithLines): invoice is IssuedInvoice =>
  invoice.number !== undefined &&
  invoice.terms !== undefined &&
  invoice.issuedAt !== undefined &&
  invoice.dueAt !== undefined

const day = (at: Date): string => at.toISOString().slice(0, 10)

/** Returns the days of a month, both included. */
const daysOf = ({ month }: IssuedInvoice) => {
  const { from, to } = periodOf(month)
  return { first: day(from), last: day(new Date(to.getTime() - 1)) }
}

/** Returns an invoice as UBL. */
export const ublFileOf = (invoice: IssuedInvoice): string => {
  const { terms } = invoice
  const shown = shownIn(invoice)
  const content: UblInvoice = {
    kind: invoice.kind,
    number: invoice.number,
    issuedOn: day(invoice.issuedAt),
    dueOn: day(invoice.dueAt),
    currency: invoice.currency,
    period: daysOf(invoice),
    corrects: invoice.corrects?.number,
    seller: terms.seller,
    buyer: terms.buyer,
    notes: [terms.notes, roundingRule],
    tax: {
      category: terms.taxCategory,
      percent: terms.taxPercent,
      reason: terms.taxReason,
      amount: shown(invoice.tax),
    },
    net: shown(invoice.net),
    gross: shown(invoice.net + invoice.tax),
    lines: invoice.lines.map((line) => {
      const price = unsigned(costsOf(line).contractedPrice)
      return {
        name: line.description,
        description: [line.contractName, line.reason].filter((text) => text !== '').join(': '),
        quantity: price.isNegative ? `-${line.pricedQuantity}` : line.pricedQuantity,
        price: price.text,
        net: shown(line.net),
      }
    }),
  }
  return ublOf(content)
}

const csvColumns = [
  'number',
  'kind',
  'issued',
  'account',
  'month',
  'contractID',
  'contract',
  'priceID',
  'description',
  'quantity',
  'unit',
  'pricedQuantity',
  'unitPrice',
  'discountPercent',
  'net',
  'currency',
  'reason',
] as const

/** Returns the lines of an invoice as CSV. Amounts are in major units; those of a credit note are credited. */
export const csvFileOf = (invoice: IssuedInvoice): string => {
  const shown = shownIn(invoice)
  const rows = invoice.lines.map((line) =>
    [
      ...[invoice.number, invoice.kind, day(invoice.issuedAt), invoice.ownerName, monthText(invoice.month)].map(
        csvCell,
      ),
      String(line.contractId),
      ...[line.contractName, line.priceId, line.description].map(csvCell),
      line.quantity,
      csvCell(line.unit),
      line.pricedQuantity,
      line.unitPrice,
      line.discountPercent,
      shown(line.net),
      ...[invoice.currency, line.reason].map(csvCell),
    ].join(','),
  )
  return [csvColumns.map(csvCell).join(','), ...rows, ''].join('\r\n')
}

const text = (title: string, width: number): ReportColumn => ({ title, width, isNumber: false })
const number = (title: string, width = 1): ReportColumn => ({ title, width, isNumber: true })

const partyRows = (seller: Party, buyer: Party): readonly (readonly string[])[] =>
  (
    [
      ['Name', ({ legalName }) => legalName],
      ['Street', ({ street }) => street],
      ['City', ({ postcode, city }) => `${postcode} ${city}`.trim()],
      ['Country', ({ country }) => country],
      ['Tax number', ({ taxId }) => taxId],
      ['Mail', ({ email }) => email],
    ] as readonly (readonly [string, (party: Party) => string])[]
  ).map(([name, of]) => [name, of(seller), of(buyer)])

const partySummary = ({ seller, buyer }: InvoiceTerms): ReportSummary => ({
  columns: [text('', 0.6), text('Seller', 2), text('Buyer', 2)],
  rows: partyRows(seller, buyer),
  subtotals: [],
  totals: undefined,
  footnote: '',
})

const taxText = ({ taxCategory, taxPercent, taxReason }: InvoiceTerms): string =>
  taxReason === '' ? `Tax, ${taxPercent}% (${taxCategory})` : `Tax, ${taxPercent}% (${taxCategory}): ${taxReason}`

async function* rowsOf(invoice: IssuedInvoice): AsyncGenerator<readonly (readonly string[])[]> {
  const shown = shownIn(invoice)
  yield invoice.lines.map((line, i) => [
    String(i + 1),
    line.contractName,
    line.reason === '' ? line.description : `${line.description}: ${line.reason}`,
    `${line.quantity} ${line.unit}`,
    line.pricedQuantity,
    line.unitPrice,
    decimal(line.discountPercent).eq(decimal('0')) ? '' : `${line.discountPercent}%`,
    shown(line.net),
  ])
}

const titles = { invoice: 'Invoice', 'credit-note': 'Credit note' } as const

const stateText = ({ state, paidAt, dueAt, kind }: IssuedInvoice): readonly [string, string] => {
  if (state === 'void') return ['State', 'Void']
  if (paidAt !== undefined) return ['Paid on', day(paidAt)]
  return kind === 'invoice' ? ['To be paid by', day(dueAt)] : ['State', 'Credited']
}

/** Returns what the document of an invoice shows, in the style of the reports of usage. */
export const documentOf = (invoice: IssuedInvoice, branding: ReportBranding): ReportContent => {
  const { terms, currency, kind, corrects } = invoice
  const shown = shownIn(invoice)
  const title = `${titles[kind]} ${invoice.number}`
  return {
    ownerName: terms.buyer.legalName,
    branding,
    month: invoice.month,
    revision: invoice.revision,
    status: 'final',
    generatedAt: invoice.issuedAt,
    cover: {
      title,
      figures: [
        ['Issued on', day(invoice.issuedAt)],
        stateText(invoice),
        corrects === undefined ? ['Month', monthText(invoice.month)] : ['Corrects', corrects.number],
      ],
      summaries: [{ title: 'Parties', summary: partySummary(terms) }],
      footnote: `Days and months are those of UTC. ${roundingRule}`,
      notes: terms.notes.split('\n').filter((line) => line.trim() !== ''),
    },
    sections: [
      {
        title: 'Amounts',
        summary: {
          columns: [text(kind === 'invoice' ? 'Amounts' : 'Credited amounts', 3), number(currency)],
          rows: [
            ['Net', shown(invoice.net)],
            [taxText(terms), shown(invoice.tax)],
          ],
          subtotals: [],
          totals: [kind === 'invoice' ? 'To be paid' : 'Credited', shown(invoice.net + invoice.tax)],
          footnote: '',
        },
        figures: [],
        charts: [],
        tables: [
          {
            title: `${invoice.lines.length} lines`,
            columns: [
              number('No.', 0.4),
              text('Contract', 1.8),
              text('Description', 3),
              number('Used', 1.4),
              number('Charged\nquantity', 1),
              number('Price\nof one', 1.2),
              number('Discount', 0.8),
              number(`Net\n${currency}`, 1.1),
            ],
            rows: rowsOf(invoice),
            totals: ['', 'Net', '', '', '', '', '', shown(invoice.net)],
            note: 'The invoice has no lines.',
          },
        ],
      },
    ],
  }
}
