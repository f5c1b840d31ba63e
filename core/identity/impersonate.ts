import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { CredentialStore } from './ports.ts'
import { NotPermitted, SudoTargetMissing, SudoTargetNoUser } from './ports.ts'

export type ImpersonateFailure = Failure<'NotPermitted'> | Failure<'SudoTargetMissing'> | Failure<'SudoTargetNoUser'>

/** Makes the principal of a site admin who acts as another user: rights are the other's, the actor stays known. */
export const makeImpersonate =
  (credentials: CredentialStore) =>
  async (actor: Principal, login: string): Outcome<ImpersonateFailure, Principal> => {
    const allowed = mayImpersonate(actor)
    if (isLeft(allowed)) return allowed
    const target = await credentials.accountByName(login)
    if (target === undefined) return left(SudoTargetMissing('There is no such user to act as.'))
    if (target === 'organization') return left(SudoTargetNoUser('An organization cannot be acted as, only a user.'))
    if (!target.isEnabled) return left(NotPermitted('A disabled account cannot be acted as.'))
    return right({
      ...actor,
      userId: target.userId,
      login: target.login,
      isSiteAdmin: target.isSiteAdmin,
      impersonator: { userId: actor.userId, login: actor.login },
    })
  }

/** Only a site admin, and with a token only one that was given this power. */
const mayImpersonate = (actor: Principal): Either<Failure<'NotPermitted'>, void> => {
  if (!actor.isSiteAdmin) return left(NotPermitted('Only site administrators may act as another user.'))
  if (actor.method === 'session') return left(NotPermitted('A session cannot act as another user; use a token.'))
  if (!actor.scopes.sudo) return left(NotPermitted('The token does not carry the scope "sudo".'))
  return right(undefined)
}
