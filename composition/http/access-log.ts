import type { Log } from '../../core/kernel/log.ts'
import type { RequestContext } from './request/request-context.ts'
import { definedFields } from '../../core/kernel/json.ts'

/** The end of a request: its response, or the connection that left HTTP. */
export interface Closing {
  once(event: 'close', listener: () => void): unknown
}

/** Receives the binder's reports of requests. Every request that starts also finishes. */
export interface RequestObserver {
  started(): void
  finished(context: RequestContext, status: number, seconds: number): void
}

/**
 * Writes one line for each finished request, from an allow list of fields: never the raw URL, a header or a body. Server
 * errors are warnings. Status 499 means that the client left before the answer was complete.
 */
export const makeAccessLog = (log: Log, observers: readonly RequestObserver[]): ((exchange: Closing, context: RequestContext) => void) => {
  const report = (context: RequestContext): void => {
    // restify overwrites res.statusCode when the stream of the request ends early, so the status noted by the binder is used.
    const status = context.status === 0 ? 499 : context.status
    const seconds = Number(process.hrtime.bigint() - context.startedNs) / 1e9
    for (const observer of observers) observer.finished(context, status, seconds)
    const fields = {
      requestId: context.requestId,
      method: context.method,
      route: context.routePath,
      operation: context.routeId,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      bytesIn: context.bytesIn,
      bytesOut: context.bytesOut,
      ip: context.sourceIp,
      ...(context.principal === undefined ? {} : { userId: context.principal.userId, via: context.principal.method }),
      ...(context.principal?.impersonator === undefined ? {} : { impersonatorId: context.principal.impersonator.userId }),
      ...definedFields({ code: context.code }),
    }
    if (status >= 500) log.warn(fields, 'request')
    else log.info(fields, 'request')
  }
  return (exchange, context) => {
    for (const observer of observers) observer.started()
    exchange.once('close', () => report(context))
  }
}
