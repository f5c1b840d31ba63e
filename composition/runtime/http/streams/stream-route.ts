import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { forEveryone } from '../../../../adapters/outbound/account-limiter.ts'
import { PassedMemory } from '../../../../adapters/outbound/passed-memory.ts'
import type { AccessGrant } from '../../../../core/kernel/access.ts'
import type { Exchange, HeaderBag } from '../../../../core/kernel/exchange.ts'
import type { SignedInCall } from '../../../../core/kernel/principal.ts'
import type { BoundStreamRoute, StreamRoute } from '../../../../plugins/kit/route.ts'
import { streamOperationId } from '../../../../plugins/kit/route.ts'
import type { Refusal } from '../failure-response.ts'
import { noSuchPath, refusalOf } from '../failure-response.ts'
import type { Pieces } from '../answer/write-answer.ts'
import {
  answerError,
  discardRest,
  makePieces,
  pieceBytes,
  recordRefusal,
  writeRefusal,
} from '../answer/write-answer.ts'
import type { BinderDeps, NodeHandler } from '../binder-deps.ts'
import type { NoteEndless } from '../connections.ts'
import { makeAuthenticate } from '../request/authenticate.ts'
import { authorize } from '../request/check-request.ts'
import { foreignHeaders } from '../request/credentials.ts'
import { announcesBody } from '../request/body.ts'
import { platformParameters } from '../request/decode.ts'
import { spendRate, spendRefused } from '../request/rate-limit.ts'
import type { RequestContext } from '../request/request-context.ts'
import { callOf, contextOf, noteRoute, pathValuesOf } from '../request/request-context.ts'

/**
 * A watch or a tunnel outlives the decision that admitted it. It is cut at most this long after a right or a credential
 * is revoked.
 */
const recheckMs = 30_000
/** Refusals that mean that the caller is no longer allowed. A busy store does not mean that. */
const final: readonly number[] = [401, 403, 404]

/**
 * Checks repeatedly, while the stream is open, whether it is still allowed. Returns a function that ends the checks. A
 * check does not wait behind other requests of the caller: by those, a caller could keep a stream that is not allowed.
 */
export const whileAdmitted = (
  admit: () => Promise<Either<Refusal, unknown>>,
  cut: () => void,
  everyMs = recheckMs,
): (() => void) => {
  const ask = async (): Promise<void> => {
    const again = await forEveryone(admit)
    if (isLeft(again) && final.includes(again.left.status)) cut()
  }
  // A check that cannot be made now (the store is unavailable) is repeated at the next interval.
  const timer = setInterval(() => void ask().catch(() => undefined), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** The result of authorizing a request of a stream route. */
export interface Admission {
  readonly call: SignedInCall
  readonly grant: AccessGrant
}

const readingMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']
const stripped = new Set<string>(platformParameters.filter((name) => name !== 'page' && name !== 'limit'))

/** Returns the query as sent, without the platform's own parameters, byte for byte and in order. @internal */
export const forwardedQuery = (query: string): string =>
  query
    .split('&')
    .filter((pair) => {
      const name = new URLSearchParams(pair).keys().next()
      return name.done === true || !stripped.has(name.value)
    })
    .join('&')

/** Returns what an exchange tells its receiver of the request: the parts that are not for this service. */
export const receivedBy = (
  { sessions }: Pick<BinderDeps, 'sessions'>,
  req: IncomingMessage,
  context: RequestContext,
) => {
  const { path, query, below = { from: path.length, isChecked: false, ownsQuery: false } } = context
  const rest = path.slice(below.from)
  return {
    method: context.method,
    root: path.slice(0, below.from),
    path: rest === '' ? '/' : rest,
    query: below.ownsQuery || query === '' ? query : forwardedQuery(query),
    headers: below.ownsQuery ? foreignHeaders(req, context, sessions.sessionCookie) : req.headers,
  }
}

/**
 * Returns the function that authenticates and authorizes a streamed request or an upgrade before any byte of it is
 * read. With `isAgain` it is the check of an open stream, which takes nothing from the caller's rate.
 */
export const makeAdmit = (deps: BinderDeps, route: StreamRoute) => {
  const { authenticate, spendCode } = makeAuthenticate(deps)
  return async (
    req: IncomingMessage,
    context: RequestContext,
    params: Readonly<Record<string, string>>,
    signal: AbortSignal,
    level: 'read' | 'write',
    isAgain = false,
  ): Promise<Either<Refusal, Admission>> => {
    const rateLimit = isAgain ? undefined : deps.rateLimit
    const scope = { category: route.scopeCategory, level }
    const proven = await authenticate(req, context, {
      access: route.access,
      scope,
      refusesSudo: false,
      servesClusterTokens: route.servesClusterTokens === true,
    })
    if (isLeft(proven)) {
      const refused = spendRefused(rateLimit, context, proven.left)
      recordRefusal(deps, callOf(context, signal), route.access, refused)
      return left(refused)
    }
    const rate = spendRate(rateLimit, context)
    if (rate.refused !== undefined) return left(rate.refused)
    if (proven.right === undefined) throw new Error('a stream route must not be public')
    const decided = await authorize(deps.authorizer, proven.right, route.access, {
      path: params,
      query: context.params,
    })
    const unspent = isLeft(decided) ? undefined : await spendCode(req, context, route.access)
    const grant = unspent === undefined ? decided : left(unspent)
    const call: SignedInCall = { ...callOf(context, signal), principal: context.principal ?? proven.right }
    if (!isLeft(grant)) return right({ call, grant: grant.right })
    recordRefusal(deps, call, route.access, grant.left)
    return grant
  }
}

/** Returns the scope level that a token needs for a method. A read that upgrades (exec) counts as a write. */
const scopeLevelOf = (method: string): 'read' | 'write' => (readingMethods.includes(method) ? 'read' : 'write')

/** An answer of at most this length that arrives whole is written together with its headers. */
const wholeBytes = 65_536

/** A chunk of at most this length is sent together with those that follow at once. */
const smallBytes = 4096

/**
 * The exchange of the core for a request and response of Node. It is a class, since the engine gives each object that
 * is made with accessors, or as a prototype, a shape of its own: that took 5 us of each request.
 */
class NodeExchange implements Exchange {
  readonly method: string
  readonly root: string
  readonly path: string
  readonly query: string
  readonly headers: HeaderBag
  readonly body: AsyncIterableIterator<Uint8Array> | undefined
  readonly #res: ServerResponse
  readonly #context: RequestContext
  readonly #noteEndless: NoteEndless
  /** Made for an answer that does not arrive whole. */
  #pieces: Pieces | undefined
  /** The length of an answer of which nothing was written yet; 0 if it is not known. */
  #length = 0
  /** An answer without a length is sent in chunks. */
  #isChunked = true
  /** Small chunks of this turn of the event loop. They are sent as one. */
  #small: Uint8Array[] = []
  /** Made when several small chunks are sent as one. */
  #memory: PassedMemory | undefined
  #smallBytes = 0

  constructor(
    deps: BinderDeps,
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    noteEndless: NoteEndless,
  ) {
    const { method, root, path, query, headers } = receivedBy(deps, req, context)
    this.method = method
    this.root = root
    this.path = path
    this.query = query
    this.headers = headers
    // A receiver that reads no further must not destroy the request, and with it the connection of its answer.
    this.body = announcesBody(req) ? req.iterator({ destroyOnReturn: false }) : undefined
    this.#res = res
    this.#context = context
    this.#noteEndless = noteEndless
  }

  get hasResponded(): boolean {
    return this.#res.headersSent
  }

  respond(status: number, headers: readonly (readonly [string, string])[]): void {
    const [res, context] = [this.#res, this.#context]
    if (res.destroyed || res.headersSent) return
    const flat: string[] = [
      'X-Request-Id',
      context.requestId,
      'X-Content-Type-Options',
      'nosniff',
      'Cache-Control',
      'no-store',
    ]
    for (const cookie of context.setCookies) flat.push('Set-Cookie', cookie)
    for (const [name, value] of headers) {
      flat.push(name, value)
      if (name === 'content-length') {
        this.#length = Number(value)
        this.#isChunked = false
      }
    }
    context.status = status
    context.isUpstream = status >= 400
    res.writeHead(status, flat)
  }

  write(chunk: Uint8Array): boolean {
    this.#context.bytesOut += chunk.length
    const length = this.#length
    if (chunk.length > 0) this.#length = 0
    if (chunk.length === length && length > 0 && length <= wholeBytes && !this.#res.destroyed) {
      this.#res.end(chunk)
      return true
    }
    if (this.#isChunked && chunk.length > 0 && chunk.length <= smallBytes) return this.#gather(chunk)
    this.#sendSmall()
    return this.#written().write(chunk)
  }

  /** A chunk of a cluster is often one event. Each would take four pieces of a write, its length among them. */
  #gather(chunk: Uint8Array): boolean {
    if (this.#smallBytes === 0) process.nextTick(() => this.#sendSmall())
    this.#small.push(chunk)
    this.#smallBytes += chunk.length
    if (this.#smallBytes >= pieceBytes) return this.#sendSmall()
    return !this.#res.writableNeedDrain
  }

  /** Returns false when the client must first read some of the output. */
  #sendSmall(): boolean {
    const [small, bytes, pieces] = [this.#small, this.#smallBytes, this.#written()]
    if (bytes === 0) return true
    this.#small = []
    this.#smallBytes = 0
    const [first] = small
    if (small.length === 1 && first !== undefined) return pieces.write(first)
    const gathered = Buffer.concat(small, bytes)
    this.#memory ??= new PassedMemory()
    this.#memory.add(gathered)
    if (pieces.hasSentAll()) this.#memory.free()
    return pieces.write(gathered)
  }

  #written(): Pieces {
    return (this.#pieces ??= makePieces(this.#res))
  }

  onDrain(listener: () => void): void {
    this.#written().onDrain(listener)
  }

  hasSentAll(): boolean {
    return this.#smallBytes === 0 && this.#pieces?.hasSentAll() === true
  }

  end(): void {
    if (this.#res.writableEnded) return
    this.#sendSmall()
    this.#written().end()
  }

  /** Ends the reading of the request's body. */
  leaveBody(): void {
    void this.body?.return?.()
  }

  onStop(listener: () => void): void {
    this.#noteEndless(this.#res, listener)
  }

  abort(): void {
    this.#res.destroy()
  }
}

/** Binds a stream route. Everything except the bodies is handled as for any other route. */
export const bindStreamRoute = (deps: BinderDeps, bound: BoundStreamRoute, noteEndless: NoteEndless): NodeHandler => {
  const { route } = bound
  const admit = makeAdmit(deps, route)
  return async (req, res) => {
    const context = contextOf(req)
    noteRoute(context, route, streamOperationId(route, req.method ?? ''))
    const params = pathValuesOf(req)
    // The router also finds other spellings of the words of the path.
    if (context.below === undefined) return writeRefusal(req, res, context, noSuchPath, 'kubernetes', deps.docsUrl)
    try {
      const gone = new AbortController()
      let stopChecks: (() => void) | undefined
      // What surrounds the request (its trace, its budget) lasts until its connection is complete.
      const closed = new Promise<void>((resolve) => {
        const close = (): void => {
          stopChecks?.()
          if (!res.writableFinished) gone.abort()
          resolve()
        }
        if (res.closed) close()
        else res.on('close', close)
      })
      const ask = (isAgain: boolean) => admit(req, context, params, gone.signal, scopeLevelOf(context.method), isAgain)
      const admitted = await ask(false)
      if (isLeft(admitted)) return writeRefusal(req, res, context, admitted.left, 'kubernetes', deps.docsUrl)
      if (!res.closed)
        stopChecks = whileAdmitted(
          () => ask(true),
          () => res.destroy(),
          deps.recheckMilliseconds,
        )
      const exchange = new NodeExchange(deps, req, res, context, noteEndless)
      const outcome = await bound.handler({ params, exchange, ...admitted.right }).finally(() => exchange.leaveBody())
      if (isLeft(outcome)) return writeRefusal(req, res, context, refusalOf(outcome.left), 'kubernetes', deps.docsUrl)
      discardRest(req)
      await closed
    } catch (error) {
      answerError(deps, req, res, context, error, 'kubernetes')
    }
  }
}
