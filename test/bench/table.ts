import type { Bar, Verdict } from './bars.ts'
import { verdictOf } from './bars.ts'

/** What one side did. Absent where a line does not measure it. */
export interface Reading {
  /** Requests (or bytes, or chunks: the line says so) a second. */
  readonly perSecond?: number
  readonly p99Ms?: number
  /** User and system microseconds of the server process for each request. */
  readonly cpuUs?: number
}

/** One line of the table. */
export interface BenchLine {
  readonly row: string
  readonly what: string
  readonly ours: Reading
  readonly against: string
  readonly twin?: Reading
  /** The value that the bar is about. */
  readonly value: number
  /** The same from the best slice of each side. */
  readonly bestValue?: number
  readonly unit: string
  readonly bar?: Bar
  /** What the reader should know about this figure, in words. */
  readonly note?: string
}

const headings = [
  'row',
  'what',
  'req/s',
  'p99 ms',
  'cpu us',
  'against',
  'req/s',
  'p99 ms',
  'cpu us',
  'cpu ratio',
  'measured',
  'best',
  'must',
  'stretch',
  '',
] as const
const leftAligned: ReadonlySet<number> = new Set([0, 1, 5, 14])

/** Numbers as people read them: 21 600, 56.3, 0.82; a dash for what was not measured. */
export function showNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 1000)
    return Math.round(value)
      .toString()
      .replaceAll(/\B(?=(\d{3})+$)/g, ' ')
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)
}

const showWithUnit = (value: number | undefined, unit: string): string =>
  value === undefined || !Number.isFinite(value) ? '-' : `${showNumber(value)}${unit}`

const showBar = (bar: Bar | undefined, limit: 'must' | 'stretch'): string =>
  bar === undefined ? '-' : `${bar.direction === 'at least' ? '>=' : '<='} ${showWithUnit(bar[limit], bar.unit)}`

const verdictWords: Readonly<Record<Verdict, string>> = {
  stretch: 'stretch reached',
  must: 'must reached',
  'below the bar': '** below the bar **',
  'no bar': '',
  'not measured': 'not measured',
}

/** The CPU of the twin for each request as a part of ours: the steadier figure where neighbours are busy. */
const cpuRatio = (line: BenchLine): number | undefined =>
  line.ours.cpuUs === undefined || line.twin?.cpuUs === undefined ? undefined : line.twin.cpuUs / line.ours.cpuUs

const cellsOf = (line: BenchLine): readonly string[] => [
  line.row,
  line.what,
  showNumber(line.ours.perSecond),
  showNumber(line.ours.p99Ms),
  showNumber(line.ours.cpuUs),
  line.against,
  showNumber(line.twin?.perSecond),
  showNumber(line.twin?.p99Ms),
  showNumber(line.twin?.cpuUs),
  showWithUnit(cpuRatio(line), 'x'),
  showWithUnit(line.value, line.unit),
  showWithUnit(line.bestValue, line.unit),
  showBar(line.bar, 'must'),
  showBar(line.bar, 'stretch'),
  verdictWords[verdictOf(line.value, line.bar)],
]

/** Columns as wide as their widest cell, two spaces between them, no space at the end of a line. */
export function formatColumns(rows: readonly (readonly string[])[], left: ReadonlySet<number>): string {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      widths
        .map((width, column) =>
          left.has(column) ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The first table: each goal with its bars, and below it what there is to know about single lines. */
export function formatGoals(lines: readonly BenchLine[]): string {
  const notes = lines.flatMap((line) => (line.note === undefined ? [] : [`  ${line.row}: ${line.note}`]))
  const table = formatColumns([headings, ...lines.map(cellsOf)], leftAligned)
  return [table, ...(notes.length === 0 ? [] : ['', 'Notes', ...notes])].join('\n')
}

/** The second table: what a person would use instead, beside ours. */
export function formatComparison(lines: readonly BenchLine[]): string {
  const shown = [
    headings
      .slice(0, 12)
      .map((heading) => (heading === 'row' ? '' : heading === 'measured' ? 'ours / theirs' : heading)),
    ...lines.map((line) => cellsOf(line).slice(0, 12)),
  ]
  const notes = lines.flatMap((line) => (line.note === undefined ? [] : [`  ${line.what}: ${line.note}`]))
  return [formatColumns(shown, leftAligned), ...(notes.length === 0 ? [] : ['', ...notes])].join('\n')
}

/** One sentence on how many bars were reached and which were not. */
export function summary(lines: readonly BenchLine[]): string {
  const judged = lines.filter((line) => line.bar !== undefined)
  const below = judged.filter((line) => verdictOf(line.value, line.bar) === 'below the bar')
  const missing = judged.filter((line) => verdictOf(line.value, line.bar) === 'not measured')
  const parts = [`${judged.length - below.length - missing.length} of ${judged.length} bars reached.`]
  if (below.length > 0) parts.push(`Below the bar: ${below.map((line) => `${line.row} (${line.what})`).join('; ')}.`)
  if (missing.length > 0) parts.push(`Not measured: ${missing.map((line) => line.row).join(', ')}.`)
  return parts.join(' ')
}
