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
import { listSlots, paddedList, rowsFor } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

/** Where the objects of this part's types are. */
export const roleObjectRows: ObjectRows = { type: 'role', table: 'roles', owner: 'org_id' }

interface RoleRow {
  readonly id: number
  readonly org_id: number
  readonly name: string
  readonly description: string
  readonly created_at: number
  readonly updated_at: number
  readonly version: number
}

const roleColumns = ['id', 'org_id', 'name', 'description', 'created_at', 'updated_at', 'version'] as const

/** A permission of a role, or a team that it is attached to. */
interface RolePartRow extends PermissionRef {
  readonly role_id: number
  /** Null in the row of a permission. MySQL returns the ids of a union as text. */
  readonly team_id: number | string | null
}

/** Returns a role from its rows. */
const roleOf = (row: RoleRow, permissions: readonly PermissionRef[], teamIds: readonly number[]): Role => ({
  id: row.id as RoleId,
  orgId: row.org_id as OrgId,
  name: row.name,
  description: row.description,
  permissions: permissions.map(({ namespace, action }) => ({ namespace, action })),
  teamIds: teamIds.map((id) => id as TeamId),
  createdAt: new Date(row.created_at),
  updatedAt: new Date(row.updated_at),
  version: row.version,
})

interface PrincipalRow {
  readonly type: string
  readonly id: number
  readonly name: string
  readonly display_name: string
  /** MySQL returns the minimum over a union as text. */
  readonly via_team_id: number | string | null
}

const principalOf = (row: PrincipalRow): RolePrincipal => ({
  type: row.type === 'team' ? 'team' : 'user',
  id: row.id,
  name: row.name,
  displayName: row.display_name,
  ...(row.via_team_id === null ? {} : { viaTeamId: Number(row.via_team_id) as TeamId }),
})

const prepareRoles = (db: SqlDatabase) => ({
  list: pageQuery(
    db,
    (k, p: Params<'orgId'>) => k('roles').where('org_id', p('orgId')),
    (_, rows, cut) => cut(rows.select(...roleColumns).orderBy('id')),
  ),
  get: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    k('roles')
      .select(...roleColumns)
      .where({ id: p('id'), org_id: p('orgId') }),
  ),
  lock: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    k('roles')
      .select(...roleColumns)
      .where({ id: p('id'), org_id: p('orgId') })
      .forUpdate(),
  ),
  insert: db.prepare((k, p: Params<'orgId' | 'name' | 'lowerName' | 'description' | 'at'>) =>
    k('roles').insert({
      org_id: p('orgId'),
      name: p('name'),
      lower_name: p('lowerName'),
      description: p('description'),
      created_at: p('at'),
      updated_at: p('at'),
      version: 1,
    }),
  ),
  update: db.prepare((k, p: Params<'orgId' | 'id' | 'name' | 'lowerName' | 'description' | 'at'>) =>
    k('roles')
      .where({ id: p('id'), org_id: p('orgId') })
      .update({
        name: p('name'),
        lower_name: p('lowerName'),
        description: p('description'),
        updated_at: p('at'),
        version: k.raw('version + 1'),
      }),
  ),
  remove: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    k('roles')
      .where({ id: p('id'), org_id: p('orgId') })
      .delete(),
  ),
})

const prepareParts = (db: SqlDatabase) => ({
  addPermissions: insertRows(db, 'role_permissions', (p: Params<'roleId' | 'namespace' | 'action'>) => ({
    role_id: p('roleId'),
    namespace: p('namespace'),
    action: p('action'),
  })),
  dropPermissions: db.prepare((k, p: Params<'roleId'>) => k('role_permissions').where('role_id', p('roleId')).delete()),
  attachTeams: insertRows(db, 'team_roles', (p: Params<'orgId' | 'roleId' | 'teamId'>) => ({
    team_id: p('teamId'),
    role_id: p('roleId'),
    org_id: p('orgId'),
  })),
  detachTeams: db.prepare((k, p: Params<'roleId'>) => k('team_roles').where('role_id', p('roleId')).delete()),
  // Both parts of a role, so that a list of roles takes no further query.
  partsOf: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('role_permissions')
        .select('role_id', 'namespace', 'action', k.raw('null as team_id'))
        .whereIn('role_id', listSlots(p, length))
        .unionAll(
          k('team_roles')
            .select('role_id', k.raw("'' as namespace"), k.raw("'' as action"), 'team_id')
            .whereIn('role_id', listSlots(p, length)),
        )
        .orderBy(['role_id', 'namespace', 'action', 'team_id']),
    ),
  ),
  // Locked in the order of their ids, so that two transactions that lock several teams wait rather than deadlock.
  lockTeams: paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k('teams').select('id').where('org_id', p('orgId')).whereIn('id', listSlots(p, length)).orderBy('id').forUpdate(),
    ),
  ),
})

const preparePrincipals = (db: SqlDatabase) => ({
  principals: pageQuery(
    db,
    (k, p: Params<'orgId' | 'id'>) => k.from(teamPrincipals(k, p).unionAll(userPrincipals(k, p)).as('principals')),
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

type Slot = (name: 'orgId' | 'id') => number

const attachedTeams = (k: Knex, p: Slot): Knex.QueryBuilder =>
  k('team_roles as tr')
    .join('teams as t', (on) => on.on('t.id', 'tr.team_id').on('t.org_id', 'tr.org_id'))
    .where('tr.role_id', p('id'))
    .where('tr.org_id', p('orgId'))

const teamPrincipals = (k: Knex, p: Slot): Knex.QueryBuilder =>
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
const userPrincipals = (k: Knex, p: Slot): Knex.QueryBuilder =>
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
    const found = await sql.list<RoleRow>(runner, { orgId }, page)
    return { ...found, items: await withParts(sql, runner, found.items) }
  },
  async get(orgId, id) {
    const [role] = await withParts(sql, runner, await runner.all<RoleRow>(sql.get, { orgId, id }))
    return role
  },
  async lock(orgId, id) {
    const [role] = await withParts(sql, runner, await runner.all<RoleRow>(sql.lock, { orgId, id }))
    return role
  },
  async principals(orgId, id, page) {
    return mapPage(await sql.principals<PrincipalRow>(runner, { orgId, id }, page), principalOf)
  },
  async lockTeams(orgId, teamIds) {
    if (teamIds.length === 0) return new Set()
    const { statement, binds } = sql.lockTeams(teamIds)
    const rows = await runner.all<{ id: number }>(statement, { ...binds, orgId })
    return new Set(rows.map((row) => row.id as TeamId))
  },
})

/** Reads permissions and teams of all the roles in one query, regardless of the number of roles. */
const withParts = async (
  sql: RoleStatements,
  runner: SqlRunner,
  rows: readonly RoleRow[],
): Promise<readonly Role[]> => {
  if (rows.length === 0) return []
  const parts = Map.groupBy(
    await rowsFor<RolePartRow>(
      runner,
      sql.partsOf,
      rows.map((row) => row.id),
    ),
    ({ role_id }) => role_id,
  )
  return rows.map((row) => {
    const own = parts.get(row.id) ?? []
    return roleOf(
      row,
      own.filter(({ team_id }) => team_id === null),
      own.flatMap(({ team_id }) => (team_id === null ? [] : [Number(team_id)])),
    )
  })
}

type RoleWrites = Pick<RoleStore, 'insert' | 'replace' | 'remove'>

/** The changing half of a RoleStore, for use inside a transaction. */
const roleWrites = (sql: RoleStatements, runner: SqlRunner): RoleWrites => ({
  insert: (orgId, content, at) =>
    unlessTaken(content, async () => {
      const { insertId } = await runner.run(sql.insert, { orgId, ...columnsOf(content, at) })
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
  at: at.getTime(),
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
