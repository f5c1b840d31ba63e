import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../statistics.ts'
import { LoadConnection } from './connection.ts'
import type { FromGenerator, LoadTarget, SliceResult, ToGenerator } from './protocol.ts'

// A process of its own: what it costs to ask must not be counted as what it costs to answer.

/** Beyond this many answers a slice keeps only every other latency, and so on. */
const maxLatencies = 400_000
const graceMilliseconds = 15_000

class Slice {
  readonly target: LoadTarget
  readonly #until: number
  readonly #startedAt = performance.now()
  #answers = 0
  #answersInAll = 0
  #bytes = 0
  #errors = 0
  #firstError: string | undefined
  #latencies: number[] = []
  #every = 1

  constructor(target: LoadTarget, seconds: number) {
    this.target = target
    this.#until = this.#startedAt + seconds * 1000
  }

  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  get remainingMs(): number {
    return Math.max(0, this.#until - performance.now())
  }

  received(bytes: number): void {
    if (!this.isOver) this.#bytes += bytes
  }

  answered(sentAt: number, status: number): void {
    const now = performance.now()
    if (status !== (this.target.expectedStatus ?? 200)) return this.failed(`status ${status}`)
    this.#answersInAll += 1
    if (now < this.#until) this.#answers += 1
    if (this.#answersInAll % this.#every === 0) this.#latencies.push(now - sentAt)
    if (this.#latencies.length > maxLatencies) {
      this.#latencies = this.#latencies.filter((_, index) => index % 2 === 0)
      this.#every *= 2
    }
  }

  failed(reason: string): void {
    this.#errors += 1
    this.#firstError ??= reason
  }

  result(cpuMicroseconds: number): SliceResult {
    const wholeSeconds = (performance.now() - this.#startedAt) / 1000
    return {
      seconds: (this.#until - this.#startedAt) / 1000,
      answers: this.#answers,
      answersInAll: this.#answersInAll,
      bytes: this.#bytes,
      errors: this.#errors,
      ...(this.#firstError === undefined ? {} : { firstError: this.#firstError }),
      p50: percentile(this.#latencies, 0.5),
      p99: percentile(this.#latencies, 0.99),
      generatorLoad: cpuMicroseconds / 1e6 / wholeSeconds,
    }
  }
}

/** The connections of one target; they stay open between its slices. */
class Crew {
  readonly #connections: LoadConnection[]
  #slice: Slice | undefined

  constructor(target: LoadTarget) {
    const pause = target.pauseMilliseconds ?? 0
    const requests = [target.request].flat().map((request) => Buffer.from(request, 'utf8'))
    this.#connections = Array.from({ length: target.connections }, (_, index) => {
      const again = (): void => {
        if (this.#slice?.isOver === false) connection.send()
      }
      const connection: LoadConnection = new LoadConnection(
        target,
        requests,
        {
          received: (bytes) => this.#slice?.received(bytes),
          answered: (sentAt, status) => {
            this.#slice?.answered(sentAt, status)
            if (pause === 0) again()
            else setTimeout(again, pause)
          },
          failed: (reason) => {
            this.#slice?.failed(reason)
            // Not at once: a server that refuses every connection would make this a busy loop.
            setTimeout(again, 20)
          },
        },
        index / target.connections,
      )
      return connection
    })
  }

  async run(target: LoadTarget, seconds: number): Promise<SliceResult> {
    const before = process.cpuUsage()
    const slice = new Slice(target, seconds)
    this.#slice = slice
    for (const connection of this.#connections) connection.send()
    await sleep(seconds * 1000)
    if (target.kind === 'stream') this.cut()
    const deadline = performance.now() + graceMilliseconds
    while (this.#connections.some((connection) => connection.isWaiting) && performance.now() < deadline) await sleep(2)
    if (this.#connections.some((connection) => connection.isWaiting)) {
      slice.failed('no answer in time')
      this.cut()
    }
    const used = process.cpuUsage(before)
    return slice.result(used.user + used.system)
  }

  cut(): void {
    for (const connection of this.#connections) connection.cut()
  }
}

const crews = new Map<string, Crew>()

const perform = async (message: ToGenerator): Promise<FromGenerator> => {
  if (message.kind === 'close') {
    crews.get(message.targetId)?.cut()
    crews.delete(message.targetId)
    return { call: message.call }
  }
  const { target } = message
  const crew = crews.get(target.id) ?? new Crew(target)
  crews.set(target.id, crew)
  return { call: message.call, result: await crew.run(target, message.seconds) }
}

process.on('message', (message: ToGenerator) => {
  perform(message).then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ call: message.call, error: String(error) } satisfies FromGenerator),
  )
})
// The bench has ended, in whatever way: nobody is left to ask for.
process.on('disconnect', () => process.exit(0))
