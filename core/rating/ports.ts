import type { ContractId } from '../contracts/types.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { MonthKey } from '../usage/types.ts'
import type { ContractPricing, Customer, Issuer, IssuerId, PriceBook, PriceBookId, PriceVersion } from './types.ts'

/** No issuer has this name. */
export const IssuerMissing = defineFailure('IssuerMissing', 'NotFound', 'The issuer does not exist.')
/** No price book has this id. */
export const PriceBookMissing = defineFailure('PriceBookMissing', 'NotFound', 'The price book does not exist.')
/** Another price book has the name. */
export const PriceBookNameTaken = defineFailure(
  'PriceBookNameTaken',
  'Unprocessable',
  'The name is already in use by a price book.',
)
/** An invoice was issued by the prices of the month, or the month is numbered before one that has them. */
export const PricesInUse = defineFailure(
  'PricesInUse',
  'Conflict',
  'An invoice of this month or a later one was issued by the prices.',
)
/** The account has no billing details. */
export const CustomerMissing = defineFailure('CustomerMissing', 'NotFound', 'The account has no billing details.')

/** Who issues invoices. */
export interface IssuerStore {
  /** Returns all issuers, by name. */
  list(): Promise<readonly Issuer[]>
  find(name: string): Promise<Issuer | undefined>
  /** Returns an issuer and locks it until the transaction ends. */
  lock(id: IssuerId): Promise<Issuer | undefined>
  /** Inserts an issuer, or replaces its details. Its next number stays. */
  put(issuer: Omit<Issuer, 'id' | 'nextNumber'>, at: Date): Promise<void>
  /** Sets the next number of a locked issuer. */
  setNextNumber(id: IssuerId, next: number): Promise<void>
}
export const IssuerStorePort = portKey<IssuerStore>('rating.IssuerStore')

/** Price books with their versions. Versions are added, and never changed. */
export interface PriceBookStore {
  /** Returns a page of the price books, by name. */
  list(page: PageRequest): Promise<Page<PriceBook>>
  get(id: PriceBookId): Promise<PriceBook | undefined>
  /** Locks price books until the transaction ends, in the order of ids. */
  lock(ids: readonly PriceBookId[]): Promise<void>
  /** Returns undefined if another price book has the name. */
  insert(book: Pick<PriceBook, 'name' | 'currency' | 'issuerId'>, at: Date): Promise<PriceBookId | undefined>
  /** Returns the versions of a price book, by number. */
  versions(id: PriceBookId): Promise<readonly PriceVersion[]>
  addVersion(id: PriceBookId, version: PriceVersion): Promise<void>
  /** Locks price books, as `lock` does, and records that an invoice of a month was issued by their prices. */
  markInvoiced(ids: readonly PriceBookId[], month: MonthKey): Promise<void>
}
export const PriceBookStorePort = portKey<PriceBookStore>('rating.PriceBookStore')

/** By which prices contracts are billed. */
export interface ContractPricingStore {
  /** Returns the pricings of contracts, ascending by contract and month. */
  listOf(contractIds: readonly ContractId[]): Promise<readonly ContractPricing[]>
  /** Inserts a pricing, or replaces the one of the same month. */
  put(pricing: ContractPricing): Promise<void>
  /** Returns the last month of which an invoice was issued with lines of the contract; undefined if there is none. */
  lastInvoiced(contractId: ContractId): Promise<MonthKey | undefined>
}
export const ContractPricingStorePort = portKey<ContractPricingStore>('rating.ContractPricingStore')

/** The billing details of accounts. */
export interface CustomerStore {
  find(ownerId: AccountId): Promise<Customer | undefined>
  /** Returns the details of an account and locks them until the transaction ends. */
  lock(ownerId: AccountId): Promise<Customer | undefined>
  put(customer: Customer, at: Date): Promise<void>
  /** Returns the accounts that have billing details. */
  listOwners(): Promise<readonly AccountId[]>
  /** Returns the customers with a spend limit, by account. */
  listLimited(): Promise<readonly Customer[]>
  /** Returns false if the threshold was recorded as reached in the month before. */
  markAlerted(ownerId: AccountId, month: MonthKey, threshold: number, at: Date): Promise<boolean>
}
export const CustomerStorePort = portKey<CustomerStore>('rating.CustomerStore')

export interface PriceStores {
  readonly issuers: IssuerStore
  readonly books: PriceBookStore
  readonly pricings: ContractPricingStore
  readonly customers: CustomerStore
  readonly audit: AuditTrail
}
export type PriceUnitOfWork = UnitOfWork<PriceStores>
export const PriceUnitOfWorkPort = portKey<PriceUnitOfWork>('rating.PriceUnitOfWork')
