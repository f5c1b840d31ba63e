import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { Invoice, InvoiceId, InvoiceTerms, InvoiceWithLines } from '../../core/rating/invoices/ports.ts'
import { decimal, digitsOf, minorText, sumOf, toMinor } from '../../core/rating/money.ts'
import { secondsOf } from '../../core/rating/months.ts'
import type { PriceDraft } from '../../core/rating/prices/price-rules.ts'
import { parsePrices } from '../../core/rating/prices/price-rules.ts'
import { inMonth, rateContract } from '../../core/rating/rate.ts'
import type { ContractUse, IssuerId, PriceBookId, PricedUse, PriceModel, RatedLine } from '../../core/rating/types.ts'
import { measures } from '../../core/rating/types.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import { unwrap } from '../support/outcome.ts'
import type { Random } from '../usage/sample/random.ts'

/** Dated prices of a contract as plain values, which a program in another language can read. */
interface PlainContract {
  readonly contractId: number
  readonly use: ContractUse
  readonly versions: readonly {
    readonly number: number
    readonly from: number
    readonly prices: readonly PriceDraft[]
  }[]
  readonly terms: readonly { readonly from: number; readonly discountPercent: string; readonly commitment?: string }[]
}

export interface PlainAccount {
  readonly id: number
  readonly month: number
  readonly monthSeconds: number
  readonly currency: string
  readonly digits: number
  readonly taxPercent: string
  readonly contracts: readonly PlainContract[]
  /** The numbers of lines, from 1, of which a part is credited, in percent of the line. */
  readonly credits: readonly { readonly line: number; readonly percent: number }[]
}

const whole = (random: Random, most: number): number => random.between(0, most)
const text = (random: Random, most: number, digits: number): string => minorText(BigInt(whole(random, most)), digits)

const priceOf = (random: Random, id: string): PriceDraft => {
  const base = { id, description: `Price ${id}`, amount: text(random, 10_000_000, 4) }
  const model = random.oneOf<Exclude<PriceModel, 'percentage'>>([
    'flat',
    'per-unit',
    'per-unit',
    'graduated',
    'volume',
    'package',
  ])
  if (model === 'flat')
    return { ...base, model, ...(random.chance(0.5) ? { product: random.oneOf([...usageProducts]) } : {}) }
  const measured = {
    ...base,
    model,
    product: random.oneOf([...usageProducts]),
    measure: random.oneOf([...measures]),
    use: random.oneOf<PricedUse>(['prod', 'non-prod', 'all']),
    ...(random.chance(0.3) ? { included: text(random, 100_000, 3) } : {}),
    ...(random.chance(0.2) ? { minimum: text(random, 5_000, 2) } : {}),
    ...(random.chance(0.2) ? { maximum: minorText(BigInt(5_000 + whole(random, 1_000_000)), 2) } : {}),
  }
  if (model === 'package') return { ...measured, packageSize: minorText(BigInt(1 + whole(random, 50_000)), 3) }
  if (model === 'per-unit') return measured
  const ends = [...new Set(Array.from({ length: whole(random, 3) }, () => 1 + whole(random, 500)))].sort(
    (a, b) => a - b,
  )
  const unitPrice = () => text(random, 1_000_000, 4)
  return {
    ...measured,
    tiers: [
      ...ends.map((end) => ({ upTo: String(end), unitPrice: unitPrice() })),
      { upTo: undefined, unitPrice: unitPrice() },
    ],
  }
}

const pricesOf = (random: Random): readonly PriceDraft[] => {
  const prices = Array.from({ length: 1 + whole(random, 5) }, (_, i) => priceOf(random, `p${i}`))
  if (random.chance(0.5)) return prices
  const percentOf = prices.map(({ id }) => id).filter(() => random.chance(0.7))
  if (percentOf.length === 0) return prices
  return [
    ...prices,
    { id: 'share', description: 'Share', model: 'percentage', amount: text(random, 5_000, 2), percentOf },
  ]
}

const contractOf = (random: Random, contractId: number, monthSeconds: number): PlainContract => {
  const covered = random.chance(0.3) ? 1 + whole(random, monthSeconds - 1) : monthSeconds
  const pair = () => ({ cpu: text(random, 600_000, 3), memory: text(random, 600_000, 3) })
  const products = usageProducts
    .filter(() => random.chance(0.6))
    .map((product) => ({ product, seconds: covered, prod: pair(), nonProd: pair() }))
  const versions = Array.from({ length: 1 + whole(random, 2) }, (_, i) => ({
    number: i + 1,
    from: 202_601 + whole(random, 11),
    prices: pricesOf(random),
  }))
  const terms = Array.from({ length: 1 + whole(random, 1) }, (_, i) => ({
    from: 202_601 + i * 6,
    discountPercent: random.chance(0.5) ? '0' : text(random, 1000, 1),
    ...(random.chance(0.3) ? { commitment: text(random, 1_000_000, 2) } : {}),
  }))
  return {
    contractId,
    use: { contractId: contractId as ContractId, name: `Contract ${contractId}`, products },
    versions,
    terms,
  }
}

/** Returns an account with use, dated prices and terms, all of any kind. */
export const randomAccount = (random: Random, id: number, contracts = 1 + whole(random, 3)): PlainAccount => {
  const month = 202_601 + whole(random, 11)
  const monthSeconds = secondsOf(month as MonthKey)
  const currency = random.oneOf(['EUR', 'USD', 'JPY', 'KWD'])
  return {
    id,
    month,
    monthSeconds,
    currency,
    digits: digitsOf(currency) ?? 2,
    taxPercent: random.oneOf(['0', '7', '19', '8.1']),
    contracts: Array.from({ length: contracts }, (_, i) => contractOf(random, id * 10 + i, monthSeconds)),
    credits: Array.from({ length: whole(random, 2) }, () => ({
      line: 1 + whole(random, 5),
      percent: 1 + whole(random, 98),
    })),
  }
}

/** Returns the lines of an account, as the service rates them. */
export const linesOf = ({ month, monthSeconds, digits, contracts }: PlainAccount): readonly RatedLine[] =>
  contracts.flatMap(({ use, versions, terms }) => {
    const [version, pricing] = [inMonth(versions, month), inMonth(terms, month)]
    if (version === undefined || pricing === undefined) return []
    const { discountPercent, commitment } = pricing
    return rateContract(use, {
      version: { number: version.number, prices: unwrap(parsePrices(version.prices)) },
      pricing: { bookId: 1 as PriceBookId, discountPercent, commitment },
      digits,
      monthSeconds,
    })
  })

/** Returns the lines of a credit note of an account. */
const creditedOf = ({ credits, digits }: PlainAccount, lines: readonly RatedLine[]): readonly RatedLine[] =>
  [...new Map(credits.map((credit) => [credit.line, credit])).values()].flatMap(({ line: number, percent }) => {
    const line = lines[number - 1]
    const net =
      line === undefined
        ? 0n
        : toMinor(
            decimal(line.net)
              .times(decimal(String(percent)))
              .times(decimal('0.01')),
            0,
          )
    if (line === undefined || net <= 0n) return []
    const one = { quantity: '1', unit: 'charge', pricedQuantity: '1', pricedUnit: 'charge', discountPercent: '0' }
    return [{ ...line, ...one, unitPrice: minorText(net, digits), net, reason: 'An outage' }]
  })

const party = { street: 'Hafenstr. 1', city: 'Kiel', postcode: '24103', country: 'DE', taxId: '', email: '' }

/** Returns the invoice of an account, and its credit note if it has one, as they are issued. */
export const issuedOf = (account: PlainAccount): readonly InvoiceWithLines[] => {
  const lines = linesOf(account)
  const credited = creditedOf(account, lines)
  const terms: InvoiceTerms = {
    seller: { ...party, legalName: 'Example Platforms' },
    buyer: { ...party, legalName: `Buyer ${account.id}` },
    taxCategory: account.taxPercent === '0' ? 'Z' : 'S',
    taxPercent: account.taxPercent,
    taxReason: '',
    paymentDays: 30,
    notes: '',
  }
  const invoiceOf = (kind: Invoice['kind'], own: readonly RatedLine[], id: number): InvoiceWithLines => {
    const net = sumOf(own.map((line) => line.net))
    const at = new Date(Date.UTC(2027, 0, 5))
    return {
      id: id as InvoiceId,
      ownerId: account.id as AccountId,
      ownerName: `account-${account.id}`,
      issuerId: 1 as IssuerId,
      kind,
      state: 'issued',
      month: account.month as MonthKey,
      revision: 1,
      currency: account.currency,
      number: `N${String(id).padStart(6, '0')}`,
      corrects:
        kind === 'invoice' ? undefined : { id: (id - 1) as InvoiceId, number: `N${String(id - 1).padStart(6, '0')}` },
      net,
      tax: toMinor(decimal(net).times(decimal(account.taxPercent)).times(decimal('0.01')), 0),
      terms,
      createdAt: at,
      issuedAt: at,
      dueAt: at,
      sentAt: undefined,
      paidAt: undefined,
      paymentReference: '',
      voidedAt: undefined,
      voidReason: '',
      lines: own,
    }
  }
  if (lines.length === 0) return []
  const invoice = invoiceOf('invoice', lines, account.id * 2)
  return credited.length === 0 ? [invoice] : [invoice, invoiceOf('credit-note', credited, account.id * 2 + 1)]
}
