import type { ContractId } from '../../contracts/types.ts'
import type { BilledProductUse } from '../../usage/overview-ports.ts'
import type { MonthKey } from '../../usage/types.ts'
import { digitsOf, sumOf } from '../money.ts'
import { secondsOf } from '../months.ts'
import type { ContractPricingStore, PriceBookStore } from '../ports.ts'
import { inMonth, rateContract } from '../rate.ts'
import type {
  ContractPricing,
  ContractUse,
  IssuerId,
  PriceBook,
  PriceBookId,
  PriceVersion,
  RatedLine,
} from '../types.ts'

export interface PriceReads {
  readonly books: Pick<PriceBookStore, 'get' | 'versions'>
  readonly pricings: Pick<ContractPricingStore, 'listOf'>
}

/** What an account is charged by one issuer in one currency. */
export interface RatedGroup {
  readonly issuerId: IssuerId
  readonly issuerName: string
  readonly currency: string
  readonly lines: readonly RatedLine[]
  /** The sum of the lines. */
  readonly net: bigint
}

export interface RatedAccount {
  readonly groups: readonly RatedGroup[]
  /** Contracts that were used and have no prices in the month. */
  readonly unpriced: readonly ContractId[]
}

interface Prices {
  readonly book: PriceBook
  readonly version: PriceVersion
  readonly pricing: ContractPricing
}

/** Returns what each contract is rated with. A contract without a pricing, or of a book without prices, is left out. */
const pricesOf = async (
  { books, pricings }: PriceReads,
  contractIds: readonly ContractId[],
  month: MonthKey,
): Promise<ReadonlyMap<ContractId, Prices>> => {
  const all = Map.groupBy(await pricings.listOf(contractIds), ({ contractId }) => contractId)
  const read = new Map<PriceBookId, { readonly book: PriceBook; readonly version: PriceVersion } | undefined>()
  const found = new Map<ContractId, Prices>()
  for (const id of contractIds) {
    const pricing = inMonth(all.get(id) ?? [], month)
    if (pricing === undefined) continue
    const { bookId } = pricing
    if (!read.has(bookId)) {
      const [book, versions] = [await books.get(bookId), await books.versions(bookId)]
      const version = inMonth(versions, month)
      read.set(bookId, book === undefined || version === undefined ? undefined : { book, version })
    }
    const prices = read.get(bookId)
    if (prices !== undefined) found.set(id, { ...prices, pricing })
  }
  return found
}

const contractUses = (uses: readonly BilledProductUse[]): readonly ContractUse[] =>
  [...Map.groupBy(uses, ({ contractId }) => contractId)]
    .sort(([a], [b]) => a - b)
    .map(([contractId, products]) => ({ contractId, name: products[0]?.contractName ?? '', products }))

/** Rates what an account has used in a month: by issuer and currency, contracts ascending. */
export const rateAccount = async (
  reads: PriceReads,
  month: MonthKey,
  used: readonly BilledProductUse[],
): Promise<RatedAccount> => {
  const uses = contractUses(used)
  const prices = await pricesOf(
    reads,
    uses.map(({ contractId }) => contractId),
    month,
  )
  const monthSeconds = secondsOf(month)
  const lines = uses.flatMap((use) => {
    const own = prices.get(use.contractId)
    if (own === undefined) return []
    const { book, version, pricing } = own
    const rates = { version, pricing, digits: digitsOf(book.currency) ?? 2, monthSeconds }
    return rateContract(use, rates).map((line) => ({ book, line }))
  })
  const groups = [...Map.groupBy(lines, ({ book }) => `${book.issuerId} ${book.currency}`).values()]
  return {
    groups: groups.flatMap((own) => {
      const [first] = own
      if (first === undefined) return []
      const { issuerId, issuerName, currency } = first.book
      const all = own.map(({ line }) => line)
      return [{ issuerId, issuerName, currency, lines: all, net: sumOf(all.map(({ net }) => net)) }]
    }),
    unpriced: uses.flatMap(({ contractId }) => (prices.has(contractId) ? [] : [contractId])),
  }
}
