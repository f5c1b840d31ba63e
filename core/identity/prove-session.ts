import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { fullScope } from '../kernel/principal.ts'
import type { MarkUsed } from './mark-used.ts'
import type { CredentialStore, IdentitySettings, TokenDigest } from './ports.ts'
import { NotAuthenticated } from './ports.ts'
import { isMarkDue, isSessionAlive, renewedIdleExpiry } from './session-rules.ts'

export interface ProveSessionDeps {
  readonly credentials: CredentialStore
  readonly digest: TokenDigest
  readonly clock: Clock
  readonly settings: IdentitySettings
}

const badSession = (): Failure<'NotAuthenticated'> => NotAuthenticated('The session is over; sign in again.')

/** Proves whose session a cookie names: one query. Use moves the end of its idle time, never of its whole time. */
export const makeProveSession =
  (deps: ProveSessionDeps, mark: MarkUsed) =>
  async (key: string): Outcome<Failure<'NotAuthenticated'>, Principal> => {
    const grant = await deps.credentials.sessionByHash(deps.digest.digest(key))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled || !isSessionAlive(grant, now)) return left(badSession())
    if (isMarkDue(grant.lastSeenAt, now)) {
      const idleExpiresAt = renewedIdleExpiry(deps.settings, grant, now)
      mark(`session ${grant.sessionId}`, now, () => deps.credentials.markSessionSeen(grant.sessionId, now, idleExpiresAt))
    }
    const { userId, login, isSiteAdmin, mustChangePassword } = grant.account
    return right({ userId, login, isSiteAdmin, mustChangePassword, method: 'session', scopes: fullScope, sessionId: grant.sessionId })
  }
