import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, OwnAddress, Principal } from '../../../core/kernel/principal.ts'
import type { Secret } from '../../../core/kernel/secret.ts'

/** What the binder knows about one request, made before routing and completed on the way. */
export interface RequestContext {
  readonly requestId: string
  readonly sourceIp: string
  readonly userAgent: string
  readonly startedNs: bigint
  /** The method as sent; HEAD is routed as GET. */
  readonly method: string
  /** The path as sent, less trailing slashes: what was checked is what is routed and forwarded. */
  readonly path: string
  readonly query: string
  readonly params: URLSearchParams
  readonly ownAddress: OwnAddress
  /** The caller's connection is encrypted: up to this process, or as far as a trusted proxy or the base URL says. */
  readonly isEncrypted: boolean
  /** The template of the route, for logs and metrics; never the raw path. */
  routeId: string
  /** The operation of the API description; empty while none was found. */
  operationId: string
  routePath: string
  principal: Principal | undefined
  /** The status that was written; 0 while nothing was. */
  status: number
  bytesIn: number
  bytesOut: number
  /** A failure's tag, for the access log. */
  code: string | undefined
  /** A GET that makes an access token: for everything but its method it is a change. */
  makesToken?: boolean
  /** Open for as long as its client likes: how long says nothing about the service. */
  isEndless?: boolean
  /** The session that a remembered login opened on this request: whoever is asked again is asked of it. */
  resumedKey: Secret | undefined
  /** `Set-Cookie` values that every answer to this request carries, besides its own. */
  setCookies: readonly string[]
}

const contextKey = Symbol('moorage.context')
type WithContext = IncomingMessage & { [contextKey]?: RequestContext }

export const attachContext = (req: IncomingMessage, context: RequestContext): void => {
  ;(req as WithContext)[contextKey] = context
}

/** The context that the guard attached; every routed request has one. */
export const contextOf = (req: IncomingMessage): RequestContext => {
  const context = (req as WithContext)[contextKey]
  if (context === undefined) throw new Error('a request reached a handler without passing the guard')
  return context
}

/** The parameters that the router found in the path, percent-decoded. What a trailing wildcard stands for is `path`. */
export const pathValuesOf = (req: IncomingMessage): Readonly<Record<string, string>> => {
  const { params } = req as IncomingMessage & { params: Record<string, string> }
  const rest = params['*']
  return rest === undefined ? params : { ...params, path: rest }
}

/** The call as the core is told of it; complete once the caller is proven. */
export const callOf = (context: RequestContext, signal: AbortSignal): Call => ({
  principal: context.principal,
  requestId: context.requestId,
  sourceIp: context.sourceIp,
  userAgent: context.userAgent,
  ownAddress: context.ownAddress,
  operation: context.routeId,
  signal,
})

/** Aborts when the client has gone before the answer was complete. */
export const clientSignal = (res: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}
