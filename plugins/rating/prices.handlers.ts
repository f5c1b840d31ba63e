import type * as t from 'io-ts'
import { ContractStorePort } from '../../core/contracts/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { right } from 'fp-ts/lib/Either.js'
import { monthOf } from '../../core/rating/months.ts'
import {
  ContractPricingStorePort,
  CustomerStorePort,
  IssuerStorePort,
  PriceBookStorePort,
  PriceUnitOfWorkPort,
} from '../../core/rating/ports.ts'
import {
  makeAddVersion,
  makeCreatePriceBook,
  makeGetCustomer,
  makeListIssuers,
  makeListPricedContracts,
  makeListPricings,
  makeListVersions,
  makePriceContract,
  makePutCustomer,
  makePutIssuer,
} from '../../core/rating/prices/price-books.ts'
import type { ContractPricing, Customer, Issuer, Party, PriceBook } from '../../core/rating/types.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { CustomerDetails } from './codecs.ts'
import { partyToWire } from './wire.ts'
import {
  addPriceVersion,
  createPriceBook,
  getCustomer,
  listContractPrices,
  listIssuers,
  listPriceBooks,
  listPrices,
  listPriceVersions,
  priceContract,
  putCustomer,
  putIssuer,
} from './prices.routes.ts'

type WireParty = Omit<Party, 'taxId'> & { readonly taxID: string }
const partyOf = ({ legalName, street, city, postcode, country, taxID, email }: WireParty): Party => ({
  legalName,
  street,
  city,
  postcode,
  country,
  taxId: taxID,
  email,
})

const issuerToWire = ({ name, party, numberPrefix, notes, nextNumber }: Issuer) => ({
  name,
  ...partyToWire(party),
  numberPrefix,
  notes,
  nextNumber,
})

const bookToWire = ({ id, name, currency, issuerName, createdAt }: PriceBook) => ({
  id,
  name,
  currency,
  issuer: issuerName,
  createdAt,
})

const pricingToWire = ({ from, bookId, discountPercent, commitment, createdAt }: ContractPricing) => ({
  from,
  priceBookID: bookId,
  discountPercent,
  commitment,
  createdAt,
})

const customerToWire = ({ ownerId: _, party, spendLimit, ...details }: Customer) => ({
  ...partyToWire(party),
  ...details,
  spendLimit,
})

const customerOf = (
  ownerId: Customer['ownerId'],
  { taxCategory, taxPercent, taxReason, paymentDays, emails, spendLimit, ...party }: t.TypeOf<typeof CustomerDetails>,
): Customer => ({
  ownerId,
  party: partyOf(party),
  taxCategory,
  taxPercent,
  taxReason,
  paymentDays,
  emails,
  spendLimit: spendLimit === undefined ? undefined : { ...spendLimit, amount: BigInt(spendLimit.amount) },
})

/** Issuers, price books, and by which prices contracts are billed. */
export const priceGroup = defineGroup({
  needs: {
    books: PriceBookStorePort,
    clock: ClockPort,
    contracts: ContractStorePort,
    issuers: IssuerStorePort,
    pricings: ContractPricingStorePort,
    unitOfWork: PriceUnitOfWorkPort,
  },
  routes: (given) => [
    handle(listIssuers, makeListIssuers(given), { reply: (issuers) => issuers.map(issuerToWire) }),
    handle(putIssuer, makePutIssuer(given), {
      input: ({ params, body: { numberPrefix, notes, ...party } }) => ({
        name: params.issuer,
        party: partyOf(party),
        numberPrefix,
        notes,
      }),
      reply: issuerToWire,
    }),
    handle(listPriceBooks, async (_call, { page }) => right(await given.books.list(page)), { reply: bookToWire }),
    handle(createPriceBook, makeCreatePriceBook(given), { input: ({ body }) => body, reply: bookToWire }),
    handle(listPriceVersions, makeListVersions(given), { input: ({ params }) => ({ bookId: params.priceBookID }) }),
    handle(addPriceVersion, makeAddVersion(given), {
      input: ({ params, body }) => ({ bookId: params.priceBookID, ...body }),
    }),
    handle(listContractPrices, makeListPricings(given), {
      input: ({ params }) => ({ contractId: params.contractID }),
      reply: (pricings) => pricings.map(pricingToWire),
    }),
    handle(priceContract, makePriceContract(given), {
      input: ({ params, body: { priceBookID, discountPercent, ...body } }) => ({
        ...body,
        contractId: params.contractID,
        bookId: priceBookID,
        discountPercent: discountPercent ?? '0',
      }),
      reply: pricingToWire,
    }),
  ],
})

/** The billing details and the prices of an account. */
export const customerGroup = defineGroup({
  needs: {
    books: PriceBookStorePort,
    clock: ClockPort,
    contracts: ContractStorePort,
    customers: CustomerStorePort,
    pricings: ContractPricingStorePort,
    unitOfWork: PriceUnitOfWorkPort,
  },
  routes: (given) => [
    handle(putCustomer, makePutCustomer(given), {
      input: ({ grant, body }) => customerOf(grant.ownerId, body),
      reply: customerToWire,
    }),
    handle(getCustomer, makeGetCustomer(given), {
      input: ({ grant }) => ({ ownerId: grant.ownerId }),
      reply: customerToWire,
    }),
    handle(listPrices, makeListPricedContracts(given), {
      input: ({ grant, query, page }) => ({
        ownerId: grant.ownerId,
        month: query.month ?? monthOf(given.clock.now()),
        page,
      }),
      reply: ({ contract, priced }) => ({
        contractID: contract.id,
        name: contract.name,
        priceBook: priced?.book.name,
        currency: priced?.book.currency,
        discountPercent: priced?.pricing.discountPercent,
        commitment: priced?.pricing.commitment,
        version: priced?.version,
      }),
    }),
  ],
})
