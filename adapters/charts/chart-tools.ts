import { left, right } from 'fp-ts/lib/Either.js'
import { ValuesRefused, type Chart, type ChartTools } from '../../core/packages/chart-ports.ts'
import { ChartWorkStopped, type ChartThreads } from './chart-threads.ts'
import type { SchemaTree } from './check-values.ts'

const schemaFile = 'values.schema.json'

const hasSchema = ({ files, subcharts }: Chart): boolean => files.has(schemaFile) || subcharts.some(hasSchema)

/** What the thread needs: without the files. */
const treeOf = ({ name, version, metadata, values, files, subcharts }: Chart): SchemaTree => ({
  name, version, metadata, values, schema: files.get(schemaFile), subcharts: subcharts.map(treeOf),
})

/** ChartTools in threads of their own: schemas come with charts, and charts from anywhere. */
export const makeChartTools = (threads: ChartThreads): ChartTools => ({
  async pack(chart, changes = {}) {
    const { name, metadata, files } = chart
    const { archive } = await threads.run<'pack'>({ kind: 'pack', chart: { name, metadata, files }, annotations: changes.annotations ?? {} })
    return archive
  },
  async checkValues(chart, values) {
    if (!hasSchema(chart)) return right(undefined)
    try {
      const { lines } = await threads.run<'check'>({ kind: 'check', chart: treeOf(chart), values })
      return lines.length === 0 ? right(undefined) : left(ValuesRefused(`The values do not fit the chart: ${lines.slice(0, 3).join('; ')}.`, { errors: lines }))
    } catch (error) {
      if (error instanceof ChartWorkStopped) return left(ValuesRefused(`The values could not be checked against the chart's schema. ${error.message}`))
      throw error
    }
  },
})
