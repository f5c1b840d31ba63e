import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { makeChartThreads, makeChartTools } from '../../adapters/charts/chart-threads.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'

const threads = makeChartThreads({ jobMilliseconds: 4_000 })
const tools = makeChartTools(threads)
test.after.always(() => threads.close())

const chartWith = async (schema: unknown, more: Readonly<Record<string, string>> = {}, yaml = '') =>
  readChart(await chartArchive({ 'Chart.yaml': chartYaml('web', yaml), 'values.schema.json': typeof schema === 'string' ? schema : JSON.stringify(schema), ...more }), archiveLimits)

const problems = async (schema: unknown, values: FreeObject, more: Readonly<Record<string, string>> = {}, yaml = ''): Promise<readonly string[]> => {
  const checked = await tools.checkValues(await chartWith(schema, more, yaml), values)
  if (!isLeft(checked)) return []
  t422(checked.left.kind)
  return checked.left.errors ?? [checked.left.message]
}
const t422 = (kind: string): void => {
  if (kind !== 'Unprocessable') throw new Error(kind)
}

test('values that fit pass, and each problem is one line with its path', async (t) => {
  const schema = { type: 'object', required: ['image'], properties: { image: { type: 'string' }, replicas: { type: 'integer', minimum: 1 }, mode: { enum: ['a', 'b'] } }, additionalProperties: false }
  t.deepEqual(await problems(schema, { image: 'x', replicas: 2 }), [])
  t.deepEqual([...await problems(schema, { replicas: 0, mode: 'c', other: 1 })].sort(), [
    '(root): must NOT have additional properties (other)', "(root): must have required property 'image'", 'mode: must be equal to one of the allowed values: ["a","b"]', 'replicas: must be >= 1',
  ])
})

test('defaults count, and big integers are integers', async (t) => {
  t.deepEqual(await problems({ required: ['a'], properties: { b: { type: 'integer' } } }, { b: 9007199254740993n }, { 'values.yaml': 'a: 1\n' }), [])
})

test('each enabled chart below is held to its own schema, under its alias', async (t) => {
  const below = { 'charts/db/Chart.yaml': chartYaml('db'), 'charts/db/values.schema.json': JSON.stringify({ properties: { size: { type: 'integer' } } }) }
  const yaml = 'dependencies:\n- {name: db, version: 1.x, alias: store, condition: store.enabled}\n'
  t.deepEqual(await problems({}, { store: { size: 'large', enabled: true } }, below, yaml), ['store.size: must be integer'])
  t.deepEqual(await problems({}, { store: { size: 'large', enabled: false } }, below, yaml), [])
})

for (const [dialect, schema] of Object.entries({
  'draft-04': { $schema: 'http://json-schema.org/draft-04/schema#', id: 'http://example.com/x', properties: { n: { minimum: 1, exclusiveMinimum: true } } },
  'draft-07': { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'http://example.com/x', properties: { n: { exclusiveMinimum: 1 } } },
  '2019-09': { $schema: 'https://json-schema.org/draft/2019-09/schema', properties: { n: { exclusiveMinimum: 1 } }, dependentRequired: { n: ['m'] } },
  '2020-12': { $schema: 'https://json-schema.org/draft/2020-12/schema', properties: { n: { exclusiveMinimum: 1 }, l: { prefixItems: [{ type: 'string' }] } } },
  'no draft': { properties: { n: { exclusiveMinimum: 1 } } },
})) {
  test(`schemas of ${dialect} are understood`, async (t) => {
    t.true((await problems(schema, { n: 1, m: 1 })).length === 1)
    t.deepEqual(await problems(schema, { n: 2, m: 1 }), [])
  })
}

test('references within the document work, those that leave it are refused and fetch nothing', async (t) => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.end('{}')
  })
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest/meta-data/`
  t.deepEqual(await problems({ definitions: { p: { type: 'integer' } }, properties: { a: { $ref: '#/definitions/p' } } }, { a: 'x' }), ['a: must be integer'])
  for (const ref of [url, `${url}#/x`, 'file:///etc/passwd', '/etc/passwd', 'other.json', '../x', 'https://example.com/schema.json', '//example.com/x']) {
    const found = await problems({ properties: { a: { $ref: ref } } }, { a: 'x' })
    t.is(found.length, 1, ref)
    t.regex(found[0] ?? '', /nothing is fetched|cannot be used/, ref)
  }
  t.deepEqual((await problems({ $schema: url }, {})), [])
  t.is((await problems({ $id: url, properties: { a: { $ref: 'other' } } }, {})).length, 1)
  t.is(asked, 0)
})

test('schemas that are none are refused', async (t) => {
  for (const schema of ['{', '[]', '"x"', 'null']) t.is((await problems(schema, {})).length, 1, schema)
  t.is((await problems({ properties: { a: { type: 'nonsense' } } }, { a: 1 })).length, 1)
  t.is((await problems({ properties: { a: { pattern: '(' } } }, { a: 'x' })).length, 1)
})

test('a pattern that would hang ends at once, and other endless work with its time', async (t) => {
  t.deepEqual(await problems({ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(40)}!` }), ['a: must match pattern "^(a+)+$"'])
  const [line] = await problems({ properties: { a: { pattern: '^(?=x*)(a+)+$' } } }, { a: `${'a'.repeat(60)}!` })
  t.regex(line ?? '', /takes too long/)
  t.deepEqual(await problems({ type: 'object' }, {}), [], 'the next one is served')
})

test('a schema of endless recursion does not end the service', async (t) => {
  t.is((await problems({ $ref: '#' }, { a: 1 })).length, 1)
  t.deepEqual(await problems({ type: 'object' }, {}), [])
})

test('formats are checked', async (t) => {
  t.is((await problems({ properties: { a: { format: 'ipv4' } } }, { a: 'x' })).length, 1)
  t.deepEqual(await problems({ properties: { a: { format: 'ipv4' }, b: { format: 'unheard-of' } } }, { a: '10.0.0.1', b: 'x' }), [])
})
