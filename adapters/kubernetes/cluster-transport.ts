import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Dispatcher, Pool } from 'undici'
import type { ClusterAnswer, ClusterTransport, ReachFailure, UpstreamRequest } from '../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { Exchange } from '../../core/kernel/exchange.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import { PassedMemory } from '../outbound/passed-memory.ts'
import type { AskHub, ClusterAddress, ClusterPools, ConnectionPools } from './connections.ts'
import {
  authorization,
  sentThrough,
  isDoubtful,
  judgeAnswer,
  judgeForeign,
  namingHub,
  ShortPlace,
  recordChanged,
} from './connections.ts'
import { clusterNotReached, maySendAgain, toReachFailure } from './reach-failures.ts'
import type { ClusterReads } from './cluster-api.ts'
import { askCluster, jsonOf, leavesPrefix, report, reported, separateReads } from './cluster-api.ts'
import { tunnel } from './tunnel.ts'

/** In bytes. A larger body is sent without an entity tag. */
const entityTagLimit = 1024 * 1024

const newline = 0x0a

/** In bytes. A longer body is no answer of a hub or its gateway about the way to a cluster. */
const judgedLimit = 64 * 1024

/**
 * Interim responses (1xx) that a cluster may send before its answer, as many as Go's HTTP client takes. Each starts
 * the time for the headers again, so without a limit a cluster could hold a connection for ever.
 */
const mostInterimResponses = 5

/** Tells the cluster's own answers from those of what is before it, a hub, or behind it, a service. */
interface AnswerJudge {
  /** Reports whether an answer with this status must be read before it is passed on. */
  doubts(status: number): boolean
  /** Returns the failure that an answer means; undefined if the client receives the answer. */
  judge(answer: ClusterAnswer): Promise<ReachFailure | undefined>
  /** Returns the failure of a connection. */
  failureOf(error: unknown): ReachFailure
}

/** Ends a dispatch whose client has disconnected. */
class ClientLeft extends Error {}

/**
 * Relays an answer from undici to an exchange, chunk by chunk, with backpressure from the client. `settle` or
 * `fail` is called once; `settle` with a failure only if nothing has been answered.
 */
class RelayHandler implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined
  #held: Buffer[] | undefined
  readonly #memory = new PassedMemory()
  #heldBytes = 0
  #interimResponses = 0
  #status = 0
  /** The status that the client has received; 0 before. */
  #answered = 0
  #headers: readonly (readonly [string, string])[] = []
  #isSettled = false
  /** Whether the bytes written so far end with a complete event. */
  #isBetweenEvents = true
  #isStopping = false
  #isJudged = false
  readonly #exchange: Exchange
  readonly #upstream: UpstreamRequest
  readonly #signal: AbortSignal
  readonly #settle: (outcome: Either<ReachFailure, number>) => void
  readonly #fail: (error: unknown) => void
  /** Sends the request once more. */
  #sendAgain: (() => void) | undefined
  readonly #judge: AnswerJudge | undefined

  constructor(
    exchange: Exchange,
    upstream: UpstreamRequest,
    signal: AbortSignal,
    settle: (outcome: Either<ReachFailure, number>) => void,
    fail: (error: unknown) => void,
    judge?: AnswerJudge,
  ) {
    this.#judge = judge
    this.#fail = fail
    this.#exchange = exchange
    this.#upstream = upstream
    this.#signal = signal
    this.#settle = settle
    signal.addEventListener('abort', this.#leave)
  }

  /**
   * Sends the request, and once more if the cluster closes the connection without an answer and it may be sent twice.
   */
  send(dispatch: () => void): void {
    this.#sendAgain = dispatch
    dispatch()
  }

  readonly #leave = (): void => {
    // First, since undici reports the abort as a failure of the connection.
    this.#finish(undefined)
    this.#controller?.abort(new ClientLeft())
  }

  #finish(failure: ReachFailure | undefined): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#signal.removeEventListener('abort', this.#leave)
    this.#settle(failure === undefined ? right(this.#answered) : left(failure))
  }

  /** Ends with what dispatching or a judge throws, such as Busy. */
  break(error: unknown): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#signal.removeEventListener('abort', this.#leave)
    this.#fail(error)
  }

  #respond(status: number, headers: readonly (readonly [string, string])[]): void {
    this.#answered = status
    this.#exchange.respond(status, headers)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) this.#leave()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (this.#isSettled) return
    if (status < 200) {
      this.#interimResponses += 1
      if (this.#interimResponses <= mostInterimResponses) return
      this.#finish(clusterNotReached(`more than ${mostInterimResponses} interim responses`))
      controller.abort(new ClientLeft())
      return
    }
    const coding = headers['transfer-encoding']
    if (coding !== undefined && String(coding).toLowerCase() !== 'chunked') {
      // What is left when undici has removed `chunked` would be sent without a name.
      this.#finish(clusterNotReached('a transfer coding that was not asked for'))
      controller.abort(new ClientLeft())
      return
    }
    this.#isJudged = this.#judge?.doubts(status) === true
    if (status === 401 && !this.#isJudged) {
      this.#finish(CredentialRefused('The cluster refused the stored credential.'))
      controller.abort(new ClientLeft())
      return
    }
    this.#status = status === 201 && this.#upstream.createdAsOk ? 200 : status
    this.#headers = this.#upstream.answerHeaders(headers)
    if (status === 204 || status === 304) return this.#endWithoutBody()
    const isTagged = status === 200 && this.#upstream.entityTag !== undefined && headers.etag === undefined
    if (isTagged || this.#isJudged) this.#held = []
    else this.#respond(this.#status, this.#headers)
    // A watch may be silent for minutes, so its client must see the status at once.
    if (this.#upstream.isLongLived && !this.#isJudged) {
      this.#exchange.write(new Uint8Array(0))
      this.#exchange.onStop(() => this.#stop(controller, headers))
    }
  }

  /** Its length is that of an answer with a body, which undici takes for one that is missing. */
  #endWithoutBody(): void {
    this.#respond(
      this.#status,
      this.#headers.filter(([name]) => name !== 'content-length'),
    )
    this.#exchange.end()
    this.#finish(undefined)
  }

  /** Each JSON event is one line. An answer that is not a watch would look complete if it ended normally. */
  #stop(
    controller: Dispatcher.DispatchController,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#isStopping = this.#upstream.isWatch === true && String(headers['content-type']).startsWith('application/json')
    if (this.#isStopping && this.#isBetweenEvents) this.#endWatch(controller)
  }

  #endWatch(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled) return
    this.#exchange.end()
    this.#finish(undefined)
    controller.abort(new ClientLeft())
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return
    if (this.#held !== undefined) {
      this.#held.push(chunk)
      this.#heldBytes += chunk.byteLength
      if (this.#heldBytes <= (this.#isJudged ? judgedLimit : entityTagLimit)) return
      this.#isJudged = false
      this.#release(this.#headers, controller)
      return
    }
    const lineEnd = this.#isStopping ? chunk.indexOf(newline) : -1
    this.#write(lineEnd < 0 ? chunk : chunk.subarray(0, lineEnd + 1), controller)
    this.#isBetweenEvents = chunk.at(-1) === newline
    if (lineEnd >= 0) this.#endWatch(controller)
  }

  #write(chunk: Uint8Array, controller: Dispatcher.DispatchController): void {
    this.#memory.add(chunk)
    if (this.#exchange.hasSentAll?.() === true) this.#memory.free()
    if (this.#exchange.write(chunk) || controller.paused) return
    controller.pause()
    this.#exchange.onDrain(() => controller.resume())
  }

  #release(headers: readonly (readonly [string, string])[], controller: Dispatcher.DispatchController): void {
    const held = Buffer.concat(this.#held ?? [])
    this.#held = undefined
    this.#respond(this.#status, headers)
    this.#write(held, controller)
  }

  #releaseTagged(held: readonly Buffer[], controller: Dispatcher.DispatchController): void {
    const hash = createHash('sha256')
    for (const chunk of held) hash.update(chunk)
    const tag = `"${hash.digest('base64url')}"`
    const known = this.#upstream.entityTag?.ifNoneMatch
    const matches =
      known !== undefined &&
      (known.trim() === '*' || known.split(',').some((each) => each.trim().replace(/^W\//, '') === tag))
    if (!matches) return this.#release([...this.#headers, ['etag', tag]], controller)
    this.#held = undefined
    this.#respond(304, [...this.#headers.filter(([name]) => !name.startsWith('content-')), ['etag', tag]])
  }

  async #releaseJudged(
    judge: AnswerJudge,
    held: readonly Buffer[],
    controller: Dispatcher.DispatchController,
  ): Promise<void> {
    const text = Buffer.concat(held).toString('utf8')
    const failure = await judge.judge({ status: this.#status, text, json: jsonOf(text) })
    if (this.#isSettled) return
    if (failure === undefined) {
      this.#release(this.#headers, controller)
      this.#exchange.end()
    }
    this.#finish(failure)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled) return
    if (this.#isJudged && this.#judge !== undefined && this.#held !== undefined) {
      this.#releaseJudged(this.#judge, this.#held, controller).catch((error: unknown) => this.break(error))
      return
    }
    if (this.#held !== undefined) this.#releaseTagged(this.#held, controller)
    this.#exchange.end()
    this.#finish(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isSettled) return
    const sendAgain = this.#sendAgain
    this.#sendAgain = undefined
    const isUnanswered = this.#status === 0 && this.#exchange.body === undefined
    if (isUnanswered && sendAgain !== undefined && maySendAgain(this.#upstream.method, error)) return sendAgain()
    if (this.#exchange.hasResponded) {
      // Part of the answer was sent. A normal end would make it look complete.
      this.#exchange.abort()
      this.#finish(undefined)
    } else this.#finish(this.#judge?.failureOf(error) ?? toReachFailure(error))
  }
}

/**
 * For the whole head of the answer, and between two chunks of its body. Watches and streams have no limit: a kubelet
 * sends the head of a log with the first line.
 */
const shortTimeoutMilliseconds = 120_000

const hubTimeoutMilliseconds = 10_000

/** Returns the names and values in one list, as undici takes them. */
const flatHeaders = (headers: UpstreamRequest['headers'], credential: ClusterCredential): string[] => {
  const flat: string[] = []
  for (const [name, value] of headers) flat.push(name, value)
  for (const [name, value] of authorization(credential)) flat.push(name, value)
  return flat
}

const dispatchOptions = (
  { address }: ClusterPools,
  credential: ClusterCredential,
  upstream: UpstreamRequest,
  body: AsyncIterable<Uint8Array> | undefined,
): Dispatcher.DispatchOptions => {
  const timeout = upstream.isLongLived ? 0 : shortTimeoutMilliseconds
  return {
    method: upstream.method as Dispatcher.HttpMethod,
    path: address.prefix + upstream.target,
    headers: flatHeaders(upstream.headers, credential),
    // undici accepts any async iterable; its type declaration lists only Node's streams.
    body: (body ?? null) as Readable | null,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    // A kept connection that the cluster has just closed must not make a change twice.
    idempotent: upstream.method === 'GET' || upstream.method === 'HEAD',
    blocking: false,
  }
}

/** Returns why a request must not be sent: the address is not allowed, or the path leads out of the cluster. */
const refusalOf = ({ refusal }: ClusterAddress, { target }: UpstreamRequest): string | undefined =>
  refusal ?? (leavesPrefix(target) ? 'That is no path of a cluster.' : undefined)

/** Returns undefined if every answer but 401 is the cluster's own. */
const judgeOf = (
  { via }: ClusterConnection,
  { isForeign = false }: UpstreamRequest,
  askHub: AskHub,
): AnswerJudge | undefined => {
  if (via !== undefined) {
    return {
      doubts: isDoubtful,
      judge: (answer) => judgeAnswer(answer, via, askHub, isForeign),
      failureOf: (error) => namingHub(toReachFailure(error), via),
    }
  }
  if (!isForeign) return undefined
  return {
    doubts: (status) => status === 401,
    judge: (answer) => Promise.resolve(judgeForeign(answer)),
    failureOf: toReachFailure,
  }
}

export const makeUndiciClusterTransport = (
  pools: ConnectionPools,
  egress: EgressPolicy,
  reads: ClusterReads = separateReads(),
): ClusterTransport => ({
  relay(asker, upstream, exchange, signal) {
    // The pools may belong to a newer credential than the caller has. The caller's must not be sent to the address of
    // the pools.
    const opened = pools.of(asker)
    if (opened === undefined) return Promise.resolve(left(recordChanged))
    const { connection } = opened
    const refused = refusalOf(opened.address, upstream)
    if (refused !== undefined) return Promise.resolve(left(ClusterUnreachable(refused)))
    const credential = sentThrough(connection, asker)
    if (credential === undefined) return Promise.resolve(left(recordChanged))
    const { ownerId } = connection.link
    const place = upstream.isLongLived ? undefined : new ShortPlace(opened, reads.budgets.account(ownerId))
    let asked = opened.long
    const askHub: AskHub = (request) =>
      askCluster(asked, { credential, ownerId }, request, hubTimeoutMilliseconds, signal, reads)
    return new Promise((done, reject) => {
      const settle = (outcome: Either<ReachFailure, number>): void => {
        place?.leave()
        if (isLeft(outcome)) report(reads, { credential, ownerId }, outcome.left)
        done(outcome)
      }
      const fail = (error: unknown): void => {
        place?.leave()
        reject(error as Error)
      }
      const handler = new RelayHandler(exchange, upstream, signal, settle, fail, judgeOf(connection, upstream, askHub))
      const start = (pool: Pool): void => {
        asked = pool
        try {
          handler.send(() => pool.dispatch(dispatchOptions(opened, credential, upstream, exchange.body), handler))
        } catch (error) {
          handler.break(error)
        }
      }
      if (place === undefined) start(opened.long)
      else place.enter(start)
    })
  },

  tunnel(asker, upstream, exchange, signal) {
    const opened = pools.of(asker)
    if (opened === undefined) return Promise.resolve(left(recordChanged))
    const { long, tunnels, connection, address } = opened
    const { via } = connection
    const credential = sentThrough(connection, asker)
    if (credential === undefined) return Promise.resolve(left(recordChanged))
    const { ownerId } = connection.link
    const refused = refusalOf(address, upstream)
    if (refused !== undefined) return Promise.resolve(left(ClusterUnreachable(refused)))
    const askHub: AskHub = (request) =>
      askCluster(long, { credential, ownerId }, request, hubTimeoutMilliseconds, signal, reads)
    const tunnelled = tunnel(
      { credential, ...definedFields({ via }) },
      egress,
      askHub,
      address.prefix === '' ? upstream : { ...upstream, target: address.prefix + upstream.target },
      exchange,
      signal,
      (socket) => {
        tunnels.add(socket)
        socket.on('close', () => tunnels.delete(socket))
      },
    )
    return reported(reads, { credential, ownerId }, tunnelled)
  },

  forget: (id) => pools.forget(id),
})
