import type { IncomingMessage, ServerResponse } from 'node:http'
import { Overtaken } from '../../core/kernel/overtaken.ts'
import { Unavailable } from '../../core/kernel/unavailable.ts'
import type { BinderDeps } from './binder-deps.ts'
import type { Dialect, Refusal } from './failure-response.ts'
import { internalError, refusal } from './failure-response.ts'
import type { RequestContext } from './request-context.ts'
import { writeRefusal } from './write-answer.ts'

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

/** The error goes to the log as it is: what of it may stand there, its causes included, is the log's to choose. */
const logThrown = ({ log }: Pick<BinderDeps, 'log'>, context: RequestContext, error: unknown): void =>
  log.error(
    { requestId: context.requestId, operation: context.routeId, error },
    error instanceof Unavailable ? 'a component is away' : 'request failed',
  )
