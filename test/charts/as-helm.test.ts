// process: waiting - uses components
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import { valuesByChart } from '../../adapters/charts/chart-values.ts'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'
import { helmTemplate, tellValues, toldValues } from '../support/charts/helm-template.ts'
import { plainNumbers } from '../support/charts/plain-numbers.ts'
import { helm } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { repeats } from '../support/thorough.ts'

const test = needing('helm')

const template = { 'templates/tell.yaml': tellValues }

interface Parts {
  readonly yaml?: string
  readonly values?: string
  readonly charts?: Readonly<Record<string, Parts>>
  readonly version?: string
}

const filesOf = (
  name: string,
  { yaml = '', values = '', charts = {}, version }: Parts,
): Readonly<Record<string, string>> => ({
  'Chart.yaml': chartYaml(name, yaml, version),
  'values.yaml': values,
  ...template,
  ...Object.fromEntries(
    Object.entries(charts).flatMap(([sub, parts]) =>
      Object.entries(filesOf(sub, parts)).map(([path, text]) => [`charts/${sub}/${path}`, text]),
    ),
  ),
})

/** Helm names sources by the alias of each chart; ours are dotted paths. */
const sourceOf = (path: string): string =>
  [
    'web',
    ...path
      .split('.')
      .filter((part) => part !== '')
      .flatMap((part) => ['charts', part]),
    'templates/tell.yaml',
  ].join('/')

const compare = async (
  command: string,
  parts: Parts,
  values: FreeObject,
): Promise<{ readonly ours: unknown; readonly helms: unknown }> => {
  const archive = await chartArchive(filesOf('web', parts))
  const rendered = await helmTemplate(command, archive, JSON.stringify(values))
  const found = valuesByChart(await readChart(archive, archiveLimits), values)
  // Helm 3 prints the charts below a chart that stands twice, under two names, once. Their values stand in their
  // parents' too.
  const isComparable = (source: string): boolean => !source.includes('/charts/deep/')
  const ours = isLeft(found)
    ? 'refused'
    : Object.fromEntries(
        found.right
          .map((each) => [sourceOf(each.path), each.values] as const)
          .filter(([source]) => isComparable(source)),
      )
  return {
    ours,
    helms:
      'error' in rendered
        ? 'refused'
        : Object.fromEntries([...toldValues(rendered.manifest)].filter(([source]) => isComparable(source))),
  }
}

const umbrella: Parts = {
  yaml: `dependencies:
- name: db
  version: ">=1.0.0"
  condition: db.enabled,global.db
  tags: [storage]
- name: db
  version: 1.x
  alias: cache
  tags: [storage, fast]
- name: lib
  version: ~1.2
  import-values:
  - data
  - child: settings
    parent: imported
`,
  values:
    'replicas: 1\nglobal: {region: eu, limits: {cpu: 1, memory: 2}}\ndb: {enabled: true, size: 10, opts: {a: 1, b: ~}, none: ~}\nimported: {own: yes}\n',
  charts: {
    db: {
      version: '1.4.0',
      values:
        'size: 1\nopts: {a: 0, b: 0, c: 0}\nnone: 1\nempty: ~\nname: default\nglobal: {limits: {disk: 5}, region: us}\n',
      charts: { deep: { values: 'd: 1\nglobal: {deep: true}\n' } },
    },
    lib: { version: '1.2.9', values: 'exports: {data: {fromLib: 1, replicas: 9}}\nsettings: {color: red, own: no}\n' },
    loose: { values: 'l: 1\n' },
  },
}

const cases: Readonly<Record<string, readonly [Parts, FreeObject]>> = {
  'defaults alone': [umbrella, {}],
  'maps that merge and lists that replace': [
    { values: 'a: {b: 1, c: [1, 2]}\nd: x\n' },
    { a: { c: [3], e: 4 }, d: { f: 1 } },
  ],
  'null that takes a default away': [
    { values: 'a: {b: 1, c: 2}\nd: x\ne: {f: {g: 1}}\n' },
    { a: { b: null }, d: null, e: { f: null } },
  ],
  'null where there is no default': [{ values: 'a: {b: 1}\n' }, { x: null }],
  'null for a value of a subchart': [umbrella, { db: { name: null, opts: { c: null } } }],
  'a condition that switches off': [umbrella, { db: { enabled: false } }],
  'the second of two conditions': [umbrella, { db: { enabled: null }, global: { db: false } }],
  'a tag that switches off': [umbrella, { tags: { storage: false } }],
  'two tags of which one is on': [umbrella, { tags: { storage: false, fast: true } }],
  'a condition over a tag': [umbrella, { tags: { storage: false }, db: { enabled: true } }],
  'a condition that is no boolean': [umbrella, { db: { enabled: 'no' }, tags: { storage: false } }],
  'globals that flow down': [umbrella, { global: { region: 'asia', limits: { cpu: 4 } } }],
  'a global that is no map': [umbrella, { global: 'x' }],
  'values under an alias': [umbrella, { cache: { size: 99, opts: { a: 7 } } }],
  'what is imported, and set': [
    umbrella,
    { fromLib: 5, imported: { color: 'blue' }, lib: { settings: { color: 'green' } } },
  ],
  'text under the name of a subchart': [umbrella, { db: 'text' }],
  'charts without a declared dependency': [{ charts: { loose: { values: 'l: 1\n' } } }, { loose: { l: 2 } }],
  'dependencies of dependencies': [
    umbrella,
    { db: { deep: { d: 5 } }, cache: { deep: { d: 6 }, global: { deep: false } } },
  ],
}

for (const major of ['helm3', 'helm4'] as const) {
  for (const [title, [parts, values]] of Object.entries(cases)) {
    test(`${major} makes the same values of ${title}`, async (t) => {
      const { ours, helms } = await compare((await helm())![major], parts, values)
      t.deepEqual(ours, helms)
    })
  }

  test(`${major} gives the same result for generated values`, async (t) => {
    const command = (await helm())![major]
    const leaf = fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 9 }),
      fc.constantFrom('x', 'y'),
      fc.boolean(),
      fc.constant([1]),
    )
    const tree = fc.letrec((tie) => ({
      node: fc.oneof({ maxDepth: 3 }, leaf, fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { maxKeys: 3 })),
    })).node
    const keys = fc.constantFrom('db', 'cache', 'global', 'opts', 'size', 'imported', 'lib', 'a')
    const values = fc.dictionary(
      keys,
      fc.oneof(tree, fc.dictionary(fc.constantFrom('size', 'opts', 'enabled', 'global', 'deep'), tree, { maxKeys: 3 })),
      { maxKeys: 4 },
    )
    for (const sample of fc.sample(values, { numRuns: repeats(15, 150), seed: 20_261_122 })) {
      const given = sample as FreeObject
      const { ours, helms } = await compare(command, umbrella, given)
      t.deepEqual(ours, helms, JSON.stringify(given))
    }
  })
}

const scalars = [
  'y',
  'Y',
  'yes',
  'Yes',
  'YES',
  'yEs',
  'n',
  'no',
  'No',
  'NO',
  'on',
  'On',
  'ON',
  'off',
  'Off',
  'OFF',
  'true',
  'True',
  'TRUE',
  'tRue',
  'false',
  'False',
  'FALSE',
  '~',
  'null',
  'Null',
  'NULL',
  'nULL',
  '',
  '""',
  "''",
  '0',
  '-0',
  '+1',
  '-1',
  '007',
  '0777',
  '-0777',
  '08',
  '09.5',
  '0o17',
  '0O17',
  '0o18',
  '0x1F',
  '0X1f',
  '-0x1F',
  '0b101',
  '-0b101',
  '0b102',
  '1_000',
  '1__0',
  '_1',
  '1_',
  '0x_1F',
  '0_7',
  '9223372036854775807',
  '-9223372036854775808',
  '18446744073709551615',
  '18446744073709551616',
  '9007199254740993',
  '123456789012345678901234567890',
  '0xFFFFFFFFFFFFFFFF',
  '1.5',
  '-1.5',
  '+1.5',
  '1.',
  '.5',
  '-.5',
  '.',
  '1.5.2',
  '1e3',
  '1E3',
  '1e+3',
  '1e-3',
  '1.5e3',
  '.5e3',
  'e3',
  '1e',
  '1e400',
  '1_0.5',
  '._5',
  '0.0',
  '1.0',
  '1e21',
  '1e20',
  '6.02e23',
  '1:30',
  '12:30:45',
  '190:20:30.15',
  '2001-12-14',
  '2001-12-14T21:59:43Z',
  '2001-12-14 21:59:43.10 -5',
  '2001-1-1',
  '!!str 12',
  '!!int "12"',
  '!!float 1',
  '!!bool "yes"',
  '!!null ""',
  '!!binary aGVsbG8=',
  '!custom 12',
  '!custom text',
  '!!timestamp 2001-12-14',
  '! 12',
  '=',
  '<<',
  '1.2.3',
  'v1',
  '-',
  '--',
  '- a',
  '"\\u00e9\\x41\\n"',
  "'it''s'",
  '0.1.0',
  '1,000',
  '100%',
  '$100',
  'a#b',
  'a #b',
  '"a #b"',
  '[]',
  '{}',
  '[y, 0777, a]',
  '{y: n, 1: 2}',
  '[a, b, ]',
  '1e1000',
  '0x',
  '0b',
  '+',
  '+a',
  '-a',
  'Infinity',
  'NaN',
  'inf',
  '.infinity',
]

const documents = [
  'a: 1\nb:\n- 1\n- 2\nc:\n  - x: 1\n    y: 2\n',
  'on: 1\nyes: 2\n8080: http\n0777: octal\n1.5: float\n"null": text\ntrue: last\n',
  'a: &x {b: 1, c: [1, 2]}\nd: *x\ne: {<<: *x, b: 2}\nf: {b: 3, <<: *x}\ng: {<<: [{b: 7}, {b: 8, z: 9}], q: 1}\n',
  'text: |\n  one\n   two\n\nfolded: >-\n  one\n  two\n\n  three\nkeep: |+\n  x\n\nend: 1\n',
  'twice: 1\ntwice: 2\nmap: {a: 1, a: 2}\n',
  '# a comment\n---\na: 1 # another\n',
  'a: "quoted \\" text"\nb: plain text\n',
  'a: !!set {x, y}\nb: !!omap [x: 1, y: 2]\nc: !foo {a: 1}\nd: !bar [1]\n',
  'multi: first\n  second\n  third\n',
  '? a\n: 1\n? b\n: 2\n',
  'a: [1,\n 2,\n 3]\nb: {x: 1,\n y: 2}\n',
  'empty:\nlist:\n-\n- a\n',
  '\uFEFFa: 1\n',
  'ключ: значение\n日本: 語\nemoji: 😀\n',
  'a:\n- - 1\n  - 2\n- - 3\n',
  'a: 1\n---\n',
]

const unreadable = [
  'a: .inf',
  'a: .nan',
  '~: 1',
  '[a]: 1',
  'a: *nothing',
  'a: [1',
  'a: {b: 1',
  '\ta: 1',
  'a: b: c',
  '- a\n- b',
  'text',
  '!!int abc: 1',
  'a: !!int abc',
  'a: "\\q"',
  'a: b\n c: d\n  e: f',
]

const ours = (text: string): unknown => {
  const parsed = kubernetesYamlText.parse(text)
  if (isLeft(parsed)) return 'refused'
  const value = parsed.right ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) return 'refused'
  return plainNumbers(value)
}

const byHelm = async (command: string, text: string): Promise<unknown> => {
  const archive = await chartArchive({
    'Chart.yaml': chartYaml('web'),
    'values.yaml': text,
    'templates/tell.yaml': tellValues,
  })
  const rendered = await helmTemplate(command, archive, '{}')
  return 'error' in rendered ? 'refused' : toldValues(rendered.manifest).get('web/templates/tell.yaml')
}

/** Null in a chart's own values stays in some versions and goes in others: not a matter of reading. */
const markNull = (text: string): string =>
  text === '' || /^(~|null|Null|NULL|!!null "")$/.test(text) ? `[${text === '' ? '~' : text}]` : text

for (const major of ['helm3', 'helm4'] as const) {
  test(`${major} reads scalars as we do`, async (t) => {
    const command = (await helm())![major]
    const text = scalars.map((scalar, i) => `k${i}: ${markNull(scalar)}`)
    const accepted = text.filter((line) => ours(line) !== 'refused').join('\n')
    const [our, its] = [ours(accepted), await byHelm(command, accepted)] as [
      Record<string, unknown>,
      Record<string, unknown>,
    ]
    t.true(Object.keys(its).length > 120)
    for (const [i, scalar] of scalars.entries()) t.deepEqual(our[`k${i}`], its[`k${i}`], scalar)
    for (const line of text.filter((each) => ours(each) === 'refused'))
      t.is(await byHelm(command, line), 'refused', line)
  })

  for (const document of documents) {
    test(`${major} reads a document as we do: ${JSON.stringify(document)}`, async (t) => {
      t.not(ours(document), 'refused')
      t.deepEqual(ours(document), await byHelm((await helm())![major], document))
    })
  }

  for (const text of unreadable) {
    test(`${major} and we refuse ${JSON.stringify(text)}`, async (t) => {
      t.is(ours(text), 'refused')
      t.is(await byHelm((await helm())![major], text), 'refused')
    })
  }
}

test('documents of values.yaml merge as in Helm 4, and Chart.yaml uses the first', async (t) => {
  const { helm4 } = (await helm())!
  const parts = (values: string): Parts => ({
    yaml: 'type: application\n---\nname: other\n',
    values,
    charts: { db: { values: 'port: 1\n---\nport: 2\nname: x\n' } },
  })
  for (const values of [
    'a: {x: 1, z: 1}\nb: 1\n---\na: {w: 2, z: null}\nc: [1]\n',
    '---\n# nothing\n---\na: 1\n---\n',
    'a: {b: 1}\n---\na: 2\n---\na: {c: 3}\n',
    'a: 1\n---\n- 2\n',
  ]) {
    if (values.endsWith('- 2\n')) {
      await t.throwsAsync(compare(helm4, parts(values), {}), { message: /must be a map/ })
      continue
    }
    const { ours, helms } = await compare(helm4, parts(values), { a: null })
    t.deepEqual(ours, helms, values)
    const given = await compare(helm4, parts(values), {})
    t.deepEqual(given.ours, given.helms, values)
  }
})
