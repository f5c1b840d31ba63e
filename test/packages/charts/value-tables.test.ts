import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { valuesByChart } from '../../../adapters/charts/chart-values.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import { asTable, mergeTables } from '../../../core/formats/helm/value-tables.ts'
import type { ValuesSpec } from '../../../core/packages/charts/values.ts'
import { composeValues, exactValues, storedValues } from '../../../core/packages/charts/values.ts'
import { unwrap } from '../../support/outcome.ts'
import { chart, chartOf, readers } from './values.fixture.ts'

/** Without nulls: below a subchart helm leaves some, which templates cannot tell from nothing. */
const withoutNulls = (values: FreeObject): FreeObject =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, asTable(value) === undefined ? value : withoutNulls(value as FreeObject)]),
  )
/** What templates would see. */
const rendered = (chart: Chart, given: FreeObject): FreeObject =>
  withoutNulls(unwrap(valuesByChart(chart, given))[0]?.values ?? {})

test('a default that the complete set lacks is taken away', (t) => {
  const given = exactValues(chart, { image: { name: 'x' }, own: 1 })
  t.deepEqual(given, { image: { name: 'x', tag: null }, own: 1, replicas: null, args: null })
  t.deepEqual(rendered(chart, given), { image: { name: 'x' }, own: 1 })
})

const library = chartOf({ port: 80, tls: { on: false, name: 'own' } }, { name: 'lib' })
const umbrella = chartOf(
  { lib: { port: 8080, tls: { name: 'parents' }, added: 1 }, second: { port: 1 }, top: 1 },
  {
    metadata: {
      name: 'umbrella',
      version: '1.0.0',
      dependencies: [
        { name: 'lib', version: '1.0.0' },
        { name: 'lib', version: '1.0.0', alias: 'second' },
      ],
    },
    subcharts: [library],
  },
)

test("a subchart's default returns where the set lacks its parent's", (t) => {
  const own = { port: 80, tls: { on: false, name: 'own' }, global: {} }
  t.deepEqual(rendered(umbrella, exactValues(umbrella, {})), { lib: own, second: own })
  t.deepEqual(rendered(umbrella, exactValues(umbrella, { lib: { tls: { on: true } } })), {
    lib: { ...own, tls: { on: true, name: 'own' } },
    second: own,
  })
  t.deepEqual(rendered(umbrella, exactValues(umbrella, { lib: { tls: null } })), {
    lib: { port: 80, global: {} },
    second: own,
  })
})

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const table = fc.letrec<{ value: unknown; table: FreeObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(1, 'x', true),
    fc.array(fc.constantFrom(1, 'y'), { maxLength: 2 }),
    tie('table'),
  ),
  table: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries) as FreeObject),
})).table

test('templates see exactly the complete set over any defaults', (t) => {
  fc.assert(
    fc.property(table, table, (defaults, complete) =>
      t.deepEqual(rendered(chartOf(defaults), exactValues(chartOf(defaults), complete)), complete),
    ),
  )
})

/** What helm is to store. */
const stored = async (of: Chart, spec: ValuesSpec): Promise<FreeObject> =>
  storedValues(of, unwrap(await composeValues(readers, of, spec)))

test('only values that differ are stored, and lists as a whole', async (t) => {
  const cases: readonly (readonly [ValuesSpec, FreeObject])[] = [
    [{ values: ['replicas=1'] }, { replicas: 1 }],
    [{ values: ['image.tag=x,args[1]=b'] }, { image: { tag: 'x' }, args: ['a', 'b'] }],
    [{ valueTexts: ['image: {tag: "1"}\nnew: {}', 'image: {}'] }, { image: { tag: '1' }, new: {} }],
    [{ kvPairs: [{ key: 'image', value: { name: 'x' } }] }, { image: { name: 'x', tag: null } }],
    [
      {
        valuesPatch: [
          { op: 'replace', path: '/replicas', value: 1 },
          { op: 'test', path: '/args/0', value: 'a' },
          { op: 'remove', path: '/image/tag' },
        ],
      },
      { replicas: 1, image: { tag: null } },
    ],
    [
      {
        valuesPatch: [
          { op: 'move', from: '/image/name', path: '/name' },
          { op: 'add', path: '/args/-', value: 'b' },
        ],
      },
      { image: { name: null }, name: 'nginx', args: ['a', 'b'] },
    ],
    [{ valuesPatch: [{ op: 'replace', path: '', value: { replicas: 2 } }] }, { replicas: 2, image: null, args: null }],
    [
      { valuesFile: 'values-small.yaml', values: ['a=1'] },
      { replicas: 0, image: { name: 'tiny', tag: null }, a: 1, args: null },
    ],
    [{ replaceValues: { a: 1 } }, { a: 1, replicas: null, image: null, args: null }],
    [{ values: ['image=x'] }, { image: 'x' }],
    [
      { valueTexts: ['replicas: 2\nimage: {tag: "2"}\n---\n---\nimage: {name: x}\n'] },
      { replicas: 2, image: { tag: '2', name: 'x' } },
    ],
  ]
  for (const [spec, expected] of cases) {
    t.deepEqual(await stored(chart, spec), expected, JSON.stringify(spec))
  }
})

/** Forms of values that set the given table in part. */
const specs = table.chain((given): fc.Arbitrary<ValuesSpec> =>
  fc.oneof(
    fc.constant({ valueTexts: [JSON.stringify(given)] }),
    fc.constant({ kvPairs: Object.entries(given).map(([name, value]) => ({ key: name, value: value as Json })) }),
    fc.constant({
      valuesPatch: Object.entries(given)
        .filter(([name]) => name !== '__proto__')
        .map(([name, value]) => ({ op: 'add', path: `/${name}`, value: value as Json })),
    }),
    fc.constant({ values: ['a.b=1', 'c[1]=x'], valueTexts: [JSON.stringify(given)] }),
  ),
)

test('stored values complete the set over the defaults', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      table.filter((values) => !Object.hasOwn(values, '__proto__')),
      table,
      specs,
      async (defaults, next, spec) => {
        const composed = await composeValues(readers, chartOf(defaults), spec)
        // A text with the key __proto__ is refused.
        if (isLeft(composed)) return
        const given = storedValues(chartOf(defaults), composed.right)
        t.deepEqual(rendered(chartOf(defaults), given), withoutNulls(composed.right.complete))
        const later = rendered(chartOf(next), given)
        for (const name of Object.keys(next).filter((each) => !Object.hasOwn(given, each)))
          t.deepEqual(later[name], next[name])
      },
    ),
  )
})

test('merging: the later decides, nothing else changes, and neither is touched', (t) => {
  fc.assert(
    fc.property(table, table, (below, above) => {
      const before = structuredClone([below, above])
      const merged = mergeTables(below, above)
      t.deepEqual(mergeTables(merged, above), merged)
      t.deepEqual(mergeTables(below, {}), below)
      t.deepEqual(mergeTables({}, above), above)
      t.deepEqual([below, above], before)
    }),
  )
})
