import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import { decimal, zero } from '../money.ts'
import type { Price, PriceModel, PriceTier } from '../types.ts'

/** A price, or a term of a contract's pricing, is not valid. */
export const PriceInvalid = defineFailure('PriceInvalid', 'Unprocessable', 'A price is not valid.')

/** A decimal number of at most 12 digits before and 8 after the point. */
export const decimalForm = /^(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,8})?$/
/** Letters, digits and hyphens. */
export const slugForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export const mostPrices = 500
export const mostTiers = 50

/** A price as a request has it. */
export type PriceDraft = Pick<Price, 'id' | 'description' | 'model'> & {
  readonly [K in keyof Omit<Price, 'id' | 'description' | 'model'>]?: Price[K] | undefined
}

const usesMeasure = (model: PriceModel): boolean => model !== 'flat' && model !== 'percentage'
const usesTiers = (model: PriceModel): boolean => model === 'graduated' || model === 'volume'

const tiersFault = (tiers: readonly PriceTier[]): string | undefined => {
  if (tiers.length === 0 || tiers.length > mostTiers) return `has 1 to ${mostTiers} tiers.`
  const ends = tiers.map(({ upTo }) => upTo)
  if (ends.at(-1) !== undefined) return 'has a last tier without upTo.'
  const starts = [zero, ...ends.slice(0, -1).map((end) => (end === undefined ? undefined : decimal(end)))]
  const isAscending = starts.every((start, i) => {
    const before = starts[i - 1]
    return start !== undefined && (before === undefined || start.gt(before))
  })
  return isAscending ? undefined : 'has tiers whose upTo ascends.'
}

const faultOf = (price: Price): string | undefined => {
  const { model, measure, product, minimum, maximum } = price
  if (usesMeasure(model) && (measure === undefined || product === undefined))
    return `needs product and measure: its model is ${model}.`
  if (!usesMeasure(model) && measure !== undefined) return `has no measure: its model is ${model}.`
  if (usesTiers(model)) return tiersFault(price.tiers)
  if (price.tiers.length > 0) return `has no tiers: its model is ${model}.`
  if (model === 'package' && decimal(price.packageSize).eq(zero)) return 'needs packageSize above 0.'
  if (model === 'percentage' && price.percentOf.length === 0) return 'needs percentOf: the ids of other prices.'
  if (model !== 'percentage' && price.percentOf.length > 0) return `has no percentOf: its model is ${model}.`
  if (minimum !== undefined && maximum !== undefined && decimal(minimum).gt(decimal(maximum)))
    return 'has a minimum up to its maximum.'
  return undefined
}

const priceOf = (draft: PriceDraft): Price => ({
  id: draft.id,
  description: draft.description,
  model: draft.model,
  product: draft.product,
  measure: draft.measure,
  use: draft.use ?? 'all',
  amount: draft.amount ?? '0',
  tiers: draft.tiers ?? [],
  packageSize: draft.packageSize ?? '0',
  included: draft.included ?? '0',
  minimum: draft.minimum,
  maximum: draft.maximum,
  percentOf: draft.percentOf ?? [],
})

/** Returns the prices of a version, each with its defaults, or what is wrong with the first that is not valid. */
export const parsePrices = (drafts: readonly PriceDraft[]): Either<Failure<'PriceInvalid'>, readonly Price[]> => {
  const prices = drafts.map(priceOf)
  const byId = new Map(prices.map((price) => [price.id, price]))
  if (byId.size < prices.length) return left(PriceInvalid('Two prices have the same id.'))
  if (byId.has('commitment')) return left(PriceInvalid('The id commitment is reserved. Choose another.'))
  for (const price of prices) {
    const fault = faultOf(price)
    if (fault !== undefined) return left(PriceInvalid(`A valid price ${price.id} ${fault}`))
    const [unknown] = price.percentOf.filter((id) => (byId.get(id)?.model ?? 'percentage') === 'percentage')
    if (unknown !== undefined)
      return left(PriceInvalid(`percentOf of the price ${price.id} names ${unknown}, which is no price of lines.`))
  }
  return right(prices)
}
