import { AsyncLocalStorage } from 'node:async_hooks'
import type { Log } from '../../core/kernel/log.ts'
import type { TraceContext } from '../../core/platform/ports.ts'

/** What every line of the log says that is written during a piece of work, such as a request. */
interface ScopeFields {
  readonly requestId?: string
  readonly task?: string
}

/** Adds to lines of the log for which request, and in which trace, they are written. */
export interface LogScope {
  /** Runs work. Lines that it writes, also later on, have the fields. */
  run<A>(fields: ScopeFields, work: () => A): A
  /** Returns a log that adds the fields of the work that writes. The fields of a line itself count first. */
  logOf(log: Log): Log
}

/** @param trace returns the trace that surrounds the call. */
export const makeLogScope = (trace: () => TraceContext | undefined): LogScope => {
  const scope = new AsyncLocalStorage<ScopeFields>()
  const withScope = (fields: object): object => {
    const traced = trace()
    const store = scope.getStore()
    // The line of a request has these itself; a copy would cost as much as the rest of the line.
    if (traced === undefined && (store === undefined || (store.task === undefined && 'requestId' in fields)))
      return fields
    const shown = traced && { traceId: traced.traceId, spanId: traced.spanId }
    return { ...store, ...shown, ...fields }
  }
  return {
    run: (fields, work) => scope.run(fields, work),
    logOf: (log) => ({
      debug: (fields, message) => log.debug(withScope(fields), message),
      info: (fields, message) => log.info(withScope(fields), message),
      warn: (fields, message) => log.warn(withScope(fields), message),
      error: (fields, message) => log.error(withScope(fields), message),
    }),
  }
}
