import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { StderrLines } from '../../../adapters/helm/process/child-process.ts'
import type { HelperCounts, HelperProcesses } from '../../../adapters/system/helper-processes.ts'
import { countsOfEnded, noCounts, sumOfCounts } from '../../../adapters/system/helper-processes.ts'
import { programUrl, threadEnvironment } from '../../../adapters/system/processes.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { Tracing } from '../../../core/platform/ports.ts'
import type { GatherMonth, MonthReport } from '../../../core/usage/months/ports.ts'
import type { OtlpTarget } from '../../runtime/service/tracing.ts'
import type { Asked, GatheredFacts, Said } from './closing-program.ts'
import type { ClosingPlace } from './closing-thread.ts'
import type { Ended } from './closing-work.ts'
import { resultOf } from './closing-work.ts'

const program = fileURLToPath(programUrl('./closing-program', import.meta.url))

/** How long the process stays without work. */
const idleMilliseconds = 10_000

/**
 * V8 otherwise collects the garbage of a thread on all cores at once, and requests wait for one. Closing takes no
 * longer.
 */
const execArgv = ['--single-threaded-gc']

/**
 * How long a process may take to stop its work before it is ended: it may be frozen, or wait for a statement. What it
 * has written has no effect.
 */
const stopMilliseconds = 5_000

/** The work of closing months in a process of its own. */
export interface ClosingProcess {
  readonly gather: GatherMonth
  readonly report: MonthReport
  close(): Promise<void>
}

/** Without the settings of the service, which hold secrets. */
const ownEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MOORAGE_'))),
  ...threadEnvironment(),
})

interface Waiting {
  readonly onProgress: (done: number, of: number) => void
  readonly onEnd: (ended: Ended<unknown>) => void
}

/** What the service knows of the processes that close months. */
export interface ClosingWatch {
  readonly helpers: Pick<HelperProcesses, 'watch' | 'countsOf'>
  readonly tracing: Tracing
  /** Where the process exports its spans; undefined if traces are off. */
  readonly traces: OtlpTarget | undefined
  readonly log: Pick<Log, 'warn'>
  /** How long a process stays without work, in milliseconds. */
  readonly idleAfter?: number
}

/** Lines of stderr: V8 says there why it ends a process. */
const watchErrors = (child: ChildProcess, log: ClosingWatch['log']): void => {
  const lines = new StderrLines((text) => log.warn({ program: 'closing', text }, 'a helper process said'))
  child.stderr?.on('data', (chunk: Buffer) => lines.add(chunk))
  child.stderr?.once('close', () => lines.end())
  // The process itself keeps this one, while something waits for it.
  ;(child.stderr as Socket | null)?.unref()
}

/** One process that runs. What waits for it fails when it ends. */
class Running {
  readonly #child: ChildProcess
  /** What it said last of its work. */
  counts: HelperCounts = noCounts
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  /** How it ended, once it has. */
  #end: string | undefined

  constructor(place: ClosingPlace, { helpers, traces, log }: ClosingWatch) {
    this.#child = fork(program, [], {
      env: ownEnvironment(),
      execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    helpers.watch('closing', this.#child, 'warn')
    watchErrors(this.#child, log)
    this.#child.on('message', (said: Said) => {
      if ('counts' in said) this.counts = said.counts
      if (!('month' in said)) return
      if ('done' in said) return this.#waiting.get(said.month)?.onProgress(said.done, said.of)
      const waiting = this.#waiting.get(said.month)
      this.#waiting.delete(said.month)
      this.#holdLoop()
      waiting?.onEnd(said.ended)
    })
    this.#ended = new Promise((resolve) => {
      const end = (how: string): void => {
        if (this.hasEnded) return
        const unavailable = `The process that closes months ended ${how}.`
        this.#end = unavailable
        for (const { onEnd } of this.#waiting.values()) onEnd({ unavailable })
        this.#waiting.clear()
        resolve()
      }
      this.#child.on('error', (error) => end(`with an error: ${error.message}`))
      this.#child.once('exit', (code, signal) =>
        end(signal === null ? `with the code ${String(code)}` : `by ${signal}`),
      )
    })
    this.#send({ ask: 'open', place, traces })
    this.#holdLoop()
  }

  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /**
   * Asks for work on a month, one at a time, and returns its result; throws what it threw, and `Unavailable` if the
   * process ends.
   */
  async ask<Result>(
    asked: Exclude<Asked, { readonly ask: 'open' | 'stop' }>,
    signal?: AbortSignal,
    onProgress: Waiting['onProgress'] = () => undefined,
  ): Promise<Result> {
    signal?.throwIfAborted()
    if (this.#end !== undefined) throw new Unavailable(this.#end)
    const { month } = asked
    let patience: NodeJS.Timeout | undefined
    const stop = (): void => {
      this.#send({ ask: 'stop', month })
      patience = this.#killLater()
    }
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const ended = await new Promise<Ended<unknown>>((onEnd) => {
        this.#waiting.set(month, { onProgress, onEnd })
        this.#holdLoop()
        this.#send(asked)
      })
      return resultOf(ended as Ended<Result>)
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      clearTimeout(patience)
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Lets the process forget a month. It never throws: what a process keeps goes with it. */
  async remove(month: number): Promise<void> {
    const patience = this.#killLater()
    await this.ask({ ask: 'remove', month }).catch(() => undefined)
    clearTimeout(patience)
  }

  /** Ends the process; what it has not finished has no effect. */
  async end(): Promise<void> {
    if (this.hasEnded) return
    if (this.#child.connected) this.#child.disconnect()
    this.#child.ref()
    const patience = this.#killLater()
    await this.#ended
    clearTimeout(patience)
  }

  #killLater(): NodeJS.Timeout {
    return setTimeout(() => this.#child.kill('SIGKILL'), stopMilliseconds)
  }

  #send(asked: Asked): void {
    // A process that has just ended says so by its exit.
    if (this.#child.connected) this.#child.send(asked, () => undefined)
  }

  /** Lets this process end, unless something waits for the other one. */
  #holdLoop(): void {
    const isHeld = this.#waiting.size > 0
    if (isHeld) this.#child.ref()
    else this.#child.unref()
    if (isHeld) this.#child.channel?.ref()
    else this.#child.channel?.unref()
  }
}

const countsOf = (running: Running): HelperCounts => (running.hasEnded ? countsOfEnded(running.counts) : running.counts)

/**
 * Completes, reads and writes months, and writes their reports, in a process of low priority, which divides the work
 * among threads of its own: what the main thread of the service does holds up requests. The process starts when it is
 * first needed, and ends when nothing is closed or when this one dies.
 */
export const makeClosingProcess = (place: ClosingPlace, watch: ClosingWatch): ClosingProcess => {
  const { helpers, tracing, idleAfter = idleMilliseconds } = watch
  let running: Running | undefined
  let before = noCounts
  let idle: NodeJS.Timeout | undefined
  let months = 0
  let lastMonth = 0

  helpers.countsOf('closing', () => (running === undefined ? before : sumOfCounts(before, countsOf(running))))
  /** Keeps the counts of a process that is not used any more. */
  const forget = (): void => {
    if (running !== undefined) before = sumOfCounts(before, countsOfEnded(running.counts))
    running = undefined
  }
  /** Runs work whose process continues the trace. */
  const traced = <A>(name: string, work: (trace: string | undefined) => Promise<A>): Promise<A> =>
    tracing.span({ name: `process closing: ${name}` }, () => work(tracing.current()?.traceparent))

  const begin = (): Running => {
    clearTimeout(idle)
    months += 1
    if (running === undefined || running.hasEnded) {
      forget()
      running = new Running(place, watch)
    }
    return running
  }
  const end = (): void => {
    months -= 1
    if (months === 0) idle = setTimeout(() => void close(), idleAfter).unref()
  }
  const close = async (): Promise<void> => {
    clearTimeout(idle)
    const last = running
    forget()
    await last?.end()
  }
  return {
    close,
    report: {
      write: async (revision, signal) => {
        const own = begin()
        try {
          const month = (lastMonth += 1)
          await traced('report', (trace) => own.ask<void>({ ask: 'writeReport', trace, month, revision }, signal))
        } finally {
          end()
        }
      },
    },
    gather: async ({ call: { requestId, sourceIp, operation, signal }, ownerId, month: of, asOf, onProgress }) => {
      const own = begin()
      const month = (lastMonth += 1)
      const remove = async (): Promise<void> => {
        await own.remove(month)
        end()
      }
      try {
        const call = { requestId, sourceIp, operation }
        const input = { ownerId, month: of, asOf }
        const gathered = await traced('gather', (trace) =>
          own.ask<GatheredFacts>({ ask: 'gather', trace, month, call, input }, signal, onProgress),
        )
        return {
          ...gathered,
          writeViews: (monthId, stop, report) =>
            traced('views', (trace) => own.ask<void>({ ask: 'writeViews', trace, month, monthId }, stop, report)),
          remove,
        }
      } catch (error) {
        await remove()
        throw error
      }
    },
  }
}
