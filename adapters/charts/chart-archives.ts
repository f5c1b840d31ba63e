import { gzipSync } from 'node:zlib'
import { isLeft } from 'fp-ts/lib/Either.js'
import { pack } from 'tar-stream'
import { getOrMake } from '../../core/kernel/cache.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isObject, definedFields } from '../../core/kernel/json.ts'
import type { Chart } from '../../core/packages/charts/ports.ts'
import type { ArchiveBudget, ArchiveLimits } from './archives.ts'
import { ArchiveRefused, readArchive, wholeBudget } from './archives.ts'
import { mergeUnder, objectOf, tableOf } from './chart-values.ts'
import { kubernetesYamlText } from './kubernetes-yaml.ts'
import { readVersion } from './versions.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the documents of a YAML file, which must be maps; undefined if the file does not exist. */
const readMaps = (files: Chart['files'], path: string, where: string): readonly FreeObject[] | undefined => {
  const bytes = files.get(path)
  if (bytes === undefined) return undefined
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new ArchiveRefused(`${where}${path} is no UTF-8 text.`)
  }
  const parsed = kubernetesYamlText.parseAll(text)
  if (isLeft(parsed)) throw new ArchiveRefused(`${where}${path} cannot be read: ${parsed.left.message}`)
  return parsed.right.map((document) => {
    if (!isObject(document)) throw new ArchiveRefused(`${where}${path} must be a map.`)
    return document
  })
}

/** Returns the first document, as Helm does. */
const readYaml = (files: Chart['files'], path: string, where: string): FreeObject | undefined => {
  const documents = readMaps(files, path, where)
  return documents === undefined ? undefined : (documents[0] ?? {})
}

/** Helm merges the documents of a file of values, the later ones over the earlier. */
const readValues = (files: Chart['files'], where: string): FreeObject => {
  const [first = {}, ...others] = readMaps(files, 'values.yaml', where) ?? []
  if (others.length === 0) return first
  return objectOf(others.reduce((merged, document) => mergeUnder(tableOf(document), merged, true), tableOf(first)))
}

/** Reads Chart.yaml. Charts of apiVersion v1 keep their dependencies in requirements.yaml. */
const readMetadata = (
  files: Chart['files'],
  where: string,
): FreeObject & { readonly name: string; readonly version: string } => {
  const metadata = readYaml(files, 'Chart.yaml', where)
  if (metadata === undefined)
    throw new ArchiveRefused(`${where === '' ? 'The archive' : where} has no Chart.yaml: it is no chart.`)
  const { apiVersion, name, version } = metadata
  if (apiVersion !== 'v1' && apiVersion !== 'v2')
    throw new ArchiveRefused(`${where}Chart.yaml has an apiVersion other than v1 and v2.`)
  if (typeof name !== 'string' || !/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,248}[A-Za-z0-9])?$/.test(name))
    throw new ArchiveRefused(`${where}Chart.yaml has no usable name.`)
  // Without quotes, 1.2 is parsed as a number.
  const text = typeof version === 'number' ? String(version) : version
  if (typeof text !== 'string' || readVersion(text) === undefined)
    throw new ArchiveRefused(`${where}Chart.yaml has no usable version.`)
  const required = apiVersion === 'v1' ? readYaml(files, 'requirements.yaml', where)?.['dependencies'] : undefined
  return { ...metadata, name, version: text, ...definedFields({ dependencies: required }) }
}

interface Source {
  readonly files: Map<string, Uint8Array>
  readonly archive: Uint8Array | undefined
}

/**
 * Returns the entries below `charts/` by their first path segment: the files of a folder, or an archive. Names with the
 * prefix `.` or `_` are not charts.
 */
const chartsBelow = (files: Chart['files']): ReadonlyMap<string, Source> => {
  const found = new Map<string, Source>()
  for (const [path, bytes] of files) {
    const [folder, name = '', ...rest] = path.split('/')
    if (folder !== 'charts' || /^[._]/.test(name)) continue
    if (rest.length === 0 && name.endsWith('.tgz')) found.set(name, { files: new Map(), archive: bytes })
    if (rest.length === 0) continue
    getOrMake(found, name, () => ({ files: new Map(), archive: undefined })).files.set(rest.join('/'), bytes)
  }
  return found
}

const build = async (
  files: Chart['files'],
  where: string,
  depth: number,
  limits: ArchiveLimits,
  budget: ArchiveBudget,
): Promise<Chart> => {
  if (depth > limits.chartDepth)
    throw new ArchiveRefused(`Charts below charts are nested deeper than ${limits.chartDepth}.`)
  const metadata = readMetadata(files, where)
  const values = readValues(files, where)
  const subcharts: Chart[] = []
  for (const [name, source] of [...chartsBelow(files)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content =
      source.archive === undefined ? source.files : (await readArchive(source.archive, limits, budget)).files
    subcharts.push(await build(content, `${where}charts/${name}/`, depth + 1, limits, budget))
  }
  return { name: metadata.name, version: metadata.version, metadata, values, files, subcharts }
}

/**
 * Returns how often a chart takes each of its subcharts. Several dependencies may name the same subchart under
 * different aliases.
 */
const takesOf = ({ metadata, subcharts }: Chart, limits: ArchiveLimits): readonly (readonly [Chart, number])[] => {
  const dependencies = Array.isArray(metadata['dependencies']) ? (metadata['dependencies'] as readonly Json[]) : []
  if (dependencies.length > limits.charts)
    throw new ArchiveRefused(`A chart names more than ${limits.charts} dependencies.`)
  return subcharts.map((sub) => [
    sub,
    Math.max(1, dependencies.filter((each) => isObject(each) && each['name'] === sub.name).length),
  ])
}

/** Checks the tree as Helm expands it, where a chart occurs once for each dependency that takes it. */
const checkTree = (chart: Chart, limits: ArchiveLimits): void => {
  const sizeOf = (of: Chart): { readonly charts: number; readonly valuesBytes: number } =>
    takesOf(of, limits).reduce(
      (sum, [sub, times]) => {
        const { charts, valuesBytes } = sizeOf(sub)
        return { charts: sum.charts + times * charts, valuesBytes: sum.valuesBytes + times * valuesBytes }
      },
      { charts: 1, valuesBytes: of.files.get('values.yaml')?.length ?? 0 },
    )
  const { charts, valuesBytes } = sizeOf(chart)
  if (charts > limits.charts)
    throw new ArchiveRefused(`With all its dependencies this is more than ${limits.charts} charts.`)
  if (valuesBytes > limits.valuesBytes)
    throw new ArchiveRefused(
      `With all its dependencies the chart has more than ${limits.valuesBytes / 1024 / 1024} MiB of values.`,
    )
}

/** Reads the chart in an archive, in memory. Throws ArchiveRefused with a message for people. */
export const readChart = async (archive: Uint8Array, limits: ArchiveLimits): Promise<Chart> => {
  const budget = wholeBudget(limits)
  const { files } = await readArchive(archive, limits, budget)
  const chart = await build(files, '', 0, limits, budget)
  checkTree(chart, limits)
  return chart
}

/** The same for every archive, so that equal files produce equal bytes. */
const modifiedAt = new Date('2000-01-01T00:00:00Z')
const fileMode = 0o644

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const withAnnotations = (metadata: FreeObject, annotations: Readonly<Record<string, string>>): Uint8Array => {
  const before = metadata['annotations']
  const kept = typeof before === 'object' && before !== null && !Array.isArray(before) ? (before as FreeObject) : {}
  // For a v1 chart these are read from requirements.yaml and stay there.
  const { dependencies, ...rest } = metadata
  const own = metadata['apiVersion'] === 'v1' || dependencies === undefined ? rest : metadata
  return Buffer.from(kubernetesYamlText.print({ ...own, annotations: { ...kept, ...annotations } }))
}

/** Returns a `.tgz` of the files below a folder with the chart's name, in the order of their paths. */
export const packChart = async (
  chart: Pick<Chart, 'name' | 'metadata' | 'files'>,
  annotations: Readonly<Record<string, string>>,
): Promise<Uint8Array<ArrayBuffer>> => {
  const tarball = pack()
  const parts: Uint8Array[] = []
  const gathered = (async () => {
    for await (const part of tarball as AsyncIterable<Uint8Array>) parts.push(part)
  })()
  const isChanged = Object.keys(annotations).length > 0
  // Helm recognizes a chart archive by its Chart.yaml, so that file is first.
  const paths = [...chart.files.keys()].sort(
    (a, b) => Number(b === 'Chart.yaml') - Number(a === 'Chart.yaml') || compare(a, b),
  )
  for (const path of paths) {
    const bytes =
      path === 'Chart.yaml' && isChanged
        ? withAnnotations(chart.metadata, annotations)
        : (chart.files.get(path) ?? new Uint8Array())
    tarball.entry(
      { name: `${chart.name}/${path}`, mode: fileMode, mtime: modifiedAt, size: bytes.length },
      Buffer.from(bytes),
    )
  }
  tarball.finalize()
  await gathered
  return new Uint8Array(gzipSync(Buffer.concat(parts), { level: 6 }))
}
