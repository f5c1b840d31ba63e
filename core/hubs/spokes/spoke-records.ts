import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ClusterStore, ClusterStores, ClusterUnitOfWork } from '../../clusters/ports.ts'
import type { Cluster, ClusterChange } from '../../clusters/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import { untilNotOvertaken } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId, ClusterId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { AuditEntry } from '../../kernel/unit-of-work.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { TaskEnd, TaskRun } from '../../tasks/ports.ts'

/** Returns the audit row of a step in the life of a spoke. The object of the row is the record of the hub. */
export const lifeAuditOf = defineAudit(
  'cluster',
  [
    'cluster.spoke_import_requested',
    'cluster.spoke_conversion_requested',
    'cluster.spoke_identified',
    'cluster.spoke_imported',
    'cluster.spoke_removed',
    'cluster.spoke_unlinked',
  ],
  ({ id, ownerId, name }: Pick<Cluster, 'id' | 'ownerId' | 'name'>) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)

/** The name of a spoke within the hub with that UID. */
export interface SpokeKey {
  readonly ownerId: AccountId
  readonly hubUid: string
  readonly name: string
}

/** What a task on a hub has in its input: the record of the hub, and the name of the spoke. */
interface SpokeTaskRef {
  readonly cluster: { readonly id: ClusterId }
  readonly name: string
}

/** Reports whether a record is of an import that has ended before a hub had the cluster of that name. */
export const isUnfinishedImport = (
  { hubClusterUid, managedClusterName }: Pick<Cluster, 'hubClusterUid' | 'managedClusterName'>,
  name: string,
): boolean => hubClusterUid === '' && managedClusterName === name

/** Writes into the record of a spoke how a task about it has ended, other than as requested: people look there. */
export const tellSpoke = async (
  {
    clusters,
    clock,
  }: { readonly clusters: Pick<ClusterStore, 'find' | 'findSpoke' | 'get' | 'observe'>; readonly clock: Clock },
  { input }: Pick<TaskRun, 'input'>,
  what: 'import into' | 'removal from',
  { state, message, error }: TaskEnd,
): Promise<void> => {
  const { cluster, name } = input as unknown as SpokeTaskRef
  const hub = await clusters.get(cluster.id)
  if (hub === undefined) return
  const [linked, named] = await Promise.all([
    clusters.findSpoke(hub.ownerId, hub.uid, name),
    clusters.find(hub.ownerId, name),
  ])
  const record = linked ?? (named !== undefined && isUnfinishedImport(named, name) ? named : undefined)
  if (record === undefined) return
  const text =
    state === 'cancelled' ? `was cancelled. ${message}` : `failed. ${error ?? ''} ${message}`.replace('  ', ' ')
  const status = { ...record.status, message: `The ${what} the hub ${text}` }
  await clusters.observe(record.id, status, undefined, clock.now())
}

/** Returns the owner's record of a spoke. */
export const recordOfSpoke = (
  clusters: Pick<ClusterStore, 'findSpoke'>,
  { ownerId, hubUid, name }: SpokeKey,
): Promise<Cluster | undefined> => clusters.findSpoke(ownerId, hubUid, name)

/** How often a change of a record is judged again because another request changed the record at the same time. */
export const maxAttempts = 5
export const isClusterChanged = ({ tag }: Failure): boolean => tag === 'ClusterChanged'

/**
 * Changes a record as it is now, whatever other requests change. `write` returns the audit row, or undefined to change
 * nothing. Returns undefined if the record does not exist.
 */
export const changeRecord = async (
  unitOfWork: ClusterUnitOfWork,
  call: SignedInCall,
  id: Cluster['id'],
  changeOf: (cluster: Cluster) => { readonly change: ClusterChange; readonly entry: AuditEntry } | undefined,
): Outcome<Failure<'ClusterChanged'>, Cluster | undefined> => {
  const once = async ({ clusters, audit }: ClusterStores): Outcome<Failure<'ClusterChanged'>, Cluster | undefined> => {
    const cluster = await clusters.get(id)
    const wanted = cluster === undefined ? undefined : changeOf(cluster)
    if (cluster === undefined || wanted === undefined) return right(cluster)
    const changed = await clusters.change(id, cluster.version, wanted.change)
    if (!isLeft(changed)) await audit.record(wanted.entry)
    return changed
  }
  return untilNotOvertaken(maxAttempts, isClusterChanged, () => unitOfWork.run(call, once))
}

/** Returns the audit row of an action on the spokes of a hub. The object of the row is the record of the hub. */
export const auditOf = defineAudit(
  'cluster',
  [
    'cluster.spoke_accepted',
    'cluster.spoke_requests_approved',
    'cluster.spoke_command_issued',
    'cluster.accounts_synced',
  ],
  ({ id, ownerId, name }: { readonly id: ClusterId; readonly ownerId: AccountId; readonly name: string }) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)
