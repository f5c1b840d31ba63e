import test from 'ava'
import fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import { makeChartTexts, makeChartThreads } from '../../../adapters/charts/chart-threads.ts'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { makeSharedWork } from '../../../core/kernel/concurrency.ts'
import { mergeTables, overridePatch } from '../../../core/packages/charts/value-tables.ts'
import { descriptorOf, humanised, iconOf, pictureTypeOf } from '../../../core/packages/views/descriptors.ts'
import {
  fileNames,
  formatOf,
  packageView,
  servedFile,
  servedType,
  servedTypes,
} from '../../../core/packages/views/packages.ts'
import { slices } from '../texts.ts'
import { fetched, harbour, stubChart, stubTexts, text } from './stub-charts.ts'

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

test('files of values are at the root of the chart, and OpenAPI comes before the schema of Helm', async (t) => {
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

const threads = makeChartThreads({ jobMilliseconds: 120_000 })
const texts = makeChartTexts(threads, slices)
test.after.always(() => threads.close())

const told = <A>(result: Either<{ readonly tag: string; readonly message: string }, A>): A | string =>
  isLeft(result) ? `${result.left.tag}: ${result.left.message}` : result.right
const padding = `# ${'x'.repeat(40_000)}\n`

const cases: readonly (readonly [string, string, Json])[] = [
  ['a map', 'b: 1\na: [yes, "no", 12345678901234567890]\n', { b: 1, a: [true, 'no', 12345678901234567890n] }],
  ['JSON', '{"a":1.5}', { a: 1.5 }],
  ['nothing', '', null],
]
for (const [what, source, value] of cases) {
  test(`a long text is read aside as a short one is read here: ${what}`, async (t) => {
    const here = text(source)
    const aside = text(padding + source)
    t.deepEqual(told(await texts.parseAll(aside)), told(await stubTexts.parseAll(here)))
    t.deepEqual(told(await texts.parseAll(aside)) as readonly Json[], value === null ? [] : [value])
    for (const to of ['json', 'yaml'] as const)
      t.deepEqual(told(await texts.convert(aside, to)), told(await stubTexts.convert(here, to)))
  })
}

test('text that cannot be read is reported, here and in a thread', async (t) => {
  for (const pad of ['', padding]) {
    t.regex(String(told(await texts.parseAll(text(`${pad}a: [`)))), /^TextUnreadable: The text is no YAML/)
    t.regex(
      String(told(await texts.convert(text(`${pad}a: 1\n---\nb: 2\n`), 'json'))),
      /^TextUnreadable: It holds 2 documents/,
    )
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghijkl']
      .map(
        (name, at) =>
          `${name}: &${name} [${Array(9)
            .fill(`*${'abcdefghijkl'[at] ?? ''}`)
            .join(', ')}]`,
      )
      .join('\n')}\n`
    t.regex(String(told(await texts.convert(text(pad + bomb), 'json'))), /^TextUnreadable: .*aliases/)
  }
  t.regex(
    String(told(await texts.parseAll(new Uint8Array(9 * 1024 * 1024).fill(0x20)))),
    /^TextUnreadable: The text is longer/,
  )
})

test('a thread that is too busy, or that is ended, is reported', async (t) => {
  const slow = makeChartThreads({ threads: 1, maxWaiting: 1 })
  const busy = makeChartTexts(slow, slices)
  const long = text(padding)
  const answers = await Promise.all([
    busy.parseAll(long),
    busy.parseAll(long),
    busy.parseAll(long),
    busy.parseAll(long),
  ])
  t.true(answers.some((answer) => /TextUnreadable: Too many requests/.test(String(told(answer)))))
  await slow.close()
  t.is(told(await busy.parseAll(long)), 'TextUnreadable: The service stops.')
})

test('values are printed alike, whatever their size', async (t) => {
  t.is(await texts.print({ b: 1, a: ['yes', null] }), 'b: 1\na:\n- "yes"\n- null\n')
  const large = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`k${at}`, at]))
  t.is(
    await texts.print(large),
    Object.keys(large)
      .map((key, at) => `${key}: ${at}\n`)
      .join(''),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.stringMatching(/^[a-z]{1,4}$/),
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      ),
      async (value) => {
        t.deepEqual(told(await texts.parseAll(text(await texts.print(value)))), [{ ...value }])
      },
    ),
    { numRuns: 50 },
  )
})

test('a Chart.yaml becomes a descriptor', (t) => {
  const metadata = {
    apiVersion: 'v2',
    name: 'ferry',
    version: '1.0.0',
    type: 'application',
    description: 'Ferries',
    icon: 'https://example.com/Ferry.PNG?size=2#x',
    home: 'https://example.com',
    sources: ['https://git.example.com/ferry', 'javascript:alert(1)'],
    keywords: ['boat', 7, ''],
    maintainers: [
      { name: 'Ann', email: 'ann@example.com' },
      { url: 'ftp://x' },
      'Bob',
      { name: 'Cem', url: 'https://cem.example.com' },
    ],
  }
  t.deepEqual(descriptorOf(metadata), {
    type: 'application',
    description: 'Ferries',
    icons: [{ src: 'https://example.com/Ferry.PNG?size=2#x', type: 'image/png' }],
    maintainers: [
      { name: 'Ann', email: 'ann@example.com' },
      { name: 'Cem', url: 'https://cem.example.com' },
    ],
    keywords: ['boat'],
    links: [
      { description: 'website', url: 'https://example.com' },
      { description: 'source', url: 'https://git.example.com/ferry' },
    ],
  })
  t.deepEqual(descriptorOf({ name: 'bare', version: '1' }), {})
})

const icons: readonly (readonly [string, unknown, unknown])[] = [
  ['an SVG in the address', 'https://x/y.svg', { src: 'https://x/y.svg', type: 'image/svg+xml' }],
  ['no extension', 'https://x/logo', { src: 'https://x/logo' }],
  ['an extension of the query alone', 'https://x/logo?file=a.png', { src: 'https://x/logo?file=a.png' }],
  ['an extension that is no picture', 'https://x/logo.exe', { src: 'https://x/logo.exe' }],
  [
    'a data URI',
    'data:image/png;base64,iVBORw0KGgo=',
    { src: 'data:image/png;base64,iVBORw0KGgo=', type: 'image/png' },
  ],
  [
    'a data URI of SVG',
    'data:image/SVG+xml;utf8,<svg/>',
    { src: 'data:image/SVG+xml;utf8,<svg/>', type: 'image/svg+xml' },
  ],
  ['a data URI of a page', 'data:text/html,<script>alert(1)</script>', undefined],
  ['a script', 'javascript:alert(1)', undefined],
  ['a file', 'file:///etc/passwd', undefined],
  ['a path', '/logo.png', undefined],
  ['nothing', '', undefined],
  ['a number', 7, undefined],
  ['a name of Object', 'https://x/y.constructor', { src: 'https://x/y.constructor' }],
]
for (const [what, given, expected] of icons)
  test(`an icon by its address alone: ${what}`, (t) => t.deepEqual(iconOf(given as Json), expected as never))

test('the type of a picture follows the last extension alone', (t) => {
  t.is(pictureTypeOf('a.png'), 'image/png')
  t.is(pictureTypeOf('a.png.txt'), undefined)
  t.is(pictureTypeOf('png'), undefined)
})

test('whatever a Chart.yaml holds: no address leads a browser elsewhere than to the web, and nothing is of another type', (t) => {
  const scheme = fc.constantFrom(
    'https://',
    'http://',
    'javascript:',
    'data:',
    'data:image/png,',
    'file://',
    'ftp://',
    ' https://',
    'HTTPS://',
    '',
  )
  const address = fc.tuple(scheme, fc.string()).map(([start, rest]) => start + rest)
  const odd = fc.oneof(
    address,
    fc.jsonValue().map((value) => value as Json),
  )
  const metadata = fc.record({
    description: odd,
    icon: odd,
    home: odd,
    sources: fc.oneof(fc.array(odd), odd),
    keywords: fc.oneof(fc.array(odd), odd),
    type: odd,
    maintainers: fc.oneof(fc.array(fc.oneof(fc.record({ name: odd, url: odd, email: odd }), odd)), odd),
  })
  fc.assert(
    fc.property(metadata, (given) => {
      const made = descriptorOf(given as unknown as FreeObject)
      for (const url of [...(made.links ?? []), ...(made.maintainers ?? [])].map((each) => each.url))
        if (url !== undefined) t.regex(url, /^https?:\/\/\S+$/i)
      for (const { src, type } of made.icons ?? []) {
        t.regex(src, /^(?:https?:\/\/|data:image\/)/i)
        if (type !== undefined) t.regex(type, /^image\//)
      }
      for (const word of made.keywords ?? []) t.is(typeof word, 'string')
    }),
  )
})

const titles: readonly (readonly [string, string])[] = [
  ['kubedb-community', 'Kubedb Community'],
  ['kube_ui.server', 'Kube Ui Server'],
  ['a', 'A'],
  ['', ''],
  ['--x--', 'X'],
  ['already Titled', 'Already Titled'],
  ['mysqlDB', 'MysqlDB'],
  ['über-boot', 'Über Boot'],
  ['2fa-proxy', '2fa Proxy'],
]
for (const [name, title] of titles)
  test(`${JSON.stringify(name)} as a title is ${JSON.stringify(title)}`, (t) => t.is(humanised(name), title))

const overridePatchCases: readonly (readonly [string, FreeObject, FreeObject, readonly unknown[]])[] = [
  ['nothing', { a: 1 }, {}, []],
  ['the same', { a: { b: [1, { c: null }] } }, { a: { b: [1, { c: null }] } }, []],
  ['another value', { a: 1 }, { a: 2 }, [{ op: 'replace', path: '/a', value: 2 }]],
  ['a new key', { a: 1 }, { b: { c: 1 } }, [{ op: 'add', path: '/b', value: { c: 1 } }]],
  ['a key below', { a: { b: 1, c: 2 } }, { a: { c: 3 } }, [{ op: 'replace', path: '/a/c', value: 3 }]],
  ['a list as a whole', { a: [1, 2, 3] }, { a: [1] }, [{ op: 'replace', path: '/a', value: [1] }]],
  ['a map in place of a list', { a: [1] }, { a: {} }, [{ op: 'replace', path: '/a', value: {} }]],
  ['null over a default', { a: { b: 1 } }, { a: null }, [{ op: 'replace', path: '/a', value: null }]],
  ['null where there is none', {}, { a: null }, [{ op: 'add', path: '/a', value: null }]],
  ['null over null', { a: null }, { a: null }, []],
  [
    'signs of pointers',
    { 'a/b': { '~c': 1 } },
    { 'a/b': { '~c': 2 } },
    [{ op: 'replace', path: '/a~1b/~0c', value: 2 }],
  ],
  [
    'names that objects inherit',
    {},
    { constructor: 1, toString: 2 },
    [
      { op: 'add', path: '/constructor', value: 1 },
      { op: 'add', path: '/toString', value: 2 },
    ],
  ],
]
for (const [what, values, overrides, patch] of overridePatchCases)
  test(`overrides as a patch: ${what}`, (t) => t.deepEqual(overridePatch(values, overrides), patch as never))

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as Json)
const map = fc
  .dictionary(
    fc.oneof(fc.constantFrom('a', 'b', 'a/b', '~', '', '0'), fc.string()).filter((key) => key !== '__proto__'),
    json,
    { maxKeys: 4 },
  )
  .map((value) => ({ ...value }) as FreeObject)

test('applied to the defaults the patch gives what Helm would merge, by adding and replacing alone', (t) => {
  fc.assert(
    fc.property(map, map, (values, overrides) => {
      const patch = overridePatch(values, overrides)
      for (const { op } of patch) t.true(op === 'add' || op === 'replace')
      t.deepEqual(fastJsonPatches.apply(values, patch as Json), right(mergeTables(values, overrides)))
      t.deepEqual(overridePatch(mergeTables(values, overrides), overrides), [])
    }),
  )
})

const never = new AbortController().signal
const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('concurrent requests are done once; later ones are done again', async (t) => {
  const shared = makeSharedWork<number>()
  let runs = 0
  const work = async (): Promise<number> => {
    await later()
    return (runs += 1)
  }
  t.deepEqual(
    await Promise.all([shared('a', never, work), shared('a', never, work), shared('b', never, work)]),
    [1, 1, 2],
  )
  t.is(await shared('a', never, work), 3)
})

test("a failure is everybody's, and is not kept", async (t) => {
  const shared = makeSharedWork<number>()
  const fails = async (): Promise<number> => {
    await later()
    throw new Error('broken')
  }
  const settled = await Promise.allSettled([shared('a', never, fails), shared('a', never, fails)])
  t.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.is(await shared('a', never, async () => 7), 7)
})

test('a caller who left before gets a refusal, and nothing starts', async (t) => {
  const shared = makeSharedWork<number>()
  await t.throwsAsync(
    shared('a', AbortSignal.abort(), () => Promise.reject(new Error('it began'))),
    { name: 'AbortError' },
  )
})

test('a caller leaves alone; the work is stopped with the last one, and starts again for the next', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }), async (leaves) => {
      const shared = makeSharedWork<string>()
      const end = Promise.withResolvers<string>()
      let begun = 0
      let stopped = false
      const work = (signal: AbortSignal): Promise<string> => {
        begun += 1
        signal.addEventListener('abort', () => (stopped = true))
        return end.promise
      }
      const people = leaves.map(() => new AbortController())
      const asked = people.map(({ signal }) => shared('a', signal, work))
      const settled = Promise.allSettled(asked)
      people.forEach((person, at) => (leaves[at] === true ? person.abort(new Error('left')) : undefined))
      t.is(
        stopped,
        leaves.every((left) => left),
      )
      if (stopped) t.is(await Promise.race([shared('a', never, async () => 'anew'), end.promise]), 'anew')
      end.resolve('done')
      t.deepEqual(
        (await settled).map((each) => (each.status === 'fulfilled' ? each.value : 'left')),
        leaves.map((left) => (left ? 'left' : 'done')),
      )
      t.is(begun, 1)
    }),
  )
})
