import * as t from 'io-ts'
import { ContractMissing } from '../../core/contracts/ports.ts'
import {
  CustomerMissing,
  IssuerMissing,
  PriceBookMissing,
  PriceBookNameTaken,
  PricesInUse,
} from '../../core/rating/ports.ts'
import { PriceInvalid } from '../../core/rating/prices/price-rules.ts'
import { query, requires, siteAdmin } from '../kit/access.ts'
import { json, list, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  ContractPath,
  ContractPricing,
  Customer,
  CustomerDetails,
  InAccount,
  InAccountAndMonth,
  Issuer,
  IssuerDetails,
  IssuerPath,
  ContractPricingInput,
  PriceBookInput,
  PriceVersionInput,
  PriceBook,
  PriceBookPath,
  PricedContract,
  PriceVersion,
} from './codecs.ts'
import {
  bookExample,
  bookInput,
  customerExample,
  issuerExample,
  issuerInput,
  pricedExample,
  pricingExample,
  pricingInput,
  versionExample,
  versionInput,
} from './examples.ts'

const common = { tag: 'Prices & Invoices', scopeCategory: 'billing' } as const
const route = routesOf({ ...common, access: siteAdmin })
const inAccount = { type: 'account', name: query('org') } as const
/** The owners of an account, and site admins. */
const ownRoute = routesOf({ ...common, access: requires('can_view_billing', inAccount) })

export const listIssuers = route({
  id: 'rating.listIssuers',
  method: 'GET',
  path: '/rating/issuers',
  summary: 'List the issuers of invoices, by name',
  description: 'An issuer is the seller on an invoice. Each has numbers of its own.',
  ok: json(200, t.readonlyArray(Issuer), [issuerExample]),
})

export const putIssuer = route({
  id: 'rating.putIssuer',
  method: 'PUT',
  path: '/rating/issuers/{issuer}',
  summary: 'Create an issuer of invoices, or replace its details',
  description: 'Invoices that were issued keep the details of then.',
  params: IssuerPath,
  body: body(IssuerDetails, issuerInput),
  ok: json(200, Issuer, issuerExample),
})

export const listPriceBooks = route({
  id: 'rating.listPriceBooks',
  method: 'GET',
  path: '/rating/price-books',
  summary: 'List the price books, by name',
  description: 'The prices of a book are in its versions.',
  ok: packed(list(PriceBook, bookExample)),
})

export const createPriceBook = route({
  id: 'rating.createPriceBook',
  method: 'POST',
  path: '/rating/price-books',
  summary: 'Create a price book without prices',
  description: 'Its currency and its issuer never change.',
  body: body(PriceBookInput, bookInput),
  ok: json(201, PriceBook, bookExample, 'Created'),
  failures: [IssuerMissing, PriceBookNameTaken, PriceInvalid],
  statusOf: { IssuerMissing: 422 },
})

export const listPriceVersions = route({
  id: 'rating.listPriceVersions',
  method: 'GET',
  path: '/rating/price-books/{priceBookID}/versions',
  summary: 'List the versions of a price book, by number',
  description:
    'In a month, the version with the latest first month that is not after it counts; of two, the later one.',
  params: PriceBookPath,
  ok: packed(json(200, t.readonlyArray(PriceVersion), [versionExample])),
  failures: [PriceBookMissing],
})

export const addPriceVersion = route({
  id: 'rating.addPriceVersion',
  method: 'POST',
  path: '/rating/price-books/{priceBookID}/versions',
  summary: 'Add a version with all prices of a book',
  description:
    'A version never changes. Its first month must be after the last one that was invoiced by the book. In a month of ' +
    'which a contract was in force for a part, flat amounts, included quantities, tiers, minimum and maximum count by ' +
    'its seconds.',
  params: PriceBookPath,
  body: body(PriceVersionInput, versionInput),
  ok: json(201, PriceVersion, versionExample, 'Created'),
  failures: [PriceBookMissing, PriceInvalid, PricesInUse],
})

export const listContractPrices = route({
  id: 'rating.listContractPrices',
  method: 'GET',
  path: '/rating/contracts/{contractID}/prices',
  summary: 'List by which prices a contract is billed, ascending by month',
  description: 'In a month, the entry with the latest first month that is not after it counts.',
  params: ContractPath,
  ok: json(200, t.readonlyArray(ContractPricing), [pricingExample]),
  failures: [ContractMissing],
})

export const priceContract = route({
  id: 'rating.priceContract',
  method: 'PUT',
  path: '/rating/contracts/{contractID}/prices',
  summary: 'Set by which prices a contract is billed from a month on',
  description: 'The first month must be after the last one of the contract that was invoiced.',
  params: ContractPath,
  body: body(ContractPricingInput, pricingInput),
  ok: json(200, ContractPricing, pricingExample),
  failures: [ContractMissing, PriceBookMissing, PriceInvalid, PricesInUse],
  statusOf: { PriceBookMissing: 422 },
})

export const putCustomer = routesOf({ ...common, access: requires('can_view_usage_analytics', inAccount) })({
  id: 'rating.putCustomer',
  method: 'PUT',
  path: '/rating/customer',
  summary: 'Set the billing details of an account',
  description: 'Address, tax and terms of payment come from outside. Invoices that were issued keep those of then.',
  query: InAccount,
  body: body(CustomerDetails, customerExample),
  ok: json(200, Customer, customerExample),
  failures: [PriceInvalid],
})

export const getCustomer = ownRoute({
  id: 'rating.getCustomer',
  method: 'GET',
  path: '/rating/customer',
  summary: 'Get the billing details of an account',
  description: 'For its owners and those who may view billing.',
  query: InAccount,
  ok: json(200, Customer, customerExample),
  failures: [CustomerMissing],
})

export const listPrices = ownRoute({
  id: 'rating.listPrices',
  method: 'GET',
  path: '/rating/prices',
  summary: 'List the contracts of an account with their prices, the newest start first',
  description: 'The prices that count in a month.',
  query: InAccountAndMonth,
  ok: packed(list(PricedContract, pricedExample)),
})
