import { left, right } from 'fp-ts/lib/Either.js'
import type { SessionId } from '../kernel/brand.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { IdentityChanges } from './ports.ts'

export const SessionMissing = defineFailure('SessionMissing', 'NotFound')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** Ends the session that the call came with; a call with another credential changes nothing. */
export const makeSignOut =
  (deps: Deps) =>
  async (call: SignedInCall): Outcome<never, void> => {
    const { sessionId, userId, login } = call.principal
    if (sessionId === undefined) return right(undefined)
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await stores.sessions.remove(userId, sessionId)
      await stores.audit.record({
        action: 'user.signed_out',
        objectType: 'user',
        objectId: userId,
        objectName: login,
        tenantId: userId,
        changes: { session: sessionId },
      })
      return right(undefined)
    })
  }

/** Ends one of the caller's own sessions. */
export const makeRevokeSession =
  (deps: Deps) =>
  async (call: SignedInCall, id: SessionId): Outcome<Failure<'SessionMissing'>, void> =>
    deps.unitOfWork.run<Failure<'SessionMissing'>, void>(call, async (stores) => {
      const { userId, login } = call.principal
      if (!(await stores.sessions.remove(userId, id))) return left(SessionMissing('You have no such session.'))
      await stores.audit.record({
        action: 'session.revoked',
        objectType: 'user',
        objectId: userId,
        objectName: login,
        tenantId: userId,
        changes: { session: id },
      })
      return right(undefined)
    })
