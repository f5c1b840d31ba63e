import type { Knex } from 'knex'
import type { UserVisibility } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { MembershipStore, OrganizationTokenStore } from '../../../core/organizations/ports.ts'
import type { AccountSummary, MemberRights } from '../../../core/organizations/types.ts'
import type { EntryRow } from '../authz/access-context.ts'
import { entryColumns, entryRulesOf, joinEntry, makeSqlAccessContext } from '../authz/access-context.ts'
import type { TokenRow } from '../identity/rows.ts'
import { tokenColumns, tokenOf } from '../identity/rows.ts'
import { listSlots, paddedList } from '../kit/fragments.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields } from '../../../core/kernel/json.ts'

type Place = 'orgId' | 'userId'

const accounts = (k: Knex): Knex.QueryBuilder =>
  k('accounts as a')
    .leftJoin('users as u', 'u.id', 'a.id')
    .whereNull('u.robot_org_id')
    .select('a.id', 'a.kind', 'a.name', 'u.is_active', 'u.prohibit_login', 'u.visibility')

/** Selects every person or, with `onlyPublic` 1, those with a public membership. */
const listed = (k: Knex, p: Params<'orgId' | 'onlyPublic'>): Knex.QueryBuilder =>
  k('org_members as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.org_id', p('orgId'))
    .whereNull('u.robot_org_id')
    .where((any) => any.whereRaw('? = 0', [p('onlyPublic')]).orWhere('m.is_public', 1))

/** Narrows to the people without a team. Robot accounts may have none and are excluded. */
const teamless =
  (k: Knex, p: Params<'orgId'>, m: string) =>
  (query: Knex.QueryBuilder): void => {
    query
      .whereNotExists(
        k('team_members as tm')
          .select('tm.user_id')
          .whereRaw(`tm.user_id = ${m}.user_id`)
          .where('tm.org_id', p('orgId')),
      )
      .whereNotExists(k('robot_accounts as rb').select('rb.id').whereRaw(`rb.id = ${m}.user_id`))
  }

const statements = (db: SqlDatabase) => ({
  byName: db.prepare((k, p: Params<'key'>) => accounts(k).where('a.lower_name', p('key'))),
  byId: db.prepare((k, p: Params<'id'>) => accounts(k).where('a.id', p('id'))),
  find: db.prepare((k, p: Params<Place>) =>
    joinEntry(k('org_members as m').join('organizations as o', 'o.id', 'm.org_id'))
      .where('m.org_id', p('orgId'))
      .where('m.user_id', p('userId'))
      .select('m.is_public', ...entryColumns),
  ),
  list: pageQuery(db, listed, (_, rows, cut) =>
    cut(rows.join('accounts as a', 'a.id', 'm.user_id').select('m.user_id').orderBy('a.lower_name')),
  ),
  among: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('org_members').where('org_id', p('orgId')).whereIn('user_id', listSlots(p, length)).select('user_id'),
    ),
  ),
  add: db.prepare((k, p: Params<Place | 'at'>) =>
    k('org_members').insert({ org_id: p('orgId'), user_id: p('userId'), is_public: 0, created_at: p('at') }),
  ),
  setPublic: db.prepare((k, p: Params<Place | 'isPublic'>) =>
    k('org_members')
      .where('org_id', p('orgId'))
      .where('user_id', p('userId'))
      .update({ is_public: p('isPublic') }),
  ),
  removeFromTeams: db.prepare((k, p: Params<Place>) =>
    k('team_members').where('user_id', p('userId')).where('org_id', p('orgId')).delete(),
  ),
  removeGrants: db.prepare((k, p: Params<Place>) =>
    k('object_grants')
      .where('subject_type', 'user')
      .where('subject_id', p('userId'))
      .where('org_id', p('orgId'))
      .delete(),
  ),
  remove: db.prepare((k, p: Params<Place>) =>
    k('org_members').where('org_id', p('orgId')).where('user_id', p('userId')).delete(),
  ),
  removeTeamlessGrants: db.prepare((k, p: Params<'orgId'>) =>
    k('object_grants')
      .where('subject_type', 'user')
      .where('org_id', p('orgId'))
      .whereIn(
        'subject_id',
        k('org_members as m')
          .where('m.org_id', p('orgId'))
          .modify(teamless(k, p, 'm'))
          .select('m.user_id'),
      )
      .delete(),
  ),
  removeTeamless: db.prepare((k, p: Params<'orgId'>) =>
    k('org_members')
      .where('org_id', p('orgId'))
      .modify(teamless(k, p, 'org_members'))
      .delete(),
  ),
})

interface AccountRow {
  readonly id: Num
  readonly kind: string
  readonly name: string
  readonly is_active: Num | null
  readonly prohibit_login: Num | null
  readonly visibility: string | null
}
const summaryOf = (row: AccountRow): AccountSummary => ({
  id: Number(row.id),
  kind: row.kind === 'user' ? 'user' : 'organization',
  name: row.name,
  isActive: Number(row.is_active) === 1 && Number(row.prohibit_login) === 0,
  ...(row.visibility === null
    ? {}
    : { seenAs: { visibility: row.visibility as UserVisibility, isActive: Number(row.is_active) === 1 } }),
})

const none: MemberRights = { isMember: false, level: 'none', permissions: new Set() }

/** Memberships on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlMembershipStore = (db: SqlDatabase): ((runner: SqlRunner) => MembershipStore) => {
  const s = statements(db)
  const contextOf = makeSqlAccessContext(db)
  return (runner) => ({
    async findAccount(name) {
      const row = await runner.first<AccountRow>(s.byName, { key: accountNameKey(name) })
      return row === undefined ? undefined : summaryOf(row)
    },
    async findAccountById(id) {
      const row = await runner.first<AccountRow>(s.byId, { id })
      return row === undefined ? undefined : summaryOf(row)
    },
    async find(orgId, userId) {
      const row = await runner.first<EntryRow & { readonly is_public: Num }>(s.find, { orgId, userId })
      if (row === undefined) return undefined
      const entry = entryRulesOf(row)
      return { userId, isPublic: Number(row.is_public) === 1, ...definedFields({ entry }) }
    },
    async rights(orgId, userId) {
      const context = await contextOf(runner, orgId, userId)
      if (context === undefined) return none
      const { isMember, level, permissions } = context
      return { isMember, level, permissions }
    },
    async list(orgId, only, page) {
      const binds = { orgId, onlyPublic: only === 'public' ? 1 : 0 }
      return mapPage(await s.list<{ user_id: Num }>(runner, binds, page), (row) => Number(row.user_id) as UserId)
    },
    async among(orgId, userIds) {
      if (userIds.length === 0) return []
      const { statement, binds } = s.among(userIds)
      return (await runner.all<{ readonly user_id: Num }>(statement, { ...binds, orgId })).map(
        (row) => Number(row.user_id) as UserId,
      )
    },
    async add(orgId, userId, at) {
      await runner.run(s.add, { orgId, userId, at: at.getTime() })
    },
    async setPublic(orgId, userId, isPublic) {
      await runner.run(s.setPublic, { orgId, userId, isPublic: isPublic ? 1 : 0 })
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

const confined = (k: Knex, p: Params<'orgId'>): Knex.QueryBuilder => k('access_tokens').where('only_org_id', p('orgId'))

/** Tokens limited to one organization, on SQL. */
export const makeSqlOrganizationTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => OrganizationTokenStore) => {
  const list = pageQuery(db, confined, (_, rows, cut) => cut(rows.select(...tokenColumns).orderBy('id')))
  const find = db.prepare((k, p: Params<'orgId' | 'id'>) =>
    confined(k, p)
      .where('id', p('id'))
      .select(...tokenColumns),
  )
  const remove = db.prepare((k, p: Params<'orgId' | 'id'>) => confined(k, p).where('id', p('id')).delete())
  return (runner) => ({
    async list(orgId, page) {
      return mapPage(await list<TokenRow>(runner, { orgId }, page), tokenOf)
    },
    async find(orgId, id) {
      const row = await runner.first<TokenRow>(find, { orgId, id })
      return row === undefined ? undefined : tokenOf(row)
    },
    async remove(orgId, id) {
      return (await runner.run(remove, { orgId, id })).affected > 0
    },
  })
}
