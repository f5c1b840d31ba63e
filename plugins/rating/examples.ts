const party = {
  legalName: 'Example Platforms GmbH',
  street: 'Hafenstr. 1',
  city: 'Hamburg',
  postcode: '20457',
  country: 'DE',
  taxID: 'DE123456789',
  email: 'billing@example.com',
}
export const issuerInput = { ...party, numberPrefix: 'MO-', notes: 'IBAN DE02 1203 0000 0000 2020 51' }
export const issuerExample = { name: 'example', ...issuerInput, nextNumber: 1 }

export const bookInput = { name: 'List 2026', currency: 'EUR', issuer: 'example' }
export const bookExample = { id: 1, ...bookInput, createdAt: '2026-10-01T08:00:00.000Z' }

const price = {
  id: 'db-cpu',
  description: 'Databases, CPU',
  model: 'per-unit',
  product: 'dbProduct',
  measure: 'cpu',
  use: 'prod',
  amount: '40.00',
  tiers: [],
  packageSize: '0',
  included: '0',
  percentOf: [],
}
export const versionInput = {
  from: '2026-11',
  prices: [
    {
      id: price.id,
      description: price.description,
      model: price.model,
      product: price.product,
      measure: 'cpu',
      use: 'prod',
      amount: '40.00',
    },
  ],
}
export const versionExample = { number: 1, from: '2026-11', prices: [price], createdAt: '2026-10-01T08:00:00.000Z' }

export const pricingInput = { from: '2026-11', priceBookID: 1, discountPercent: '10', commitment: '500' }
export const pricingExample = { ...pricingInput, createdAt: '2026-10-01T08:00:00.000Z' }

export const pricedExample = {
  contractID: 42,
  name: 'Databases',
  priceBook: 'List 2026',
  currency: 'EUR',
  discountPercent: '10',
  commitment: '500',
  version: versionExample,
}

const buyer = { ...party, legalName: 'Acme AG', taxID: 'DE987654321', email: 'ap@acme.example' }
export const customerExample = {
  ...buyer,
  taxCategory: 'S',
  taxPercent: '19',
  taxReason: '',
  paymentDays: 30,
  emails: ['ap@acme.example'],
  spendLimit: { currency: 'EUR', amount: 500000 },
}

const line = {
  contractID: 42,
  contractName: 'Databases',
  priceID: 'db-cpu',
  description: 'Databases, CPU',
  model: 'per-unit',
  product: 'dbProduct',
  quantity: '12.340',
  unit: 'core-month',
  pricedQuantity: '12.34',
  pricedUnit: 'core-month',
  unitPrice: '40',
  discountPercent: '10',
  net: 44424,
  priceVersion: 1,
  reason: '',
}
export const summaryExample = {
  id: 7,
  kind: 'invoice',
  state: 'issued',
  number: 'MO-000001',
  account: 'acme',
  month: '2026-11',
  revision: 1,
  currency: 'EUR',
  currencyDigits: 2,
  net: 44424,
  tax: 8441,
  gross: 52865,
  createdAt: '2026-12-04T01:00:00.000Z',
  issuedAt: '2026-12-05T09:00:00.000Z',
  dueAt: '2027-01-04T09:00:00.000Z',
  paymentReference: '',
  voidReason: '',
}
export const invoiceExample = {
  ...summaryExample,
  seller: party,
  buyer,
  taxCategory: 'S',
  taxPercent: '19',
  taxReason: '',
  rounding: 'Each line is rounded once, half away from zero, to the smallest unit of the currency.',
  lines: [line],
}
export const previewExample = {
  month: '2026-12',
  computedAt: '2026-12-05T09:00:00.000Z',
  totals: [{ issuer: 'example', currency: 'EUR', currencyDigits: 2, net: 44424, lines: [line] }],
  contractsWithoutPrices: [],
}
