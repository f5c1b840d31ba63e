import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Log } from '../../core/kernel/log.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'

/** How a process ended: with the code 0; with another one, or not started at all; or by a signal. */
type HelperEnd = 'done' | 'failed' | 'killed'

/** What the processes of a program have done since this process started. What one did remains after its end. */
export interface HelperUse {
  readonly running: number
  readonly ends: Readonly<Record<HelperEnd, number>>
  /** Those that have ended, and how long they lived in all. */
  readonly lives: { readonly count: number; readonly seconds: number }
  /** Processor time, user and system. 0 where the system does not tell. */
  readonly cpuSeconds: number
  /** The most memory that one of them had. 0 where the system does not tell. */
  readonly peakBytes: number
  /** What the processes say of their own work. */
  readonly counts: HelperCounts
}

/** What a helper process says of its own work: sums since its start, and loads of its pools. It is plain data. */
export interface HelperCounts {
  readonly statements: { readonly count: number; readonly seconds: number }
  readonly spansLost: number
  readonly pools: Readonly<Record<string, PoolLoad>>
}

/** A helper process that is watched until it ends. */
interface WatchedHelper {
  /** Reads its memory now, for one that may end soon. */
  look(): void
}

/** Helper processes of this process. */
export interface HelperProcesses {
  /**
   * Watches a process that was just started. `level` is that of the line of the log about an end other than with the
   * code 0; other lines have the level debug.
   */
  watch(program: string, child: ChildProcess, level?: 'debug' | 'warn'): WatchedHelper
  /** Says where the counts of all processes of a program are read. */
  countsOf(program: string, counts: () => HelperCounts): void
  /** Returns the use of each program, also of those that never ran. */
  uses(): ReadonlyMap<string, HelperUse>
}

/** Linux counts in these in /proc, on each architecture of Node. */
const ticksPerSecond = 100
/** The system tells the memory of a process only until its end. */
const lookMilliseconds = 100

const procText = (path: string): string | undefined => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return undefined
  }
}

/** Returns the numbers of a `stat` file of /proc from its third field on. The second may contain any character. */
const statOf = (process: number | 'self'): readonly number[] => {
  const text = procText(`${process}/stat`) ?? ''
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

const secondsOf = (ticks: readonly number[]): number =>
  ticks.reduce((sum, each) => sum + (each || 0), 0) / ticksPerSecond

/** Returns the processor time of a process and of its children that have ended. */
const cpuSecondsOf = (pid: number): number => secondsOf(statOf(pid).slice(11, 15))

/** Returns the processor time of all children of this process that have ended. */
const endedChildrenSeconds = (): number => secondsOf(statOf('self').slice(13, 15))

const peakBytesOf = (pid: number): number => {
  const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(procText(`${pid}/status`) ?? '')?.[1]
  return 1024 * Number(kibibytes ?? 0)
}

const endOf = (code: number | null): HelperEnd => {
  if (code === null) return 'killed'
  return code === 0 ? 'done' : 'failed'
}

/** A process that has done nothing. */
export const noCounts: HelperCounts = { statements: { count: 0, seconds: 0 }, spansLost: 0, pools: {} }

interface Live {
  cpuSeconds: number
}

const newUse = () => ({
  counts: () => noCounts,
  live: new Set<Live>(),
  ends: { done: 0, failed: 0, killed: 0 },
  lives: { count: 0, seconds: 0 },
  cpuSeconds: 0,
  peakBytes: 0,
})

/**
 * @param log gets a line for each process that ends.
 * @param programs the programs that may be watched. Another one throws.
 */
export const makeHelperProcesses = (log: Pick<Log, 'debug' | 'warn'>, programs: readonly string[]): HelperProcesses => {
  const known = new Map(programs.map((program) => [program, newUse()]))
  const useOf = (program: string): ReturnType<typeof newUse> => {
    const use = known.get(program)
    if (use === undefined) throw new Error(`No part declares the helper program ${program}.`)
    return use
  }
  /** The part of the time of ended children that is counted, or is of others. */
  let seen = endedChildrenSeconds()

  /**
   * Returns the processor time of a child that has just ended. The system adds it to that of all ended children. Others
   * may have ended since the last look, so it is bounded by what the child had then and could use since.
   */
  const wholeTime = (atLook: number, secondsSinceLook: number): number => {
    const now = endedChildrenSeconds()
    const most = atLook + secondsSinceLook * availableParallelism() + 2 / ticksPerSecond
    const whole = Math.max(atLook, Math.min(now - seen, most))
    seen = Math.min(now, seen + whole)
    return whole
  }

  return {
    watch(program, child, level = 'debug') {
      const use = useOf(program)
      const { pid } = child
      if (pid === undefined) {
        use.ends.failed += 1
        return { look: () => undefined }
      }
      const startedAt = performance.now()
      const live: Live = { cpuSeconds: 0 }
      use.live.add(live)
      let [lookedAt, peakBytes] = [startedAt, 0]
      const look = (): void => {
        lookedAt = performance.now()
        seen = endedChildrenSeconds()
        live.cpuSeconds = Math.max(live.cpuSeconds, cpuSecondsOf(pid))
        peakBytes = Math.max(peakBytes, peakBytesOf(pid))
        use.peakBytes = Math.max(use.peakBytes, peakBytes)
      }
      const looking = setInterval(look, lookMilliseconds).unref()
      child.once('exit', (code, signal) => {
        clearInterval(looking)
        const now = performance.now()
        const cpuSeconds = wholeTime(live.cpuSeconds, (now - lookedAt) / 1000)
        const seconds = (now - startedAt) / 1000
        const end = endOf(code)
        use.live.delete(live)
        use.ends[end] += 1
        use.lives.count += 1
        use.lives.seconds += seconds
        use.cpuSeconds += cpuSeconds
        const fields = { program, end, exitCode: code, signal, seconds, cpuSeconds, peakBytes }
        log[end === 'done' ? 'debug' : level](fields, 'a helper process ended')
      })
      return { look }
    },
    countsOf: (program, counts) => void (useOf(program).counts = counts),
    uses() {
      const shown = ({ live, counts, ...ended }: ReturnType<typeof newUse>): HelperUse => ({
        counts: counts(),
        ends: { ...ended.ends },
        lives: { ...ended.lives },
        running: live.size,
        cpuSeconds: [...live].reduce((sum, each) => sum + each.cpuSeconds, ended.cpuSeconds),
        peakBytes: ended.peakBytes,
      })
      return new Map([...known].map(([program, use]) => [program, shown(use)]))
    },
  }
}

export const noLoad: PoolLoad = { running: 0, waiting: 0, waits: 0, waitSeconds: 0, refusals: 0 }

const sumOfLoads = (one: PoolLoad = noLoad, other: PoolLoad = noLoad): PoolLoad => ({
  running: one.running + other.running,
  waiting: one.waiting + other.waiting,
  waits: one.waits + other.waits,
  waitSeconds: one.waitSeconds + other.waitSeconds,
  refusals: one.refusals + other.refusals,
})

/** Returns the sum of what was counted and timed at two places. */
export const sumOfTimes = (one: HelperCounts['statements'], other: HelperCounts['statements']): typeof one => ({
  count: one.count + other.count,
  seconds: one.seconds + other.seconds,
})

/** Returns the sum of the counts of two processes. */
export const sumOfCounts = (one: HelperCounts, other: HelperCounts): HelperCounts => ({
  statements: sumOfTimes(one.statements, other.statements),
  spansLost: one.spansLost + other.spansLost,
  pools: Object.fromEntries(
    Object.keys({ ...one.pools, ...other.pools }).map((pool) => [pool, sumOfLoads(one.pools[pool], other.pools[pool])]),
  ),
})

/** Returns what remains of the counts of a process that has ended: nothing runs or waits in it. */
export const countsOfEnded = (counts: HelperCounts): HelperCounts => ({
  ...counts,
  pools: Object.fromEntries(
    Object.entries(counts.pools).map(([pool, load]) => [pool, { ...load, running: 0, waiting: 0 }]),
  ),
})
