import type { Either } from 'fp-ts/lib/Either.js'
import type { AccessGrant, EntryRefusal } from '../kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../kernel/ids.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Exchange, HeaderBag, UpgradeExchange } from '../kernel/exchange.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { TaskStores } from '../tasks/ports.ts'
import type {
  Cluster,
  ClusterPhase,
  ClusterChange,
  ClusterConnection,
  ClusterCredential,
  ClusterFacts,
  ClusterLink,
  ClusterStatus,
  ClusterSurvey,
  GatewayRoute,
  HostingProvider,
  NewCluster,
} from './types.ts'

/** The owner does not have a cluster of that name. */
export const ClusterMissing = defineFailure(
  'ClusterMissing',
  'NotFound',
  'The cluster does not exist, or its record was removed during the request.',
)
/** The owner already has a cluster of that name. */
export const ClusterNameTaken = defineFailure(
  'ClusterNameTaken',
  'Unprocessable',
  'Another cluster of the account has this name.',
)
/** The same cluster is already recorded under this owner, by another name. */
export const ClusterAlreadyImported = defineFailure(
  'ClusterAlreadyImported',
  'Unprocessable',
  'The account has already imported this cluster under another name.',
)
/** The request contradicts the path, the record or the cluster. */
export const ClusterMismatch = defineFailure(
  'ClusterMismatch',
  'Unprocessable',
  'A field of the body contradicts the path or the cluster that the access config leads to.',
)
/** The access config is missing, unreadable, or requires something unsupported. */
export const AccessConfigRefused = defineFailure(
  'AccessConfigRefused',
  'Unprocessable',
  'The access config is missing, is not a usable kubeconfig, or contradicts itself.',
)
/** The address in an access config is not allowed in this installation. */
export const AddressRefused = defineFailure(
  'AddressRefused',
  'Unprocessable',
  'The address is not one that this service may connect to.',
)
/** The cluster did not respond, or not as a Kubernetes API server does. */
export const ClusterUnreachable = defineFailure(
  'ClusterUnreachable',
  'Upstream',
  'The cluster did not answer in time, or not as it should.',
  ['GatewayTimeout'],
)
/** The cluster responded 401 to the stored credential; this is never the caller's error. */
export const CredentialRefused = defineFailure(
  'CredentialRefused',
  'Upstream',
  'The cluster does not accept the stored credential, or not for this request.',
)
/** The record does not contain a credential, and there is no hub through which the cluster can be reached. */
export const ClusterNotConnected = defineFailure(
  'ClusterNotConnected',
  'Upstream',
  'The cluster has no connection at this time.',
)
/** The record was changed concurrently. */
export const ClusterChanged = defineFailure(
  'ClusterChanged',
  'Conflict',
  'Another request changed the cluster since it was read.',
)
/** Client organizations have namespaces and rights on the cluster, or on spokes of it. */
export const ClusterInUse = defineFailure(
  'ClusterInUse',
  'Conflict',
  'Client organizations use the cluster. Remove it from them first.',
)
/** The path is ambiguous, or does not exist in any Kubernetes API. */
export const ProxyPathRefused = defineFailure(
  'ProxyPathRefused',
  'Invalid',
  'The path or the method cannot be sent to the cluster.',
)

/** The request asks to be carried out as another user. */
export const ImpersonationRefused = defineFailure(
  'ImpersonationRefused',
  'Forbidden',
  'The request asks to be carried out as another user, which is not served.',
)

/** The body of a computed form is too large or malformed. */
export const ProxyBodyRefused = defineFailure(
  'ProxyBodyRefused',
  'Unprocessable',
  'The body cannot be checked, so it is not sent to the cluster.',
)

/** Reasons why a request to a cluster failed. */
export type ReachFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'> | Failure<'AddressRefused'>

/** By what a list of clusters can be sorted. */
export const clusterOrders = ['name', 'displayName', 'created', 'nodes', 'phase', 'provider', 'version'] as const
export type ClusterOrder = (typeof clusterOrders)[number]

/** Which clusters a list has, and in which order. */
export interface ClusterSelection {
  readonly provider: HostingProvider | undefined
  readonly phase: ClusterPhase | undefined
  /** A part of the name, the shown name, the UID or the address; in any case. */
  readonly text: string | undefined
  readonly order: ClusterOrder
  readonly isDescending: boolean
}

/** Cluster records. Every lookup by name is within one owner. */
export interface ClusterStore {
  /** Returns all clusters of an owner, sorted by name. */
  listOf(ownerId: AccountId): Promise<readonly Cluster[]>
  /** Returns the clusters of an owner that a list selects, in its order; those that are equal in it by name. */
  listSelected(ownerId: AccountId, selection: ClusterSelection, page: PageRequest): Promise<Page<Cluster>>
  /** Returns the clusters of all accounts, sorted by owner and name; for site admins. */
  listAll(page: PageRequest): Promise<Page<Cluster>>
  /**
   * Returns the accounts whose clusters a user may have access to: the user's own, and every organization that the user
   * belongs to.
   */
  accountsOf(userId: UserId): Promise<readonly ClusterAccount[]>
  /**
   * Returns the clusters on which the user has a direct grant of one of the relations, in organizations that the user
   * belongs to.
   */
  listGranted(userId: UserId, relations: readonly string[]): Promise<readonly Cluster[]>
  find(ownerId: AccountId, name: string): Promise<Cluster | undefined>
  findByUid(ownerId: AccountId, uid: string): Promise<Cluster | undefined>
  /**
   * Returns the owner's record of the cluster that the hub with that UID manages under that name; of several, the first
   * by name.
   */
  findSpoke(ownerId: AccountId, hubUid: string, managedClusterName: string): Promise<Cluster | undefined>
  get(id: ClusterId): Promise<Cluster | undefined>
  /** Returns the state that requests to the cluster depend on; one small row. */
  link(id: ClusterId): Promise<ClusterLink | undefined>
  /** Returns the number of records of all accounts in each phase. */
  countByPhase(): Promise<Readonly<Record<string, number>>>
  /** Returns the link of the owner's record of the cluster with this UID, if the record contains a credential. */
  linkByUid(ownerId: AccountId, uid: string): Promise<ClusterLink | undefined>
  /** Returns the sealed credential of exactly this version; undefined if the record changed or contains none. */
  sealed(id: ClusterId, version: number): Promise<SealedCredential | undefined>
  /** Returns at most `limit` records of all accounts with a credential, above an id, in the order of their ids. */
  sealedAfter(id: ClusterId, limit: number): Promise<readonly SealedRecord[]>
  /** Failures: ClusterNameTaken (by the unique key, so two concurrent inserts cannot both succeed). */
  insert(cluster: NewCluster): Outcome<Failure<'ClusterNameTaken'>, Cluster>
  /** Compare-and-set on the version. Failures: ClusterChanged. */
  change(id: ClusterId, version: number, change: ClusterChange): Outcome<Failure<'ClusterChanged'>, Cluster>
  /**
   * Writes an observation. The version does not change, because no request depends on these fields. Does nothing if the
   * record does not exist.
   */
  observe(id: ClusterId, status: ClusterStatus, facts: ClusterFacts | undefined, at: Date): Promise<void>
  /**
   * Writes the cluster set in which the hub of a cluster has it; empty for none. The version does not change. Does
   * nothing if the record does not exist.
   */
  observeSet(id: ClusterId, clusterSetName: string): Promise<void>
  /**
   * Deletes the record, the direct grants on it and the access tokens limited to it. Returns true if the record
   * existed.
   */
  remove(id: ClusterId): Promise<boolean>
}
export const ClusterStorePort = portKey<ClusterStore>('clusters.ClusterStore')

/** An account that may own clusters. */
export interface ClusterAccount {
  readonly id: AccountId
  readonly name: string
  readonly isOrganization: boolean
}

export interface SealedCredential {
  readonly box: Uint8Array
  readonly ref: string
  readonly ownerId: AccountId
}

/** A sealed credential with the names of its record. */
export interface SealedRecord extends SealedCredential {
  readonly id: ClusterId
  readonly ownerName: string
  readonly name: string
}

/** Reports what depends on the record of a cluster; provided by the part of client organizations. */
export interface ClusterDependents {
  /**
   * Returns the names of at most `limit` client organizations that have something on the cluster with this UID, or on a
   * spoke of the hub with this UID.
   */
  clientsOfCluster(ownerId: AccountId, uid: string, limit: number): Promise<readonly string[]>
  /** The same for the spoke that the hub with this UID manages under that name. */
  clientsOfSpoke(ownerId: AccountId, hubUid: string, name: string, limit: number): Promise<readonly string[]>
}
export const ClusterDependentsPort = portKey<ClusterDependents>('clusters.Dependents')

/** Returns why a cluster must stay; undefined if no client organization uses it. */
export const clusterInUse = (what: string, clients: readonly string[]): Failure<'ClusterInUse'> | undefined =>
  clients.length === 0
    ? undefined
    : ClusterInUse(`${what} is used by the client organizations ${clients.join(', ')}. Remove it from them first.`, {
        errors: clients,
      })

/** Takes part in imports: what it changes is committed with the record of the cluster, or not at all. */
export interface ClusterImportWatcher {
  imported(cluster: Cluster): Promise<void>
}

/** The stores that a change to clusters needs, in one transaction. */
export interface ClusterStores {
  readonly clusters: ClusterStore
  readonly audit: AuditTrail
}
export type ClusterUnitOfWork = UnitOfWork<ClusterStores>
export const ClusterUnitOfWorkPort = portKey<ClusterUnitOfWork>('clusters.UnitOfWork')

/** The stores of a change to clusters that is continued by a task. The record and the task are committed together. */
export interface ClusterTaskStores extends ClusterStores, TaskStores {}
export type ClusterTaskUnitOfWork = UnitOfWork<ClusterTaskStores>
export const ClusterTaskUnitOfWorkPort = portKey<ClusterTaskUnitOfWork>('clusters.TaskUnitOfWork')

/** Reads a kubeconfig. Only inline certificates, keys and tokens are accepted; the message names what was rejected. */
export interface KubeconfigParser {
  parse(text: string): Either<Failure<'AccessConfigRefused'>, ClusterCredential>
}
export const KubeconfigParserPort = portKey<KubeconfigParser>('clusters.KubeconfigParser')

/** The rules for addresses of clusters. */
export interface ClusterAddresses {
  /** Judges the address without a connection. The addresses that a name resolves to are judged for each connection. */
  check(credential: Pick<ClusterCredential, 'server'>): Either<Failure<'AddressRefused'>, void>
}
export const ClusterAddressesPort = portKey<ClusterAddresses>('clusters.ClusterAddresses')

/** Converts a credential to text for sealing, and back. */
export interface CredentialCodec {
  encode(credential: ClusterCredential): Secret
  decode(text: Secret): ClusterCredential
  /** Returns when the client certificate or the token ends; undefined if it does not tell. */
  endOf(credential: ClusterCredential): Date | undefined
}
export const CredentialCodecPort = portKey<CredentialCodec>('clusters.CredentialCodec')

/** Seals credentials for records of an owner, under a new random reference. */
export interface CredentialSealer {
  (ownerId: AccountId, credential: ClusterCredential): Promise<{ readonly ref: string; readonly box: Uint8Array }>
}
export const CredentialSealerPort = portKey<CredentialSealer>('clusters.CredentialSealer')

/** Surveys the clusters of records, for other parts. */
export interface ClusterSurveyor {
  /** Surveys a cluster with the credential of its record. Writes nothing. */
  survey(
    id: ClusterId,
    signal: AbortSignal,
  ): Outcome<ReachFailure | Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, ClusterFacts>
}
export const ClusterSurveyorPort = portKey<ClusterSurveyor>('clusters.ClusterSurveyor')

/** The identity under which a request is sent to the cluster; undefined uses the identity of the stored credential. */
export interface ImpersonatedUser {
  readonly login: string
  readonly groups: readonly string[]
  /** Further facts about the user, by key. */
  readonly extra: Readonly<Record<string, string>>
}

/** One request by this service, bounded in time and size. */
export interface ClusterRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Encoded, relative to the server's prefix, with its query. */
  readonly target: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: Uint8Array
  /** Maximum size of the response in bytes; a larger one is ClusterUnreachable. */
  readonly limitBytes?: number
  /** Little of the answer is kept. Otherwise its bytes count for the caller until the caller's own request ends. */
  readonly isReduced?: boolean
}

/** `json` is undefined if the body is not JSON. */
export interface ClusterAnswer {
  readonly status: number
  readonly json: unknown
  readonly text: string
}

/** The way to a cluster that is surveyed through its hub, and the headers with the identity of the caller. */
export interface SurveyedSpoke {
  readonly via: GatewayRoute
  readonly headers: readonly (readonly [string, string])[]
}

/** Sends this service's own requests to a cluster. Every call is bounded in time and size. */
export interface ClusterApi {
  /**
   * Surveys the cluster of a credential, which need not be stored; or, through the gateway of that cluster, one that it
   * manages.
   */
  survey(
    credential: ClusterCredential,
    signal: AbortSignal,
    through?: SurveyedSpoke,
  ): Outcome<ReachFailure, ClusterSurvey>
  /**
   * Sends one request over the record's pooled connections. Any status except 401 is Right. A 429 with a Retry-After of
   * at most 5 seconds is repeated once.
   */
  request(
    connection: ClusterConnection,
    request: ClusterRequest,
    signal: AbortSignal,
  ): Outcome<ReachFailure, ClusterAnswer>
}
export const ClusterApiPort = portKey<ClusterApi>('clusters.ClusterApi')

/** The request sent to the cluster for one exchange. */
export interface UpstreamRequest {
  readonly method: string
  /** Encoded path relative to the server's prefix, with its query. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  /** A watch or log: has no timeout and does not count as a short request. */
  readonly isLongLived: boolean
  /** A watch: if it ends between two events, its reader reconnects elsewhere. */
  readonly isWatch?: boolean
  /** Respond 200 if the cluster responded 201. */
  readonly createdAsOk: boolean
  /** The path belongs to a service, pod or node, which may answer 401 itself. */
  readonly isForeign?: boolean
  /** Add a strong ETag of the bytes to a small 200, and respond 304 if the client already has it. */
  readonly entityTag?: { readonly ifNoneMatch: string | undefined }
  /** Returns the response headers that the client receives. */
  readonly answerHeaders: (headers: HeaderBag) => readonly (readonly [string, string])[]
  /** The same for a 101. */
  readonly acceptHeaders: (headers: HeaderBag) => readonly (readonly [string, string])[]
}

/** Streams bytes between a client and a cluster. Nothing is parsed, buffered or retried. */
export interface ClusterTransport {
  /**
   * Returns the status of the response, or 0 if the client disconnected before it. Returns Left only before the
   * response has started; later errors close the client's connection. Aborting the signal closes the upstream
   * connection.
   */
  relay(
    connection: ClusterConnection,
    upstream: UpstreamRequest,
    exchange: Exchange,
    signal: AbortSignal,
  ): Outcome<ReachFailure, number>
  /** Like `relay`, for an upgraded connection. A refused upgrade is answered with an ordinary response. */
  tunnel(
    connection: ClusterConnection,
    upstream: UpstreamRequest,
    exchange: UpgradeExchange,
    signal: AbortSignal,
  ): Outcome<ReachFailure, void>
  /** Closes every connection of the record, because it was removed. */
  forget(id: ClusterId): Promise<void>
}
export const ClusterTransportPort = portKey<ClusterTransport>('clusters.ClusterTransport')

/**
 * Issues the tokens with which the members of a client organization reach a cluster of another account; provided by that
 * part.
 */
export interface MemberTokens {
  /**
   * Returns a token of the account that the user has on the cluster of a record; without a user, of the account of the
   * organization itself, which may only identify the cluster. An account that does not exist yet is made, by the
   * connection of the account that owns the cluster. Tokens are kept in memory until they come near their end.
   */
  issue(
    link: ClusterLink,
    issuer: ClusterConnection,
    issuerUid: string,
    userId: UserId | undefined,
  ): Outcome<Failure<'ClusterNotConnected'>, Secret>
}
export const MemberTokensPort = portKey<MemberTokens>('clusters.MemberTokens')

/** Opens and caches the credentials of records. */
export interface ClusterConnections {
  /**
   * A record with a credential is connected by it. A record without one is connected through the cluster gateway of its
   * hub: the record of the same owner whose UID is `hubClusterUid`, with the credential of that record. A hub must have
   * a credential of its own. Makes no query if `version` is the record's own, as authorization just read it, and was
   * opened before; otherwise one, and a second one if this version was not opened yet. Reads the record of the hub, if
   * there is one, by one more query each time, so that a change of its credential takes effect at once.
   *
   * A record of a client organization has no secret: the connection has a token of the account that `userId` has on the
   * cluster, or that of the organization, which may only identify the cluster.
   */
  open(
    id: ClusterId,
    version?: number,
    userId?: UserId,
  ): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, ClusterConnection>
}
/** One for the whole service, so that a credential is opened once, whichever part asks for it. */
export const ClusterConnectionsPort = portKey<ClusterConnections>('clusters.ClusterConnections')

/** Sends requests to member clusters on behalf of a caller, for other parts. */
export interface ClustersAsCaller {
  /**
   * Sends one request to the cluster of that UID with the caller's identity. The cluster is searched in the accounts of
   * the caller and among the clusters granted to them, and receives the request only if the caller may connect to it.
   * Failures besides those of reaching it: ClusterMissing (also for another account's cluster), AccessDenied (the
   * caller may see it, or it belongs to one of the caller's organizations, but may not connect to it), EntryRefusal.
   */
  request(call: SignedInCall, uid: string, request: ClusterRequest): Outcome<AsCallerFailure, ClusterAnswer>
}
export const ClustersAsCallerPort = portKey<ClustersAsCaller>('clusters.AsCaller')

export type AsCallerFailure =
  | Failure<'ClusterMissing'>
  | Failure<'AccessDenied'>
  | EntryRefusal
  | Failure<'ClusterNotConnected'>
  | Failure<'ClusterUnreachable'>
  | Failure<'CredentialRefused'>

/** Reasons why a member cluster did not respond. */
export type MemberFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'>

/** One cluster as its API server presents it to one caller, for the duration of one request or one task. */
export interface MemberCluster {
  readonly id: ClusterId
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly name: string
  /** UID of the namespace kube-system. */
  readonly uid: string
  /** Sends one bounded request. Any status except 401 is Right. */
  request(request: ClusterRequest, signal: AbortSignal): Outcome<MemberFailure, ClusterAnswer>
  /**
   * Streams one exchange of a Kubernetes client as the proxy routes do, with the same header and path rules; the
   * identity is set by this service. Returns Left only before the response has started. Upgrades are not supported.
   */
  relay(exchange: Exchange, signal: AbortSignal): Outcome<MemberFailure | Failure<'ProxyPathRefused'>, void>
}

/** Opens clusters on behalf of callers, for other parts. */
export interface MemberClusters {
  /**
   * Opens the cluster that authorization (`can_connect`) found, as this caller. The record is read once; its credential
   * is opened for each request, so that a change takes effect at once.
   */
  open(
    call: SignedInCall<never>,
    grant: AccessGrant,
  ): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, MemberCluster>
}
export const MemberClustersPort = portKey<MemberClusters>('clusters.MemberClusters')

/** The address of this service for clients. */
export interface PublicAddress {
  /**
   * Returns the address for this caller's Kubernetes clients, by https if available, and the certificate to trust if it
   * is not signed by a public authority.
   */
  kubernetesUrl(call: Pick<Call, 'ownAddress'>): { readonly url: string; readonly caPem: string | undefined }
}
export const PublicAddressPort = portKey<PublicAddress>('clusters.PublicAddress')
