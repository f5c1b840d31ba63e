import { isDeepStrictEqual } from 'node:util'
import test from 'ava'
import fc from 'fast-check'
import { perCoreMonth, perGibMonth, thousandthsOf } from '../../../core/usage/amounts.ts'
import { monthKey } from '../../../core/usage/month.ts'
import type { UsageMonthId } from '../../../core/usage/types.ts'
import { buildViews } from '../../../core/usage/views/build-views.ts'
import { pieceItems } from '../../../core/usage/views/ports.ts'
import { startView } from '../../../core/usage/views/view-writer.ts'
import { anyText } from '../../support/any-text.ts'
import type { PlainMonth } from '../product-months.ts'
import { plans } from '../month-plans.ts'
import { monthOfPlans, readOnce, textOf, viewSink } from '../product-months.ts'

/** The views of a month as they are built from its use. */

const monthId = 1 as UsageMonthId

interface Figures {
  readonly cpu: number
  readonly memory: number
  readonly prod?: Figures
  readonly nonProd?: Figures
  readonly free?: { readonly trial: Figures; readonly freeContract: Figures }
}
interface Item extends Figures {
  readonly clusterUID?: string
  readonly objectID?: string
  readonly kind?: string
  readonly contractID?: number
  readonly objectCount?: number
  readonly clusterHours?: number
  readonly kinds?: readonly (Item & { readonly contracts: readonly Item[] })[]
  readonly matrix?: readonly Item[]
  readonly segments?: readonly Item[]
}
interface View {
  readonly items: readonly Item[]
  readonly totals: Item
}

const built = async (month: PlainMonth) => {
  const { sink, views } = viewSink()
  await buildViews(sink, monthId, readOnce(month))
  return new Map(
    views.map((view) => [
      `${view.key.view} ${view.key.viewType}`,
      { text: textOf(view), json: JSON.parse(textOf(view)) as View, itemCount: view.itemCount },
    ]),
  )
}

const thousandths = (value: number): number => Math.round(value * 1000)
/** All figures of an item as thousandths, in a fixed order. */
const figuresOf = ({ cpu, memory, prod, nonProd, free }: Figures): readonly number[] =>
  [{ cpu, memory }, ...(prod === undefined ? [] : [prod, nonProd!, free!.trial, free!.freeContract])].flatMap(
    (each) => [thousandths(each.cpu), thousandths(each.memory)],
  )
const sumOf = (items: readonly Figures[], like: Figures): readonly number[] =>
  items.map(figuresOf).reduce<readonly number[]>(
    (all, figures) => all.map((value, index) => value + figures[index]!),
    figuresOf(like).map(() => 0),
  )
const classesAddUp = ({ cpu, memory, prod, nonProd, free }: Figures): boolean => {
  if (prod === undefined) return true
  const classes = [prod, nonProd!, free!.trial, free!.freeContract]
  return (
    thousandths(cpu) === classes.reduce((all, each) => all + thousandths(each.cpu), 0) &&
    thousandths(memory) === classes.reduce((all, each) => all + thousandths(each.memory), 0)
  )
}
const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index])

const partsOf = (item: Item): readonly (readonly Item[])[] =>
  [item.kinds, item.matrix, item.segments, ...(item.kinds ?? []).map(({ contracts }) => contracts)].filter(
    (parts) => parts !== undefined,
  )

test('items add up to the totals in every view', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      plans,
      fc.constantFrom(monthKey(2026, 2), monthKey(2028, 2), monthKey(2026, 7)),
      async (given, month) => {
        for (const [name, { json, itemCount }] of await built(monthOfPlans(given, { month }))) {
          if (itemCount !== json.items.length) return false
          if (name.startsWith('object-quota')) continue
          if (!isSame(sumOf(json.items, json.totals), figuresOf(json.totals))) return false
          if (![json.totals, ...json.items].every(classesAddUp)) return false
          for (const item of json.items) {
            if (item.kinds !== undefined && !isSame(sumOf(item.kinds, item), figuresOf(item))) return false
            if (!(item.kinds ?? []).every((kind) => isSame(sumOf(kind.contracts, kind), figuresOf(kind)))) return false
            if (item.matrix !== undefined && !isSame(sumOf(item.matrix, item), figuresOf(item))) return false
            if (item.segments !== undefined && !isSame(sumOf(item.segments, item), figuresOf(item))) return false
            if (!partsOf(item).flat().every(classesAddUp)) return false
          }
        }
        return true
      },
    ),
    { numRuns: 60 },
  )
  t.pass()
})

test('totals are exact sums, rounded once', async (t) => {
  await fc.assert(
    fc.asyncProperty(plans, async (given) => {
      const month = monthOfPlans(given)
      const used = given.flatMap((plan) => plan.used)
      const cpu = thousandthsOf(
        used.reduce((all, { milliCpuSeconds }) => all + milliCpuSeconds, 0n),
        perCoreMonth(month.month),
      )
      const memory = thousandthsOf(
        used.reduce((all, { mebibyteSeconds }) => all + mebibyteSeconds, 0n),
        perGibMonth(month.month),
      )
      const views = await built(month)
      for (const [name, { json }] of views) {
        if (
          !name.startsWith('object-quota') &&
          (thousandths(json.totals.cpu) !== Number(cpu) || thousandths(json.totals.memory) !== Number(memory))
        )
          return false
      }
      const shown = new Map(views.get('objects-usage-view billable')!.json.items.map((item) => [item.objectID, item]))
      return month.objects.every(({ object, parts }) => {
        const exact =
          parts.filter(({ use }) => use === 'prod').reduce((all, { milliCpuSeconds }) => all + milliCpuSeconds, 0n) *
          1000n
        const difference = BigInt(thousandths(shown.get(object.uid)!.prod!.cpu)) * perCoreMonth(month.month) - exact
        return difference < perCoreMonth(month.month) && difference > -perCoreMonth(month.month)
      })
    }),
    { numRuns: 60 },
  )
  t.pass()
})

test('the same use gives the same bytes, in whatever order and batches it comes', async (t) => {
  await fc.assert(
    fc.asyncProperty(plans, fc.integer({ min: 1, max: 30 }), async (given, batch) => {
      const month = monthOfPlans(given)
      const texts = async (of: PlainMonth, size: number) => {
        const { sink, views } = viewSink()
        await buildViews(sink, monthId, readOnce(of, size))
        return views.map((view) => [view.key, textOf(view)])
      }
      const turned: PlainMonth = {
        ...month,
        days: [...month.days].reverse(),
        clusters: [...month.clusters].reverse(),
        contracts: [...month.contracts].reverse(),
        objects: month.objects.map((object) => ({ ...object, parts: [...object.parts].reverse() })),
      }
      t.deepEqual(await texts(turned, batch), await texts(month, 7))
    }),
    { numRuns: 30 },
  )
})

test('both view types agree on cpu, memory and clusters', async (t) => {
  await fc.assert(
    fc.asyncProperty(plans, async (given) => {
      const views = await built(monthOfPlans(given))
      for (const name of [
        'objects-usage-view',
        'clusters-usage-view',
        'namespaces-usage-view',
        'gks-usage-view',
        'contracts-usage-view',
      ]) {
        const [total, billable] = ['total', 'billable'].map((type) => views.get(`${name} ${type}`)!.json)
        if (
          JSON.stringify(total!.items.map(({ cpu, memory }) => [cpu, memory])) !==
          JSON.stringify(billable!.items.map(({ cpu, memory }) => [cpu, memory]))
        )
          return false
      }
      const counts = (name: string) =>
        views.get(name)!.json.items.reduce((all, { objectCount = 0 }) => all + objectCount, 0)
      return [
        'clusters-usage-view total',
        'namespaces-usage-view total',
        'gks-usage-view total',
        'gks-by-cluster total',
      ].every((name) => counts(name) === given.length)
    }),
    { numRuns: 40 },
  )
  t.pass()
})

test('a view of several pieces has all items in order', async (t) => {
  const many = Array.from({ length: 601 }, (_, n) => ({
    cluster: 1 + (n % 4),
    kind: 'Postgres',
    namespace: 'shop',
    name: `db-${n}`,
    used: [{ day: 1, use: 'prod' as const, contractId: 7, milliCpuSeconds: BigInt(n * 777), mebibyteSeconds: 1n }],
  }))
  const { sink, views } = viewSink()
  await buildViews(sink, monthId, readOnce(monthOfPlans(many)))
  const objects = views.find(({ key }) => key.view === 'objects-usage-view' && key.viewType === 'total')!
  t.deepEqual(
    objects.pieces.map(({ items }) => (JSON.parse(`[${items}]`) as unknown[]).length),
    [250, 250, 101],
  )
  for (const { firstKey, items } of objects.pieces) {
    const [first] = JSON.parse(`[${items}]`) as Item[]
    t.is(firstKey, `${first!.clusterUID}/${first!.objectID}`)
  }
})

test('an unused cluster has zeros, and uncontracted use is under 0', async (t) => {
  const views = await built(
    monthOfPlans([
      {
        cluster: 1,
        kind: 'Redis',
        namespace: 'shop',
        name: 'cache',
        used: [{ day: 3, use: 'free', contractId: 0, milliCpuSeconds: 10n ** 10n, mebibyteSeconds: 0n }],
      },
    ]),
  )
  t.deepEqual(
    views.get('clusters-usage-view total')!.json.items.map(({ objectCount, cpu }) => [objectCount, cpu]),
    [
      [1, 3.858],
      [0, 0],
    ],
  )
  t.deepEqual(
    views.get('contracts-usage-view total')!.json.items.map(({ contractID, cpu }) => [contractID, cpu]),
    [
      [0, 3.858],
      [7, 0],
      [9, 0],
    ],
  )
})

test('days that do not add up to the objects, and objects out of order, are errors', async (t) => {
  const month = monthOfPlans(
    [1, 2].map((cluster) => ({
      cluster,
      kind: 'Redis',
      namespace: 'shop',
      name: 'cache',
      used: [{ day: 3, use: 'prod', contractId: 7, milliCpuSeconds: 5n, mebibyteSeconds: 5n }],
    })),
  )
  await t.throwsAsync(built({ ...month, days: month.days.slice(1) }), { message: /do not add up/ })
  await t.throwsAsync(built({ ...month, objects: [...month.objects].reverse() }), { message: /does not follow/ })
})

test('products other than databases have the views of clusters and contracts', async (t) => {
  const views = await built(monthOfPlans([], { product: 'vaultProduct' }))
  t.deepEqual([...views.keys()].sort(), [
    'clusters-usage-view billable',
    'clusters-usage-view total',
    'contracts-usage-view billable',
    'contracts-usage-view total',
  ])
})

test('a view is its items in order, in pieces, whatever they are and however long', async (t) => {
  const items = fc.array(
    fc.tuple(anyText({ maxLength: 40 }), fc.nat(3000)).map(([text, times]) => text.repeat(times)),
    { maxLength: 12 },
  )
  const key = { product: 'dbProduct', view: 'objects-usage-view', viewType: 'total' } as const
  await fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 60 }), async (some, times) => {
      const given = Array.from({ length: times }, () => some).flat()
      const { sink, views } = viewSink()
      const writer = await startView(sink, monthId, monthKey(2026, 7), key)
      for (const [index, item] of given.entries()) await writer.add(item, String(index))
      await writer.finish('')
      const [view] = views
      const pieces = Array.from({ length: Math.ceil(given.length / pieceItems) }, (_, piece) => ({
        firstKey: String(piece * pieceItems),
        items: given.slice(piece * pieceItems, (piece + 1) * pieceItems).join(','),
      }))
      return view?.itemCount === given.length && isDeepStrictEqual(view.pieces, pieces)
    }),
    { numRuns: 40 },
  )
  t.pass()
})
