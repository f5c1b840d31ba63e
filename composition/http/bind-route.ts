import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { Unavailable } from '../../core/kernel/unavailable.ts'
import type { Access } from '../../plugins/kit/access.ts'
import type { BoundRoute, Route, RouteInput } from '../../plugins/kit/route.ts'
import { makeAuthenticate } from './authenticate.ts'
import { authorize } from './authorize.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import { readBody } from './body-reader.ts'
import type { IfMatch } from './conditional.ts'
import { parseIfMatch } from './conditional.ts'
import { decodeWith } from './decode.ts'
import type { Dialect, Refusal } from './failure-response.ts'
import { refusal, refusalOf } from './failure-response.ts'
import type { KeyedRequest } from './idempotency.ts'
import { makeIdempotency } from './idempotency.ts'
import { parseJson } from './json-text.ts'
import { pageRequest } from './paging.ts'
import { parseQuery, propsOf } from './query-string.ts'
import { makeReply } from './reply-answer.ts'
import type { RequestContext } from './request-context.ts'
import { clientSignal, contextOf } from './request-context.ts'
import type { Answer } from './write-answer.ts'
import { refusalAnswer, writeAnswer } from './write-answer.ts'

const defaultBodyLimit = 1_048_576

type Step<A> = Either<Refusal, A>

const badPath = (route: Route, errors: readonly string[]): Refusal =>
  route.badPathAs === 400
    ? refusal(400, 'InvalidPath', `The path is not valid: ${errors.join('; ')}.`, { errors })
    : refusal(404, 'NotFound', 'There is nothing at this path.')

const decodeParams = (route: Route, raw: Readonly<Record<string, string>>): Step<unknown> => {
  if (route.params === undefined) return right({})
  const decoded = decodeWith(route.params, raw)
  return decoded.ok ? right(decoded.value) : left(badPath(route, decoded.errors))
}

const decodeQuery = (route: Route, params: URLSearchParams): Step<unknown> => {
  const parsed = parseQuery(params, route.query)
  if (!parsed.ok) return left(refusal(400, 'InvalidQuery', parsed.message))
  if (route.query === undefined) return right({})
  const decoded = decodeWith(route.query, parsed.value)
  if (decoded.ok) return right(decoded.value)
  return left(refusal(400, 'InvalidQuery', `The query is not valid: ${decoded.errors.join('; ')}.`, { errors: decoded.errors }))
}

/** A GET's body keys that stand in the query string instead; they win. */
const withQueryKeys = (value: unknown, route: Route, params: URLSearchParams): unknown => {
  if (route.body?.orQuery !== true) return value
  const fromQuery = Object.keys(propsOf(route.body.codec))
    .filter((key) => params.has(key))
    .map((key) => [key, params.get(key)] as const)
  if (fromQuery.length === 0) return value
  return { ...(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}), ...Object.fromEntries(fromQuery) }
}

const decodeBody = (route: Route, text: string | undefined, params: URLSearchParams): Step<unknown> => {
  const spec = route.body
  if (spec === undefined) return right(undefined)
  const parsed = text === undefined ? { ok: true as const, value: spec.whenAbsent } : parseJson(text)
  if (!parsed.ok) {
    const message = parsed.why === 'depth' ? 'The body nests deeper than 64 levels.' : 'The body is not valid JSON.'
    return left(refusal(400, 'MalformedBody', message))
  }
  const decoded = decodeWith(spec.codec, withQueryKeys(parsed.value, route, params))
  if (decoded.ok) return right(decoded.value)
  const absent = text === undefined && spec.whenAbsent === undefined ? 'The request needs a JSON body' : 'The body is not valid'
  return left(refusal(spec.refusedAs ?? 422, 'InvalidBody', `${absent}: ${decoded.errors.join('; ')}.`, { errors: decoded.errors }))
}

const ifMatchRefusal = (route: Route, ifMatch: IfMatch): Refusal | undefined => {
  if (route.method === 'GET' || ifMatch.kind === 'absent' || ifMatch.kind === 'any') return undefined
  if (ifMatch.kind === 'version' && (route.honoursIfMatch === true || route.ok.kind === 'versioned')) return undefined
  return refusal(412, 'StaleVersion', 'The object is not of the version that If-Match names; read it again.')
}

export const rateRefusal = (deps: Pick<BinderDeps, 'rateLimit'>, context: RequestContext): { headers: Record<string, string>; refused: Refusal | undefined } => {
  const key = context.principal === undefined ? `ip:${context.sourceIp}` : `user:${context.principal.userId}`
  const decision = deps.rateLimit?.(key)
  if (decision === undefined) return { headers: {}, refused: undefined }
  const { limit, remaining, resetSeconds } = decision
  const headers = { 'RateLimit-Limit': String(limit), 'RateLimit-Remaining': String(remaining), 'RateLimit-Reset': String(resetSeconds) }
  if (decision.allowed) return { headers, refused: undefined }
  const aliases = Object.fromEntries(Object.entries(headers).map(([name, value]) => [`X-${name}`, value]))
  return {
    headers,
    refused: refusal(429, 'RateLimited', 'Too many requests; wait and try again.', {
      headers: { ...headers, ...aliases, 'Retry-After': String(resetSeconds) },
    }),
  }
}

/** Headers that tell a caller about the credential that was used. */
const callerHeaders = (context: RequestContext): Record<string, string> => {
  const principal = context.principal
  return {
    ...(principal?.tokenExpiresAt === undefined ? {} : { 'X-Token-Expiration': principal.tokenExpiresAt.toISOString() }),
    ...(principal?.impersonator === undefined ? {} : { 'X-Sudo-By': principal.impersonator.login }),
  }
}

const recordDenial = (deps: BinderDeps, call: Call, route: Route, refused: Refusal): void => {
  if (refused.status !== 403 && refused.status !== 401) return
  if (refused.status === 401 && refused.message.startsWith('Sign in')) return
  const objectType = route.access.kind === 'granted' ? route.access.object.type : ''
  // Not awaited: the answer does not depend on it, and the port never throws.
  void deps.denials.recordDenial(call, { code: refused.code, objectType })
}

/** Binds one declared route: gate, authenticate, decode path and query, authorize, decode body, handle, encode. */
export const bindRoute = (deps: BinderDeps, bound: BoundRoute): NodeHandler => {
  const { route, handler } = bound
  const authenticate = makeAuthenticate(deps)
  const idempotency = makeIdempotency(deps.idempotency, deps.secretBox)
  const reply = makeReply(route, deps)
  const authenticated = { access: route.access, scope: route.scope, refusesSudo: route.refusesSudo === true, loads: route.loads }
  const dialect = route.dialect ?? 'platform'
  const isIdempotent = route.method !== 'GET' && route.ok.kind !== 'cookies'

  const callOf = (context: RequestContext, signal: AbortSignal): Call => ({
    principal: context.principal,
    requestId: context.requestId,
    sourceIp: context.sourceIp,
    userAgent: context.userAgent,
    operation: route.id,
    signal,
    ...(context.idempotencyRecordId === undefined ? {} : { idempotencyRecordId: context.idempotencyRecordId }),
  })

  const grantFor = async (context: RequestContext, raw: Record<string, string>): Promise<Step<AccessGrant | undefined>> =>
    route.access.kind !== 'granted' || context.principal === undefined
      ? right(undefined)
      : authorize(deps.authorizer, context.principal, route.access, { path: raw, query: context.params })

  const run = async (context: RequestContext, signal: AbortSignal, input: Omit<RouteInput<unknown, unknown, unknown, Access>, 'call'>): Promise<Step<Answer>> => {
    const call = callOf(context, signal) as RouteInput<unknown, unknown, unknown, Access>['call']
    const outcome = await handler({ ...input, call })
    if (isLeft(outcome)) return left(refusalOf(outcome.left, route))
    return right(reply(outcome.right, context, input.page))
  }

  /** A throw means that nothing was acknowledged: the key may be used again, unless the change itself was committed. */
  const runKeyed = async (keyed: KeyedRequest, ...rest: Parameters<typeof run>): Promise<Step<Answer>> => {
    try {
      return await run(...rest)
    } catch (error) {
      await idempotency.abandon(keyed)
      throw error
    }
  }

  const answer = async (req: IncomingMessage, context: RequestContext, raw: Record<string, string>, signal: AbortSignal): Promise<Step<Answer>> => {
    const proven = await authenticate(req, context, authenticated)
    if (isLeft(proven)) return proven
    const rate = rateRefusal(deps, context)
    if (rate.refused !== undefined) return left(rate.refused)
    const params = decodeParams(route, raw)
    if (isLeft(params)) return params
    const query = decodeQuery(route, context.params)
    if (isLeft(query)) return query
    const grant = await grantFor(context, raw)
    if (isLeft(grant)) return grant
    const ifMatch = parseIfMatch(req.headers['if-match'])
    const stale = ifMatchRefusal(route, ifMatch)
    if (stale !== undefined) return left(stale)
    const body = await readBody(req, route.body === undefined ? defaultBodyLimit : (route.body.limitBytes ?? defaultBodyLimit))
    if (!body.ok) return left(refusal(body.refusal.status, body.refusal.code, body.refusal.message))
    context.bytesIn = body.text?.length ?? 0
    const decoded = decodeBody(route, body.text, context.params)
    if (isLeft(decoded)) return decoded
    const keyed = isIdempotent ? await idempotency.begin(req, context, body.text) : right({ kind: 'none' as const })
    if (isLeft(keyed)) return keyed
    if (keyed.right.kind === 'replay') return right(keyed.right.answer)
    const result = await runKeyed(keyed.right, context, signal, {
      params: params.right,
      query: query.right,
      body: decoded.right,
      grant: grant.right as never,
      page: pageRequest(context.params),
      expectedVersion: ifMatch.kind === 'version' ? ifMatch.version : undefined,
    })
    const kept = isLeft(result) ? refusalAnswer(result.left, dialect, deps.docsUrl, context.requestId) : result.right
    await idempotency.finish(keyed.right, kept)
    if (isLeft(result)) return result
    return right({ ...result.right, headers: { ...rate.headers, ...callerHeaders(context), ...result.right.headers } })
  }

  return async (req, res) => {
    const context = contextOf(req)
    context.routeId = route.id
    context.routePath = route.path
    const signal = clientSignal(res)
    try {
      const result = await answer(req, context, (req as IncomingMessage & { params: Record<string, string> }).params, signal)
      if (isLeft(result)) {
        context.code = result.left.code
        recordDenial(deps, callOf(context, signal), route, result.left)
        writeAnswer(req, res, context, refusalAnswer(result.left, dialect, deps.docsUrl, context.requestId))
      } else writeAnswer(req, res, context, notModified(req, result.right))
    } catch (error) {
      answerError(deps, req, res, context, error, dialect)
    }
  }
}

const notModified = (req: IncomingMessage, answer: Answer): Answer => answer.notModifiedFor?.(req.headers['if-none-match']) ?? answer

/** Everything that was not expected: one 500 (or 503 where a store is away); its text goes to the log, never to the wire. */
export const answerError = (
  deps: Pick<BinderDeps, 'log' | 'docsUrl'>,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  error: unknown,
  dialect: Dialect,
): void => {
  const away = error instanceof Unavailable
  const cause = away && error.cause instanceof Error ? { cause: error.cause.message } : {}
  const shown = error instanceof Error ? { name: error.name, message: error.message, stack: error.stack, ...cause } : { name: 'thrown', message: typeof error }
  deps.log.error({ requestId: context.requestId, operation: context.routeId, error: shown }, away ? 'a component is away' : 'request failed')
  const refused = away
    ? refusal(503, 'Unavailable', error.message, { headers: { 'Retry-After': String(error.retryAfterSeconds) } })
    : refusal(500, 'InternalError', 'Something went wrong on our side. The request id finds it in the log.')
  context.code = refused.code
  if (res.headersSent) res.destroy()
  else writeAnswer(req, res, context, refusalAnswer(refused, dialect, deps.docsUrl, context.requestId))
}
