import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { RoleStore } from '../../../core/authz/ports.ts'
import { RoleNameTaken } from '../../../core/authz/ports.ts'
import type { RoleContent } from '../../../core/authz/types.ts'
import type { OrgId, RoleId } from '../../../core/kernel/ids.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlRunner } from '../statement.ts'
import type { RoleStatements } from './role-statements.ts'

type RoleWrites = Pick<RoleStore, 'insert' | 'replace' | 'remove'>

/** The half of a RoleStore that changes roles; for use inside a transaction. */
export const roleWrites = (sql: RoleStatements, runner: SqlRunner): RoleWrites => ({
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
    // Permissions and attachments go with the row, by their foreign keys.
    await runner.run(sql.remove, { orgId, id })
  },
})

const columnsOf = (content: RoleContent, at: Date) => ({
  name: content.name,
  lowerName: content.name.toLowerCase(),
  description: content.description,
  at: at.getTime(),
})

const attachParts = async (sql: RoleStatements, runner: SqlRunner, orgId: OrgId, roleId: RoleId, content: RoleContent): Promise<void> => {
  for (const { namespace, action } of content.permissions) await runner.run(sql.addPermission, { roleId, namespace, action })
  for (const teamId of content.teamIds) await runner.run(sql.attachTeam, { orgId, roleId, teamId })
}

const unlessTaken = async <A>(content: RoleContent, change: () => Promise<A>): Promise<Either<Failure<'RoleNameTaken'>, A>> => {
  try {
    return right(await change())
  } catch (error) {
    if (!isUniqueViolation(error, 'lower_name')) throw error
    return left(RoleNameTaken(`The organization already has a role "${content.name}".`))
  }
}
