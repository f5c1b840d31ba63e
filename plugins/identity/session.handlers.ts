import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { SessionId } from '../../core/kernel/brand.ts'
import { unixSeconds } from '../../core/kernel/instant.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { makeEndUserSessions, makeRevokeOtherSessions, makeRevokeSession } from '../../core/identity/end-sessions.ts'
import type { SessionRecord } from '../../core/identity/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { endUserSessions, listSessions, revokeOtherSessions, revokeSession } from './session.routes.ts'

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
  const listed = async ({ principal: { userId, sessionId } }: SignedInCall) =>
    (await stores.sessions.list(userId, clock.now())).map((session) => sessionWire(session, sessionId))
  return [
    handle(listSessions, async ({ call, page }) => right(pageWithin(await listed(call), page))),
    handle(revokeSession, async ({ call, params }) => {
      const revoked = await revoke(call, params.sid as SessionId)
      return isLeft(revoked) ? revoked : right(await listed(call))
    }),
    handle(revokeOtherSessions, async ({ call }) => {
      const revoked = await revokeOthers(call)
      return isLeft(revoked) ? revoked : right(await listed(call))
    }),
    handle(endUserSessions, ({ call, params }) => endOfUser(call, params.username)),
  ]
}
