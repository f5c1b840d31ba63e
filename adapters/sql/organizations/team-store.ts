import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { PermissionRef } from '../../../core/kernel/access.ts'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { RoleId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { Page } from '../../../core/kernel/page.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { TeamStore } from '../../../core/organizations/ports.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import type { Team, TeamInOrganization } from '../../../core/organizations/types.ts'
import { teamNameKey } from '../../../core/organizations/types.ts'
import type { EntryBind } from '../authz/access-context.ts'
import { entryBinds, whereEntryAllowed } from '../authz/access-context.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { listSlots, paddedList, rowsFor } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, Num, Params, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'
import type { TeamOrganizationRow, TeamRow } from './rows.ts'
import { organizationOfTeam, teamColumns, teamOf, teamOrganizationColumns } from './rows.ts'

type SearchBind = 'orgId' | 'pattern' | 'inDescription' | 'memberId'

const teams = (k: Knex): Knex.QueryBuilder => k('teams as t')

/** Selects teams with the organization of each. */
const withOrganization = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.join('accounts as a', 'a.id', 't.org_id').select(...teamColumns, ...teamOrganizationColumns)

const ownersFirst: Shown = (k, rows, cut) =>
  cut(
    withOrganization(rows.join('organizations as o', 'o.id', 't.org_id'))
      .orderByRaw(k.raw("case when t.permission = 'owner' then 0 else 1 end"))
      .orderBy('t.lower_name'),
  )

/** `memberId` 0 disables that condition; `inDescription` 1 also searches the description. */
const searched = (k: Knex, p: Params<SearchBind>): Knex.QueryBuilder =>
  teams(k)
    .where('t.org_id', p('orgId'))
    .where((any) =>
      any
        .whereRaw("t.lower_name like ? escape '!'", [p('pattern')])
        .orWhereRaw("(? = 1 and lower(t.description) like ? escape '!')", [p('inDescription'), p('pattern')]),
    )
    .where((any) =>
      any
        .whereRaw('? = 0', [p('memberId')])
        .orWhereExists(
          k('team_members as m').select(k.raw('1')).whereRaw('m.team_id = t.id').where('m.user_id', p('memberId')),
        ),
    )

type MineBind = 'userId' | 'onlyOrgId' | 'onlyPublic' | EntryBind
/** `onlyOrgId` 0 means all organizations; `onlyPublic` 1 means only the public ones. */
const ofUser = (k: Knex, p: Params<MineBind>): Knex.QueryBuilder =>
  teams(k)
    .join('team_members as m', 'm.team_id', 't.id')
    .join('organizations as o', 'o.id', 't.org_id')
    .where('m.user_id', p('userId'))
    .where((any) => any.whereRaw('? = 0', [p('onlyOrgId')]).orWhere('m.org_id', p('onlyOrgId')))
    .where((any) => any.whereRaw('? = 0', [p('onlyPublic')]).orWhere('o.visibility', 'public'))
    .modify(whereEntryAllowed(k, p))

const reads = (db: SqlDatabase) => ({
  byId: db.prepare((k, p: Params<'id'>) =>
    teams(k)
      .where('t.id', p('id'))
      .select(...teamColumns),
  ),
  list: pageQuery(db, (k, p: Params<'orgId'>) => teams(k).where('t.org_id', p('orgId')), ownersFirst),
  search: pageQuery(db, searched, ownersFirst),
  ofUser: pageQuery(db, ofUser, (_, rows, cut) => cut(withOrganization(rows).orderBy('t.id'))),
  ofMember: db.prepare((k, p: Params<'userId' | 'orgId'>) =>
    teams(k)
      .join('team_members as m', 'm.team_id', 't.id')
      .where('m.user_id', p('userId'))
      .where('m.org_id', p('orgId'))
      .select(...teamColumns)
      .orderBy('t.id'),
  ),
  byPermission: db.prepare((k, p: Params<'orgId' | 'permission'>) =>
    teams(k)
      .where('t.org_id', p('orgId'))
      .where('t.permission', p('permission'))
      .select(...teamColumns)
      .orderBy('t.id')
      .limit(1),
  ),
  rolesOf: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('team_roles').whereIn('team_id', listSlots(p, length)).select('team_id', 'role_id').orderBy('role_id'),
    ),
  ),
  rolePermissions: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('roles as r')
        .leftJoin('role_permissions as rp', 'rp.role_id', 'r.id')
        .where('r.org_id', p('orgId'))
        .whereIn('r.id', listSlots(p, length))
        .select('r.id', 'rp.namespace', 'rp.action')
        .forUpdate(),
    ),
  ),
})

const peopleOf = (k: Knex, p: Params<'id'>): Knex.QueryBuilder =>
  k('team_members as m').join('users as u', 'u.id', 'm.user_id').where('m.team_id', p('id')).whereNull('u.robot_org_id')

const memberReads = (db: SqlDatabase) => ({
  members: pageQuery(db, peopleOf, (_, rows, cut) =>
    cut(rows.join('accounts as a', 'a.id', 'm.user_id').select('m.user_id').orderBy('a.lower_name')),
  ),
  standing: db.prepare((k, p: Params<'id' | 'userId'>) => {
    const acts = '(u.is_active = 1 and u.prohibit_login = 0)'
    const most = (value: string, isSelf: boolean) =>
      k.raw(`max(case when m.user_id ${isSelf ? '=' : '<>'} ? then ${value} else 0 end)`, [p('userId')])
    return peopleOf(k, p).select({
      self_acts: most(acts, true),
      other_acts: most(acts, false),
      has_other: most('1', false),
    })
  }),
  hasMember: db.prepare((k, p: Params<'id' | 'userId'>) =>
    k('team_members').where('team_id', p('id')).where('user_id', p('userId')).select('user_id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<'orgId' | 'name' | 'key' | 'description' | 'permission' | 'type' | 'at'>) =>
    k('teams').insert({
      org_id: p('orgId'),
      name: p('name'),
      lower_name: p('key'),
      description: p('description'),
      permission: p('permission'),
      type: p('type'),
      created_at: p('at'),
    }),
  ),
  // A bind that is null leaves its column unchanged.
  update: db.prepare(
    (k, p: Params<'id' | 'expectedVersion' | 'name' | 'key' | 'description' | 'permission' | 'type'>) =>
      k('teams')
        .where('id', p('id'))
        .where('version', k.raw('coalesce(?, version)', [p('expectedVersion')]))
        .update({
          name: k.raw('coalesce(?, name)', [p('name')]),
          lower_name: k.raw('coalesce(?, lower_name)', [p('key')]),
          description: k.raw('coalesce(?, description)', [p('description')]),
          permission: k.raw('coalesce(?, permission)', [p('permission')]),
          type: k.raw('coalesce(?, ??)', [p('type'), 'type']),
          version: k.raw('version + 1'),
        }),
  ),
  removeGrants: db.prepare((k, p: Params<'id'>) =>
    k('object_grants').where('subject_type', 'team').where('subject_id', p('id')).delete(),
  ),
  remove: db.prepare((k, p: Params<'id'>) => k('teams').where('id', p('id')).delete()),
  detachRoles: db.prepare((k, p: Params<'id'>) => k('team_roles').where('team_id', p('id')).delete()),
  attachRoles: insertRows(db, 'team_roles', (p: Params<'id' | 'roleId' | 'orgId'>) => ({
    team_id: p('id'),
    role_id: p('roleId'),
    org_id: p('orgId'),
  })),
  addMember: db.prepare((k, p: Params<'id' | 'orgId' | 'userId' | 'at'>) =>
    k('team_members').insert({ team_id: p('id'), user_id: p('userId'), org_id: p('orgId'), created_at: p('at') }),
  ),
  removeMember: db.prepare((k, p: Params<'id' | 'userId'>) =>
    k('team_members').where('team_id', p('id')).where('user_id', p('userId')).delete(),
  ),
})

type TeamStatements = ReturnType<typeof reads> & ReturnType<typeof memberReads> & ReturnType<typeof writes>

const teamStatements = (db: SqlDatabase): TeamStatements => ({ ...reads(db), ...memberReads(db), ...writes(db) })

type Binds = Readonly<Record<string, Bind>>
type Reading = 'findById' | 'list' | 'search' | 'listOfUser' | 'listOfMember' | 'findByPermission' | 'rolePermissions'
type Members = 'listMembers' | 'hasMember' | 'staysLedWithout' | 'addMember' | 'removeMember'

interface RolePermissionRow {
  readonly id: Num
  readonly namespace: string | null
  readonly action: string | null
}

/** Teams on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlTeamStore = (db: SqlDatabase): ((runner: SqlRunner) => TeamStore) => {
  const s = teamStatements(db)
  return (runner) => ({ ...reading(s, runner), ...members(s, runner), ...changing(s, runner) })
}

/** Reads the roles of all the teams in one query. Each row is returned with its team. */
const withRoles = async <Row extends TeamRow>(
  s: TeamStatements,
  runner: SqlRunner,
  rows: readonly Row[],
): Promise<readonly { readonly row: Row; readonly team: Team }[]> => {
  if (rows.length === 0) return []
  const attached = await rowsFor<{ team_id: Num; role_id: Num }>(
    runner,
    s.rolesOf,
    rows.map((row) => Number(row.id)),
  )
  const ofTeam = Map.groupBy(attached, ({ team_id }) => Number(team_id))
  const rolesOf = (id: Num) => (ofTeam.get(Number(id)) ?? []).map(({ role_id }) => Number(role_id) as RoleId)
  return rows.map((row) => ({ row, team: teamOf(row, rolesOf(row.id)) }))
}

/** Escapes a text for a LIKE pattern with `!` as the escape character. */
const literally = (text: string): string => text.replace(/[!%_]/g, '!$&')

const reading = (s: TeamStatements, runner: SqlRunner): Pick<TeamStore, Reading> => {
  const complete = async (found: Page<TeamRow & TeamOrganizationRow>): Promise<Page<TeamInOrganization>> => {
    const teams = await withRoles(s, runner, found.items)
    return { ...found, items: teams.map(({ row, team }) => ({ team, organization: organizationOfTeam(row) })) }
  }
  const one = async (statement: Statement, binds: Binds): Promise<Team | undefined> => {
    const row = await runner.first<TeamRow>(statement, binds)
    return row === undefined ? undefined : (await withRoles(s, runner, [row]))[0]?.team
  }
  return {
    findById: (id) => one(s.byId, { id }),
    list: async (orgId, request) => complete(await s.list(runner, { orgId }, request)),
    search: async (orgId, { text, includesDescription, memberId }, request) => {
      const pattern = `%${literally(teamNameKey(text))}%`
      return complete(
        await s.search(
          runner,
          { orgId, pattern, inDescription: includesDescription ? 1 : 0, memberId: memberId ?? 0 },
          request,
        ),
      )
    },
    listOfUser: async (userId, { onlyOrgId, onlyPublic, entry }, request) =>
      complete(
        await s.ofUser(
          runner,
          { userId, onlyOrgId: onlyOrgId ?? 0, onlyPublic: onlyPublic ? 1 : 0, ...entryBinds(entry) },
          request,
        ),
      ),
    async listOfMember(orgId, userId) {
      return (await runner.all<TeamRow>(s.ofMember, { orgId, userId })).map((row) => teamOf(row, []))
    },
    findByPermission: (orgId, permission) => one(s.byPermission, { orgId, permission }),
    async rolePermissions(orgId, roleIds) {
      const found = new Map<RoleId, PermissionRef[]>()
      if (roleIds.length === 0) return found
      const { statement, binds } = s.rolePermissions(roleIds)
      const rows = await runner.all<RolePermissionRow>(statement, { ...binds, orgId })
      for (const { id, namespace, action } of rows) {
        const permissions = getOrMake(found, Number(id) as RoleId, () => [])
        if (namespace !== null && action !== null) permissions.push({ namespace, action })
      }
      return found
    },
  }
}

const members = (s: TeamStatements, runner: SqlRunner): Pick<TeamStore, Members> => ({
  async listMembers(id, request) {
    return mapPage(await s.members<{ user_id: Num }>(runner, { id }, request), (row) => Number(row.user_id) as UserId)
  },
  async hasMember(id, userId) {
    return (await runner.first(s.hasMember, { id, userId })) !== undefined
  },
  async staysLedWithout(id, userId) {
    const found = await runner.first<{ readonly self_acts: Num; readonly other_acts: Num; readonly has_other: Num }>(
      s.standing,
      { id, userId },
    )
    return (
      Number(found?.other_acts ?? 0) === 1 ||
      (Number(found?.self_acts ?? 0) === 0 && Number(found?.has_other ?? 0) === 1)
    )
  },
  async addMember(team, userId, at) {
    await runner.run(s.addMember, { id: team.id, orgId: team.orgId, userId, at: at.getTime() })
  },
  async removeMember(id, userId) {
    await runner.run(s.removeMember, { id, userId })
  },
})

const nameTaken = (name: string) =>
  left(TeamNameTaken(`The name "${name}" is already in use by a team of the organization.`))

const changing = (s: TeamStatements, runner: SqlRunner): Omit<TeamStore, Reading | Members> => ({
  async insert(team) {
    const { orgId, name, description, permission, type, createdAt } = team
    try {
      const binds = { orgId, name, key: teamNameKey(name), description, permission, type, at: createdAt.getTime() }
      return right((await runner.run(s.insert, binds)).insertId as TeamId)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name)
      throw error
    }
  },
  async update(id, { name, description, permission, type }, expectedVersion) {
    try {
      const done = await runner.run(s.update, {
        id,
        name: name ?? null,
        key: name === undefined ? null : teamNameKey(name),
        description: description ?? null,
        permission: permission ?? null,
        type: type ?? null,
        expectedVersion: expectedVersion ?? null,
      })
      return right(done.affected > 0)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name ?? '')
      throw error
    }
  },
  async remove(id) {
    await runner.run(s.removeGrants, { id })
    await runner.run(s.remove, { id })
  },
  async replaceRoles(team, roleIds) {
    await runner.run(s.detachRoles, { id: team.id })
    await s.attachRoles(
      runner,
      roleIds.map((roleId) => ({ id: team.id, roleId, orgId: team.orgId })),
    )
  },
})
