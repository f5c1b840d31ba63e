import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, OwnAddress, Principal } from '../../../core/kernel/principal.ts'
import type { Secret } from '../../../core/kernel/secret.ts'

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
  readonly query: string
  readonly params: URLSearchParams
  readonly ownAddress: OwnAddress
  /** Whether the caller's connection is encrypted: up to this process, or according to a trusted proxy or the base URL. */
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
  /** A GET that makes an access token. Except for its method it is a change. */
  makesToken?: boolean
  /** The request lasts as long as its client keeps it open. Its duration says nothing about the performance of the service. */
  isEndless?: boolean
  /** The session that a remembered login opened on this request. Later checks of the request use this session. */
  resumedKey: Secret | undefined
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

/** Returns the path parameters that the router found, percent-decoded. `path` is the match of a trailing wildcard. */
export const pathValuesOf = (req: IncomingMessage): Readonly<Record<string, string>> => {
  const { params } = req as IncomingMessage & { params: Record<string, string> }
  const rest = params['*']
  return rest === undefined ? params : { ...params, path: rest }
}

/** Returns the call for the core. It is complete once the caller is proven. */
export const callOf = (context: RequestContext, signal: AbortSignal): Call => ({
  principal: context.principal,
  requestId: context.requestId,
  sourceIp: context.sourceIp,
  userAgent: context.userAgent,
  ownAddress: context.ownAddress,
  operation: context.routeId,
  signal,
})

/** Returns a signal that aborts when the client disconnects before the answer is complete. */
export const clientSignal = (res: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}
