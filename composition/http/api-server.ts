import { setMaxListeners } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { BoundStreamRoute } from '../../plugins/kit/route.ts'
import type { AssembledRoute } from '../assemble.ts'
import { bindRoute } from './bind-route.ts'
import type { BinderDeps, NodeHandler } from './binder-deps.ts'
import { bindFeedRoute } from './feed-route.ts'
import type { FeedTimes } from './feed-route.ts'
import type { DialectAt, GuardDeps, Pages } from './guard.ts'
import { answerUnrouted, codingRefusal, makeDialectAt, makeFirst, makeGuard, makeMethodsAt } from './guard.ts'
import { contextOf } from './request-context.ts'
import type { RestifyServer } from './restify-server.ts'
import { addRoute, createRestifyServer } from './restify-server.ts'
import type { TlsKeys } from './shared-port.ts'
import { shareWithTls } from './shared-port.ts'
import { bindStreamRoute } from './stream-route.ts'
import { makeUpgradeListener, mayUpgrade, refuseNoted, refuseUpgrade } from './upgrade.ts'

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
}

/** A listener of the service. */
export interface ApiServer {
  listen(address: ListenAddress): Promise<ListenAddress>
  /** Takes no new connection; keep-alive connections close after their current answer. */
  stopAccepting(): void
  /** Waits for requests in flight, at most `graceMs`; endless streams (watch, exec) are cut after `streamGraceMs`. */
  close(graceMs: number, streamGraceMs: number): Promise<void>
  /** What is open now: streamed exchanges, and upgraded connections. */
  openStreams(): { readonly exchanges: number; readonly tunnels: number }
}

const tune = (server: Server): void => {
  server.headersTimeout = 15_000
  server.requestTimeout = 60_000
  // Above what load balancers keep, so that it is never us who close a connection that they are about to use.
  server.keepAliveTimeout = 75_000
  server.maxRequestsPerSocket = 1_000
  server.maxConnections = 20_000
  // Node answers both of these itself, without a body; the guard says what is wrong, and an unknown expectation is none.
  Object.assign(server, { requireHostHeader: false })
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
}

const statusOfClientError: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

/** A length beside a transfer coding has the same code, and is no matter of the coding. */
const isOtherCoding = ({ code, reason }: NodeJS.ErrnoException & { readonly reason?: string }): boolean =>
  code === 'HPE_INVALID_TRANSFER_ENCODING' && reason?.includes('Content-Length') !== true

/** Answers what is no HTTP at all, and closes. */
const onClientError = (error: NodeJS.ErrnoException, socket: Duplex, docsUrl: string): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (isOtherCoding(error)) return refuseUpgrade(socket, codingRefusal, docsUrl, '', 'platform')
  const [status, message] = statusOfClientError[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  refuseUpgrade(socket, { status, code: 'BadRequest', message }, docsUrl, '', 'platform')
}

const bindAll = (server: RestifyServer, deps: ApiServerDeps, streams: Set<ServerResponse>, closing: AbortSignal): void => {
  for (const { bound, fullPath } of deps.routes) {
    if (bound.kind === 'json') {
      const handler = bound.route.ok.kind === 'feed' ? bindFeedRoute(deps, bound, closing, deps.feedTimes) : bindRoute(deps, bound)
      addRoute(server, bound.route.method, fullPath, bound.route.id, handler)
    } else bindStream(server, deps, bound, fullPath, streams)
  }
}

const bindStream = (
  server: RestifyServer,
  deps: ApiServerDeps,
  bound: BoundStreamRoute,
  fullPath: string,
  streams: Set<ServerResponse>,
): void => {
  const { id, methods, path } = bound.route
  const handler = bindStreamRoute(deps, bound, fullPath.slice(0, fullPath.length - path.length))
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

const listenOn = (node: Server, { host, port }: ListenAddress): Promise<ListenAddress> =>
  new Promise((resolve, reject) => {
    node.once('error', reject)
    node.listen(port, host, () => {
      node.off('error', reject)
      const bound = node.address() as AddressInfo
      resolve({ host: bound.address, port: bound.port })
    })
  })

/** Builds a listener over restify: a guard in `first`, the router, and one composed async handler a route. */
export const makeApiServer = (deps: ApiServerDeps): ApiServer => {
  const server = createRestifyServer()
  const guard = makeGuard(deps)
  const streams = new Set<ServerResponse>()
  const tunnels = new Set<Duplex>()
  const closing = new AbortController()
  // Each feed that is open listens.
  setMaxListeners(0, closing.signal)
  const dialectAt = makeDialectAt(deps.routes)
  const unrouted = { docsUrl: deps.docsUrl, methodsAt: makeMethodsAt(deps.routes), dialectAt }
  server.first(makeFirst({ ...deps, dialectAt }, guard, deps.roots, deps.pages))
  // The callback is not called: the answer is complete, and restify would write its own behind it.
  server.on('restifyError', (req, res, error) => answerUnrouted(unrouted, req, res, contextOf(req), error))
  bindAll(server, deps, streams, closing.signal)
  const node = server.server
  tune(node)
  node.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => onClientError(error, socket, deps.ownAddress({ headers: {}, socket: socket as Socket }, undefined).url + deps.docsUrl))
  attachUpgrades(node, deps, guard, tunnels, dialectAt)
  const dropUndecided = deps.tls === undefined ? () => undefined : shareWithTls(node, deps.tls)
  let closed: Promise<void> | undefined

  return {
    listen: (address) => listenOn(node, address),
    openStreams: () => ({ exchanges: streams.size, tunnels: tunnels.size }),
    stopAccepting() {
      closed ??= new Promise((resolve) => node.close(() => resolve()))
      closing.abort()
      node.closeIdleConnections()
      dropUndecided()
    },
    async close(graceMs, streamGraceMs) {
      this.stopAccepting()
      const cutStreams = setTimeout(() => {
        for (const open of [...streams, ...tunnels]) open.destroy()
      }, streamGraceMs)
      const cutAll = setTimeout(() => node.closeAllConnections(), graceMs)
      // A kept-alive connection whose last answer is out is idle, and Node closes only those that were idle already.
      const sweep = setInterval(() => node.closeIdleConnections(), 50)
      await closed
      clearInterval(sweep)
      clearTimeout(cutStreams)
      clearTimeout(cutAll)
      for (const socket of tunnels) socket.destroy()
    },
  }
}
