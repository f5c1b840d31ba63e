import type { IncomingMessage } from 'node:http'
import type { Either, Left } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { anyTurn } from '../../../core/kernel/clock.ts'
import type { KeyedChange } from '../../../core/kernel/idempotency.ts'
import { changesCookies } from '../../../plugins/kit/reply.ts'
import type { BoundRoute, Route } from '../../../plugins/kit/route.ts'
import type { Answer } from './answer/packed-answer.ts'
import {
  answerError,
  recordRefusal,
  orNotModified,
  refusalAnswer,
  writeInTurns,
  writePieces,
  writeRefusal,
} from './answer/write-answer.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import type { AnyRouteInput, CheckedRequest } from './request/check-request.ts'
import { makeCheckRequest, readRouteBody } from './request/check-request.ts'
import type { Refusal } from './failure-response.ts'
import { refusalOf } from './failure-response.ts'
import type { FreshRequest, Keeping } from './answer/idempotency.ts'
import { makeIdempotency } from './answer/idempotency.ts'
import { makeReply } from './answer/reply-answer.ts'
import type { RequestContext } from './request/request-context.ts'
import { callOf, clientSignal, contextOf, noteRoute } from './request/request-context.ts'

/** Binds one declared route: the checks of the request, the handler, and the answer or the refusal. */
export const bindRoute = (deps: BinderDeps, bound: BoundRoute): NodeHandler => {
  const { route } = bound
  const checkRequest = makeCheckRequest(deps, route, bound.admission)
  const handle = makeHandle(deps, bound)
  return async (req, res) => {
    const context = contextOf(req)
    noteRoute(context, route)
    const signal = clientSignal(res)
    context.clientSignal = signal
    try {
      const checked = await checkRequest(req, context)
      const result = isLeft(checked)
        ? await handle.refused(req, context, checked)
        : await handle.checked(req, context, signal, checked.right)
      if (isLeft(result)) {
        recordRefusal(deps, callOf(context, signal), route.access, result.left)
        writeRefusal(req, res, context, result.left, dialectOf(route), deps.docsUrl)
        return
      }
      const chosen = orNotModified(req, result.right)
      const encodings = req.headers['accept-encoding']
      const answer =
        chosen.packable === undefined || encodings === undefined ? chosen : await deps.packing.packed(chosen, encodings)
      if (answer.pieces === undefined) await writeInTurns(deps, req, res, context, answer)
      else await writePieces(deps, req, res, context, answer, answer.pieces)
    } catch (error) {
      // The client disconnected and the work stopped. There is no client to answer, and nothing failed.
      if (signal.aborted && error === signal.reason) context.code = 'ClientGone'
      else answerError(deps, req, res, context, error, dialectOf(route))
    }
  }
}

const dialectOf = (route: Route) => route.dialect ?? 'platform'

/** Refusals that the first request itself can cause: it removed or renamed its subject, or the caller's right. */
const perhapsCarriedOut: readonly number[] = [403, 404]

/** Runs the handler, at most once per idempotency key, and stores its answer for replays. */
const makeHandle = (deps: BinderDeps, { route, handler, reply: replyOf }: BoundRoute) => {
  const { readsCredentials } = deps
  const idempotency = makeIdempotency(deps.idempotency, deps.secretBox)
  const reply = makeReply(route, deps)
  const isIdempotent = route.method !== 'GET' && !changesCookies(route.ok) && readsCredentials !== false

  const answerOf = async (result: unknown, context: RequestContext, input: AnyRouteInput): Promise<Answer> => {
    // What was read on a thread or by the network arrives in a turn in which other requests of the account have run.
    const turn = deps.pauseInLongTurn(anyTurn)
    if (turn !== undefined) await turn
    return reply(await replyOf(result, input), context, input.page)
  }

  const run = async (
    context: RequestContext,
    input: AnyRouteInput,
    keeping?: Keeping,
  ): Promise<Either<Refusal, Answer>> => {
    const outcome = await handler(keeping === undefined ? input : withKey(input, keeping.keyed))
    if (isLeft(outcome)) return left(refusalOf(outcome.left, route))
    return right(keeping?.kept() ?? (await answerOf(outcome.right, context, input)))
  }

  /**
   * Runs a keyed request. A throw means that nothing was acknowledged: the key may be used again, unless the change was
   * committed.
   */
  const runKeyed = async (
    fresh: FreshRequest,
    context: RequestContext,
    input: AnyRouteInput,
  ): ReturnType<typeof run> => {
    const keeping = idempotency.keep(fresh, (result) => answerOf(result, context, input))
    try {
      const result = await run(context, input, keeping)
      const answer = isLeft(result) ? refusalAnswer(result.left, dialectOf(route), deps.docsUrl, context) : result.right
      await idempotency.finish(fresh, answer, answer === keeping.kept())
      return result
    } catch (error) {
      await idempotency.abandon(fresh)
      throw error
    }
  }

  return {
    async checked(
      req: IncomingMessage,
      context: RequestContext,
      signal: AbortSignal,
      { input, bodyText, rateHeaders }: CheckedRequest,
    ): Promise<Either<Refusal, Answer>> {
      const begun = isIdempotent ? await idempotency.begin(req, context, bodyText) : right({ kind: 'none' as const })
      if (isLeft(begun)) return begun
      const keyed = begun.right
      if (keyed.kind === 'replay') return right(keyed.answer)
      const called = { ...input, call: callOf(context, signal) as AnyRouteInput['call'] }
      const result = await (keyed.kind === 'fresh' ? runKeyed(keyed, context, called) : run(context, called))
      if (isLeft(result)) return result
      return right({ ...result.right, headers: { ...rateHeaders, ...callerHeaders(context), ...result.right.headers } })
    },

    /** Answers a request that was refused before its handler. */
    async refused(
      req: IncomingMessage,
      context: RequestContext,
      refused: Left<Refusal>,
    ): Promise<Either<Refusal, Answer>> {
      if (
        !isIdempotent ||
        !perhapsCarriedOut.includes(refused.left.status) ||
        req.headers['idempotency-key'] === undefined
      )
        return refused
      const earlier = await idempotency.earlier(req, context, () => textOf(req, route))
      return earlier === undefined ? refused : right(earlier)
    },
  }
}

const withKey = (input: AnyRouteInput, keyed: KeyedChange): AnyRouteInput => ({
  ...input,
  call: { ...input.call, keyed } as AnyRouteInput['call'],
})

/** Returns the body of a request that was refused before the body was read. A body can be read only once. */
const textOf = async (req: IncomingMessage, route: Route): Promise<string | undefined> => {
  if (req.readableEnded) return undefined
  const read = await readRouteBody(req, route)
  return read.ok ? read.text : undefined
}

/** Returns headers that inform a caller about the credential that was used. */
const callerHeaders = ({ principal }: RequestContext): Record<string, string> => ({
  ...(principal?.tokenExpiresAt === undefined ? {} : { 'X-Token-Expiration': principal.tokenExpiresAt.toISOString() }),
  ...(principal?.impersonator === undefined ? {} : { 'X-Sudo-By': principal.impersonator.login }),
})
