// process: own - runs threads and programs within limits
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { schemaProblems } from '../../adapters/helm/process/schema-problems.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { chartYaml } from '../support/charts/archive.ts'
import { templateAnswer } from '../support/charts/helm-template.ts'
import { needing } from '../support/components/needing.ts'
import { repeats } from '../support/thorough.ts'
import { archiveWith, commands, problems, versions } from './check-values.fixture.ts'

const test = needing('helm')

const draft7 = 'http://json-schema.org/draft-07/schema#'
const integer = { type: 'integer' }
const usesA = (ref: string) => ({ properties: { a: { $ref: ref } } })
const own = 'https://example.com/charts/values.json'

/** Each is a schema that helm 4.1.4 accepts without a network, and that allows an integer as `a` and no text. */
const selfContained: Readonly<Record<string, Json>> = {
  'the dialect without a version': { $schema: 'http://json-schema.org/schema#', properties: { a: integer } },
  'the dialect without a version or fragment': {
    $schema: 'https://json-schema.org/schema',
    properties: { a: integer },
  },
  'the dialect without a version by https': { $schema: 'https://json-schema.org/schema#', properties: { a: integer } },
  'a reference to the identifier of the schema': {
    $id: own,
    definitions: { n: integer },
    ...usesA(`${own}#/definitions/n`),
  },
  'a reference to a name beside the identifier': {
    $id: own,
    definitions: { n: integer },
    ...usesA('values.json#/definitions/n'),
  },
  'a relative identifier': { $id: 'values.json', definitions: { n: integer }, ...usesA('values.json#/definitions/n') },
  'a relative identifier with a folder': {
    $id: 'a/v.json',
    $defs: { n: { $id: 'n.json', ...integer } },
    ...usesA('n.json'),
  },
  'the name that helm gives to the schema': {
    definitions: { n: integer },
    ...usesA('values.schema.json#/definitions/n'),
  },
  'the address that helm gives to the schema': {
    definitions: { n: integer },
    ...usesA('file:///values.schema.json#/definitions/n'),
  },
  'the name that helm gives to the schema, beside a part with an address': {
    definitions: { n: integer, m: { $id: 'https://example.com/m' } },
    ...usesA('values.schema.json#/definitions/n'),
  },
  'the name that helm gives to the schema, beside and in a part with a folder': {
    $defs: { n: integer, m: { $id: 'a/b', properties: { a: { $ref: '/values.schema.json#/$defs/n' } } } },
    $ref: 'a/b',
    ...usesA('./values.schema.json#/$defs/n'),
  },
  'a metaschema, beside its address as an identifier without effect': {
    $schema: draft7,
    properties: { a: { $id: draft7, $ref: `${draft7}/definitions/nonNegativeInteger` } },
  },
  'a metaschema, and its address as the identifier of another dialect': {
    $schema: draft7,
    id: draft7,
    ...usesA(`${draft7}/definitions/nonNegativeInteger`),
  },
  'a metaschema, and its address as the identifier of a later dialect': {
    $schema: 'http://json-schema.org/draft-04/schema#',
    $id: draft7,
    ...usesA(`${draft7}/definitions/nonNegativeInteger`),
  },
  'a metaschema, and its address in data': {
    properties: { a: { $ref: `${draft7}/definitions/nonNegativeInteger` }, b: { const: { $id: draft7 } } },
  },
  'a metaschema, and its address in defaults, examples and unknown members': {
    properties: {
      a: { $ref: `${draft7}/definitions/nonNegativeInteger` },
      b: { default: { $id: draft7 }, examples: [{ $id: draft7 }], 'x-more': { $id: draft7 } },
    },
  },
  'an identifier that is a file': { $id: 'file:///etc/v.json', $defs: { n: integer }, ...usesA('v.json#/$defs/n') },
  'bundled parts by their addresses': {
    $id: own,
    $defs: { n: { $id: 'https://example.com/parts/n', ...integer } },
    ...usesA('https://example.com/parts/n'),
  },
  'bundled parts by a path from the root': {
    $id: own,
    $defs: { n: { $id: '/parts/n', ...integer } },
    ...usesA('../parts/n'),
  },
  'bundled parts by a host': {
    $id: own,
    $defs: { n: { $id: '//example.org/n', ...integer } },
    ...usesA('https://example.org/n'),
  },
  'an anchor in a bundled part': {
    $id: own,
    $defs: { n: { $id: 'n', $defs: { m: { $anchor: 'm', ...integer } } } },
    ...usesA('n#m'),
  },
  'identifiers of draft-04': {
    $schema: 'http://json-schema.org/draft-04/schema#',
    id: own,
    definitions: { n: { id: 'n.json', ...integer } },
    ...usesA('n.json'),
  },
  'the only reference of draft-07 at the root': {
    $schema: draft7,
    $ref: '#/definitions/v',
    definitions: { v: { properties: { a: { $ref: '#/definitions/n' } } }, n: integer },
  },
  'a part of the metaschema': { $schema: draft7, ...usesA(`${draft7}/definitions/nonNegativeInteger`) },
  'the metaschema': { $schema: draft7, allOf: [{ properties: { a: integer } }], properties: { b: { $ref: draft7 } } },
  'a query in an identifier': { $id: `${own}?v=1`, $defs: { n: integer }, ...usesA(`${own}?v=1#/$defs/n`) },
  'an unknown name of a resource': { $defs: { n: { $ref: 'urn:example:unknown' } }, properties: { a: integer } },
  'a known name of a resource': { $defs: { n: { $id: 'urn:example:n', ...integer } }, ...usesA('urn:example:n') },
  'references in data': {
    properties: {
      a: { ...integer, default: { $ref: own }, examples: [{ $schema: own }], enum: [1, { $ref: own, $schema: own }] },
      b: { const: { $ref: own, $id: 'x' } },
    },
  },
  'references below a keyword that no dialect has': {
    'x-form': { $ref: own, $schema: own },
    properties: { a: integer },
  },
  'numbers with many digits': { $id: own, properties: { a: { ...integer, maximum: 123456789012345678901 } } },
}

const unreachable = 'http://127.0.0.1:1/x'

test('a schema that helm accepts offline is accepted and applied', async (t) => {
  // One process for all of them: each is the schema of a subchart.
  const entries = Object.entries(selfContained)
  const more = Object.fromEntries(
    entries.flatMap(([, schema], index) => [
      [`charts/c${index}/Chart.yaml`, chartYaml(`c${index}`)],
      [
        `charts/c${index}/values.schema.json`,
        toWireJson(schema).replace('123456789012345680000', '123456789012345678901'),
      ],
    ]),
  )
  const each = (a: Json): FreeObject => Object.fromEntries(entries.map((_, index) => [`c${index}`, { a }]))
  t.deepEqual(await problems({}, each(1), { more }), [])
  const refused = await problems({}, each('x'), { more })
  for (const [index, [title]] of entries.entries())
    t.truthy(
      refused.find((line) => line.startsWith(`c${index}.a: `)),
      title,
    )
  const { status, stderr } = await templateAnswer(commands.helm4, 'tide', {
    archive: await archiveWith({}, more),
    values: toWireJson(each(1)),
  })
  t.is(status, 0, stderr)
})

test('data that looks like a reference is compared with values as it is', async (t) => {
  const held = { properties: { b: { const: { $ref: own, id: 'x' } }, c: { enum: [{ $id: 'x' }] } } }
  t.deepEqual(await problems(held, { b: { $ref: own, id: 'x' }, c: { $id: 'x' } }), [])
  t.is((await problems(held, { b: { $ref: `${own}%00`, id: 'x' }, c: { $id: 'y' } })).length, 2)
})

test('a reference into data makes it a schema, from which nothing is fetched', async (t) => {
  const { url, asked, close } = await startListener()
  t.teardown(close)
  for (const schema of [
    { $ref: '#/properties/b/const', properties: { b: { const: { $ref: url } } } },
    { $ref: '#/properties/b/%63onst', properties: { b: { const: { $ref: url } } } },
    { $ref: '#/properties', properties: { properties: { const: { $ref: url } } } },
    { $ref: '#/enum/0', enum: [{ $ref: url }] },
    { $ref: '#/definitions/e/enum/0', definitions: { e: { enum: [{ $schema: url, $id: 'urn:x' }] } } },
    { $defs: { a: { $id: 'urn:a', $ref: '#/const', const: { $ref: url } } }, $ref: 'urn:a' },
  ]) {
    t.true((await problems(schema, { a: 1 })).length > 0, JSON.stringify(schema))
    await problems(schema, { a: 1 }, { version: 'helm3' })
  }
  t.is(asked(), 0)
})

/** Counts requests. */
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

test('a reference that leaves the schema is refused by address without a fetch', async (t) => {
  const { url, asked, close } = await startListener()
  t.teardown(close)
  for (const [ref, shown] of [
    [url, url],
    [`${url}#/x`, url],
    ['file:///etc/passwd', 'file:///etc/passwd'],
    ['FILE:/etc/passwd', 'file:/etc/passwd'],
    ['/etc/passwd', 'file:///etc/passwd'],
    ['other.json', 'file:///other.json'],
    ['other.json?x=1', 'file:///other.json?x=1'],
    ['?x=1', 'file:///?x=1'],
    ['dir/values.schema.json', 'file:///dir/values.schema.json'],
    ['../x', 'file:///x'],
    ['https://example.com/schema.json', 'https://example.com/schema.json'],
    ['HTTPS://example.com', 'https://example.com'],
    ['//example.com/x', 'file://example.com/x'],
    ['http://json-schema.org/draft-07/other', 'http://json-schema.org/draft-07/other'],
  ] as const)
    for (const key of ['$ref', '$dynamicRef', '$recursiveRef'])
      t.deepEqual(
        await problems({ properties: { a: { [key]: ref } } }, { a: 'x' }),
        [`values.schema.json refers to ${shown}, which is outside of it; nothing is fetched`],
        `${key} ${ref}`,
      )
  const places = [
    { $schema: url },
    { $id: url, properties: { a: { $ref: 'other' } } },
    { $id: 'a/b', properties: { a: { $ref: 'values.schema.json' } } },
    { $ref: '#/default', default: { $ref: url } },
    { $ref: '#/x', x: { y: [{ $ref: url }] }, enum: [] },
    { $id: draft7, properties: { a: { $ref: url.slice(5) } } },
    `{"$ref":"#/a","\\u0024ref":"${url}"}`,
    `{"properties":{"a":{"$ref":"#","$ref":"${url}"}}}`,
    `\ufeff{"$ref":"${url}"}`,
    { properties: { a: { $schema: url, $id: 'urn:a' } } },
  ]
  for (const place of places) {
    t.true((await problems(place, { a: 'x' })).length > 0, JSON.stringify(place))
    await problems(place, { a: 'x' }, { version: 'helm3' })
  }
  for (const property of [{ properties: { $ref: { type: 'string' } } }, { properties: { $schema: { const: 1 } } }])
    t.deepEqual(await problems(property, {}), [], 'a property of that name')
  t.is(asked(), 0)
})

test('every faulty schema of a chart and its subcharts is named with its reason', async (t) => {
  const sub = (name: string, schema: string) => ({
    [`charts/${name}/Chart.yaml`]: chartYaml(name),
    [`charts/${name}/values.schema.json`]: schema,
  })
  const more = {
    ...sub('cache', `{"$ref":"${unreachable}"}`),
    ...sub('db', '{"$schema":"https://example.com/dialect"}'),
    ...sub('queue', '{'),
    ...sub('web-api', '{"required":["port"]}'),
  }
  t.deepEqual([...(await problems({ required: ['host'] }, {}, { more }))].sort(), [
    "(root): missing property 'host'",
    `cache: values.schema.json refers to ${unreachable}, which is outside of it; nothing is fetched`,
    'db: values.schema.json refers to https://example.com/dialect, which is outside of it; nothing is fetched',
    'queue: values.schema.json is not JSON',
    "web-api: missing property 'port'",
  ])
})

const segment = fc.constantFrom(
  'a',
  '$defs',
  'definitions',
  'allOf',
  'default',
  'properties',
  'not',
  'x-y',
  'const',
  'enum',
  'items',
)
const localRef = fc.oneof(
  fc.constantFrom('#', '#x', '', '#/$defs/a', '#/properties/a'),
  fc.array(fc.oneof(segment, fc.constant('0')), { minLength: 1, maxLength: 3 }).map((path) => `#/${path.join('/')}`),
)
// Not the name values.schema.json: beside other identifiers, helm may resolve it to the schema, and ours is withheld.
const address = fc.constantFrom(
  'a',
  'b/a',
  './a',
  '/a',
  'urn:c',
  '//127.0.0.1:1/a',
  unreachable,
  `${unreachable}/a`,
  'HTTP://127.0.0.1:1/x',
  draft7,
  'file:///values.schema.json',
)
// An identifier that is a metaschema's address makes references to that address ambiguous, and ours are withheld.
const identifier = address.filter((each) => each !== draft7)
const anyRef = fc.oneof(
  localRef,
  address,
  fc.tuple(address, fc.constantFrom('', '#', '#x', '#/$defs/a')).map(([at, rest]) => at.replace(/#$/, '') + rest),
)
const generated = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.constant(integer as Json),
    fc.dictionary(segment, fc.oneof(tie('node'), fc.array(tie('node'), { maxLength: 2 })), {
      maxKeys: 3,
    }) as fc.Arbitrary<Json>,
    fc.record(
      {
        $ref: anyRef,
        $id: fc.oneof(identifier, fc.constantFrom('#x', 'a#')),
        id: identifier,
        $anchor: fc.constantFrom('x', 'y'),
        $defs: fc.dictionary(fc.constantFrom('a', 'b'), tie('node')),
        properties: fc.dictionary(fc.constantFrom('a', 'const', 'properties'), tie('node')),
        allOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
        const: tie('node'),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Json>,
  ),
})).node
const dialect = fc.option(
  fc.constantFrom(
    draft7,
    'http://json-schema.org/draft-04/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'http://json-schema.org/schema#',
    unreachable,
  ),
  { nil: undefined },
)
const anySchema = fc
  .tuple(generated, dialect)
  .map(([schema, $schema]): Json => ({ ...(schema as FreeObject), ...($schema === undefined ? {} : { $schema }) }))

const schemasAtOnce = 8

/** Whether helm names a fault of a schema that is not about values: which one it names first is by chance. */
const isFaulty = (lines: readonly string[]): boolean => lines.some((line) => line.includes('values.schema.json'))

const trimmed = (lines: readonly string[]): readonly string[] => lines.map((line) => line.trim()).sort()

test('generated schemas are accepted if and only if helm accepts them', async (t) => {
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anySchema, { minLength: schemasAtOnce, maxLength: schemasAtOnce }), async (schemas) => {
      const names = schemas.map((_, index) => `c${String.fromCharCode(97 + index)}`)
      const more = Object.fromEntries(
        schemas.flatMap((schema, index) => [
          [`charts/${names[index]}/Chart.yaml`, chartYaml(names[index]!)],
          [`charts/${names[index]}/values.schema.json`, toWireJson(schema)],
        ]),
      )
      const values = Object.fromEntries(names.map((name) => [name, { a: 1 }]))
      const ours = await problems({}, values, { more })
      const { status, stderr } = await templateAnswer(commands.helm4, 'tide', {
        archive: await archiveWith({}, more),
        values: toWireJson(values),
      })
      const theirs = status === 0 ? [] : (schemaProblems(stderr, { root: 'web', paths: names }) ?? [stderr])
      // Of many lines only the first are said.
      if (ours.length > 50) return
      for (const [index, name] of names.entries()) {
        const of = (lines: readonly string[]) => lines.filter((line) => line.startsWith(name))
        const [here, there] = [of(ours), of(theirs)]
        const text = toWireJson(schemas[index])
        t.is(isFaulty(here), isFaulty(there), `${text}\nours: ${here.join()}\nhelm: ${there.join()}`)
        if (!isFaulty(there)) t.deepEqual(trimmed(here), trimmed(there), text)
        if (there.length === 0) accepted += 1
      }
    }),
    { numRuns: repeats(8, 80) },
  )
  t.true(accepted > 0)
})

test('no place of an address makes helm fetch it', async (t) => {
  const { url, asked, close } = await startListener()
  t.teardown(close)
  await fc.assert(
    fc.asyncProperty(fc.array(anySchema, { minLength: 8, maxLength: 8 }), async (schemas) => {
      const more = Object.fromEntries(
        schemas.flatMap((schema, index) => [
          [`charts/c${index}/Chart.yaml`, chartYaml(`c${index}`)],
          [
            `charts/c${index}/values.schema.json`,
            toWireJson(schema).replaceAll(unreachable, url).replaceAll('//127.0.0.1:1/', url.slice(5)),
          ],
        ]),
      )
      for (const version of versions) await problems({}, {}, { more, version }).catch(() => undefined)
    }),
    { numRuns: repeats(3, 40) },
  )
  t.is(asked(), 0)
})
