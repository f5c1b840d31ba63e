import { csvCell } from './usage-csv.ts'

/**
 * A charge as the FinOps cost and usage specification (FOCUS 1.2) has it. Numbers are decimal texts; undefined is null.
 * Periods end just before `to`.
 */
export interface FocusCharge {
  readonly account: { readonly id: string; readonly name: string }
  readonly contract: { readonly id: string; readonly name: string } | undefined
  readonly issuerName: string
  readonly currency: string
  readonly period: { readonly from: Date; readonly to: Date }
  readonly category: 'Usage' | 'Purchase' | 'Tax' | 'Adjustment'
  readonly isCorrection: boolean
  readonly frequency: 'Usage-Based' | 'Recurring' | 'One-Time'
  readonly description: string
  readonly invoiceNumber: string
  readonly billedCost: string
  readonly listCost: string
  readonly contractedCost: string
  /** Undefined for taxes. */
  readonly pricing:
    | { readonly quantity: string; readonly unit: string; readonly listPrice: string; readonly contractedPrice: string }
    | undefined
  /** Of usage. */
  readonly consumed: { readonly quantity: string; readonly unit: string } | undefined
  readonly service: FocusService
  /** Undefined for taxes and adjustments. */
  readonly sku: { readonly id: string; readonly priceId: string; readonly model: string } | undefined
  /** Month and revision of the report of usage. */
  readonly closing: string
}

export type FocusService = 'database' | 'backup' | 'vault' | 'ingress' | 'other'

const services: Readonly<Record<FocusService, readonly [name: string, category: string, subcategory: string]>> = {
  database: ['Databases', 'Databases', 'Other (Databases)'],
  backup: ['Backup', 'Storage', 'Backup Storage'],
  vault: ['Vault', 'Security', 'Other (Security)'],
  ingress: ['Ingress', 'Networking', 'Other (Networking)'],
  other: ['Platform', 'Other', 'Other (Other)'],
}

/** Units as the specification writes them. */
const units: Readonly<Record<string, string>> = {
  'core-month': 'Core-Months',
  'GiB-month': 'GiB-Months',
  month: 'Months',
  charge: 'Charges',
}
const unitOf = (unit: string | undefined): string | undefined =>
  unit === undefined ? undefined : (units[unit] ?? unit)

const meters: Readonly<Record<string, string>> = { 'core-month': 'CPU', 'GiB-month': 'Memory' }

const second = (at: Date): string => at.toISOString().replace('.000Z', 'Z')

/** A number with a point: programs that infer types take `250` for an integer. */
class Digits {
  readonly text: string

  constructor(text: string) {
    this.text = text.includes('.') ? text : `${text}.0`
  }
}
type Value = string | Digits | undefined

const digits = (text: string | undefined): Value => (text === undefined ? undefined : new Digits(text))

/** The columns in their order, each with its value. Columns that begin with `x_` are our own. */
const columns: readonly (readonly [name: string, of: (charge: FocusCharge) => Value])[] = [
  ['BilledCost', ({ billedCost }) => digits(billedCost)],
  ['BillingAccountId', ({ account }) => account.id],
  ['BillingAccountName', ({ account }) => account.name],
  ['BillingAccountType', () => 'Account'],
  ['BillingCurrency', ({ currency }) => currency],
  ['BillingPeriodEnd', ({ period }) => second(period.to)],
  ['BillingPeriodStart', ({ period }) => second(period.from)],
  ['ChargeCategory', ({ category }) => category],
  ['ChargeClass', ({ isCorrection }) => (isCorrection ? 'Correction' : undefined)],
  ['ChargeDescription', ({ description }) => description],
  ['ChargeFrequency', ({ frequency }) => frequency],
  ['ChargePeriodEnd', ({ period }) => second(period.to)],
  ['ChargePeriodStart', ({ period }) => second(period.from)],
  // There are no commitment discounts.
  ['CommitmentDiscountStatus', () => undefined],
  ['ConsumedQuantity', ({ consumed }) => digits(consumed?.quantity)],
  ['ConsumedUnit', ({ consumed }) => unitOf(consumed?.unit)],
  ['ContractedCost', ({ contractedCost }) => digits(contractedCost)],
  ['ContractedUnitPrice', ({ pricing }) => digits(pricing?.contractedPrice)],
  ['EffectiveCost', ({ billedCost }) => digits(billedCost)],
  ['InvoiceId', ({ invoiceNumber }) => invoiceNumber],
  ['InvoiceIssuerName', ({ issuerName }) => issuerName],
  ['ListCost', ({ listCost }) => digits(listCost)],
  ['ListUnitPrice', ({ pricing }) => digits(pricing?.listPrice)],
  ['PricingCategory', ({ pricing }) => (pricing === undefined ? undefined : 'Standard')],
  // Prices are in the currency of the invoice.
  ['PricingCurrency', ({ currency }) => currency],
  ['PricingCurrencyContractedUnitPrice', ({ pricing }) => digits(pricing?.contractedPrice)],
  ['PricingCurrencyEffectiveCost', ({ billedCost }) => digits(billedCost)],
  ['PricingCurrencyListUnitPrice', ({ pricing }) => digits(pricing?.listPrice)],
  ['PricingQuantity', ({ pricing }) => digits(pricing?.quantity)],
  ['PricingUnit', ({ pricing }) => unitOf(pricing?.unit)],
  ['ProviderName', ({ issuerName }) => issuerName],
  ['PublisherName', ({ issuerName }) => issuerName],
  ['ServiceCategory', ({ service }) => services[service][1]],
  ['ServiceName', ({ service }) => services[service][0]],
  ['ServiceSubcategory', ({ service }) => services[service][2]],
  ['SkuId', ({ sku }) => sku?.id],
  ['SkuMeter', ({ sku, consumed }) => (sku === undefined ? undefined : (meters[consumed?.unit ?? ''] ?? 'Fee'))],
  ['SkuPriceDetails', ({ sku }) => (sku === undefined ? undefined : `{"x_Model": "${sku.model}"}`)],
  ['SkuPriceId', ({ sku }) => sku?.priceId],
  ['SubAccountId', ({ contract }) => contract?.id],
  ['SubAccountName', ({ contract }) => contract?.name],
  ['SubAccountType', ({ contract }) => (contract === undefined ? undefined : 'Contract')],
  ['x_ContractId', ({ contract }) => contract?.id],
  ['x_Closing', ({ closing }) => closing],
]

const line = (cells: readonly string[]): string => `${cells.join(',')}\r\n`

export const focusHead: string = line(columns.map(([name]) => name))

/** Returns a charge as a row of CSV. Null is empty. A text that a spreadsheet takes for a formula has an apostrophe. */
export const focusRow = (charge: FocusCharge): string =>
  line(
    columns.map(([, of]) => {
      const value = of(charge)
      return value instanceof Digits ? value.text : csvCell(value)
    }),
  )
