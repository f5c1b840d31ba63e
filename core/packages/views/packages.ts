import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ReadChartDeps, ReadChartFailure, ReadChartInput } from '../charts/chart-cache.ts'
import { readChart } from '../charts/chart-cache.ts'
import type { Chart, ChartTexts, FetchedChart } from '../charts/ports.ts'
import { ChartRefused } from '../charts/ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import { readTable } from '../charts/values.ts'
import { versionedRef } from './bundles.ts'
import { descriptorOf, pictureTypeOf } from './descriptors.ts'
import { ChartFileMissing, FormatRefused } from './types.ts'
import type { PackageView, ValuesFile } from './types.ts'
import { definedFields } from '../../kernel/json.ts'

type Read<A> = Outcome<Failure<'ChartRefused'>, A>
type Texts = Pick<ChartTexts, 'parseAll'>

/** Files that may contain a form's schema, the first existing one is used: the OpenAPI schema, else Helm's. */
const schemaFiles = [
  'values.openapiv3_schema.json',
  'values.openapiv3_schema.yaml',
  'values.openapiv3_schema.yml',
  'values.schema.json',
]
const defaultsFile = 'values.yaml'
const valuesFile = /^values-[^/]*\.yaml$/
/** Maximum total bytes of the values files and the schema in one view. */
const maxShown = 2 * 1024 * 1024

const tableIn = async (texts: Texts, { chart }: FetchedChart, path: string): Read<FreeObject> => {
  const parsed = await texts.parseAll(chart.files.get(path) ?? new Uint8Array())
  if (isLeft(parsed))
    return left(ChartRefused(`${path} of the chart ${chart.name} cannot be read: ${parsed.left.message}`))
  const [value = {}, ...others] = parsed.right
  const table = others.length === 0 ? asTable(value) : undefined
  return table === undefined ? left(ChartRefused(`${path} of the chart ${chart.name} must be one map.`)) : right(table)
}

const valuesIn = async (texts: Texts, { chart }: FetchedChart, path: string): Read<FreeObject> => {
  const table = await readTable(texts, chart.files.get(path) ?? new Uint8Array())
  return isLeft(table)
    ? left(ChartRefused(`${path} of the chart ${chart.name} cannot be read: ${table.left.message}`))
    : table
}

const valuesFilesOf = async (texts: Texts, fetched: FetchedChart): Read<readonly ValuesFile[]> => {
  const { files, values } = fetched.chart
  const found: ValuesFile[] = files.has(defaultsFile) ? [{ filename: defaultsFile, values }] : []
  for (const filename of [...files.keys()].filter((path) => valuesFile.test(path)).sort()) {
    const read = await valuesIn(texts, fetched, filename)
    if (isLeft(read)) return read
    found.push({ filename, values: read.right })
  }
  return right(found)
}

const shownBytes = ({ chart }: FetchedChart): number =>
  [...chart.files]
    .filter(([path]) => path === defaultsFile || valuesFile.test(path) || schemaFiles.includes(path))
    .reduce((sum, [, bytes]) => sum + bytes.length, 0)

/** Returns what a chart's form needs: its description, its values files, and their schema. @internal */
export const packageView = async (texts: Texts, fetched: FetchedChart): Read<PackageView> => {
  if (shownBytes(fetched) > maxShown)
    return left(
      ChartRefused(
        `The values and schema of the chart ${fetched.chart.name} are larger than a view may be; read them as files.`,
      ),
    )
  const valuesFiles = await valuesFilesOf(texts, fetched)
  if (isLeft(valuesFiles)) return valuesFiles
  const schemaFile = schemaFiles.find((path) => fetched.chart.files.has(path))
  const schema = schemaFile === undefined ? right(undefined) : await tableIn(texts, fetched, schemaFile)
  if (isLeft(schema)) return schema
  return right({
    ...descriptorOf(fetched.chart.metadata),
    ...versionedRef(fetched),
    ...(valuesFiles.right.length === 0 ? {} : { valuesFiles: valuesFiles.right }),
    ...definedFields({ openAPIV3Schema: schema.right }),
  })
}

/** Returns what the form of a chart needs, as `packageView`. */
export const makeViewPackage =
  (deps: ReadChartDeps & { readonly texts: Texts }) =>
  async (call: SignedInCall<never>, input: ReadChartInput): Outcome<ReadChartFailure, PackageView> => {
    const fetched = await readChart(deps, call, input)
    return isLeft(fetched) ? fetched : packageView(deps.texts, fetched.right)
  }

export type ViewFormat = 'json' | 'yaml'

/** `json` and `yaml` are formats; any other text selects the route's own default. */
export const formatOf = (text: string | undefined): ViewFormat | undefined =>
  text === 'json' || text === 'yaml' ? text : undefined

/** A file as served. */
export interface ServedFile {
  readonly name: string
  readonly contentType: string
  readonly bytes: Uint8Array
}

const json = 'application/json; charset=utf-8'
const yaml = 'application/yaml; charset=utf-8'
const plain = 'text/plain; charset=utf-8'
const opaque = 'application/octet-stream'

/** Types that a browser would execute as a page (`html`, `svg`, `xml`, `js`) are served as plain text. */
const typesByExtension: Readonly<Record<string, string>> = {
  json,
  yaml,
  yml: yaml,
  lock: yaml,
  md: 'text/markdown; charset=utf-8',
  txt: plain,
  tpl: plain,
  html: plain,
  htm: plain,
  xhtml: plain,
  xml: plain,
  svg: plain,
  js: plain,
  mjs: plain,
  css: plain,
  sh: plain,
  toml: plain,
  ini: plain,
  conf: plain,
  csv: plain,
  helmignore: plain,
  prov: plain,
  gotmpl: plain,
  properties: plain,
  sql: plain,
  tgz: 'application/gzip',
  gz: 'application/gzip',
}
/** Picture formats without scripts. */
const safePictures: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
]

/** All media types that a file may be served with. */
export const servedTypes = [
  opaque,
  json,
  yaml,
  plain,
  'text/markdown; charset=utf-8',
  'application/gzip',
  ...safePictures,
] as const

const extensionOf = (path: string): string => /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
const plainNames: ReadonlySet<string> = new Set(['LICENSE', 'NOTICE', 'README', 'OWNERS', 'Makefile'])

/** Returns the media type for a file's name; files of unknown type are served as bytes. @internal */
export const servedType = (path: string): string => {
  const picture = pictureTypeOf(path)
  if (picture !== undefined && safePictures.includes(picture)) return picture
  const extension = extensionOf(path)
  if (Object.hasOwn(typesByExtension, extension)) return typesByExtension[extension] ?? opaque
  return plainNames.has(path.split('/').at(-1) ?? '') ? plain : opaque
}

/** Returns the names of the raw files, including those of subcharts, sorted by UTF-16 code units. @internal */
export const fileNames = (chart: Pick<Chart, 'files'>): readonly string[] =>
  [...chart.files.keys()].sort((a, b) => (a < b ? -1 : 1))

const sourceFormats: Readonly<Record<string, ViewFormat>> = { json: 'json', yaml: 'yaml', yml: 'yaml', lock: 'yaml' }

/** Returns one raw file, unchanged or converted between YAML and JSON. @internal */
export const servedFile = async (
  texts: Pick<ChartTexts, 'convert'>,
  chart: Pick<Chart, 'name' | 'version' | 'files'>,
  path: string,
  format: ViewFormat | undefined,
): Outcome<Failure<'ChartFileMissing'> | Failure<'FormatRefused'>, ServedFile> => {
  const bytes = chart.files.get(path)
  if (bytes === undefined)
    return left(ChartFileMissing(`The file does not exist in the chart ${chart.name} ${chart.version}.`))
  const name = path.split('/').at(-1) ?? ''
  const extension = extensionOf(path)
  const source = Object.hasOwn(sourceFormats, extension) ? sourceFormats[extension] : undefined
  if (format === undefined || format === source) return right({ name, contentType: servedType(path), bytes })
  if (source === undefined) return left(FormatRefused('Only files of YAML and JSON can be turned into one another.'))
  const turned = await texts.convert(bytes, format)
  if (isLeft(turned)) return left(FormatRefused(`${path} cannot be turned into ${format}: ${turned.left.message}`))
  return right({
    name: `${name.slice(0, -extension.length)}${format}`,
    contentType: format === 'json' ? json : yaml,
    bytes: new TextEncoder().encode(turned.right),
  })
}

/** Lists the files of a chart, as `fileNames`. */
export const makeListChartFiles =
  (deps: ReadChartDeps) =>
  async (call: SignedInCall<never>, input: ReadChartInput): Outcome<ReadChartFailure, readonly string[]> => {
    return pipe(
      await readChart(deps, call, input),
      map(({ chart }) => fileNames(chart)),
    )
  }

export interface GetChartFileInput extends ReadChartInput {
  readonly path: string
  /** The format to convert to; undefined leaves the file unchanged. */
  readonly format: ViewFormat | undefined
}

/** Returns a file of a chart, as `servedFile`. */
export const makeGetChartFile =
  (deps: ReadChartDeps & { readonly texts: Pick<ChartTexts, 'convert'> }) =>
  async (
    call: SignedInCall<never>,
    input: GetChartFileInput,
  ): Outcome<ReadChartFailure | Failure<'ChartFileMissing'> | Failure<'FormatRefused'>, ServedFile> => {
    const fetched = await readChart(deps, call, input)
    return isLeft(fetched) ? fetched : servedFile(deps.texts, fetched.right.chart, input.path, input.format)
  }
