import { createGzip, gzipSync } from 'node:zlib'
import { finished } from 'node:stream/promises'
import test from 'ava'
import fc from 'fast-check'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { ChartWorkRefused, makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import {
  archiveOf,
  chartArchive,
  chartYaml,
  minimalChart,
  tarOf,
  type ArchiveEntry,
} from '../support/charts/archive.ts'

const read = (archive: Uint8Array) => readChart(archive, archiveLimits)
const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

test('a chart is read with its files, values and metadata', async (t) => {
  const chart = await read(
    await chartArchive({
      'Chart.yaml': chartYaml('web', 'description: Ein schönes Diagramm\n'),
      'values.yaml': 'grüße: 日本\nport: 0777\non: yes\n',
      'templates/näme.yaml': 'kind: ConfigMap\n',
      'values.schema.json': '{}',
    }),
  )
  t.is(chart.name, 'web')
  t.is(chart.version, '1.0.0')
  t.is(chart.metadata['description'], 'Ein schönes Diagramm')
  t.deepEqual(chart.values, { grüße: '日本', port: 511, true: true })
  t.deepEqual([...chart.files.keys()].sort(), [
    'Chart.yaml',
    'templates/näme.yaml',
    'values.schema.json',
    'values.yaml',
  ])
})

test('a byte-order mark is no part of the text', async (t) => {
  const chart = await read(
    await chartArchive({ 'Chart.yaml': `\uFEFF${chartYaml('web')}`, 'values.yaml': '\uFEFFa: 1\n' }),
  )
  t.deepEqual(chart.values, { a: 1 })
})

test('charts below charts are read, folders and archives alike', async (t) => {
  const inner = await chartArchive({ 'Chart.yaml': chartYaml('deep'), 'values.yaml': 'd: 1\n' }, 'deep')
  const middle = await archiveOf([
    { name: 'middle/Chart.yaml', content: chartYaml('middle') },
    { name: 'middle/charts/deep-1.0.0.tgz', content: inner },
  ])
  const chart = await read(
    await archiveOf([
      { name: 'web', type: 'directory' },
      { name: 'web/Chart.yaml', content: chartYaml('web') },
      { name: 'web/charts/middle.tgz', content: middle },
      { name: 'web/charts/side/Chart.yaml', content: chartYaml('side') },
      { name: 'web/charts/_off/Chart.yaml', content: 'no chart' },
      { name: 'web/charts/README.md', content: 'hello' },
    ]),
  )
  t.deepEqual(chart.subcharts.map(({ name }) => name).sort(), ['middle', 'side'])
  const found = chart.subcharts.find(({ name }) => name === 'middle')
  t.deepEqual(
    found?.subcharts.map(({ name, values }) => [name, values]),
    [['deep', { d: 1 }]],
  )
  t.true(chart.files.has('charts/side/Chart.yaml'))
})

test('a chart of the first format takes its dependencies from requirements.yaml', async (t) => {
  const chart = await read(
    await chartArchive({
      'Chart.yaml': 'apiVersion: v1\nname: web\nversion: 1.0.0\n',
      'requirements.yaml': 'dependencies:\n- name: db\n  version: 1.x\n',
    }),
  )
  t.deepEqual(chart.metadata['dependencies'], [{ name: 'db', version: '1.x' }])
})

const good: ArchiveEntry = { name: 'web/Chart.yaml', content: chartYaml('web') }
const hostile: Readonly<Record<string, readonly [readonly ArchiveEntry[], RegExp]>> = {
  'a symbolic link': [[good, { name: 'web/values.yaml', type: 'symlink', linkname: '/etc/passwd' }], /a link/],
  'a hard link': [[good, { name: 'web/values.yaml', type: 'link', linkname: 'web/Chart.yaml' }], /a link/],
  'a device': [[good, { name: 'web/null', type: 'character-device' }], /a device/],
  'a pipe': [[good, { name: 'web/pipe', type: 'fifo' }], /a pipe/],
  'an absolute path': [[good, { name: '/etc/cron.d/x' }], /absolute/],
  'a path that leads upwards': [[good, { name: 'web/../../etc/passwd' }], /leads upwards/],
  'a path that begins upwards': [[good, { name: '../web/x' }], /leads upwards/],
  'a backslash': [[good, { name: 'web\\..\\x' }], /backslash/],
  'a drive letter': [[good, { name: 'C:/windows/x' }], /drive/],
  'a drive letter below': [[good, { name: 'web/C:/x' }], /drive/],
  'an empty part': [[good, { name: 'web//x' }], /empty part/],
  'a line break in a name': [[good, { name: 'web/a\nb' }], /characters/],
  'two files of one name': [[good, { name: 'web/a' }, { name: 'web/a' }], /more than once/],
  'two roots': [[good, { name: 'other/Chart.yaml', content: chartYaml('other') }], /more than one folder/],
  'a file at the top': [[{ name: 'Chart.yaml', content: chartYaml('web') }], /beside the folder/],
  'a deep path': [[good, { name: `web/${'a/'.repeat(40)}b` }], /too deep/],
  'a long path': [[good, { name: `web/${'a'.repeat(600)}` }], /too long/],
  'no Chart.yaml': [[{ name: 'web/values.yaml', content: 'a: 1' }], /no Chart\.yaml/],
  nothing: [[], /no files/],
  'Chart.yaml that is a list': [[{ name: 'web/Chart.yaml', content: '- a' }], /must be a map/],
  'Chart.yaml without a version': [
    [{ name: 'web/Chart.yaml', content: 'apiVersion: v2\nname: web\n' }],
    /usable version/,
  ],
  'a name that is a path': [[{ name: 'web/Chart.yaml', content: chartYaml('../x') }], /usable name/],
  'an unknown apiVersion': [
    [{ name: 'web/Chart.yaml', content: 'apiVersion: v9\nname: web\nversion: 1.0.0\n' }],
    /apiVersion/,
  ],
  'values that are a list': [[good, { name: 'web/values.yaml', content: '- a' }], /values\.yaml must be a map/],
  'values that are no text': [
    [good, { name: 'web/values.yaml', content: new Uint8Array([0xff, 0xfe, 0xc0]) }],
    /no UTF-8/,
  ],
  'values of many aliases': [
    [
      good,
      {
        name: 'web/values.yaml',
        content: [
          'a: &a [x,x,x,x,x,x,x,x,x,x]',
          ...[...'bcdefgh'].map(
            (c, i) =>
              `${c}: &${c} [${Array(10)
                .fill(`*${'abcdefg'[i] ?? ''}`)
                .join(',')}]`,
          ),
        ].join('\n'),
      },
    ],
    /aliases/,
  ],
  'a file that is too large': [
    [good, { name: 'web/big', content: new Uint8Array(5 * 1024 * 1024 + 1) }],
    /larger than 5 MiB/,
  ],
  'files that are too large together': [
    [
      good,
      ...Array.from({ length: 11 }, (_, i) => ({ name: `web/big${i}`, content: new Uint8Array(5 * 1024 * 1024) })),
    ],
    /unpacks to more than 50 MiB/,
  ],
  'many folders': [
    [good, ...Array.from({ length: 5_001 }, (_, i) => ({ name: `web/d${i}`, type: 'directory' as const }))],
    /more than 5000 entries/,
  ],
}

for (const [what, [entries, message]] of Object.entries(hostile)) {
  test(`an archive is refused for ${what}`, async (t) => {
    await t.throwsAsync(read(await archiveOf(entries)), { message })
  })
}

test('a chart below a chart is held to the same rules', async (t) => {
  const inner = await archiveOf([
    { name: 'db/Chart.yaml', content: chartYaml('db') },
    { name: 'db/x', type: 'symlink', linkname: '/etc/passwd' },
  ])
  await t.throwsAsync(read(await archiveOf([good, { name: 'web/charts/db.tgz', content: inner }])), {
    message: /a link/,
  })
})

test('charts below charts end at a depth', async (t) => {
  let archive = await minimalChart('c0')
  for (let i = 1; i <= 8; i += 1)
    archive = await archiveOf([
      { name: `c${i}/Chart.yaml`, content: chartYaml(`c${i}`) },
      { name: `c${i}/charts/c${i - 1}.tgz`, content: archive },
    ])
  await t.throwsAsync(read(archive), { message: /nested deeper/ })
})

test('archives inside of archives draw on one limit', async (t) => {
  const inner = async (name: string) =>
    archiveOf([
      { name: `${name}/Chart.yaml`, content: chartYaml(name) },
      ...Array.from({ length: 4 }, (_, i) => ({ name: `${name}/big${i}`, content: new Uint8Array(5 * 1024 * 1024) })),
    ])
  const entries = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => ({ name: `web/charts/${name}.tgz`, content: await inner(name) })),
  )
  await t.throwsAsync(read(await archiveOf([good, ...entries])), { message: /unpacks to more than/ })
})

test('400 MB of zeros in a few hundred kilobytes are refused', async (t) => {
  const gzip = createGzip({ level: 9 })
  const parts: Buffer[] = []
  gzip.on('data', (part: Buffer) => parts.push(part))
  const zeros = Buffer.alloc(4 * 1024 * 1024)
  for (let i = 0; i < 100; i += 1) if (!gzip.write(zeros)) await new Promise((go) => gzip.once('drain', go))
  gzip.end()
  await finished(gzip)
  const bomb = Buffer.concat(parts)
  t.true(bomb.length < 1024 * 1024)
  await t.throwsAsync(read(bomb), { message: /unpacks to more than 50 MiB/ })
})

test('100,000 entries are refused', async (t) => {
  const one = (await tarOf([{ name: 'web/d', type: 'directory' }])).subarray(0, 512)
  await t.throwsAsync(read(gzipSync(Buffer.concat(Array<Uint8Array>(100_000).fill(one)))), {
    message: /entries|unpacks/,
  })
})

test('gzip members without end are refused', async (t) => {
  const member = gzipSync(Buffer.alloc(1024 * 1024))
  await t.throwsAsync(read(Buffer.concat(Array<Uint8Array>(200).fill(member))), { message: /unpacks to more than/ })
})

test('an archive beyond the size limit is not unpacked', async (t) => {
  const bytes = new Uint8Array(10 * 1024 * 1024 + 1)
  bytes.set([0x1f, 0x8b])
  await t.throwsAsync(read(bytes), { message: /larger than 10 MiB/ })
})

test('damaged archives are refused', async (t) => {
  const whole = await minimalChart()
  await t.throwsAsync(read(whole.subarray(0, whole.length / 2)), { message: /damaged/ })
  await t.throwsAsync(read(new TextEncoder().encode('<html>')), { message: /gzip/ })
  await t.throwsAsync(read(gzipSync('this is no tar file at all'.repeat(100))), {
    message: /no tar file|no files|damaged/,
  })
})

test('threads answer refusals in the same words, and packing is the same each time', async (t) => {
  const threads = makeChartThreads()
  t.teardown(() => threads.close())
  const linked = await archiveOf([good, { name: 'web/x', type: 'symlink', linkname: '/etc/passwd' }])
  await t.throwsAsync(threads.run<'read'>({ kind: 'read', archive: linked, digests: [], limits: archiveLimits }), {
    instanceOf: ChartWorkRefused,
    message: /a link/,
  })
  const { chart } = await threads.run<'read'>({
    kind: 'read',
    archive: await minimalChart(),
    digests: [],
    limits: archiveLimits,
  })
  const pack = async () =>
    (await threads.run<'pack'>({ kind: 'pack', chart, annotations: { 'app.kubernetes.io/part-of': 'shop' } })).archive
  const [first, second] = [await pack(), await pack()]
  t.deepEqual(first, second)
  const again = await read(first)
  t.deepEqual(again.metadata['annotations'], { 'app.kubernetes.io/part-of': 'shop' })
  t.deepEqual([...again.files.keys()].sort(), [...chart.files.keys()].sort())
  t.is(text(again.files.get('values.yaml')), text(chart.files.get('values.yaml')))
})

test('packing changes no file where nothing is to be changed', async (t) => {
  const threads = makeChartThreads()
  t.teardown(() => threads.close())
  const { chart } = await threads.run<'read'>({
    kind: 'read',
    archive: await minimalChart(),
    digests: [],
    limits: archiveLimits,
  })
  const { archive } = await threads.run<'pack'>({ kind: 'pack', chart, annotations: {} })
  const sorted = (files: ReadonlyMap<string, Uint8Array>) => [...files].sort(([a], [b]) => (a < b ? -1 : 1))
  t.deepEqual(sorted((await read(archive)).files), sorted(chart.files))
})

test('a chart that its parents take again and again is counted each time', async (t) => {
  const taking = (name: string, below: string, times: number): string =>
    `${chartYaml(name)}dependencies:\n${Array.from({ length: times }, (_, index) => `- {name: ${below}, version: "*", alias: ${below}-${index}}\n`).join('')}`
  const tower = async (times: number): Promise<Uint8Array> => {
    let archive = await minimalChart('c0')
    for (let i = 1; i <= 3; i += 1)
      archive = await archiveOf([
        { name: `c${i}/Chart.yaml`, content: taking(`c${i}`, `c${i - 1}`, times) },
        { name: `c${i}/charts/c${i - 1}.tgz`, content: archive },
      ])
    return archive
  }
  t.is((await read(await tower(5))).name, 'c3')
  await t.throwsAsync(read(await tower(9)), { message: /more than 500 charts/ })
  await t.throwsAsync(read(await archiveOf([{ name: 'web/Chart.yaml', content: taking('web', 'none', 501) }])), {
    message: /more than 500 dependencies/,
  })
  const heavy = await archiveOf([
    { name: 'c0/Chart.yaml', content: chartYaml('c0') },
    { name: 'c0/values.yaml', content: `a: ${'x'.repeat(1024 * 1024)}\n` },
  ])
  await t.throwsAsync(
    read(
      await archiveOf([
        { name: 'web/Chart.yaml', content: taking('web', 'c0', 11) },
        { name: 'web/charts/c0.tgz', content: heavy },
      ]),
    ),
    { message: /10 MiB of values/ },
  )
})

test('for any name, an entry is refused or is below the folder', async (t) => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', 'a', 'web', 'C:', '/', '\\', 'ü', ' '),
    fc.string({ maxLength: 5 }),
  )
  const name = fc
    .array(part, { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join('/'))
    .filter((made) => made.replaceAll('/', '') !== '' && !made.includes('\0'))
  await fc.assert(
    fc.asyncProperty(name, async (made) => {
      const paths = await read(await archiveOf([good, { name: made, content: 'x' }])).then(
        (chart) => [...chart.files.keys()],
        (error: Error) => {
          t.is(error.constructor.name, 'ArchiveRefused', made)
          return []
        },
      )
      for (const path of paths) t.false(/^\/|\\|(^|\/)\.{1,2}(\/|$)|^[A-Za-z]:|\p{Cc}/u.test(path), path)
    }),
    { numRuns: 300, examples: [['web/m:t'], ['web/a/m:t'], ['m:t/a']] },
  )
})
