import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { SchemaChart } from '../../core/packages/charts/ports.ts'
import { packChart } from './chart-archives.ts'
import type { ChartTree } from './chart-values.ts'
import { valuesByChart } from './chart-values.ts'
import { withholdReferences } from './withheld-references.ts'

/** A chart with its schema, as a thread receives it. */
export interface SchemaTree extends ChartTree {
  /** Content of values.schema.json. */
  readonly schema: Uint8Array | undefined
  readonly subcharts: readonly SchemaTree[]
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(toWireJson(value))

/**
 * Returns the files of a chart that decide about values: names, dependencies, defaults and schemas, all written here.
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
    ...(schema === undefined ? [] : [['values.schema.json', withholdReferences(schema)] as const]),
    ...subcharts.flatMap((sub, index) =>
      decidingFiles(sub, false).map(([path, bytes]) => [`charts/c${index}/${path}`, bytes] as const),
    ),
  ]
}

/** The result of preparing a check: problems, or a chart for helm to check. */
export type PackedSchemas =
  | { readonly lines: readonly string[] }
  | (SchemaChart & { readonly archive: Uint8Array<ArrayBuffer> })

/**
 * Returns a chart that consists of the schemas of a chart and its subcharts and of what decides about their values.
 * The schemas refer to no other document that helm would load. Problems: the values have no form for the tree.
 */
export const packSchemas = async (chart: SchemaTree, values: FreeObject): Promise<PackedSchemas> => {
  const charts = valuesByChart(chart, values)
  if (isLeft(charts)) return { lines: charts.left.errors ?? [charts.left.message] }
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
