import { left, right } from 'fp-ts/lib/Either.js'
import type { SessionId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import { auditedUser } from './audited-user.ts'
import { userMissing } from './find-user.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'
import type { SessionRecord } from './types.ts'

export const SessionMissing = defineFailure('SessionMissing', 'NotFound')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** Ends the session that the call came with, and its remembered login; a call with another credential changes nothing. */
export const makeSignOut =
  (deps: Deps) =>
  async (call: SignedInCall): Outcome<never, void> => {
    const { sessionId, userId, login } = call.principal
    if (sessionId === undefined) return right(undefined)
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await stores.sessions.remove(userId, sessionId)
      await stores.audit.record({
        action: 'user.signed_out',
        ...auditedUser({ id: userId, login }),
        changes: { session: sessionId },
      })
      return right(undefined)
    })
  }

/** Ends all of the caller's own sessions and remembered logins but the one of this call; answers the sessions that are left. */
export const makeRevokeOtherSessions =
  (deps: Deps & { readonly clock: Clock }) =>
  async (call: SignedInCall<readonly SessionRecord[]>): Outcome<never, readonly SessionRecord[]> =>
    deps.unitOfWork.run<never, readonly SessionRecord[]>(call, async (stores) => {
      const { userId, login, sessionId } = call.principal
      await stores.users.lock(userId)
      const ended = await (sessionId === undefined ? stores.sessions.removeAll(userId, undefined) : stores.sessions.removeOthers(userId, sessionId))
      await stores.audit.record({
        action: 'session.others_revoked',
        ...auditedUser({ id: userId, login }),
        changes: { sessions_ended: ended },
      })
      return right(await stores.sessions.list(userId, deps.clock.now()))
    })

/** For a site admin: ends all sessions and remembered logins of a user. Access tokens stay. */
export const makeEndUserSessions =
  (deps: Deps & { readonly stores: Pick<IdentityStores, 'users'> }) =>
  async (call: SignedInCall, login: string): Outcome<Failure<'UserMissing'>, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    return deps.unitOfWork.run<Failure<'UserMissing'>, void>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      const ended = await stores.sessions.removeAll(user.id, undefined)
      await stores.audit.record({
        action: 'user.sessions_ended',
        ...auditedUser(user),
        changes: { sessions_ended: ended },
      })
      return right(undefined)
    })
  }

/** Ends one of the caller's own sessions, with the remembered login that it belongs to; answers the sessions that are left. */
export const makeRevokeSession =
  (deps: Deps & { readonly clock: Clock }) =>
  async (call: SignedInCall<readonly SessionRecord[]>, id: SessionId): Outcome<Failure<'SessionMissing'>, readonly SessionRecord[]> =>
    deps.unitOfWork.run<Failure<'SessionMissing'>, readonly SessionRecord[]>(call, async (stores) => {
      const { userId, login } = call.principal
      if (!(await stores.sessions.remove(userId, id))) return left(SessionMissing('You have no such session.'))
      await stores.audit.record({
        action: 'session.revoked',
        ...auditedUser({ id: userId, login }),
        changes: { session: id },
      })
      return right(await stores.sessions.list(userId, deps.clock.now()))
    })
