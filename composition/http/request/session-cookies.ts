import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { hasRememberCookieForm } from '../../../core/identity/sessions/remembered-logins.ts'
import type { Principal } from '../../../core/kernel/principal.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { clearedCookies, cookiesOfSession, rememberCookieName } from '../../../plugins/identity/sessions/session-cookies.ts'
import type { CookieChange } from '../../../plugins/kit/reply.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { askFirst, crossSiteRefusal, csrfRefusal, isSafe } from './cross-site.ts'
import { cookieValueOf, hostCookieName, setCookieHeader } from './cookies.ts'
import type { Refusal } from '../answer/failure-response.ts'
import { refusalOf } from '../answer/failure-response.ts'
import type { RequestContext } from './request-context.ts'
import { callOf } from './request-context.ts'

export type AuthenticateByCookiesDeps = Pick<BinderDeps, 'authenticator' | 'baseUrl' | 'csrf' | 'resumption' | 'secureCookies' | 'sessions'>

/** The cookies of this service that a request carries. */
export interface CarriedCookies {
  readonly sessionKey: Secret | undefined
  readonly remembered: Secret | undefined
}

/** Returns the cookies by the names that they have on this connection; undefined for those that are absent. */
export const carriedCookies = (req: IncomingMessage, context: RequestContext, deps: AuthenticateByCookiesDeps): CarriedCookies | undefined => {
  const secure = deps.secureCookies || context.isEncrypted
  const named = (name: string) => cookieValueOf(req, hostCookieName(name, secure))
  const sessionKey = context.resumedKey ?? named(deps.sessions.sessionCookie)
  const remembered = context.resumedKey === undefined ? named(rememberCookieName(deps.sessions.sessionCookie)) : undefined
  const isOurs = remembered !== undefined && hasRememberCookieForm(remembered.reveal())
  return sessionKey === undefined && !isOurs ? undefined : { sessionKey, remembered: isOurs ? remembered : undefined }
}

/**
 * Proves the caller by a live session, or by a remembered login, which opens a session. The answer carries the cookies of the
 * new session.
 */
export const makeAuthenticateByCookies =
  (deps: AuthenticateByCookiesDeps) =>
  async (req: IncomingMessage, context: RequestContext, cookies: CarriedCookies): Promise<Either<Refusal, Principal>> => {
    const crossSite = crossSiteRefusal(req, context, deps)
    if (crossSite !== undefined) return left(crossSite)
    const { sessionKey, remembered } = cookies
    const lasting = sessionKey === undefined ? undefined : await authenticateSession(deps, req, context, sessionKey)
    if (lasting !== undefined && (!isLeft(lasting) || lasting.left.status !== 401 || remembered === undefined)) return lasting
    if (remembered === undefined) throw new Error('a request without cookies is not to be proven by them')
    if (!isSafe(req, context)) return left(askFirst)
    if (!hasAnswerAhead(req, context)) return lasting ?? left(askFirst)
    return resume(deps, context, remembered)
  }

/**
 * Reports whether the request gets an answer with new cookies. Without them, the cookies in the browser would soon count as
 * stolen. An upgrade, and an open stream whose caller is only checked again, get no such answer.
 */
const hasAnswerAhead = (req: IncomingMessage, context: RequestContext): boolean =>
  req.headers.upgrade === undefined && context.principal === undefined

const authenticateSession = async (
  { authenticator, csrf }: AuthenticateByCookiesDeps,
  req: IncomingMessage,
  context: RequestContext,
  sessionKey: Secret,
): Promise<Either<Refusal, Principal>> => {
  const refused = csrfRefusal(req, context, sessionKey, csrf)
  if (refused !== undefined) return left(refused)
  const proven = await authenticator.authenticate({ kind: 'session', sessionKey }, undefined, context.sourceIp)
  return isLeft(proven) ? left(refusalOf(proven.left)) : proven
}

const resume = async (deps: AuthenticateByCookiesDeps, context: RequestContext, remembered: Secret): Promise<Either<Refusal, Principal>> => {
  const secure = deps.secureCookies || context.isEncrypted
  const carry = (changes: readonly CookieChange[]): void => {
    context.setCookies = changes.map((change) => setCookieHeader(change, secure))
  }
  // A client that disconnects does not stop this: it returns with the cookie that it has.
  const call = callOf(context, new AbortController().signal)
  const resumed = await deps.resumption.resume(call, remembered)
  if (isLeft(resumed)) {
    carry(clearedCookies(deps.sessions))
    return left(refusalOf(resumed.left))
  }
  context.resumedKey = resumed.right.sessionKey
  carry(cookiesOfSession(deps.sessions, deps.csrf, resumed.right))
  return right(resumed.right.principal)
}
