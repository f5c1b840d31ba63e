import type { PackedText } from '../../kernel/exchange.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { ObjectChange } from '../events/types.ts'
import type {
  MonthKey,
  UnixSeconds,
  UsageClusterId,
  UsageMonth,
  UsageMonthId,
  UsageObject,
  UsageObjectId,
  UsageProduct,
  UsageViewName,
  UsageViewType,
} from '../types.ts'

/** The month was not generated for the account, or not in this revision, or has no such object. */
export const UsageViewMissing = defineFailure(
  'UsageViewMissing',
  'NotFound',
  'No report of this month exists, or it does not have this object.',
)

/**
 * The most items of a piece. Parsing a piece takes less than a millisecond, so that filters do not hold up other
 * requests.
 */
export const pieceItems = 250

/** The use of kinds as in `gks-usage-view`, divided by clusters: of it, the filter for a cluster is computed. */
export const kindsOfClusters = 'gks-by-cluster'

/** Which view of a month. */
export interface UsageViewKey {
  readonly product: UsageProduct
  readonly view: UsageViewName | typeof kindsOfClusters
  readonly viewType: UsageViewType
}

/** Up to `pieceItems` items of a view, in order. */
export interface UsageViewPiece {
  /**
   * Of the first item: the cluster UID, `/` and, in views of objects, the object UID; empty in views without clusters.
   */
  readonly firstKey: string
  /**
   * The JSON texts of the items, joined by commas, in UTF-8. The bytes are those of the next piece as soon as this one
   * was added.
   */
  readonly items: Uint8Array
}

/**
 * A view without the facts of its revision: `head`, the items joined by commas, and `tail` are a JSON object, whose
 * totals are in the tail.
 */
export interface UsageViewText {
  readonly key: UsageViewKey
  readonly head: string
  readonly tail: string
  readonly itemCount: number
}

/** The views of all revisions. A view is written once and never changes. */
export interface UsageViewStore {
  /** Adds a view without its items, in the transaction that adds the revision. */
  begin(monthId: UsageMonthId, key: UsageViewKey): Promise<UsageViewId>
  /** Adds a piece to a view that is not complete. Pieces are numbered from 0. */
  addPiece(id: UsageViewId, piece: number, content: UsageViewPiece): Promise<void>
  /** Completes a view. */
  complete(id: UsageViewId, text: Omit<UsageViewText, 'key'> & { readonly pieceCount: number }): Promise<void>
  /** Returns the months of an owner that were generated, ascending. */
  monthsOf(ownerId: AccountId): Promise<readonly MonthKey[]>
  /**
   * Returns a view of a revision of a month of an owner, the newest if no revision is named; undefined if there is
   * none.
   */
  find(ownerId: AccountId, month: MonthKey, key: UsageViewKey, revision?: number): Promise<StoredUsageView | undefined>
  /** Returns the views of one revision. */
  listOf(monthId: UsageMonthId): Promise<readonly StoredUsageView[]>
  /**
   * Returns the items of the pieces of a view in order; with `from`, beginning with the piece that has the items of
   * this key.
   */
  pieces(view: StoredUsageView, from?: string): AsyncIterable<string>
  /** Returns the pieces of a view in order, as they are stored. */
  packedPieces(view: StoredUsageView): AsyncIterable<PackedText>
  /** Returns the items of the piece that has the item of this key, if any piece has it. */
  pieceWith(view: StoredUsageView, key: string): Promise<string | undefined>
}
export const UsageViewStorePort = portKey<UsageViewStore>('usage.UsageViewStore')

export type UsageViewId = number

export interface StoredUsageView extends UsageViewText {
  readonly id: UsageViewId
  readonly pieceCount: number
  readonly month: UsageMonth
  /** Piece 0, if it was read with the view. */
  readonly first: PackedText | undefined
}

/** No contract in force lets the account see the reports for bills of its clients, or none for this cluster. */
export const ClientBillingDisabled = defineFailure(
  'ClientBillingDisabled',
  'Forbidden',
  'The deployment does not show usage to clients.',
)
/** The account has no such cluster, or the cluster has reported no such namespace. */
export const UsageNamespaceMissing = defineFailure(
  'UsageNamespaceMissing',
  'NotFound',
  'The cluster has reported no such namespace.',
)

/** A cluster that has reported usage to an account. */
export interface ReportedCluster {
  readonly id: UsageClusterId
  readonly uid: string
  /** Of the cluster's record, else of its binding to a contract; the UID if there is neither. */
  readonly name: string
  readonly kubernetesVersion: string
  readonly provider: string
  readonly nodeCount: number
  /** A contract in force lets the account see the reports on this cluster. */
  readonly isEnabled: boolean
}

export type ReportedChange = Omit<ObjectChange, 'isTrial'>

/** A database with its changes, in any order. */
export interface ReportedDatabase extends Omit<UsageObject, 'id' | 'clusterId' | 'trialEndsAt'> {
  readonly changes: readonly ReportedChange[]
}

export interface ReportedNamespace {
  readonly uid: string
  readonly name: string
  readonly createdAt: UnixSeconds
  /** JSON objects of texts. */
  readonly labels: string
  readonly annotations: string
}

/** Reads databases as clusters have reported them. */
export interface DatabaseInventory {
  /** Reports whether any contract of the account that is in force lets it see these reports. */
  isEnabled(ownerId: AccountId, now: Date): Promise<boolean>
  /** Returns the clusters that have reported to the account, by UID. */
  clustersOf(ownerId: AccountId, now: Date): Promise<readonly ReportedCluster[]>
  /**
   * Returns the databases of a cluster that were not deleted before `since`, by namespace: the ids in the order of
   * UIDs.
   */
  databaseIdsOf(clusterId: UsageClusterId, since: UnixSeconds): Promise<ReadonlyMap<string, readonly UsageObjectId[]>>
  /** Returns databases in the order of their ids as given, in batches. */
  databases(ids: readonly UsageObjectId[]): AsyncIterable<readonly ReportedDatabase[]>
  /** Returns the databases of a namespace that were not deleted before `since`, by UID, in batches. */
  databasesIn(
    clusterId: UsageClusterId,
    namespace: string,
    since: UnixSeconds,
  ): AsyncIterable<readonly ReportedDatabase[]>
  /** Returns the namespaces that a cluster has reported, the oldest first; with a name, those of this name. */
  namespacesOf(clusterId: UsageClusterId, name?: string): Promise<readonly ReportedNamespace[]>
}
export const DatabaseInventoryPort = portKey<DatabaseInventory>('usage.DatabaseInventory')
