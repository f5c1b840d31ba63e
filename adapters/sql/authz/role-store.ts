import { left, right } from 'fp-ts/lib/Either.js'
import type { RoleStore } from '../../../core/authz/ports.ts'
import { RoleNameTaken } from '../../../core/authz/ports.ts'
import type { Role, RoleContent } from '../../../core/authz/types.ts'
import type { OrgId, RoleId, TeamId } from '../../../core/kernel/brand.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { PrincipalRow, RolePermissionRow, RoleRow, TeamRoleRow } from './role-rows.ts'
import { principalOf, roleOf } from './role-rows.ts'
import { prepareRoleStatements } from './role-statements.ts'

/** RoleStore over the tables roles, role_permissions and team_roles: statements composed once, then bound to a runner. */
export const makeSqlRoleStore = (db: SqlDatabase): ((runner: SqlRunner) => RoleStore) => {
  const sql = prepareRoleStatements(db)

  return (runner) => {
    const withParts = async (rows: readonly RoleRow[]): Promise<readonly Role[]> => {
      if (rows.length === 0) return []
      const ids = rows.map((row) => row.id)
      const [permissions, teams] = [sql.permissionsOf(ids), sql.teamsOf(ids)]
      const permissionRows = await runner.all<RolePermissionRow>(permissions.statement, permissions.binds)
      const teamRows = await runner.all<TeamRoleRow>(teams.statement, teams.binds)
      return rows.map((row) =>
        roleOf(
          row,
          permissionRows.filter((part) => part.role_id === row.id),
          teamRows.filter((part) => part.role_id === row.id).map((part) => part.team_id),
        ),
      )
    }

    const one = async (row: RoleRow | undefined): Promise<Role | undefined> => (await withParts(row === undefined ? [] : [row]))[0]

    const attach = async (orgId: OrgId, roleId: RoleId, content: RoleContent): Promise<void> => {
      for (const { namespace, action } of content.permissions) await runner.run(sql.addPermission, { roleId, namespace, action })
      for (const teamId of content.teamIds) await runner.run(sql.attachTeam, { orgId, roleId, teamId })
    }

    const columns = (content: RoleContent, at: Date) => ({
      name: content.name,
      lowerName: content.name.toLowerCase(),
      description: content.description,
      at: at.getTime(),
    })

    const unlessTaken = async <A>(content: RoleContent, change: () => Promise<A>) => {
      try {
        return right(await change())
      } catch (error) {
        if (!isUniqueViolation(error, 'lower_name')) throw error
        return left(RoleNameTaken(`The organization already has a role "${content.name}".`))
      }
    }

    return {
      async list(orgId, page) {
        const rows = await runner.all<RoleRow>(sql.list, { orgId, limit: page.limit, offset: pageOffset(page) })
        const counted = await runner.first<{ total: number }>(sql.count, { orgId })
        return { items: await withParts(rows), total: counted?.total ?? 0 }
      },
      get: async (orgId, id) => one(await runner.first<RoleRow>(sql.get, { orgId, id })),
      lock: async (orgId, id) => one(await runner.first<RoleRow>(sql.lock, { orgId, id })),

      insert: (orgId, content, at) =>
        unlessTaken(content, async () => {
          const { insertId } = await runner.run(sql.insert, { orgId, ...columns(content, at) })
          const id = insertId as RoleId
          await attach(orgId, id, content)
          return { ...content, id, orgId, createdAt: at, updatedAt: at, version: 1 }
        }),

      replace: (role, content, at) =>
        unlessTaken(content, async () => {
          const { id, orgId } = role
          const { affected } = await runner.run(sql.update, { orgId, id, ...columns(content, at) })
          if (affected === 0) throw new Error(`Role ${id} of organization ${orgId} is gone although it was locked.`)
          await runner.run(sql.dropPermissions, { roleId: id })
          await runner.run(sql.detachTeams, { roleId: id })
          await attach(orgId, id, content)
          return { ...role, ...content, updatedAt: at, version: role.version + 1 }
        }),

      async remove(orgId, id) {
        // Permissions and attachments go with the row, by their foreign keys.
        await runner.run(sql.remove, { orgId, id })
      },

      async principals(orgId, id, page) {
        const binds = { orgId, id, limit: page.limit, offset: pageOffset(page) }
        const rows = await runner.all<PrincipalRow>(sql.principals, binds)
        const counted = await runner.first<{ total: number }>(sql.countPrincipals, { orgId, id })
        return { items: rows.map(principalOf), total: Number(counted?.total ?? 0) }
      },

      async lockTeams(orgId, teamIds) {
        if (teamIds.length === 0) return new Set()
        const { statement, binds } = sql.lockTeams(teamIds)
        const rows = await runner.all<{ id: number }>(statement, { ...binds, orgId })
        return new Set(rows.map((row) => row.id as TeamId))
      },
    }
  }
}
