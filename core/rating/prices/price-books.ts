import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ContractStore } from '../../contracts/ports.ts'
import { ContractMissing } from '../../contracts/ports.ts'
import type { Contract, ContractId } from '../../contracts/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { fromWireJson, isSameJson, toWireJson } from '../../kernel/json.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { MonthKey } from '../../usage/types.ts'
import { decimal, digitsOf } from '../money.ts'
import type { ContractPricingStore, CustomerStore, IssuerStore, PriceBookStore, PriceUnitOfWork } from '../ports.ts'
import { CustomerMissing, IssuerMissing, PriceBookMissing, PriceBookNameTaken, PricesInUse } from '../ports.ts'
import { inMonth } from '../rate.ts'
import type { ContractPricing, Customer, Issuer, PriceBook, PriceBookId, PriceVersion } from '../types.ts'
import type { PriceDraft } from './price-rules.ts'
import { parsePrices, PriceInvalid } from './price-rules.ts'

interface PriceDeps {
  readonly clock: Clock
  readonly unitOfWork: PriceUnitOfWork
}

const auditOfIssuer = defineAudit('invoice_issuer', ['invoice_issuer.changed'], ({ name }: Pick<Issuer, 'name'>) => ({
  objectName: name,
}))
const auditOfBook = defineAudit(
  'price_book',
  ['price_book.created', 'price_book.version_added'],
  ({ id, name }: Pick<PriceBook, 'id' | 'name'>) => ({ objectId: id, objectName: name }),
)
const auditOfContract = defineAudit(
  'contract',
  ['contract.priced'],
  ({ id, name, ownerId }: Pick<Contract, 'id' | 'name' | 'ownerId'>) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)
const auditOfCustomer = defineAudit(
  'billing_details',
  ['billing_details.changed'],
  ({ ownerId }: Pick<Customer, 'ownerId'>) => ({ objectId: ownerId, tenantId: ownerId }),
)

/** Reports whether a change changes nothing. A field that is absent is the same as one that is undefined. */
const isSame = (before: Issuer | Customer, after: Issuer | Customer): boolean =>
  isSameJson(fromWireJson(toWireJson(before)), fromWireJson(toWireJson(after)))

/** Creates an issuer of invoices, or replaces its details. Invoices that were issued keep the former ones. */
export const makePutIssuer =
  ({ clock, unitOfWork }: PriceDeps) =>
  async (call: SignedInCall<Issuer>, details: Omit<Issuer, 'id' | 'nextNumber'>): Outcome<never, Issuer> =>
    unitOfWork.run<never, Issuer>(call, async ({ issuers, audit }) => {
      const before = await issuers.find(details.name)
      if (before !== undefined && isSame(before, { ...before, ...details })) return right(before)
      await issuers.put(details, clock.now())
      const issuer = await issuers.find(details.name)
      if (issuer === undefined) throw new Error('The issuer that was just written does not exist.')
      await audit.record(auditOfIssuer(issuer, 'invoice_issuer.changed', { legalName: issuer.party.legalName }))
      return right(issuer)
    })

/** Returns the issuers, by name. */
export const makeListIssuers =
  ({ issuers }: { readonly issuers: Pick<IssuerStore, 'list'> }) =>
  async (_call: SignedInCall<never>): Outcome<never, readonly Issuer[]> =>
    right(await issuers.list())

export interface NewBook {
  readonly name: string
  readonly currency: string
  readonly issuer: string
}

type BookFailure = Failure<'IssuerMissing'> | Failure<'PriceBookNameTaken'> | Failure<'PriceInvalid'>

/** Creates a price book without prices. Its currency and its issuer never change. */
export const makeCreatePriceBook =
  ({ clock, unitOfWork }: PriceDeps) =>
  async (call: SignedInCall<PriceBook>, { name, currency, issuer }: NewBook): Outcome<BookFailure, PriceBook> => {
    if (digitsOf(currency) === undefined)
      return left(PriceInvalid(`${currency} is no currency of ISO 4217 with 0, 2 or 3 digits. Use a code such as EUR.`))
    return unitOfWork.run<BookFailure, PriceBook>(call, async ({ issuers, books, audit }) => {
      const of = await issuers.find(issuer)
      if (of === undefined) return left(IssuerMissing(`The issuer ${issuer} does not exist.`))
      const id = await books.insert({ name, currency, issuerId: of.id }, clock.now())
      const book = id === undefined ? undefined : await books.get(id)
      if (book === undefined) return left(PriceBookNameTaken(`The name "${name}" is already in use. Choose another.`))
      await audit.record(auditOfBook(book, 'price_book.created', { currency, issuer }))
      return right(book)
    })
  }

const bookMissing = (id: PriceBookId) => PriceBookMissing(`The price book ${id} does not exist.`)

const inUse = (last: MonthKey): Failure<'PricesInUse'> =>
  PricesInUse(`An invoice of the month ${last} was issued. Choose a later first month.`)

export interface NewVersion {
  readonly bookId: PriceBookId
  readonly from: MonthKey
  readonly prices: readonly PriceDraft[]
}

type VersionFailure = Failure<'PriceBookMissing'> | Failure<'PriceInvalid'> | Failure<'PricesInUse'>

/**
 * Adds a version to a price book. It counts from its first month on, and replaces a version of the same month. Months
 * with an invoice that was issued keep their prices.
 */
export const makeAddVersion =
  ({ clock, unitOfWork }: PriceDeps) =>
  async (
    call: SignedInCall<PriceVersion>,
    { bookId, from, prices }: NewVersion,
  ): Outcome<VersionFailure, PriceVersion> => {
    const parsed = parsePrices(prices)
    if (isLeft(parsed)) return parsed
    return unitOfWork.run<VersionFailure, PriceVersion>(call, async ({ books, audit }) => {
      await books.lock([bookId])
      const book = await books.get(bookId)
      if (book === undefined) return left(bookMissing(bookId))
      const { invoicedTo } = book
      if (invoicedTo !== undefined && from <= invoicedTo) return left(inUse(invoicedTo))
      const number = (await books.versions(bookId)).length + 1
      const version: PriceVersion = { number, from, prices: parsed.right, createdAt: clock.now() }
      await books.addVersion(bookId, version)
      await audit.record(auditOfBook(book, 'price_book.version_added', { number, from, prices: prices.length }))
      return right(version)
    })
  }

/** Returns the versions of a price book, by number. */
export const makeListVersions =
  ({ books }: { readonly books: Pick<PriceBookStore, 'get' | 'versions'> }) =>
  async (
    _call: SignedInCall<never>,
    { bookId }: { readonly bookId: PriceBookId },
  ): Outcome<Failure<'PriceBookMissing'>, readonly PriceVersion[]> => {
    if ((await books.get(bookId)) === undefined) return left(bookMissing(bookId))
    return right(await books.versions(bookId))
  }

export interface NewPricing extends Omit<ContractPricing, 'createdAt'> {}

type PricingFailure =
  | Failure<'ContractMissing'>
  | Failure<'PriceBookMissing'>
  | Failure<'PriceInvalid'>
  | Failure<'PricesInUse'>

/** Sets by which prices a contract is billed from a month on. Months with an issued invoice stay as they are. */
export const makePriceContract =
  ({ clock, contracts, unitOfWork }: PriceDeps & { readonly contracts: Pick<ContractStore, 'getAny'> }) =>
  async (call: SignedInCall<ContractPricing>, input: NewPricing): Outcome<PricingFailure, ContractPricing> => {
    if (decimal(input.discountPercent).gt(decimal('100')))
      return left(PriceInvalid('discountPercent must be a number from 0 to 100.'))
    const contract = await contracts.getAny(input.contractId)
    if (contract === undefined) return left(ContractMissing(`The contract ${input.contractId} does not exist.`))
    return unitOfWork.run<PricingFailure, ContractPricing>(call, async ({ books, pricings, audit }) => {
      await books.lock([input.bookId])
      const book = await books.get(input.bookId)
      if (book === undefined) return left(bookMissing(input.bookId))
      const last = await pricings.lastInvoiced(input.contractId)
      if (last !== undefined && input.from <= last) return left(inUse(last))
      const pricing = { ...input, createdAt: clock.now() }
      await pricings.put(pricing)
      const { from, discountPercent, commitment = '' } = pricing
      await audit.record(
        auditOfContract(contract, 'contract.priced', { priceBook: book.name, from, discountPercent, commitment }),
      )
      return right(pricing)
    })
  }

/** Returns the pricings of a contract, ascending by month. */
export const makeListPricings =
  (deps: {
    readonly contracts: Pick<ContractStore, 'getAny'>
    readonly pricings: Pick<ContractPricingStore, 'listOf'>
  }) =>
  async (
    _call: SignedInCall<never>,
    { contractId }: { readonly contractId: ContractId },
  ): Outcome<Failure<'ContractMissing'>, readonly ContractPricing[]> => {
    if ((await deps.contracts.getAny(contractId)) === undefined)
      return left(ContractMissing(`The contract ${contractId} does not exist.`))
    return right(await deps.pricings.listOf([contractId]))
  }

/** The billing details of an account. */
const taxFault = ({ party, taxCategory, taxPercent, taxReason, spendLimit }: Customer): string | undefined => {
  const isFree = decimal(taxPercent).eq(decimal('0'))
  if (decimal(taxPercent).gt(decimal('100'))) return 'taxPercent is at most 100.'
  if (spendLimit !== undefined && spendLimit.amount <= 0n) return 'The amount of spendLimit is above 0.'
  if (taxCategory === 'S' && isFree) return 'The tax category S needs taxPercent above 0.'
  if (taxCategory !== 'S' && !isFree) return `The tax category ${taxCategory} needs taxPercent 0.`
  if (taxCategory !== 'S' && taxCategory !== 'Z' && taxReason === '')
    return `The tax category ${taxCategory} needs taxReason.`
  if ((taxCategory === 'AE' || taxCategory === 'K') && party.taxId === '')
    return `The tax category ${taxCategory} needs taxID.`
  if (spendLimit !== undefined && digitsOf(spendLimit.currency) === undefined)
    return 'The currency of spendLimit is no currency of ISO 4217 with 0, 2 or 3 digits.'
  return undefined
}

/** Sets the billing details of an account. */
export const makePutCustomer =
  ({ clock, unitOfWork }: PriceDeps) =>
  async (call: SignedInCall<Customer>, customer: Customer): Outcome<Failure<'PriceInvalid'>, Customer> => {
    const fault = taxFault(customer)
    if (fault !== undefined) return left(PriceInvalid(fault))
    return unitOfWork.run<Failure<'PriceInvalid'>, Customer>(call, async ({ customers, audit }) => {
      const before = await customers.lock(customer.ownerId)
      if (before !== undefined && isSame(before, customer)) return right(before)
      await customers.put(customer, clock.now())
      const { legalName } = customer.party
      await audit.record(auditOfCustomer(customer, 'billing_details.changed', { legalName }))
      return right(customer)
    })
  }

/** Returns the billing details of an account. */
export const makeGetCustomer =
  ({ customers }: { readonly customers: Pick<CustomerStore, 'find'> }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId }: { readonly ownerId: AccountId },
  ): Outcome<Failure<'CustomerMissing'>, Customer> => {
    const customer = await customers.find(ownerId)
    return customer === undefined ? left(CustomerMissing('The account has no billing details.')) : right(customer)
  }

/** A contract with the prices by which it is billed in a month; undefined if it has none. */
export interface PricedContract {
  readonly contract: Contract
  readonly priced:
    | { readonly pricing: ContractPricing; readonly book: PriceBook; readonly version: PriceVersion | undefined }
    | undefined
}

/** Returns the contracts of an account, the newest start first, with the prices that count in a month. */
export const makeListPricedContracts =
  (deps: {
    readonly contracts: Pick<ContractStore, 'listOf'>
    readonly pricings: Pick<ContractPricingStore, 'listOf'>
    readonly books: Pick<PriceBookStore, 'get' | 'versions'>
  }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, month, page }: { readonly ownerId: AccountId; readonly month: MonthKey; readonly page: PageRequest },
  ): Outcome<never, Page<PricedContract>> => {
    const found = await deps.contracts.listOf(ownerId, {}, page)
    const all = Map.groupBy(await deps.pricings.listOf(found.items.map(({ id }) => id)), (each) => each.contractId)
    const books = new Map<PriceBookId, Promise<readonly [PriceBook | undefined, readonly PriceVersion[]]>>()
    const items: PricedContract[] = []
    for (const contract of found.items) {
      const pricing = inMonth(all.get(contract.id) ?? [], month)
      if (pricing === undefined) {
        items.push({ contract, priced: undefined })
        continue
      }
      const { bookId } = pricing
      const read = books.get(bookId) ?? Promise.all([deps.books.get(bookId), deps.books.versions(bookId)])
      books.set(bookId, read)
      const [book, versions] = await read
      if (book === undefined) throw new Error(`The price book ${bookId} of a contract does not exist.`)
      items.push({ contract, priced: { pricing, book, version: inMonth(versions, month) } })
    }
    return right({ ...found, items })
  }
