import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { checkSchema } from './check-schema.ts'
import { valuesByChart, type ChartTree } from './chart-values.ts'

/** A chart with its schema, as a thread is given it. */
export interface SchemaTree extends ChartTree {
  /** Content of values.schema.json. */
  readonly schema: Uint8Array | undefined
  readonly subcharts: readonly SchemaTree[]
}

/** One line a problem, of the chart and of each enabled one below it. */
export const checkValues = (chart: SchemaTree, values: FreeObject): readonly string[] => {
  const charts = valuesByChart(chart, values)
  if (isLeft(charts)) return charts.left.errors ?? [charts.left.message]
  return charts.right.flatMap(({ path, chart: { schema }, values: own }) => (schema === undefined ? [] : checkSchema({ path, schema, values: own })))
}
