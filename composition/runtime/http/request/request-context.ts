import { definedFields } from '../../../../core/kernel/json.ts'
import type { UserId } from '../../../../core/kernel/ids.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { strangersOf } from '../../../../adapters/system/allowances.ts'
import type { Log } from '../../../../core/kernel/log.ts'
import type { Call, OwnAddress, Principal } from '../../../../core/kernel/principal.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import type { AccountKey } from '../../../../core/kernel/fair-queue.ts'
import { isRobotLogin } from '../../../../core/organizations/ports.ts'
import type { TraceContext, Tracing } from '../../../../core/platform/ports.ts'
import type { Below } from './request-target.ts'
import type { LogScope } from '../../../../adapters/logging/bunyan-log.ts'

/** The binder's record of one request, made before routing and completed during processing. */
export interface RequestContext {
  readonly requestId: string
  readonly sourceIp: string
  readonly userAgent: string
  readonly startedNs: bigint
  /** The method as sent. HEAD is routed as GET. */
  readonly method: string
  /** The path as sent, without trailing slashes. The checked path is the routed and forwarded one. */
  readonly path: string
  /** The part of the path that belongs to the receiver of a stream route. It is as sent. */
  readonly below: Below | undefined
  readonly query: string
  /** The parameters of the query, for this service. None if the query belongs to another receiver. */
  readonly params: URLSearchParams
  readonly ownAddress: OwnAddress
  /**
   * Whether the caller's connection is encrypted: up to this process, or according to a trusted proxy or the base URL.
   */
  readonly isEncrypted: boolean
  /** The template of the route, for logs and metrics. Never the raw path. */
  routeId: string
  /** The operation of the API description. Empty until one is found. */
  operationId: string
  routePath: string
  principal: Principal | undefined
  /** The status that was written; 0 until one is. */
  status: number
  bytesIn: number
  bytesOut: number
  /** The tag of a failure, for the access log. */
  code: string | undefined
  /** A cluster or another upstream decided the status, and this service passes it on. */
  isUpstream?: boolean
  /** The trace, if the request is traced. */
  trace?: TraceContext
  /** The message of a failure on our side or a cluster's, for the access log. */
  cause?: string
  /** A GET that makes an access token. Except for its method it is a change. */
  makesToken?: boolean
  /** The fields of the body that were ignored, by path. Every answer to this request names them. */
  ignoredFields?: readonly string[]
  /** The parameters of the query string that had no effect. Every answer to this request names them. */
  ignoredParameters?: readonly string[]
  /**
   * The request lasts as long as its client keeps it open. Its duration says nothing about the performance of the
   * service.
   */
  isEndless?: boolean
  /** The user of a valid remember cookie that opened no session. */
  rememberedUserId?: UserId | undefined
  /** The session that a remembered login opened on this request. Later checks of the request use this session. */
  resumedKey: Secret | undefined
  /** Aborts when the client disconnects before the answer. Absent for streams. */
  clientSignal?: AbortSignal
  /** Additional `Set-Cookie` values of every answer to this request. */
  setCookies: readonly string[]
}

const contextKey = Symbol('moorage.context')
type WithContext = IncomingMessage & { [contextKey]?: RequestContext }

export const attachContext = (req: IncomingMessage, context: RequestContext): void => {
  ;(req as WithContext)[contextKey] = context
}

/** Returns the context that the guard attached. Every routed request has one. */
export const contextOf = (req: IncomingMessage): RequestContext => {
  const context = (req as WithContext)[contextKey]
  if (context === undefined) throw new Error('a request reached a handler without passing the guard')
  return context
}

/** Records which route answers the request. */
export const noteRoute = (
  context: RequestContext,
  route: { readonly id: string; readonly path: string },
  operationId = route.id,
): void => {
  context.routeId = route.id
  context.operationId = operationId
  context.routePath = route.path
}

/** Returns the path parameters that the router found, percent-decoded. `path` is the match of a trailing wildcard. */
export const pathValuesOf = (req: IncomingMessage): Readonly<Record<string, string>> => {
  const { params } = req as IncomingMessage & { params: Record<string, string> }
  const rest = params['*']
  return rest === undefined ? params : { ...params, path: rest }
}

/**
 * Returns for whom the work of a request counts in queues and budgets. The robot accounts of an organization count
 * together: it may make a hundred, which would have a hundred times the turns of a person.
 */
export const accountOf = ({ principal, sourceIp }: Pick<RequestContext, 'principal' | 'sourceIp'>): AccountKey => {
  if (principal === undefined) return strangersOf(sourceIp)
  const { userId, login, onlyOrgId } = principal
  return onlyOrgId !== undefined && isRobotLogin(login) ? `robots of ${onlyOrgId}` : userId
}

/** Returns the call for the core. It is complete once the caller is proven. */
export const callOf = (context: RequestContext, signal: AbortSignal): Call => {
  const call = {
    principal: context.principal,
    ...definedFields({ rememberedUserId: context.rememberedUserId }),
    requestId: context.requestId,
    sourceIp: context.sourceIp,
    userAgent: context.userAgent,
    ownAddress: context.ownAddress,
    operation: context.routeId,
    signal,
  }
  return context.trace === undefined ? call : { ...call, trace: context.trace.traceparent }
}

/** Returns a signal that aborts when the client disconnects before the answer is complete. */
export const clientSignal = (res: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}

interface RefusedRequest {
  readonly status: number
  readonly code: string
  readonly message: string
  /** For the log only. */
  readonly reason?: string
  readonly isUpstream?: boolean
}

/** Records a refusal for the access log. */
export const noteRefusal = (context: RequestContext, refused: RefusedRequest): void => {
  const { status, code, message, reason, isUpstream } = refused
  context.code = code
  if (isUpstream === true) context.isUpstream = true
  if (status >= 500) context.cause = reason ?? message
}

/** The path parameters that name whose object a request is about. */
const namesOfPlace: ReadonlySet<string> = new Set(['{owner}', '{cluster}', '{orgname}', '{clusterset}'])
const longestCause = 500

/** Returns the owner and the cluster that the path names, as sent: an operator must know whose cluster fails. */
export const placeOf = ({ path, routePath }: RequestContext): Readonly<Partial<Record<string, string>>> => {
  const values = path.split('/')
  const afterPrefix = Math.max(0, values.indexOf('v1'))
  return Object.fromEntries(
    routePath
      .split('/')
      .flatMap((name, index) =>
        namesOfPlace.has(name) ? [[name.slice(1, -1), (values[afterPrefix + index] ?? '').slice(0, 255)]] : [],
      ),
  )
}

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
 * Writes one line for each finished request, from an allow list of fields: never the raw URL, a header or a body.
 * Server errors are warnings. Status 499 means that the client left before the answer was complete.
 */
export const makeAccessLog = (
  log: Log,
  observers: readonly RequestObserver[],
): ((exchange: Closing, context: RequestContext) => void) => {
  const report = (context: RequestContext): void => {
    const status = context.status === 0 ? 499 : context.status
    const seconds = Number(process.hrtime.bigint() - context.startedNs) / 1e9
    for (const observer of observers) observer.finished(context, status, seconds)
    const { principal } = context
    // Fields that are undefined are not written. There is one such line for each request, so that nothing is copied.
    const fields = {
      requestId: context.requestId,
      traceId: context.trace?.traceId,
      method: context.method,
      route: context.routePath,
      operation: context.routeId,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      bytesIn: context.bytesIn,
      bytesOut: context.bytesOut,
      ip: context.sourceIp,
      userId: principal?.userId,
      via: principal?.method,
      impersonatorId: principal?.impersonator?.userId,
      code: context.code,
      ...(status < 500
        ? undefined
        : { ...placeOf(context), cause: context.cause?.slice(0, longestCause), isUpstream: context.isUpstream }),
    }
    if (status >= 500) log.warn(fields, 'request')
    else log.info(fields, 'request')
  }
  return (exchange, context) => {
    for (const observer of observers) observer.started()
    exchange.once('close', () => report(context))
  }
}

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
