import type { AccessGrant, ObjectLocator } from '../kernel/access.ts'
import type { Failure, FailureType, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'

/** The caller may see the object but not do this. */
export const AccessDenied: FailureType<'AccessDenied'> = defineFailure('AccessDenied', 'Forbidden')
/** The object does not exist, or the caller may not know that it does; the two are one answer. */
export const ObjectHidden: FailureType<'ObjectHidden'> = defineFailure('ObjectHidden', 'NotFound')

/** Decides whether a principal holds a relation on an object. The same evaluator serves every route and every list. */
export interface Authorizer {
  /**
   * Answers what was found on the way. The token's own limits (scope, confinement to an organization) count as well.
   * The relation `member` on an organization is membership itself.
   * At most one query for an organization, account, team, role or cluster.
   */
  authorize(principal: Principal, object: ObjectLocator, relation: string): Outcome<Failure<'AccessDenied'> | Failure<'ObjectHidden'>, AccessGrant>
}
export const AuthorizerToken = token<Authorizer>('authz.Authorizer')
