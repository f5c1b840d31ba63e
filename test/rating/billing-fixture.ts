import type { MonthKey } from '../../core/usage/types.ts'
import { openPatiently } from '../support/databases.ts'
import { must } from '../support/part-sample.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'
import { plantRevision } from '../usage/planted-months.ts'
import type { PlainMonth } from '../usage/product-months.ts'
import { monthOfPlans } from '../usage/product-months.ts'

export const api = '/api/v1/rating'

const party = {
  legalName: 'Example Platforms GmbH',
  street: 'Hafenstr. 1',
  city: 'Hamburg',
  postcode: '20457',
  country: 'DE',
  taxID: 'DE123456789',
  email: 'billing@example.com',
}
export const issuerDetails = { ...party, numberPrefix: 'MO-', notes: 'IBAN DE02 1203 0000 0000 2020 51' }
export const customerDetails = {
  ...party,
  legalName: 'Acme & Söhne AG',
  taxID: 'DE987654321',
  taxCategory: 'S',
  taxPercent: '19',
  taxReason: '',
  paymentDays: 30,
  emails: ['ap@acme.example'],
}

/** 40 for each core-month and 2.50 for each GiB-month, both in production; 100 for the month, 5 % of CPU for support. */
const listPrices = [
  { id: 'fee', description: 'Platform fee', model: 'flat', amount: '100' },
  { id: 'cpu', description: 'CPU', model: 'per-unit', product: 'dbProduct', measure: 'cpu', use: 'prod', amount: '40' },
  {
    id: 'memory',
    description: 'Memory',
    model: 'graduated',
    product: 'dbProduct',
    measure: 'memory',
    use: 'prod',
    tiers: [{ upTo: '10', unitPrice: '2.5' }, { unitPrice: '2' }],
  },
  { id: 'support', description: 'Support', model: 'percentage', amount: '5', percentOf: ['cpu'] },
]

/** Calls the service as the site admin. */
export const asAdmin =
  (service: TestService) =>
  async (method: string, path: string, body?: unknown): Promise<ServiceAnswer['json']> =>
    (
      await must(
        `${method} ${path}`,
        service.send(method, `${api}${path}`, {
          token: service.adminToken,
          ...(body === undefined ? {} : { body: body as object }),
        }),
      )
    ).json

/** Makes an issuer, a price book with list prices from June 2026 on, and bills a contract of an account by it. */
export const setUpBilling = async (
  service: TestService,
  {
    org,
    contractId,
    issuer,
    from = '2026-06',
  }: { readonly org: string; readonly contractId: number; readonly issuer: string; readonly from?: string },
): Promise<{ readonly priceBookID: number }> => {
  const send = asAdmin(service)
  await send('PUT', `/issuers/${issuer}`, issuerDetails)
  const book = await send('POST', '/price-books', { name: `List of ${issuer}`, currency: 'EUR', issuer })
  await send('POST', `/price-books/${book.id}/versions`, { from, prices: listPrices })
  await send('PUT', `/contracts/${contractId}/prices`, { from, priceBookID: book.id, discountPercent: '10' })
  await send('PUT', `/customer?org=${org}`, customerDetails)
  return { priceBookID: book.id }
}

const perCoreMonth = (month: MonthKey): bigint => BigInt(new Date(Date.UTC(2026, month % 100, 0)).getUTCDate() * 86_400)

/** Returns a month in which a contract has used databases in production: whole core-months and GiB-months. */
export const monthOfUse = (
  month: MonthKey,
  used: readonly { readonly contractId: number; readonly cores: number; readonly gib: number }[],
): PlainMonth => {
  const plans = used.map(({ contractId, cores, gib }, index) => ({
    cluster: 1,
    kind: 'Postgres',
    namespace: 'shop',
    name: `db-${index}`,
    used: [
      {
        day: 1,
        use: 'prod' as const,
        contractId,
        milliCpuSeconds: BigInt(cores) * 1000n * perCoreMonth(month),
        mebibyteSeconds: BigInt(gib) * 1024n * perCoreMonth(month),
      },
    ],
  }))
  const plain = monthOfPlans(plans, { month })
  const [, terms] = plain.contracts
  return { ...plain, contracts: used.map(({ contractId }) => ({ ...terms!, id: contractId })) }
}

/** Publishes a final revision of a month of an account. */
export const plantMonth = async (
  service: TestService,
  ownerId: number,
  month: PlainMonth,
  revision = 1,
): Promise<void> => {
  const db = await openPatiently(service.databaseUrl)
  try {
    await plantRevision(db, ownerId, [month], { revision })
  } finally {
    await db.close()
  }
}
