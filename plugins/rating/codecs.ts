import * as t from 'io-ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { InvoiceId } from '../../core/rating/invoices/ports.ts'
import { invoiceKinds, invoiceStates } from '../../core/rating/invoices/ports.ts'
import { monthText, parseMonth } from '../../core/rating/months.ts'
import { decimalForm, mostPrices, mostTiers, slugForm } from '../../core/rating/prices/price-rules.ts'
import type { PriceBookId } from '../../core/rating/types.ts'
import { measures, pricedUses, priceModels, taxCategories } from '../../core/rating/types.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import {
  answer,
  bodyId,
  described,
  freeText,
  Instant,
  Int64,
  int32,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  pathId,
  pathName,
  patternText,
  plainValue,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** A month as `2026-11`. */
export const Month = noted(
  new t.Type<MonthKey, string, unknown>(
    'a month such as 2026-11',
    (u): u is MonthKey => typeof u === 'number',
    (u, c) => {
      const month = typeof u === 'string' ? parseMonth(u) : undefined
      return month === undefined ? t.failure(u, c) : t.success(month)
    },
    monthText,
  ),
  { type: 'string', pattern: '^[2-9][0-9]{3}-(0[1-9]|1[0-2])$' },
)
const PathMonth = plainValue(Month)

const DecimalText = patternText(decimalForm, 21, 'a decimal number such as 12.50, without a sign or an exponent')
export const Slug = patternText(slugForm, 63, 'letters, digits and hyphens, in lower case')

const account = described(pathName('account'), 'The login of the account that is meant.')
export const InAccount = request({ org: account }, 'RatingAccountQuery')
export const InAccountAndMonth = request(
  { org: account, month: described(optional(PathMonth), 'The month of the prices; the running one by default.') },
  'RatingAccountMonthQuery',
)
export const MonthPath = request(
  { month: described(naming(Month, 'invoiced month', 'name'), 'The month of the charges, such as 2026-11.') },
  'FocusMonthPath',
)

export const IssuerPath = request(
  { issuer: described(naming(Slug, 'invoice issuer', 'name'), 'The name of the issuer, in lower case.') },
  'InvoiceIssuerPath',
)
export const PriceBookPath = request(
  { priceBookID: described(pathId<PriceBookId>('price book'), 'The id of the price book.') },
  'PriceBookPath',
)
export const ContractPath = request(
  { contractID: described(pathId<ContractId>('contract'), 'The id of a contract of any account.') },
  'PricedContractPath',
)
export const InvoicePath = request(
  { invoiceID: described(pathId<InvoiceId>('invoice'), 'The id of the invoice.') },
  'InvoicePath',
)

const MailAddress = patternText(/^[^\s@,;<>]+@[^\s@,;<>]+$/, 254, 'a mail address')
const Country = patternText(/^[A-Z]{2}$/, 2, 'a code of ISO 3166-1 alpha-2 such as DE')

const partyFields = {
  legalName: described(freeText(255, 1), 'The registered name.'),
  street: described(freeText(255), 'The street with the number.'),
  city: described(freeText(255, 1), 'The city.'),
  postcode: described(freeText(32), 'The postal code.'),
  country: described(Country, 'The country, a code of ISO 3166-1 alpha-2.'),
  taxID: described(freeText(64), 'The number for value added tax; empty if there is none.'),
  email: described(freeText(254), 'The address for questions about invoices; may be empty.'),
}
const Party = answer(partyFields, 'InvoiceParty')

export const IssuerDetails = request(
  {
    ...partyFields,
    taxID: described(freeText(64, 1), 'The number for value added tax, or of the register. EN 16931 needs one.'),
    numberPrefix: described(
      patternText(/^[A-Za-z0-9._/ -]*$/, 20, 'at most 20 letters, digits, spaces and . _ / -'),
      'Printed before the number of each invoice, such as `MO-`.',
    ),
    notes: described(textLines(4000), 'Printed on each invoice: the account to pay to, the register.'),
  },
  'InvoiceIssuerDetails',
)
export const Issuer = answer(
  {
    name: described(t.string, 'The name of the issuer, in lower case.'),
    ...partyFields,
    numberPrefix: described(t.string, 'Printed before the number of each invoice.'),
    notes: described(t.string, 'Printed on each invoice.'),
    nextNumber: described(SafeInteger, 'The number that the next invoice or credit note gets. Numbers have no gaps.'),
  },
  'InvoiceIssuer',
)

export const PriceBookInput = request(
  {
    name: described(freeText(255, 1), 'The name of the price book, unique.'),
    currency: described(freeText(3), 'A code of ISO 4217 with 0, 2 or 3 digits after the point, such as EUR.'),
    issuer: described(freeText(63), 'The name of the issuer of the invoices.'),
  },
  'PriceBookInput',
)
export const PriceBook = answer(
  {
    id: described(SafeInteger, 'The id of the price book.'),
    name: described(t.string, 'The name of the price book.'),
    currency: described(t.string, 'The currency of all its prices, a code of ISO 4217.'),
    issuer: described(t.string, 'The name of the issuer of the invoices.'),
    createdAt: described(Instant, 'When the price book was created.'),
  },
  'PriceBook',
)

const Tier = request(
  {
    upTo: described(optional(DecimalText), 'The quantity up to which the tier counts; absent in the last tier.'),
    unitPrice: described(DecimalText, 'The price of one unit.'),
  },
  'PriceTier',
)
const priceFields = {
  id: described(Slug, 'Unique in the version. The same price keeps its id in later versions.'),
  description: described(freeText(200, 1), 'What the line of the invoice says.'),
  model: described(
    oneOf(...priceModels),
    '`flat`: an amount for the month. `per-unit`: the amount for each unit. `graduated`: each tier for the quantity ' +
      'within it. `volume`: the whole quantity at the tier that it reaches. `package`: the amount for each package that ' +
      'is begun. `percentage`: so many percent of other lines.',
  ),
}
const priceOptions = {
  product: described(optional(oneOf(...usageProducts)), 'The product whose use counts; all products if absent.'),
  measure: described(optional(oneOf(...measures)), '`cpu`: core-months. `memory`: GiB-months. Absent for flat prices.'),
  use: described(optional(oneOf(...pricedUses)), 'The use that counts; by default `all`.'),
  amount: described(optional(DecimalText), 'In the currency of the book, or in percent; by default 0.'),
  tiers: described(optional(listOf(Tier, mostTiers)), 'Of `graduated` and `volume`, ascending; none otherwise.'),
  packageSize: described(optional(DecimalText), 'Of `package`: the units in a package.'),
  included: described(optional(DecimalText), 'The quantity of a whole month that costs nothing; by default 0.'),
  minimum: described(optional(DecimalText), 'The least that the line costs in a whole month; none if absent.'),
  maximum: described(optional(DecimalText), 'The most that the line costs in a whole month; none if absent.'),
  percentOf: described(optional(listOf(Slug, mostPrices)), 'Of `percentage`: the ids of the prices that it counts.'),
}
const PriceInput = request({ ...priceFields, ...priceOptions }, 'PriceInput')
const Price = answer({ ...priceFields, ...priceOptions }, 'Price')

export const PriceVersionInput = request(
  {
    from: described(Month, 'The first month in which the prices count, such as 2026-11.'),
    prices: described(listOf(PriceInput, mostPrices, 1), 'The prices, in the order of the lines.'),
  },
  'PriceVersionInput',
)
export const PriceVersion = answer(
  {
    number: described(SafeInteger, 'The number of the version, from 1.'),
    from: described(Month, 'The first month in which the prices count.'),
    prices: described(t.readonlyArray(Price), 'The prices, in the order of the lines.'),
    createdAt: described(Instant, 'When the version was added. It never changes.'),
  },
  'PriceVersion',
)

const commitment = described(
  optional(DecimalText),
  'What the contract pays at least in a whole month after discounts; nothing if absent.',
)
export const ContractPricingInput = request(
  {
    from: described(Month, 'The first month in which the contract is billed so.'),
    priceBookID: described(bodyId<PriceBookId>(), 'The id of the price book.'),
    discountPercent: described(optional(DecimalText), 'Taken off each line, in percent; by default 0.'),
    commitment,
  },
  'ContractPricingInput',
)
export const ContractPricing = answer(
  {
    from: described(Month, 'The first month in which the contract is billed so.'),
    priceBookID: described(SafeInteger, 'The id of the price book.'),
    discountPercent: described(DecimalText, 'Taken off each line, in percent.'),
    commitment,
    createdAt: described(Instant, 'When it was set.'),
  },
  'ContractPricing',
)

export const PricedContract = answer(
  {
    contractID: described(SafeInteger, 'The id of a contract of the account.'),
    name: described(t.string, 'The name of the contract.'),
    priceBook: described(optional(t.string), 'The name of the price book; absent if the contract has no prices.'),
    currency: described(optional(t.string), 'The currency of the prices; absent if the contract has no prices.'),
    discountPercent: described(optional(DecimalText), 'Taken off each line; absent if the contract has no prices.'),
    commitment,
    version: described(optional(PriceVersion), 'The prices of the month; absent if there are none.'),
  },
  'PricedContract',
)

const SpendLimit = request(
  {
    currency: described(freeText(3), 'The currency of the limit, a code of ISO 4217.'),
    amount: described(Int64, 'In minor units of the currency: cents of EUR.'),
  },
  'SpendLimit',
)
const customerFields = {
  ...partyFields,
  taxCategory: described(
    oneOf(...taxCategories),
    'As EN 16931 has it. S: standard. Z: zero rated. E: exempt. AE: reverse charge. K: within the union. G: export. O: ' +
      'outside the scope.',
  ),
  taxPercent: described(DecimalText, 'The rate in percent; 0 for all categories but S.'),
  taxReason: described(freeText(1000), 'Why no tax is charged; empty for S and Z.'),
  paymentDays: described(int32(0, 366), 'Within how many days after its issue an invoice is to be paid.'),
  emails: described(listOf(MailAddress, 50), 'Addresses to which invoices and alerts are sent.'),
  spendLimit: described(
    optional(SpendLimit),
    'What may be spent in a month before tax: mails are sent at 50, 80 and 100 %. No limit if absent.',
  ),
}
export const CustomerDetails = request(customerFields, 'BillingDetailsInput')
export const Customer = answer(customerFields, 'BillingDetails')

const lineFields = {
  contractID: described(SafeInteger, 'The id of a contract of the account.'),
  contractName: described(t.string, 'The name of the contract.'),
  priceID: described(t.string, 'The id of the price; empty for a line that was added by hand.'),
  description: described(t.string, 'What is charged.'),
  model: described(t.string, 'The model of the price, `commitment` or `manual`.'),
  product: described(optional(t.string), 'The product; absent for lines of all products.'),
  quantity: described(t.string, 'What was used.'),
  unit: described(t.string, 'The unit of the quantity.'),
  pricedQuantity: described(t.string, 'The quantity that is charged.'),
  pricedUnit: described(t.string, 'The unit of that quantity; `charge` for tiers, packages and limits.'),
  unitPrice: described(
    t.string,
    'The price of one, in major units. Its product with `pricedQuantity` is the list price.',
  ),
  discountPercent: described(t.string, 'Taken off the list price, in percent.'),
  net: described(Int64, 'In minor units, after the discount, rounded once: half away from zero.'),
  priceVersion: described(SafeInteger, 'The number of the version of the prices; 0 for a line that was added by hand.'),
  reason: described(t.string, 'Why the line was added or changed; may be empty.'),
}
const InvoiceLine = answer(lineFields, 'InvoiceLine')

const invoiceFields = {
  id: described(SafeInteger, 'The id of the invoice.'),
  kind: described(oneOf(...invoiceKinds), 'The amounts of a credit note are credited.'),
  state: described(oneOf(...invoiceStates), 'A draft has no number and can change. The others never change.'),
  number: described(optional(t.string), 'The number, unique and without gaps for the issuer; absent for a draft.'),
  account: described(t.string, 'The login of the account; empty if it is gone.'),
  month: described(Month, 'The month whose use is charged.'),
  revision: described(SafeInteger, 'The revision of the report of the month.'),
  currency: described(t.string, 'A code of ISO 4217.'),
  currencyDigits: described(SafeInteger, 'The digits after the point: amounts are integers in units of the last one.'),
  net: described(Int64, 'The sum of the lines, in minor units.'),
  tax: described(Int64, 'In minor units; 0 for a draft.'),
  gross: described(Int64, 'What is to be paid: net and tax, in minor units.'),
  correctsInvoiceID: described(optional(SafeInteger), 'The id of the invoice that a credit note is for.'),
  correctsNumber: described(optional(t.string), 'The number of the invoice that a credit note is for.'),
  createdAt: described(Instant, 'When the draft was made.'),
  issuedAt: described(optional(Instant), 'When the number was given; absent for a draft.'),
  dueAt: described(optional(Instant), 'Until when it is to be paid; absent for a draft.'),
  sentAt: described(optional(Instant), 'When it was mailed last; absent if it was not.'),
  paidAt: described(optional(Instant), 'When it was paid; absent if it was not.'),
  paymentReference: described(t.string, 'What was recorded of the payment; may be empty.'),
  voidedAt: described(optional(Instant), 'When it was declared void; absent if it was not.'),
  voidReason: described(t.string, 'Why it is void; empty if it is not.'),
}
export const InvoiceSummary = answer(invoiceFields, 'InvoiceSummary')
export const Invoice = answer(
  {
    ...invoiceFields,
    seller: described(optional(Party), 'Who issued it, as of then; absent for a draft.'),
    buyer: described(optional(Party), 'Who pays, as of the issue; absent for a draft.'),
    taxCategory: described(optional(oneOf(...taxCategories)), 'As EN 16931 has it; absent for a draft.'),
    taxPercent: described(optional(t.string), 'The rate in percent; absent for a draft.'),
    taxReason: described(optional(t.string), 'Why no tax is charged; absent for a draft.'),
    rounding: described(t.string, 'The rule of rounding, for people.'),
    lines: described(t.readonlyArray(InvoiceLine), 'The lines, in order.'),
  },
  'Invoice',
)
export const Invoices = answer({ invoices: described(t.readonlyArray(Invoice), 'The drafts.') }, 'InvoiceDrafts')

export const DraftRequest = request({ month: described(Month, 'A final month, such as 2026-11.') }, 'DraftInvoices')
export const ManualLine = request(
  {
    contractID: described(bodyId<ContractId>(), 'The id of a contract that the draft has lines of.'),
    description: described(freeText(200, 1), 'What the line says.'),
    amount: described(SafeInteger, 'In minor units; negative to take something off.'),
    reason: described(freeText(1000, 1), 'Why the line is added.'),
  },
  'ManualInvoiceLine',
)
export const Payment = request(
  {
    reference: described(freeText(255), 'What the bank says of the payment; may be empty.'),
    paidAt: described(optional(Instant), 'When it was paid; now by default.'),
  },
  'InvoicePayment',
)
export const VoidRequest = request({ reason: described(freeText(1000, 1), 'Why it is void.') }, 'VoidInvoice')
export const CreditRequest = request(
  {
    reason: described(freeText(1000, 1), 'Why the amount is credited.'),
    lines: described(
      optional(
        listOf(
          request(
            {
              line: described(int32(1), 'The number of a line of the invoice, from 1.'),
              amount: described(optional(SafeInteger), 'In minor units; what is left of the line by default.'),
            },
            'CreditedLine',
          ),
          1000,
          1,
        ),
      ),
      'The lines that are credited; all of them by default.',
    ),
  },
  'CreditInvoice',
)

export const FileQuery = request(
  {
    org: account,
    format: described(optional(oneOf('pdf', 'xml', 'csv')), '`pdf` (the default), `xml` (UBL 2.1, EN 16931) or `csv`.'),
  },
  'InvoiceFileQuery',
)

export const Preview = answer(
  {
    month: described(Month, 'The running month.'),
    computedAt: described(Instant, 'Up to when use counts.'),
    totals: described(
      t.readonlyArray(
        answer(
          {
            issuer: described(t.string, 'The name of the issuer.'),
            currency: described(t.string, 'A code of ISO 4217.'),
            currencyDigits: described(SafeInteger, 'The digits after the point.'),
            net: described(Int64, 'The sum of the lines so far, before tax, in minor units.'),
            lines: described(t.readonlyArray(InvoiceLine), 'The lines so far.'),
          },
          'InvoicePreviewTotal',
        ),
      ),
      'One for each issuer and currency.',
    ),
    contractsWithoutPrices: described(t.readonlyArray(SafeInteger), 'The ids of contracts in force without prices.'),
  },
  'InvoicePreview',
)
