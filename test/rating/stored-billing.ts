import { makeSqlUnitOfWork, unaudited } from '../../adapters/sql/engine/unit-of-work.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlInvoiceStore } from '../../adapters/sql/rating/invoice-store.ts'
import {
  makeSqlContractPricingStore,
  makeSqlCustomerStore,
  makeSqlIssuerStore,
  makeSqlPriceBookStore,
} from '../../adapters/sql/rating/price-stores.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { Mail } from '../../core/mail/ports.ts'
import type { InvoiceStores } from '../../core/rating/invoices/ports.ts'
import { parsePrices } from '../../core/rating/prices/price-rules.ts'
import type { PriceBookId } from '../../core/rating/types.ts'
import type { BilledProductUse } from '../../core/usage/overview-ports.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { callOf } from '../sql/call.ts'
import { unwrap } from '../support/outcome.ts'

export const now = new Date('2026-08-20T10:00:00Z')
export const clock = { now: () => now }
export const july = 202607 as MonthKey
export const ownerOf = (n: number) => n as AccountId
export const call: Omit<SignedInCall, 'keyed'> = callOf() as SignedInCall

const party = { legalName: 'A', street: '', city: 'B', postcode: '', country: 'DE', taxId: '', email: '' }

/** Stores of a database, with the prices of accounts 1 to `accounts`, each with the contract of its number. */
export const storedBilling = async (db: SqlDatabase, accounts: number) => {
  const mails: Mail[] = []
  const bound = {
    issuers: makeSqlIssuerStore(db),
    books: makeSqlPriceBookStore(db),
    pricings: makeSqlContractPricingStore(db),
    customers: makeSqlCustomerStore(db),
    invoices: makeSqlInvoiceStore(db),
  }
  const storesIn = (runner: Parameters<typeof bound.issuers>[0]): InvoiceStores => ({
    issuers: bound.issuers(runner),
    books: bound.books(runner),
    pricings: bound.pricings(runner),
    customers: bound.customers(runner),
    invoices: bound.invoices(runner),
    audit: unaudited(),
    mail: { post: async (mail) => void mails.push(mail) },
  })
  const stores = storesIn(db)
  const unitOfWork = makeSqlUnitOfWork(db, storesIn, unaudited)
  await stores.issuers.put({ name: 'north', party, numberPrefix: 'N', notes: '' }, now)
  const issuer = (await stores.issuers.find('north'))!
  const bookId = (await stores.books.insert({ name: 'list', currency: 'EUR', issuerId: issuer.id }, now)) as PriceBookId
  const prices = unwrap(
    parsePrices([
      { id: 'cpu', description: 'CPU', model: 'per-unit', product: 'dbProduct', measure: 'cpu', amount: '10' },
    ]),
  )
  await stores.books.addVersion(bookId, { number: 1, from: 202601 as MonthKey, prices, createdAt: now })
  for (let n = 1; n <= accounts; n += 1) {
    const pricing = { contractId: n as ContractId, from: 202601 as MonthKey, bookId, discountPercent: '0' }
    await stores.pricings.put({ ...pricing, commitment: undefined, createdAt: now })
    const customer = { ownerId: ownerOf(n), party, taxCategory: 'Z' as const, taxPercent: '0', taxReason: '' }
    const spendLimit = { currency: 'EUR', amount: 10_000n }
    await stores.customers.put({ ...customer, paymentDays: 14, emails: ['ap@example.com'], spendLimit }, now)
  }
  return { stores, unitOfWork, mails, issuer }
}

export const useOf = (ownerId: AccountId, cpu: string): readonly BilledProductUse[] => [
  {
    contractId: ownerId as number as ContractId,
    contractName: 'Databases',
    product: 'dbProduct',
    seconds: 31 * 86_400,
    prod: { cpu, memory: '0' },
    nonProd: { cpu: '0', memory: '0' },
  },
]
