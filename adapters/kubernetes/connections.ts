import type { LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { isLeft } from 'fp-ts/lib/Either.js'
import { Pool } from 'undici'
import type { ClusterAnswer, ClusterRequest, ReachFailure } from '../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import type { ClusterConnection, ClusterCredential, GatewayRoute } from '../../core/clusters/types.ts'
import { gatewayGroup, gatewayRoot } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import { FairQueue } from '../../core/kernel/fair-queue.ts'
import { definedFields, textAt } from '../../core/kernel/json.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'

export interface TlsOptions {
  readonly lookup: LookupFunction
  readonly rejectUnauthorized: true
  readonly minVersion: 'TLSv1.2'
  readonly ca?: string
  readonly servername?: string
  readonly cert?: string
  readonly key?: string
}

/** Returns the TLS options of a credential, for an address that the policy permits. Verification is always on. */
export const tlsOptions = (credential: ClusterCredential, egress: EgressPolicy): TlsOptions => ({
  lookup: egress.lookup,
  rejectUnauthorized: true,
  minVersion: 'TLSv1.2',
  ...definedFields({ ca: credential.authorityPem, servername: credential.tlsServerName }),
  ...(credential.identity.kind === 'certificate'
    ? { cert: credential.identity.certificatePem, key: credential.identity.keyPem.reveal() }
    : {}),
})

/** Returns the header that authenticates the service, if the certificate does not. */
export const authorization = ({ identity }: ClusterCredential): readonly (readonly [string, string])[] => {
  const token = identity.kind === 'certificate' ? undefined : identity.token
  return token === undefined ? [] : [['authorization', `Bearer ${token.reveal()}`]]
}

/** The connections of a cluster record to one address with one credential. */
export interface ClusterPools {
  /** The newest version of the record that was seen with this address and credential. */
  readonly version: number
  /** The address and credential of the pools. Requests through them use no other credential. */
  readonly connection: ClusterConnection
  /** What every request through the pools needs of them. */
  readonly address: ClusterAddress
  /** The pools of the hub through which the cluster is reached. */
  readonly hub: ClusterPools | undefined
  /** For requests that end by themselves. The clusters of a hub share the hub's, with what counts them. */
  readonly short: Pool
  readonly shortRequests: ShortRequests
  /** For watches and logs, each on its own connection, so that they never delay short requests. */
  readonly long: Pool
  /** Upgraded connections, which are never pooled. */
  readonly tunnels: Set<Duplex>
}

/** What requests need of a connection, computed once for its address and credential. */
export interface ClusterAddress {
  /** Precedes every path of the cluster. */
  readonly prefix: string
  /** Why the address must not be connected to; undefined if it may be. */
  readonly refusal: string | undefined
}

export interface ConnectionPools {
  /**
   * Returns the pools for the address and credential of this connection, or those of a newer version of the record if
   * there is one. A change of the record that changes neither keeps them. If the address or the credential has changed,
   * new pools are made; what is under way on the old ones ends by itself. Returns undefined if the newer version is
   * reached in another way, through a hub or directly: the request has the identity for the old way.
   */
  of(connection: ClusterConnection): ClusterPools | undefined
  /** Closes all connections of a record that was removed, and those of the clusters behind it. */
  forget(id: ClusterId): Promise<void>
  /** Closes all connections, at shutdown. */
  close(): Promise<void>
}

/** The record was changed between a request's authorization and its sending. */
export const recordChanged = ClusterUnreachable(
  'The record of the cluster was changed at the same time. Send the request again.',
)

const shortConnections = 64
/** Short requests of one account that never wait for those of others. */
const promisedConnections = 16
const connectTimeoutMilliseconds = 10_000
const keepAliveMilliseconds = 30_000
/** Longer than a short request can wait between two of its calls. */
const retiredMilliseconds = 180_000

/** The short requests to one server that are under way, and those that wait. */
class ShortRequests {
  readonly #queue = new FairQueue<ShortPlace>()
  #inShort = 0

  readonly #isFull = (account: AccountKey): boolean =>
    this.#inShort >= shortConnections && this.#queue.runningOf(account) >= promisedConnections

  /** Returns the pool of a request that has started. */
  #poolOf({ pools: { short, long } }: ShortPlace): Pool {
    if (this.#inShort >= shortConnections) return long
    this.#inShort += 1
    return short
  }

  /** Returns the pool for a request; undefined if it must wait. */
  enter(place: ShortPlace): Pool | undefined {
    if (this.#isFull(place.account)) return void this.#queue.add(place)
    this.#queue.start(place)
    return this.#poolOf(place)
  }

  /** Removes a request that waits. */
  cancel(place: ShortPlace): void {
    this.#queue.remove(place)
  }

  end(place: ShortPlace, pool: Pool): void {
    this.#queue.end(place)
    if (pool === place.pools.short) this.#inShort -= 1
    for (;;) {
      const next = this.#queue.startNext(this.#isFull)
      if (next === undefined) return
      next.start(this.#poolOf(next))
    }
  }
}

/**
 * The place of a short request among those to one server. A client that sends or reads slowly holds a connection for as
 * long as it likes, and one with many of them could hold all. An account that has few under way gets another connection
 * then; what is more waits for its own, or its turn.
 */
export class ShortPlace {
  readonly pools: ClusterPools
  readonly account: AccountKey
  #pool: Pool | undefined
  #start: ((pool: Pool) => void) | undefined
  #hasLeft = false

  constructor(pools: ClusterPools, account: AccountKey) {
    this.pools = pools
    this.account = account
  }

  /** Calls `start` with the pool for the request, now or when it is its turn. To be called once. */
  enter(start: (pool: Pool) => void): void {
    this.#start = start
    const pool = this.pools.shortRequests.enter(this)
    if (pool !== undefined) this.start(pool)
  }

  /** Returns the pool for the request when it is its turn. Rejects with the reason of the signal for the wait. */
  entered(signalOfWait: () => AbortSignal): Promise<Pool> {
    return new Promise((resolve, reject) => {
      this.enter(resolve)
      if (this.#pool !== undefined) return
      const signal = signalOfWait()
      const leave = (): void => reject(signal.reason as Error)
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** For `ShortRequests` only. */
  start(pool: Pool): void {
    this.#pool = pool
    this.#start?.(pool)
  }

  /** To be called when the request has ended, or waits no longer. */
  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    if (this.#pool === undefined) this.pools.shortRequests.cancel(this)
    else this.pools.shortRequests.end(this, this.#pool)
  }
}

const cut = async (pools: ClusterPools): Promise<void> => {
  for (const tunnel of pools.tunnels) tunnel.destroy()
  await Promise.all([pools.hub === undefined ? pools.short.destroy() : undefined, pools.long.destroy()])
}

/** Returns what must be the same for pools to be shared. An issued token is that of one user, whose requests send it. */
const secretOf = ({ identity }: ClusterCredential): string => {
  if (identity.kind === 'issued') return `${identity.issuerId}/${identity.issuerUid}`
  return identity.kind === 'token' ? identity.token.reveal() : `${identity.certificatePem}\n${identity.keyPem.reveal()}`
}

const isSameCredential = (a: ClusterCredential, b: ClusterCredential): boolean =>
  a === b ||
  (a.server === b.server &&
    a.authorityPem === b.authorityPem &&
    a.tlsServerName === b.tlsServerName &&
    a.identity.kind === b.identity.kind &&
    secretOf(a) === secretOf(b))

/** Returns the credential of a request through pools: theirs or, of a user's token, the caller's own, if there is one. */
export const sentThrough = (
  { credential }: Pick<ClusterConnection, 'credential'>,
  asker: Pick<ClusterConnection, 'credential'>,
): ClusterCredential | undefined => {
  if (credential.identity.kind !== 'issued') return credential
  return isSameCredential(credential, asker.credential) ? asker.credential : undefined
}

const isSameEndpoint = (a: Endpoint, b: Endpoint): boolean =>
  a.via?.path === b.via?.path && isSameCredential(a.credential, b.credential)

const isIdle = ({ short, long, tunnels }: ClusterPools): boolean =>
  tunnels.size === 0 && short.stats.running + long.stats.running + short.stats.pending + long.stats.pending === 0

/** Pools that get no new requests. Their connections close when they have been idle for a while. */
class RetiredPools {
  readonly #pools = new Map<ClusterPools, number>()

  add(pools: ClusterPools): void {
    this.sweep()
    this.#pools.set(pools, performance.now())
  }

  /** Removes those whose work has ended. */
  sweep(): void {
    const before = performance.now() - retiredMilliseconds
    for (const [pools, sinceMs] of this.#pools) {
      if (sinceMs > before || !isIdle(pools)) continue
      this.#pools.delete(pools)
      void cut(pools)
    }
  }

  /** Removes and returns those of a record, and of the clusters behind it; or all. */
  take(id?: ClusterId): readonly ClusterPools[] {
    const belongs = ({ connection: { link, via } }: ClusterPools): boolean => link.id === id || via?.hub.id === id
    const taken = [...this.#pools.keys()].filter((pools) => id === undefined || belongs(pools))
    for (const pools of taken) this.#pools.delete(pools)
    return taken
  }
}

/**
 * @param maxClusters the number of clusters with open connections; the connections of the least recently used are
 * closed.
 */
export const makeConnectionPools = (egress: EgressPolicy, maxClusters = 1000): ConnectionPools => {
  const known = new Map<ClusterId, ClusterPools & { version: number }>()
  const retired = new RetiredPools()

  const make = (connection: ClusterConnection, hub: ClusterPools | undefined): ClusterPools => {
    const url = new URL(connection.credential.server)
    const options = {
      connect: { ...tlsOptions(connection.credential, egress), timeout: connectTimeoutMilliseconds },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMilliseconds,
    }
    return {
      version: connection.link.version,
      connection,
      address: {
        prefix: prefixOf(connection),
        refusal: egress.refusal(url),
      },
      hub,
      shortRequests: hub?.shortRequests ?? new ShortRequests(),
      short: hub?.short ?? new Pool(url.origin, { ...options, connections: shortConnections }),
      long: new Pool(url.origin, options),
      tunnels: new Set(),
    }
  }

  /** The pools of the clusters that are reached through this hub. */
  const behind = (hub: ClusterPools): readonly (readonly [ClusterId, ClusterPools])[] =>
    [...known].filter(([, pools]) => pools.hub === hub)

  const cutAll = async (pools: ClusterPools): Promise<void> => {
    const spokes = behind(pools)
    for (const [id] of spokes) known.delete(id)
    await Promise.all([pools, ...spokes.map(([, spoke]) => spoke)].map(cut))
  }

  const evictIdle = (): void => {
    for (const [id, pools] of known) {
      if (known.size <= maxClusters) return
      if (![pools, ...behind(pools).map(([, spoke]) => spoke)].every(isIdle)) continue
      known.delete(id)
      void cutAll(pools)
    }
  }

  const isCurrent = (hub: ClusterPools | undefined): boolean =>
    hub === undefined || known.get(hub.connection.link.id) === hub

  /** A request that read the record just before a change must use the pools made after the change. */
  const fits = (kept: ClusterPools, connection: ClusterConnection, hub: ClusterPools | undefined): boolean =>
    kept.version > connection.link.version
      ? kept.hub === hub || hub === undefined || isCurrent(kept.hub)
      : kept.hub === hub && (kept.version === connection.link.version || isSameEndpoint(kept.connection, connection))

  const open = (connection: ClusterConnection, hub: ClusterPools | undefined): ClusterPools => {
    const { id, version } = connection.link
    const kept = known.get(id)
    // The least recently used is first: a map keeps insertion order.
    if (kept !== undefined) known.delete(id)
    if (kept !== undefined && fits(kept, connection, hub)) {
      kept.version = Math.max(kept.version, version)
      known.set(id, kept)
      return kept
    }
    if (kept !== undefined) retired.add(kept)
    const made = make(connection, hub)
    known.set(id, made)
    return made
  }

  return {
    of(connection) {
      const { credential, via } = connection
      const hub = via === undefined ? undefined : open({ link: via.hub, credential }, undefined)
      // The hub's record may have a newer credential than the caller has.
      const opened = open(
        hub === undefined ? connection : { ...connection, credential: hub.connection.credential },
        hub,
      )
      if (known.size > maxClusters) evictIdle()
      return (opened.hub === undefined) === (hub === undefined) ? opened : undefined
    },
    async forget(id) {
      const kept = known.get(id)
      known.delete(id)
      await Promise.all([...(kept === undefined ? [] : [cutAll(kept)]), ...retired.take(id).map(cut)])
    },
    async close() {
      const all = [...known.values(), ...retired.take()]
      known.clear()
      await Promise.all(all.map(cut))
    },
  }
}

/** An address with the credential that is sent there. */
export type Endpoint = Pick<ClusterConnection, 'credential' | 'via'> & {
  /** The owner of the record; undefined for a credential that is not stored yet. */
  readonly ownerId?: AccountId | undefined
}

/** Returns what precedes every path of the cluster: the server's own prefix, and the hub's path to the cluster. */
export const prefixOf = ({ credential, via }: Endpoint): string =>
  `${new URL(credential.server).pathname.replace(/\/+$/, '')}${via?.path ?? ''}`

/** Sends one request to the hub itself, without the identity of a caller. */
export type AskHub = (request: ClusterRequest) => Outcome<ReachFailure, ClusterAnswer>

/** The statuses that the hub or its gateway may have given instead of the cluster. */
const doubtfulStatuses: ReadonlySet<number> = new Set([401, 403, 404, 500, 502, 503, 504])

/** Reports whether an answer with this status must be read before it can count as the cluster's own. */
export const isDoubtful = (status: number): boolean => doubtfulStatuses.has(status)

/**
 * Reports whether only the gateway's discovery document shows who gave this answer: both API servers use the same text
 * for a path that they do not serve, and the same Status for a credential that they refuse.
 */
const needsDiscovery = ({ status, text }: ClusterAnswer): boolean =>
  status === 401 ||
  (status === 404 && text.trim() === '404 page not found') ||
  status === 502 ||
  status === 503 ||
  status === 504

const isUnknownCluster = ({ status, json }: ClusterAnswer): boolean =>
  (status === 404 && textAt(json, 'details', 'group') === gatewayGroup) ||
  (status === 500 && textAt(json, 'message').includes('no such cluster'))

/** Returns the failure that an answer says on its own; undefined if the cluster gave it. */
const failureOnTheWay = (answer: ClusterAnswer, { managedClusterName }: GatewayRoute): ReachFailure | undefined => {
  if (answer.status === 403 && textAt(answer.json, 'message').includes('cannot impersonate'))
    return CredentialRefused(
      'The credential of the hub, or that of its cluster gateway, may not impersonate users. It needs the ' +
        'verb impersonate on users and userextras.',
    )
  return isUnknownCluster(answer)
    ? ClusterUnreachable(`The cluster gateway of the hub does not know the cluster ${managedClusterName}.`)
    : undefined
}

/**
 * Returns the failure that follows from the status of the gateway's discovery document; undefined if the cluster gave
 * the answer.
 */
const failureByDiscovery = ({ status }: ClusterAnswer, discoveryStatus: number): ReachFailure | undefined => {
  if (discoveryStatus === 401) return CredentialRefused('The hub refused the stored credential of its record.')
  if (discoveryStatus === 404)
    return ClusterUnreachable(
      `The hub does not serve ${gatewayGroup}. Install the cluster gateway on the hub, or store an access ` +
        'config for this cluster.',
    )
  if (discoveryStatus >= 500) return ClusterUnreachable('The cluster gateway of the hub does not answer.')
  // A 401 would tell clients that their token for this service is refused.
  return status === 401
    ? CredentialRefused('The cluster refused the credential of the cluster gateway of its hub.')
    : undefined
}

/**
 * Reports whether a service behind the cluster refused a credential of its own: the API servers answer with a Status.
 */
const isForeignRefusal = ({ status, json }: ClusterAnswer): boolean =>
  status === 401 && textAt(json, 'kind') !== 'Status'

/** Returns the failure that a 401 to a request for a service means; undefined if the service gave it. */
export const judgeForeign = (answer: ClusterAnswer): ReachFailure | undefined =>
  isForeignRefusal(answer) ? undefined : CredentialRefused('The cluster refused the stored credential.')

/**
 * Returns the failure of the way to the cluster that an answer through the hub's gateway shows; undefined if it is the
 * cluster's own answer.
 */
export const judgeAnswer = async (
  answer: ClusterAnswer,
  via: GatewayRoute,
  askHub: AskHub,
  isForeign = false,
): Promise<ReachFailure | undefined> => {
  if (isForeign && isForeignRefusal(answer)) return undefined
  const failure = failureOnTheWay(answer, via)
  if (failure !== undefined || !needsDiscovery(answer)) return failure
  const discovery = await askHub({ method: 'GET', target: gatewayRoot })
  if (!isLeft(discovery)) return failureByDiscovery(answer, discovery.right.status)
  // The request to the hub reports its refusal of the credential as a failure.
  return discovery.left.tag === 'CredentialRefused' ? failureByDiscovery(answer, 401) : discovery.left
}

/** Returns a failure of the connection with the host that failed. */
export const namingHub = (failure: ReachFailure, via: GatewayRoute | undefined): ReachFailure =>
  via !== undefined && failure.tag === 'ClusterUnreachable'
    ? {
        ...failure,
        message: `The cluster is reached through its hub. ${failure.message.replace(/^The cluster\b/, 'The hub')}`,
      }
    : failure
