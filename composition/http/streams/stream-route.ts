import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { Exchange } from '../../../core/kernel/exchange.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { BoundStreamRoute, StreamRoute } from '../../../plugins/kit/route.ts'
import { streamOperationId } from '../../../plugins/kit/route.ts'
import type { Refusal } from '../failure-response.ts'
import { noSuchPath, refusalOf } from '../failure-response.ts'
import type { Pieces } from '../answer/write-answer.ts'
import { answerError, makePieces, recordRefusal, writeRefusal } from '../answer/write-answer.ts'
import type { BinderDeps, NodeHandler } from '../binder-deps.ts'
import type { NoteEndless } from '../connections.ts'
import { makeAuthenticate } from '../request/authenticate.ts'
import { authorize } from '../request/check-request.ts'
import { foreignHeaders } from '../request/credentials.ts'
import { announcesBody } from '../request/body.ts'
import { platformParameters } from '../request/decode.ts'
import { spendRate, spendRefused } from '../request/rate-limit.ts'
import type { RequestContext } from '../request/request-context.ts'
import { callOf, clientSignal, contextOf, noteRoute, pathValuesOf } from '../request/request-context.ts'

/**
 * A watch or a tunnel outlives the decision that admitted it. It is cut at most this long after a right or a credential
 * is revoked.
 */
const recheckMs = 30_000
/** Refusals that mean that the caller is no longer allowed. A rate limit or a busy store does not mean that. */
const final: readonly number[] = [401, 403, 404]

/**
 * Checks repeatedly, while the stream is open, whether it is still allowed. Returns a function that ends the checks.
 */
export const whileAdmitted = (
  admit: () => Promise<Either<Refusal, unknown>>,
  cut: () => void,
  everyMs = recheckMs,
): (() => void) => {
  const ask = async (): Promise<void> => {
    const again = await admit()
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
    query: below.ownsQuery ? query : forwardedQuery(query),
    headers: below.ownsQuery ? foreignHeaders(req, context, sessions.sessionCookie) : req.headers,
  }
}

/**
 * Returns the function that authenticates and authorizes a streamed request or an upgrade before any byte of it is
 * read.
 */
export const makeAdmit = (deps: BinderDeps, route: StreamRoute) => {
  const { authenticate, spendCode } = makeAuthenticate(deps)
  return async (
    req: IncomingMessage,
    context: RequestContext,
    params: Readonly<Record<string, string>>,
    signal: AbortSignal,
    level: 'read' | 'write',
  ): Promise<Either<Refusal, Admission>> => {
    const scope = { category: route.scopeCategory, level }
    const proven = await authenticate(req, context, {
      access: route.access,
      scope,
      refusesSudo: false,
      servesClusterTokens: route.servesClusterTokens === true,
    })
    if (isLeft(proven)) {
      const refused = spendRefused(deps.rateLimit, context, proven.left)
      recordRefusal(deps, callOf(context, signal), route.access, refused)
      return left(refused)
    }
    const rate = spendRate(deps.rateLimit, context)
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

/** Returns the exchange of the core for a request and response of Node. */
const exchangeOf = (
  deps: BinderDeps,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  noteEndless: NoteEndless,
  pieces: Pieces,
): Exchange => ({
  ...receivedBy(deps, req, context),
  body: announcesBody(req) ? req : undefined,
  respond(status, headers) {
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
    for (const [name, value] of headers) flat.push(name, value)
    context.status = status
    context.isUpstream = status >= 400
    res.writeHead(status, flat)
  },
  write(chunk) {
    context.bytesOut += chunk.length
    return pieces.write(chunk)
  },
  onDrain: pieces.onDrain,
  end: pieces.end,
  onStop(listener) {
    noteEndless(res, listener)
  },
  abort() {
    res.destroy()
  },
  get hasResponded() {
    return res.headersSent
  },
})

const finished = (res: ServerResponse): Promise<void> =>
  res.writableFinished || res.destroyed ? Promise.resolve() : new Promise((resolve) => res.once('close', resolve))

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
      const signal = clientSignal(res)
      const ask = () => admit(req, context, params, signal, scopeLevelOf(context.method))
      const admitted = await ask()
      if (isLeft(admitted)) return writeRefusal(req, res, context, admitted.left, 'kubernetes', deps.docsUrl)
      const exchange = exchangeOf(deps, req, res, context, noteEndless, makePieces(res))
      res.once(
        'close',
        whileAdmitted(ask, () => res.destroy()),
      )
      const outcome = await bound.handler({ params, exchange, ...admitted.right })
      if (isLeft(outcome)) return writeRefusal(req, res, context, refusalOf(outcome.left), 'kubernetes', deps.docsUrl)
      // What surrounds the request (its trace, its budget) lasts until its connection is complete.
      await finished(res)
    } catch (error) {
      answerError(deps, req, res, context, error, 'kubernetes')
    }
  }
}
