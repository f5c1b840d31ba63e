import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { valuesByChart } from '../../adapters/charts/chart-values.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'
import { helmTemplate, tellValues, toldValues } from '../support/charts/helm-template.ts'
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

const filesOf = (name: string, { yaml = '', values = '', charts = {}, version }: Parts): Readonly<Record<string, string>> => ({
  'Chart.yaml': chartYaml(name, yaml, version),
  'values.yaml': values,
  ...template,
  ...Object.fromEntries(Object.entries(charts).flatMap(([sub, parts]) => Object.entries(filesOf(sub, parts)).map(([path, text]) => [`charts/${sub}/${path}`, text]))),
})

/** Helm names sources by the alias of each chart; ours are dotted paths. */
const sourceOf = (path: string): string => ['web', ...path.split('.').filter((part) => part !== '').flatMap((part) => ['charts', part]), 'templates/tell.yaml'].join('/')

const compare = async (command: string, parts: Parts, values: FreeObject): Promise<{ readonly ours: unknown; readonly helms: unknown }> => {
  const archive = await chartArchive(filesOf('web', parts))
  const rendered = await helmTemplate(command, archive, JSON.stringify(values))
  const found = valuesByChart(await readChart(archive, archiveLimits), values)
  // Helm 3 prints the charts below a chart that stands twice, under two names, once. Their values stand in their parents' too.
  const isComparable = (source: string): boolean => !source.includes('/charts/deep/')
  const ours = isLeft(found) ? 'refused' : Object.fromEntries(found.right.map((each) => [sourceOf(each.path), each.values] as const).filter(([source]) => isComparable(source)))
  return { ours, helms: 'error' in rendered ? 'refused' : Object.fromEntries([...toldValues(rendered.manifest)].filter(([source]) => isComparable(source))) }
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
  values: 'replicas: 1\nglobal: {region: eu, limits: {cpu: 1, memory: 2}}\ndb: {enabled: true, size: 10, opts: {a: 1, b: ~}, none: ~}\nimported: {own: yes}\n',
  charts: {
    db: { version: '1.4.0', values: 'size: 1\nopts: {a: 0, b: 0, c: 0}\nnone: 1\nempty: ~\nname: default\nglobal: {limits: {disk: 5}, region: us}\n', charts: { deep: { values: 'd: 1\nglobal: {deep: true}\n' } } },
    lib: { version: '1.2.9', values: 'exports: {data: {fromLib: 1, replicas: 9}}\nsettings: {color: red, own: no}\n' },
    loose: { values: 'l: 1\n' },
  },
}

const cases: Readonly<Record<string, readonly [Parts, FreeObject]>> = {
  'defaults alone': [umbrella, {}],
  'maps that merge and lists that replace': [{ values: 'a: {b: 1, c: [1, 2]}\nd: x\n' }, { a: { c: [3], e: 4 }, d: { f: 1 } }],
  'null that takes a default away': [{ values: 'a: {b: 1, c: 2}\nd: x\ne: {f: {g: 1}}\n' }, { a: { b: null }, d: null, e: { f: null } }],
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
  'what is imported, and set': [umbrella, { fromLib: 5, imported: { color: 'blue' }, lib: { settings: { color: 'green' } } }],
  'text under the name of a subchart': [umbrella, { db: 'text' }],
  'charts without a declared dependency': [{ charts: { loose: { values: 'l: 1\n' } } }, { loose: { l: 2 } }],
  'dependencies of dependencies': [umbrella, { db: { deep: { d: 5 } }, cache: { deep: { d: 6 }, global: { deep: false } } }],
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
    const leaf = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 9 }), fc.constantFrom('x', 'y'), fc.boolean(), fc.constant([1]))
    const tree = fc.letrec((tie) => ({ node: fc.oneof({ maxDepth: 3 }, leaf, fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { maxKeys: 3 })) })).node
    const keys = fc.constantFrom('db', 'cache', 'global', 'opts', 'size', 'imported', 'lib', 'a')
    const values = fc.dictionary(keys, fc.oneof(tree, fc.dictionary(fc.constantFrom('size', 'opts', 'enabled', 'global', 'deep'), tree, { maxKeys: 3 })), { maxKeys: 4 })
    for (const sample of fc.sample(values, { numRuns: repeats(50, 150), seed: 20_261_122 })) {
      const given = sample as FreeObject
      const { ours, helms } = await compare(command, umbrella, given)
      t.deepEqual(ours, helms, JSON.stringify(given))
    }
  })
}
