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
 * Answers an unexpected error: 500, 503 when a store is unavailable, or 409 when another change came first. The text of the
 * error goes to the log and is never sent.
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

/** Logs an error as it is. The log decides which of its fields, including its causes, it writes. */
const logThrown = ({ log }: Pick<BinderDeps, 'log'>, context: RequestContext, error: unknown): void =>
  log.error(
    { requestId: context.requestId, operation: context.routeId, error },
    error instanceof Unavailable ? 'a component is away' : 'request failed',
  )

/** Records a refusal in the audit log: each 403, each 401 except when no credential was sent, and every refusal that names its subject. */
export const recordRefusal = (deps: Pick<BinderDeps, 'denials'>, call: Call, access: Access, refused: Refusal): void => {
  if (refused === nothingSent) return
  if (refused.status !== 403 && refused.status !== 401 && refused.about === undefined) return
  const objectType = access.kind === 'granted' ? access.object.type : ''
  // Not awaited: the answer does not depend on it, and the port never throws.
  void deps.denials.recordDenial(call, { objectType, ...refused.about, code: refused.code })
}
