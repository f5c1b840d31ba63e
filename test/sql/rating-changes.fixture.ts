import fc from 'fast-check'
import {
  makeSqlContractPricingStore,
  makeSqlCustomerStore,
  makeSqlIssuerStore,
  makeSqlPriceBookStore,
} from '../../adapters/sql/rating/price-stores.ts'
import { makeSqlSinkStore } from '../../adapters/sql/rating/sink-store.ts'
import { columnsOf, pick, without } from '../../adapters/sql/kit/columns.ts'
import { ratingContractPrices, ratingCustomers, ratingIssuers, ratingSinks } from '../../adapters/sql/tables/rating.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { PriceBookId } from '../../core/rating/types.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import type { StoreChange } from './store-change.fixture.ts'
import { at } from './store-change.fixture.ts'

const party = { legalName: 'a', street: '', city: '', postcode: '', country: 'DE', taxId: '', email: '' }
const anyParty = fc.record({ ...Object.fromEntries(Object.keys(party).map((field) => [field, fc.string()])) })
const issuer = { name: 'north', party, numberPrefix: '', notes: '' }
const details = { party, taxCategory: 'Z', taxPercent: '0', taxReason: '', paymentDays: 1, emails: [] } as const
const ownerId = 1 as AccountId

/** What a caller can change in the stores of prices. */
export const ratingChanges: Readonly<Record<string, StoreChange>> = {
  'an issuer of invoices': {
    tables: [ratingIssuers],
    columns: without(ratingIssuers, 'id', 'name', 'nextNumber', 'updatedAt'),
    chosen: { party: anyParty },
    prepare: async (db) => {
      const store = makeSqlIssuerStore(db)(db)
      await store.put(issuer, at)
      return async (fields) => {
        await store.put({ ...issuer, ...fields }, at)
        return store.find(issuer.name)
      }
    },
  },
  'the prices of a contract': {
    tables: [ratingContractPrices],
    columns: pick(ratingContractPrices, 'discountPercent', 'commitment', 'createdAt'),
    prepare: async (db) => {
      const issuers = makeSqlIssuerStore(db)(db)
      await issuers.put(issuer, at)
      const issuerId = (await issuers.find(issuer.name))!.id
      const bookId = (await makeSqlPriceBookStore(db)(db).insert(
        { name: 'a', currency: 'EUR', issuerId },
        at,
      )) as PriceBookId
      const store = makeSqlContractPricingStore(db)(db)
      const pricing = { contractId: 1 as ContractId, from: 202601 as MonthKey, bookId, discountPercent: '0' }
      await store.put({ ...pricing, commitment: undefined, createdAt: at })
      return async (fields) => {
        await store.put({ ...pricing, commitment: undefined, createdAt: at, ...fields })
        return (await store.listOf([pricing.contractId]))[0]
      }
    },
  },
  'a sink of usage': {
    tables: [ratingSinks],
    columns: pick(ratingSinks, 'address', 'fromMonth', 'isEnabled', 'ref', 'sealedKey'),
    prepare: async (db) => {
      const store = makeSqlSinkStore(db)(db)
      const sink = { name: 'a', kind: 'lago', address: '', fromMonth: 202601 as MonthKey, isEnabled: false } as const
      return async (fields) => {
        await store.put({ ...sink, ref: '', sealedKey: new Uint8Array(1), nextAttemptAt: at, ...fields })
        return store.find('a')
      }
    },
  },
  'billing details': {
    tables: [ratingCustomers],
    columns: pick(columnsOf(ratingCustomers), 'details'),
    chosen: { details: anyParty.map((changed) => ({ ...details, party: changed })) },
    prepare: async (db) => {
      const store = makeSqlCustomerStore(db)(db)
      await store.put({ ownerId, ...details, spendLimit: undefined }, at)
      return async (fields) => {
        const changed = (fields['details'] ?? details) as typeof details
        await store.put({ ownerId, ...changed, spendLimit: undefined }, at)
        const { ownerId: _, spendLimit: __, ...read } = (await store.find(ownerId))!
        return { details: read }
      }
    },
  },
}
