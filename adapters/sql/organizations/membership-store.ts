import type { Knex } from 'knex'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { MembershipStore, OrganizationTokenStore } from '../../../core/organizations/ports.ts'
import type { AccountSummary, MemberRights } from '../../../core/organizations/types.ts'
import { entryRow, entryRulesOf, joinEntry, makeSqlAccessContext } from '../authz/access-context.ts'
import { tokenOf, tokenRow } from '../identity/rows.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import { typedPage } from '../kit/page-query.ts'
import type { Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, int, long, nullableColumns, pick } from '../kit/columns.ts'
import { insertInto, values } from '../kit/values.ts'
import { objectGrants } from '../tables/authz.ts'
import { accessTokens, accounts, users } from '../tables/identity.ts'
import { organizations, orgMembers, teamMembers } from '../tables/organizations.ts'

/** An account `a` with what is known of its user `u`, if it has one. */
const accountRow = {
  ...pick(aliased(accounts, 'a'), 'id', 'kind', 'name'),
  ...nullableColumns(pick(aliased(users, 'u'), 'isActive', 'prohibitLogin', 'visibility')),
}

const accountsOf = (k: Knex): Knex.QueryBuilder =>
  k('accounts as a').leftJoin('users as u', 'u.id', 'a.id').whereNull('u.robot_org_id')

const listParams = { orgId: orgMembers.orgId, onlyPublic: int() }

/** Selects every person or, with `onlyPublic` 1, those with a public membership. */
const listed = (k: Knex, p: Slots<typeof listParams>): Knex.QueryBuilder =>
  k('org_members as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.org_id', p.orgId)
    .whereNull('u.robot_org_id')
    .where((any) => any.whereRaw('? = 0', [p.onlyPublic]).orWhere('m.is_public', 1))

/** Narrows to the people without a team. Robot accounts and provisioned members may have none and are excluded. */
const teamless =
  (k: Knex, p: { readonly orgId: Slot<'integer'> }, m: 'm' | 'org_members') =>
  (query: Knex.QueryBuilder): void => {
    query
      .where(`${m}.is_provisioned`, 0)
      .whereNotExists(
        k('team_members as tm').select('tm.user_id').whereRaw(`tm.user_id = ${m}.user_id`).where('tm.org_id', p.orgId),
      )
      .whereNotExists(
        k('robot_accounts as rb').select('rb.id').whereRaw(`rb.id = ${m}.user_id`).where('rb.org_id', p.orgId),
      )
  }

const statements = (db: SqlDatabase) => ({
  byName: db.prepare({ key: accounts.lowerName }, accountRow, (k, p) => accountsOf(k).where('a.lower_name', p.key)),
  byId: db.prepare({ id: long() }, accountRow, (k, p) => accountsOf(k).where('a.id', p.id)),
  find: db.prepare(
    pick(orgMembers, 'orgId', 'userId'),
    { ...pick(aliased(orgMembers, 'm'), 'isPublic', 'isProvisioned'), ...entryRow },
    (k, p) =>
      joinEntry(k('org_members as m').join('organizations as o', 'o.id', 'm.org_id'))
        .where('m.org_id', p.orgId)
        .where('m.user_id', p.userId),
  ),
  list: typedPage(db, listParams, { userId: aliased(orgMembers, 'm').userId }, listed, (_, rows, cut) =>
    cut(rows.join('accounts as a', 'a.id', 'm.user_id').orderBy('a.lower_name')),
  ),
  among: idList(db, orgMembers.userId, { orgId: orgMembers.orgId }, { userId: orgMembers.userId }, (k, p, ids) =>
    k('org_members').where('org_id', p.orgId).whereIn('user_id', ids),
  ),
  add: insertInto(db, orgMembers, { omitted: ['twoFactorNotice'], fixed: { isPublic: false } }),
  markProvisioned: db.prepare(pick(orgMembers, 'orgId', 'userId'), (k, p) =>
    k('org_members')
      .where('org_id', p.orgId)
      .where('user_id', p.userId)
      .update(values(orgMembers, { isProvisioned: true })),
  ),
  setPublic: db.prepare(pick(orgMembers, 'isPublic', 'orgId', 'userId'), (k, p) =>
    k('org_members')
      .where('org_id', p.orgId)
      .where('user_id', p.userId)
      .update(values(orgMembers, { isPublic: p.isPublic })),
  ),
  removeFromTeams: db.prepare(pick(teamMembers, 'orgId', 'userId'), (k, p) =>
    k('team_members').where('user_id', p.userId).where('org_id', p.orgId).delete(),
  ),
  removeGrants: db.prepare({ orgId: objectGrants.orgId, userId: objectGrants.subjectId }, (k, p) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p.userId).where('org_id', p.orgId).delete(),
  ),
  remove: db.prepare(pick(orgMembers, 'orgId', 'userId'), (k, p) =>
    k('org_members').where('org_id', p.orgId).where('user_id', p.userId).delete(),
  ),
  removeTeamlessGrants: db.prepare({ orgId: objectGrants.orgId }, (k, p) =>
    k('object_grants')
      .where('subject_type', 'user')
      .where('org_id', p.orgId)
      .whereIn(
        'subject_id',
        k('org_members as m')
          .select('m.user_id')
          .where('m.org_id', p.orgId)
          .modify(teamless(k, p, 'm')),
      )
      .delete(),
  ),
  removeTeamless: db.prepare({ orgId: orgMembers.orgId }, (k, p) =>
    k('org_members')
      .where('org_id', p.orgId)
      .modify(teamless(k, p, 'org_members'))
      .delete(),
  ),
})

const summaryOf = (row: Row<typeof accountRow>): AccountSummary => ({
  id: row.id,
  kind: row.kind === 'user' ? 'user' : 'organization',
  name: row.name,
  isActive: row.isActive === true && row.prohibitLogin === false,
  ...definedFields({
    seenAs: row.visibility === undefined ? undefined : { visibility: row.visibility, isActive: row.isActive === true },
  }),
})

const none: MemberRights = { isMember: false, level: 'none', permissions: new Set() }

/** Memberships on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlMembershipStore = (db: SqlDatabase): ((runner: SqlRunner) => MembershipStore) => {
  const s = statements(db)
  const contextOf = makeSqlAccessContext(db)
  return (runner) => ({
    async findAccount(name) {
      const row = await runner.first(s.byName, { key: accountNameKey(name) })
      return row === undefined ? undefined : summaryOf(row)
    },
    async findAccountById(id) {
      const row = await runner.first(s.byId, { id })
      return row === undefined ? undefined : summaryOf(row)
    },
    async find(orgId, userId) {
      const row = await runner.first(s.find, { orgId, userId })
      if (row === undefined) return undefined
      const entry = entryRulesOf(row)
      return {
        userId,
        isPublic: row.isPublic,
        ...definedFields({ entry, isProvisioned: row.isProvisioned ? true : undefined }),
      }
    },
    async rights(orgId, userId) {
      const context = await contextOf(runner, orgId, userId)
      if (context === undefined) return none
      const { isMember, level, permissions } = context
      return { isMember, level, permissions }
    },
    async list(orgId, only, page) {
      const binds = { orgId, onlyPublic: only === 'public' ? 1 : 0 }
      return mapPage(await s.list(runner, binds, page), (row) => row.userId)
    },
    async among(orgId, userIds) {
      if (userIds.length === 0) return []
      return (await rowsOfIds(runner, s.among, userIds, { orgId })).map((row) => row.userId)
    },
    async add(orgId, userId, at, isProvisioned = false) {
      await runner.run(s.add, { orgId, userId, createdAt: at, isProvisioned })
    },
    async markProvisioned(orgId, userId) {
      await runner.run(s.markProvisioned, { orgId, userId })
    },
    async setPublic(orgId, userId, isPublic) {
      await runner.run(s.setPublic, { orgId, userId, isPublic })
    },
    async remove(orgId, userId) {
      await runner.run(s.removeFromTeams, { orgId, userId })
      await runner.run(s.removeGrants, { orgId, userId })
      await runner.run(s.remove, { orgId, userId })
    },
    async removeWithoutTeam(orgId) {
      await runner.run(s.removeTeamlessGrants, { orgId })
      return (await runner.run(s.removeTeamless, { orgId })).affected
    },
  })
}

const confined = (k: Knex, p: { readonly orgId: Slot<'integer'> }): Knex.QueryBuilder =>
  k('access_tokens').where('only_org_id', p.orgId)

/** Tokens limited to one organization, on SQL. */
export const makeSqlOrganizationTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => OrganizationTokenStore) => {
  const list = typedPage(db, { orgId: organizations.id }, tokenRow, confined, (_, rows, cut) => cut(rows.orderBy('id')))
  const find = db.prepare({ orgId: organizations.id, id: accessTokens.id }, tokenRow, (k, p) =>
    confined(k, p).where('id', p.id),
  )
  const remove = db.prepare({ orgId: organizations.id, id: accessTokens.id }, (k, p) =>
    confined(k, p).where('id', p.id).delete(),
  )
  return (runner) => ({
    async list(orgId, page) {
      return mapPage(await list(runner, { orgId }, page), tokenOf)
    },
    async find(orgId, id) {
      const row = await runner.first(find, { orgId, id })
      return row === undefined ? undefined : tokenOf(row)
    },
    async remove(orgId, id) {
      return (await runner.run(remove, { orgId, id })).affected > 0
    },
  })
}
