import test from 'ava'
import fc from 'fast-check'
import type { ContractId } from '../../core/contracts/types.ts'
import { decimal, digitsOf, minorText, sumOf, toMinor } from '../../core/rating/money.ts'
import { costsOf } from '../../core/rating/documents/amounts.ts'
import type { PriceDraft } from '../../core/rating/prices/price-rules.ts'
import { parsePrices } from '../../core/rating/prices/price-rules.ts'
import type { Rates } from '../../core/rating/rate.ts'
import { inMonth, rateContract } from '../../core/rating/rate.ts'
import type { ContractUse, PriceBookId, ProductUse } from '../../core/rating/types.ts'
import { unwrap } from '../support/outcome.ts'

const monthSeconds = 30 * 86_400

const use = (cpu: string, over: Partial<ProductUse> = {}): ContractUse => ({
  contractId: 1 as ContractId,
  name: 'Databases',
  products: [
    {
      product: 'dbProduct',
      seconds: monthSeconds,
      prod: { cpu, memory: '0' },
      nonProd: { cpu: '0', memory: '0' },
      ...over,
    },
  ],
})

const rates = (prices: readonly PriceDraft[], over: Partial<Rates['pricing']> = {}, digits = 2): Rates => ({
  version: { number: 1, prices: unwrap(parsePrices(prices)) },
  pricing: { bookId: 1 as PriceBookId, discountPercent: '0', commitment: undefined, ...over },
  digits,
  monthSeconds,
})

const cpu = (model: PriceDraft['model'], over: Partial<PriceDraft> = {}): PriceDraft => ({
  id: 'cpu',
  description: 'CPU',
  model,
  product: 'dbProduct',
  measure: 'cpu',
  ...over,
})
const tiers = [
  { upTo: '10', unitPrice: '5' },
  { upTo: '100', unitPrice: '4' },
  { upTo: undefined, unitPrice: '3' },
]
const netOf = (quantity: string, price: PriceDraft, digits = 2): bigint | undefined =>
  rateContract(use(quantity), rates([price], {}, digits))[0]?.net

test('each model prices a quantity', (t) => {
  t.is(netOf('1', { id: 'fee', description: 'Fee', model: 'flat', amount: '99.50' }), 9950n)
  t.is(netOf('2.5', cpu('per-unit', { amount: '40' })), 10_000n)
  t.is(netOf('150', cpu('graduated', { tiers })), 100n * (50n + 360n + 150n))
  t.is(netOf('150', cpu('volume', { tiers })), 45_000n)
  t.is(netOf('10', cpu('volume', { tiers })), 5_000n)
  t.is(netOf('20.001', cpu('package', { amount: '7', packageSize: '10' })), 2_100n)
  t.is(netOf('20', cpu('package', { amount: '7', packageSize: '10' })), 1_400n)
  t.is(netOf('0', cpu('package', { amount: '7', packageSize: '10' })), 0n)
})

test('included quantity, minimum and maximum bound a line', (t) => {
  t.is(netOf('12', cpu('per-unit', { amount: '1', included: '10' })), 200n)
  t.is(netOf('8', cpu('per-unit', { amount: '1', included: '10' })), 0n)
  t.is(netOf('8', cpu('per-unit', { amount: '1', minimum: '20' })), 2_000n)
  t.is(netOf('80', cpu('per-unit', { amount: '1', maximum: '20' })), 2_000n)
})

test('a percentage counts the lines it names after their discounts', (t) => {
  const prices: readonly PriceDraft[] = [
    { id: 'support', description: 'Support', model: 'percentage', amount: '10', percentOf: ['cpu'] },
    cpu('per-unit', { amount: '100' }),
  ]
  const lines = rateContract(use('1'), rates(prices, { discountPercent: '20' }))
  t.deepEqual(
    lines.map(({ priceId, net }) => [priceId, net]),
    [
      ['support', 800n],
      ['cpu', 8_000n],
    ],
  )
})

test('a contract pays up to its commitment, by its seconds in the month', (t) => {
  const half = use('1', { seconds: monthSeconds / 2 })
  const lines = rateContract(half, rates([cpu('per-unit', { amount: '10' })], { commitment: '100' }))
  t.deepEqual(
    lines.map(({ priceId, net }) => [priceId, net]),
    [
      ['cpu', 1_000n],
      ['commitment', 4_000n],
    ],
  )
  t.is(rateContract(use('11'), rates([cpu('per-unit', { amount: '10' })], { commitment: '100' })).length, 1)
})

test('amounts have 0, 2 or 3 digits by currency, rounded half away from zero', (t) => {
  t.deepEqual(['JPY', 'EUR', 'KWD', 'XAU'].map(digitsOf), [0, 2, 3, undefined])
  const price = cpu('per-unit', { amount: '0.5005' })
  t.deepEqual(
    [0, 2, 3].map((digits) => netOf('1', price, digits)),
    [1n, 50n, 501n],
  )
  t.is(toMinor(decimal('-0.005'), 2), -1n)
  t.is(minorText(-5n, 2), '-0.05')
  t.is(minorText(5n, 0), '5')
})

test('thirds and sixths of a month are summed without an error of rounding', (t) => {
  // 1/3 of 1.01 less 1/6 of 2.02 is nothing.
  const third = use('0.337', { seconds: monthSeconds / 3 })
  const line = rateContract(third, rates([cpu('per-unit', { amount: '1', included: '1.011' })]))[0]
  t.is(line?.net, 0n)
})

test('prices that contradict themselves are refused', (t) => {
  const refused = (...prices: readonly PriceDraft[]): string => {
    const parsed = parsePrices(prices)
    return parsed._tag === 'Left' ? parsed.left.message : ''
  }
  t.regex(refused(cpu('graduated')), /1 to 50 tiers/)
  t.regex(refused(cpu('volume', { tiers: tiers.slice(0, 1) })), /last tier without upTo/)
  t.regex(refused(cpu('volume', { tiers: [...tiers.slice(1, 2), ...tiers] })), /ascends/)
  t.regex(refused(cpu('per-unit', { measure: undefined })), /needs product and measure/)
  t.regex(refused(cpu('flat')), /has no measure/)
  t.regex(refused(cpu('package')), /packageSize above 0/)
  t.regex(refused(cpu('per-unit', { minimum: '2', maximum: '1' })), /minimum up to its maximum/)
  t.regex(refused(cpu('flat', { measure: undefined }), cpu('per-unit')), /same id/)
  t.regex(
    refused({ id: 'a', description: 'A', model: 'percentage', amount: '1', percentOf: ['a'] }),
    /no price of lines/,
  )
})

test('the latest entry that begins up to a month counts in it', (t) => {
  const entries = [{ from: 202601 }, { from: 202603, a: 1 }, { from: 202603, a: 2 }]
  t.is(inMonth(entries, 202512), undefined)
  t.is(inMonth(entries, 202602), entries[0])
  t.is(inMonth(entries, 202604), entries[2])
})

const thousandths = fc.integer({ min: 0, max: 10_000_000 }).map((n) => minorText(BigInt(n), 3))
const amount = fc.integer({ min: 0, max: 100_000_000 }).map((n) => minorText(BigInt(n), 4))
const percent = fc.integer({ min: 0, max: 1000 }).map((n) => minorText(BigInt(n), 1))
const seconds = fc.integer({ min: 1, max: monthSeconds })
const anyTiers = fc
  .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 5_000 }), { maxLength: 4 }), fc.array(amount, { minLength: 5 }))
  .map(([ends, prices]) => [
    ...ends.sort((a, b) => a - b).map((end, i) => ({ upTo: String(end), unitPrice: prices[i] ?? '1' })),
    { upTo: undefined, unitPrice: prices[4] ?? '1' },
  ])
const anyPrice: fc.Arbitrary<PriceDraft> = fc.oneof(
  amount.map((each) => cpu('per-unit', { amount: each })),
  fc.tuple(amount, amount).map(([each, included]) => cpu('per-unit', { amount: each, included })),
  fc.tuple(amount, amount).map(([each, minimum]) => cpu('per-unit', { amount: each, minimum })),
  anyTiers.map((each) => cpu('graduated', { tiers: each })),
  anyTiers.map((each) => cpu('volume', { tiers: each })),
  amount.map((each): PriceDraft => ({ id: 'fee', description: 'Fee', model: 'flat', amount: each })),
)

test('the same use and rates give the same lines', (t) => {
  fc.assert(
    fc.property(thousandths, anyPrice, percent, seconds, (quantity, price, discountPercent, of) => {
      const rate = () => rateContract(use(quantity, { seconds: of }), rates([price], { discountPercent }))
      t.deepEqual(rate(), rate())
    }),
  )
})

test('the list price of a line is the product of its quantity and its price', (t) => {
  fc.assert(
    fc.property(thousandths, anyPrice, percent, seconds, (quantity, price, discountPercent, of) => {
      const [line] = rateContract(use(quantity, { seconds: of }), rates([price], { discountPercent }))
      if (line === undefined) return
      const contracted = costsOf(line).contracted
      t.true(contracted.times(decimal('100')).minus(decimal(line.net)).abs().lte(decimal('0.5001')))
    }),
  )
})

test('a part of a month with the same share of use costs the same share', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1_000_000 }),
      anyPrice,
      fc.constantFrom(1, 2, 3, 4, 5, 6, 8, 10),
      (n, price, parts) => {
        // Quantities that are divided without a rest.
        const whole = rateContract(use(minorText(BigInt(n * parts), 3)), rates([price]))[0]?.net ?? 0n
        const part = use(minorText(BigInt(n), 3), { seconds: monthSeconds / parts })
        const share = rateContract(part, { ...rates([price]), monthSeconds })[0]?.net ?? 0n
        const difference = whole - share * BigInt(parts)
        t.true(difference <= BigInt(parts) && difference >= -BigInt(parts), `${whole} and ${parts} times ${share}`)
      },
    ),
  )
})

test('a quantity that is divided costs the same up to the rounding of each line', (t) => {
  fc.assert(
    fc.property(fc.array(thousandths, { minLength: 1, maxLength: 12 }), amount, (quantities, each) => {
      const price = cpu('per-unit', { amount: each })
      const nets = quantities.map((quantity) => netOf(quantity, price) ?? 0n)
      const all = quantities.reduce((sum, quantity) => sum.plus(decimal(quantity)), decimal('0'))
      const difference = sumOf(nets) - (netOf(all.toFixed(), price) ?? 0n)
      t.true(difference <= BigInt(nets.length) && difference >= -BigInt(nets.length))
    }),
  )
})

test('more use never costs less, but for volume prices', (t) => {
  fc.assert(
    fc.property(thousandths, thousandths, anyPrice, seconds, (a, b, price, of) => {
      fc.pre(price.model !== 'volume')
      const [less, more] = decimal(a).lte(decimal(b)) ? [a, b] : [b, a]
      const net = (quantity: string) => rateContract(use(quantity, { seconds: of }), rates([price]))[0]?.net ?? 0n
      t.true(net(less) <= net(more))
    }),
  )
})
