import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { threadEnvironment } from '../../../adapters/system/processes.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { GatherMonth, MonthReport } from '../../../core/usage/months/ports.ts'
import type { Asked, GatheredFacts, Said } from './closing-program.ts'
import type { ClosingPlace } from './closing-thread.ts'
import type { Ended } from './closing-work.ts'
import { resultOf } from './closing-work.ts'

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = fileURLToPath(
  new URL(`./closing-program${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
)

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

/** One process that runs. What waits for it fails when it ends. */
class Running {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  /** How it ended, once it has. */
  #end: string | undefined

  constructor(place: ClosingPlace) {
    this.#child = fork(program, [], {
      env: ownEnvironment(),
      execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('message', (said: Said) => {
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
    this.#send({ ask: 'open', place })
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
    asked: Asked & { readonly month: number },
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

/**
 * Completes, reads and writes months, and writes their reports, in a process of low priority, which divides the work
 * among threads of its own: what the main thread of the service does holds up requests. The process starts when it is
 * first needed, and ends when nothing is closed or when this one dies.
 */
export const makeClosingProcess = (place: ClosingPlace, idleAfter = idleMilliseconds): ClosingProcess => {
  let running: Running | undefined
  let idle: NodeJS.Timeout | undefined
  let months = 0
  let lastMonth = 0

  const begin = (): Running => {
    clearTimeout(idle)
    months += 1
    if (running === undefined || running.hasEnded) running = new Running(place)
    return running
  }
  const end = (): void => {
    months -= 1
    if (months === 0) idle = setTimeout(() => void close(), idleAfter).unref()
  }
  const close = async (): Promise<void> => {
    clearTimeout(idle)
    const last = running
    running = undefined
    await last?.end()
  }
  return {
    close,
    report: {
      write: async (revision, signal) => {
        const own = begin()
        try {
          await own.ask<void>({ ask: 'writeReport', month: (lastMonth += 1), revision }, signal)
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
        const gathered = await own.ask<GatheredFacts>(
          { ask: 'gather', month, call: { requestId, sourceIp, operation }, input: { ownerId, month: of, asOf } },
          signal,
          onProgress,
        )
        return {
          ...gathered,
          writeViews: (monthId, stop, report) => own.ask<void>({ ask: 'writeViews', month, monthId }, stop, report),
          remove,
        }
      } catch (error) {
        await remove()
        throw error
      }
    },
  }
}
