import type { Duplex } from 'node:stream'
import { Pool } from 'undici'
import type { ClusterConnection } from '../../core/clusters/types.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import { tlsOptions } from './tls-options.ts'

/** The connections of one version of one cluster record. */
export interface ClusterPools {
  readonly version: number
  /** Where they lead, and with which credential: what goes through them carries no other. */
  readonly connection: ClusterConnection
  /** Requests that end by themselves. */
  readonly short: Pool
  /** Watches and logs, each on its own connection, so that they never keep short requests waiting. */
  readonly long: Pool
  /** Connections that left HTTP; never pooled. */
  readonly tunnels: Set<Duplex>
}

export interface ConnectionPools {
  /** The pools for this version; those of another version of the record are cut. */
  of(connection: ClusterConnection): ClusterPools
  forget(id: ClusterId): Promise<void>
  /** Cuts everything, at shutdown. */
  close(): Promise<void>
}

const shortConnections = 64
const connectTimeoutMilliseconds = 10_000
const keepAliveMilliseconds = 30_000

const cut = async (pools: ClusterPools): Promise<void> => {
  for (const tunnel of pools.tunnels) tunnel.destroy()
  await Promise.all([pools.short.destroy(), pools.long.destroy()])
}

/** @param maxClusters how many clusters keep open connections at most; the one used least recently is cut. */
export const makeConnectionPools = (egress: EgressPolicy, maxClusters = 1000): ConnectionPools => {
  const known = new Map<ClusterId, ClusterPools>()

  const make = (connection: ClusterConnection): ClusterPools => {
    const origin = new URL(connection.credential.server).origin
    const options = {
      connect: { ...tlsOptions(connection.credential, egress), timeout: connectTimeoutMilliseconds },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMilliseconds,
    }
    return {
      version: connection.link.version,
      connection,
      short: new Pool(origin, { ...options, connections: shortConnections }),
      long: new Pool(origin, options),
      tunnels: new Set(),
    }
  }

  const isIdle = (pools: ClusterPools): boolean =>
    pools.tunnels.size === 0 && pools.short.stats.running + pools.long.stats.running + pools.short.stats.pending + pools.long.stats.pending === 0

  const evictIdle = (): void => {
    for (const [id, pools] of known) {
      if (known.size <= maxClusters) return
      if (!isIdle(pools)) continue
      known.delete(id)
      void cut(pools)
    }
  }

  return {
    of(connection) {
      const { id, version } = connection.link
      const kept = known.get(id)
      // Least recently used first: a map keeps the order of insertion.
      if (kept !== undefined) known.delete(id)
      // A request that read the record just before it changed must not cut what was made after.
      if (kept !== undefined && kept.version >= version) {
        known.set(id, kept)
        return kept
      }
      if (kept !== undefined) void cut(kept)
      const made = make(connection)
      known.set(id, made)
      evictIdle()
      return made
    },
    async forget(id) {
      const kept = known.get(id)
      known.delete(id)
      if (kept !== undefined) await cut(kept)
    },
    async close() {
      const all = [...known.values()]
      known.clear()
      await Promise.all(all.map(cut))
    },
  }
}
