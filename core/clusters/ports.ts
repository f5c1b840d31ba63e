import type { Either } from 'fp-ts/lib/Either.js'
import type { AccessGrant, EntryRefusal } from '../kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../kernel/ids.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Exchange, HeaderBag, UpgradeExchange } from '../kernel/exchange.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type {
  Cluster,
  ClusterChange,
  ClusterConnection,
  ClusterCredential,
  ClusterFacts,
  ClusterLink,
  ClusterStatus,
  ClusterSurvey,
  HostingProvider,
  NewCluster,
} from './types.ts'

/** No cluster of that name is recorded under that owner. */
export const ClusterMissing = defineFailure('ClusterMissing', 'NotFound')
/** The owner has a cluster of that name already. */
export const ClusterNameTaken = defineFailure('ClusterNameTaken', 'Unprocessable')
/** The same cluster is recorded under this owner by another name. */
export const ClusterAlreadyImported = defineFailure('ClusterAlreadyImported', 'Unprocessable')
/** Something in the request contradicts the path, the record or the cluster itself. */
export const ClusterMismatch = defineFailure('ClusterMismatch', 'Unprocessable')
/** The access config is missing, unreadable, or asks for something that is not accepted. */
export const AccessConfigRefused = defineFailure('AccessConfigRefused', 'Unprocessable')
/** The address in an access config is not one that this installation may connect to. */
export const AddressRefused = defineFailure('AddressRefused', 'Unprocessable')
/** The cluster did not answer, or not as a Kubernetes API server does. */
export const ClusterUnreachable = defineFailure('ClusterUnreachable', 'Upstream')
/** The cluster answered 401 to the credential that we hold: never the caller's fault. */
export const CredentialRefused = defineFailure('CredentialRefused', 'Upstream')
/** The record holds no credential. */
export const ClusterNotConnected = defineFailure('ClusterNotConnected', 'Upstream')
/** The record was changed meanwhile. */
export const ClusterChanged = defineFailure('ClusterChanged', 'Conflict')
/** A path that could be read in two ways, or that no Kubernetes API has. */
export const ProxyPathRefused = defineFailure('ProxyPathRefused', 'Invalid')

/** The body of a computed form is too large or not of its shape. */
export const ProxyBodyRefused = defineFailure('ProxyBodyRefused', 'Unprocessable')

/** Why a cluster could not be asked. */
export type ReachFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'> | Failure<'AddressRefused'>

/** Cluster records. Every look-up by name is within one owner. */
export interface ClusterStore {
  /** All clusters of an owner, by name. */
  listOf(ownerId: AccountId, provider?: HostingProvider): Promise<readonly Cluster[]>
  /** The clusters of all accounts, by owner and name: for site admins. */
  listAll(page: PageRequest): Promise<Page<Cluster>>
  /** The accounts whose clusters a user may have access to: the user's own, and every organization that the user belongs to. */
  accountsOf(userId: UserId): Promise<readonly ClusterAccount[]>
  /** Clusters in which the user holds a direct grant of one of the relations, in organizations that the user belongs to. */
  listGranted(userId: UserId, relations: readonly string[]): Promise<readonly Cluster[]>
  find(ownerId: AccountId, name: string): Promise<Cluster | undefined>
  findByUid(ownerId: AccountId, uid: string): Promise<Cluster | undefined>
  get(id: ClusterId): Promise<Cluster | undefined>
  /** What a request to the cluster depends on; one small row. */
  link(id: ClusterId): Promise<ClusterLink | undefined>
  /** The sealed credential of exactly this version, or undefined when the record changed or holds none. */
  sealed(id: ClusterId, version: number): Promise<SealedCredential | undefined>
  /** Failures: ClusterNameTaken (compared by the unique key, so two at once cannot both succeed). */
  insert(cluster: NewCluster): Outcome<Failure<'ClusterNameTaken'>, Cluster>
  /** Compare-and-set on the version. Failures: ClusterChanged. */
  change(id: ClusterId, version: number, change: ClusterChange): Outcome<Failure<'ClusterChanged'>, Cluster>
  /** Writes what was seen; the version stays, for no request depends on it. Silently nothing when the record is gone. */
  observe(id: ClusterId, status: ClusterStatus, facts: ClusterFacts | undefined, at: Date): Promise<void>
  /** Deletes the record with the direct grants on it and the access tokens that are for it alone. True when there was one. */
  remove(id: ClusterId): Promise<boolean>
}
export const ClusterStoreToken = token<ClusterStore>('clusters.ClusterStore')

/** An account that may hold clusters. */
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

/** What a change to clusters is made of, in one transaction. */
export interface ClusterStores {
  readonly clusters: ClusterStore
  readonly audit: AuditTrail
}
export type ClusterUnitOfWork = UnitOfWork<ClusterStores>
export const ClusterUnitOfWorkToken = token<ClusterUnitOfWork>('clusters.UnitOfWork')

/** Reads a kubeconfig. Only inline certificates, keys and tokens are accepted; the message names what was refused. */
export interface KubeconfigParser {
  parse(text: string): Either<Failure<'AccessConfigRefused'>, ClusterCredential>
}
export const KubeconfigParserToken = token<KubeconfigParser>('clusters.KubeconfigParser')

/** A credential as text, for sealing. The two are inverse. */
export interface CredentialCodec {
  encode(credential: ClusterCredential): Secret
  decode(text: Secret): ClusterCredential
}
export const CredentialCodecToken = token<CredentialCodec>('clusters.CredentialCodec')

/** Who the cluster is told that the request comes from; undefined lets the stored credential speak for itself. */
export interface ImpersonatedUser {
  readonly login: string
  readonly userId: UserId
  readonly groups: readonly string[]
}

/** One bounded request of our own. */
export interface ClusterRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Encoded, below the server's prefix, with its query. */
  readonly target: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: Uint8Array
  /** Bytes of the answer that are read at most; more is ClusterUnreachable. */
  readonly limitBytes?: number
}

/** `json` is undefined when the body is not JSON. */
export interface ClusterAnswer {
  readonly status: number
  readonly json: unknown
  readonly text: string
}

/** Asks a cluster on our own account. Every call is bounded in time and size. */
export interface ClusterApi {
  /** What the cluster says about itself, by a credential that need not be stored. */
  survey(credential: ClusterCredential, signal: AbortSignal): Outcome<ReachFailure, ClusterSurvey>
  /** One request over the record's kept connections. Any answered status is Right, save 401. */
  request(connection: ClusterConnection, request: ClusterRequest, signal: AbortSignal): Outcome<ReachFailure, ClusterAnswer>
}
export const ClusterApiToken = token<ClusterApi>('clusters.ClusterApi')

/** What is sent to the cluster for one exchange. */
export interface UpstreamRequest {
  readonly method: string
  /** Encoded path below the server's prefix, with its query. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  /** A watch or log: no limit on time, and not counted among the short requests. */
  readonly isLongLived: boolean
  /** A watch: its reader goes on elsewhere when it ends between two events. */
  readonly isWatch?: boolean
  /** Answer 200 where the cluster answered 201. */
  readonly createdAsOk: boolean
  /** Give a small 200 a strong ETag of its bytes, and answer 304 when the client has it. */
  readonly entityTag?: { readonly ifNoneMatch: string | undefined }
  /** Which of the answer's headers the client is given. */
  readonly answerHeaders: (headers: HeaderBag) => readonly (readonly [string, string])[]
  /** The same for a 101. */
  readonly acceptHeaders: (headers: HeaderBag) => readonly (readonly [string, string])[]
}

/** Carries bytes between a client and a cluster. Nothing is parsed, buffered or retried. */
export interface ClusterTransport {
  /** Left only while nothing was answered yet; later failures cut the client's connection. Aborting the signal cuts the upstream. */
  relay(connection: ClusterConnection, upstream: UpstreamRequest, exchange: Exchange, signal: AbortSignal): Outcome<ReachFailure, void>
  /** As `relay`, for a connection that leaves HTTP. A refused upgrade is answered as an ordinary response. */
  tunnel(connection: ClusterConnection, upstream: UpstreamRequest, exchange: UpgradeExchange, signal: AbortSignal): Outcome<ReachFailure, void>
  /** Cuts every connection made for the record: it was removed, or its credential changed. */
  forget(id: ClusterId): Promise<void>
}
export const ClusterTransportToken = token<ClusterTransport>('clusters.ClusterTransport')

/** Makes, and keeps, the opened credential of a record. */
export interface ClusterConnections {
  /**
   * None, when `version` is the record's own as authorization just read it and was opened before; else one query, a
   * second one when this version was not seen yet.
   */
  open(id: ClusterId, version?: number): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, ClusterConnection>
}

/** Asks a member cluster on behalf of a caller, for other parts. */
export interface ClustersAsCaller {
  /**
   * One request to the cluster of that UID, as the cluster sees the caller. The cluster is looked for in the accounts of
   * the caller and among the clusters granted to them, and only one that they may connect to is asked. Failures beside
   * those of reaching it: ClusterMissing (also for a foreign one), AccessDenied (seen, or belonging to an own
   * organization, but not to be connected to), EntryRefusal.
   */
  request(call: SignedInCall, uid: string, request: ClusterRequest): Outcome<AsCallerFailure, ClusterAnswer>
}
export const ClustersAsCallerToken = token<ClustersAsCaller>('clusters.AsCaller')

export type AsCallerFailure =
  | Failure<'ClusterMissing'>
  | Failure<'AccessDenied'>
  | EntryRefusal
  | Failure<'ClusterNotConnected'>
  | Failure<'ClusterUnreachable'>
  | Failure<'CredentialRefused'>

/** Why a member cluster did not answer. */
export type MemberFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'>

/** One cluster as its API server sees one caller, for as long as one request or one task lasts. */
export interface MemberCluster {
  readonly id: ClusterId
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly name: string
  /** UID of the namespace kube-system. */
  readonly uid: string
  /** One bounded request of our own. Any answered status is Right, save 401. */
  request(request: ClusterRequest, signal: AbortSignal): Outcome<MemberFailure, ClusterAnswer>
  /**
   * Streams one exchange of a Kubernetes client, as the proxy routes do: the same headers go through, the same rules of
   * paths hold, identity is ours. Left only while nothing was answered. Upgrades are not served.
   */
  relay(exchange: Exchange, signal: AbortSignal): Outcome<MemberFailure | Failure<'ProxyPathRefused'>, void>
}

/** Opens clusters for callers, for other parts. */
export interface MemberClusters {
  /** What authorization (`can_connect`) found, as this caller. The record is read once; its credential is opened at each request, so that a changed one counts at once. */
  open(call: SignedInCall<never>, grant: AccessGrant): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, MemberCluster>
}
export const MemberClustersToken = token<MemberClusters>('clusters.MemberClusters')

/** Where clients reach this service. */
export interface PublicAddress {
  /** Where a Kubernetes client of this caller reaches it, by https wherever there is any, and the certificate to trust when nobody signed it. */
  kubernetesUrl(call: Pick<Call, 'ownAddress'>): { readonly url: string; readonly caPem: string | undefined }
}
export const PublicAddressToken = token<PublicAddress>('clusters.PublicAddress')
