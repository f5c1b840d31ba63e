import { distribution } from '../../../core/clusters/hub-types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { textAt } from '../../../core/kernel/json.ts'
import type { ClusterFacts, OwnerFacts, ReadWindow } from '../../../core/usage/months/ports.ts'
import { newestRow, newestVersionOf, versionRow } from '../contracts/terms-in-force.ts'
import { aliased, columnsOf, instant, pick, qualified, text, without } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { clusters } from '../tables/clusters.ts'
import { contractClusterIntervals, contractClusters, contracts, contractTerms } from '../tables/contracts.ts'
import {
  usageClusters,
  usageModes,
  usageNamespaces,
  usageOutages,
  usagePresence,
  usageTrials,
} from '../tables/usage.ts'
import { makeWithKinds } from './rows.ts'

const ofOwner = pick(usageClusters, 'ownerId')

const clusterStatements = (db: SqlDatabase) => ({
  clusters: db.prepare(ofOwner, pick(usageClusters, 'id', 'clusterUid', 'displayName'), (k, p) =>
    k('usage_clusters').where('owner_id', p.ownerId).orderBy('cluster_uid'),
  ),
  bound: db.prepare(ofOwner, { uid: contractClusters.clusterUid, displayName: contractClusters.displayName }, (k, p) =>
    k('contract_clusters').where('owner_id', p.ownerId).orderBy('id'),
  ),
  recorded: db.prepare(ofOwner, pick(clusters, 'uid', 'displayName'), (k, p) =>
    k('clusters').where('owner_id', p.ownerId).orderBy('id'),
  ),
  presence: db.prepare(
    { ...ofOwner, first: usagePresence.month, last: usagePresence.month },
    aliased(usagePresence, 'e'),
    (k, p) =>
      k('usage_clusters as c')
        .join('usage_presence as e', 'e.cluster_id', 'c.id')
        .where('c.owner_id', p.ownerId)
        .whereBetween('e.month', [p.first, p.last])
        .orderBy(['e.cluster_id', 'e.month']),
  ),
  modes: db.prepare({ ...ofOwner, end: usageModes.at }, aliased(usageModes, 'm'), (k, p) =>
    k('usage_clusters as c')
      .join('usage_modes as m', 'm.cluster_id', 'c.id')
      .where('c.owner_id', p.ownerId)
      .where('m.at', '<', p.end)
      .orderBy(['m.cluster_id', 'm.at', 'm.event_id']),
  ),
  // As labels are stored: JSON without spaces.
  clientNamespaces: db.prepare(
    { ...ofOwner, label: text(255) },
    pick(aliased(usageNamespaces, 'n'), 'clusterId', 'uid', 'name', 'labels'),
    (k, p) =>
      k('usage_clusters as c')
        .join('usage_namespaces as n', 'n.cluster_id', 'c.id')
        .where('c.owner_id', p.ownerId)
        .where('n.labels', 'like', p.label)
        .orderBy(['n.cluster_id', 'n.namespace_uid']),
  ),
  outages: db.prepare({ ...ofOwner, from: usageOutages.to }, pick(usageOutages, 'clusterUid', 'from', 'to'), (k, p) =>
    k('usage_outages')
      .where('to_at', '>', p.from)
      .where((each) => each.whereNull('owner_id').orWhere('owner_id', p.ownerId))
      // In the order of the index that finds them.
      .orderBy(['to_at', 'id']),
  ),
  bindings: db.prepare(
    { ...ofOwner, end: instant() },
    qualified(without(contractClusterIntervals, 'id'), 'i'),
    (k, p) =>
      k('contracts as c')
        .join('contract_cluster_intervals as i', 'i.contract_id', 'c.id')
        .where('c.owner_id', p.ownerId)
        .where('i.bound_from', '<', p.end)
        .orderBy('i.id'),
  ),
})

const contractStatements = (db: SqlDatabase) => ({
  contracts: db.prepare(
    ofOwner,
    { ...newestRow, ...pick(aliased(contracts, 'c'), 'id', 'name', 'revokedAt') },
    (k, p) => k('contracts as c').where('c.owner_id', p.ownerId).orderBy('c.id'),
  ),
  earlierTerms: db.prepare(ofOwner, { ...versionRow, contractId: aliased(contractTerms, 'v').contractId }, (k, p) =>
    k('contracts as c')
      .join('contract_terms as v', 'v.contract_id', 'c.id')
      .where('c.owner_id', p.ownerId)
      .whereNull('v.superseded_at')
      .orderBy(['c.id', 'v.from_at']),
  ),
  trialClaims: db.prepare({ ...ofOwner, end: usageTrials.createdAt }, qualified(columnsOf(usageTrials), 't'), (k, p) =>
    k('usage_clusters as c')
      .join('usage_trials as t', 't.cluster_id', 'c.id')
      .where('c.owner_id', p.ownerId)
      .where('t.created_at', '<', p.end),
  ),
})

/** Returns the function that reads the contracts of an owner, and the objects that were reported as trials. */
const makeContractFacts = (db: SqlDatabase) => {
  const s = contractStatements(db)
  const withKinds = makeWithKinds(db)
  return async (
    runner: SqlRunner,
    ownerId: AccountId,
    { to }: ReadWindow,
  ): Promise<Pick<OwnerFacts, 'contracts' | 'trialClaims'>> => {
    const earlier = Map.groupBy(await runner.all(s.earlierTerms, { ownerId }), ({ contractId }) => contractId)
    const contracts = (await runner.all(s.contracts, { ownerId })).map(({ id, name, revokedAt, ...newest }) => ({
      id,
      name,
      revokedAt,
      timeline: [...(earlier.get(id) ?? []), newestVersionOf(newest)],
    }))
    const claims = await withKinds(runner, await runner.all(s.trialClaims, { ownerId, end: to }))
    return { contracts, trialClaims: claims.map(({ kindId: _, ...claim }) => claim) }
  }
}

const label = `%"${distribution.clientOrgLabel}":%`

/** A namespace that is being deleted remains one of the client organization. */
const isOfClient = ({ labels }: { readonly labels: string }): boolean =>
  ['true', 'terminating'].includes(textAt(JSON.parse(labels), distribution.clientOrgLabel))

/** Returns the function that reads what divides the time of each cluster of an owner. */
const makeClusterFacts = (db: SqlDatabase) => {
  const s = clusterStatements(db)
  return async (
    runner: SqlRunner,
    ownerId: AccountId,
    { firstPresence: first, lastPresence: last, to: end, outagesFrom: from }: ReadWindow,
  ): Promise<readonly ClusterFacts[]> => {
    const names = new Map<string, string>()
    for (const { uid, displayName } of await runner.all(s.bound, { ownerId })) names.set(uid, displayName)
    for (const { uid, displayName } of await runner.all(s.recorded, { ownerId })) names.set(uid, displayName)
    const presence = Map.groupBy(await runner.all(s.presence, { ownerId, first, last }), (row) => row.clusterId)
    const modes = Map.groupBy(await runner.all(s.modes, { ownerId, end }), (row) => row.clusterId)
    const namespaces = Map.groupBy(await runner.all(s.clientNamespaces, { ownerId, label }), (row) => row.clusterId)
    const outages = await runner.all(s.outages, { ownerId, from })
    const bindings = Map.groupBy(
      await runner.all(s.bindings, { ownerId, end: new Date(end * 1000) }),
      (row) => row.clusterUid,
    )
    return (await runner.all(s.clusters, { ownerId })).map(({ id, clusterUid: uid, displayName }): ClusterFacts => ({
      id,
      uid,
      displayName: names.get(uid) ?? (displayName === '' ? uid : displayName),
      presence: (presence.get(id) ?? []).map(({ month, hours }) => ({ month, bits: hours })),
      outages: outages.filter((row) => row.clusterUid === '' || row.clusterUid === uid),
      modeChanges: modes.get(id) ?? [],
      bindings: bindings.get(uid) ?? [],
      clientNamespaces: (namespaces.get(id) ?? [])
        .filter(isOfClient)
        .map((row) => ({ namespaceUid: row.uid, clientOrg: row.name })),
    }))
  }
}

/**
 * Returns the function that reads what divides the time of the clusters of an owner: eleven statements, however many
 * clusters there are.
 */
export const makeOwnerFacts = (
  db: SqlDatabase,
): ((runner: SqlRunner, ownerId: AccountId, window: ReadWindow) => Promise<OwnerFacts>) => {
  const clusterFacts = makeClusterFacts(db)
  const contractFacts = makeContractFacts(db)
  return async (runner, ownerId, window) => ({
    clusters: await clusterFacts(runner, ownerId, window),
    ...(await contractFacts(runner, ownerId, window)),
  })
}
