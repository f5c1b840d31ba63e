import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { token } from '../../kernel/token.ts'
import type { ObjectChange } from '../events/types.ts'
import type { UnixSeconds, UsageClusterId, UsageObject } from '../types.ts'

/** No contract in force lets the account see the reports for bills of its clients, or none for this cluster. */
export const ClientBillingDisabled = defineFailure('ClientBillingDisabled', 'Forbidden')
/** The account has no such cluster, or the cluster has reported no such namespace. */
export const UsageNamespaceMissing = defineFailure('UsageNamespaceMissing', 'NotFound')

/** A cluster that has reported usage to an account. */
export interface ReportedCluster {
  readonly id: UsageClusterId
  readonly uid: string
  /** Of the cluster's record; the UID if there is none. */
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
  /** Returns the databases of a cluster that were not deleted before `since`, by UID, in batches; with a namespace, only its own. */
  databasesOf(clusterId: UsageClusterId, since: UnixSeconds, namespace?: string): AsyncIterable<readonly ReportedDatabase[]>
  /** Returns the namespaces that a cluster has reported, the oldest first; with a name, those of this name. */
  namespacesOf(clusterId: UsageClusterId, name?: string): Promise<readonly ReportedNamespace[]>
}
export const DatabaseInventoryToken = token<DatabaseInventory>('usage.DatabaseInventory')
