import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import { valuesByChart } from '../../../adapters/charts/chart-values.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import { checkValuesSpec, composeOverrides, composeValues, exactValues, saysValues, type ValuesSpec } from '../../../core/packages/charts/values.ts'
import { asTable, mergeTables } from '../../../core/packages/charts/value-tables.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts } from '../texts.ts'

/** How what a caller says about values becomes the complete set, and what helm is given so that nothing else creeps in. */
const readers = { chartTexts, patches: fastJsonPatches }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const chartOf = (values: FreeObject, more: Partial<Chart> = {}): Chart => ({
  name: 'web', version: '1.0.0', metadata: { name: 'web', version: '1.0.0' }, values, files: new Map(), subcharts: [], ...more,
})
const compose = async (chart: Chart, spec: ValuesSpec): Promise<FreeObject> => unwrap(await composeValues(readers, chart, spec))
const fieldOf = async (chart: Chart, spec: ValuesSpec): Promise<string> => {
  const composed = await composeValues(readers, chart, spec)
  return isLeft(composed) ? (composed.left.message.split(':')[0] ?? '') : 'done'
}
/** Without nulls: below a subchart helm leaves some, which templates cannot tell from nothing. */
const withoutNulls = (values: FreeObject): FreeObject =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null).map(([key, value]) => [key, asTable(value) === undefined ? value : withoutNulls(value as FreeObject)]))
/** What templates would see. */
const rendered = (chart: Chart, given: FreeObject): FreeObject => withoutNulls(unwrap(valuesByChart(chart, given))[0]?.values ?? {})

const chart = chartOf(
  { replicas: 1, image: { name: 'nginx', tag: '1' }, args: ['a'] },
  { files: new Map([['values-small.yaml', bytes('\uFEFFreplicas: 0\nimage:\n  name: tiny\n')], ['list.yaml', bytes('- 1')], ['broken.yaml', bytes('a: [')]]) },
)

test('each form of values takes precedence over the one before it', async (t) => {
  const spec: ValuesSpec = {
    valueTexts: ['replicas: 2\nimage: {tag: "2"}', 'extra: {a: 1, b: 1}'],
    values: ['extra.a=2,replicas=3'],
    stringValues: ['extra.a=3'],
    kvPairs: [{ key: 'extra.b', value: { deep: [1] } }, { key: 'with\\.dot', value: 1 }],
  }
  t.deepEqual(await compose(chart, spec), { replicas: 3, image: { name: 'nginx', tag: '2' }, args: ['a'], extra: { a: '3', b: { deep: [1] } }, 'with.dot': 1 })
  t.deepEqual(unwrap(await composeOverrides(readers, spec)), { replicas: 3, image: { tag: '2' }, extra: { a: '3', b: { deep: [1] } }, 'with.dot': 1 })
})

test('replaceValues is the whole set, also when it is empty', async (t) => {
  t.deepEqual(await compose(chart, { replaceValues: { a: 1 }, values: ['b=1'], valuesPatch: [{ op: 'nonsense' }] }), { a: 1 })
  t.deepEqual(await compose(chart, { replaceValues: {} }), {})
  t.true(saysValues({ replaceValues: {} }))
  t.false(saysValues({}))
})

test('the base is a file of the chart, and a patch on it is final', async (t) => {
  t.deepEqual(await compose(chart, { valuesFile: 'values-small.yaml' }), { replicas: 0, image: { name: 'tiny' } })
  t.deepEqual(await compose(chart, { valuesFile: 'values.yaml', valuesPatch: [{ op: 'remove', path: '/image' }, { op: 'add', path: '/args/-', value: 'b' }], values: ['replicas=9'] }), { replicas: 1, args: ['a', 'b'] })
  t.deepEqual(chart.values, { replicas: 1, image: { name: 'nginx', tag: '1' }, args: ['a'] })
})

const refusals: readonly (readonly [string, ValuesSpec])[] = [
  ['valuesFile', { valuesFile: 'absent.yaml' }],
  ['valuesFile', { valuesFile: 'list.yaml' }],
  ['valuesFile', { valuesFile: 'broken.yaml' }],
  ['valuesPatch', { valuesPatch: [{ op: 'remove', path: '/nowhere' }] }],
  ['valuesPatch', { valuesPatch: [{ op: 'replace', path: '', value: 5 }] }],
  ['valueBytes.1', { valueTexts: ['a: 1', 'secret-word: ['] }],
  ['valueBytes.0', { valueTexts: ['- a'] }],
  ['valueBytes.0', { valueTexts: ['a: secret-word\n---\nb: 1'] }],
  ['values.1', { values: ['a=1', 'secret-word'] }],
  ['stringValues.0', { stringValues: ['a={secret-word'] }],
  ['kv_pairs.0.K', { kvPairs: [{ key: '.', value: 1 }] }],
]
for (const [index, [field, spec]] of refusals.entries()) {
  test(`refused, case ${index}: the field is named and no value is quoted (${field})`, async (t) => {
    t.is(await fieldOf(chart, spec), field)
    const composed = await composeValues(readers, chart, spec)
    t.false(isLeft(composed) && JSON.stringify(composed.left).includes('secret-word'))
  })
}

test('what needs no chart is judged before there is one', async (t) => {
  for (const [field, spec] of refusals.filter(([name]) => !['valuesFile', 'valuesPatch'].includes(name))) {
    const checked = await checkValuesSpec(readers, spec)
    t.true(isLeft(checked) && checked.left.message.startsWith(`${field}:`))
  }
  t.false(isLeft(await checkValuesSpec(readers, { valuesFile: 'any.yaml', values: ['a.b=1'] })))
})

test('a short line cannot make lists without measure', async (t) => {
  const last = '[65535]'
  t.is(await fieldOf(chart, { values: [`a${last}=1`] }), 'done')
  t.is(await fieldOf(chart, { values: Array.from({ length: 5 }, (_, index) => `a${index}${last}=1`) }), 'values')
  t.is(await fieldOf(chart, { stringValues: [`a${last.repeat(8)}=1`] }), 'stringValues')
  t.true(isLeft(await checkValuesSpec(readers, { values: [`a${last.repeat(8)}=1`] })))
})

test('a default that the complete set lacks is taken away', (t) => {
  const given = exactValues(chart, { image: { name: 'x' }, own: 1 })
  t.deepEqual(given, { image: { name: 'x', tag: null }, own: 1, replicas: null, args: null })
  t.deepEqual(rendered(chart, given), { image: { name: 'x' }, own: 1 })
})

const library = chartOf({ port: 80, tls: { on: false, name: 'own' } }, { name: 'lib' })
const umbrella = chartOf(
  { lib: { port: 8080, tls: { name: 'parents' }, added: 1 }, second: { port: 1 }, top: 1 },
  { metadata: { name: 'umbrella', version: '1.0.0', dependencies: [{ name: 'lib', version: '1.0.0' }, { name: 'lib', version: '1.0.0', alias: 'second' }] }, subcharts: [library] },
)

test('a subchart gets its own default back where the set lacks its parent\'s, as if the parent had said nothing', (t) => {
  const own = { port: 80, tls: { on: false, name: 'own' }, global: {} }
  t.deepEqual(rendered(umbrella, exactValues(umbrella, {})), { lib: own, second: own })
  t.deepEqual(rendered(umbrella, exactValues(umbrella, { lib: { tls: { on: true } } })), { lib: { ...own, tls: { on: true, name: 'own' } }, second: own })
  t.deepEqual(rendered(umbrella, exactValues(umbrella, { lib: { tls: null } })), { lib: { port: 80, global: {} }, second: own })
})

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const table = fc.letrec<{ value: unknown; table: FreeObject }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(1, 'x', true), fc.array(fc.constantFrom(1, 'y'), { maxLength: 2 }), tie('table')),
  table: fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries) as FreeObject),
})).table

test('whatever the defaults are, templates see exactly the complete set', (t) => {
  fc.assert(fc.property(table, table, (defaults, complete) => t.deepEqual(rendered(chartOf(defaults), exactValues(chartOf(defaults), complete)), complete)))
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
