import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { RoleStore } from '../../../core/authz/ports.ts'
import { RoleNameTaken } from '../../../core/authz/ports.ts'
import type { Role, RoleContent, RolePrincipal } from '../../../core/authz/types.ts'
import type { PermissionRef } from '../../../core/kernel/access.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import type { OrgId, RoleId, TeamId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { long, nullable, pick, selectedAs, text, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { assigned, insertAllInto, insertInto, values } from '../kit/values.ts'
import { rolePermissions, roles, teamRoles } from '../tables/authz.ts'
import { teams } from '../tables/organizations.ts'
import type { Row } from '../kit/columns.ts'
import { accounts, users } from '../tables/identity.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'

/** Where the objects of this part's types are. */
export const roleObjectRows: ObjectRows = { type: 'role', table: 'roles', owner: 'org_id' }

/** A role without its parts. */
const roleRow = without(roles, 'lowerName')

/** A permission of a role, or a team that it is attached to. The query selects them. */
const rolePartRow = {
  roleId: selectedAs(rolePermissions.roleId),
  namespace: selectedAs(rolePermissions.namespace),
  action: selectedAs(rolePermissions.action),
  teamId: selectedAs(nullable(teamRoles.teamId)),
}
type RolePart = Row<typeof rolePartRow>

/** Returns a role from its rows. */
const roleOf = (row: Row<typeof roleRow>, permissions: readonly PermissionRef[], teamIds: readonly TeamId[]): Role => ({
  ...row,
  permissions: permissions.map(({ namespace, action }) => ({ namespace, action })),
  teamIds,
})

/** A team, or a person in one, that has a role. */
const principalRow = {
  type: selectedAs(text<'team' | 'user'>(8)),
  id: selectedAs(long()),
  name: selectedAs(accounts.name),
  displayName: selectedAs(users.fullName),
  viaTeamId: selectedAs(nullable(teams.id)),
}

const principalOf = ({ viaTeamId, ...principal }: Row<typeof principalRow>): RolePrincipal => ({
  ...principal,
  ...definedFields({ viaTeamId }),
})

/** What a change of a role sets. A new column of `roles` belongs to it. */
const content = without(roles, 'id', 'orgId', 'createdAt', 'version')

const prepareRoles = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    { orgId: roles.orgId },
    roleRow,
    (k, p) => k('roles').where('org_id', p.orgId),
    (_, rows, cut) => cut(rows.orderBy('id')),
  ),
  get: db.prepare(pick(roles, 'orgId', 'id'), roleRow, (k, p) =>
    k('roles').where(values(roles, { id: p.id, orgId: p.orgId })),
  ),
  lock: db.prepare(pick(roles, 'orgId', 'id'), roleRow, (k, p) =>
    k('roles')
      .where(values(roles, { id: p.id, orgId: p.orgId }))
      .forUpdate(),
  ),
  insert: insertInto(db, roles, { omitted: ['id'], fixed: { version: 1 } }),
  update: db.prepare({ ...content, ...pick(roles, 'orgId', 'id') }, (k, p) =>
    k('roles')
      .where(values(roles, { id: p.id, orgId: p.orgId }))
      .update({ ...assigned(content, p), version: k.raw('version + 1') }),
  ),
  remove: db.prepare(pick(roles, 'orgId', 'id'), (k, p) =>
    k('roles')
      .where(values(roles, { id: p.id, orgId: p.orgId }))
      .delete(),
  ),
})

const prepareParts = (db: SqlDatabase) => ({
  addPermissions: insertAllInto(db, rolePermissions),
  dropPermissions: db.prepare({ roleId: rolePermissions.roleId }, (k, p) =>
    k('role_permissions').where('role_id', p.roleId).delete(),
  ),
  attachTeams: insertAllInto(db, teamRoles),
  detachTeams: db.prepare({ roleId: teamRoles.roleId }, (k, p) => k('team_roles').where('role_id', p.roleId).delete()),
  // Both parts of a role, so that a list of roles takes no further query.
  partsOf: idList(db, roles.id, {}, rolePartRow, (k, _, ids) =>
    k('role_permissions')
      .select('role_id', 'namespace', 'action', k.raw('null as team_id'))
      .whereIn('role_id', ids)
      .unionAll(
        k('team_roles')
          .select('role_id', k.raw("'' as namespace"), k.raw("'' as action"), 'team_id')
          .whereIn('role_id', ids),
      )
      .orderBy(['role_id', 'namespace', 'action', 'team_id']),
  ),
  // Locked in the order of their ids, so that two transactions that lock several teams wait rather than deadlock.
  lockTeams: idList(db, teams.id, { orgId: teams.orgId }, { id: teams.id }, (k, p, ids) =>
    k('teams').where('org_id', p.orgId).whereIn('id', ids).orderBy('id').forUpdate(),
  ),
})

const preparePrincipals = (db: SqlDatabase) => ({
  principals: typedPage(
    db,
    pick(roles, 'orgId', 'id'),
    principalRow,
    (k, p) => k.from(teamPrincipals(k, p).unionAll(userPrincipals(k, p)).as('principals')),
    (_, rows, cut) =>
      cut(
        rows
          .select('type', 'id', 'name', 'display_name', 'via_team_id')
          .orderBy([{ column: 'type' }, { column: 'id' }]),
      ),
  ),
})

/**
 * Every statement on roles, composed once. Statements with an id from a caller also have the organization's id, so that
 * no id reaches another tenant's role. Statements on the parts of a role are used only for a role found in this way.
 */
const prepareRoleStatements = (db: SqlDatabase) => ({
  ...prepareRoles(db),
  ...prepareParts(db),
  ...preparePrincipals(db),
})

type RoleStatements = ReturnType<typeof prepareRoleStatements>

type RoleSlots = Slots<Pick<typeof roles, 'orgId' | 'id'>>

const attachedTeams = (k: Knex, p: RoleSlots): Knex.QueryBuilder =>
  k('team_roles as tr')
    .join('teams as t', (on) => on.on('t.id', 'tr.team_id').on('t.org_id', 'tr.org_id'))
    .where('tr.role_id', p.id)
    .where('tr.org_id', p.orgId)

const teamPrincipals = (k: Knex, p: RoleSlots): Knex.QueryBuilder =>
  attachedTeams(k, p).select(
    k.raw("'team' as type"),
    't.id as id',
    't.name as name',
    't.name as display_name',
    k.raw('null as via_team_id'),
  )

/**
 * Selects the people and robot accounts in the teams who are still members of the organization, each once with the
 * first such team.
 */
const userPrincipals = (k: Knex, p: RoleSlots): Knex.QueryBuilder =>
  attachedTeams(k, p)
    .join('team_members as tm', 'tm.team_id', 't.id')
    .join('org_members as m', (on) => on.on('m.user_id', 'tm.user_id').on('m.org_id', 't.org_id'))
    .join('accounts as a', 'a.id', 'tm.user_id')
    .join('users as u', 'u.id', 'tm.user_id')
    .groupBy('a.id', 'a.name', 'u.full_name')
    .select(
      k.raw("'user' as type"),
      'a.id as id',
      'a.name as name',
      'u.full_name as display_name',
      k.raw('min(t.id) as via_team_id'),
    )

type RoleReads = Pick<RoleStore, 'list' | 'get' | 'lock' | 'principals' | 'lockTeams'>

/** The reading half of a RoleStore, which also locks what it reads. */
const roleReads = (sql: RoleStatements, runner: SqlRunner): RoleReads => ({
  async list(orgId, page) {
    const found = await sql.list(runner, { orgId }, page)
    return { ...found, items: await withParts(sql, runner, found.items) }
  },
  async get(orgId, id) {
    const [role] = await withParts(sql, runner, await runner.all(sql.get, { orgId, id }))
    return role
  },
  async lock(orgId, id) {
    const [role] = await withParts(sql, runner, await runner.all(sql.lock, { orgId, id }))
    return role
  },
  async principals(orgId, id, page) {
    return mapPage(await sql.principals(runner, { orgId, id }, page), principalOf)
  },
  async lockTeams(orgId, teamIds) {
    if (teamIds.length === 0) return new Set()
    const rows = await rowsOfIds(runner, sql.lockTeams, teamIds, { orgId })
    return new Set(rows.map((row) => row.id))
  },
})

/** Reads permissions and teams of all the roles in one query, regardless of the number of roles. */
const withParts = async (
  sql: RoleStatements,
  runner: SqlRunner,
  rows: readonly Row<typeof roleRow>[],
): Promise<readonly Role[]> => {
  if (rows.length === 0) return []
  const parts: ReadonlyMap<RoleId, readonly RolePart[]> = Map.groupBy(
    await rowsOfIds(
      runner,
      sql.partsOf,
      rows.map((row) => row.id),
      {},
    ),
    ({ roleId }) => roleId,
  )
  return rows.map((row) => {
    const own = parts.get(row.id) ?? []
    return roleOf(
      row,
      own.filter(({ teamId }) => teamId === undefined),
      own.flatMap(({ teamId }) => teamId ?? []),
    )
  })
}

type RoleWrites = Pick<RoleStore, 'insert' | 'replace' | 'remove'>

/** The changing half of a RoleStore, for use inside a transaction. */
const roleWrites = (sql: RoleStatements, runner: SqlRunner): RoleWrites => ({
  insert: (orgId, content, at) =>
    unlessTaken(content, async () => {
      const { insertId } = await runner.run(sql.insert, { orgId, createdAt: at, ...columnsOf(content, at) })
      const id = insertId as RoleId
      await attachParts(sql, runner, orgId, id, content)
      return { ...content, id, orgId, createdAt: at, updatedAt: at, version: 1 }
    }),

  replace: (role, content, at) =>
    unlessTaken(content, async () => {
      const { id, orgId } = role
      const { affected } = await runner.run(sql.update, { orgId, id, ...columnsOf(content, at) })
      if (affected === 0) throw new Error(`Role ${id} of organization ${orgId} is gone although it was locked.`)
      await runner.run(sql.dropPermissions, { roleId: id })
      await runner.run(sql.detachTeams, { roleId: id })
      await attachParts(sql, runner, orgId, id, content)
      return { ...role, ...content, updatedAt: at, version: role.version + 1 }
    }),

  async remove(orgId, id) {
    // Foreign keys delete permissions and attachments with the row.
    await runner.run(sql.remove, { orgId, id })
  },
})

const columnsOf = (content: RoleContent, at: Date) => ({
  name: content.name,
  lowerName: content.name.toLowerCase(),
  description: content.description,
  updatedAt: at,
})

const attachParts = async (
  sql: RoleStatements,
  runner: SqlRunner,
  orgId: OrgId,
  roleId: RoleId,
  content: RoleContent,
): Promise<void> => {
  await sql.addPermissions(
    runner,
    content.permissions.map(({ namespace, action }) => ({ roleId, namespace, action })),
  )
  await sql.attachTeams(
    runner,
    content.teamIds.map((teamId) => ({ orgId, roleId, teamId })),
  )
}

const unlessTaken = async <A>(
  content: RoleContent,
  change: () => Promise<A>,
): Promise<Either<Failure<'RoleNameTaken'>, A>> => {
  try {
    return right(await change())
  } catch (error) {
    if (!isUniqueViolation(error, 'lower_name')) throw error
    return left(RoleNameTaken(`The name "${content.name}" is already in use by a role of the organization.`))
  }
}

/**
 * RoleStore over the tables roles, role_permissions and team_roles. Statements are composed once, then bound to a
 * runner.
 */
export const makeSqlRoleStore = (db: SqlDatabase): ((runner: SqlRunner) => RoleStore) => {
  const statements = prepareRoleStatements(db)
  return (runner) => ({ ...roleReads(statements, runner), ...roleWrites(statements, runner) })
}
