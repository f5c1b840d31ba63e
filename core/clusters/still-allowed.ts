import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import { AccessDenied } from '../authz/ports.ts'
import type { ObjectLocator } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'

/**
 * Asks once more whether the caller may, after a cluster was looked at: that takes as long as the cluster likes, and the
 * caller may be the one who runs it. Failure: AccessDenied.
 */
export const makeStillAllowed = (authorizer: Authorizer) =>
  async (call: SignedInCall<never>, object: ObjectLocator, relation: string): Outcome<Failure<'AccessDenied'>, void> => {
    const decided = await authorizer.authorize(call.principal, object, relation)
    return isLeft(decided) ? left(AccessDenied('You may no longer do this.')) : right(undefined)
  }
export type StillAllowed = ReturnType<typeof makeStillAllowed>
