import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { OwnAddress } from '../../../core/kernel/principal.ts'
import type { AssembledRoute } from '../assemble.ts'
import { listenerRoots } from '../assemble.ts'
import type { WhyClosed } from '../closed-routes.ts'
import type { BinderDeps } from './binder-deps.ts'
import type { AnswerMounted } from './mounts.ts'
import { decodeParams } from './request/decode.ts'
import type { Dialect, Refusal } from './failure-response.ts'
import { noSuchPath, refusal } from './failure-response.ts'
import { isEncrypted } from './request/credentials.ts'
import type { OwnAddressOf } from './request/addresses.ts'
import type { FindBelow, GuardedTarget } from './request/request-target.ts'
import { makeMatchPath, guardTarget, headerValues, isHost, originForm } from './request/request-target.ts'
import type { RequestContext } from './request/request-context.ts'
import { accountOf, attachContext, noteRefusal } from './request/request-context.ts'
import type { Answer } from './answer/packed-answer.ts'
import {
  answerError,
  orNotModified,
  writeAnswer,
  writeInternalError,
  writeInTurns,
  writeRefusal,
} from './answer/write-answer.ts'

/** The content served in addition to the declared routes: documentation, and the frontend outside the API's root. */
export interface Pages {
  /**
   * Returns the documentation page, one of its assets or the API description, by validated path, or undefined. The
   * description is that of one tag if the query names it.
   */
  documentation(path: string, headers: Preferred, query: URLSearchParams): Answer | undefined
  /**
   * Returns the answer of any other GET outside the API, or undefined where no page can be and for clients that expect
   * the API there. `endsInSlash`: whether the path was sent with a slash at its end, which `path` has not.
   */
  frontend(path: string, ownUrl: string, headers: Preferred, endsInSlash?: boolean): Answer | undefined
}

/** The headers in which a client says what it prefers. */
type Preferred = Pick<IncomingHttpHeaders, 'accept' | 'accept-encoding'>

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/
/** The width of the database column. */
const maxUserAgentLength = 255
const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const reading: readonly string[] = ['GET', 'HEAD']

const requestIdOf = (req: IncomingMessage): string => {
  const sent = req.headers['x-request-id']
  return typeof sent === 'string' && requestIdPattern.test(sent) ? sent : randomUUID()
}

/** A request after the guard. `refused` is the reason when it does not proceed. */
export interface Guarded {
  readonly context: RequestContext
  readonly refused: Refusal | undefined
}

const contextFor = (
  req: IncomingMessage,
  target: GuardedTarget,
  sourceIp: string,
  ownAddress: OwnAddress,
  names: BinderDeps['names'],
): RequestContext => {
  const { path, query, below } = target.ok ? target : { path: '', query: '', below: undefined }
  return {
    requestId: requestIdOf(req),
    sourceIp,
    userAgent: (req.headers['user-agent'] ?? '').slice(0, maxUserAgentLength),
    startedNs: process.hrtime.bigint(),
    method: req.method ?? '',
    path: names?.belowRoot(path) ?? path,
    below,
    query,
    params: new URLSearchParams(below?.ownsQuery === true ? '' : query),
    ownAddress,
    isEncrypted: ownAddress.isDirect ? isEncrypted(req) : ownAddress.url.startsWith('https:'),
    routeId: '',
    operationId: '',
    routePath: '',
    principal: undefined,
    status: 0,
    bytesIn: 0,
    bytesOut: 0,
    code: undefined,
    resumedKey: undefined,
    setCookies: [],
  }
}

/** A body in an unsupported transfer coding must not be read as something else (RFC 9112 §6.1). */
export const codingRefusal = refusal(
  501,
  'UnsupportedTransferEncoding',
  'Of transfer codings only "chunked" is understood.',
  { headers: { Connection: 'close' } },
)

const versionRefusal = refusal(505, 'HttpVersionNotSupported', 'This port speaks HTTP/1.1.', {
  headers: { Connection: 'close' },
})
/** Proxies of HTTP/1.0 do not understand a transfer coding, and would find another end of this body (RFC 9112 §6.1). */
const oldCodingRefusal = refusal(400, 'BadRequest', 'HTTP/1.0 has no transfer codings; send a Content-Length.', {
  headers: { Connection: 'close' },
})
/** A method that no route has. */
export const methodRefusal = refusal(405, 'MethodNotAllowed', 'This method is not served here.', {
  headers: { Allow: methods.join(', ') },
})

const refusalFor = (
  target: GuardedTarget,
  { method = '', headers, httpVersionMajor, httpVersionMinor }: IncomingMessage,
): Refusal | undefined => {
  if (httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined) return oldCodingRefusal
  if (!target.ok) return refusal(400, 'BadRequestTarget', target.message, { headers: { Connection: 'close' } })
  // Node reads 0.9 and 2.0 in the form of 1.1, too.
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return versionRefusal
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') return codingRefusal
  return methods.includes(method) ? undefined : methodRefusal
}

/** The facts about the origin of a request that the guard depends on. */
export interface GuardDeps {
  readonly clientIp: (req: IncomingMessage) => string
  readonly ownAddress: OwnAddressOf
  readonly names: BinderDeps['names']
}

/** A route that ignores the rest of its path reads its own query. */
const ignored = (): boolean => false

/**
 * Returns the function that finds what belongs to the receivers of stream routes, or is ignored, by the words of
 * the paths as declared.
 */
export const makeFindBelow = (routes: readonly AssembledRoute[]): FindBelow => {
  const open = routes.flatMap(({ bound, fullPath }) => {
    if (bound.kind === 'json' && bound.route.ignoresRest !== true) return []
    const words = fullPath
      .replace(/\/\*$/, '')
      .split('/')
      .map((word) => (word.startsWith('{') ? '[^/]+' : word.replace(/[^\w-]/g, '\\$&')))
    const ownsQuery = bound.kind === 'stream' ? bound.route.ownsQuery : ignored
    return [{ pattern: new RegExp(`^${words.join('/')}(?=/|$)`), ownsQuery }]
  })
  return (path) => {
    for (const { pattern, ownsQuery } of open) {
      const from = pattern.exec(path)?.[0].length
      if (from !== undefined)
        return { from, isChecked: ownsQuery !== undefined, ownsQuery: ownsQuery?.(path.slice(from)) === true }
    }
    return undefined
  }
}

/**
 * Returns the function that makes the context of a request from a validated target. Before it runs, no code reads the
 * Host header or the path. A host in the target replaces the header.
 */
export const makeGuard =
  ({ clientIp, ownAddress, names }: GuardDeps, findBelow: FindBelow = () => undefined) =>
  (req: IncomingMessage): Guarded => {
    const sent = headerValues(req.rawHeaders, 'host')
    const asked = originForm(req.url ?? '')
    const hosts = asked.authority === undefined || sent.length !== 1 || !isHost(sent[0]) ? sent : [asked.authority]
    const target = guardTarget(hosts, asked.target, findBelow)
    const host = target.ok ? hosts[0] : undefined
    if (asked.authority !== undefined) {
      req.url = asked.target
      if (host !== undefined) req.headers.host = host
    }
    const context = contextFor(req, target, clientIp(req), ownAddress(req, host), names)
    attachContext(req, context)
    return { context, refused: refusalFor(target, req) }
  }

/** Paths below which every declared route has one form of errors, which is not the common one. */
const territoriesOf = (routes: readonly AssembledRoute[]): ReadonlyMap<string, Dialect> => {
  const declared = routes.flatMap(({ bound, fullPath }) => {
    const dialect = bound.kind === 'json' ? (bound.route.dialect ?? 'platform') : 'platform'
    return [{ dialect, fullPath }]
  })
  const found = new Map<string, Dialect>()
  for (const { dialect, fullPath } of declared) {
    if (dialect === 'platform') continue
    const segments = fullPath.split('/')
    const prefixes = segments.map((_, index) => segments.slice(0, index + 1).join('/')).slice(1)
    const own = prefixes.find(
      (prefix) => !declared.some((other) => other.dialect !== dialect && isUnder(other.fullPath, prefix)),
    )
    if (own !== undefined && !own.includes('{')) found.set(own, dialect)
  }
  return found
}

/**
 * The form of refusals that no route answers, by the request target as sent: that of the routes around the path. Below a
 * proxied API it is a Kubernetes Status. A listener of one root has one form; of several, a path outside of them has that
 * of the first.
 */
export type DialectAt = (target: string) => Dialect

export const makeDialectAt = (
  routes: readonly AssembledRoute[],
  roots: readonly string[] = [listenerRoots.api],
  names: BinderDeps['names'] = undefined,
): DialectAt => {
  const territories = [...territoriesOf(routes)]
  const proxied = routes.flatMap(({ bound, fullPath }) => (bound.kind === 'stream' ? [makeMatchPath(fullPath)] : []))
  return (target) => {
    const sent = target.split('?', 1)[0] ?? ''
    const path = names?.belowRoot(sent) ?? sent
    const root = roots.find((each) => isUnder(path, each)) ?? roots[0]
    if (root === listenerRoots.marketplace) return 'marketplace'
    if (proxied.some((match) => match(path) !== undefined)) return 'kubernetes'
    return territories.find(([prefix]) => isUnder(path, prefix))?.[1] ?? 'platform'
  }
}

const isUnder = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`)

/** The router decodes what it matches, which the receiver of a stream route does itself. */
const routed = (
  { path, query, params, method, below }: RequestContext,
  names: BinderDeps['names'],
  hasContentType: boolean,
): string => {
  if (below !== undefined) return path.slice(0, below.from)
  const own = names?.ownPath({ path, isReadWithContentType: reading.includes(method) && hasContentType }) ?? path
  names?.addOwnParameters(params)
  return query === '' ? own : `${own}?${query}`
}

/**
 * Returns the `first` function of restify: the only code that runs before its router, which builds a URL from the Host
 * header and throws on an invalid one. It returns true when a declared route may follow. It must never throw.
 */
export const makeFirst = (
  deps: Pick<
    BinderDeps,
    'accessLog' | 'docsUrl' | 'log' | 'names' | 'pauseInLongTurn' | 'readings' | 'secureCookies'
  > & {
    readonly dialectAt: DialectAt
    /** What answers a path outside of the API, beside pages. */
    readonly findMounted?: (path: string) => AnswerMounted | undefined
  },
  guard: (req: IncomingMessage) => Guarded,
  roots: readonly string[],
  pages: Pages,
): ((req: IncomingMessage, res: ServerResponse) => boolean) => {
  const page = (req: IncomingMessage, context: RequestContext): Answer | undefined => {
    const documented = pages.documentation(context.path, req.headers, context.params)
    if (documented !== undefined) return documented
    return roots.some((root) => isUnder(context.path, root))
      ? undefined
      : pages.frontend(context.path, context.ownAddress.url, req.headers, /^[^?]*\/(?:\?|$)/.test(req.url ?? ''))
  }

  /** The turns of its pieces are those of the caller's network. */
  const writePage = (req: IncomingMessage, res: ServerResponse, context: RequestContext, answer: Answer): void =>
    void deps.readings
      .request(
        () => accountOf(context),
        () => writeInTurns(deps, req, res, context, answer),
      )
      .catch((error: unknown) => answerError(deps, req, res, context, error, 'platform'))

  const decide = (req: IncomingMessage, res: ServerResponse): boolean => {
    const { context, refused } = guard(req)
    deps.accessLog(res, context)
    // Only when the operator configured that clients reach the service over https. It is written together with the
    // headers of each answer.
    if (deps.secureCookies) res.setHeader('Strict-Transport-Security', 'max-age=31536000')
    if (refused === codingRefusal && !/(?:^|[ ,])chunked$/i.test(req.headers['transfer-encoding'] ?? '')) {
      // Node finds no end of such a body either, and reports it directly after this event. That report is answered.
      context.status = refused.status
      noteRefusal(context, refused)
      return false
    }
    if (refused !== undefined) {
      // Node's parser returns the same refusal, without knowledge of routes.
      const dialect = refused === codingRefusal ? 'platform' : deps.dialectAt(req.url ?? '')
      writeRefusal(req, res, context, refused, dialect, deps.docsUrl)
      return false
    }
    const mounted = deps.findMounted?.(context.path)
    if (mounted !== undefined) {
      if (context.method === 'HEAD') req.method = 'GET'
      void mounted(req, res, context)
      return false
    }
    if (reading.includes(context.method)) {
      const answer = page(req, context)
      if (answer !== undefined) {
        context.routePath = 'page'
        writePage(req, res, context, orNotModified(req, answer))
        return false
      }
    }
    // The checked target is the routed one. HEAD is routed as GET; Node has already decided to send no body for it.
    req.url = routed(context, deps.names, req.headers['content-type'] !== undefined)
    if (context.method === 'HEAD') req.method = 'GET'
    return true
  }

  return (req, res) => {
    try {
      return decide(req, res)
    } catch (error) {
      deps.log.error({ error }, 'guard failed')
      if (!res.headersSent) {
        res.writeHead(500, { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' })
        res.end('{"message":"Internal error."}')
      }
      return false
    }
  }
}

/**
 * Reports whether a template has a word where the other, which matches the same path, has a parameter: the path then is
 * the first one's, and the word is no name of an object.
 */
const isMoreSpecific = (template: string, other: string): boolean => {
  const [own, others] = [template.split('/'), other.split('/')]
  const differs = own.findIndex((text, index) => text !== others[index])
  return differs >= 0 && !/^(\{.+\}|\*)$/.test(own[differs] ?? '*') && /^(\{.+\}|\*)$/.test(others[differs] ?? '*')
}

/** The methods that the declared routes serve at a validated path. Empty when a parameter of the path cannot exist. */
export type MethodsAt = (path: string) => readonly string[]

export const makeMethodsAt = (routes: readonly AssembledRoute[]): MethodsAt => {
  const templates = routes.map(({ bound, fullPath, methods: served }) => ({
    bound,
    served,
    fullPath,
    match: makeMatchPath(fullPath),
  }))
  return (path) => {
    const matching = templates.filter(({ bound, match }) => {
      const params = match(path)
      return params !== undefined && !(bound.kind === 'json' && isLeft(decodeParams(bound.route, params)))
    })
    const mostSpecific = matching.filter(
      ({ fullPath }) => !matching.some((other) => isMoreSpecific(other.fullPath, fullPath)),
    )
    const found = mostSpecific.flatMap(({ served }) => served)
    return found.length === 0
      ? []
      : [...new Set([...found, ...(found.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])].sort()
  }
}

const apiRoot = listenerRoots.api

interface UnroutedDeps extends Pick<BinderDeps, 'docsUrl'> {
  readonly methodsAt: MethodsAt
  readonly dialectAt: DialectAt
  readonly whyClosed?: WhyClosed | undefined
}

/**
 * Returns the refusal of a path that does not exist. It names the path of the API that was meant if only its root, or a
 * part of that, is missing.
 */
const refusalOfPath = (path: string, { methodsAt, whyClosed }: UnroutedDeps): Refusal => {
  if (isUnder(path, apiRoot)) {
    const closed = whyClosed?.(path)
    return closed === undefined ? noSuchPath : { ...noSuchPath, message: closed }
  }
  const meant = `${apiRoot}${path.replace(/^\/(?:api(?=\/)|v1(?=\/))/, '')}`
  return methodsAt(meant).length === 0 ? noSuchPath : { ...noSuchPath, message: `${noSuchPath.message} ${meant} does.` }
}

/** Answers a request that restify could not route: 404, 405 with Allow, or OPTIONS from the route table. */
export const answerUnrouted = (
  deps: UnroutedDeps,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  error: { readonly statusCode?: number },
): void => {
  if (error.statusCode !== 404 && error.statusCode !== 405) return writeInternalError(req, res, context, deps.docsUrl)
  const dialect = deps.dialectAt(context.path)
  const allow = deps.methodsAt(context.path).join(', ')
  if (error.statusCode === 404 || allow === '') {
    // restify lists the methods of every template that matches the path.
    res.removeHeader('Allow')
    return writeRefusal(req, res, context, refusalOfPath(context.path, deps), dialect, deps.docsUrl)
  }
  if (context.method === 'OPTIONS')
    return writeAnswer(req, res, context, { status: 204, headers: { Allow: allow }, body: undefined })
  const refused = refusal(405, 'MethodNotAllowed', `${context.method} is not served at this path; it takes ${allow}.`, {
    headers: { Allow: allow },
  })
  writeRefusal(req, res, context, refused, dialect, deps.docsUrl)
}
