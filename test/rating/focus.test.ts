import test from 'ava'
import { decimal, digitsOf, sumOf, toMinor } from '../../core/rating/money.ts'
import { makeRandom } from '../usage/sample/random.ts'
import { randomFocusFile } from './focus-file.ts'
import { issuedOf, randomAccount } from './random-accounts.ts'

/** What the validator of the specification does not check. */

const accounts = 300
type Row = Readonly<Record<string, string>>

/** Texts have no comma here, but those of details, which are quoted. */
const cells = (line: string): readonly string[] =>
  [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) => cell)

let rows: readonly Row[] = []
test.before(async () => {
  const [head = '', ...lines] = (await randomFocusFile(accounts)).trimEnd().split('\r\n')
  const names = head.split(',')
  rows = lines.map((line) => Object.fromEntries(names.map((name, i) => [name, cells(line)[i] ?? ''])))
})

const unquoted = (text: string | undefined): string => (text ?? '').replaceAll('"', '')

test('the list cost of each charge is the product of its price and its quantity', (t) => {
  t.true(rows.length > 1000)
  for (const row of rows.filter(({ PricingQuantity }) => PricingQuantity !== '')) {
    const product = (price: string) => decimal(row[price] ?? '').times(decimal(row['PricingQuantity'] ?? ''))
    t.true(product('ListUnitPrice').eq(decimal(row['ListCost'] ?? '')), JSON.stringify(row))
    t.true(product('ContractedUnitPrice').eq(decimal(row['ContractedCost'] ?? '')), JSON.stringify(row))
  }
})

test('the billed costs of an invoice add up to its total', (t) => {
  const random = makeRandom('focus')
  const issued = Array.from({ length: accounts }, (_, i) => issuedOf(randomAccount(random, i + 1))).flat()
  const byInvoice = Map.groupBy(rows, ({ InvoiceId }) => unquoted(InvoiceId))
  t.is(byInvoice.size, issued.length)
  for (const { number, kind, net, tax, currency } of issued) {
    const own = byInvoice.get(number ?? '') ?? []
    const billed = sumOf(own.map(({ BilledCost }) => toMinor(decimal(BilledCost ?? ''), digitsOf(currency) ?? 2)))
    t.is(billed, kind === 'credit-note' ? -(net + tax) : net + tax)
    t.true(own.every(({ BillingCurrency }) => unquoted(BillingCurrency) === currency))
  }
})

test('null is empty, numbers have a point, and periods end with the month', (t) => {
  for (const row of rows) {
    t.false(Object.values(row).some((cell) => /^"?(null|undefined|NaN)"?$/i.test(cell)))
    t.regex(row['BilledCost'] ?? '', /^-?\d+\.\d+$/)
    t.regex(unquoted(row['BillingPeriodEnd']), /^\d{4}-\d\d-01T00:00:00Z$/)
    t.is(unquoted(row['ChargeCategory']) === 'Tax', row['PricingQuantity'] === '')
  }
})
