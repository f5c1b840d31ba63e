// process: waiting - uses components
import { isLeft } from 'fp-ts/lib/Either.js'
import fc from 'fast-check'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import { composeValues, storedValues, type ValuesSpec } from '../../../core/packages/charts/values.ts'
import { assignAll, parseSet } from '../../../core/formats/helm/set-grammar.ts'
import { asTable } from '../../../core/formats/helm/value-tables.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts } from '../texts.ts'
import { templateAnswer } from '../../support/charts/helm-template.ts'
import { packFiles } from '../chart-archive.ts'

/** Values as the real helm makes them, beside what is composed here. */
const test = needing('helm')

/** Each chart prints the values that its templates see. */
const printing = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  values: {{ .Values | toJson | b64enc }}\n`
const chartYaml = (name: string, more = ''): string => `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n${more}`

const seenBy = async (
  command: string,
  archive: Buffer,
  values: string,
): Promise<Readonly<Record<string, FreeObject>>> => {
  const { status, stdout: text, stderr } = await templateAnswer(command, 'web', { archive, values })
  if (status !== 0) throw new Error(stderr)
  const documents = unwrap(kubernetesYamlText.parseAll(text)) as unknown as readonly {
    readonly metadata: { readonly name: string }
    readonly data: { readonly values: string }
  }[]
  return Object.fromEntries(
    documents.map(({ metadata, data }) => [
      metadata.name,
      JSON.parse(Buffer.from(data.values, 'base64').toString()) as FreeObject,
    ]),
  )
}

const key = fc.constantFrom('a', 'b', 'c', 'with space', 'kubernetes\\.io/role', 'é')
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('key' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('index' as const), index: fc.nat(3) }) },
)
const path = fc
  .tuple(key, fc.array(step, { maxLength: 3 }))
  .map(
    ([first, rest]) => first + rest.map((each) => (each.kind === 'key' ? `.${each.key}` : `[${each.index}]`)).join(''),
  )
const scalar = fc.constantFrom(
  'x',
  '',
  'true',
  'False',
  'null',
  '0',
  '-5',
  '+7',
  '007',
  '1.5',
  '1e3',
  '9007199254740993',
  '9223372036854775808',
  'a\\,b',
  'a\\=b',
  'a=b',
  '\\{x\\}',
  ' spaced ',
  'ü',
  '"q"',
  "'q'",
  '[]',
  'x}',
)
const value = fc.oneof(
  scalar,
  fc
    .array(
      scalar.filter((text) => !text.includes('}')),
      { minLength: 1, maxLength: 3 },
    )
    .map((items) => `{${items.join(',')}}`),
)
const line = fc
  .array(
    fc.tuple(path, value).map(([at, what]) => `${at}=${what}`),
    { minLength: 1, maxLength: 3 },
  )
  .map((parts) => parts.join(','))

const withoutNulls = (values: FreeObject): FreeObject =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, each]) => each !== null)
      .map(([name, each]) => [name, asTable(each) === undefined ? each : withoutNulls(each as FreeObject)]),
  )
/** As a reader without large integers has it. */
const inDoubles = (values: unknown): unknown => JSON.parse(toWireJson(values))

for (const version of ['helm3', 'helm4'] as const) {
  test(`${version} reads --set and --set-string as we do, whatever the line`, async (t) => {
    const command = (await helm())![version]
    const archive = await packFiles('print', {
      'Chart.yaml': chartYaml('print'),
      'templates/print.yaml': printing('print'),
    })
    for (const [index, each] of fc.sample(line, { numRuns: 60, seed: 20_26 }).entries()) {
      const isText = index % 3 === 2
      const own = parseSet(each, isText ? 'texts' : 'typed')
      const theirs = await templateAnswer(command, 'web', { archive, words: [isText ? '--set-string' : '--set', each] })
      if (isLeft(own)) {
        t.not(theirs.status, 0, `${each}: ${own.left}`)
        continue
      }
      // One line may put a map where it has put a text: helm gives up there, we take the later.
      if (theirs.status !== 0 && /unable to parse key|interface conversion/.test(theirs.stderr)) continue
      t.is(theirs.status, 0, `${each}: ${theirs.stderr}`)
      const [document] = unwrap(kubernetesYamlText.parseAll(theirs.stdout)) as unknown as readonly {
        readonly data: { readonly values: string }
      }[]
      t.deepEqual(
        JSON.parse(Buffer.from(document!.data.values, 'base64').toString()),
        inDoubles(assignAll({}, own.right)),
        each,
      )
    }
  })

  test(`${version} renders with exactly the complete set, also in subcharts`, async (t) => {
    const command = (await helm())![version]
    const defaults =
      'top: 1\nmap: {a: 1, b: {c: 1}}\nlist: [1]\nlib: {port: 8080, tls: {name: parents}, added: 1}\nsecond: {port: 1}\nglobal: {zone: x}\n'
    const dependencies = 'dependencies:\n- {name: lib, version: 1.0.0}\n- {name: lib, version: 1.0.0, alias: second}\n'
    const libDefaults = 'port: 80\ntls: {isOn: false, name: own}\n'
    const archive = await packFiles('umbrella', {
      'Chart.yaml': chartYaml('umbrella', dependencies),
      'values.yaml': defaults,
      'templates/print.yaml': printing('umbrella'),
      'charts/lib/Chart.yaml': chartYaml('lib'),
      'charts/lib/values.yaml': libDefaults,
      'charts/lib/templates/print.yaml': printing('{{ .Chart.Name }}'),
    })
    const read = (text: string): FreeObject => unwrap(kubernetesYamlText.parse(text)) as FreeObject
    const lib: Chart = {
      name: 'lib',
      version: '1.0.0',
      metadata: read(chartYaml('lib')),
      values: read(libDefaults),
      files: new Map(),
      subcharts: [],
    }
    const chart: Chart = {
      name: 'umbrella',
      version: '1.0.0',
      metadata: read(chartYaml('umbrella', dependencies)),
      values: read(defaults),
      files: new Map(),
      subcharts: [lib],
    }
    const specs: readonly ValuesSpec[] = [
      { replaceValues: {} },
      { replaceValues: { map: { b: {} }, lib: { tls: { isOn: true } } } },
      { replaceValues: { top: null, map: null, lib: { port: null }, second: { tls: { name: 'x' } } } },
      { values: ['map.a=null,lib.port=null,second.tls=null'] },
      {
        valuesPatch: [
          { op: 'remove', path: '/map/b' },
          { op: 'remove', path: '/lib/tls' },
          { op: 'replace', path: '/list', value: [] },
        ],
      },
      { kvPairs: [{ key: 'map.b.c', value: { deep: [1, { x: null }] } }], stringValues: ['top=1'] },
    ]
    for (const spec of specs) {
      const composed = unwrap(await composeValues({ chartTexts, patches: fastJsonPatches }, chart, spec))
      const { complete } = composed
      const seen = await seenBy(command, archive, JSON.stringify(storedValues(chart, composed)))
      const own = withoutNulls(complete)
      const below = (name: string): FreeObject => {
        const said = asTable(own[name]) ?? {}
        const removed = asTable(complete[name]) ?? {}
        const tls = removed.tls === null ? undefined : { isOn: false, name: 'own', ...asTable(said.tls) }
        return { ...(removed.port === null ? {} : { port: 80 }), ...said, ...(tls === undefined ? {} : { tls }) }
      }
      const { lib: seenLib, second, global: _global, ...rest } = withoutNulls(seen.umbrella ?? {})
      const { lib: _lib, second: _second, global: _own, ...wanted } = own
      t.deepEqual(rest, wanted, JSON.stringify(spec))
      for (const [name, got] of [
        ['lib', seenLib],
        ['second', second],
      ] as const) {
        const { global: _inherited, ...values } = withoutNulls(asTable(got) ?? {})
        t.deepEqual(values, below(name), `${name}: ${JSON.stringify(spec)}`)
      }
    }
  })
}
