import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { ChartRefused, type ChartTexts, type FetchedChart } from './chart-ports.ts'
import { asTable } from './value-tables.ts'
import { versionedRef } from './view-bundle.ts'
import { descriptorOf } from './view-descriptor.ts'
import type { PackageView, ValuesFile } from './view-types.ts'

type Read<A> = Outcome<Failure<'ChartRefused'>, A>
type Texts = Pick<ChartTexts, 'parseAll'>

/** Where forms look for a schema, the first one that is there: OpenAPI's own, else Helm's. */
const schemaFiles = ['values.openapiv3_schema.json', 'values.openapiv3_schema.yaml', 'values.openapiv3_schema.yml', 'values.schema.json']
const defaultsFile = 'values.yaml'
const valuesFile = /^values-[^/]*\.yaml$/
/** Bytes of the files of values and schema that one view shows, together. */
const maxShown = 2 * 1024 * 1024

const tableIn = async (texts: Texts, { chart }: FetchedChart, path: string): Read<FreeObject> => {
  const parsed = await texts.parseAll(chart.files.get(path) ?? new Uint8Array())
  if (isLeft(parsed)) return left(ChartRefused(`${path} of the chart ${chart.name} cannot be read: ${parsed.left.message}`))
  const [value = {}, ...others] = parsed.right
  const table = others.length === 0 ? asTable(value) : undefined
  return table === undefined ? left(ChartRefused(`${path} of the chart ${chart.name} must be one map.`)) : right(table)
}

const valuesFilesOf = async (texts: Texts, fetched: FetchedChart): Read<readonly ValuesFile[]> => {
  const { files, values } = fetched.chart
  const found: ValuesFile[] = files.has(defaultsFile) ? [{ filename: defaultsFile, values }] : []
  for (const filename of [...files.keys()].filter((path) => valuesFile.test(path)).sort()) {
    const read = await tableIn(texts, fetched, filename)
    if (isLeft(read)) return read
    found.push({ filename, values: read.right })
  }
  return right(found)
}

const shownBytes = ({ chart }: FetchedChart): number =>
  [...chart.files].filter(([path]) => path === defaultsFile || valuesFile.test(path) || schemaFiles.includes(path)).reduce((sum, [, bytes]) => sum + bytes.length, 0)

/** A chart as its form is made from: what it says of itself, its files of values, and their schema. */
export const packageView = async (texts: Texts, fetched: FetchedChart): Read<PackageView> => {
  if (shownBytes(fetched) > maxShown) return left(ChartRefused(`The values and schema of the chart ${fetched.chart.name} are larger than a view may be; read them as files.`))
  const valuesFiles = await valuesFilesOf(texts, fetched)
  if (isLeft(valuesFiles)) return valuesFiles
  const schemaFile = schemaFiles.find((path) => fetched.chart.files.has(path))
  const schema = schemaFile === undefined ? right(undefined) : await tableIn(texts, fetched, schemaFile)
  if (isLeft(schema)) return schema
  return right({
    ...descriptorOf(fetched.chart.metadata),
    ...versionedRef(fetched),
    ...(valuesFiles.right.length === 0 ? {} : { valuesFiles: valuesFiles.right }),
    ...(schema.right === undefined ? {} : { openAPIV3Schema: schema.right }),
  })
}
