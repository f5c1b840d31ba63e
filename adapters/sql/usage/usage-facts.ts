import type { Contract } from '../../../core/contracts/types.ts'
import type { ClusterFacts, OwnerFacts, ReadWindow } from '../../../core/usage/months/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { ClusterMode, MonthKey, UnixSeconds, UsageClusterId } from '../../../core/usage/types.ts'
import { withOwner } from '../contracts/contract-store.ts'
import type { ContractRow } from '../contracts/rows.ts'
import { contractOf } from '../contracts/rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface NamedRow {
  readonly uid: string
  readonly display_name: string
}
interface PresenceRow {
  readonly cluster_id: Num
  readonly month: number
  readonly hours: Uint8Array
}
interface ModeRow {
  readonly cluster_id: Num
  readonly at: Num
  readonly event_id: string
  readonly mode: ClusterMode
}
interface OutageRow {
  readonly cluster_uid: string
  readonly from_at: Num
  readonly to_at: Num
}
interface BindingRow {
  readonly contract_id: Num
  readonly cluster_uid: string
  readonly bound_from: Num
  readonly bound_to: Num | null
}

const compose = (db: SqlDatabase) => ({
  clusters: db.prepare((k, p: Params<'ownerId'>) => k('usage_clusters').where('owner_id', p('ownerId')).select('id', 'cluster_uid').orderBy('cluster_uid')),
  bound: db.prepare((k, p: Params<'ownerId'>) => k('contract_clusters').where('owner_id', p('ownerId')).select('cluster_uid as uid', 'display_name').orderBy('id')),
  recorded: db.prepare((k, p: Params<'ownerId'>) => k('clusters').where('owner_id', p('ownerId')).select('uid', 'display_name').orderBy('id')),
  presence: db.prepare((k, p: Params<'ownerId' | 'first' | 'last'>) =>
    k('usage_clusters as c').join('usage_presence as e', 'e.cluster_id', 'c.id').where('c.owner_id', p('ownerId')).whereBetween('e.month', [p('first'), p('last')])
      .select('e.cluster_id', 'e.month', 'e.hours').orderBy(['e.cluster_id', 'e.month']),
  ),
  modes: db.prepare((k, p: Params<'ownerId' | 'end'>) =>
    k('usage_clusters as c').join('usage_modes as m', 'm.cluster_id', 'c.id').where('c.owner_id', p('ownerId')).where('m.at', '<', p('end'))
      .select('m.cluster_id', 'm.at', 'm.event_id', 'm.mode').orderBy(['m.cluster_id', 'm.at', 'm.event_id']),
  ),
  outages: db.prepare((k, p: Params<'ownerId' | 'from'>) =>
    k('usage_outages').where('to_at', '>', p('from')).where((each) => each.whereNull('owner_id').orWhere('owner_id', p('ownerId')))
      .select('cluster_uid', 'from_at', 'to_at').orderBy('id'),
  ),
  bindings: db.prepare((k, p: Params<'ownerId' | 'endMs'>) =>
    k('contracts as c').join('contract_cluster_intervals as i', 'i.contract_id', 'c.id').where('c.owner_id', p('ownerId')).where('i.bound_from', '<', p('endMs'))
      .select('i.contract_id', 'i.cluster_uid', 'i.bound_from', 'i.bound_to').orderBy('i.id'),
  ),
  contracts: db.prepare((k, p: Params<'ownerId'>) => withOwner(k('contracts as c')).where('c.owner_id', p('ownerId')).orderBy('c.id')),
})

/** Returns the function that reads what divides the time of the clusters of an owner: eight statements, however many clusters there are. */
export const makeFactsOf = (db: SqlDatabase): ((runner: SqlRunner, ownerId: AccountId, window: ReadWindow) => Promise<OwnerFacts>) => {
  const s = compose(db)
  return async (runner, ownerId, { firstPresence, lastPresence, to, outagesFrom }) => {
    const binds = { ownerId, first: firstPresence, last: lastPresence, end: to, endMs: to * 1000, from: outagesFrom }
    const names = new Map<string, string>()
    for (const { uid, display_name: name } of await runner.all<NamedRow>(s.bound, binds)) names.set(uid, name)
    for (const { uid, display_name: name } of await runner.all<NamedRow>(s.recorded, binds)) names.set(uid, name)
    const presence = Map.groupBy(await runner.all<PresenceRow>(s.presence, binds), (row) => Number(row.cluster_id))
    const modes = Map.groupBy(await runner.all<ModeRow>(s.modes, binds), (row) => Number(row.cluster_id))
    const outages = await runner.all<OutageRow>(s.outages, binds)
    const bindings = Map.groupBy(await runner.all<BindingRow>(s.bindings, binds), (row) => row.cluster_uid)
    const contracts: readonly Contract[] = (await runner.all<ContractRow>(s.contracts, binds)).map(contractOf)
    const clusters = (await runner.all<{ readonly id: Num; readonly cluster_uid: string }>(s.clusters, binds)).map(({ id, cluster_uid: uid }): ClusterFacts => ({
      id: Number(id) as UsageClusterId,
      uid,
      displayName: names.get(uid) ?? uid,
      presence: (presence.get(Number(id)) ?? []).map((row) => ({ month: row.month as MonthKey, bits: row.hours })),
      outages: outages.filter((row) => row.cluster_uid === '' || row.cluster_uid === uid).map(spanOf),
      modeChanges: (modes.get(Number(id)) ?? []).map(modeOf),
      bindings: (bindings.get(uid) ?? []).map(bindingOf),
    }))
    return { clusters, contracts }
  }
}

const spanOf = ({ from_at: from, to_at: to }: OutageRow): ClusterFacts['outages'][number] => ({ from: Number(from) as UnixSeconds, to: Number(to) as UnixSeconds })

const modeOf = ({ at, event_id: eventId, mode }: ModeRow): ClusterFacts['modeChanges'][number] => ({ at: Number(at) as UnixSeconds, eventId, mode })

const bindingOf = (row: BindingRow): ClusterFacts['bindings'][number] => ({
  contractId: Number(row.contract_id),
  clusterUid: row.cluster_uid,
  boundFrom: new Date(Number(row.bound_from)),
  boundTo: row.bound_to === null ? undefined : new Date(Number(row.bound_to)),
})
