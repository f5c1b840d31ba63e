import type { AccountId, Brand } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { UnixSeconds } from '../types.ts'

export type OutageId = Brand<number, 'OutageId'>

/** A time in which nothing was heard for a reason on the side of the platform. It counts as heard. */
export interface Outage {
  readonly id: OutageId
  /** The account that it concerns; undefined if it concerns all. The name is empty if the account was deleted. */
  readonly owner: { readonly id: AccountId; readonly name: string } | undefined
  /** The cluster that it concerns; empty if it concerns all. */
  readonly clusterUid: string
  readonly from: UnixSeconds
  /** Just after the last second. */
  readonly to: UnixSeconds
  readonly tags: readonly string[]
  readonly comments: string
  readonly createdAt: Date
}
export type NewOutage = Omit<Outage, 'id'>

export interface OutageFilter {
  readonly endsAfter: UnixSeconds
  readonly ownerId: AccountId | undefined
  readonly clusterUid: string | undefined
}

/** Outages of all accounts; for site admins, and for closing a month. */
export interface OutageStore {
  /** Returns an account by its name, in any case. */
  findAccount(name: string): Promise<Outage['owner']>
  /** Returns undefined if there is an outage of the same time, account and cluster. */
  insert(outage: NewOutage): Promise<OutageId | undefined>
  /**
   * Returns the latest 10,000, the newest start first. A filter by account or cluster leaves out those that concern
   * all.
   */
  list(filter: OutageFilter): Promise<readonly Outage[]>
}
export const OutageStorePort = portKey<OutageStore>('usage.OutageStore')

export interface OutageStores {
  readonly outages: OutageStore
  readonly audit: AuditTrail
}
export type OutageUnitOfWork = UnitOfWork<OutageStores>
export const OutageUnitOfWorkPort = portKey<OutageUnitOfWork>('usage.OutageUnitOfWork')
