import type { RoleStore } from '../../../core/authz/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { roleReads } from './role-reads.ts'
import { prepareRoleStatements } from './role-statements.ts'
import { roleWrites } from './role-writes.ts'

/** RoleStore over the tables roles, role_permissions and team_roles: statements composed once, then bound to a runner. */
export const makeSqlRoleStore = (db: SqlDatabase): ((runner: SqlRunner) => RoleStore) => {
  const statements = prepareRoleStatements(db)
  return (runner) => ({ ...roleReads(statements, runner), ...roleWrites(statements, runner) })
}
