import type { RoleStore } from '../../../core/authz/ports.ts'
import type { Role } from '../../../core/authz/types.ts'
import type { TeamId } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { SqlRunner } from '../statement.ts'
import type { PrincipalRow, RolePermissionRow, RoleRow, TeamRoleRow } from './role-rows.ts'
import { principalOf, roleOf } from './role-rows.ts'
import type { RoleStatements } from './role-statements.ts'

type RoleReads = Pick<RoleStore, 'list' | 'get' | 'lock' | 'principals' | 'lockTeams'>

/** The half of a RoleStore that reads, and locks what it has read. */
export const roleReads = (sql: RoleStatements, runner: SqlRunner): RoleReads => ({
  async list(orgId, page) {
    const rows = await runner.all<RoleRow>(sql.list, { orgId, limit: page.limit, offset: pageOffset(page) })
    const counted = await runner.first<{ total: number }>(sql.count, { orgId })
    return { items: await withParts(sql, runner, rows), total: counted?.total ?? 0 }
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
    const rows = await runner.all<PrincipalRow>(sql.principals, { orgId, id, limit: page.limit, offset: pageOffset(page) })
    const counted = await runner.first<{ total: number }>(sql.countPrincipals, { orgId, id })
    return { items: rows.map(principalOf), total: Number(counted?.total ?? 0) }
  },
  async lockTeams(orgId, teamIds) {
    if (teamIds.length === 0) return new Set()
    const { statement, binds } = sql.lockTeams(teamIds)
    const rows = await runner.all<{ id: number }>(statement, { ...binds, orgId })
    return new Set(rows.map((row) => row.id as TeamId))
  },
})

/** Reads permissions and teams of all the roles at once: two queries, however many roles. */
const withParts = async (sql: RoleStatements, runner: SqlRunner, rows: readonly RoleRow[]): Promise<readonly Role[]> => {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const permissions = sql.permissionsOf(ids)
  const permissionRows = await runner.all<RolePermissionRow>(permissions.statement, permissions.binds)
  const teams = sql.teamsOf(ids)
  const teamRows = await runner.all<TeamRoleRow>(teams.statement, teams.binds)
  return rows.map((row) =>
    roleOf(
      row,
      permissionRows.filter((part) => part.role_id === row.id),
      teamRows.filter((part) => part.role_id === row.id).map((part) => part.team_id),
    ),
  )
}
