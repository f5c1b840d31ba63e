import type { FocusCharge, FocusService } from '../../formats/focus-csv.ts'
import { focusHead, focusRow } from '../../formats/focus-csv.ts'
import type { UsageProduct } from '../../usage/types.ts'
import type { InvoiceStore, InvoiceWithLines } from '../invoices/ports.ts'
import type { Decimal } from '../money.ts'
import { decimal, decimalText, zero } from '../money.ts'
import { monthText, periodOf } from '../months.ts'
import type { RatedLine } from '../types.ts'
import { costsOf, shownIn } from './amounts.ts'

const serviceOf: Readonly<Record<UsageProduct, FocusService>> = {
  dbProduct: 'database',
  backupProduct: 'backup',
  vaultProduct: 'vault',
  ingressProduct: 'ingress',
}

const categoryOf = ({ model, unit }: RatedLine): FocusCharge['category'] => {
  if (model === 'manual') return 'Adjustment'
  return model === 'flat' || model === 'percentage' || model === 'commitment' || unit === 'charge'
    ? 'Purchase'
    : 'Usage'
}

const frequencyOf = (category: FocusCharge['category'], { model, unit }: RatedLine): FocusCharge['frequency'] => {
  if (category === 'Usage') return 'Usage-Based'
  return model === 'manual' || unit === 'charge' ? 'One-Time' : 'Recurring'
}

/** Returns the charges of an invoice that was issued: its lines and its tax. A credit note has negative costs. */
const chargesOf = (invoice: InvoiceWithLines): readonly FocusCharge[] => {
  const { terms, number, month, kind, currency, ownerId, ownerName, revision } = invoice
  if (terms === undefined || number === undefined) return []
  const sign = decimal(kind === 'credit-note' ? '-1' : '1')
  const cost = (value: Decimal): string => decimalText(value.times(sign))
  const minor = shownIn(invoice)
  const common = {
    account: { id: `account-${ownerId}`, name: ownerName === '' ? terms.buyer.legalName : ownerName },
    issuerName: terms.seller.legalName,
    currency,
    period: periodOf(month),
    invoiceNumber: number,
    closing: `${monthText(month)} revision ${revision}`,
  }
  let [list, contracted] = [zero, zero]
  const lines = invoice.lines.map((line): FocusCharge => {
    const costs = costsOf(line)
    list = list.plus(costs.list)
    contracted = contracted.plus(costs.contracted)
    const category = categoryOf(line)
    const isCorrection = kind === 'credit-note' || line.unit === 'charge'
    return {
      ...common,
      contract: { id: `contract-${line.contractId}`, name: line.contractName },
      category,
      isCorrection: isCorrection && category !== 'Adjustment',
      frequency: frequencyOf(category, line),
      description: line.reason === '' ? line.description : `${line.description}: ${line.reason}`,
      billedCost: cost(decimal(minor(line.net))),
      listCost: cost(costs.list),
      contractedCost: cost(costs.contracted),
      pricing: {
        quantity: cost(decimal(line.pricedQuantity)),
        unit: line.pricedUnit,
        listPrice: line.unitPrice,
        contractedPrice: decimalText(costs.contractedPrice),
      },
      consumed: category === 'Usage' ? { quantity: line.quantity, unit: line.unit } : undefined,
      service: line.product === undefined ? 'other' : serviceOf[line.product],
      sku:
        category === 'Adjustment'
          ? undefined
          : { id: line.priceId, model: line.model, priceId: `${line.bookId}.${line.versionNumber}.${line.priceId}` },
    }
  })
  if (invoice.tax === 0n) return lines
  const rate = decimal(terms.taxPercent).times(decimal('0.01'))
  const tax: FocusCharge = {
    ...common,
    contract: undefined,
    category: 'Tax',
    isCorrection: kind === 'credit-note',
    frequency: 'One-Time',
    description: `Tax, ${terms.taxPercent}%`,
    billedCost: cost(decimal(minor(invoice.tax))),
    listCost: cost(list.times(rate)),
    contractedCost: cost(contracted.times(rate)),
    pricing: undefined,
    consumed: undefined,
    service: 'other',
    sku: undefined,
  }
  return [...lines, tax]
}

/** Yields the charges of the invoices of a month that were issued, as CSV of FOCUS 1.2: of one account, or of all. */
export async function* focusOf(
  invoices: Pick<InvoiceStore, 'issuedIn'>,
  ...of: Parameters<InvoiceStore['issuedIn']>
): AsyncGenerator<string> {
  yield focusHead
  for await (const invoice of invoices.issuedIn(...of)) yield chargesOf(invoice).map(focusRow).join('')
}
