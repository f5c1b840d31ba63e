import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Chart, ChartTexts } from './chart-ports.ts'
import { pictureTypeOf } from './view-descriptor.ts'
import { ChartFileMissing, FormatRefused } from './view-ports.ts'

export type ViewFormat = 'json' | 'yaml'

/** `json` and `yaml` are formats; everything else stands for whatever the route answers by itself. */
export const formatOf = (text: string | undefined): ViewFormat | undefined => (text === 'json' || text === 'yaml' ? text : undefined)

/** A file as it is answered. */
export interface ServedFile {
  readonly name: string
  readonly contentType: string
  readonly bytes: Uint8Array
}

const json = 'application/json; charset=utf-8'
const yaml = 'application/yaml; charset=utf-8'
const plain = 'text/plain; charset=utf-8'
const opaque = 'application/octet-stream'

/** Nothing that a browser runs as a page is called what it is: `html`, `svg`, `xml`, `js` are plain text here. */
const typesByExtension: Readonly<Record<string, string>> = {
  json, yaml, yml: yaml, lock: yaml,
  md: 'text/markdown; charset=utf-8',
  txt: plain, tpl: plain, html: plain, htm: plain, xhtml: plain, xml: plain, svg: plain, js: plain, mjs: plain, css: plain, sh: plain, toml: plain, ini: plain, conf: plain,
  csv: plain, helmignore: plain, prov: plain, gotmpl: plain, properties: plain, sql: plain,
  tgz: 'application/gzip', gz: 'application/gzip',
}
/** Pictures that hold no scripts. */
const safePictures: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/x-icon']

/** Every type that a file may be answered with. */
export const servedTypes = [opaque, json, yaml, plain, 'text/markdown; charset=utf-8', 'application/gzip', ...safePictures] as const

const extensionOf = (path: string): string => /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
const plainNames: ReadonlySet<string> = new Set(['LICENSE', 'NOTICE', 'README', 'OWNERS', 'Makefile'])

/** The type that a file's name stands for; bytes of which nothing is known stay bytes. */
export const servedType = (path: string): string => {
  const picture = pictureTypeOf(path)
  if (picture !== undefined && safePictures.includes(picture)) return picture
  const extension = extensionOf(path)
  if (Object.hasOwn(typesByExtension, extension)) return typesByExtension[extension] ?? opaque
  return plainNames.has(path.split('/').at(-1) ?? '') ? plain : opaque
}

/** Names of the raw files, subcharts' included, in the order of their characters. */
export const fileNames = (chart: Pick<Chart, 'files'>): readonly string[] => [...chart.files.keys()].sort((a, b) => (a < b ? -1 : 1))

const sourceFormats: Readonly<Record<string, ViewFormat>> = { json: 'json', yaml: 'yaml', yml: 'yaml', lock: 'yaml' }

/** One raw file, as it is or turned from YAML into JSON and the other way round. */
export const servedFile = async (
  texts: Pick<ChartTexts, 'convert'>,
  chart: Pick<Chart, 'name' | 'version' | 'files'>,
  path: string,
  format: ViewFormat | undefined,
): Outcome<Failure<'ChartFileMissing'> | Failure<'FormatRefused'>, ServedFile> => {
  const bytes = chart.files.get(path)
  if (bytes === undefined) return left(ChartFileMissing(`The chart ${chart.name} ${chart.version} has no such file.`))
  const name = path.split('/').at(-1) ?? ''
  const extension = extensionOf(path)
  const source = Object.hasOwn(sourceFormats, extension) ? sourceFormats[extension] : undefined
  if (format === undefined || format === source) return right({ name, contentType: servedType(path), bytes })
  if (source === undefined) return left(FormatRefused('Only files of YAML and JSON can be turned into one another.'))
  const turned = await texts.convert(bytes, format)
  if (isLeft(turned)) return left(FormatRefused(`${path} cannot be turned into ${format}: ${turned.left.message}`))
  return right({ name: `${name.slice(0, -extension.length)}${format}`, contentType: format === 'json' ? json : yaml, bytes: new TextEncoder().encode(turned.right) })
}
