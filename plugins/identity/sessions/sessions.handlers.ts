import { right } from 'fp-ts/lib/Either.js'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { unixSeconds } from '../../../core/kernel/clock.ts'
import { pageWithin } from '../../../core/kernel/page.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { makeEndUserSessions, makeRevokeOtherSessions, makeRevokeSession } from '../../../core/identity/sessions/sessions.ts'
import type { SessionRecord } from '../../../core/identity/types.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
import { endUserSessions, listSessions, revokeOtherSessions, revokeSession } from './sessions.routes.ts'

const sessionWire = (session: SessionRecord, current: SessionId | undefined) => ({
  id: session.id,
  isActiveSession: session.id === current,
  lastAccessedZonedTime: session.lastSeenAt.toISOString(),
  lastAccessed: unixSeconds(session.lastSeenAt),
  createdAt: unixSeconds(session.createdAt),
  expiresAt: unixSeconds(session.expiresAt),
  remember: session.remember,
  ip: session.sourceIp,
  user_agent: session.userAgent,
})

export const sessionRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { stores, clock } = given
  const revoke = makeRevokeSession(given)
  const revokeOthers = makeRevokeOtherSessions(given)
  const endOfUser = makeEndUserSessions(given)
  const listed = (sessions: readonly SessionRecord[], { call }: { readonly call: SignedInCall<never> }) =>
    sessions.map((session) => sessionWire(session, call.principal.sessionId))
  return [
    handle(listSessions, async ({ call, page }) =>
      right(pageWithin(listed(await stores.sessions.list(call.principal.userId, clock.now()), { call }), page)),
    ),
    handleChange(revokeSession, listed, ({ call, params }) => revoke(call, params.sid as SessionId)),
    handleChange(revokeOtherSessions, listed, ({ call }) => revokeOthers(call)),
    handle(endUserSessions, ({ call, params }) => endOfUser(call, params.username)),
  ]
}
