import { ContractStorePort } from '../../../core/contracts/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { DemoOrganization, DemoSeeder, DemoWorld } from '../../part/part.ts'

const party = (name: string, legalName: string) => ({
  legalName,
  street: 'Quay 1',
  city: 'Hamburg',
  postcode: '20457',
  country: 'DE',
  taxID: 'DE123456789',
  email: `billing@${name}.example`,
})

const prices = [
  { id: 'platform', description: 'Platform fee', model: 'flat', amount: '250' },
  {
    id: 'cpu',
    description: 'CPU, production',
    model: 'per-unit',
    product: 'dbProduct',
    measure: 'cpu',
    use: 'prod',
    amount: '38.5',
  },
  {
    id: 'cpu-other',
    description: 'CPU, other',
    model: 'per-unit',
    product: 'dbProduct',
    measure: 'cpu',
    use: 'non-prod',
    amount: '19',
  },
  {
    id: 'memory',
    description: 'Memory',
    model: 'graduated',
    product: 'dbProduct',
    measure: 'memory',
    tiers: [{ upTo: '10', unitPrice: '4.2' }, { unitPrice: '3.1' }],
  },
  { id: 'support', description: 'Support, 8 %', model: 'percentage', amount: '8', percentOf: ['cpu', 'memory'] },
]

interface GeneratedMonths {
  readonly months: readonly { readonly month: string; readonly status: string }[]
}
interface Drafts {
  readonly invoices: readonly { readonly id: number }[]
}

/** Bills the contracts of a customer by the price book from a month on. */
const priceCustomer = async (
  { container, idOf, send }: DemoWorld,
  { name, fullName }: DemoOrganization,
  priceBookID: number,
  from: string,
): Promise<void> => {
  const ownerId = (await idOf(name)) as AccountId
  const { items } = await container.resolve(ContractStorePort).listOf(ownerId, {}, { page: 1, limit: 50 })
  for (const { id } of items)
    await send('PUT', `/rating/contracts/${id}/prices`, { from, priceBookID, discountPercent: '5' })
  await send('PUT', `/rating/customer?org=${name}`, {
    ...party(name, fullName),
    taxCategory: 'S',
    taxPercent: '19',
    taxReason: '',
    paymentDays: 30,
    emails: [],
  })
}

/** A price book of the vendor, and the invoices of the months that are final: the newest is a draft. */
export const seedRating: DemoSeeder = async (world) => {
  const { vendor, customers, send, tell } = world
  tell('price book')
  await send('PUT', `/rating/issuers/${vendor.name}`, {
    ...party(vendor.name, vendor.fullName),
    numberPrefix: 'HM-',
    notes: 'IBAN DE02 1203 0000 0000 2020 51',
  })
  const book = { name: 'List prices', currency: 'EUR', issuer: vendor.name }
  const { id } = (await send('POST', '/rating/price-books', book)) as { readonly id: number }
  const months = await Promise.all(
    customers.map(
      async ({ name }) => (await send('GET', `/dashboard/summary/generated-months?org=${name}`)) as GeneratedMonths,
    ),
  )
  const from = months.flatMap((own) => own.months.map(({ month }) => month)).sort()[0]
  if (from === undefined) return
  await send('POST', `/rating/price-books/${id}/versions`, { from, prices })
  for (const [n, customer] of customers.entries()) {
    tell(`invoices of ${customer.name}`)
    await priceCustomer(world, customer, id, from)
    const final = (months[n]?.months ?? []).filter(({ status }) => status === 'final')
    for (const [i, { month }] of final.entries()) {
      const org = `org=${customer.name}`
      const drafts = (await send('POST', `/rating/invoices?${org}`, { month })) as Drafts
      if (i === final.length - 1) continue
      for (const draft of drafts.invoices) await send('POST', `/rating/invoices/${draft.id}/issue?${org}`)
    }
  }
}
