import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bars } from '../bars.ts'
import type { ReportFigures } from '../reports/sample-table.ts'
import { reportRows } from '../reports/sample-table.ts'
import { best, median, pairedRatio } from '../statistics.ts'
import type { MeasureRow } from './row.ts'

const program = (name: string): string => fileURLToPath(new URL(`../reports/${name}.ts`, import.meta.url))

const figuresOf = async (name: string): Promise<ReportFigures> => {
  const { stdout } = await promisify(execFile)(process.execPath, [program(name)])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as ReportFigures
}

/** Row 27: a report with 20,000 rows in a process of its own, against pdfkit alone. */
export const usageReport: MeasureRow = async ({ bench, run }) => {
  const rounds = run.quick ? 3 : 7
  const [ours, twin]: [ReportFigures[], ReportFigures[]] = [[], []]
  bench.progress.measuring(`a report of ${reportRows} rows`, rounds)
  for (let round = 1; round <= rounds; round += 1) {
    bench.progress.round(round, rounds)
    ours.push(await figuresOf('write-report'))
    twin.push(await figuresOf('pdfkit-twin'))
  }
  const cpu = (figures: readonly ReportFigures[]): readonly number[] => figures.map(({ cpuSeconds }) => cpuSeconds)
  const memory = (figures: readonly ReportFigures[]): readonly number[] =>
    figures.map(({ peakMegabytes }) => peakMegabytes)
  const line = { row: '27', ours: {}, against: '-' } as const
  const size = `${((ours[0]?.bytes ?? 0) / 1e6).toFixed(1)} MB with tags, ${((twin[0]?.bytes ?? 0) / 1e6).toFixed(1)} MB without`
  return [
    {
      ...line,
      what: `report of ${reportRows} rows, CPU`,
      against: 'pdfkit alone',
      value: pairedRatio(cpu(ours), cpu(twin)),
      bestValue: best(cpu(ours), 'less') / best(cpu(twin), 'less'),
      unit: 'x',
      bar: bars.reportCpu,
      note: size,
    },
    {
      ...line,
      what: 'CPU of it, with the start of the process',
      value: median(cpu(ours)),
      bestValue: best(cpu(ours), 'less'),
      unit: ' s',
      bar: bars.reportSeconds,
    },
    {
      ...line,
      what: 'memory of the process at most',
      value: median(memory(ours)),
      bestValue: best(memory(ours), 'less'),
      unit: ' MB',
      bar: bars.reportMegabytes,
      note: `pdfkit alone ${median(memory(twin)).toFixed(0)} MB`,
    },
  ]
}
