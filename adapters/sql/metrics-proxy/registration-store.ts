import type {
  ClusterOfCaller,
  Dashboard,
  Registration,
  RegistrationChange,
  RegistrationStore,
  TenantDirectory,
} from '../../../core/metrics-proxy/ports.ts'
import type { AccessRow } from '../authz/access-context.ts'
import { accessContextOf, accessRow, entryRow, entryRulesOf, joinAccess, joinEntry } from '../authz/access-context.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, nullable, pick, qualified, selectedAs, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto } from '../kit/values.ts'
import { clusters } from '../tables/clusters.ts'
import { accessTokens, accounts, users } from '../tables/identity.ts'
import { metricsRegistrations } from '../tables/metrics-proxy.ts'
import { organizations, orgMembers } from '../tables/organizations.ts'

const shown = without(metricsRegistrations, 'dashATokenId', 'dashBTokenId', 'createdAt', 'updatedAt')
const foundRow = {
  ...qualified(shown, 'r'),
  tokenUserId: selectedAs(nullable(accessTokens.userId)),
  tokenExpiresAt: selectedAs(accessTokens.expiresAt),
  memberId: selectedAs(nullable(orgMembers.userId)),
}

/** What a change sets. A new column of the table belongs to it. */
const content = without(
  metricsRegistrations,
  'id',
  'backend',
  'ownerId',
  'tenantId',
  'clusterUid',
  'createdAt',
  'version',
)

const registrationStatements = (db: SqlDatabase) => {
  const findFor = (tokenColumn: string) =>
    db.prepare(pick(metricsRegistrations, 'backend'), foundRow, (k, p) =>
      k('metrics_registrations as r')
        .leftJoin('access_tokens as t', 't.id', `r.${tokenColumn}`)
        .leftJoin('org_members as m', (on) => on.on('m.org_id', 'r.tenant_id').on('m.user_id', 't.user_id'))
        .select('t.user_id as token_user_id', 't.expires_at as token_expires_at', 'm.user_id as member_id')
        .where('r.backend', p.backend),
    )
  return {
    find: { dashA: findFor('dash_a_token_id'), dashB: findFor('dash_b_token_id') },
    insert: insertInto(db, metricsRegistrations, { omitted: ['id'], fixed: { version: 1 } }),
    change: db.prepare({ ...content, ...pick(metricsRegistrations, 'id', 'version') }, (k, p) =>
      k('metrics_registrations')
        .where('id', p.id)
        .where('version', p.version)
        .update({ ...assigned(content, p), version: k.raw('?? + 1', ['version']) }),
    ),
    remove: db.prepare(pick(metricsRegistrations, 'id', 'version'), (k, p) =>
      k('metrics_registrations').where('id', p.id).where('version', p.version).delete(),
    ),
  }
}

/** The token with which the datasource asks: the newest of those that a registration names. */
const tokenIdOf = (dashboards: Registration['dashboards'], dashboard: Dashboard) =>
  dashboards[dashboard]?.proxyTokens[0]?.id

const contentBinds = ({ ref, sealedContents, dashboards, leasedUntil }: RegistrationChange, at: Date) => ({
  ref,
  sealedContents,
  dashboards,
  leasedUntil,
  dashATokenId: tokenIdOf(dashboards, 'dashA'),
  dashBTokenId: tokenIdOf(dashboards, 'dashB'),
  updatedAt: at,
})

/** Reports whether the datasource can ask: its token exists, has not expired, and its user is of the tenant. */
const isInForce = ({ tokenUserId, tokenExpiresAt, memberId, tenantId }: Row<typeof foundRow>, at: Date): boolean =>
  tokenUserId !== undefined &&
  (tokenExpiresAt === undefined || tokenExpiresAt.getTime() > at.getTime()) &&
  (memberId !== undefined || tokenUserId === tenantId)

/** RegistrationStore over the table metrics_registrations. */
export const makeSqlRegistrationStore = (db: SqlDatabase): ((runner: SqlRunner) => RegistrationStore) => {
  const s = registrationStatements(db)
  return (runner) => ({
    async find(backend, dashboard, at) {
      const row = await runner.first(s.find[dashboard], { backend })
      if (row === undefined) return undefined
      const { tokenUserId: _, tokenExpiresAt: _expiry, memberId: _member, ...registration } = row
      return { registration, hasToken: isInForce(row, at) }
    },
    async insert({ backend, ownerId, tenantId, clusterUid, ...change }, at) {
      try {
        const row = { backend, ownerId, tenantId, clusterUid, createdAt: at, ...contentBinds(change, at) }
        return (await runner.run(s.insert, row)).insertId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async change(id, version, change, at) {
      return (await runner.run(s.change, { id, version, ...contentBinds(change, at) })).affected === 1
    },
    async remove(id, version) {
      return (await runner.run(s.remove, { id, version })).affected === 1
    },
  })
}

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

const tenantStatements = (db: SqlDatabase) => ({
  // Primary keys, and the index of UIDs. A limit would make SQLite plan the statement again each time.
  find: db.prepare({ ownerId: accounts.id, ...pick(clusters, 'uid'), userId: users.id }, tenantRow, (k, p) =>
    joinEntry(
      k('accounts as a')
        .leftJoin('organizations as o', 'o.id', 'a.id')
        .leftJoin('org_members as m', (on) => on.on('m.org_id', 'a.id').onVal('m.user_id', p.userId))
        .leftJoin('clusters as c', (on) => on.on('c.owner_id', 'a.id').onVal('c.uid', p.uid)),
    )
      .select('c.name as cluster_name')
      .where('a.id', p.ownerId),
  ),
  ofCaller: db.prepare({ ...pick(clusters, 'uid'), userId: users.id, ownId: users.id }, callerRow, (k, p) =>
    joinAccess(k('clusters as c').join('accounts as a', 'a.id', 'c.owner_id'), p.userId)
      .select('c.name as cluster_name')
      .where('c.uid', p.uid)
      .where((mine) => mine.whereNotNull('m.user_id').orWhere('a.id', p.ownId))
      .orderBy('c.id'),
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
  const s = tenantStatements(db)
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
    has: async (ownerId, uid) => (await runner.first(s.has, { ownerId, uid })) !== undefined,
  })
}
