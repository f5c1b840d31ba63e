import type { IncomingMessage, ServerResponse } from 'node:http'
import { Overtaken } from '../../core/kernel/overtaken.ts'
import { Unavailable } from '../../core/kernel/unavailable.ts'
import type { BinderDeps } from './binder-deps.ts'
import type { Dialect, Refusal } from './failure-response.ts'
import { internalError, refusal } from './failure-response.ts'
import type { RequestContext } from './request-context.ts'
import { writeRefusal } from './write-answer.ts'

/** What the log keeps of something that was thrown. */
export const thrownFields = (error: unknown): Readonly<Record<string, unknown>> =>
  error instanceof Error
    ? { name: error.name, message: error.message, stack: error.stack }
    : { name: 'thrown', message: typeof error }

/**
 * Everything that was not expected: one 500 (503 where a store is away, 409 where another change was quicker). The
 * error's own text goes to the log, never to the wire.
 */
export const answerError = (
  deps: Pick<BinderDeps, 'log' | 'docsUrl'>,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  error: unknown,
  dialect: Dialect,
): void => {
  const refused = refusalOfThrown(error)
  if (!(error instanceof Overtaken)) logThrown(deps, context, error)
  context.code = refused.code
  if (res.headersSent) res.destroy()
  else writeRefusal(req, res, context, refused, dialect, deps.docsUrl)
}

const refusalOfThrown = (error: unknown): Refusal => {
  if (error instanceof Overtaken) return refusal(409, 'Overtaken', error.message)
  if (!(error instanceof Unavailable)) return internalError
  return refusal(503, 'Unavailable', error.message, { headers: { 'Retry-After': String(error.retryAfterSeconds) } })
}

const logThrown = ({ log }: Pick<BinderDeps, 'log'>, context: RequestContext, error: unknown): void => {
  const isAway = error instanceof Unavailable
  const cause = isAway && error.cause instanceof Error ? { cause: error.cause.message } : {}
  log.error(
    { requestId: context.requestId, operation: context.routeId, error: { ...thrownFields(error), ...cause } },
    isAway ? 'a component is away' : 'request failed',
  )
}
