import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { bars } from '../bars.ts'
import { loadMonth } from '../closing/month-data.ts'
import { best, median, pairedRatio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'
import { besideClosing } from './usage-beside-closing.ts'
import { migrateToNow } from '../../support/schema.ts'

interface Figures {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  readonly loopP99Ms: number
}

const figuresOf = async (name: 'close-month' | 'group-by-twin', ...words: readonly string[]): Promise<Figures> => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    fileURLToPath(new URL(`../closing/${name}.ts`, import.meta.url)),
    ...words,
  ])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Figures
}

/** The month that the bar of closing is about. Smaller ones are shown beside it. */
const largest = 1e7

/** Until code is compiled: the longer a roll-up takes, the fewer. */
const warmUpsFor = (intervals: number): number => (intervals > 1e6 ? 0 : Math.ceil(3e5 / intervals))

const shown = (intervals: number): string => `10^${Math.log10(intervals)}`

const measure = async (
  { bench }: RowInput,
  kind: 'MariaDB' | 'SQLite',
  url: string,
  intervals: number,
  rounds: number,
): Promise<readonly BenchLine[]> => {
  bench.progress.doing(`loading ${intervals} intervals into ${kind}`)
  const db = await openDatabase(url)
  await migrateToNow(db)
  await db.close()
  await loadMonth(url, intervals)
  const [rolled, twin]: [Figures[], Figures[]] = [[], []]
  bench.progress.measuring(`a month of ${intervals} intervals on ${kind}`, rounds)
  for (let round = 1; round <= rounds; round += 1) {
    bench.progress.round(round, rounds)
    twin.push(await figuresOf('group-by-twin', url))
    rolled.push(await figuresOf('close-month', url, 'roll-up', String(warmUpsFor(intervals))))
  }
  const closed = await figuresOf('close-month', url, 'close')
  const seconds = (figures: readonly Figures[]): readonly number[] => figures.map((each) => each.seconds)
  const line = { row: '26', ours: {}, against: '-' } as const
  const what = `${shown(intervals)} intervals, ${kind}`
  return [
    {
      ...line,
      what: `roll-up of ${what}`,
      against: 'bare GROUP BY object, driver alone',
      value: pairedRatio(seconds(rolled), seconds(twin)),
      bestValue: best(seconds(rolled), 'less') / best(seconds(twin), 'less'),
      unit: 'x',
      bar: bars.usageRollUp,
      note: `${median(seconds(rolled)).toFixed(1)} s against ${median(seconds(twin)).toFixed(1)} s; ${((median(seconds(rolled)) / intervals) * 1e6).toFixed(1)} us an interval`,
    },
    {
      ...line,
      what: `closing ${what}, with all views`,
      against: 'bare GROUP BY object, driver alone',
      value: closed.seconds / median(seconds(twin)),
      bestValue: closed.seconds / best(seconds(twin), 'less'),
      unit: 'x',
      ...(intervals === largest ? { bar: bars.usageClose } : {}),
      note: `${closed.seconds.toFixed(1)} s; ${((closed.seconds / intervals) * 1e6).toFixed(1)} us an interval`,
    },
    {
      ...line,
      what: `memory of closing ${what}`,
      value: closed.peakMegabytes,
      bestValue: closed.peakMegabytes,
      unit: ' MB',
      bar: bars.usageCloseMegabytes,
      note: `the event loop was held for ${closed.loopP99Ms.toFixed(1)} ms at p99`,
    },
  ]
}

/** Row 26: a month is closed, from 10^5 intervals on; 10^7 with --slow. */
export const usageMonths: MeasureRow = async (input) => {
  const { lab, run } = input
  const rounds = run.quick ? 1 : 3
  const folder = await mkdtemp(join(tmpdir(), 'moorage-bench-'))
  try {
    const lines: BenchLine[] = []
    for (const intervals of [1e5, ...(run.quick ? [] : [1e6]), ...(run.slow ? [largest] : [])]) {
      lines.push(...(await measure(input, 'MariaDB', await (await lab.mariaDb()).createDatabase(), intervals, rounds)))
      const path = join(folder, `${intervals}.sqlite`)
      lines.push(...(await measure(input, 'SQLite', `sqlite:${path}`, intervals, rounds)))
      await rm(path)
    }
    for (const kind of ['MariaDB', 'SQLite'] as const) lines.push(...(await besideClosing(input, kind)))
    return lines
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
