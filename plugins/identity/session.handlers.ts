import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { SessionId } from '../../core/kernel/brand.ts'
import { pageOffset } from '../../core/kernel/page.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeRevokeSession, makeSignOut } from '../../core/identity/end-sessions.ts'
import { makeSignIn } from '../../core/identity/sign-in.ts'
import type { SessionRecord } from '../../core/identity/types.ts'
import type { CookieChange } from '../kit/reply.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { listSessions, revokeSession, signIn, signOut } from './session.routes.ts'

const csrfCookie = '_csrf'

/** The session's own cookie, and the one that scripts may read. */
const sessionCookies = (
  name: string,
  values: { readonly session: string | undefined; readonly csrf: string | undefined },
  maxAgeSeconds: number | undefined,
): readonly CookieChange[] => {
  const age = maxAgeSeconds === undefined ? {} : { maxAgeSeconds }
  return [
    { name, value: values.session, httpOnly: true, path: '/', hostPrefix: true, ...age },
    { name: csrfCookie, value: values.csrf, httpOnly: false, path: '/', ...age },
  ]
}

const unixSeconds = (at: Date): number => Math.floor(at.getTime() / 1000)

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
  const { stores, settings, csrf, clock } = given
  const open = makeSignIn(given)
  const end = makeSignOut(given)
  const revoke = makeRevokeSession(given)
  return [
    handle(signIn, async ({ body, call }) => {
      const opened = await open(call, { login: body.username, password: secret(body.password), remember: body.remember ?? false })
      if (isLeft(opened)) return opened
      const { sessionKey, cookieSeconds } = opened.right
      return right(sessionCookies(settings.sessionCookie, { session: sessionKey.reveal(), csrf: csrf.of(sessionKey) }, cookieSeconds))
    }),
    handle(signOut, async ({ call }) => {
      const ended = await end(call)
      if (isLeft(ended)) return ended
      return right(sessionCookies(settings.sessionCookie, { session: undefined, csrf: undefined }, undefined))
    }),
    handle(listSessions, async ({ call, page }) => {
      const all = await stores.sessions.list(call.principal.userId, clock.now())
      const items = all.slice(pageOffset(page), pageOffset(page) + page.limit)
      return right({ items: items.map((session) => sessionWire(session, call.principal.sessionId)), total: all.length })
    }),
    handle(revokeSession, async ({ call, params }) => {
      const revoked = await revoke(call, params.sid as SessionId)
      if (isLeft(revoked)) return revoked
      const left = await stores.sessions.list(call.principal.userId, clock.now())
      return right(left.map((session) => sessionWire(session, call.principal.sessionId)))
    }),
  ]
}
