import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import type { ValuesSpec } from '../../../core/packages/charts/values.ts'
import { checkValuesSpec, composeOverrides, composeValues, saysValues } from '../../../core/packages/charts/values.ts'
import { unwrap } from '../../support/outcome.ts'
import { chart, readers } from './values.fixture.ts'

const compose = async (chart: Chart, spec: ValuesSpec): Promise<FreeObject> =>
  unwrap(await composeValues(readers, chart, spec)).complete
const fieldOf = async (chart: Chart, spec: ValuesSpec): Promise<string> => {
  const composed = await composeValues(readers, chart, spec)
  return isLeft(composed) ? (composed.left.message.split(':')[0] ?? '') : 'done'
}

test('each form of values takes precedence over the one before it', async (t) => {
  const spec: ValuesSpec = {
    valueTexts: ['replicas: 2\nimage: {tag: "2"}', 'extra: {a: 1, b: 1}'],
    values: ['extra.a=2,replicas=3'],
    stringValues: ['extra.a=3'],
    kvPairs: [
      { key: 'extra.b', value: { deep: [1] } },
      { key: 'with\\.dot', value: 1 },
    ],
  }
  t.deepEqual(await compose(chart, spec), {
    replicas: 3,
    image: { name: 'nginx', tag: '2' },
    args: ['a'],
    extra: { a: '3', b: { deep: [1] } },
    'with.dot': 1,
  })
  t.deepEqual(unwrap(await composeOverrides(readers, spec)), {
    replicas: 3,
    image: { tag: '2' },
    extra: { a: '3', b: { deep: [1] } },
    'with.dot': 1,
  })
})

test('replaceValues is the whole set, also when it is empty', async (t) => {
  t.deepEqual(await compose(chart, { replaceValues: { a: 1 }, values: ['b=1'], valuesPatch: [{ op: 'nonsense' }] }), {
    a: 1,
  })
  t.deepEqual(await compose(chart, { replaceValues: {} }), {})
  t.true(saysValues({ replaceValues: {} }))
  t.false(saysValues({}))
  t.false(saysValues({ valuesFile: '', valuesPatch: [], valueTexts: [], values: [], stringValues: [], kvPairs: [] }))
})

test('the base is a file of the chart, and a patch on it is final', async (t) => {
  t.deepEqual(await compose(chart, { valuesFile: 'values-small.yaml' }), { replicas: 0, image: { name: 'tiny' } })
  t.deepEqual(
    await compose(chart, {
      valuesFile: 'values.yaml',
      valuesPatch: [
        { op: 'remove', path: '/image' },
        { op: 'add', path: '/args/-', value: 'b' },
      ],
      values: ['replicas=9'],
    }),
    { replicas: 1, args: ['a', 'b'] },
  )
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
  ['valueBytes.0', { valueTexts: ['a: secret-word\n---\n- b'] }],
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

test('values are checked without a chart where possible', async (t) => {
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
