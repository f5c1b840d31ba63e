import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadGenerator } from './load/load-generator.ts'
import type { LoadTarget } from './load/protocol.ts'
import type { Progress } from './progress.ts'
import { cpuSeconds } from './process-figures.ts'
import { best, median, pairedRatio } from './statistics.ts'
import type { Reading } from './table.ts'

/** One side of a comparison: what is asked, and the process whose CPU time counts. */
export interface Variant {
  readonly target: LoadTarget
  /** Of the server process, or its processes; absent where nobody serves in between. */
  readonly pid?: number | readonly number[]
}

/** What one slice of one side gave. */
export interface SliceFigures {
  readonly perSecond: number
  readonly bytesPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuUs: number
  readonly generatorLoad: number
}

/** All slices of one side, by round. */
export interface Series {
  readonly name: string
  readonly slices: readonly SliceFigures[]
}

export interface Pace {
  readonly warmUpSeconds: number
  readonly sliceSeconds: number
  readonly rounds: number
}

export interface Bench {
  readonly generator: LoadGenerator
  readonly progress: Progress
  readonly pace: Pace
  /** Every slice of every measurement, for --json. */
  record(what: string, series: readonly Series[]): void
}

/** Seconds that a comparison of this many sides takes. */
const secondsFor = (sides: number, pace: Pace): number => sides * (pace.warmUpSeconds + pace.rounds * pace.sliceSeconds)

const slice = async (bench: Bench, { target, pid }: Variant, seconds: number): Promise<SliceFigures> => {
  const cpuOf = (): number => [pid ?? []].flat().reduce((sum, each) => sum + cpuSeconds(each), 0)
  const before = cpuOf()
  const result = await bench.generator.slice(target, seconds)
  const used = pid === undefined ? Number.NaN : cpuOf() - before
  if (result.errors > 0)
    throw new Error(
      `${target.id}: ${result.errors} requests failed, the first with "${result.firstError}" (${result.answersInAll} were answered)`,
    )
  return {
    perSecond: result.answers / result.seconds,
    bytesPerSecond: result.bytes / result.seconds,
    p50Ms: result.p50,
    p99Ms: result.p99,
    cpuUs: (used * 1e6) / result.answersInAll,
    generatorLoad: result.generatorLoad,
  }
}

/**
 * At least the seconds of the pace, then on until a piece costs no more than a little less CPU than the one before it:
 * code that the compiler has not seen often enough is slow, and on a busy machine seconds alone do not make it often.
 */
async function warmUp(bench: Bench, variant: Variant): Promise<void> {
  const piece = Math.min(2, bench.pace.warmUpSeconds / 2)
  let before = Number.POSITIVE_INFINITY
  for (let seconds = piece; seconds <= bench.pace.warmUpSeconds * 4; seconds += piece) {
    const { cpuUs } = await slice(bench, variant, piece)
    if (seconds >= bench.pace.warmUpSeconds && !(cpuUs < before * 0.93)) return
    before = Math.min(before, cpuUs)
  }
}

/**
 * Loads the sides in turn: all of them in each round, and every other round backwards, so that none of them always
 * comes behind the same other.
 */
export async function compare<const Names extends string>(
  bench: Bench,
  what: string,
  variants: Readonly<Record<Names, Variant>>,
): Promise<Readonly<Record<Names, Series>>> {
  const names = Object.keys(variants) as Names[]
  const { sliceSeconds, rounds } = bench.pace
  bench.progress.measuring(what, secondsFor(names.length, bench.pace))
  for (const name of names) await warmUp(bench, variants[name])
  const slices = Object.fromEntries(names.map((name) => [name, [] as SliceFigures[]])) as Record<Names, SliceFigures[]>
  for (let round = 0; round < rounds; round += 1) {
    bench.progress.round(round + 1, rounds)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      slices[name].push(await slice(bench, variants[name], sliceSeconds))
      // Collecting garbage and closing connections belong to the side that caused them.
      await sleep(30)
    }
  }
  for (const name of names) await bench.generator.close(variants[name].target)
  const series = Object.fromEntries(names.map((name) => [name, { name, slices: slices[name] }])) as unknown as Record<
    Names,
    Series
  >
  bench.record(what, Object.values(series))
  return series
}

const values = (series: Series, figure: keyof SliceFigures): readonly number[] =>
  series.slices.map((each) => each[figure])

/** The medians of a side, for the table. */
export const readingOf = (series: Series, options: { readonly as?: 'answers' | 'bytes' } = {}): Reading => ({
  perSecond: median(values(series, options.as === 'bytes' ? 'bytesPerSecond' : 'perSecond')),
  ...(options.as === 'bytes' ? {} : { p99Ms: median(values(series, 'p99Ms')) }),
  ...(options.as === 'bytes' || values(series, 'cpuUs').some(Number.isNaN)
    ? {}
    : { cpuUs: median(values(series, 'cpuUs')) }),
})

/** The median of the rounds' ratios, and the ratio of the best slices. */
export const ratioOf = (
  ours: Series,
  twin: Series,
  figure: 'perSecond' | 'bytesPerSecond' | 'p99Ms' | 'p50Ms' = 'perSecond',
): { readonly value: number; readonly bestValue: number } => {
  const better = figure === 'p99Ms' || figure === 'p50Ms' ? 'less' : 'more'
  return {
    value: pairedRatio(values(ours, figure), values(twin, figure)),
    bestValue: best(values(ours, figure), better) / best(values(twin, figure), better),
  }
}

export const medianOf = (series: Series, figure: keyof SliceFigures): number => median(values(series, figure))

/** A warning where asking took so much of a core that it hid what answering costs. */
export const generatorNote = (...series: readonly Series[]): string | undefined => {
  const load = Math.max(...series.map((each) => medianOf(each, 'generatorLoad')))
  return load < 0.9
    ? undefined
    : `the load generator was busy for ${Math.round(load * 100)} % of a core: the CPU ratio says more than requests a second`
}
