import { right } from 'fp-ts/lib/Either.js'
import { IdentityStoresPort, IdentityUnitOfWorkPort } from '../../../core/identity/ports.ts'
import {
  makeEndUserSessions,
  makeRevokeOtherSessions,
  makeRevokeSession,
} from '../../../core/identity/sessions/sessions.ts'
import type { SessionRecord } from '../../../core/identity/types.ts'
import { ClockPort, unixSeconds } from '../../../core/kernel/clock.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { pageWithin } from '../../../core/kernel/page.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
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

const listed = (sessions: readonly SessionRecord[], { call }: { readonly call: SignedInCall<never> }) =>
  sessions.map((session) => sessionWire(session, call.principal.sessionId))

export const sessionGroup = defineGroup({
  needs: { clock: ClockPort, stores: IdentityStoresPort, unitOfWork: IdentityUnitOfWorkPort },
  routes: (given) => [
    handle(
      listSessions,
      async ({ principal }, { page }) =>
        right(pageWithin(await given.stores.sessions.list(principal.userId, given.clock.now()), page)),
      { reply: (session, { call }) => sessionWire(session, call.principal.sessionId) },
    ),
    handle(revokeSession, makeRevokeSession(given), { input: ({ params }) => params.sid, reply: listed }),
    handle(revokeOtherSessions, makeRevokeOtherSessions(given), { reply: listed }),
    handle(endUserSessions, makeEndUserSessions(given), { input: ({ params }) => params.username }),
  ],
})
