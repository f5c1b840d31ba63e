import type { IncomingMessage } from 'node:http'
import type { LogScope } from '../../../adapters/logging/log-scope.ts'
import type { Tracing } from '../../../core/platform/ports.ts'
import type { RequestContext } from './request-context.ts'

export interface RequestScopeDeps {
  readonly tracing: Tracing
  readonly scope: LogScope
}

/**
 * Surrounds the work of a request: its lines of the log have its id, and its span continues the trace of the caller.
 */
export type WithinRequest = <A>(req: IncomingMessage, context: RequestContext, work: () => Promise<A>) => Promise<A>

/** The form of `traceparent`; what is longer than a later version of it needs is ignored. */
const traceparentForm = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.{0,200})?$/

const traceparentOf = ({ headers }: IncomingMessage): string | undefined => {
  const { traceparent } = headers
  return typeof traceparent === 'string' && traceparentForm.test(traceparent) ? traceparent : undefined
}

/** Without traces, it costs one entry of asynchronous context. */
export const makeWithinRequest = ({ tracing, scope }: RequestScopeDeps): WithinRequest => {
  const { isOn } = tracing
  return (req, context, work) =>
    scope.run({ requestId: context.requestId }, () => (isOn ? tracedRequest(tracing, req, context, work) : work()))
}

const tracedRequest = <A>(
  tracing: Tracing,
  req: IncomingMessage,
  context: RequestContext,
  work: () => Promise<A>,
): Promise<A> =>
  tracing.span(
    {
      name: methodOf(context),
      kind: 'server',
      parent: traceparentOf(req),
      attributes: { 'http.request.method': methodOf(context), 'moorage.request_id': context.requestId },
    },
    async (span) => {
      const current = tracing.current()
      if (current !== undefined) context.trace = current
      try {
        return await work()
      } finally {
        span.set({
          'http.route': context.routePath,
          'moorage.operation': context.routeId,
          'http.response.status_code': context.status,
        })
        if (context.status >= 500) span.fail(context.code ?? String(context.status))
      }
    },
  )

const standardMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A method that is none of the standard's is a text of the caller. */
const methodOf = ({ method }: RequestContext): string => (standardMethods.has(method) ? method : '_OTHER')
