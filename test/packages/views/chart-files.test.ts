import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import {
  fileNames,
  formatOf,
  packageView,
  servedFile,
  servedType,
  servedTypes,
} from '../../../core/packages/views/packages.ts'
import { fetched, harbour, stubChart, stubTexts } from './stub-charts.ts'

const types: readonly (readonly [string, string])[] = [
  ['Chart.yaml', 'application/yaml; charset=utf-8'],
  ['templates/a.yml', 'application/yaml; charset=utf-8'],
  ['Chart.lock', 'application/yaml; charset=utf-8'],
  ['values.schema.json', 'application/json; charset=utf-8'],
  ['README.md', 'text/markdown; charset=utf-8'],
  ['templates/NOTES.txt', 'text/plain; charset=utf-8'],
  ['templates/_helpers.tpl', 'text/plain; charset=utf-8'],
  ['.helmignore', 'text/plain; charset=utf-8'],
  ['LICENSE', 'text/plain; charset=utf-8'],
  ['logo.png', 'image/png'],
  ['logo.JPG', 'image/jpeg'],
  ['charts/sub-1.0.0.tgz', 'application/gzip'],
  ['logo.svg', 'text/plain; charset=utf-8'],
  ['index.html', 'text/plain; charset=utf-8'],
  ['index.HTM', 'text/plain; charset=utf-8'],
  ['a.xhtml', 'text/plain; charset=utf-8'],
  ['a.xml', 'text/plain; charset=utf-8'],
  ['a.js', 'text/plain; charset=utf-8'],
  ['a.pdf', 'application/octet-stream'],
  ['a.wasm', 'application/octet-stream'],
  ['a.swf', 'application/octet-stream'],
  ['a', 'application/octet-stream'],
  ['a.', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
]
for (const [path, type] of types) test(`${path} is served as ${type}`, (t) => t.is(servedType(path), type))

test('no name makes a browser take a file for a page', (t) => {
  const name = fc.oneof(
    fc.string(),
    fc
      .tuple(
        fc.string(),
        fc.constantFrom('svg', 'html', 'htm', 'xhtml', 'xht', 'xml', 'xsl', 'mhtml', 'shtml', 'svgz', 'js', 'pdf'),
      )
      .map((parts) => parts.join('.')),
  )
  fc.assert(
    fc.property(name, (path) => {
      t.true((servedTypes as readonly string[]).includes(servedType(path)))
      t.notRegex(servedType(path), /html|svg|xml|javascript|pdf/)
    }),
  )
})

const chart = stubChart('ferry', '1.0.0', {
  'values.yaml': 'b: 1\na: {x: [1, 2]}\n',
  'values-big.yaml': 'b: 100\n',
  'values.schema.json': '{"type":"object"}',
  'templates/a.yaml': '{{ if .Values.x }}\na: b\n{{ end }}\n',
  'templates/two.yaml': 'a: 1\n---\nb: 2\n',
  'README.md': '# Ferry\n',
  'odd.json': '{',
  'list.yaml': '- 12345678901234567890\n- 1.50\n- "yes"\n- yes\n',
  'Z.txt': 'z',
  'a.txt': 'a',
  'empty.yaml': '',
})
const served = async (path: string, format?: 'json' | 'yaml'): Promise<string> => {
  const file = await servedFile(stubTexts, chart, path, format)
  return isLeft(file)
    ? `${file.left.tag}: ${file.left.message}`
    : `${file.right.name} ${file.right.contentType} ${new TextDecoder().decode(file.right.bytes)}`
}

const conversions: readonly (readonly [string, 'json' | 'yaml' | undefined, RegExp])[] = [
  ['values.yaml', undefined, /^values\.yaml application\/yaml; charset=utf-8 b: 1\na: \{x: \[1, 2\]\}\n$/],
  ['values.yaml', 'yaml', /^values\.yaml application\/yaml; charset=utf-8 b: 1\na: \{x/],
  ['values.yaml', 'json', /^values\.json application\/json; charset=utf-8 \{"b":1,"a":\{"x":\[1,2\]\}\}$/],
  ['values.schema.json', 'yaml', /^values\.schema\.yaml application\/yaml; charset=utf-8 type: object\n$/],
  ['values.schema.json', 'json', /^values\.schema\.json application\/json; charset=utf-8 \{"type":"object"\}$/],
  ['list.yaml', 'json', /^list\.json \S+ charset=utf-8 \[12345678901234567890,1\.5,"yes",true\]$/],
  ['empty.yaml', 'json', /^empty\.json \S+ charset=utf-8 null$/],
  ['templates/a.yaml', undefined, /\{\{ if/],
  ['templates/a.yaml', 'json', /^FormatRefused: templates\/a\.yaml cannot be turned into json: /],
  [
    'templates/two.yaml',
    'json',
    /^FormatRefused: templates\/two\.yaml cannot be turned into json: It holds 2 documents/,
  ],
  ['odd.json', 'yaml', /^FormatRefused: /],
  ['README.md', 'json', /^FormatRefused: Only files of YAML and JSON/],
  ['README.md', undefined, /^README\.md text\/markdown; charset=utf-8 # Ferry\n$/],
  ['none.yaml', undefined, /^ChartFileMissing: The file does not exist in the chart ferry 1\.0\.0\.$/],
  ['templates', undefined, /^ChartFileMissing/],
  ['../Chart.yaml', undefined, /^ChartFileMissing/],
  ['', undefined, /^ChartFileMissing/],
]
for (const [path, format, expected] of conversions)
  test(`${path} as ${format ?? 'it is'}`, async (t) => t.regex(await served(path, format), expected))

test('files are listed in the order of their characters', (t) => {
  t.deepEqual(fileNames(chart), [
    'Chart.yaml',
    'README.md',
    'Z.txt',
    'a.txt',
    'empty.yaml',
    'list.yaml',
    'odd.json',
    'templates/a.yaml',
    'templates/two.yaml',
    'values-big.yaml',
    'values.schema.json',
    'values.yaml',
  ])
  t.deepEqual([undefined, '', 'JSON', 'json', 'yaml', 'xml'].map(formatOf), [
    undefined,
    undefined,
    undefined,
    'json',
    'yaml',
    undefined,
  ])
})

const view = (files: Readonly<Record<string, string>>) =>
  packageView(stubTexts, fetched(stubChart('ferry', '1.0.0', files)))

test('a package view has the values files, the defaults first, and the schema', async (t) => {
  const seen = await packageView(stubTexts, fetched(chart))
  t.deepEqual(isRight(seen) ? seen.right : seen.left, {
    description: 'The ferry',
    name: 'ferry',
    version: '1.0.0',
    sourceRef: harbour,
    valuesFiles: [
      { filename: 'values.yaml', values: { b: 1, a: { x: [1, 2] } } },
      { filename: 'values-big.yaml', values: { b: 100 } },
    ],
    openAPIV3Schema: { type: 'object' },
  })
  const bare = await view({})
  t.deepEqual(isRight(bare) ? Object.keys(bare.right) : bare.left, ['description', 'name', 'version', 'sourceRef'])
})

test("values files are at the chart's root, and OpenAPI precedes the schema", async (t) => {
  const files = {
    'values-b.yaml': 'b: 1',
    'values-a.yaml': '',
    'x/values-c.yaml': 'c: 1',
    'values-d.yml': 'd: 1',
    'charts/s/values-e.yaml': '',
    'values.schema.json': '{"from":"helm"}',
    'values.openapiv3_schema.yaml': 'from: openapi\n',
  }
  const seen = await view(files)
  if (isLeft(seen)) return t.fail(seen.left.message)
  t.deepEqual(seen.right.valuesFiles, [
    { filename: 'values-a.yaml', values: {} },
    { filename: 'values-b.yaml', values: { b: 1 } },
  ])
  t.deepEqual(seen.right.openAPIV3Schema, { from: 'openapi' })
})

test('documents of a file of values are merged', async (t) => {
  const seen = await view({ 'values-a.yaml': 'a: {b: 1}\n---\na: {c: 2}\n---\n' })
  t.deepEqual(isLeft(seen) ? seen.left : seen.right.valuesFiles, [
    { filename: 'values-a.yaml', values: { a: { b: 1, c: 2 } } },
  ])
})

const unreadable: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['values that are no YAML', { 'values-a.yaml': 'a: [' }, /values-a\.yaml of the chart ferry cannot be read/],
  [
    'values that are a list',
    { 'values-a.yaml': 'a: 1\n---\n- 1' },
    /values-a\.yaml of the chart ferry cannot be read: It must be a map/,
  ],
  [
    'a schema that is no map',
    { 'values.schema.json': 'true' },
    /values\.schema\.json of the chart ferry must be one map/,
  ],
  ['more than a view may be', { 'values-a.yaml': `a: ${'x'.repeat(2 * 1024 * 1024)}` }, /larger than a view may be/],
]
for (const [what, files, message] of unreadable) {
  test(`a chart is refused for ${what}`, async (t) => {
    const seen = await view(files)
    t.regex(
      isLeft(seen) ? `${seen.left.tag} ${seen.left.message}` : 'shown',
      new RegExp(`^ChartRefused .*${message.source}`),
    )
  })
}
