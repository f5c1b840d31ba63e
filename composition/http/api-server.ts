import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { BoundStreamRoute } from '../../plugins/kit/route.ts'
import type { AssembledRoute } from '../assemble.ts'
import { bindRoute } from './bind-route.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import type { Connections, NoteEndless } from './connections.ts'
import { watchConnections } from './connections.ts'
import { bindFeedRoute } from './streams/feed-route.ts'
import type { FeedTimes } from './streams/feed-route.ts'
import type { DialectAt, GuardDeps, Pages } from './request/guard.ts'
import { answerUnrouted, codingRefusal, makeDialectAt, makeFirst, makeGuard, makeMethodsAt } from './request/guard.ts'
import type { HttpLimits } from './http-limits.ts'
import { httpLimits } from './http-limits.ts'
import { contextOf } from './request/request-context.ts'
import type { RestifyServer } from './restify-server.ts'
import { addRoute, createRestifyServer } from './restify-server.ts'
import type { TlsKeys } from './shared-port.ts'
import { shareWithTls } from './shared-port.ts'
import { bindStreamRoute } from './streams/stream-route.ts'
import { makeUpgradeListener, mayUpgrade, refuseNoted, refuseUpgrade } from './streams/upgrade.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface ApiServerDeps extends BinderDeps, GuardDeps {
  readonly routes: readonly AssembledRoute[]
  /** `/api/v1`, and `/marketplace/api/v1` where one socket serves both. */
  readonly roots: readonly string[]
  readonly pages: Pages
  /** With it the port speaks HTTPS beside HTTP. */
  readonly tls: TlsKeys | undefined
  /** Other times for feeds than those of a service. */
  readonly feedTimes?: FeedTimes
  /** Other limits than those of a service. */
  readonly limits?: Partial<HttpLimits>
}

/** How long a stop waits. Milliseconds, from the call of `close`. */
export interface StopTimes {
  /** A connection that has been silent for so long when nothing new is accepted any more is ended. */
  readonly quiet: number
  /** Requests in flight, and everything else, are cut after this. */
  readonly requests: number
  /** Streams have so long to end once they were asked to; within the time of requests. */
  readonly streams: number
}

/** A listener of the service. */
export interface ApiServer {
  /** `held` listens on this address already; this listener takes its port over. */
  listen(address: ListenAddress, held?: NetServer): Promise<ListenAddress>
  /** From now on each answer says that it is the last on its connection; everything else goes on. */
  drain(): void
  /**
   * Ends in order: nothing new is accepted, silent connections end, requests in flight are answered, streams (feeds,
   * watches, tunnels) are ended, and what has not ended by then is cut.
   */
  close(times: StopTimes): Promise<void>
  /** What is open now: streamed exchanges, and upgraded connections. */
  openStreams(): { readonly exchanges: number; readonly tunnels: number }
}

/** So often Node looks for requests that are late. */
const longestLookMs = 500

const tune = (server: Server, limits: HttpLimits): void => {
  const lookMs = Math.min(longestLookMs, limits.headers / 10)
  // A look early rather than late.
  server.headersTimeout = limits.headers - lookMs
  server.requestTimeout = limits.request - lookMs
  // Above what load balancers keep, so that it is never us who close a connection that they are about to use.
  server.keepAliveTimeout = limits.keepAlive
  server.maxRequestsPerSocket = 1_000
  server.maxConnections = 20_000
  Object.assign(server, {
    // Read when it begins to listen, and 30 s otherwise. restify passes no options to Node.
    connectionsCheckingInterval: lookMs,
    // Node answers a missing Host itself, without a body; the guard says what is wrong.
    requireHostHeader: false,
    // `close` calls it, and it would destroy connections on which a request may just arrive.
    closeIdleConnections: () => undefined,
  })
  // Node answers this itself, without a body; an unknown expectation is none.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
}

const statusOfClientError: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

/** A length beside a transfer coding has the same code, and is no matter of the coding. */
const isOtherCoding = ({ code, reason }: NodeJS.ErrnoException & { readonly reason?: string }): boolean =>
  code === 'HPE_INVALID_TRANSFER_ENCODING' && reason?.includes('Content-Length') !== true

/** Answers what is no HTTP at all, or does not arrive, and closes. Within another answer there is no place for it. */
const onClientError = (error: NodeJS.ErrnoException, socket: Duplex, docsUrl: string, connections: Connections): void => {
  if (error.code === 'ECONNRESET' || !socket.writable || connections.isAnswering(socket)) return void socket.destroy()
  if (isOtherCoding(error)) return refuseUpgrade(socket, codingRefusal, docsUrl, '', 'platform')
  const [status, message] = statusOfClientError[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  refuseUpgrade(socket, { status, code: 'BadRequest', message }, docsUrl, '', 'platform')
}

const bindAll = (server: RestifyServer, deps: ApiServerDeps, streams: Set<ServerResponse>, noteEndless: NoteEndless): void => {
  for (const { bound, fullPath } of deps.routes) {
    if (bound.kind === 'json') {
      const handler = bound.route.ok.kind === 'feed' ? bindFeedRoute(deps, bound, noteEndless, deps.feedTimes) : bindRoute(deps, bound)
      addRoute(server, bound.route.method, fullPath, bound.route.id, handler)
    } else bindStream(server, deps, bound, fullPath, streams, noteEndless)
  }
}

const bindStream = (
  server: RestifyServer,
  deps: ApiServerDeps,
  bound: BoundStreamRoute,
  fullPath: string,
  streams: Set<ServerResponse>,
  noteEndless: NoteEndless,
): void => {
  const { id, methods, path } = bound.route
  const handler = bindStreamRoute(deps, bound, fullPath.slice(0, fullPath.length - path.length), noteEndless)
  const tracked: NodeHandler = async (req, res) => {
    streams.add(res)
    res.once('close', () => streams.delete(res))
    await handler(req, res)
  }
  for (const method of methods) {
    addRoute(server, method, fullPath, `${id}${method}`, tracked)
    // The wildcard does not match the bare prefix, which is the discovery root of a proxied API.
    addRoute(server, method, fullPath.replace(/\/\*$/, ''), `${id}${method}root`, tracked)
  }
}

const attachUpgrades = (node: Server, deps: ApiServerDeps, guard: ReturnType<typeof makeGuard>, tunnels: Set<Duplex>, dialectAt: DialectAt): void => {
  const streamRoutes = deps.routes.flatMap(({ bound }) => (bound.kind === 'stream' ? [bound] : []))
  const serve = makeUpgradeListener({ ...deps, dialectAt }, streamRoutes, deps.roots[0] ?? '')
  Object.assign(node, { shouldUpgradeCallback: mayUpgrade })
  node.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    tunnels.add(socket)
    socket.once('close', () => tunnels.delete(socket))
    const { context, refused } = guard(req)
    // Node makes no response for an upgrade; its line is written when the connection ends.
    deps.accessLog(socket, context)
    if (refused !== undefined) return refuseNoted(socket, refused, deps.docsUrl, context, dialectAt(req.url ?? ''))
    void serve(req, socket, head, context)
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

/** A flood of connections does not keep a stop waiting for longer. */
const longestAcceptMs = 5_000

/**
 * Stops listening. The kernel resets connections that it has accepted and we have not, so this happens right after a turn
 * of the event loop that found none. A turn accepts one: until none is left those that come are put aside, or clients
 * that are answered would open the next ones faster than they are accepted.
 */
const stopListening = (node: Server, stopped: () => void): Promise<void> =>
  new Promise((resolve) => {
    const listeners = node.listeners('connection') as ((this: Server, socket: Socket) => void)[]
    const aside: Socket[] = []
    const ignore = (): void => undefined
    const lastLook = performance.now() + longestAcceptMs
    const look = (found: number): void => {
      if (aside.length !== found && performance.now() < lastLook) return void setImmediate(look, aside.length)
      node.close(stopped)
      for (const socket of aside) {
        socket.off('error', ignore)
        if (!socket.destroyed) for (const listener of listeners) listener.call(node, socket)
      }
      resolve()
    }
    node.removeAllListeners('connection')
    node.on('connection', (socket: Socket) => void aside.push(socket.on('error', ignore)))
    setImmediate(look, -1)
  })

/** So often a stop looks for connections that have become silent. */
const sweepMs = 50

/** Builds a listener over restify: a guard in `first`, the router, and one composed async handler a route. */
export const makeApiServer = (deps: ApiServerDeps): ApiServer => {
  const limits = { ...httpLimits, ...deps.limits }
  const server = createRestifyServer()
  const guard = makeGuard(deps)
  const streams = new Set<ServerResponse>()
  const tunnels = new Set<Duplex>()
  const dialectAt = makeDialectAt(deps.routes)
  const unrouted = { docsUrl: deps.docsUrl, methodsAt: makeMethodsAt(deps.routes), dialectAt }
  const node = server.server
  const connections = watchConnections(node, limits)
  server.first((req) => !connections.isTooLate(req))
  server.first(makeFirst({ ...deps, dialectAt }, guard, deps.roots, deps.pages))
  // The callback is not called: the answer is complete, and restify would write its own behind it.
  server.on('restifyError', (req, res, error) => answerUnrouted(unrouted, req, res, contextOf(req), error))
  bindAll(server, deps, streams, connections.noteEndless)
  tune(node, limits)
  node.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    onClientError(error, socket, deps.ownAddress({ headers: {}, socket: socket as Socket }, undefined).url + deps.docsUrl, connections))
  attachUpgrades(node, deps, guard, tunnels, dialectAt)
  const dropUndecided = deps.tls === undefined ? () => undefined : shareWithTls(node, deps.tls, limits.firstBytes)

  const endStreams = (cutAfterMs: number): NodeJS.Timeout => {
    connections.endEndless()
    // The two sides of a tunnel speak a protocol of their own, in which nothing can be said here.
    for (const socket of tunnels) socket.end()
    return setTimeout(() => {
      connections.cutEndless()
      for (const socket of tunnels) socket.destroy()
    }, cutAfterMs)
  }
  const close = async ({ quiet, requests, streams: streamsMs }: StopTimes): Promise<void> => {
    const streamsEndBy = performance.now() + requests - streamsMs
    const cutAll = setTimeout(() => {
      dropUndecided(0)
      node.closeAllConnections()
    }, requests)
    const closed = Promise.withResolvers<void>()
    await stopListening(node, closed.resolve)
    let cutStreams: NodeJS.Timeout | undefined
    // After a look at what has arrived, so that no request is on its way to a connection that ends.
    const sweep = (): void => void setImmediate(() => {
      dropUndecided(quiet)
      connections.endIdle(quiet)
      if (cutStreams === undefined && (connections.unanswered() === 0 || performance.now() >= streamsEndBy)) cutStreams = endStreams(streamsMs)
    })
    sweep()
    const sweeping = setInterval(sweep, sweepMs)
    await closed.promise
    clearInterval(sweeping)
    clearTimeout(cutStreams)
    clearTimeout(cutAll)
  }
  let closing: Promise<void> | undefined

  return {
    listen: (address, held) => listenOn(node, address, held),
    openStreams: () => ({ exchanges: streams.size, tunnels: tunnels.size }),
    drain: connections.sayClose,
    close: (times) => {
      connections.sayClose()
      return (closing ??= close(times))
    },
  }
}
