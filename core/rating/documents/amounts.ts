import type { Decimal } from '../money.ts'
import { decimal, decimalText, digitsOf, minorText } from '../money.ts'
import type { Invoice } from '../invoices/ports.ts'
import type { RatedLine } from '../types.ts'

/** The rule that each invoice states. */
export const roundingRule =
  'Each line is rounded once, half away from zero, to the smallest unit of the currency. The tax is rounded once likewise.'

/** Returns the digits after the point of the currency of an invoice. */
export const currencyDigits = ({ currency }: Pick<Invoice, 'currency'>): number => digitsOf(currency) ?? 2

/** Returns how minor units of an invoice are shown: `12.30`. */
export const shownIn =
  (invoice: Pick<Invoice, 'currency'>) =>
  (amount: bigint): string =>
    minorText(amount, currencyDigits(invoice))

/** The costs of a line before it is rounded, exact. */
export interface LineCosts {
  readonly list: Decimal
  readonly contracted: Decimal
  readonly contractedPrice: Decimal
}

/** Returns what a line costs by the list, and after the discount of its contract. */
export const costsOf = ({ pricedQuantity, unitPrice, discountPercent }: RatedLine): LineCosts => {
  const quantity = decimal(pricedQuantity)
  const share = decimal('100').minus(decimal(discountPercent)).times(decimal('0.01'))
  const contractedPrice = decimal(unitPrice).times(share)
  return { list: quantity.times(decimal(unitPrice)), contracted: quantity.times(contractedPrice), contractedPrice }
}

/** Returns the text of a number without its sign, and whether it is negative. */
export const unsigned = (value: Decimal): { readonly text: string; readonly isNegative: boolean } => ({
  text: decimalText(value.abs()),
  isNegative: value.lt(decimal('0')),
})
