import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Credential } from '../../core/identity/ports.ts'
import type { Principal } from '../../core/kernel/principal.ts'
import type { RequiredScope } from '../../core/kernel/token-scope.ts'
import { allows } from '../../core/kernel/token-scope.ts'
import type { Access } from '../../plugins/kit/access.ts'
import type { BinderDeps } from './binder-deps.ts'
import { carriedCredential, sudoOf } from './credentials.ts'
import type { Refusal } from './failure-response.ts'
import { challenges, refusal, refusalOf } from './failure-response.ts'
import type { RequestContext } from './request-context.ts'

/** What authentication needs to know of a route. */
export interface AuthenticatedRoute {
  readonly access: Access
  readonly scope: RequiredScope | undefined
  readonly refusesSudo: boolean
  readonly loads?: 'profile' | undefined
}

const unauthenticated = (message: string): Refusal =>
  refusal(401, 'NotAuthenticated', message, { headers: { 'WWW-Authenticate': challenges } })

/** The refusal of a request that sent no credential at all; no denial to be told of. */
export const nothingSent = unauthenticated('Sign in, or send an access token.')

const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** A session cookie is sent by browsers unasked, so a change needs proof that our own page asked for it. */
const crossSiteRefusal = (req: IncomingMessage, credential: Credential, csrf: BinderDeps['csrf']): Refusal | undefined => {
  if (credential.kind !== 'session') return undefined
  const site = req.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return refusal(403, 'CrossSiteRequest', 'A session cookie is not accepted on a request from another site.')
  }
  if (safeMethods.includes(req.method ?? '')) return undefined
  const presented = req.headers['x-csrf-token']
  if (typeof presented === 'string' && csrf.matches(credential.sessionKey, presented)) return undefined
  return refusal(403, 'CsrfTokenMissing', 'A change with a session cookie needs the header X-Csrf-Token, equal to the cookie _csrf.')
}

const sudoRefusal = (credential: Credential, sudo: ReturnType<typeof sudoOf>, route: AuthenticatedRoute): Refusal | undefined => {
  if (sudo.login === undefined) return undefined
  if (sudo.contradicts) return refusal(400, 'ContradictingSudo', 'Query and header name two different users to act as.')
  if (credential.kind === 'session') return refusal(403, 'NotPermitted', 'A session cannot act as another user; use a token.')
  if (route.refusesSudo) return refusal(403, 'NotPermitted', 'This route cannot be used while acting as another user.')
  return undefined
}

/** What the proven caller may not do on this route, whatever the object. */
const principalRefusal = (principal: Principal, route: AuthenticatedRoute): Refusal | undefined => {
  if (route.scope !== undefined && !allows(principal.scopes, route.scope)) {
    const { level, category } = route.scope
    return refusal(403, 'ScopeMissing', `The token does not carry the scope "${level}:${category}".`)
  }
  if (route.access.kind === 'site-admin' && !principal.isSiteAdmin) {
    return refusal(403, 'AccessDenied', 'Only site administrators may do this.')
  }
  // As in core/authz/subject.ts: outside of what such a token is for, its holder is nobody, also when a site admin.
  if (route.access.kind === 'site-admin' && (principal.scopes.publicOnly || principal.onlyOrgId !== undefined)) {
    return refusal(403, 'AccessDenied', 'A token for public objects, or for one organization, cannot administer the site.')
  }
  return undefined
}

/**
 * Proves the caller. No credential is fine on public routes only; a wrong one never is. The decision does not depend on
 * how the credential travels.
 */
export const makeAuthenticate =
  (deps: Pick<BinderDeps, 'authenticator' | 'csrf' | 'isAccessToken' | 'sessionCookie'>) =>
  async (req: IncomingMessage, context: RequestContext, route: AuthenticatedRoute): Promise<Either<Refusal, Principal | undefined>> => {
    const carried = carriedCredential(req, context.params, deps.sessionCookie, deps.isAccessToken)
    if (carried.kind === 'bad') return left(unauthenticated(carried.message))
    if (carried.kind === 'none') {
      if (route.access.kind === 'public') return right(undefined)
      return left(nothingSent)
    }
    const credential = carried.credential
    if (route.access.kind === 'password' && credential.kind !== 'password') {
      return left(unauthenticated('This route takes HTTP Basic with the password of the account, no token and no session.'))
    }
    const sudo = sudoOf(req, context.params)
    const refused = crossSiteRefusal(req, credential, deps.csrf) ?? sudoRefusal(credential, sudo, route)
    if (refused !== undefined) {
      // On a public route an unproven session is nobody's, and says so by counting for nothing.
      return route.access.kind === 'public' && credential.kind === 'session' ? right(undefined) : left(refused)
    }
    const proven = await deps.authenticator.authenticate(credential, sudo.login, context.sourceIp, route.loads)
    if (isLeft(proven)) {
      // A stale session cookie must not lock a browser out of public pages; it is no explicit claim to be somebody.
      if (route.access.kind === 'public' && credential.kind === 'session') return right(undefined)
      return left(refusalOf(proven.left))
    }
    context.principal = proven.right
    const denied = principalRefusal(proven.right, route)
    return denied === undefined ? right(proven.right) : left(denied)
  }
