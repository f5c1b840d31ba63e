// process: own - runs threads and programs within limits
import { tmpdir } from 'node:os'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import { makeChartThreads, makeChartTools } from '../../adapters/charts/chart-threads.ts'
import { schemaProblem } from '../../adapters/charts/values-schema.ts'
import { makeHelmFinder } from '../../adapters/helm/process/helm-finder.ts'
import { makeGuards, makeHelmProcessRunner, type HelmProcessRunner } from '../../adapters/helm/process/helm-runner.ts'
import { unwatchedHelpers } from '../support/child-processes.ts'
import { usualLimits } from '../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../adapters/helm/process/loopback-proxy.ts'
import { schemaProblems } from '../../adapters/helm/process/schema-problems.ts'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { HelmWork } from '../../core/packages/releases/ports.ts'
import { checkValues } from '../../core/packages/releases/preflight.ts'
import { chartTexts } from '../packages/texts.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'
import { templateAnswer } from '../support/charts/helm-template.ts'
import { helm } from '../support/components/available.ts'
import type { HelmCommands } from '../support/components/helm.ts'
import { needing } from '../support/components/needing.ts'
import { repeats } from '../support/thorough.ts'
import { someValues, wholeSchema } from './schemas.fixture.ts'

const test = needing('helm')
const versions = ['helm3', 'helm4'] as const
type Version = (typeof versions)[number]

const threads = makeChartThreads({ jobMilliseconds: 60_000 })
const tools = makeChartTools(threads)
const runners = new Map<Version, HelmProcessRunner>()
let commands: HelmCommands
test.before(async () => {
  commands = (await helm())!
  for (const version of versions) {
    const finder = makeHelmFinder({
      setting: commands[version],
      floor: '3.0.0',
      searchPath: '',
      bundled: async () => undefined,
    })
    runners.set(
      version,
      makeHelmProcessRunner({
        chartTexts,
        finder,
        proxy: makeLoopbackProxy(),
        guards: makeGuards(process.env['PATH'] ?? ''),
        limits: usualLimits(2),
        folder: tmpdir(),
        helpers: unwatchedHelpers,
      }),
    )
  }
})
test.after.always(async () => {
  await threads.close()
  for (const runner of runners.values()) await runner.close()
})

type Files = Readonly<Record<string, string>>
const work: HelmWork = {
  target: { cluster: { name: 'wharf' } as MemberCluster, driver: 'Secret', tenantId: 1 },
  release: { namespace: 'harbour', name: 'tide' },
  flags: {},
}
const archiveWith = (schema: unknown, more: Files = {}, yaml = ''): Promise<Uint8Array> =>
  chartArchive({
    'Chart.yaml': chartYaml('web', yaml),
    'values.schema.json': typeof schema === 'string' ? schema : JSON.stringify(schema),
    ...more,
  })

/** The problems of one version of helm; empty if the values fit. */
const problems = async (
  schema: unknown,
  values: FreeObject,
  { more = {}, yaml = '', version = 'helm4' as Version }: { more?: Files; yaml?: string; version?: Version } = {},
): Promise<readonly string[]> => {
  const chart = await readChart(await archiveWith(schema, more, yaml), archiveLimits)
  const checked = await checkValues(
    { helm: runners.get(version)!, chartTools: tools },
    work,
    { chart, values },
    new AbortController().signal,
  )
  if (!isLeft(checked)) return []
  if (checked.left.tag !== 'ValuesRefused' || checked.left.kind !== 'Unprocessable')
    throw new Error(checked.left.message)
  return checked.left.errors ?? [checked.left.message]
}

test('values that fit pass, and each problem is one line with its path and without the value', async (t) => {
  const properties = {
    image: { type: 'string' },
    replicas: { type: 'integer', minimum: 1 },
    mode: { enum: ['a', 'b'] },
    'a/b': { type: 'integer' },
    name: { pattern: '^x$' },
    list: { items: { maxLength: 2 } },
    mail: { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'urn:mail', format: 'email' },
  }
  const schema = { type: 'object', required: ['image'], properties, additionalProperties: false }
  t.deepEqual(await problems(schema, { image: 'x', replicas: 2 }), [])
  const found = await problems(schema, {
    replicas: -4711,
    mode: 'quiet lantern',
    other: 1,
    'a/b': 'quiet lantern',
    name: "quiet 'lantern' does not match",
    list: ['quiet lantern'],
    mail: 'quiet lantern',
  })
  t.deepEqual([...found].sort(), [
    "(root): additional properties 'other' not allowed",
    "(root): missing property 'image'",
    'a/b: got string, want integer',
    'list.0: maxLength: want 2',
    'mail: is not a valid email',
    "mode: value must be one of 'a', 'b'",
    "name: does not match pattern '^x$'",
    'replicas: minimum: want 1',
  ])
  const old = await problems(
    { type: 'object', required: ['image'], properties: { replicas: { type: 'integer' } } },
    { replicas: 'quiet lantern' },
    { version: 'helm3' },
  )
  t.deepEqual([...old].sort(), [
    '(root): image is required',
    'replicas: Invalid type. Expected: integer, given: string',
  ])
})

test('defaults count, and big integers are integers', async (t) => {
  t.deepEqual(
    await problems(
      { required: ['a'], properties: { b: { type: 'integer' }, c: { type: 'integer' } } },
      { b: 9007199254740993n },
      { more: { 'values.yaml': 'a: 1\nc: 123456789012345678\n' } },
    ),
    [],
  )
})

test('each enabled chart below is held to its own schema, under its alias', async (t) => {
  const below = {
    'charts/db/Chart.yaml': chartYaml('db'),
    'charts/db/values.schema.json': JSON.stringify({ properties: { size: { type: 'integer' } } }),
  }
  const yaml = 'dependencies:\n- {name: db, version: 1.x, alias: store, condition: store.enabled}\n'
  t.deepEqual(await problems({}, { store: { size: 'large', enabled: true } }, { more: below, yaml }), [
    'store.size: got string, want integer',
  ])
  t.deepEqual(await problems({}, { store: { size: 'large', enabled: false } }, { more: below, yaml }), [])
  const away = { ...below, 'charts/db/values.schema.json': '{"$ref":"http://127.0.0.1:1/x"}' }
  t.deepEqual(
    await problems({}, { store: { enabled: false } }, { more: away, yaml }),
    [],
    'helm does not read the schema of a chart that is disabled',
  )
  t.regex(
    (await problems({}, { store: { enabled: true } }, { more: away, yaml }))[0] ?? '',
    /^store: .*nothing is fetched/,
  )
})

test('a library and a chart for another Kubernetes are checked too', async (t) => {
  t.deepEqual(
    await problems(
      { properties: { a: { type: 'integer' } } },
      { a: 'x' },
      { yaml: 'type: library\nkubeVersion: ">=99"\n' },
    ),
    ['a: got string, want integer'],
  )
})

for (const [dialect, schema] of Object.entries({
  'draft-04': {
    $schema: 'http://json-schema.org/draft-04/schema#',
    id: 'http://example.com/x',
    properties: { n: { minimum: 1, exclusiveMinimum: true } },
  },
  'draft-07': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'http://example.com/x',
    properties: { n: { exclusiveMinimum: 1 } },
  },
  '2019-09': {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    properties: { n: { exclusiveMinimum: 1 } },
    dependentRequired: { n: ['m'] },
  },
  'no draft, read as 2020-12': {
    properties: {
      l: { prefixItems: [{ type: 'string' }] },
      c: { contains: { type: 'integer' }, minContains: 2 },
      mail: { format: 'email' },
    },
    dependentRequired: { n: ['m'] },
    unevaluatedProperties: false,
  },
})) {
  test(`schemas of ${dialect} are understood`, async (t) => {
    if (!dialect.startsWith('no')) {
      t.is((await problems(schema, { n: 1, m: 1 })).length, 1)
      return t.deepEqual(await problems(schema, { n: 2, m: 1 }), [])
    }
    t.deepEqual(await problems(schema, { l: ['x'], c: [1, 2], mail: 'nope' }), [], 'a format is an annotation')
    for (const values of [{ l: [1] }, { c: [1] }, { n: 1 }, { other: 1 }])
      t.true((await problems(schema, values as FreeObject)).length > 0, JSON.stringify(values))
  })
}

/** Counts who comes. */
const startListener = async () => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.end('{}')
  })
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest/meta-data/`,
    asked: () => asked,
    close: () => void server.close(),
  }
}

test('references within the document work, those that leave it are refused and fetch nothing', async (t) => {
  const { url, asked, close } = await startListener()
  t.teardown(close)
  t.deepEqual(
    await problems(
      { definitions: { p: { type: 'integer' } }, properties: { a: { $ref: '#/definitions/p' } } },
      { a: 'x' },
    ),
    ['a: got string, want integer'],
  )
  for (const ref of [
    url,
    `${url}#/x`,
    'file:///etc/passwd',
    '/etc/passwd',
    'other.json',
    '../x',
    'https://example.com/schema.json',
    '//example.com/x',
    ' #/x',
    'urn:x',
  ]) {
    for (const key of ['$ref', '$dynamicRef', '$recursiveRef'])
      t.regex(
        (await problems({ properties: { a: { [key]: ref } } }, { a: 'x' })).join(),
        /nothing is fetched/,
        `${key} ${ref}`,
      )
  }
  const places = [
    { $schema: url },
    { $id: url, properties: { a: { $ref: 'other' } } },
    { $ref: '#/default', default: { $ref: url } },
    { $ref: '#/x', x: { y: [{ $ref: url }] }, enum: [] },
    `{"$ref":"#/a","\\u0024ref":"${url}"}`,
    `{"properties":{"a":{"$ref":"#","$ref":"${url}"}}}`,
    `\ufeff{"$ref":"${url}"}`,
    { properties: { a: { $schema: url, $id: 'urn:a' } } },
  ]
  for (const place of places)
    for (const version of versions)
      t.true((await problems(place, { a: 'x' }, { version })).length > 0, JSON.stringify(place))
  for (const property of [{ properties: { $ref: { type: 'string' } } }, { properties: { $schema: { const: 1 } } }])
    t.is(schemaProblem(Buffer.from(JSON.stringify(property))), undefined, 'a property of that name')
  t.is(asked(), 0)
})

test('identifiers lead helm nowhere, wherever they stand', async (t) => {
  const { url, asked, close } = await startListener()
  t.teardown(close)
  const local = fc.constantFrom('#', '#/a', '#/$defs/a', '#x', '#/definitions/a/b', '#/$defs/a/$ref', '')
  const ids = fc.constantFrom(url, `${url}a`, 'a', '/b', 'urn:c', '#x')
  const node = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      fc.constant({ type: 'string' } as Json),
      fc.dictionary(
        fc.constantFrom('a', '$defs', 'definitions', 'allOf', 'default', 'properties', 'not', 'x-y'),
        tie('node'),
        { maxKeys: 3 },
      ) as fc.Arbitrary<Json>,
      fc.record(
        {
          $ref: local,
          $id: ids,
          id: ids,
          $anchor: fc.constantFrom('x', 'y'),
          a: tie('node'),
          $defs: fc.record({ a: tie('node') }),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Json>,
    ),
  })).node
  await fc.assert(
    fc.asyncProperty(fc.array(node, { minLength: 8, maxLength: 8 }), async (schemas) => {
      const charts = Object.fromEntries(
        schemas.flatMap((schema, index) => [
          [`charts/c${index}/Chart.yaml`, chartYaml(`c${index}`)],
          [`charts/c${index}/values.schema.json`, JSON.stringify(schema)],
        ]),
      )
      await problems({}, {}, { more: charts })
    }),
    { numRuns: repeats(3, 40) },
  )
  t.is(asked(), 0)
})

test('schemas that are none are refused', async (t) => {
  for (const schema of ['{', '[]', '"x"', 'null', '', '{} {}']) t.true((await problems(schema, {})).length > 0, schema)
  t.true((await problems({ properties: { a: { type: 'nonsense' } } }, { a: 1 })).length > 0)
  for (const pattern of ['(', '(?=x)'])
    t.regex((await problems({ properties: { a: { pattern } } }, { a: 'x' })).join(), /valid/, pattern)
})

test('patterns and recursion cost little', async (t) => {
  t.deepEqual(await problems({ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(40)}!` }), [
    "a: does not match pattern '^(a+)+$'",
  ])
  t.true((await problems({ $ref: '#' }, { a: 1 })).length > 0)
})

test('what helm says is cut, and shows no value, whatever the value is', (t) => {
  const said = (text: string) => schemaProblems(text, { root: 'web', paths: ['db', 'db.deep', 'x.two', 'y.two'] })
  const head = "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n"
  t.is(said('Error: something else\n'), undefined)
  t.deepEqual(
    said(
      `${head}- at '': missing property 'x'\ndb:\n- at '/a~1b/c': got null, want string\n  - at '/c': multipleOf: got 4.7, want 2\n`,
    ),
    ["(root): missing property 'x'", 'db.a/b.c: got null, want string', 'db.c: multipleOf: want 2'],
  )
  t.deepEqual(said(`${head}unexpected EOFdeep:\n- at '/a': got null, want string\ntwo:\n- at '': false schema\n`), [
    'values.schema.json cannot be used: unexpected EOF',
    'db.deep.a: got null, want string',
    'two: false schema',
  ])
  t.is(
    said(`${head}${Array.from({ length: 60 }, (_, index) => `- at '/a${index}': false schema\n`).join('')}`)?.length,
    51,
  )
  fc.assert(
    fc.property(
      fc
        .string({ minLength: 1, maxLength: 20 })
        .map((text) => `quiet${text.replace(/[\\\n\r]/g, '').replaceAll("'", "\\'")}`),
      (value) => {
        for (const line of [
          `'${value}' does not match pattern '^x'`,
          `'${value}' is not valid email: missing @ in ${value}`,
          `'${value}' is not 'base64' encoded: ${value}`,
        ])
          t.false(String(said(`${head}- at '/a': ${line}\n`)).includes('quiet'), line)
      },
    ),
  )
})

/** Each process checks this many charts, all below one that has none. */
const chartsAtOnce = 5

for (const version of versions) {
  test(`${version}: generated schemas are judged as by the program on the whole chart`, async (t) => {
    let judged = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(wholeSchema, someValues, someValues), { minLength: chartsAtOnce, maxLength: chartsAtOnce }),
        async (cases) => {
          const more = Object.fromEntries(
            cases.flatMap(([schema, defaults], index) => [
              [`charts/c${index}/Chart.yaml`, chartYaml(`c${index}`)],
              [`charts/c${index}/values.yaml`, toWireJson(defaults)],
              [`charts/c${index}/values.schema.json`, toWireJson(schema)],
              [`charts/c${index}/templates/a.yaml`, 'a: b\n'],
            ]),
          )
          const values = Object.fromEntries(cases.map(([, , given], index) => [`c${index}`, given]))
          // Helm 3.17 does not end, or crashes, at some references of a schema to itself.
          const ours = await problems({}, values, { more, version }).catch(() => ['no answer'])
          const { status, stderr } = await templateAnswer(commands[version], 'tide', {
            archive: await archiveWith({}, more),
            values: toWireJson(values),
          })
          const theirs =
            status === 0 ? [] : (schemaProblems(stderr, { root: 'web', paths: Object.keys(values) }) ?? ['no answer'])
          // Helm orders charts and names by chance, names one fault by chance of a schema that has several, and beyond
          // a number of lines only their number is said.
          const sorted = (lines: readonly string[]): readonly string[] =>
            lines
              .map((line) => line.replace(/(values\.schema\.json cannot be used): .*/, '$1'))
              .map((line) => line.split(/[ ,]+/).sort().join(' '))
              .sort()
          if (ours.length < 51) t.deepEqual(sorted(ours), sorted(theirs))
          else t.is(theirs.length, ours.length)
          judged += cases.length
        },
      ),
      { numRuns: repeats(6, 64), endOnFailure: true },
    )
    t.is(judged, repeats(6, 64) * chartsAtOnce)
  })
}
