import type { Knex } from 'knex'
import type { ClientOrgChanges, ClientOrgStore } from '../../../core/client-orgs/ports.ts'
import { gatewayNamespaceOf, monitoringNamespaceOf, namespacesOf } from '../../../core/client-orgs/types.ts'
import type { ClientOrgId } from '../../../core/client-orgs/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { aliased, columnsOf, cutTo, int, pick, present, qualified, selectedAs, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { organizationRow } from '../organizations/rows.ts'
import { clientOrgClusters, clientOrgs } from '../tables/client-orgs.ts'
import { accounts } from '../tables/identity.ts'

const clientOrgRow = columnsOf(clientOrgs)
const clusterRow = columnsOf(clientOrgClusters)
const ownerRow = {
  ...qualified(clientOrgRow, 'co'),
  plan: aliased(clientOrgClusters, 'cc').plan,
}
const replanned = without(clientOrgClusters, 'id', 'clientOrgId', 'name', 'state', 'message', 'version')
const deleted = 'Deleted'

const existing = (k: Knex): Knex.QueryBuilder =>
  k('organizations as o').join('client_orgs as co', 'co.org_id', 'o.id').whereNot('co.state', deleted)

const byName = (_: Knex, rows: Knex.QueryBuilder, cut: (query: Knex.QueryBuilder) => Knex.QueryBuilder) =>
  cut(rows.join('accounts as a', 'a.id', 'o.id').orderBy('co.name'))

const clientOrgReads = (db: SqlDatabase) => ({
  list: typedPage(db, {}, organizationRow, existing, byName),
  listOfHubOwner: typedPage(
    db,
    { key: accounts.lowerName },
    organizationRow,
    (k, p) =>
      existing(k).whereExists(
        k('client_org_clusters as cc')
          .join('accounts as h', 'h.id', 'cc.hub_owner_id')
          .whereRaw('cc.client_org_id = co.id')
          .where('h.lower_name', p.key)
          .select(k.raw('1')),
      ),
    byName,
  ),
  find: db.prepare(pick(clientOrgs, 'name'), clientOrgRow, (k, p) => k('client_orgs').where('name', p.name)),
  findByOrg: db.prepare(pick(clientOrgs, 'orgId'), clientOrgRow, (k, p) => k('client_orgs').where('org_id', p.orgId)),
  clustersOf: db.prepare(pick(clientOrgClusters, 'clientOrgId'), clusterRow, (k, p) =>
    k('client_org_clusters').where('client_org_id', p.clientOrgId).orderBy('name'),
  ),
  ofCluster: db.prepare({ name: clientOrgs.name, uid: clientOrgClusters.uid }, ownerRow, (k, p) =>
    k('client_orgs as co')
      .join('client_org_clusters as cc', 'cc.client_org_id', 'co.id')
      .where('co.name', p.name)
      .where('cc.uid', p.uid)
      .whereNot('cc.state', deleted)
      .orderBy('cc.id')
      .limit(1),
  ),
  gatewayUsers: db.prepare(
    { id: present(clientOrgClusters.gatewayOfId), limit: int() },
    { name: selectedAs(clientOrgs.name) },
    (k, p) =>
      k('client_org_clusters as cc')
        .join('client_orgs as co', 'co.id', 'cc.client_org_id')
        .where('cc.gateway_of_id', p.id)
        .whereNot('cc.state', deleted)
        .distinct('co.name')
        .orderBy('co.name')
        .limit(p.limit),
  ),
})

const bumped = (k: Knex): Knex.Raw => k.raw('version + 1')

const clientOrgWrites = (db: SqlDatabase) => ({
  lock: db.prepare(pick(clientOrgs, 'id'), clientOrgRow, (k, p) => k('client_orgs').where('id', p.id).forUpdate()),
  removeTombstone: db.prepare(pick(clientOrgs, 'name'), (k, p) =>
    k('client_orgs').where('name', p.name).where('state', deleted).delete(),
  ),
  insert: insertInto(db, clientOrgs, { omitted: ['id'], fixed: { state: 'Live' } }),
  setState: db.prepare(pick(clientOrgs, 'id', 'state'), (k, p) =>
    k('client_orgs').where('id', p.id).update('state', p.state),
  ),
  setSettling: db.prepare(pick(clientOrgs, 'id', 'settling'), (k, p) =>
    k('client_orgs').where('id', p.id).update('settling', p.settling),
  ),
  insertCluster: insertInto(db, clientOrgClusters, {
    omitted: ['id', 'message', 'version'],
    fixed: { state: 'Provisioning' },
  }),
  replanCluster: db.prepare({ ...pick(clientOrgClusters, 'id'), ...replanned }, (k, p) =>
    k('client_org_clusters')
      .where('id', p.id)
      .update({
        ...assigned(replanned, p),
        ...values(clientOrgClusters, { state: 'Provisioning', message: '' }),
        version: bumped(k),
      }),
  ),
  setClusterState: db.prepare(pick(clientOrgClusters, 'id', 'state', 'message'), (k, p) =>
    k('client_org_clusters')
      .where('id', p.id)
      .update({ state: p.state, message: p.message, version: bumped(k) }),
  ),
  moveCluster: db.prepare(pick(clientOrgClusters, 'id', 'version', 'state', 'message'), (k, p) =>
    k('client_org_clusters')
      .where('id', p.id)
      .where('version', p.version)
      .update({ state: p.state, message: p.message, version: bumped(k) }),
  ),
})

/** Returns the client organization that could have a namespace of this name. */
const clientNameOf = (namespace: string): string => {
  for (const suffix of [gatewayNamespaceOf(''), monitoringNamespaceOf('')])
    if (namespace.endsWith(suffix)) return namespace.slice(0, -suffix.length)
  return namespace
}

/** ClientOrgStore over the tables client_orgs and client_org_clusters, for changes too. */
export const makeSqlClientOrgStore = (db: SqlDatabase): ((runner: SqlRunner) => ClientOrgChanges) => {
  const s = { ...clientOrgReads(db), ...clientOrgWrites(db) }
  const message = (text: string): string => cutTo(clientOrgClusters.message, text)
  return (runner) => {
    const reads: ClientOrgStore = {
      list: (hubOwner, page) =>
        hubOwner === undefined
          ? s.list(runner, {}, page)
          : s.listOfHubOwner(runner, { key: accountNameKey(hubOwner) }, page),
      find: (name) => runner.first(s.find, { name }),
      findByOrg: (orgId) => runner.first(s.findByOrg, { orgId }),
      clustersOf: (clientOrgId) => runner.all(s.clustersOf, { clientOrgId }),
      async ofNamespace(uid, namespace) {
        const row = await runner.first(s.ofCluster, { uid, name: clientNameOf(namespace) })
        if (row === undefined) return undefined
        const { plan, ...clientOrg } = row
        return namespacesOf(clientOrg.name, plan).includes(namespace) ? clientOrg : undefined
      },
      gatewayUsers: async (id, limit) => (await runner.all(s.gatewayUsers, { id, limit })).map(({ name }) => name),
    }
    return {
      ...reads,
      lock: (id) => runner.first(s.lock, { id }),
      async insert(clientOrg) {
        await runner.run(s.removeTombstone, { name: clientOrg.name })
        return (await runner.run(s.insert, clientOrg)).insertId as ClientOrgId
      },
      async setState(id, state) {
        await runner.run(s.setState, { id, state })
      },
      async setSettling(id, settling) {
        await runner.run(s.setSettling, { id, settling })
      },
      async insertCluster(cluster) {
        await runner.run(s.insertCluster, cluster)
      },
      async replanCluster(id, { clientOrgId: _, name: __, ...plan }) {
        await runner.run(s.replanCluster, { id, ...plan })
      },
      async setClusterState(id, state, text) {
        await runner.run(s.setClusterState, { id, state, message: message(text) })
      },
      moveCluster: async ({ id, version }, state, text) =>
        (await runner.run(s.moveCluster, { id, version, state, message: message(text) })).affected === 1,
    }
  }
}
