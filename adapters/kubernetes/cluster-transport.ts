import type { Readable } from 'node:stream'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Dispatcher } from 'undici'
import { type ClusterTransport, ClusterUnreachable, type UpstreamRequest } from '../../core/clusters/ports.ts'
import type { ClusterConnection } from '../../core/clusters/types.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import type { ConnectionPools } from './connection-pools.ts'
import { RelayHandler } from './relay-handler.ts'
import { authorization } from './tls-options.ts'
import { tunnel } from './tunnel.ts'

const shortTimeoutMilliseconds = 120_000

/** The server's own prefix (a gateway's path to one cluster among several) stands before every path. */
const withPrefix = (connection: ClusterConnection, upstream: UpstreamRequest): UpstreamRequest => {
  const prefix = new URL(connection.credential.server).pathname.replace(/\/+$/, '')
  return prefix === '' ? upstream : { ...upstream, target: `${prefix}${upstream.target}` }
}

const dispatchOptions = (connection: ClusterConnection, upstream: UpstreamRequest, body: AsyncIterable<Uint8Array> | undefined): Dispatcher.DispatchOptions => {
  const timeout = upstream.isLongLived ? 0 : shortTimeoutMilliseconds
  return {
    method: upstream.method as Dispatcher.HttpMethod,
    path: upstream.target,
    headers: [...upstream.headers, ...authorization(connection.credential)].flat(),
    // undici takes any async iterable; its declaration lists only Node's own streams.
    body: (body ?? null) as Readable | null,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    // A kept connection that the cluster has just closed must not make a change twice.
    idempotent: upstream.method === 'GET' || upstream.method === 'HEAD',
    blocking: false,
  }
}

export const makeUndiciClusterTransport = (pools: ConnectionPools, egress: EgressPolicy): ClusterTransport => ({
  relay(asker, upstream, exchange, signal) {
    // The pools may be of a newer version than the asker knows: then its credential must not follow them elsewhere.
    const { short, long, connection } = pools.of(asker)
    const refused = egress.refusal(new URL(connection.credential.server))
    if (refused !== undefined) return Promise.resolve(left(ClusterUnreachable(refused)))
    return new Promise((done, fail) => {
      const handler = new RelayHandler(exchange, upstream, signal, (failure) => done(failure === undefined ? right(undefined) : left(failure)))
      try {
        ;(upstream.isLongLived ? long : short).dispatch(dispatchOptions(connection, withPrefix(connection, upstream), exchange.body), handler)
      } catch (error) {
        fail(error)
      }
    })
  },

  tunnel(connection, upstream, exchange, signal) {
    const refused = egress.refusal(new URL(connection.credential.server))
    if (refused !== undefined) return Promise.resolve(left(ClusterUnreachable(refused)))
    const { tunnels } = pools.of(connection)
    return tunnel(connection.credential, egress, withPrefix(connection, upstream), exchange, signal, (socket) => {
      tunnels.add(socket)
      socket.on('close', () => tunnels.delete(socket))
    })
  },

  forget: (id) => pools.forget(id),
})
