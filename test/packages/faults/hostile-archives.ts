import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { createGzip, gzipSync } from 'node:zlib'
import { pack, type Header } from 'tar-stream'
import { packFiles, type ChartFiles } from '../chart-archive.ts'

type Entry = readonly [Partial<Header> & Pick<Header, 'name'>, (string | Buffer)?]

const packed = async (entries: Iterable<Entry>): Promise<Buffer> => {
  const tar = pack()
  const archive = buffer(tar.pipe(createGzip({ level: 1 })))
  for (const [header, content] of entries)
    await new Promise<void>((resolve) => tar.entry({ mtime: new Date(0), ...header }, content ?? '', () => resolve()))
  tar.finalize()
  return archive
}

const chartYaml: Entry = [{ name: 'hostile/Chart.yaml' }, 'apiVersion: v2\nname: hostile\nversion: 1.0.0\n']
const template: Entry = [
  { name: 'hostile/templates/object.yaml' },
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-hostile\n',
]
const whole = (...more: readonly Entry[]): Promise<Buffer> => packed([chartYaml, template, ...more])

const zeros = (bytes: number): Promise<Buffer> => whole([{ name: 'hostile/zeros.bin' }, Buffer.alloc(bytes)])

function* manyFiles(count: number): Iterable<Entry> {
  yield chartYaml
  for (let index = 0; index < count; index += 1) yield [{ name: `hostile/files/f${index}` }, '']
}

const files = (more: ChartFiles): Promise<Buffer> =>
  packFiles('hostile', { 'Chart.yaml': String(chartYaml[1]), 'templates/object.yaml': String(template[1]), ...more })

/** Each level names the one before nine times. */
const laughs = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...'bcdefghi'
    .split('')
    .map(
      (name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[index]}`).join(', ')}]`,
    ),
].join('\n')

const nested = async (depth: number): Promise<Buffer> => {
  let inner = await files({})
  for (let level = 0; level < depth; level += 1) inner = await files({ 'charts/hostile-1.0.0.tgz': inner })
  return inner
}

/** Archives that no chart is, or none that may be used, by what is wrong with them. */
export const hostileArchives: Readonly<Record<string, () => Promise<Buffer>>> = {
  'a symbolic link': () => whole([{ name: 'hostile/templates/link.yaml', type: 'symlink', linkname: '/etc/passwd' }]),
  'a hard link': () => whole([{ name: 'hostile/templates/link.yaml', type: 'link', linkname: '/etc/passwd' }]),
  'a device': () => whole([{ name: 'hostile/null', type: 'character-device' }]),
  'a path that climbs': () => whole([{ name: 'hostile/../../../../tmp/hostile-file' }, 'climbed']),
  'an absolute path': () => whole([{ name: '/tmp/hostile-file' }, 'absolute']),
  'a drive letter': () => whole([{ name: 'C:\\hostile-file' }, 'drive']),
  'backslashes that climb': () => whole([{ name: 'hostile\\..\\..\\hostile-file' }, 'backslash']),
  'one file twice': () => whole([{ name: 'hostile/Chart.yaml' }, 'apiVersion: v2\nname: hostile\nversion: 2.0.0\n']),
  '400 MB of zeros': () => zeros(400 * 1024 * 1024),
  'one file of 6 MB': () => zeros(6 * 1024 * 1024),
  '100,000 files': () => packed(manyFiles(100_000)),
  'no Chart.yaml': () => packed([template]),
  'a Chart.yaml that grows without end': () =>
    files({ 'Chart.yaml': `apiVersion: v2\nname: hostile\nversion: 1.0.0\n${laughs}\n` }),
  'values that grow without end': () => files({ 'values.yaml': laughs }),
  'archives in archives': () => nested(40),
  'no tar': () => Promise.resolve(gzipSync(Buffer.alloc(4096, 'x'))),
  'no gzip': () => Promise.resolve(Buffer.from('this is no archive at all')),
  nothing: () => Promise.resolve(Buffer.alloc(0)),
  'a file that breaks off': async () =>
    (await whole([{ name: 'hostile/noise.bin' }, randomBytes(5000)])).subarray(0, 3000),
}

/** A chart whose archive is sound and whose content is not. */
export const hostileChart = (more: ChartFiles): Promise<Buffer> => files(more)
