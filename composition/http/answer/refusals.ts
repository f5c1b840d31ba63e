import type { IncomingMessage, ServerResponse } from 'node:http'
import { Overtaken, Unavailable } from '../../../core/kernel/failure.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { Access } from '../../../plugins/kit/access.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { nothingSent } from '../request/authenticate.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Dialect, Refusal } from './failure-response.ts'
import { internalError, refusal } from './failure-response.ts'
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

/** Tells the audit log of a refusal: each 403, each 401 but where no credential was sent, and whatever says what it was about. */
export const recordRefusal = (deps: Pick<BinderDeps, 'denials'>, call: Call, access: Access, refused: Refusal): void => {
  if (refused === nothingSent) return
  if (refused.status !== 403 && refused.status !== 401 && refused.about === undefined) return
  const objectType = access.kind === 'granted' ? access.object.type : ''
  // Not awaited: the answer does not depend on it, and the port never throws.
  void deps.denials.recordDenial(call, { objectType, ...refused.about, code: refused.code })
}
