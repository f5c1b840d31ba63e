import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { PermissionRef } from '../../../core/kernel/access.ts'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { RoleId, TeamId } from '../../../core/kernel/ids.ts'
import type { Page } from '../../../core/kernel/page.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { TeamStore } from '../../../core/organizations/ports.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import type { Team, TeamInOrganization } from '../../../core/organizations/types.ts'
import { teamNameKey } from '../../../core/organizations/types.ts'
import { entryBinds, entryParams, whereEntryAllowed } from '../authz/access-context.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Shown } from '../kit/page-query.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { organizationOfTeam, teamInOrganizationRow, teamOf, teamRow } from './rows.ts'
import type { Row } from '../kit/columns.ts'
import {
  aliased,
  flag,
  int,
  nullable,
  nullableColumns,
  pick,
  present,
  selectedAs,
  text,
  without,
} from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { insertAllInto, insertInto, literally, newRow, unlessNull, values } from '../kit/values.ts'
import { objectGrants, rolePermissions, roles, teamRoles } from '../tables/authz.ts'
import { teamMembers, teams } from '../tables/organizations.ts'

const searchParams = { orgId: teams.orgId, pattern: text(255), inDescription: int(), memberId: int() }

const fromTeams = (k: Knex): Knex.QueryBuilder => k('teams as t')

/** Selects teams with the organization of each. */
const withOrganization = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 't.org_id')

const ownersFirst: Shown = (k, rows, cut) =>
  cut(
    withOrganization(rows.join('organizations as o', 'o.id', 't.org_id'))
      .orderByRaw(k.raw("case when t.permission = 'owner' then 0 else 1 end"))
      .orderBy('t.lower_name'),
  )

/** `memberId` 0 disables that condition; `inDescription` 1 also searches the description. */
const searched = (k: Knex, p: Slots<typeof searchParams>): Knex.QueryBuilder =>
  fromTeams(k)
    .where('t.org_id', p.orgId)
    .where((any) =>
      any
        .whereRaw("t.lower_name like ? escape '!'", [p.pattern])
        .orWhereRaw("(? = 1 and lower(t.description) like ? escape '!')", [p.inDescription, p.pattern]),
    )
    .where((any) =>
      any
        .whereRaw('? = 0', [p.memberId])
        .orWhereExists(
          k('team_members as m').select(k.raw('1')).whereRaw('m.team_id = t.id').where('m.user_id', p.memberId),
        ),
    )

const mineParams = { userId: teamMembers.userId, onlyOrgId: int(), onlyPublic: int(), ...entryParams }
/** `onlyOrgId` 0 means all organizations; `onlyPublic` 1 means only the public ones. */
const ofUser = (k: Knex, p: Slots<typeof mineParams>): Knex.QueryBuilder =>
  fromTeams(k)
    .join('team_members as m', 'm.team_id', 't.id')
    .join('organizations as o', 'o.id', 't.org_id')
    .where('m.user_id', p.userId)
    .where((any) => any.whereRaw('? = 0', [p.onlyOrgId]).orWhere('m.org_id', p.onlyOrgId))
    .where((any) => any.whereRaw('? = 0', [p.onlyPublic]).orWhere('o.visibility', 'public'))
    .modify(whereEntryAllowed(k, p))

const reads = (db: SqlDatabase) => ({
  byId: db.prepare({ id: teams.id }, teamRow, (k, p) => fromTeams(k).where('t.id', p.id)),
  list: typedPage(
    db,
    { orgId: teams.orgId },
    teamInOrganizationRow,
    (k, p) => fromTeams(k).where('t.org_id', p.orgId),
    ownersFirst,
  ),
  search: typedPage(db, searchParams, teamInOrganizationRow, searched, ownersFirst),
  ofUser: typedPage(db, mineParams, teamInOrganizationRow, ofUser, (_, rows, cut) =>
    cut(withOrganization(rows).orderBy('t.id')),
  ),
  ofMember: db.prepare(pick(teamMembers, 'userId', 'orgId'), teamRow, (k, p) =>
    fromTeams(k)
      .join('team_members as m', 'm.team_id', 't.id')
      .where('m.user_id', p.userId)
      .where('m.org_id', p.orgId)
      .orderBy('t.id'),
  ),
  listProvided: db.prepare({ userId: teamMembers.userId, source: present(teamMembers.source) }, teamRow, (k, p) =>
    fromTeams(k)
      .join('team_members as m', 'm.team_id', 't.id')
      .where('m.user_id', p.userId)
      .where('m.source', p.source)
      .orderBy('t.id'),
  ),
  byPermission: db.prepare(pick(teams, 'orgId', 'permission'), teamRow, (k, p) =>
    fromTeams(k).where('t.org_id', p.orgId).where('t.permission', p.permission).orderBy('t.id').limit(1),
  ),
  rolesOf: idList(db, teams.id, {}, pick(teamRoles, 'teamId', 'roleId'), (k, _, ids) =>
    k('team_roles').whereIn('team_id', ids).orderBy('role_id'),
  ),
  rolePermissions: idList(
    db,
    roles.id,
    { orgId: roles.orgId },
    {
      id: aliased(roles, 'r').id,
      ...nullableColumns(pick(aliased(rolePermissions, 'rp'), 'namespace', 'action')),
    },
    (k, p, ids) =>
      k('roles as r')
        .leftJoin('role_permissions as rp', 'rp.role_id', 'r.id')
        .where('r.org_id', p.orgId)
        .whereIn('r.id', ids)
        .forUpdate(),
  ),
})

const peopleOf = (k: Knex, p: { readonly id: Slot<'integer'> }): Knex.QueryBuilder =>
  k('team_members as m').join('users as u', 'u.id', 'm.user_id').where('m.team_id', p.id).whereNull('u.robot_org_id')

/** Whether a person leads the team, and others do; the query computes them. */
const standingRow = {
  selfActs: selectedAs(nullable(flag())),
  otherActs: selectedAs(nullable(flag())),
  hasOther: selectedAs(nullable(flag())),
}

const memberReads = (db: SqlDatabase) => ({
  members: typedPage(db, { id: teams.id }, { userId: aliased(teamMembers, 'm').userId }, peopleOf, (_, rows, cut) =>
    cut(rows.join('accounts as a', 'a.id', 'm.user_id').orderBy('a.lower_name')),
  ),
  standing: db.prepare({ id: teams.id, userId: teamMembers.userId }, standingRow, (k, p) => {
    const acts = '(u.is_active = 1 and u.prohibit_login = 0)'
    const most = (value: string, isSelf: boolean) =>
      k.raw(`max(case when m.user_id ${isSelf ? '=' : '<>'} ? then ${value} else 0 end)`, [p.userId])
    return peopleOf(k, p).select({
      self_acts: most(acts, true),
      other_acts: most(acts, false),
      has_other: most('1', false),
    })
  }),
  hasMember: db.prepare(
    { userId: teamMembers.userId, id: teamMembers.teamId },
    { userId: teamMembers.userId },
    (k, p) => k('team_members').where('team_id', p.id).where('user_id', p.userId),
  ),
})

/** What an update of a team may set. A new column of `teams` belongs to it. */
const changed = nullableColumns(without(teams, 'id', 'orgId', 'createdAt', 'version'))

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, teams, { omitted: ['id', 'version'] }),
  // A bind that is null leaves its column unchanged.
  update: db.prepare({ ...changed, id: teams.id, expectedVersion: nullable(teams.version) }, (k, p) =>
    k('teams')
      .where('id', p.id)
      .where('version', k.raw('coalesce(?, version)', [p.expectedVersion]))
      .update({ ...unlessNull(k, changed, p), version: k.raw('version + 1') }),
  ),
  removeGrants: db.prepare({ id: objectGrants.subjectId }, (k, p) =>
    k('object_grants').where('subject_type', 'team').where('subject_id', p.id).delete(),
  ),
  remove: db.prepare({ id: teams.id }, (k, p) => k('teams').where('id', p.id).delete()),
  detachRoles: db.prepare({ id: teamRoles.teamId }, (k, p) => k('team_roles').where('team_id', p.id).delete()),
  attachRoles: insertAllInto(db, teamRoles),
  addMember: db.prepare(
    { ...pick(teamMembers, 'orgId', 'userId', 'source'), id: teamMembers.teamId, at: teamMembers.createdAt },
    (k, p) =>
      k('team_members').insert(
        newRow(teamMembers, { teamId: p.id, userId: p.userId, orgId: p.orgId, createdAt: p.at, source: p.source }),
      ),
  ),
  unmark: db.prepare({ userId: teamMembers.userId, id: teamMembers.teamId }, (k, p) =>
    k('team_members')
      .where('team_id', p.id)
      .where('user_id', p.userId)
      .update(values(teamMembers, { source: null })),
  ),
  removeMember: db.prepare({ userId: teamMembers.userId, id: teamMembers.teamId }, (k, p) =>
    k('team_members').where('team_id', p.id).where('user_id', p.userId).delete(),
  ),
})

type TeamStatements = ReturnType<typeof reads> & ReturnType<typeof memberReads> & ReturnType<typeof writes>

const teamStatements = (db: SqlDatabase): TeamStatements => ({ ...reads(db), ...memberReads(db), ...writes(db) })

type Reading = 'findById' | 'list' | 'search' | 'listOfUser' | 'listOfMember' | 'findByPermission' | 'rolePermissions'
type Members =
  | 'listMembers'
  | 'hasMember'
  | 'staysLedWithout'
  | 'addMember'
  | 'listProvided'
  | 'unmark'
  | 'removeMember'

/** Teams on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlTeamStore = (db: SqlDatabase): ((runner: SqlRunner) => TeamStore) => {
  const s = teamStatements(db)
  return (runner) => ({ ...reading(s, runner), ...members(s, runner), ...changing(s, runner) })
}

/** Reads the roles of all the teams in one query. Each row is returned with its team. */
const withRoles = async <R extends Row<typeof teamRow>>(
  s: TeamStatements,
  runner: SqlRunner,
  rows: readonly R[],
): Promise<readonly { readonly row: R; readonly team: Team }[]> => {
  if (rows.length === 0) return []
  const attached = await rowsOfIds(
    runner,
    s.rolesOf,
    rows.map((row) => row.id),
    {},
  )
  const ofTeam = Map.groupBy(attached, ({ teamId }) => teamId)
  return rows.map((row) => ({
    row,
    team: teamOf(
      row,
      (ofTeam.get(row.id) ?? []).map(({ roleId }) => roleId),
    ),
  }))
}

const reading = (s: TeamStatements, runner: SqlRunner): Pick<TeamStore, Reading> => {
  const complete = async (found: Page<Row<typeof teamInOrganizationRow>>): Promise<Page<TeamInOrganization>> => {
    const teams = await withRoles(s, runner, found.items)
    return { ...found, items: teams.map(({ row, team }) => ({ team, organization: organizationOfTeam(row) })) }
  }
  const one = async <B extends object>(
    statement: Prepared<B, Row<typeof teamRow>>,
    binds: NoInfer<B>,
  ): Promise<Team | undefined> => {
    const row = await runner.first(statement, binds)
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
      return (await runner.all(s.ofMember, { orgId, userId })).map((row) => teamOf(row, []))
    },
    findByPermission: (orgId, permission) => one(s.byPermission, { orgId, permission }),
    async rolePermissions(orgId, roleIds) {
      const found = new Map<RoleId, PermissionRef[]>()
      if (roleIds.length === 0) return found
      const rows = await rowsOfIds(runner, s.rolePermissions, roleIds, { orgId })
      for (const { id, namespace, action } of rows) {
        const permissions = getOrMake(found, id, () => [])
        if (namespace !== undefined && action !== undefined) permissions.push({ namespace, action })
      }
      return found
    },
  }
}

const members = (s: TeamStatements, runner: SqlRunner): Pick<TeamStore, Members> => ({
  async listMembers(id, request) {
    return mapPage(await s.members(runner, { id }, request), (row) => row.userId)
  },
  async hasMember(id, userId) {
    return (await runner.first(s.hasMember, { id, userId })) !== undefined
  },
  async staysLedWithout(id, userId) {
    const found = await runner.first(s.standing, { id, userId })
    return found?.otherActs === true || (found?.selfActs !== true && found?.hasOther === true)
  },
  async addMember(team, userId, at, source) {
    await runner.run(s.addMember, { id: team.id, orgId: team.orgId, userId, at, source })
  },
  async listProvided(userId, source) {
    return (await runner.all(s.listProvided, { userId, source })).map((row) => teamOf(row, []))
  },
  async unmark(id, userId) {
    await runner.run(s.unmark, { id, userId })
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
      const binds = { orgId, name, lowerName: teamNameKey(name), description, permission, type, createdAt }
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
        name,
        lowerName: name === undefined ? undefined : teamNameKey(name),
        description,
        permission,
        type,
        expectedVersion,
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
      roleIds.map((roleId) => ({ teamId: team.id, roleId, orgId: team.orgId })),
    )
  },
})
