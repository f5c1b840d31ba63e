import type { Either } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../kernel/access.ts'
import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import type { AccountId, ClusterId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { SubmitFailure, SubmittedTask } from '../../tasks/ports.ts'
import type { Cluster, ClusterConnection } from '../types.ts'
import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../ports.ts'

/** The cluster does not serve the kinds of a hub. */
export const NotAHub = defineFailure('NotAHub', 'Invalid', 'The cluster is not a hub.')
/** The hub denied a request that was sent with the caller's identity. */
export const HubDenied = defineFailure(
  'HubDenied',
  'Forbidden',
  'The hub does not let the caller, or the stored credential, do this.',
)
/** The object was changed on the hub by another request. */
export const HubConflict = defineFailure(
  'HubConflict',
  'Conflict',
  'Other requests or programs changed the same objects on the hub.',
)
/** The hub found the object invalid. */
export const HubRefused = defineFailure(
  'HubRefused',
  'Unprocessable',
  'The hub refused the change; the message has its reason.',
)

/** The failures of a route that reads from a hub. */
export const hubReadFailures = [
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
  NotAHub,
  HubDenied,
] as const
/** The failures of a route that changes objects of a hub. */
export const hubChangeFailures = [...hubReadFailures, HubConflict, HubRefused] as const
export type HubReadFailure = ReturnType<(typeof hubReadFailures)[number]>
export type HubChangeFailure = ReturnType<(typeof hubChangeFailures)[number]>

/** A kind of objects, and the plural under which the API serves it. */
export interface HubKind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
}

const clusterApi = 'cluster.open-cluster-management.io/v1beta2'
export const managedClusterKind: HubKind = {
  apiVersion: 'cluster.open-cluster-management.io/v1',
  kind: 'ManagedCluster',
  plural: 'managedclusters',
}
export const namespaceKind: HubKind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }
export const clusterSetKind: HubKind = {
  apiVersion: clusterApi,
  kind: 'ManagedClusterSet',
  plural: 'managedclustersets',
}
export const clusterSetBindingKind: HubKind = {
  apiVersion: clusterApi,
  kind: 'ManagedClusterSetBinding',
  plural: 'managedclustersetbindings',
}

/** The label on a ManagedCluster with the name of its cluster set. */
export const clusterSetLabel = 'cluster.open-cluster-management.io/clusterset'
/** The label on objects that belong to one spoke, such as its namespace; the value is the spoke's name. */
export const spokeNameLabel = 'open-cluster-management.io/cluster-name'

/** Names an object within its kind. Objects outside of namespaces have no namespace. */
export interface HubKey {
  readonly namespace?: string
  readonly name: string
}

/** What a request may need to be allowed to do. */
export interface HubRight {
  readonly verb: string
  readonly kind: HubKind
  readonly namespace?: string
  /** Of the one object that the right is about; absent for every object. */
  readonly name?: string
}

/** An object as the hub returned it. */
export interface HubObject extends Required<HubKey> {
  readonly uid: string
  readonly resourceVersion: string
  /** Deletion was requested; the object still exists. */
  readonly isDeleting: boolean
  readonly body: FreeObject
}

/** Which objects a list returns; all of them by default. Selectors have the syntax of the Kubernetes API. */
export interface HubSelection {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /**
   * How many objects the hub returns at a time; 500 by default, 1,000 if only their metadata is read. Fewer for kinds
   * whose objects are large.
   */
  readonly pageSize?: number
  /** The bodies need only `metadata`: about half the bytes for the hub to send and for this service to parse. */
  readonly isMetadataOnly?: boolean
}

/** One operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/**
 * A change to one object: a merge patch (RFC 7396), in which null removes a key, or a JSON Patch, which can replace a
 * whole map.
 */
export type HubEdit = { readonly merge: FreeObject } | { readonly operations: readonly PatchOperation[] }

/** What `edit` did. `unchanged`: there was nothing to change. */
export type Edited = 'changed' | 'unchanged' | 'missing'

/** What `create` did. `unplaced`: the namespace does not exist, or is being deleted. */
export type Created = 'created' | 'exists' | 'unplaced'

/**
 * The objects of one hub, or of one spoke, for the duration of one request or one task. Each call to the cluster is
 * bounded in time and size. A read ends when the client disconnects; a change is completed, so that it can be recorded.
 * Failures follow docs/decisions/hub-calls.md: a refused credential is never the caller's 401 or 403.
 */
export interface Hub {
  readonly id: ClusterId
  readonly ownerId: AccountId
  readonly name: string
  /** Lists the selected objects of a kind, over as many pages as there are. */
  list(kind: HubKind, selection?: HubSelection): Outcome<HubReadFailure, readonly HubObject[]>
  /**
   * Lists all objects of a kind, and returns what `take` returns for the JSON text of each page, exactly as the hub
   * sent it. It is called for each page as it arrives, so that the pages are not all processed at once.
   */
  pages<A>(kind: HubKind, take: (text: string) => A): Outcome<HubReadFailure, readonly A[]>
  /** Returns the number of objects of a kind. Reads one of them, if the hub says how many more there are. */
  count(kind: HubKind): Outcome<HubReadFailure, number>
  /** Returns undefined if the object does not exist. */
  get(kind: HubKind, key: HubKey): Outcome<HubReadFailure, HubObject | undefined>
  /** Returns those of the rights that the cluster does not give to these requests. */
  lacking(rights: readonly HubRight[]): Outcome<HubReadFailure, readonly HubRight[]>
  /** Creates an object. An existing one stays as it is: the caller must compare it. */
  create(kind: HubKind, key: HubKey, content: FreeObject): Outcome<HubChangeFailure, Created>
  /**
   * Reads an object and changes it only if it is still as it was read. `change` returns undefined if there is nothing
   * to change, or a failure if a rule forbids the change. If another request changes the object at the same time, it is
   * read and judged again, at most 5 times, then HubConflict. `known` is the object if it was read before: then it is
   * not read a second time.
   */
  edit<F extends Failure = never>(
    kind: HubKind,
    key: HubKey,
    change: (object: HubObject) => Either<F, HubEdit | undefined>,
    known?: HubObject,
  ): Outcome<HubChangeFailure | F, Edited>
  /**
   * Creates an object or changes the fields that this service owns in it, by server-side apply. Returns undefined if
   * its namespace does not exist. HubConflict: another manager owns one of the fields.
   */
  apply(kind: HubKind, key: HubKey, content: FreeObject): Outcome<HubChangeFailure, HubObject | undefined>
  /** Posts to a subresource, such as `token` of a service account. Returns undefined if the object does not exist. */
  createWithin(
    kind: HubKind,
    key: HubKey,
    subresource: string,
    content: FreeObject,
  ): Outcome<HubChangeFailure, FreeObject | undefined>
  /**
   * Replaces a subresource, such as `approval` of a certificate signing request, if the object is still as it was read.
   * Returns undefined if it does not exist. HubConflict: it was changed since.
   */
  replaceWithin(
    kind: HubKind,
    object: HubObject,
    subresource: string,
    body: FreeObject,
  ): Outcome<HubChangeFailure, HubObject | undefined>
  /**
   * Deletes exactly this object, not another one that has its name by now, and with `asRead` only if it is still as it
   * was read. Returns true if it was deleted by this call.
   */
  remove(kind: HubKind, object: HubObject, options?: { readonly asRead: boolean }): Outcome<HubChangeFailure, boolean>
}

/** Opens hubs on behalf of callers, for other parts. */
export interface Hubs {
  /**
   * Opens the cluster that authorization found. Requests have the stored credential, or the caller's identity where the
   * record asks for impersonation. Whether the cluster is a hub shows in the first answer.
   */
  open(
    call: SignedInCall<never>,
    grant: AccessGrant,
  ): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, Hub>
  /** The same for a cluster that a hub manages or is to manage; the messages of failures say spoke. */
  openSpoke(
    call: SignedInCall<never>,
    grant: AccessGrant,
  ): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, Hub>
}
export const HubsPort = portKey<Hubs>('clusters.Hubs')

/** Opens clusters with the credential of their records, for work that the service does without a caller. */
export interface OwnSpokes {
  /** Every request ends with the signal. */
  open(connection: ClusterConnection, signal: AbortSignal): Hub
}
export const OwnSpokesPort = portKey<OwnSpokes>('clusters.OwnSpokes')

/** Where a hub is reached. */
export interface HubAddress {
  /** `https://host[:port][/prefix]`, without a trailing slash. */
  readonly server: string
  /** In PEM; undefined if it is not stated. */
  readonly authorityPem: string | undefined
}

/**
 * Reads the kubeconfig without users that a hub publishes for clusters that join it. Bounded in size, and never throws.
 */
export interface ClusterInfoReader {
  /** Returns undefined if the text is not a kubeconfig, or its first cluster has no https address. */
  addressOf(kubeconfig: string): HubAddress | undefined
}
export const ClusterInfoReaderPort = portKey<ClusterInfoReader>('clusters.ClusterInfoReader')

/** The hub that manages a cluster, and the name under which it does. */
export interface FoundHub {
  readonly hub: Cluster
  readonly managedClusterName: string
}

/**
 * Finds the hubs of spokes among the hubs of the same account, for other parts. Hubs that the caller may not view, or
 * that do not respond, are skipped.
 */
export interface SpokeHubs {
  /**
   * Returns the hub whose ManagedCluster has the UID of the cluster, or else that to which the agents on the cluster
   * belong.
   */
  find(call: SignedInCall<never>, cluster: Cluster): Promise<FoundHub | undefined>
  /** Returns the name under which the hub with that UID manages the cluster, by the agents on the cluster alone. */
  nameByAgents(call: SignedInCall<never>, cluster: Cluster, hubUid: string): Promise<string | undefined>
}
export const SpokeHubsPort = portKey<SpokeHubs>('clusters.SpokeHubs')

/** A spoke, as the controllers of its hub know it. */
export interface SpokeIdentity {
  /** The UID of the namespace kube-system. */
  readonly uid: string
  /** The name of its ManagedCluster. */
  readonly name: string
  readonly managers: Cluster['managers']
}

/** Writes what the controllers of a hub need on a spoke, for other parts. */
export interface SpokeSupplies {
  /**
   * Writes the claims with the UID and the identity of a spoke, which its agents report to the hub but do not make, and
   * the rights of the work agent for feature sets. What exists stays, unless this service has made it. A spoke whose
   * agents have no claims gets the rights only.
   */
  write(spoke: Hub, identity: SpokeIdentity): Outcome<HubChangeFailure, void>
  /**
   * Does the same for a spoke that its hub does not know the identity of, with the credential of its record. Returns
   * true if it was written: a record without a credential, a spoke that does not respond, and one that refuses are left
   * as they are.
   */
  supply(call: SignedInCall<never>, record: Cluster, managed: HubObject): Promise<boolean>
}
export const SpokeSuppliesPort = portKey<SpokeSupplies>('clusters.SpokeSupplies')

export type SpokeRemovalFailure = HubReadFailure | SubmitFailure | Failure<'AccessDenied' | 'ClusterInUse'>

/** Removes spokes from the hubs of their account, for other parts. */
export interface SpokeRemovals {
  /**
   * Accepts the removal of a spoke from its hub as a task, which deletes the record of the spoke at its end. Failure
   * besides those of the hub: AccessDenied if the caller may not remove spokes from that hub.
   */
  removeWithRecord(
    call: SignedInCall<SubmittedTask>,
    record: Pick<Cluster, 'ownerId' | 'hubClusterUid' | 'managedClusterName'>,
    responseId: string | undefined,
  ): Outcome<SpokeRemovalFailure, SubmittedTask>
}
export const SpokeRemovalsPort = portKey<SpokeRemovals>('clusters.SpokeRemovals')
