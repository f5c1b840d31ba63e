import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { SchemaChart } from '../../core/packages/charts/ports.ts'
import { packChart } from './chart-archives.ts'
import type { ChartTree } from './chart-values.ts'
import { valuesByChart } from './chart-values.ts'

/** A chart with its schema, as a thread receives it. */
export interface SchemaTree extends ChartTree {
  /** Content of values.schema.json. */
  readonly schema: Uint8Array | undefined
  readonly subcharts: readonly SchemaTree[]
}

/**
 * The dialects that helm contains. The name of another one is an address from which helm loads it, as is any reference
 * that does not begin with `#`.
 */
const dialect =
  /^https?:\/\/json-schema\.org\/(?:draft-0[467]\/schema|draft\/2019-09\/schema|draft\/2020-12\/schema)#?$/
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

/**
 * Returns the first reference of a schema that leaves the document, at any place: a local reference may make any place
 * a schema.
 */
const outsideReference = (schema: unknown): string | undefined => {
  const open: unknown[] = [schema]
  for (let at = open.pop(); at !== undefined || open.length > 0; at = open.pop()) {
    if (typeof at !== 'object' || at === null) continue
    for (const [key, value] of Object.entries(at)) {
      if (typeof value === 'object') open.push(value)
      else if (typeof value !== 'string') continue
      else if (references.has(key) && value !== '' && !value.startsWith('#')) return value
      else if (key === '$schema' && !dialect.test(value)) return value
    }
  }
  return undefined
}

/**
 * Returns why helm must not read a schema, or undefined. Whether it is a good schema is for helm to decide.
 *
 * @internal
 */
export const schemaProblem = (schema: Uint8Array): string | undefined => {
  let parsed: unknown
  try {
    // Helm removes the byte order mark too.
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(schema))
  } catch {
    return 'values.schema.json is not JSON'
  }
  const outside = outsideReference(parsed)
  return outside === undefined
    ? undefined
    : `values.schema.json refers to ${outside.slice(0, 200)}, which is outside of it; nothing is fetched`
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(toWireJson(value))

/**
 * Returns the files of a chart that decide about values: names, dependencies, defaults and schemas, all written here. A
 * schema that must not be read is left out.
 */
const decidingFiles = (chart: SchemaTree, isRoot: boolean): readonly (readonly [string, Uint8Array])[] => {
  const { name, version, metadata, values, schema, subcharts } = chart
  // The root may be a library or need another Kubernetes version; that is for the rendering to say.
  const { type, dependencies } = metadata
  const described = {
    apiVersion: 'v2',
    name,
    version,
    ...(dependencies === undefined ? {} : { dependencies }),
    ...(isRoot || type === undefined ? {} : { type }),
  }
  return [
    ['Chart.yaml', bytesOf(described)],
    ['values.yaml', bytesOf(values)],
    ...(schema === undefined || schemaProblem(schema) !== undefined ? [] : [['values.schema.json', schema] as const]),
    ...subcharts.flatMap((sub, index) =>
      decidingFiles(sub, false).map(([path, bytes]) => [`charts/c${index}/${path}`, bytes] as const),
    ),
  ]
}

/** The result of preparing a check: problems, or a chart for helm to check. */
export type PackedSchemas =
  { readonly lines: readonly string[] } | (SchemaChart & { readonly archive: Uint8Array<ArrayBuffer> })

/**
 * Returns a chart that consists of the schemas of a chart and its subcharts and of what decides about their values.
 * Problems: an enabled chart has a schema that must not be read, or the values have no form for the tree.
 */
export const packSchemas = async (chart: SchemaTree, values: FreeObject): Promise<PackedSchemas> => {
  const charts = valuesByChart(chart, values)
  if (isLeft(charts)) return { lines: charts.left.errors ?? [charts.left.message] }
  const lines = charts.right.flatMap(({ path, chart: { schema } }) => {
    const problem = schema === undefined ? undefined : schemaProblem(schema)
    return problem === undefined ? [] : [path === '' ? problem : `${path}: ${problem}`]
  })
  if (lines.length > 0) return { lines }
  const paths = charts.right.map(({ path }) => path).filter((path) => path !== '')
  return {
    root: chart.name,
    paths,
    archive: await packChart(
      { name: chart.name, metadata: chart.metadata, files: new Map(decidingFiles(chart, true)) },
      {},
    ),
  }
}
