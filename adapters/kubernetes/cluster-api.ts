import { left } from 'fp-ts/lib/Either.js'
import { Pool } from 'undici'
import { AddressRefused, type ClusterApi } from '../../core/clusters/ports.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import { askCluster } from './ask-cluster.ts'
import type { ConnectionPools } from './connection-pools.ts'
import { survey } from './survey.ts'
import { tlsOptions } from './tls-options.ts'

const requestTimeoutMilliseconds = 10_000
/** A look at a cluster is several requests, and someone waits for it. */
const surveyTimeoutMilliseconds = 8_000

export const makeUndiciClusterApi = (pools: ConnectionPools, egress: EgressPolicy): ClusterApi => ({
  async survey(credential, signal) {
    const url = new URL(credential.server)
    const refused = egress.refusal(url)
    if (refused !== undefined) return left(AddressRefused(refused))
    // The credential may never be stored, so nothing of it is kept.
    const pool = new Pool(url.origin, {
      connect: { ...tlsOptions(credential, egress), timeout: surveyTimeoutMilliseconds },
      connections: 4,
      pipelining: 1,
      allowH2: false,
    })
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(surveyTimeoutMilliseconds)])
    try {
      return await survey((target) => askCluster(pool, credential, { method: 'GET', target }, surveyTimeoutMilliseconds, deadline))
    } finally {
      await pool.destroy()
    }
  },

  async request(asker, asked, signal) {
    // The pools may be of a newer version than the asker knows: then its credential must not follow them elsewhere.
    const { short, connection } = pools.of(asker)
    const refused = egress.refusal(new URL(connection.credential.server))
    if (refused !== undefined) return left(AddressRefused(refused))
    return askCluster(short, connection.credential, asked, requestTimeoutMilliseconds, signal)
  },
})
