import type { Knex } from 'knex'
import type { BindingStore, LicensedCluster } from '../../../core/contracts/ports.ts'
import type { ContractClusterId, ContractId } from '../../../core/contracts/types.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { withOwner } from './contract-store.ts'
import type { BindingRow, ContractRow, LicensedBindingRow } from './rows.ts'
import { bindingOf, contractOf, licensedBindingOf, tagsOf } from './rows.ts'
import { activeAt, inForce, joinInForce } from './terms-in-force.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

const withTags = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .leftJoin('contract_cluster_tags as t', (on) =>
      on.on('t.owner_id', 'b.owner_id').on('t.cluster_uid', 'b.cluster_uid'),
    )
    .select('b.id', 'b.contract_id', 'b.owner_id', 'b.cluster_uid', 'b.display_name', 'b.bound_at', 't.tags')

const byName: Shown = (_, rows, cut) => cut(withTags(rows).orderBy(['b.display_name', 'b.id']))

/** The clusters of offline contracts that are in force, one row for each cluster. */
const licensed = (k: Knex, p: Params<'ownerId' | 'now'>): Knex.QueryBuilder =>
  k.from(
    activeAt(
      joinInForce(k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id'), p('now')),
      p('now'),
    )
      .where('b.owner_id', p('ownerId'))
      .whereRaw(`${inForce('allows_offline')} = 1`)
      .groupBy('b.cluster_uid')
      .select('b.cluster_uid')
      .as('l'),
  )

interface LicensedRow {
  readonly cluster_uid: string
}

const statementsOf = (db: SqlDatabase) => ({
  list: pageQuery(
    db,
    (k, p: Params<'contractId'>) => k('contract_clusters as b').where('b.contract_id', p('contractId')),
    byName,
  ),
  find: db.prepare((k, p: Params<'contractId' | 'id'>) =>
    withTags(k('contract_clusters as b')).where('b.id', p('id')).where('b.contract_id', p('contractId')),
  ),
  licensed: pageQuery(db, licensed, (_, rows, cut) => cut(rows.select('l.cluster_uid').orderBy('l.cluster_uid'))),
  contractsOfCluster: db.prepare((k, p: Params<'uid' | 'now' | 'limit'>) =>
    withOwner(k, k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id'), p('now'))
      .select('b.id as binding_id')
      .where('b.cluster_uid', p('uid'))
      .orderByRaw(`${inForce('ends_at')} desc, c.id desc`)
      .limit(p('limit')),
  ),
  add: insertRows(db, 'contract_clusters', (p: Params<'contractId' | 'ownerId' | 'uid' | 'name' | 'at'>) => ({
    contract_id: p('contractId'),
    owner_id: p('ownerId'),
    cluster_uid: p('uid'),
    display_name: p('name'),
    bound_at: p('at'),
  })),
  openInterval: insertRows(db, 'contract_cluster_intervals', (p: Params<'contractId' | 'uid' | 'at'>) => ({
    contract_id: p('contractId'),
    cluster_uid: p('uid'),
    bound_from: p('at'),
  })),
  remove: db.prepare((k, p: Params<'id'>) => k('contract_clusters').where('id', p('id')).delete()),
  closeInterval: db.prepare((k, p: Params<'contractId' | 'uid' | 'at'>) =>
    k('contract_cluster_intervals')
      .where('contract_id', p('contractId'))
      .where('cluster_uid', p('uid'))
      .whereNull('bound_to')
      .update({ bound_to: p('at') }),
  ),
  rename: db.prepare((k, p: Params<'id' | 'name'>) =>
    k('contract_clusters')
      .where('id', p('id'))
      .update({ display_name: p('name') }),
  ),
  setTags: db.prepare((k, p: Params<'ownerId' | 'uid' | 'tags'>) =>
    k('contract_cluster_tags')
      .insert({ owner_id: p('ownerId'), cluster_uid: p('uid'), tags: p('tags') })
      .onConflict(['owner_id', 'cluster_uid'])
      .merge({ tags: p('tags') }),
  ),
})

type BindingStatements = ReturnType<typeof statementsOf>

const contractsOf = (
  runner: SqlRunner,
  ownerId: number,
  uids: readonly string[],
  now: Date,
): Promise<LicensedBindingRow[]> =>
  runner.query<LicensedBindingRow>((k) =>
    activeAt(
      joinInForce(withTags(k('contract_clusters as b').join('contracts as c', 'c.id', 'b.contract_id')), now.getTime()),
      now.getTime(),
    )
      .where('b.owner_id', ownerId)
      .whereIn('b.cluster_uid', [...uids])
      .select(
        (['product', 'features', 'allows_offline'] as const).map((column) => k.raw(`${inForce(column)} as ${column}`)),
      )
      .orderBy(['b.cluster_uid', 'b.contract_id']),
  )

const bindingReads = (
  s: BindingStatements,
  runner: SqlRunner,
  clock: Clock,
): Pick<BindingStore, 'listOf' | 'find' | 'listFor' | 'listContractsOf' | 'listLicensed' | 'boundAmong'> => ({
  async listOf(contractId, page) {
    return mapPage(await s.list<BindingRow>(runner, { contractId }, page), bindingOf)
  },
  async find(contractId, id) {
    const row = await runner.first<BindingRow>(s.find, { contractId, id })
    return row === undefined ? undefined : bindingOf(row)
  },
  async listFor(ownerId, clusterUids, now) {
    return clusterUids.length === 0 ? [] : (await contractsOf(runner, ownerId, clusterUids, now)).map(licensedBindingOf)
  },
  async listContractsOf(uid, limit) {
    const rows = await runner.all<ContractRow & { readonly binding_id: number }>(s.contractsOfCluster, {
      uid,
      limit,
      now: clock.now().getTime(),
    })
    return rows.map((row) => ({ contract: contractOf(row), clusterId: row.binding_id as ContractClusterId }))
  },
  async listLicensed(ownerId, now, page) {
    const found = await s.licensed<LicensedRow>(runner, { ownerId, now: now.getTime() }, page)
    const uids = found.items.map(({ cluster_uid }) => cluster_uid)
    const rows = uids.length === 0 ? [] : await contractsOf(runner, ownerId, uids, now)
    const offline = Map.groupBy(
      rows.filter(({ allows_offline }) => allows_offline === 1),
      ({ cluster_uid }) => cluster_uid,
    )
    return mapPage(found, ({ cluster_uid: clusterUid }): LicensedCluster => {
      const bound = offline.get(clusterUid) ?? []
      return {
        clusterUid,
        displayName: bound.map(({ display_name }) => display_name).sort()[0] ?? '',
        tags: tagsOf(bound[0]?.tags ?? null),
        contractIds: bound.map(({ contract_id }) => contract_id as ContractId),
      }
    })
  },
  async boundAmong(contractId, clusterUids) {
    const rows = await runner.query<{ readonly cluster_uid: string }>((k) =>
      k('contract_clusters')
        .where('contract_id', contractId)
        .whereIn('cluster_uid', [...clusterUids])
        .select('cluster_uid')
        .orderBy('cluster_uid'),
    )
    return rows.map(({ cluster_uid }) => cluster_uid)
  },
})

/** BindingStore over the tables contract_clusters, contract_cluster_tags and contract_cluster_intervals. */
export const makeSqlBindingStore = (db: SqlDatabase, clock: Clock): ((runner: SqlRunner) => BindingStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    ...bindingReads(s, runner, clock),
    async add({ id: contractId, ownerId }, bindings, at) {
      const bound = bindings.map(({ clusterUid, displayName }) => ({
        contractId,
        uid: clusterUid,
        name: displayName,
        at: at.getTime(),
      }))
      await s.add(
        runner,
        bound.map((each) => ({ ...each, ownerId })),
      )
      await s.openInterval(
        runner,
        bound.map(({ contractId: contract, uid, at: from }) => ({ contractId: contract, uid, at: from })),
      )
    },
    async remove({ id, contractId, clusterUid }, at) {
      await runner.run(s.remove, { id })
      await runner.run(s.closeInterval, { contractId, uid: clusterUid, at: at.getTime() })
    },
    async rename({ id }, displayName) {
      await runner.run(s.rename, { id, name: displayName })
    },
    async setTags(ownerId, clusterUid, tags) {
      await runner.run(s.setTags, { ownerId, uid: clusterUid, tags: toWireJson(tags) })
    },
  })
}
