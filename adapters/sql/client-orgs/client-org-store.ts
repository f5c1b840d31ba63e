import type { Knex } from 'knex'
import type { ClientOrgChanges, ClientOrgStore, OwnedCluster } from '../../../core/client-orgs/ports.ts'
import {
  accountLayout,
  gatewayNamespaceOf,
  monitoringNamespaceOf,
  namespacesOf,
} from '../../../core/client-orgs/types.ts'
import type { ClientOrgId } from '../../../core/client-orgs/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import {
  aliased,
  columnsOf,
  cutTo,
  int,
  nullable,
  pick,
  present,
  qualified,
  selectedAs,
  without,
} from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { organizationRow } from '../organizations/rows.ts'
import { clientOrgAccounts, clientOrgClusters, clientOrgs } from '../tables/client-orgs.ts'
import { accounts } from '../tables/identity.ts'

const clientOrgRow = columnsOf(clientOrgs)
const clusterRow = columnsOf(clientOrgClusters)
const ownerRow = {
  ...qualified(clientOrgRow, 'co'),
  plan: aliased(clientOrgClusters, 'cc').plan,
}
const replanned = without(
  clientOrgClusters,
  'id',
  'clientOrgId',
  'name',
  'state',
  'accountLayout',
  'message',
  'version',
)
const deleted = 'Deleted'
/** Nothing of the client organization is to be on the cluster any more. */
const tombstones = ['Deleted', 'Abandoned']
/** As `holdsObjects` of the core. */
const holding = ['Provisioning', 'Active', 'Failed']

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
        .whereNotIn('cc.state', tombstones)
        .distinct('co.name')
        .orderBy('co.name')
        .limit(p.limit),
  ),
})

const clientsBy = (k: Knex, limit: unknown): Knex.QueryBuilder =>
  k('client_org_clusters as cc')
    .join('client_orgs as co', 'co.id', 'cc.client_org_id')
    .whereNotIn('cc.state', tombstones)
    .distinct('co.name')
    .orderBy('co.name')
    .limit(limit as number)

/** What depends on clusters, and the accounts of members on them. */
const accountReads = (db: SqlDatabase) => ({
  clientsOfCluster: db.prepare(
    { ownerId: clientOrgClusters.hubOwnerId, uid: clientOrgClusters.uid, limit: int() },
    { name: selectedAs(clientOrgs.name) },
    (k, p) =>
      clientsBy(k, p.limit)
        .where('cc.hub_owner_id', p.ownerId)
        .where((either) => either.where('cc.uid', p.uid).orWhere('cc.hub_uid', p.uid)),
  ),
  clientsOfSpoke: db.prepare(
    {
      ownerId: clientOrgClusters.hubOwnerId,
      hubUid: clientOrgClusters.hubUid,
      name: clientOrgClusters.name,
      limit: int(),
    },
    { name: selectedAs(clientOrgs.name) },
    (k, p) =>
      clientsBy(k, p.limit).where('cc.hub_owner_id', p.ownerId).where({ 'cc.hub_uid': p.hubUid, 'cc.name': p.name }),
  ),
  cluster: db.prepare(pick(clientOrgClusters, 'id'), clusterRow, (k, p) => k('client_org_clusters').where('id', p.id)),
  clientOrg: db.prepare(pick(clientOrgs, 'id'), clientOrgRow, (k, p) => k('client_orgs').where('id', p.id)),
  toRenew: db.prepare(
    { id: clientOrgClusters.id, layout: clientOrgClusters.accountLayout, limit: int() },
    clusterRow,
    (k, p) =>
      k('client_org_clusters')
        .where('account_layout', '<', p.layout)
        .where('id', '>', p.id)
        .whereIn('state', ['Active', 'Failed'])
        .orderBy('id')
        .limit(p.limit as never),
  ),
  accountsOf: db.prepare(pick(clientOrgAccounts, 'clusterId'), { userId: clientOrgAccounts.userId }, (k, p) =>
    k('client_org_accounts').where('cluster_id', p.clusterId).orderBy('user_id'),
  ),
  access: db.prepare(
    { userId: clientOrgAccounts.userId, orgId: clientOrgs.orgId, uid: clientOrgClusters.uid },
    { clusterId: selectedAs(clientOrgAccounts.clusterId), accountId: selectedAs(nullable(clientOrgAccounts.id)) },
    (k, p) =>
      k('client_orgs as co')
        .join('client_org_clusters as cc', 'cc.client_org_id', 'co.id')
        .leftJoin('client_org_accounts as ca', (on) =>
          on.on('ca.cluster_id', 'cc.id').andOn('ca.user_id', '=', k.raw('?', [p.userId as never])),
        )
        .where('co.org_id', p.orgId)
        .where('cc.uid', p.uid)
        .whereIn('cc.state', holding)
        .select('cc.id as cluster_id', 'ca.id as account_id')
        .orderBy('cc.id')
        .limit(1),
  ),
  stray: db.prepare({ id: clientOrgAccounts.id, limit: int() }, qualified(columnsOf(clientOrgAccounts), 'ca'), (k, p) =>
    k('client_org_accounts as ca')
      .join('client_org_clusters as cc', 'cc.id', 'ca.cluster_id')
      .join('client_orgs as co', 'co.id', 'cc.client_org_id')
      .leftJoin('org_members as m', (on) => on.on('m.org_id', 'co.org_id').andOn('m.user_id', 'ca.user_id'))
      .leftJoin('users as u', 'u.id', 'ca.user_id')
      .where('ca.id', '>', p.id)
      .where((either) =>
        either
          .whereNull('u.id')
          .orWhere('u.is_active', 0)
          .orWhere('u.prohibit_login', 1)
          .orWhere((other) => other.whereNull('m.user_id').where('u.is_admin', 0))
          .orWhere('cc.state', deleted),
      )
      .orderBy('ca.id')
      .limit(p.limit as never),
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
    // An account layout of an earlier release is the default.
    fixed: { state: 'Provisioning', accountLayout },
  }),
  setAccountLayout: db.prepare(pick(clientOrgClusters, 'id', 'accountLayout'), (k, p) =>
    k('client_org_clusters').where('id', p.id).update('account_layout', p.accountLayout),
  ),
  addAccount: db.prepare(pick(clientOrgAccounts, 'clusterId', 'userId'), (k, p) =>
    k('client_org_accounts')
      .insert(assigned(pick(columnsOf(clientOrgAccounts), 'clusterId', 'userId'), p))
      .onConflict(['cluster_id', 'user_id'])
      .ignore(),
  ),
  removeAccount: db.prepare(pick(clientOrgAccounts, 'id'), (k, p) =>
    k('client_org_accounts').where('id', p.id).delete(),
  ),
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
  const s = { ...clientOrgReads(db), ...accountReads(db), ...clientOrgWrites(db) }
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
      clientsOfCluster: async (ownerId, uid, limit) =>
        (await runner.all(s.clientsOfCluster, { ownerId, uid, limit })).map(({ name }) => name),
      clientsOfSpoke: async (ownerId, hubUid, name, limit) =>
        (await runner.all(s.clientsOfSpoke, { ownerId, hubUid, name, limit })).map((row) => row.name),
      async clustersToRenew(after, limit) {
        const clusters = await runner.all(s.toRenew, { id: after, layout: accountLayout, limit })
        const owned: OwnedCluster[] = []
        for (const cluster of clusters) {
          const clientOrg = await runner.first(s.clientOrg, { id: cluster.clientOrgId })
          if (clientOrg !== undefined) owned.push({ cluster, clientOrg })
        }
        return owned
      },
      accountsOf: async (clusterId) => (await runner.all(s.accountsOf, { clusterId })).map(({ userId }) => userId),
      findAccess: (orgId, uid, userId) =>
        // No user has the id 0: the join then finds no account.
        runner.first(s.access, { orgId, uid, userId: userId ?? (0 as UserId) }),
      async findCluster(id) {
        const cluster = await runner.first(s.cluster, { id })
        const clientOrg = cluster && (await runner.first(s.clientOrg, { id: cluster.clientOrgId }))
        return cluster === undefined || clientOrg === undefined ? undefined : { cluster, clientOrg }
      },
      async addAccount(clusterId, userId) {
        await runner.run(s.addAccount, { clusterId, userId })
      },
      strayAccounts: (id, limit) => runner.all(s.stray, { id, limit }),
      async removeAccount(id) {
        await runner.run(s.removeAccount, { id })
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
      async setAccountLayout(id, layout) {
        await runner.run(s.setAccountLayout, { id, accountLayout: layout })
      },
      async setClusterState(id, state, text) {
        await runner.run(s.setClusterState, { id, state, message: message(text) })
      },
      moveCluster: async ({ id, version }, state, text) =>
        (await runner.run(s.moveCluster, { id, version, state, message: message(text) })).affected === 1,
    }
  }
}
