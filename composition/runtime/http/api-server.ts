import type { WhyClosed } from '../closed-routes.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import restify from 'restify'
import type { Mount } from '../../../plugins/kit/mount.ts'
import type { BoundStreamRoute, Method } from '../../../plugins/kit/route.ts'
import type { AssembledRoute } from '../assemble.ts'
import { answerError } from './answer/write-answer.ts'
import { bindRoute } from './bind-route.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import type { Connections, HttpLimits, NoteEndless, TlsKeys } from './connections.ts'
import { connectionLimit, httpLimits, shareWithTls, watchConnections } from './connections.ts'
import type { Dialect } from './failure-response.ts'
import type { OpenStreams } from './metrics.ts'
import type { DialectAt, GuardDeps, Pages } from './guard.ts'
import {
  answerUnrouted,
  codingRefusal,
  makeDialectAt,
  makeFindBelow,
  makeFirst,
  makeGuard,
  makeMethodsAt,
  methodRefusal,
} from './guard.ts'
import { makeFindMounted } from './mounts.ts'
import type { RequestContext } from './request/request-context.ts'
import { accountOf, contextOf, makeWithinRequest, placeOf } from './request/request-context.ts'
import type { FeedTimes } from './streams/feed-route.ts'
import { bindFeedRoute } from './streams/feed-route.ts'
import { bindStreamRoute } from './streams/stream-route.ts'
import { makeUpgradeListener, mayUpgrade, refuseNoted, refuseUpgrade } from './streams/upgrade.ts'

interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface ApiServerDeps extends BinderDeps, GuardDeps {
  readonly routes: readonly AssembledRoute[]
  readonly mounts?: readonly Mount[]
  /** Tells which part a path belongs to that this deployment does not serve. */
  readonly whyClosed?: WhyClosed
  /** `/api/v1`, and also `/marketplace/api/v1` when one socket serves both. */
  readonly roots: readonly string[]
  readonly pages: Pages
  /** When set, the port speaks both HTTPS and HTTP. */
  readonly tls: TlsKeys | undefined
  /** Overrides the feed times of a service. */
  readonly feedTimes?: FeedTimes
  /** Overrides the limits of a service. */
  readonly limits?: Partial<HttpLimits>
}

/** The limits of a stop, in milliseconds from the call of `close`. */
export interface StopTimes {
  /** The socket is closed when no connection has arrived for this long; absent or 0: in one turn of the event loop. */
  readonly accepts?: number
  /** Once new connections are no longer accepted, a connection that has been silent for this long is ended. */
  readonly quiet: number
  /**
   * The same for a connection that was not answered yet: its first request is probably on its way, or its handshake
   * continues.
   */
  readonly fresh: number
  /** Requests in flight and everything else are cut after this time. */
  readonly requests: number
  /** Streams must end within this time after they are asked to. It is within the time of requests. */
  readonly streams: number
}

/** A listener of the service. */
export interface ApiServer {
  /** Listens on an address. `held` already listens on it; this listener takes over its port. */
  listen(address: ListenAddress, held?: NetServer): Promise<ListenAddress>
  /** Uses another certificate for the TLS handshakes from now on. Throws if it cannot be used. */
  replaceTls(keys: TlsKeys): void
  /** Marks each answer from now on as the last on its connection. Everything else continues. */
  drain(): void
  /**
   * Stops in order: new connections are refused, silent connections end, requests in flight are answered, streams
   * (feeds, watches, tunnels) are ended, and then everything that has not ended is cut.
   */
  close(times: StopTimes): Promise<void>
  /** Returns the numbers of open streamed exchanges and upgraded connections by the cluster that their paths name. */
  openStreams(): OpenStreams
}

/** The longest interval at which Node checks for late requests. */
const longestLookMs = 500

const maxRequestsPerSocket = 1_000

const tune = (server: Server, limits: HttpLimits): void => {
  const lookMs = Math.min(longestLookMs, limits.headers / 10)
  // A check must be early rather than late.
  server.headersTimeout = limits.headers - lookMs
  server.requestTimeout = limits.request - lookMs
  // Longer than load balancers keep connections, so that the service never closes one that a load balancer is about to
  // use.
  server.keepAliveTimeout = limits.keepAlive
  server.maxRequestsPerSocket = maxRequestsPerSocket
  // Node would say on the last answer that it closes the connection, and then answer further requests of the client with
  // an empty 503. A closed connection tells the client that they were not carried out.
  const requests = new WeakMap<Socket, number>()
  server.prependListener('request', ({ socket }, res) => {
    const count = (requests.get(socket) ?? 0) + 1
    requests.set(socket, count)
    if (count >= maxRequestsPerSocket) res.shouldKeepAlive = false
  })
  server.maxConnections = connectionLimit()
  Object.assign(server, {
    // Node reads this when it starts to listen; the default is 30 s. restify passes no options to Node.
    connectionsCheckingInterval: lookMs,
    // Node would answer a missing Host without a body. The guard reports what is wrong.
    requireHostHeader: false,
    // `close` calls this method, which would destroy connections on which a request may just be arriving.
    closeIdleConnections: () => undefined,
  })
  // Node would answer this without a body. An unknown expectation is ignored.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
}

const statusOfClientError: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

/**
 * Reports whether the fault is an unsupported transfer coding. A length together with a transfer coding has the same
 * code.
 */
const isOtherCoding = ({ code, reason }: NodeJS.ErrnoException & { readonly reason?: string }): boolean =>
  code === 'HPE_INVALID_TRANSFER_ENCODING' && reason?.includes('Content-Length') !== true

/**
 * Answers input that is not HTTP, or that does not arrive in time, after the requests before it, and closes the
 * connection.
 */
const onClientError = (
  error: NodeJS.ErrnoException,
  socket: Duplex,
  docsUrl: string,
  connections: Connections,
  dialect: Dialect,
): void => {
  if (error.code === 'ECONNRESET') return void socket.destroy()
  const [status, message] = statusOfClientError[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  const refused = isOtherCoding(error) ? codingRefusal : { status, code: 'BadRequest', message }
  connections.onFault(socket, () => refuseUpgrade(socket, refused, docsUrl, '', dialect))
}

const bindAll = (
  server: RoutedServer,
  deps: ApiServerDeps,
  streams: Map<ServerResponse, RequestContext>,
  noteEndless: NoteEndless,
): void => {
  for (const { bound, fullPath, listener } of deps.routes) {
    if (bound.kind === 'json') {
      const own = listener === 'marketplace' ? { ...deps, readsCredentials: false, pauseInLongTurn: noPause } : deps
      const handler =
        bound.route.ok.kind === 'feed' ? bindFeedRoute(own, bound, noteEndless, deps.feedTimes) : bindRoute(own, bound)
      // The guard cuts a path whose rest is ignored.
      const routed = bound.route.ignoresRest === true ? fullPath.replace(/\/\*$/, '') : fullPath
      addRoute(server, bound.route.method, routed, bound.route.id, withinBudget(deps, handler))
    } else bindStream(server, deps, bound, fullPath, streams, noteEndless)
  }
}

/**
 * Notifications wait in turns of their own, which are bounded. Before them, a flood would wait for turns of the event
 * loop, which are not, and be refused late.
 */
const noPause = (): undefined => undefined

/** All that a request reads of other servers counts for its caller. What it logs and traces names it. */
const withinBudget = (deps: ApiServerDeps, handler: NodeHandler): NodeHandler => {
  const { readings } = deps
  const within = makeWithinRequest(deps)
  return async (req, res) => {
    const context = contextOf(req)
    return within(req, context, () =>
      readings.request(
        () => accountOf(context),
        () => handler(req, res),
        () => context.clientSignal,
      ),
    )
  }
}

const bindStream = (
  server: RoutedServer,
  deps: ApiServerDeps,
  bound: BoundStreamRoute,
  fullPath: string,
  streams: Map<ServerResponse, RequestContext>,
  noteEndless: NoteEndless,
): void => {
  const { id, methods } = bound.route
  const handler = withinBudget(deps, bindStreamRoute(deps, bound, noteEndless))
  const tracked: NodeHandler = async (req, res) => {
    streams.set(res, contextOf(req))
    res.once('close', () => streams.delete(res))
    await handler(req, res)
  }
  for (const method of methods) {
    addRoute(server, method, fullPath, `${id}${method}`, tracked)
    // The wildcard does not match the bare prefix, which is the discovery root of a proxied API.
    addRoute(server, method, fullPath.replace(/\/\*$/, ''), `${id}${method}root`, tracked)
  }
}

const attachUpgrades = (
  node: Server,
  deps: ApiServerDeps,
  guard: ReturnType<typeof makeGuard>,
  tunnels: Map<Duplex, RequestContext>,
  dialectAt: DialectAt,
): void => {
  const streamRoutes = deps.routes.flatMap(({ bound }) => (bound.kind === 'stream' ? [bound] : []))
  const serve = makeUpgradeListener({ ...deps, dialectAt }, streamRoutes, deps.roots[0] ?? '')
  const within = makeWithinRequest(deps)
  Object.assign(node, { shouldUpgradeCallback: mayUpgrade })
  node.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    const { context, refused } = guard(req)
    tunnels.set(socket, context)
    socket.once('close', () => tunnels.delete(socket))
    // Node creates no response for an upgrade. The log line is written when the connection ends.
    deps.accessLog(socket, context)
    if (refused !== undefined) return refuseNoted(socket, refused, deps.docsUrl, context, dialectAt(req.url ?? ''))
    void within(req, context, () => serve(req, socket, head, context))
  })
  // Without a listener Node would close the connection without an answer.
  node.on('connect', (req: IncomingMessage, socket: Socket) => {
    const { context } = guard(req)
    deps.accessLog(socket, context)
    refuseNoted(socket, methodRefusal, deps.docsUrl, context, dialectAt(''))
  })
}

const listenOn = (node: Server, { host, port }: ListenAddress, held: NetServer | undefined): Promise<ListenAddress> =>
  new Promise((resolve, reject) => {
    const listening = (): void => {
      node.off('error', reject)
      const bound = node.address() as AddressInfo
      resolve({ host: bound.address, port: bound.port })
    }
    node.once('error', reject)
    if (held === undefined) node.listen(port, host, listening)
    else node.listen(held, listening)
  })

/** A flood of connections delays a stop by at most this time. */
const longestAcceptMs = 5_000

/**
 * Stops listening. The kernel resets connections that it has accepted and this process has not, so this happens right
 * after a turn of the event loop that found no such connection. One turn accepts one connection. Until none is left,
 * new connections are set aside: otherwise clients that are answered would open new ones faster than they are accepted.
 * Where another process accepts, turns say nothing, and none must have arrived for `quietMs`.
 */
const stopListening = (node: Server, quietMs: number, stopped: () => void): Promise<void> =>
  new Promise((resolve) => {
    const listeners = node.listeners('connection') as ((this: Server, socket: Socket) => void)[]
    const aside: Socket[] = []
    const ignore = (): void => undefined
    const lastLook = performance.now() + longestAcceptMs
    const lookLater = (found: number): void =>
      void (quietMs === 0 ? setImmediate(look, found) : setTimeout(look, quietMs, found))
    const look = (found: number): void => {
      if (aside.length !== found && performance.now() < lastLook) return lookLater(aside.length)
      node.close(stopped)
      for (const socket of aside) {
        socket.off('error', ignore)
        if (!socket.destroyed) for (const listener of listeners) listener.call(node, socket)
      }
      resolve()
    }
    node.removeAllListeners('connection')
    node.on('connection', (socket: Socket) => void aside.push(socket.on('error', ignore)))
    lookLater(-1)
  })

/** Counts open requests by the cluster that their path names. */
const byCluster = (contexts: Iterable<RequestContext>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const context of contexts) {
    const { owner, cluster } = placeOf(context)
    const key = owner === undefined || cluster === undefined ? 'none' : `${owner}/${cluster}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** The interval at which a stop checks for connections that have become silent. */
const sweepMs = 50

/** Returns a listener over restify: a guard in `first`, the router, and one composed async handler per route. */
export const makeApiServer = (deps: ApiServerDeps): ApiServer => {
  const limits = { ...httpLimits, ...deps.limits }
  const server: RoutedServer = { restify: createRestifyServer(), handlers: new Map() }
  const guard = makeGuard(deps, makeFindBelow(deps.routes))
  const streams = new Map<ServerResponse, RequestContext>()
  const tunnels = new Map<Duplex, RequestContext>()
  const dialectAt = makeDialectAt(deps.routes, deps.roots, deps.names)
  const unrouted = {
    docsUrl: deps.docsUrl,
    methodsAt: makeMethodsAt(deps.routes),
    dialectAt,
    whyClosed: deps.whyClosed,
  }
  const node = server.restify.server
  const connections = watchConnections(node, limits)
  server.restify.first((req) => !connections.isTooLate(req))
  const findMounted = makeFindMounted(deps, deps.mounts ?? [])
  server.restify.first(makeFirst({ ...deps, dialectAt, findMounted }, guard, deps.roots, deps.pages))
  server.restify.first(makeDispatch(server, deps))
  // The callback is not called: the answer is complete, and restify would append its own.
  server.restify.on('restifyError', (req, res, error) => answerUnrouted(unrouted, req, res, contextOf(req), error))
  bindAll(server, deps, streams, connections.noteEndless)
  tune(node, limits)
  node.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    onClientError(
      error,
      socket,
      deps.ownAddress({ headers: {}, socket: socket as Socket }, undefined).url + deps.docsUrl,
      connections,
      dialectAt(''),
    ),
  )
  attachUpgrades(node, deps, guard, tunnels, dialectAt)
  const shared = deps.tls === undefined ? undefined : shareWithTls(node, deps.tls, limits.firstBytes)

  const endStreams = (cutAfterMs: number): NodeJS.Timeout => {
    connections.endEndless()
    // The two sides of a tunnel speak their own protocol, in which no message can be sent here.
    for (const socket of tunnels.keys()) socket.end()
    return setTimeout(() => {
      connections.cutEndless()
      for (const socket of tunnels.keys()) socket.destroy()
    }, cutAfterMs)
  }
  const close = async ({ accepts = 0, quiet, fresh, requests, streams: streamsMs }: StopTimes): Promise<void> => {
    const streamsEndBy = performance.now() + requests - streamsMs
    const cutAll = setTimeout(() => {
      shared?.dropUndecided(0)
      node.closeAllConnections()
    }, requests)
    const closed = Promise.withResolvers<void>()
    await stopListening(node, accepts, closed.resolve)
    let cutStreams: NodeJS.Timeout | undefined
    let isClosed = false
    // Runs after arrived data is read, so that no connection ends while a request is arriving on it.
    const sweep = (): void =>
      void setImmediate(() => {
        if (isClosed) return
        shared?.dropUndecided(fresh)
        connections.endIdle({ quiet, fresh })
        if (cutStreams === undefined && (connections.unanswered() === 0 || performance.now() >= streamsEndBy))
          cutStreams = endStreams(streamsMs)
      })
    sweep()
    const sweeping = setInterval(sweep, sweepMs)
    await closed.promise
    isClosed = true
    clearInterval(sweeping)
    clearTimeout(cutStreams)
    clearTimeout(cutAll)
  }
  let closing: Promise<void> | undefined

  return {
    listen: (address, held) => listenOn(node, address, held),
    openStreams: () => ({ exchanges: byCluster(streams.values()), tunnels: byCluster(tunnels.values()) }),
    replaceTls: (keys) => shared?.replaceKeys(keys),
    drain: connections.sayClose,
    close: (times) => {
      connections.sayClose()
      return (closing ??= close(times))
    },
  }
}

/** The part of restify that is used. Its own types describe version 8. */
interface RestifyServer {
  readonly server: Server
  readonly router: { lookup(asked: Routable, res: ServerResponse): unknown }
  on(event: 'error', listener: () => void): void
  on(
    event: 'restifyError',
    listener: (req: IncomingMessage, res: ServerResponse, error: { statusCode?: number }) => void,
  ): void
  first(guard: (req: IncomingMessage, res: ServerResponse) => boolean): void
  get: AddRoute
  post: AddRoute
  put: AddRoute
  patch: AddRoute
  del: AddRoute
}

/** Returns the name of the route. */
type AddRoute = (options: { readonly path: string; readonly name: string }, handler: NodeHandler) => string

/** The part of a request that the router of restify reads, and what it finds. */
interface Routable {
  readonly method: string
  readonly getUrl: () => { readonly pathname: string }
  params: Readonly<Record<string, string>>
  route?: { readonly name: string }
}

/** restify with the handlers of its routes, by their names there. */
interface RoutedServer {
  readonly restify: RestifyServer
  readonly handlers: Map<string, NodeHandler>
}

/**
 * Returns the last `first` function: it runs the handler of the route that the router of restify finds. The life cycle
 * of restify (chains, timers, events) serves nothing here and takes a tenth of the time of a short answer. Without a
 * route it returns true, and restify reports whether the path or the method is unknown.
 */
const makeDispatch =
  ({ restify: { router }, handlers }: RoutedServer, deps: Pick<ApiServerDeps, 'docsUrl' | 'log'>) =>
  (req: IncomingMessage, res: ServerResponse): boolean => {
    const [pathname = ''] = (req.url ?? '').split('?', 1)
    // The guard has checked the path, and no other parser is to read it: restify would make a URL of it and the host.
    const asked: Routable = { method: req.method ?? '', getUrl: () => ({ pathname }), params: {} }
    const handler = router.lookup(asked, res) === undefined ? undefined : handlers.get(asked.route?.name ?? '')
    if (handler === undefined) return true
    Object.assign(req, { params: asked.params })
    handler(req, res).catch((error: unknown) => answerError(deps, req, res, contextOf(req), error, 'platform'))
    return false
  }

/** restify logs through pino by default. Its lines would contain raw requests. */
const silent = Object.fromEntries(
  ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, () => undefined]),
)
const silentLog = { ...silent, child: () => silentLog, level: () => 100 } as unknown

/** Returns a restify server that has only its router. */
const createRestifyServer = (): RestifyServer => {
  const server = restify.createServer({
    name: '',
    log: silentLog,
    maxParamLength: 1000,
    ignoreTrailingSlash: true,
  } as unknown as Parameters<typeof restify.createServer>[0]) as unknown as RestifyServer
  // restify re-emits the errors of the listener on itself, where there is no handler. `listen` has already reported
  // them.
  server.on('error', () => undefined)
  return server
}

const verbs = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/**
 * Adds a route. `path` is a template (`/authz/roles/{id}`) and `name` is unique; names in restify consist of letters
 * only.
 */
const addRoute = (server: RoutedServer, method: Method, path: string, name: string, handler: NodeHandler): void => {
  const options = { path: path.replaceAll(/\{([^}]+)\}/g, ':$1'), name: name.replaceAll('.', '') }
  server.handlers.set(server.restify[verbs[method]](options, handler), handler)
}
