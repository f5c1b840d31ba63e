import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Credential } from '../../../../core/identity/ports.ts'
import { hasRememberCookieForm } from '../../../../core/identity/sessions/remembered-logins.ts'
import type { UserId } from '../../../../core/kernel/ids.ts'
import type { Principal, RequiredScope } from '../../../../core/kernel/principal.ts'
import { allows } from '../../../../core/kernel/principal.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import {
  clearedCookies,
  cookiesOfSession,
  rememberCookieName,
} from '../../../../plugins/identity/sessions/session-wire.ts'
import type { Access } from '../../../../plugins/kit/access.ts'
import type { CookieChange } from '../../../../plugins/kit/reply.ts'
import type { Refusal } from '../failure-response.ts'
import { challenges, refusal, refusalOf } from '../failure-response.ts'
import type { BinderDeps } from '../binder-deps.ts'
import type { Carried } from './credentials.ts'
import { carriedCredential, cookieValueOf, hostCookieName, setCookieHeader, sudoOf } from './credentials.ts'
import { askFirst, crossSiteBasicRefusal, crossSiteRefusal, csrfRefusal, isSafe } from './cross-site.ts'
import type { RequestContext } from './request-context.ts'
import { callOf } from './request-context.ts'

type AuthenticateByCookiesDeps = Pick<
  BinderDeps,
  'authenticator' | 'baseUrl' | 'csrf' | 'resumption' | 'secureCookies' | 'sessions'
>

/** The cookies of this service that a request carries. */
export interface CarriedCookies {
  readonly sessionKey: Secret | undefined
  readonly remembered: Secret | undefined
}

/** Returns the cookies by the names that they have on this connection; undefined for those that are absent. */
const carriedCookies = (
  req: IncomingMessage,
  context: RequestContext,
  deps: AuthenticateByCookiesDeps,
): CarriedCookies | undefined => {
  const secure = deps.secureCookies || context.isEncrypted
  const named = (name: string) => cookieValueOf(req, hostCookieName(name, secure))
  const sessionKey = context.resumedKey ?? named(deps.sessions.sessionCookie)
  const remembered =
    context.resumedKey === undefined ? named(rememberCookieName(deps.sessions.sessionCookie)) : undefined
  const isOurs = remembered !== undefined && hasRememberCookieForm(remembered.reveal())
  return sessionKey === undefined && !isOurs ? undefined : { sessionKey, remembered: isOurs ? remembered : undefined }
}

/**
 * Proves the caller by a live session, or by a remembered login, which opens a session. The answer carries the cookies
 * of the new session.
 */
const makeAuthenticateByCookies =
  (deps: AuthenticateByCookiesDeps) =>
  async (
    req: IncomingMessage,
    context: RequestContext,
    cookies: CarriedCookies,
  ): Promise<Either<Refusal, Principal>> => {
    const crossSite = crossSiteRefusal(req, context, deps)
    if (crossSite !== undefined) return left(crossSite)
    const { sessionKey, remembered } = cookies
    const lasting = sessionKey === undefined ? undefined : await authenticateSession(deps, req, context, sessionKey)
    if (lasting !== undefined && (!isLeft(lasting) || lasting.left.status !== 401 || remembered === undefined))
      return lasting
    if (remembered === undefined) throw new Error('a request without cookies is not to be proven by them')
    if (!isSafe(req, context)) return left(askFirst)
    if (!hasAnswerAhead(req, context)) return lasting ?? left(askFirst)
    return resume(deps, context, remembered)
  }

/**
 * Reports whether the request gets an answer with new cookies. Without them, the cookies in the browser would soon
 * count as stolen. An upgrade, and an open stream whose caller is only checked again, get no such answer.
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

const resume = async (
  deps: AuthenticateByCookiesDeps,
  context: RequestContext,
  remembered: Secret,
): Promise<Either<Refusal, Principal>> => {
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

/** The facts about a route that authentication depends on. */
export interface AuthenticatedRoute {
  readonly access: Access
  readonly scope: RequiredScope | undefined
  readonly refusesSudo: boolean
  readonly loads?: 'profile' | undefined
  /** Defaults to false. */
  readonly servesConfined?: boolean
  /** Defaults to false. */
  readonly servesClusterTokens?: boolean
  /** Defaults to false. */
  readonly makesToken?: boolean
  readonly beforePasswordChange?: boolean
}

const unauthenticated = (message: string): Refusal =>
  refusal(401, 'NotAuthenticated', message, { headers: { 'WWW-Authenticate': challenges } })

/** The refusal of a request without any credential. It is not recorded as a denial. */
export const nothingSent = unauthenticated('Sign in, or send an access token.')

const twoUsers = 'The request carries the credential of one user and a cookie of another; send one.'
const notItsOwner =
  'The user name beside the access token is not that of its owner; without one, send x-oauth-basic in its place.'
const wantsPassword = unauthenticated(
  'This route takes HTTP Basic with the password of the account, no token and no session.',
)

export type AuthenticateDeps = AuthenticateByCookiesDeps & Pick<BinderDeps, 'isAccessToken' | 'takesQueryTokens'>

/** The query value that requests no token, on a route that makes one. */
const noToken = 'none'

/**
 * Reports whether the request asks for a new token. HEAD only asks about the answer, and no client would read the
 * token.
 */
const makesToken = ({ method, params }: RequestContext, route: AuthenticatedRoute): boolean =>
  route.makesToken === true && method !== 'HEAD' && !params.has('token', noToken)

const sudoRefusal = (
  kind: Credential['kind'],
  sudo: ReturnType<typeof sudoOf>,
  route: AuthenticatedRoute,
  context: RequestContext,
): Refusal | undefined => {
  if (sudo.login === undefined) return undefined
  if (sudo.contradicts) return refusal(400, 'ContradictingSudo', 'Query and header name two different users to act as.')
  if (kind === 'session') return refusal(403, 'NotPermitted', 'A session cannot act as another user; use a token.')
  if (context.makesToken === true)
    return refusal(403, 'NotPermitted', 'No token is made while acting as another user; ask with token=none.')
  if (route.refusesSudo) return refusal(403, 'NotPermitted', 'This route cannot be used while acting as another user.')
  return undefined
}

/** Reports whether the token is for one organization or for public objects. */
const isConfined = (principal: Principal): boolean => principal.scopes.publicOnly || principal.onlyOrgId !== undefined

/**
 * Reports whether the caller must first change the password. Tokens are exempt: their principal does not carry this
 * fact.
 */
const mustChangeFirst = (principal: Principal, route: AuthenticatedRoute): boolean =>
  principal.mustChangePassword === true && route.beforePasswordChange !== true

/** Reports whether a token for one cluster is used on a route other than the Kubernetes API of that cluster. */
const isElsewhere = (principal: Principal, route: AuthenticatedRoute): boolean =>
  principal.onlyClusterId !== undefined && route.servesClusterTokens !== true

/** Returns the query without the route's own value in the position of a token. */
const credentialParams = (params: URLSearchParams, route: AuthenticatedRoute): URLSearchParams => {
  if (route.makesToken !== true || !params.has('token', noToken)) return params
  const rest = new URLSearchParams(params)
  rest.delete('token', noToken)
  return rest
}

/** Returns the refusal of a proven caller on this route, regardless of the object. */
const principalRefusal = (principal: Principal, route: AuthenticatedRoute): Refusal | undefined => {
  if (isElsewhere(principal, route))
    return refusal(403, 'AccessDenied', 'This token is for the Kubernetes API of one cluster and reaches nothing else.')
  if (route.scope !== undefined && !allows(principal.scopes, route.scope)) {
    const { level, category } = route.scope
    return refusal(403, 'ScopeMissing', `The token does not carry the scope "${level}:${category}".`)
  }
  if (mustChangeFirst(principal, route)) {
    return refusal(
      403,
      'PasswordChangeRequired',
      'The password must be changed before anything else: POST /user/settings/account/password.',
    )
  }
  if (route.access.kind === 'site-admin' && !principal.isSiteAdmin) {
    return refusal(403, 'AccessDenied', 'Only site administrators may do this.')
  }
  // As in core/authz/evaluate.ts: outside of its purpose, such a token gives its holder no rights, even those of a site
  // admin.
  if (route.access.kind === 'site-admin' && isConfined(principal)) {
    return refusal(
      403,
      'AccessDenied',
      'A token for public objects, or for one organization, cannot administer the site.',
    )
  }
  if (route.access.kind === 'signed-in' && route.servesConfined !== true && isConfined(principal)) {
    return refusal(
      403,
      'AccessDenied',
      "A token for public objects, or for one organization, does not reach its owner's own things.",
    )
  }
  return undefined
}

/** On a public route, a session that proves no user is ignored: a stale cookie must not lock a browser out. */
const orNobody = (route: AuthenticatedRoute, refused: Refusal): Either<Refusal, undefined> =>
  route.access.kind === 'public' ? right(undefined) : left(refused)

/**
 * Returns the functions that prove the caller. A missing credential is accepted only on public routes; a wrong one
 * never is. The decision does not depend on how the credential travels. Cookies count only when there is no other
 * credential, and never together with `sudo`. `spendCode` runs last, before the handler: a request that is refused for
 * another reason does not use up a one-time code.
 */
export const makeAuthenticate = (deps: AuthenticateDeps) => {
  const authenticateByCookies = makeAuthenticateByCookies(deps)
  /**
   * The principal that a password proved for a request in progress. Checking that request again is not a new attempt.
   */
  const provenByPassword = new WeakMap<IncomingMessage, Principal>()

  const byCookies = async (
    req: IncomingMessage,
    context: RequestContext,
    route: AuthenticatedRoute,
  ): Promise<Either<Refusal, Principal | undefined>> => {
    const cookies = carriedCookies(req, context, deps)
    if (cookies === undefined) return orNobody(route, nothingSent)
    if (route.access.kind === 'password') return left(wantsPassword)
    const refused = sudoRefusal('session', sudoOf(req, context.params), route, context)
    if (refused !== undefined) return orNobody(route, refused)
    const proven = await authenticateByCookies(req, context, cookies)
    if (!isLeft(proven)) return proven
    // A sign-in that a browser repeats is counted apart from those of anonymous callers.
    if (route.access.kind === 'public' && cookies.remembered !== undefined && context.resumedKey === undefined)
      context.rememberedUserId = await deps.resumption.userOf(cookies.remembered)
    return orNobody(route, proven.left)
  }

  const byCredential = async (
    req: IncomingMessage,
    context: RequestContext,
    route: AuthenticatedRoute,
    { credential, owner }: Carried & { readonly kind: 'one' },
  ): Promise<Either<Refusal, Principal>> => {
    if (route.access.kind === 'password' && credential.kind !== 'password') return left(wantsPassword)
    const crossSite = crossSiteBasicRefusal(req, context, deps)
    if (crossSite !== undefined) return left(crossSite)
    const sudo = sudoOf(req, context.params)
    const refused = sudoRefusal(credential.kind, sudo, route, context)
    if (refused !== undefined) return left(refused)
    const before = provenByPassword.get(req)
    const proven =
      before === undefined
        ? await deps.authenticator.authenticate(credential, sudo.login, context.sourceIp, route.loads)
        : await deps.authenticator.authenticateAgain(before)
    if (isLeft(proven)) return left(refusalOf(proven.left))
    if (credential.kind === 'password') provenByPassword.set(req, proven.right)
    const actor = proven.right.impersonator ?? proven.right
    if (owner !== undefined && owner.toLowerCase() !== actor.login.toLowerCase())
      return left(unauthenticated(notItsOwner))
    return (await hasCookiesOfAnother(req, context, actor.userId)) ? left(unauthenticated(twoUsers)) : proven
  }

  /** Checked only when a request carries cookies beside another credential. Expired and unknown ones do not count. */
  const hasCookiesOfAnother = async (
    req: IncomingMessage,
    context: RequestContext,
    userId: UserId,
  ): Promise<boolean> => {
    const { sessionKey, remembered } = carriedCookies(req, context, deps) ?? {}
    const others = [
      sessionKey === undefined ? undefined : await deps.authenticator.userOfSession(sessionKey),
      remembered === undefined ? undefined : await deps.resumption.userOf(remembered),
    ]
    return others.some((other) => other !== undefined && other !== userId)
  }

  /** Uses up the one-time code of a caller's password. A public route requires no caller, and uses up no code. */
  const spendCode = async (
    req: IncomingMessage,
    context: RequestContext,
    access: Access,
  ): Promise<Refusal | undefined> => {
    const { principal, sourceIp } = context
    if (principal?.unspentCode === undefined || access.kind === 'public') return undefined
    const spent = await deps.authenticator.spendCode(principal, sourceIp)
    if (isLeft(spent)) return refusalOf(spent.left)
    provenByPassword.set(req, spent.right)
    context.principal = spent.right
    return undefined
  }

  const authenticate = async (
    req: IncomingMessage,
    context: RequestContext,
    route: AuthenticatedRoute,
  ): Promise<Either<Refusal, Principal | undefined>> => {
    context.makesToken = makesToken(context, route)
    const carried = carriedCredential(
      req,
      credentialParams(context.params, route),
      deps.isAccessToken,
      deps.takesQueryTokens,
    )
    if (carried.kind === 'bad') return left(unauthenticated(carried.message))
    const proven =
      carried.kind === 'none' ? await byCookies(req, context, route) : await byCredential(req, context, route, carried)
    if (isLeft(proven) || proven.right === undefined) return proven
    const isNobody = mustChangeFirst(proven.right, route) || isElsewhere(proven.right, route)
    if (route.access.kind === 'public' && isNobody) return right(undefined)
    context.principal = proven.right
    const denied = principalRefusal(proven.right, route)
    return denied === undefined ? right(proven.right) : left(denied)
  }

  return { authenticate, spendCode }
}
