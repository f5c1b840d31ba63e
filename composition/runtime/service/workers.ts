import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../../core/kernel/log.ts'
import { StartRefused } from '../../part/boot.ts'
import type { ListenAddress } from '../../part/setting-type.ts'
import type { Answers, FromWorker, Question, Relayed, ToWorker, WorkerFacts, WorkerSeat } from './worker-link.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { boundedSend } from './worker-link.ts'

/** A process as `cluster.fork` returns it. */
export interface WorkerProcess {
  readonly pid: number | undefined
  /** `done` is called when the message has been sent, or cannot be. */
  send(message: ToWorker, done: () => void): void
  onMessage(listener: (message: FromWorker) => void): void
  onExit(listener: (code: number | null, signal: string | null) => void): void
  kill(): void
}

export interface WorkersDeps {
  readonly count: number
  readonly fork: () => WorkerProcess
  readonly log: Log
  readonly opsAddress: () => ListenAddress
  /** Where the API is served, if the port of the setting is 0. */
  readonly address: () => ListenAddress | undefined
  /** Called with the problems of the first worker. Returns true if it may start with another address. */
  readonly mayTryAgain?: (problems: readonly string[]) => Promise<boolean>
  /** Called when a process has ended, with the number that `ask` names it by. */
  readonly onEnded: (process: number) => void
  /** Called once, when a worker ended early again and again. No worker is started any more. */
  readonly onGivenUp: (reason: string) => void
  /** Waits. Rejects when aborted. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly nowMs?: () => number
}

/** The worker processes of an instance. */
export interface Workers {
  /**
   * Starts the first worker, then the others at the same time. Resolves when all serve. Throws StartRefused when one
   * does not start; the others are then stopped.
   */
  start(): Promise<readonly WorkerFacts[]>
  /**
   * Asks each process that serves. `each` is called with the number of a process and its answer, as it arrives. Returns
   * how many did not answer in time, without those that ended before.
   */
  ask<Q extends Question>(question: Q, each: (process: number, answer: Answers[Q]) => void): Promise<number>
  /** Returns the number of processes that serve. */
  serving(): number
  /** Returns the number of processes that were started in place of one that ended. */
  restarts(): number
  /** Returns the number of messages between workers that were dropped, because one of them read too slowly. */
  dropped(): number
  /** Stops all. Reports whether each of them closed in order. */
  stop(how: { readonly drains: boolean }): Promise<boolean>
  /** Ends all processes immediately. */
  kill(): void
}

/** A worker that ends sooner than this after it began to serve, or before it served, has ended early. */
const earlyMs = 10_000
/** After so many early ends in a row no worker is started any more. They take half a minute at least. */
const mostEarlyEnds = 8
/** The pause before the first new start; it doubles with each early end. */
const shortestPauseMs = 100
/** Within the time that a probe of the operations listener has. */
const answerMs = 2_500

/** A process that has not ended. */
interface Started {
  readonly number: number
  readonly process: WorkerProcess
  /** Passes on a message of another worker. Returns false if it was dropped. */
  readonly pass: (message: Relayed) => boolean
  readonly questions: Map<number, (answer: Answers[Question]) => void>
  /** Resolves when it has ended: whether all of it closed in order. */
  readonly ended: Promise<boolean>
  /** When it began to serve. */
  servesSinceMs: number | undefined
  problems: readonly string[]
}

/** The place of one worker, which several processes have one after the other. */
interface Place {
  readonly index: number
  started: Started | undefined
  /** The last process that served. */
  instanceId: string | undefined
  earlyEnds: number
  /** Resolves when the first process of the place serves. */
  first: PromiseWithResolvers<WorkerFacts>
}

const makeFirst = (): Place['first'] => {
  const first = Promise.withResolvers<WorkerFacts>()
  // The start is given up at the first place that fails. The others are then not awaited.
  first.promise.catch(() => undefined)
  return first
}

const makePlace = (index: number): Place => ({
  index,
  started: undefined,
  instanceId: undefined,
  earlyEnds: 0,
  first: makeFirst(),
})

/** Starts processes for places, and others when they end. */
class Launcher {
  readonly stopping = new AbortController()
  readonly places: readonly Place[]
  restarts = 0
  dropped = 0
  readonly #deps: WorkersDeps
  #numbers = 0

  constructor(deps: WorkersDeps) {
    this.#deps = deps
    this.places = Array.from({ length: deps.count }, (_, index) => makePlace(index))
  }

  launch(place: Place): void {
    const process = this.#deps.fork()
    const ended = Promise.withResolvers<boolean>()
    const started: Started = {
      number: (this.#numbers += 1),
      process,
      pass: boundedSend((message, done) => process.send(message, done)),
      questions: new Map(),
      ended: ended.promise,
      servesSinceMs: undefined,
      problems: [],
    }
    place.started = started
    process.onMessage((message) => this.#hear(place, started, message))
    process.onExit((code, signal) => {
      place.started = undefined
      this.#deps.onEnded(started.number)
      ended.resolve(code === 0)
      if (!this.stopping.signal.aborted) this.#replace(place, started, reasonOf(started, code, signal))
    })
  }

  #hear(place: Place, started: Started, message: FromWorker): void {
    if (message.kind === 'awake') started.process.send({ kind: 'begin', seat: this.#seatOf(place) }, () => undefined)
    else if (message.kind === 'refused') started.problems = message.problems
    else if (message.kind === 'answer') started.questions.get(message.id)?.(message.value)
    else if (message.kind === 'relay') this.#relay(started, message)
    else {
      place.instanceId = message.facts.instanceId
      started.servesSinceMs = this.#nowMs()
      place.first.resolve(message.facts)
    }
  }

  #relay(from: Started, message: Relayed): void {
    this.dropped += message.dropped ?? 0
    for (const { started } of this.places)
      if (started !== undefined && started !== from && !started.pass(message)) this.dropped += 1
  }

  #seatOf({ index, instanceId }: Place): WorkerSeat {
    return {
      index,
      count: this.#deps.count,
      opsAddress: this.#deps.opsAddress(),
      migrates: this.#numbers === 1,
      ...definedFields({ address: this.#deps.address(), replaces: instanceId }),
    }
  }

  #replace(place: Place, { problems, servesSinceMs, process }: Started, reason: string): void {
    if (place.instanceId === undefined)
      return place.first.reject(
        new StartRefused(problems.length > 0 ? problems : [`A worker did not start: ${reason}.`]),
      )
    const { log, onGivenUp, pause = abortableDelay } = this.#deps
    const isEarly = servesSinceMs === undefined || this.#nowMs() - servesSinceMs < earlyMs
    place.earlyEnds = isEarly ? place.earlyEnds + 1 : 0
    const fields = { worker: place.index, workerPid: process.pid, reason }
    if (place.earlyEnds >= mostEarlyEnds) {
      this.stopping.abort()
      log.error(fields, 'a worker ended again and again: the service ends')
      return onGivenUp(`a worker ended ${mostEarlyEnds} times, each time soon after its start: ${reason}`)
    }
    const pauseMs = shortestPauseMs * 2 ** Math.max(0, place.earlyEnds - 1)
    log.error({ ...fields, pauseMs }, 'a worker ended: another is started in its place')
    const again = (): void => {
      this.restarts += 1
      this.launch(place)
    }
    pause(pauseMs, this.stopping.signal).then(again, () => undefined)
  }

  #nowMs(): number {
    return (this.#deps.nowMs ?? (() => performance.now()))()
  }
}

const abortableDelay = (ms: number, signal: AbortSignal): Promise<unknown> => delay(ms, undefined, { signal })

const reasonOf = ({ problems }: Started, code: number | null, signal: string | null): string =>
  problems.length > 0
    ? problems.join(' ')
    : `it ended with ${code === null ? `the signal ${signal ?? 'unknown'}` : `the code ${code}`}`

let questions = 0

/** Asks a process. Resolves undefined if it does not answer in time, or ends. */
const askOne = async <Q extends Question>(
  { process, questions: open, ended }: Started,
  question: Q,
): Promise<Answers[Q] | undefined> => {
  const id = (questions += 1)
  const answered = new Promise<Answers[Question]>((resolve) => open.set(id, resolve))
  process.send({ kind: 'ask', id, question }, () => undefined)
  const enough = new AbortController()
  const tooLate = delay(answerMs, undefined, { signal: enough.signal, ref: false }).catch(() => undefined)
  try {
    return (await Promise.race([answered, tooLate, ended.then(() => undefined)])) as Answers[Q] | undefined
  } finally {
    open.delete(id)
    enough.abort()
  }
}

/** Returns the workers of an instance. None is started yet. */
export const makeWorkers = (deps: WorkersDeps): Workers => {
  const launcher = new Launcher(deps)
  const { places, stopping } = launcher
  const running = (): readonly Started[] => places.flatMap(({ started }) => (started === undefined ? [] : [started]))
  const serving = (): readonly Started[] => running().filter(({ servesSinceMs }) => servesSinceMs !== undefined)
  const begin = (place: Place): Promise<WorkerFacts> => {
    launcher.launch(place)
    return place.first.promise
  }
  const beginFirst = async (place: Place): Promise<WorkerFacts> => {
    try {
      return await begin(place)
    } catch (error) {
      if (!(error instanceof StartRefused) || !(await deps.mayTryAgain?.(error.problems))) throw error
      place.first = makeFirst()
      return beginFirst(place)
    }
  }
  const stop: Workers['stop'] = async ({ drains }) => {
    stopping.abort()
    const all = running()
    for (const { process } of all) process.send({ kind: 'stop', drains }, () => undefined)
    return (await Promise.all(all.map(({ ended }) => ended))).every((isOrderly) => isOrderly)
  }
  return {
    start: async () => {
      const [first, ...others] = places as [Place, ...Place[]]
      try {
        // The first creates what exists once.
        const facts = await beginFirst(first)
        return [facts, ...(await Promise.all(others.map(begin)))]
      } catch (error) {
        await stop({ drains: false })
        throw error
      }
    },
    ask: async (question, each) => {
      const answers = serving().map(async (started) => {
        const answer = await askOne(started, question)
        // One that has ended is missing, not silent: another is started in its place.
        if (!running().includes(started)) return false
        if (answer !== undefined) each(started.number, answer)
        return answer === undefined
      })
      return (await Promise.all(answers)).filter((isSilent) => isSilent).length
    },
    serving: () => serving().length,
    restarts: () => launcher.restarts,
    dropped: () => launcher.dropped,
    stop,
    kill: () => {
      stopping.abort()
      for (const { process } of running()) process.kill()
    },
  }
}
