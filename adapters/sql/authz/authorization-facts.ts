import type { AuthorizationFacts } from '../../../core/authz/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { makeLocate } from './locate.ts'
import { makeObjectsOf } from './objects-of.ts'

/** AuthorizationFacts over the tables of accounts, teams, roles and grants: statements composed once, then bound to a runner. */
export const makeSqlAuthorizationFacts = (db: SqlDatabase): ((runner: SqlRunner) => AuthorizationFacts) => {
  const locate = makeLocate(db)
  const objectsOf = makeObjectsOf(db)
  return (runner) => ({
    locate: (userId, object) => locate(runner, userId, object),
    objectsOf: (userId, standing, type, ids) => objectsOf(runner, userId, standing, type, ids),
  })
}
