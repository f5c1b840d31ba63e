import type { Knex } from 'knex'
import type { BindingStore, LicensedBinding, LicensedCluster } from '../../../core/contracts/ports.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, instant, int, pick, present } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { queryRows } from '../kit/fragments.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { fixedSlots, insertAllInto, newRow, values } from '../kit/values.ts'
import { contractClusterIntervals, contractClusters, contractClusterTags } from '../tables/contracts.ts'
import { withOwner } from './contract-store.ts'
import { bindingRow, contractOf, contractRow } from './rows.ts'
import { activeAt, inForce, joinInForce, termsInForce } from './terms-in-force.ts'

const withTags = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.leftJoin('contract_cluster_tags as t', (on) =>
    on.on('t.owner_id', 'b.owner_id').on('t.cluster_uid', 'b.cluster_uid'),
  )

const ofOwner = { ownerId: contractClusters.ownerId, now: instant() }

/** The clusters of offline contracts that are in force, one row for each cluster. */
const licensed = (k: Knex, p: Slots<typeof ofOwner>): Knex.QueryBuilder =>
  k.from(
    activeAt(joinInForce(k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id'), p.now), p.now)
      .where('b.owner_id', p.ownerId)
      .whereRaw(`${inForce('allowsOffline')} = 1`)
      .groupBy('b.cluster_uid')
      .select('b.cluster_uid')
      .as('l'),
  )

const statementsOf = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    pick(contractClusters, 'contractId'),
    bindingRow,
    (k, p) => k('contract_clusters as b').where('b.contract_id', p.contractId),
    (_, rows, cut) => cut(withTags(rows).orderBy(['b.display_name', 'b.id'])),
  ),
  find: db.prepare(pick(contractClusters, 'contractId', 'id'), bindingRow, (k, p) =>
    withTags(k('contract_clusters as b')).where('b.id', p.id).where('b.contract_id', p.contractId),
  ),
  licensed: typedPage(db, ofOwner, pick(aliased(contractClusters, 'l'), 'clusterUid'), licensed, (_, rows, cut) =>
    cut(rows.orderBy('l.cluster_uid')),
  ),
  contractsOfCluster: db.prepare(
    { clusterUid: contractClusters.clusterUid, now: instant(), limit: int() },
    { ...contractRow, bindingId: aliased(contractClusters, 'b').id },
    (k, p) =>
      withOwner(k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id'), p.now)
        .where('b.cluster_uid', p.clusterUid)
        .orderByRaw(`${inForce('endsAt')} desc, c.id desc`)
        .limit(p.limit),
  ),
  add: insertAllInto(db, contractClusters, { omitted: ['id'] }),
  openInterval: insertAllInto(db, contractClusterIntervals, { omitted: ['id', 'boundTo'] }),
  remove: db.prepare(pick(contractClusters, 'id'), (k, p) => k('contract_clusters').where('id', p.id).delete()),
  closeInterval: db.prepare(
    { ...pick(contractClusterIntervals, 'contractId', 'clusterUid'), at: present(contractClusterIntervals.boundTo) },
    (k, p) =>
      k('contract_cluster_intervals')
        .where('contract_id', p.contractId)
        .where('cluster_uid', p.clusterUid)
        .whereNull('bound_to')
        .update(values(contractClusterIntervals, { boundTo: p.at })),
  ),
  rename: db.prepare(pick(contractClusters, 'id', 'displayName'), (k, p) =>
    k('contract_clusters')
      .where('id', p.id)
      .update(values(contractClusters, { displayName: p.displayName })),
  ),
  setTags: db.prepare(pick(contractClusterTags, 'ownerId', 'clusterUid', 'tags'), (k, p) =>
    k('contract_cluster_tags')
      .insert(newRow(contractClusterTags, { ownerId: p.ownerId, clusterUid: p.clusterUid, tags: p.tags }))
      .onConflict(['owner_id', 'cluster_uid'])
      .merge(values(contractClusterTags, { tags: p.tags })),
  ),
})

type BindingStatements = ReturnType<typeof statementsOf>

/** A binding with what licenses need of its contract. */
const licensedRow = { ...bindingRow, ...pick(termsInForce, 'product', 'features', 'allowsOffline') }
type LicensedRow = Row<typeof licensedRow>

const licensedBindingOf = ({ product, features, allowsOffline, ...binding }: LicensedRow): LicensedBinding => ({
  binding,
  contract: { id: binding.contractId, product, features, allowsOffline },
})

const contractsOf = (
  runner: SqlRunner,
  ownerId: AccountId,
  uids: readonly string[],
  now: Date,
): Promise<readonly LicensedRow[]> =>
  queryRows(runner, licensedRow, (k) => {
    const p = fixedSlots(ofOwner, { ownerId, now })
    return activeAt(
      joinInForce(withTags(k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id')), p.now),
      p.now,
    )
      .where('b.owner_id', p.ownerId)
      .whereIn('b.cluster_uid', [...uids])
      .orderBy(['b.cluster_uid', 'b.contract_id'])
  })

const bindingReads = (
  s: BindingStatements,
  runner: SqlRunner,
  clock: Clock,
): Pick<BindingStore, 'listOf' | 'find' | 'listFor' | 'listContractsOf' | 'listLicensed' | 'boundAmong'> => ({
  listOf: (contractId, page) => s.list(runner, { contractId }, page),
  find: (contractId, id) => runner.first(s.find, { contractId, id }),
  async listFor(ownerId, clusterUids, now) {
    return clusterUids.length === 0 ? [] : (await contractsOf(runner, ownerId, clusterUids, now)).map(licensedBindingOf)
  },
  async listContractsOf(clusterUid, limit) {
    const rows = await runner.all(s.contractsOfCluster, { clusterUid, limit, now: clock.now() })
    return rows.map(({ bindingId, ...row }) => ({ contract: contractOf(row), clusterId: bindingId }))
  },
  async listLicensed(ownerId, now, page) {
    const found = await s.licensed(runner, { ownerId, now }, page)
    const uids = found.items.map(({ clusterUid }) => clusterUid)
    const rows = uids.length === 0 ? [] : await contractsOf(runner, ownerId, uids, now)
    const offline = Map.groupBy(
      rows.filter(({ allowsOffline }) => allowsOffline),
      ({ clusterUid }) => clusterUid,
    )
    return mapPage(found, ({ clusterUid }): LicensedCluster => {
      const bound = offline.get(clusterUid) ?? []
      return {
        clusterUid,
        displayName: bound.map(({ displayName }) => displayName).sort()[0] ?? '',
        tags: bound[0]?.tags ?? [],
        contractIds: bound.map(({ contractId }) => contractId),
      }
    })
  },
  async boundAmong(contractId, clusterUids) {
    const rows = await queryRows(runner, pick(contractClusters, 'clusterUid'), (k) =>
      k('contract_clusters')
        .where('contract_id', contractId)
        .whereIn('cluster_uid', [...clusterUids])
        .orderBy('cluster_uid'),
    )
    return rows.map(({ clusterUid }) => clusterUid)
  },
})

/** BindingStore over the tables contract_clusters, contract_cluster_tags and contract_cluster_intervals. */
export const makeSqlBindingStore = (db: SqlDatabase, clock: Clock): ((runner: SqlRunner) => BindingStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    ...bindingReads(s, runner, clock),
    async add({ id: contractId, ownerId }, bindings, at) {
      await s.add(
        runner,
        bindings.map(({ clusterUid, displayName }) => ({ contractId, ownerId, clusterUid, displayName, boundAt: at })),
      )
      await s.openInterval(
        runner,
        bindings.map(({ clusterUid }) => ({ contractId, clusterUid, boundFrom: at })),
      )
    },
    async remove({ id, contractId, clusterUid }, at) {
      await runner.run(s.remove, { id })
      await runner.run(s.closeInterval, { contractId, clusterUid, at })
    },
    async rename({ id }, displayName) {
      await runner.run(s.rename, { id, displayName })
    },
    async setTags(ownerId, clusterUid, tags) {
      await runner.run(s.setTags, { ownerId, clusterUid, tags })
    },
  })
}
