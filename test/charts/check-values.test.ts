// process: own - runs threads and programs within limits
import fc from 'fast-check'
import { schemaProblems } from '../../adapters/helm/process/schema-problems.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { chartYaml } from '../support/charts/archive.ts'
import { templateAnswer } from '../support/charts/helm-template.ts'
import { needing } from '../support/components/needing.ts'
import { repeats } from '../support/thorough.ts'
import { archiveWith, commands, problems, versions } from './check-values.fixture.ts'
import { someValues, wholeSchema } from './schemas.fixture.ts'

const test = needing('helm')

test('each problem is one line with its path and without its value', async (t) => {
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

test('a message of helm is truncated and contains no value', (t) => {
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
