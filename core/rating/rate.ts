import type { Decimal, MinorUnits } from './money.ts'
import { decimal, decimalText, rounded, sumOf, toMinor, wholeUp, zero } from './money.ts'
import type { ContractPricing, ContractUse, Measure, Price, PriceVersion, ProductUse, RatedLine } from './types.ts'

/** What a month is rated with. A version, the pricing and the currency never change once they are used. */
export interface Rates {
  readonly version: Pick<PriceVersion, 'number' | 'prices'>
  readonly pricing: Pick<ContractPricing, 'bookId' | 'discountPercent' | 'commitment'>
  /** Of the currency, after the point. */
  readonly digits: number
  /** Of the month. */
  readonly monthSeconds: number
}

const units: Readonly<Record<Measure, string>> = { cpu: 'core-month', memory: 'GiB-month' }

const unitOf = ({ measure }: Price): string => (measure === undefined ? 'month' : units[measure])

const hundred = decimal('100')
const hundredth = decimal('0.01')
/** Digits after the point of a list price that has no exact decimal form. */
const listDigits = 12

/**
 * A price with the part of the month in which it counts. Amounts are multiplied by the seconds of the month, so that
 * only the last step of a line divides: sums of thirds and sixths stay exact.
 */
interface Prorated {
  readonly price: Price
  readonly seconds: Decimal
  readonly monthSeconds: Decimal
}

const one = decimal('1')

/** Of a whole month nothing is multiplied or divided. */
const proratedOf = (price: Price, seconds: number, monthSeconds: number): Prorated =>
  seconds === monthSeconds
    ? { price, seconds: one, monthSeconds: one }
    : { price, seconds: decimal(BigInt(seconds)), monthSeconds: decimal(BigInt(monthSeconds)) }

const inMonthOf = (value: Decimal, { monthSeconds }: Prorated): Decimal =>
  monthSeconds === one ? value : value.div(monthSeconds)

const at = (value: string, { seconds }: Prorated): Decimal => decimal(value).times(seconds)

/** Returns the sum of the tiers, each for the quantity within it. */
const graduated = (quantity: Decimal, part: Prorated): Decimal => {
  let sum = zero
  let from = zero
  for (const { upTo, unitPrice } of part.price.tiers) {
    const to = upTo === undefined ? quantity : at(upTo, part)
    const within = (to.lt(quantity) ? to : quantity).minus(from)
    if (within.lte(zero)) break
    sum = sum.plus(within.times(decimal(unitPrice)))
    from = to
  }
  return sum
}

/** Returns the whole quantity at the price of the tier that it reaches. */
const volume = (quantity: Decimal, part: Prorated): Decimal => {
  const { tiers } = part.price
  const reached = tiers.find(({ upTo }) => upTo === undefined || quantity.lte(at(upTo, part)))
  return quantity.times(decimal(reached?.unitPrice ?? '0'))
}

/** A package is never divided: the first unit of it costs the whole. */
const packages = (quantity: Decimal, { price, monthSeconds }: Prorated): Decimal =>
  wholeUp(quantity, decimal(price.packageSize).times(monthSeconds)).times(decimal(price.amount)).times(monthSeconds)

const chargeOf = (quantity: Decimal, part: Prorated): Decimal => {
  const { price } = part
  if (price.model === 'flat') return at(price.amount, part)
  if (price.model === 'graduated') return graduated(quantity, part)
  if (price.model === 'volume') return volume(quantity, part)
  if (price.model === 'package') return packages(quantity, part)
  return quantity.times(decimal(price.amount))
}

const bounded = (charge: Decimal, part: Prorated): Decimal => {
  const { minimum, maximum } = part.price
  const most = maximum === undefined ? charge : at(maximum, part)
  const least = minimum === undefined ? zero : at(minimum, part)
  const capped = charge.gt(most) ? most : charge
  return capped.lt(least) ? least : capped
}

/** What is charged: a quantity, the price of one, and nothing lost between them. */
type Charged = Pick<RatedLine, 'pricedQuantity' | 'pricedUnit' | 'unitPrice'>

const oneCharge = { pricedQuantity: '1', pricedUnit: 'charge' } as const

/**
 * Returns the quantity and the price of one, whose product is the list price. A line of tiers, packages or limits is one
 * charge.
 */
const chargedOf = (charge: Decimal, quantity: Decimal, part: Prorated): Charged => {
  const { price, monthSeconds } = part
  if (price.model === 'per-unit' && charge.eq(quantity.times(decimal(price.amount)))) {
    const priced = inMonthOf(quantity, part)
    if (priced.times(monthSeconds).eq(quantity))
      return {
        pricedQuantity: decimalText(priced),
        pricedUnit: unitOf(price),
        unitPrice: decimalText(decimal(price.amount)),
      }
  }
  return { ...oneCharge, unitPrice: decimalText(rounded(inMonthOf(charge, part), listDigits)) }
}

const afterDiscount = (amount: Decimal, discountPercent: string): Decimal =>
  discountPercent === '0' ? amount : amount.times(hundred.minus(decimal(discountPercent))).times(hundredth)

const usedOf = ({ prod, nonProd }: ProductUse, { measure, use }: Price): Decimal => {
  if (measure === undefined) return zero
  const production = use === 'non-prod' ? zero : decimal(prod[measure])
  return use === 'prod' ? production : production.plus(decimal(nonProd[measure]))
}

/** Returns the seconds in which the contract covered the product, or any product. */
const secondsOf = ({ products }: ContractUse, product: Price['product']): number =>
  Math.max(
    0,
    ...products.filter((each) => product === undefined || each.product === product).map((each) => each.seconds),
  )

const lineOf = (
  { contractId, name }: ContractUse,
  { version, pricing }: Rates,
  line: Omit<RatedLine, 'contractId' | 'contractName' | 'versionNumber' | 'bookId' | 'reason'>,
): RatedLine => ({
  ...line,
  contractId,
  contractName: name,
  versionNumber: version.number,
  bookId: pricing.bookId,
  reason: '',
})

/** Returns the line of a price that is no percentage; undefined if the contract did not cover its product. */
const ratePrice = (use: ContractUse, price: Price, rates: Rates): RatedLine | undefined => {
  const seconds = secondsOf(use, price.product)
  if (seconds === 0) return undefined
  const { discountPercent } = rates.pricing
  const part = proratedOf(price, seconds, rates.monthSeconds)
  const used = use.products
    .filter(({ product }) => product === price.product)
    .reduce((sum, each) => sum.plus(usedOf(each, price)), zero)
  const beyond = used.times(part.monthSeconds).minus(at(price.included, part))
  const quantity = beyond.lt(zero) ? zero : beyond
  const charge = bounded(chargeOf(quantity, part), part)
  const net = inMonthOf(afterDiscount(charge, discountPercent), part)
  return lineOf(use, rates, {
    priceId: price.id,
    description: price.description,
    model: price.model,
    product: price.product,
    quantity: price.measure === undefined ? '1' : decimalText(used),
    unit: unitOf(price),
    ...chargedOf(charge, quantity, part),
    discountPercent,
    net: toMinor(net, rates.digits),
  })
}

/** Returns the line of a percentage of lines, whose amounts are those after their discounts. */
const ratePercentage = (
  use: ContractUse,
  price: Price,
  rates: Rates,
  lines: readonly RatedLine[],
): RatedLine | undefined => {
  const counted = lines.filter(({ priceId }) => price.percentOf.includes(priceId))
  if (counted.length === 0) return undefined
  const base = decimal(sumOf(counted.map(({ net }) => net))).times(decimal(`1e-${rates.digits}`))
  const list = base.times(decimal(price.amount)).times(hundredth)
  return lineOf(use, rates, {
    priceId: price.id,
    description: price.description,
    model: price.model,
    product: price.product,
    quantity: decimalText(decimal(price.amount)),
    unit: 'percent',
    ...oneCharge,
    unitPrice: decimalText(list),
    discountPercent: '0',
    net: toMinor(list, rates.digits),
  })
}

/** Returns the line that brings a contract to its commitment; undefined if it has spent as much. */
const commitmentLine = (use: ContractUse, rates: Rates, spent: MinorUnits): RatedLine | undefined => {
  const { commitment } = rates.pricing
  if (commitment === undefined) return undefined
  const whole = decimal(commitment).times(decimal(BigInt(secondsOf(use, undefined))))
  const missing = toMinor(whole.div(decimal(BigInt(rates.monthSeconds))), rates.digits) - spent
  if (missing <= 0n) return undefined
  return lineOf(use, rates, {
    priceId: 'commitment',
    description: 'Up to the commitment of the contract',
    model: 'commitment',
    product: undefined,
    quantity: '1',
    unit: 'month',
    ...oneCharge,
    unitPrice: decimalText(decimal(missing).times(decimal(`1e-${rates.digits}`))),
    discountPercent: '0',
    net: missing,
  })
}

/**
 * Returns the lines of a contract for a month: those of its prices in their order, and one up to its commitment. The
 * same use and the same rates give the same lines. Each line is rounded once, half away from zero.
 */
export const rateContract = (use: ContractUse, rates: Rates): readonly RatedLine[] => {
  const { prices } = rates.version
  const priced = prices.map((price) => (price.model === 'percentage' ? undefined : ratePrice(use, price, rates)))
  const base = priced.filter((line) => line !== undefined)
  const lines = prices.flatMap((price, index): readonly RatedLine[] => {
    const line = price.model === 'percentage' ? ratePercentage(use, price, rates, base) : priced[index]
    return line === undefined ? [] : [line]
  })
  const rest = commitmentLine(use, rates, sumOf(lines.map(({ net }) => net)))
  return rest === undefined ? lines : [...lines, rest]
}

/** Returns the value that counts in a month: the one with the latest first month that is not after it. */
export const inMonth = <V extends { readonly from: number }>(values: readonly V[], month: number): V | undefined => {
  let latest: V | undefined
  for (const each of values) if (each.from <= month && (latest === undefined || each.from >= latest.from)) latest = each
  return latest
}
