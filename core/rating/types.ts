import type { ContractId } from '../contracts/types.ts'
import type { AccountId, Brand } from '../kernel/ids.ts'
import type { MonthKey, UsageProduct } from '../usage/types.ts'

export type IssuerId = Brand<number, 'IssuerId'>
export type PriceBookId = Brand<number, 'PriceBookId'>

/** The name and address of a party to an invoice, as they are printed. */
export interface Party {
  readonly legalName: string
  readonly street: string
  readonly city: string
  readonly postcode: string
  /** A code of ISO 3166-1 alpha-2: `DE`. */
  readonly country: string
  /** The number under which the party is registered for value added tax; empty if it has none. */
  readonly taxId: string
  readonly email: string
}

/** Codes of EN 16931 (UNCL 5305): standard, zero, exempt, reverse charge, intra-community, export, outside the scope. */
export const taxCategories = ['S', 'Z', 'E', 'AE', 'K', 'G', 'O'] as const
export type TaxCategory = (typeof taxCategories)[number]

/** Who issues invoices: the seller. Its numbers have no gaps. */
export interface Issuer {
  readonly id: IssuerId
  /** Unique, in lower case. */
  readonly name: string
  readonly party: Party
  /** Before the number of each invoice: `MO-` gives `MO-000001`. */
  readonly numberPrefix: string
  /** Printed on each invoice: the account to pay to, the register. */
  readonly notes: string
  /** The number of the next invoice or credit note. */
  readonly nextNumber: number
}

/** Who pays, with the tax rate that applies. All of it comes from outside. */
export interface Customer {
  readonly ownerId: AccountId
  readonly party: Party
  readonly taxCategory: TaxCategory
  /** In percent: `19`. */
  readonly taxPercent: string
  /** Why no tax is charged; needed for the categories E, AE, K, G and O. */
  readonly taxReason: string
  /** Within how many days of its issue an invoice is to be paid. */
  readonly paymentDays: number
  /** Addresses to which invoices and alerts are sent. */
  readonly emails: readonly string[]
  /** What may be spent in a month before tax. */
  readonly spendLimit: { readonly currency: string; readonly amount: bigint } | undefined
}

export const measures = ['cpu', 'memory'] as const
/** `cpu`: core-months. `memory`: GiB-months. */
export type Measure = (typeof measures)[number]

export const pricedUses = ['prod', 'non-prod', 'all'] as const
/** The use that a price counts: in production, other use that is billed, or both. */
export type PricedUse = (typeof pricedUses)[number]

export const priceModels = ['flat', 'per-unit', 'graduated', 'volume', 'package', 'percentage'] as const
export type PriceModel = (typeof priceModels)[number]

/** One step of a price. */
export interface PriceTier {
  /** The quantity up to which it counts; undefined for the last one. */
  readonly upTo: string | undefined
  readonly unitPrice: string
}

/** What something costs. Amounts are decimal numbers in major units of the currency of the book. */
export interface Price {
  /** Unique within the version. The same price keeps its id in later versions. */
  readonly id: string
  readonly description: string
  readonly model: PriceModel
  /** Undefined for a flat price or a percentage of all products. */
  readonly product: UsageProduct | undefined
  /** Undefined for flat prices and percentages. */
  readonly measure: Measure | undefined
  readonly use: PricedUse
  /** Of a month (`flat`), a unit (`per-unit`), a package (`package`), or in percent (`percentage`). */
  readonly amount: string
  /** Of `graduated` and `volume`: ascending, the last one without an end. */
  readonly tiers: readonly PriceTier[]
  /** Of `package`: the units in a package. */
  readonly packageSize: string
  /** The quantity of a month that costs nothing. */
  readonly included: string
  /** What the line costs at least and at most in a month. */
  readonly minimum: string | undefined
  readonly maximum: string | undefined
  /** Of `percentage`: the ids of the prices whose lines it counts. */
  readonly percentOf: readonly string[]
}

export interface PriceBook {
  readonly id: PriceBookId
  readonly name: string
  readonly currency: string
  readonly issuerName: string
  readonly issuerId: IssuerId
  /** The last month of which an invoice was issued by its prices; undefined if there is none. */
  readonly invoicedTo: MonthKey | undefined
  readonly createdAt: Date
}

/** Prices that never change. Those of a month are of the version with the latest `from` that is not after the month. */
export interface PriceVersion {
  readonly number: number
  /** The first month. */
  readonly from: MonthKey
  readonly prices: readonly Price[]
  readonly createdAt: Date
}

/** By which prices a contract is billed. Of several, the one with the latest `from` counts. */
export interface ContractPricing {
  readonly contractId: ContractId
  /** The first month. */
  readonly from: MonthKey
  readonly bookId: PriceBookId
  /** Off each line, in percent: `10`. */
  readonly discountPercent: string
  /** What the contract pays at least in a month after discounts, in major units; undefined without a commitment. */
  readonly commitment: string | undefined
  readonly createdAt: Date
}

/** What a contract has used of a product in a month, in units of the month. */
export interface ProductUse {
  readonly product: UsageProduct
  /** In which the contract covered the product, within the month. */
  readonly seconds: number
  readonly prod: Readonly<Record<Measure, string>>
  readonly nonProd: Readonly<Record<Measure, string>>
}

/** What is known of a contract when its month is rated. */
export interface ContractUse {
  readonly contractId: ContractId
  readonly name: string
  readonly products: readonly ProductUse[]
}

/** A line of an invoice before tax. */
export interface RatedLine {
  readonly contractId: ContractId
  readonly contractName: string
  /** The id of the price; of a commitment `commitment`, of a line that was added by hand empty. */
  readonly priceId: string
  readonly description: string
  readonly model: PriceModel | 'commitment' | 'manual'
  readonly product: UsageProduct | undefined
  /** What was used, with its unit. */
  readonly quantity: string
  readonly unit: string
  /** Of what is charged: the list price before the discount is exactly their product. */
  readonly pricedQuantity: string
  /** `charge` for what is no multiple of a price. */
  readonly pricedUnit: string
  readonly unitPrice: string
  readonly discountPercent: string
  /** After the discount, rounded once. */
  readonly net: bigint
  /** The version of the prices; 0 for a line that was added by hand. */
  readonly versionNumber: number
  readonly bookId: PriceBookId
  /** Why the line was added or changed; empty for a line of a month that was not invoiced before. */
  readonly reason: string
}
