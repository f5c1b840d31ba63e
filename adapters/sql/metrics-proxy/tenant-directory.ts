import type { ClusterOfCaller, TenantDirectory } from '../../../core/metrics-proxy/ports.ts'
import { accessContextOf, accessRow, entryRow, entryRulesOf, joinAccess, joinEntry } from '../authz/access-context.ts'
import type { AccessRow } from '../authz/access-context.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, nullable, pick, selectedAs } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { clusters } from '../tables/clusters.ts'
import { accounts, users } from '../tables/identity.ts'
import { organizations, orgMembers } from '../tables/organizations.ts'

/** The value of `organizations.org_type` for a client organization. */
const clientOrgType = 2

const o = aliased(organizations, 'o')
const c = aliased(clusters, 'c')

const tenantRow = {
  ...pick(aliased(accounts, 'a'), 'id', 'name'),
  orgType: nullable(o.orgType),
  clusterName: selectedAs(nullable(clusters.name)),
  memberId: nullable(aliased(orgMembers, 'm').userId),
  ...entryRow,
}

const callerRow = {
  ...accessRow,
  orgType: nullable(o.orgType),
  ...pick(c, 'uid', 'endpoint', 'hubClusterUid'),
  clusterName: selectedAs(clusters.name),
}

const statements = (db: SqlDatabase) => ({
  // One row: the primary keys of accounts and members, and the owner's few clusters with this UID.
  find: db.prepare({ ownerId: accounts.id, ...pick(clusters, 'uid'), userId: users.id }, tenantRow, (k, p) =>
    joinEntry(
      k('accounts as a')
        .leftJoin('organizations as o', 'o.id', 'a.id')
        .leftJoin('org_members as m', (on) => on.on('m.org_id', 'a.id').onVal('m.user_id', p.userId))
        .leftJoin('clusters as c', (on) => on.on('c.owner_id', 'a.id').onVal('c.uid', p.uid)),
    )
      .select('c.name as cluster_name')
      .where('a.id', p.ownerId)
      .limit(1),
  ),
  ofCaller: db.prepare({ ...pick(clusters, 'uid'), userId: users.id, ownId: users.id }, callerRow, (k, p) =>
    joinAccess(k('clusters as c').join('accounts as a', 'a.id', 'c.owner_id'), p.userId)
      .select('c.name as cluster_name')
      .where('c.uid', p.uid)
      .where((mine) => mine.whereNotNull('m.user_id').orWhere('a.id', p.ownId))
      .orderBy('c.id'),
  ),
  exists: db.prepare(pick(clusters, 'uid'), pick(clusters, 'id'), (k, p) =>
    k('clusters').where('uid', p.uid).limit(1),
  ),
  has: db.prepare(pick(clusters, 'ownerId', 'uid'), pick(clusters, 'id'), (k, p) =>
    k('clusters').where('owner_id', p.ownerId).where('uid', p.uid).limit(1),
  ),
})

type CallerRow = Row<typeof callerRow>

const clusterOf = (userId: number, rows: readonly [CallerRow, ...CallerRow[]]): ClusterOfCaller => {
  const [{ uid, clusterName, endpoint, hubClusterUid, orgType }] = rows
  return {
    uid,
    name: clusterName,
    endpoint,
    hubClusterUid,
    isClientOrganization: orgType === clientOrgType,
    context: accessContextOf(userId, rows as readonly [AccessRow, ...AccessRow[]]),
  }
}

/** TenantDirectory over the tables of accounts, members and clusters. */
export const makeSqlTenantDirectory = (db: SqlDatabase): ((runner: SqlRunner) => TenantDirectory) => {
  const s = statements(db)
  return (runner) => ({
    async find(ownerId, uid, userId) {
      const row = await runner.first(s.find, { ownerId, uid, userId })
      if (row === undefined) return undefined
      return {
        ownerName: row.name,
        isClientOrganization: row.orgType === clientOrgType,
        clusterName: row.clusterName,
        isMember: row.memberId !== undefined || ownerId === userId,
        entry: row.memberId === undefined ? undefined : entryRulesOf(row),
      }
    },
    async ofCaller(uid, userId) {
      const rows = await runner.all(s.ofCaller, { uid, userId, ownId: userId })
      const byOwner = Map.groupBy(rows, (row) => row.accountId)
      return [...byOwner.values()].flatMap(([first, ...rest]) =>
        first === undefined ? [] : [clusterOf(userId, [first, ...rest])],
      )
    },
    exists: async (uid) => (await runner.first(s.exists, { uid })) !== undefined,
    has: async (ownerId, uid) => (await runner.first(s.has, { ownerId, uid })) !== undefined,
  })
}
