import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { BoundRoute, Route } from '../../plugins/kit/route.ts'
import { answerError } from './answer-error.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import type { AnyRouteInput, CheckedRequest } from './check-request.ts'
import { makeCheckRequest } from './check-request.ts'
import type { Refusal } from './failure-response.ts'
import { refusalOf } from './failure-response.ts'
import type { KeyedRequest } from './idempotency.ts'
import { makeIdempotency } from './idempotency.ts'
import { makeReply } from './reply-answer.ts'
import { recordRefusal } from './record-refusal.ts'
import type { RequestContext } from './request-context.ts'
import { callOf, clientSignal, contextOf } from './request-context.ts'
import type { Answer } from './write-answer.ts'
import { orNotModified, refusalAnswer, writeAnswer, writeRefusal } from './write-answer.ts'

/** Binds one declared route: what the request is checked for, the handler, and the answer or the refusal. */
export const bindRoute = (deps: BinderDeps, bound: BoundRoute): NodeHandler => {
  const { route } = bound
  const checkRequest = makeCheckRequest(deps, route)
  const handle = makeHandle(deps, bound)
  return async (req, res) => {
    const context = contextOf(req)
    context.routeId = route.id
    context.operationId = route.id
    context.routePath = route.path
    const signal = clientSignal(res)
    try {
      const checked = await checkRequest(req, context)
      const result = isLeft(checked) ? checked : await handle(req, context, signal, checked.right)
      if (isLeft(result)) {
        recordRefusal(deps, callOf(context, signal), route.access, result.left)
        writeRefusal(req, res, context, result.left, dialectOf(route), deps.docsUrl)
      } else writeAnswer(req, res, context, orNotModified(req, result.right))
    } catch (error) {
      // Work that stopped because its client left: nobody is there to be answered, and nothing went wrong.
      if (signal.aborted && error === signal.reason) context.code = 'ClientGone'
      else answerError(deps, req, res, context, error, dialectOf(route))
    }
  }
}

const dialectOf = (route: Route) => route.dialect ?? 'platform'

/** Runs the handler, at most once for an idempotency key, and keeps what it answered for replays. */
const makeHandle = (deps: BinderDeps, { route, handler }: BoundRoute) => {
  const idempotency = makeIdempotency(deps.idempotency, deps.secretBox)
  const reply = makeReply(route, deps)
  const isIdempotent = route.method !== 'GET' && route.ok.kind !== 'cookies'

  const run = async (context: RequestContext, signal: AbortSignal, input: CheckedRequest['input']): Promise<Either<Refusal, Answer>> => {
    const call = callOf(context, signal) as AnyRouteInput['call']
    const outcome = await handler({ ...input, call })
    return isLeft(outcome) ? left(refusalOf(outcome.left, route)) : right(reply(outcome.right, context, input.page))
  }

  /** A throw means that nothing was acknowledged: the key may be used again, unless the change itself was committed. */
  const runKeyed = async (keyed: KeyedRequest, ...rest: Parameters<typeof run>): ReturnType<typeof run> => {
    try {
      return await run(...rest)
    } catch (error) {
      await idempotency.abandon(keyed)
      throw error
    }
  }

  return async (
    req: IncomingMessage,
    context: RequestContext,
    signal: AbortSignal,
    { input, bodyText, rateHeaders }: CheckedRequest,
  ): Promise<Either<Refusal, Answer>> => {
    const keyed = isIdempotent ? await idempotency.begin(req, context, bodyText) : right({ kind: 'none' as const })
    if (isLeft(keyed)) return keyed
    if (keyed.right.kind === 'replay') return right(keyed.right.answer)
    const result = await runKeyed(keyed.right, context, signal, input)
    const kept = isLeft(result) ? refusalAnswer(result.left, dialectOf(route), deps.docsUrl, context) : result.right
    await idempotency.finish(keyed.right, kept)
    if (isLeft(result)) return result
    return right({ ...result.right, headers: { ...rateHeaders, ...callerHeaders(context), ...result.right.headers } })
  }
}

/** Headers that tell a caller about the credential that was used. */
const callerHeaders = ({ principal }: RequestContext): Record<string, string> => ({
  ...(principal?.tokenExpiresAt === undefined ? {} : { 'X-Token-Expiration': principal.tokenExpiresAt.toISOString() }),
  ...(principal?.impersonator === undefined ? {} : { 'X-Sudo-By': principal.impersonator.login }),
})
