import type { IncomingMessage } from 'node:http'
import type { Secret } from '../../../../core/kernel/secret.ts'
import type { BinderDeps } from '../binder-deps.ts'
import type { Refusal } from '../failure-response.ts'
import { refusal } from '../failure-response.ts'
import type { RequestContext } from './request-context.ts'

const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

export const isSafe = (req: IncomingMessage, context: RequestContext): boolean =>
  safeMethods.includes(req.method ?? '') && context.makesToken !== true

const crossSite = refusal(
  403,
  'CrossSiteRequest',
  'A credential that a browser sends automatically (a session cookie, a stored password) is not accepted ' +
    'on a request from another site.',
)

/**
 * Refuses requests of pages of other origins, since browsers send cookies unasked. A request must come from a page of
 * this origin, or from no page. Browsers report this in `Sec-Fetch-Site`. Older ones only name the origin of the page;
 * only when they do can it be compared.
 */
export const crossSiteRefusal = (
  req: IncomingMessage,
  context: RequestContext,
  deps: Pick<BinderDeps, 'baseUrl' | 'secureCookies'>,
): Refusal | undefined => {
  const site = req.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? undefined : crossSite
  const origin = req.headers.origin
  if (origin === undefined || ownOrigins(req, context, deps).includes(origin.toLowerCase())) return undefined
  return crossSite
}

/** Refuses sign-in and sign-out from pages of other sites, which could sign a user in under another account, or out. */
export const crossSiteSignInRefusal = (...asked: Parameters<typeof crossSiteRefusal>): Refusal | undefined =>
  crossSiteRefusal(...asked) === undefined
    ? undefined
    : refusal(403, 'CrossSiteRequest', 'A page of another site cannot sign users in or out.')

/**
 * Returns the origins of the pages of this service: the base URL, the address that trusted proxies report, and the
 * address that this request was sent to.
 */
const ownOrigins = (
  req: IncomingMessage,
  context: RequestContext,
  deps: Pick<BinderDeps, 'baseUrl' | 'secureCookies'>,
): readonly string[] => {
  const scheme = context.isEncrypted || deps.secureCookies ? 'https' : 'http'
  return [new URL(deps.baseUrl).origin, context.ownAddress.url, `${scheme}://${(req.headers.host ?? '').toLowerCase()}`]
}

/**
 * Refuses changes and upgrades with HTTP Basic from pages of other sites. Browsers store what was entered in the dialog
 * of HTTP Basic, and add it to forms that other sites send here, and to their websockets. Reads are allowed, since a
 * page of another site cannot see the answer.
 */
export const crossSiteBasicRefusal = (
  req: IncomingMessage,
  context: RequestContext,
  deps: Pick<BinderDeps, 'baseUrl' | 'secureCookies'>,
): Refusal | undefined => {
  const isBasic = /^basic /i.test(req.headers.authorization?.trim() ?? '')
  const isHarmless = isSafe(req, context) && req.headers.upgrade === undefined
  return isBasic && !isHarmless ? crossSiteRefusal(req, context, deps) : undefined
}

/**
 * Refuses a change with a session cookie that lacks proof that a script of this service's own page requested it: only
 * such a script can read `_csrf`. For a GET that is a change, the browser's own report that a page of this origin
 * requested it is sufficient, since links and pictures carry no header.
 */
export const csrfRefusal = (
  req: IncomingMessage,
  context: RequestContext,
  sessionKey: Secret,
  csrf: BinderDeps['csrf'],
): Refusal | undefined => {
  if (isSafe(req, context)) return undefined
  if (context.makesToken === true && req.headers['sec-fetch-site'] === 'same-origin') return undefined
  const presented = req.headers['x-csrf-token']
  if (typeof presented === 'string' && csrf.matches(sessionKey, presented)) return undefined
  return refusal(
    403,
    'CsrfTokenMissing',
    'A change with a session cookie needs the header X-Csrf-Token, equal to the cookie _csrf.',
  )
}

export const askFirst = refusal(
  403,
  'CsrfTokenMissing',
  'The session is over, and a remembered login opens a new one only on a reading request: send a GET ' +
    'first, as GET /api/v1/user, then repeat this with the new cookie _csrf in the header X-Csrf-Token.',
)
