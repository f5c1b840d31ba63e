import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { valuesByChart } from '../../../adapters/charts/chart-values.ts'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import { makeRedact } from '../../../adapters/helm/process/helm-output.ts'
import { propsOf } from '../../../composition/http/request/decode.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { redactAll, redactSecrets } from '../../../core/kernel/secret.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import type { SetMode } from '../../../core/packages/charts/set-grammar.ts'
import { assignAll, parseSet } from '../../../core/packages/charts/set-grammar.ts'
import { asTable, mergeTables } from '../../../core/packages/charts/value-tables.ts'
import type { ValuesSpec } from '../../../core/packages/charts/values.ts'
import {
  checkValuesSpec,
  composeOverrides,
  composeValues,
  exactValues,
  saysValues,
  storedValues,
} from '../../../core/packages/charts/values.ts'
import {
  parseGoDuration,
  Duration,
  InstallReleaseOptions,
  RollbackReleaseRequest,
  UninstallReleaseRequest,
  UpgradeReleaseOptions,
} from '../../../plugins/packages/releases/codecs.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts } from '../texts.ts'

/** The `--set` grammar: the documented examples, its refusals, and what holds for any line. */
const set = (line: string, mode: SetMode = 'typed', base: FreeObject = {}): FreeObject => {
  const parsed = parseSet(line, mode)
  if (isLeft(parsed)) throw new Error(parsed.left)
  return assignAll(base, parsed.right)
}

const examples: readonly (readonly [string, FreeObject])[] = [
  ['name=value', { name: 'value' }],
  ['a=b,c=d', { a: 'b', c: 'd' }],
  ['outer.inner=value', { outer: { inner: 'value' } }],
  ['a.b=c,a.d=e', { a: { b: 'c', d: 'e' } }],
  ['name={a, b, c}', { name: ['a', ' b', ' c'] }],
  ['name={a,b},x=1', { name: ['a', 'b'], x: 1 }],
  ['name={}', { name: [''] }],
  ['name={1,true,null}', { name: [1, true, null] }],
  ['servers[0].port=80', { servers: [{ port: 80 }] }],
  ['servers[0].port=80,servers[0].host=example', { servers: [{ port: 80, host: 'example' }] }],
  ['list[1]=b', { list: [null, 'b'] }],
  ['list[0][1]=x', { list: [[null, 'x']] }],
  ['list[0]={a,b}', { list: [['a', 'b']] }],
  ['name=value1\\,value2', { name: 'value1,value2' }],
  ['nodeSelector.kubernetes\\.io/role=master', { nodeSelector: { 'kubernetes.io/role': 'master' } }],
  ['a=\\{b\\}', { a: '{b}' }],
  ['a=x=y', { a: 'x=y' }],
  ['a=', { a: '' }],
  ['a=,b=1', { a: '', b: 1 }],
  ['a=null,b=NULL', { a: null, b: null }],
  ['a=true,b=False,c=yes', { a: true, b: false, c: 'yes' }],
  ['a=0,b=-5,c=+7,d=007,e=1.5,f=1e3', { a: 0, b: -5, c: 7, d: '007', e: '1.5', f: '1e3' }],
  ['a=9007199254740993', { a: 9007199254740993n }],
  ['a=9223372036854775808', { a: '9223372036854775808' }],
  ['a=ü→,b=😀', { a: 'ü→', b: '😀' }],
  ['__proto__.x=1', JSON.parse('{"__proto__":{"x":1}}') as FreeObject],
]

for (const [line, expected] of examples) {
  test(`--set ${line}`, (t) => {
    t.deepEqual(set(line), expected)
  })
}

test('no line reaches the prototype of anything', (t) => {
  set('__proto__.polluted=1,constructor.prototype.polluted=1')
  t.is(({} as Record<string, unknown>).polluted, undefined)
})

for (const line of [
  'a',
  'a.b',
  'a,b=1',
  '=1',
  'a..b=1',
  '.a=1',
  'a[x]=1',
  'a[-1]=1',
  'a[0',
  'a[0]x=1',
  'a[70000]=1',
  'a={b',
  'a={b,c',
  'a[0]',
  `${'a.'.repeat(40)}b=1`,
]) {
  test(`refused: ${line.slice(0, 20)}`, (t) => {
    const parsed = parseSet(line, 'typed')
    t.true(isLeft(parsed))
    if (isLeft(parsed)) t.notRegex(parsed.left, /\d{5}x/)
  })
}

test('--set-string keeps every value a text', (t) => {
  t.deepEqual(set('a=1,b=true,c=null,d={1,x}', 'texts'), { a: '1', b: 'true', c: 'null', d: ['1', 'x'] })
})

test('a later value is put into what is there already', (t) => {
  t.deepEqual(set('a.list[1].x=2,a.more=1', 'typed', { a: { list: [{ x: 1 }, { x: 1, y: 1 }], keep: true } }), {
    a: { list: [{ x: 1 }, { x: 2, y: 1 }], keep: true, more: 1 },
  })
  t.deepEqual(set('a.b=1', 'typed', { a: 'text' }), { a: { b: 1 } })
})

const escape = (text: string): string => text.replace(/[\\,.=[\]{}]/g, '\\$&')
const name = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => text.isWellFormed())
const text = fc.string({ maxLength: 20 }).filter((value) => value.isWellFormed())

test('what is escaped arrives as it was, at any path', (t) => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), text, (path, value) => {
      const expected = path.reduceRight<Json>((inner, key) => Object.fromEntries([[key, inner]]), value)
      t.deepEqual(set(`${path.map(escape).join('.')}=${escape(value)}`, 'texts'), expected as FreeObject)
    }),
  )
})

test('any line is read or refused, in linear steps, and reading it twice gives the same', (t) => {
  const line = fc.string({
    unit: fc.constantFrom('a', '.', ',', '=', '[', ']', '{', '}', '\\', '0', '1', ' ', '-'),
    maxLength: 60,
  })
  fc.assert(
    fc.property(line, (given) => {
      t.deepEqual(parseSet(given, 'typed'), parseSet(given, 'typed'))
    }),
    { numRuns: 2000 },
  )
})

test('what is assigned to stays as it was, however often it is written into', (t) => {
  const base: FreeObject = { a: { b: [1, { c: 1 }] }, kept: { x: 1 } }
  const before = structuredClone(base)
  const shared: Json = { y: [1] }
  const path = (key: string): readonly [{ readonly key: string }] => [{ key }]
  const assigned = assignAll(base, [
    { path: [{ key: 'a' }, { key: 'b' }, { index: 1 }, { key: 'c' }], value: 2 },
    { path: path('one'), value: shared },
    { path: path('two'), value: shared },
    { path: [{ key: 'one' }, { key: 'y' }, { index: 0 }], value: 2 },
  ])
  t.deepEqual(base, before)
  t.deepEqual(shared, { y: [1] })
  t.deepEqual(assigned, { a: { b: [1, { c: 2 }] }, kept: { x: 1 }, one: { y: [2] }, two: { y: [1] } })
})

test('the cost grows linearly with the number of names', (t) => {
  const line = Array.from({ length: 50_000 }, (_, index) => `k${index}=1`).join(',')
  t.is(Object.keys(set(line)).length, 50_000)
})

/**
 * How what a caller says about values becomes the complete set, and what helm is given so that nothing else creeps in.
 */
const readers = { chartTexts, patches: fastJsonPatches }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const chartOf = (values: FreeObject, more: Partial<Chart> = {}): Chart => ({
  name: 'web',
  version: '1.0.0',
  metadata: { name: 'web', version: '1.0.0' },
  values,
  files: new Map(),
  subcharts: [],
  ...more,
})
const compose = async (chart: Chart, spec: ValuesSpec): Promise<FreeObject> =>
  unwrap(await composeValues(readers, chart, spec)).complete
const fieldOf = async (chart: Chart, spec: ValuesSpec): Promise<string> => {
  const composed = await composeValues(readers, chart, spec)
  return isLeft(composed) ? (composed.left.message.split(':')[0] ?? '') : 'done'
}
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

const chart = chartOf(
  { replicas: 1, image: { name: 'nginx', tag: '1' }, args: ['a'] },
  {
    files: new Map([
      ['values-small.yaml', bytes('\uFEFFreplicas: 0\nimage:\n  name: tiny\n')],
      ['list.yaml', bytes('- 1')],
      ['broken.yaml', bytes('a: [')],
    ]),
  },
)

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

test("a subchart gets its own default back where the set lacks its parent's, as if the parent had said nothing", (t) => {
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

test('whatever the defaults are, templates see exactly the complete set', (t) => {
  fc.assert(
    fc.property(table, table, (defaults, complete) =>
      t.deepEqual(rendered(chartOf(defaults), exactValues(chartOf(defaults), complete)), complete),
    ),
  )
})

/** What helm is to store. */
const stored = async (of: Chart, spec: ValuesSpec): Promise<FreeObject> =>
  storedValues(of, unwrap(await composeValues(readers, of, spec)))

test('only what the caller sets is stored, a list as a whole', async (t) => {
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

test('what is stored gives the complete set over the defaults, and leaves other keys to the next chart', async (t) => {
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

/** Bodies of the four operations: what is known is checked, what is not is dropped. */
const source = { name: 'web', sourceName: 'stable' }
const codecs: readonly (readonly [string, t.Mixed, object])[] = [
  ['install', InstallReleaseOptions, { ...source, releaseName: 'web' }],
  ['upgrade', UpgradeReleaseOptions, source],
  ['uninstall', UninstallReleaseRequest, {}],
  ['rollback', RollbackReleaseRequest, {}],
]

for (const [name, codec, least] of codecs) {
  test(`${name}: every known key refuses a wrong type, and is named`, (t) => {
    for (const key of Object.keys(propsOf(codec))) {
      for (const wrong of [{ nested: { deeply: 1 } }, [[[]]], Object(1.5)]) {
        // A map of values is a map like any other, and any number will do where one is a value.
        if (key === 'replaceValues' && !Array.isArray(wrong)) continue
        const decoded = codec.decode({ ...least, [key]: wrong })
        t.true(isLeft(decoded), `${key} takes ${JSON.stringify(wrong)}`)
        if (isLeft(decoded))
          t.true(
            decoded.left.some(({ context }) => context.some((entry) => entry.key === key)),
            key,
          )
      }
    }
  })

  test(`${name}: unknown keys are dropped, null counts as absent`, (t) => {
    // io-ts copies an object by assignment, so this key would set the prototype of the copy.
    const unknownKey = fc.string().filter((key) => key !== '__proto__' && !Object.hasOwn(propsOf(codec), key))
    fc.assert(
      fc.property(fc.dictionary(unknownKey, fc.jsonValue()), (unknown) => {
        const decoded = codec.decode({ ...unknown, ...least })
        t.true(isRight(decoded))
        if (isRight(decoded))
          t.true(Object.keys(decoded.right as object).every((key) => Object.hasOwn(propsOf(codec), key)))
      }),
    )
    const optional = Object.keys(propsOf(codec)).filter((key) => !Object.hasOwn(least, key))
    t.true(isRight(codec.decode({ ...least, ...Object.fromEntries(optional.map((key) => [key, null])) })))
  })
}

const part = fc.tuple(
  fc.nat(59),
  fc.constantFrom(['h', 3600], ['m', 60], ['s', 1], ['ms', 0.001]) as fc.Arbitrary<[string, number]>,
)

test('a duration is the sum of its parts, rounded up to seconds', (t) => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const text = parts.map(([count, [unit]]) => `${count}${unit}`).join('')
      const seconds = parts.reduce((sum, [count, [, each]]) => sum + count * each, 0)
      t.true(Math.abs((parseGoDuration(text) ?? -1) - seconds) < 1e-6)
      const decoded = Duration.decode(text)
      t.is(isRight(decoded), seconds <= 24 * 3600)
      if (isRight(decoded)) t.true(decoded.right >= seconds - 1e-6 && decoded.right < seconds + 1)
    }),
  )
})

test('numbers are seconds, or nanoseconds where they are that many', (t) => {
  const read = (value: unknown): unknown => {
    const decoded = Duration.decode(value)
    return isRight(decoded) ? decoded.right : 'refused'
  }
  t.deepEqual([0, 300, 86_400, 300_000_000_000, 1_500_000_000, 1_000_000].map(read), [0, 300, 86_400, 300, 2, 1])
  t.deepEqual(
    [-1, 90_000, 1.5, '', 'soon', true, null, 86_401_000_000_000, 2 ** 60].map(read),
    Array.from({ length: 9 }, () => 'refused'),
  )
})

test('any text is refused or read', (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      const seconds = parseGoDuration(text)
      t.true(seconds === undefined || seconds >= 0)
    }),
  )
})

/** What callers gave is taken out of what others wrote, however much of it there is. */
test('nothing that is sought stays, wherever such texts overlap', (t) => {
  t.is(redactAll({ a: 'abcdef', b: 'cdefghij' })('x abcdefghij y'), 'x *** y')
  t.is(redactSecrets({ password: ['hunter2', 'hunter2-more'] })('hunter2-more, hunter2'), '***, ***')
  const texts = fc.array(fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') }), {
    maxLength: 8,
  })
  t.notThrows(() =>
    fc.assert(
      fc.property(texts, fc.string({ maxLength: 200, unit: fc.constantFrom('a', 'b', 'c', ' ') }), (values, text) => {
        const shown = redactAll({ values })(text)
        return values.every((each) => !shown.includes(each))
      }),
    ),
  )
})

test('a text that would take too long shows only what was looked at', (t) => {
  const secrets = Array.from({ length: 20_000 }, (_, index) => `${'a'.repeat(24)}${index}`)
  const text = `${'b'.repeat(100)}${'a'.repeat(200_000)} tail ${secrets[7]}`
  const shown = redactSecrets({ secrets })(text)
  t.true(shown.startsWith('b'.repeat(100)))
  t.true(shown.endsWith('***'))
  t.false(shown.includes('tail'))
})

test('with too many texts to seek nothing is shown', (t) => {
  const redact = redactAll({ values: Array.from({ length: 10 }, (_, index) => String(index).repeat(1024 * 1024)) })
  t.is(redact('anything'), '***')
  t.is(redact(''), '')
})

test('one list of words marks what is secret, for helm and for this service', (t) => {
  const keys = [
    'password',
    'passphrase',
    'clientSecret',
    'token',
    'apikey',
    'KEY',
    'signing_key',
    'credentials',
    'auth',
    'privatePem',
    'cert',
    'dsn',
    'connection',
    'salt',
    'hash',
    'license',
    'licence',
  ]
  for (const key of keys) {
    const values = { app: { [key]: ['hunter2-more'] } }
    for (const redact of [redactSecrets(values), makeRedact(values, 'http://127.0.0.1:1/x')])
      t.is(redact('is hunter2-more'), 'is ***', key)
  }
  t.is(redactSecrets({ image: 'nginx:1.29', replicas: 12345 })('nginx:1.29, 12345 times'), 'nginx:1.29, 12345 times')
})

test('a secret is found in each form in which it is quoted', (t) => {
  const value = 'first "line"\n  pin\nlast line, ünïcode'
  const redact = redactSecrets({ secret: value, pin: { key: 4711 }, auth: [Object(12345) as never, 9007199254740993n] })
  for (const line of value.split('\n')) {
    for (const form of [line, line.trim(), JSON.stringify(line).slice(1, -1)]) {
      if (form.trim().length >= 4) t.is(redact(`<${form.trim()}>`), '<***>', form)
    }
  }
  for (const form of [value, 'last line, ünïcode', 'first "line"'])
    t.is(redact(`<${Buffer.from(form).toString('base64')}>`), '<***>', form)
  t.is(redact(JSON.stringify({ a: value })), '{"a":"***"}')
  t.is(redact('4711, 12345.0, 9007199254740993'), '***, ***.0, ***')
})
