import type { Processes, Topic } from '../../part/boot.ts'
import type { ListenAddress } from '../../part/setting-type.ts'
import type { CheckResult } from '../http/ops-server.ts'
import { runChecks } from '../http/ops-server.ts'
import type { MetricsSnapshot } from '../http/metrics.ts'
import type { FirstAdmin } from '../../part/operator.ts'
import type { WorkerPlace } from './running-service.ts'

/** What a worker has reported when it serves. */
export interface WorkerFacts {
  readonly baseUrl: string
  readonly marketplaceUrl: string | undefined
  readonly firstAdmin: FirstAdmin | undefined
  readonly plugins: readonly string[]
  readonly routes: number
  readonly instanceId: string
}

/** What the first process asks a worker for. */
export interface Answers {
  readonly alive: true
  readonly readiness: readonly CheckResult[]
  readonly metrics: MetricsSnapshot
}
export type Question = keyof Answers

/** The place of a worker among the processes of an instance. It is plain JSON. */
export interface WorkerSeat {
  readonly index: number
  readonly count: number
  readonly opsAddress: ListenAddress
  /** Whether this worker brings the schema up to date: the first process of an instance. */
  readonly migrates: boolean
  readonly address?: ListenAddress
  readonly replaces?: string
}

/** A message to the other workers. */
export interface Relayed {
  readonly kind: 'relay'
  readonly topic: string
  readonly body: unknown
  /** The number of messages that this worker dropped before this one. */
  readonly dropped?: number
}

export type ToWorker =
  | { readonly kind: 'begin'; readonly seat: WorkerSeat }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'stop'; readonly drains: boolean }
  | Relayed

export type FromWorker =
  | { readonly kind: 'awake' }
  | { readonly kind: 'started'; readonly facts: WorkerFacts }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
  | { readonly kind: 'answer'; readonly id: number; readonly value: Answers[Question] }
  | Relayed

/** A worker's end of the channel to the process that started it. */
interface Channel {
  send?(message: FromWorker, done: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
}

/** At most this many messages wait for a process that reads slowly. Further ones are dropped. */
const mostWaiting = 1_000

/** Returns a function that sends unless too many messages wait. It returns false for a message that is dropped. */
export const boundedSend = <M>(
  send: (message: M, done: () => void) => void,
  most = mostWaiting,
): ((message: M) => boolean) => {
  let waiting = 0
  return (message) => {
    if (waiting >= most) return false
    waiting += 1
    send(message, () => void (waiting -= 1))
    return true
  }
}

/** Returns the part of `total` that the process with an index has. The parts add up to the total. @internal */
export const shareOf =
  ({ index, count }: Pick<WorkerSeat, 'index' | 'count'>) =>
  (total: number): number =>
    Math.floor(total / count) + (index < total % count ? 1 : 0)

type StopListener = () => void

/** A worker's link to the process that started it. */
export interface WorkerLink {
  readonly place: WorkerPlace
  readonly migrates: boolean
  /** A stop with a time to drain is SIGTERM, another one SIGINT. Signals of the system are for the first process. */
  readonly signals: { on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: StopListener): unknown }
  /** Tells that this worker serves. Resolves when the message has been sent. */
  started(facts: WorkerFacts): Promise<void>
  /** Tells why this worker does not start. */
  refused(problems: readonly string[]): Promise<void>
}

/** Waits for the seat of this worker, and keeps the link to the process that started it. */
export const openWorkerLink = async (channel: Channel): Promise<WorkerLink> => {
  const send = (message: FromWorker): Promise<void> =>
    new Promise((resolve) => {
      if (channel.send === undefined) resolve()
      else channel.send(message, () => resolve())
    })
  const relay = boundedSend<Relayed>((message, done) => void send(message).then(done))
  let dropped = 0
  const tell = (name: string, body: unknown): void => {
    if (relay({ kind: 'relay', topic: name, body, dropped })) dropped = 0
    else dropped += 1
  }
  const topics = new Map<string, (body: unknown) => void>()
  const stopListeners = new Map<string, StopListener>()
  let stopAsked: string | undefined
  let answers: { readonly [Q in Question]: () => Promise<Answers[Q]> } | undefined
  const reply = async (id: number, question: Question): Promise<void> => {
    if (answers !== undefined) await send({ kind: 'answer', id, value: await answers[question]() })
  }
  const seat = await new Promise<WorkerSeat>((resolve) => {
    channel.on('message', (received) => {
      const message = received as ToWorker
      if (message.kind === 'begin') resolve(message.seat)
      else if (message.kind === 'relay') topics.get(message.topic)?.(message.body)
      else if (message.kind === 'stop') {
        stopAsked = message.drains ? 'SIGTERM' : 'SIGINT'
        stopListeners.get(stopAsked)?.()
      }
      // Who asks does not wait forever.
      else reply(message.id, message.question).catch(() => undefined)
    })
    void send({ kind: 'awake' })
  })
  const topic = <M>(name: string): Topic<M> => ({
    send: (body) => tell(name, body),
    onMessage: (listener) => void topics.set(name, listener as (body: unknown) => void),
  })
  const processes: Processes = { count: seat.count, share: shareOf(seat), topic }
  return {
    place: {
      processes,
      address: seat.address,
      replaces: seat.replaces,
      makeOpsServer: ({ checks, metrics }) => ({
        listen: async () => {
          answers = {
            alive: async () => true as const,
            readiness: () => runChecks(checks),
            metrics: () => metrics.snapshot(),
          }
          return seat.opsAddress
        },
        close: async () => void (answers = undefined),
      }),
    },
    migrates: seat.migrates,
    signals: {
      on: (signal, listener) => {
        stopListeners.set(signal, listener)
        if (stopAsked === signal) listener()
      },
    },
    started: (facts) => send({ kind: 'started', facts }),
    refused: (problems) => send({ kind: 'refused', problems }),
  }
}
