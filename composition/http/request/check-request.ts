import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { Access } from '../../../plugins/kit/access.ts'
import type { Route, RouteInput } from '../../../plugins/kit/route.ts'
import { makeAuthenticate } from './authenticate.ts'
import { authorize } from './authorize.ts'
import type { BinderDeps } from '../binder-deps.ts'
import type { BodyResult } from './body.ts'
import { readBody } from './body.ts'
import { crossSiteSignInRefusal } from './cross-site.ts'
import { parseIfMatch } from './conditional.ts'
import { decodeBody, decodeParams, decodeQuery } from './decode.ts'
import type { Refusal } from '../answer/failure-response.ts'
import { refusal } from '../answer/failure-response.ts'
import { pageRequest } from './paging.ts'
import { spendRate, spendRefused } from './rate-limit.ts'
import type { RequestContext } from './request-context.ts'
import { pathValuesOf } from './request-context.ts'

const defaultBodyLimitBytes = 1_048_576
/** Milliseconds. The caller is proven again when the body takes longer, since the rights of the caller may have been revoked in between. */
const provenForMs = 1_000

/** The input of a handler with its types erased, as the binder handles it. */
export type AnyRouteInput = RouteInput<unknown, unknown, unknown, Access>

/** A request that may proceed to its handler. */
export interface CheckedRequest {
  readonly input: Omit<AnyRouteInput, 'call'>
  /** The body as received, for the digest of an idempotent request. */
  readonly bodyText: string | undefined
  /** The rate headers of the answer. */
  readonly rateHeaders: Readonly<Record<string, string>>
}

const reachOf = ({ servesConfined, beforePasswordChange, makesToken }: Route) => ({
  servesConfined: servesConfined === true,
  makesToken: makesToken === true,
  beforePasswordChange: beforePasswordChange === true,
})

/**
 * Runs every check before the handler, in this order: authenticate, decode path and query, authorize,
 * decode the body. Before authorization, nothing is looked up that could reveal whether an object exists.
 */
export const makeCheckRequest = (deps: BinderDeps, route: Route) => {
  const { authenticate, spendCode } = makeAuthenticate(deps)
  const authenticated = { access: route.access, scope: route.scope, refusesSudo: route.refusesSudo === true, loads: route.loads, ...reachOf(route) }

  const authenticateAgain = async (req: IncomingMessage, context: RequestContext): ReturnType<typeof grantFor> => {
    context.principal = undefined
    const proven = await authenticate(req, context, authenticated)
    return isLeft(proven) ? proven : grantFor(deps, route, req, context)
  }

  return async (req: IncomingMessage, context: RequestContext): Promise<Either<Refusal, CheckedRequest>> => {
    const crossSite = route.ok.kind === 'cookies' ? crossSiteSignInRefusal(req, context, deps) : undefined
    if (crossSite !== undefined) return left(spendRefused(deps.rateLimit, context, crossSite))
    const proven = await authenticate(req, context, authenticated)
    if (isLeft(proven)) return left(spendRefused(deps.rateLimit, context, proven.left))
    const rate = spendRate(deps.rateLimit, context)
    if (rate.refused !== undefined) return left(rate.refused)
    const params = decodeParams(route, pathValuesOf(req))
    if (isLeft(params)) return params
    const query = decodeQuery(route, context.params)
    if (isLeft(query)) return query
    const grant = await grantFor(deps, route, req, context)
    if (isLeft(grant)) return grant
    const expectedVersion = expectedVersionOf(route, req.headers['if-match'])
    if (isLeft(expectedVersion)) return expectedVersion
    const provenAtMs = performance.now()
    const read = await readRouteBody(req, route)
    if (!read.ok) return left(refusal(read.refusal.status, read.refusal.code, read.refusal.message))
    context.bytesIn = read.text?.length ?? 0
    const body = decodeBody(route, read.text, context.params)
    if (isLeft(body)) return body
    const current = performance.now() - provenAtMs > provenForMs ? await authenticateAgain(req, context) : grant
    if (isLeft(current)) return current
    const unspent = await spendCode(req, context, route.access)
    if (unspent !== undefined) return left(unspent)
    return right({
      input: {
        params: params.right,
        query: query.right,
        body: body.right,
        grant: current.right as never,
        page: pageRequest(context.params),
        expectedVersion: expectedVersion.right,
        ...(context.makesToken === true ? { makesToken: true } : {}),
      },
      bodyText: read.text,
      rateHeaders: rate.headers,
    })
  }
}

/** Reads the body of the request, if the route accepts one. A body can be read only once. */
export const readRouteBody = (req: IncomingMessage, { body }: Route): Promise<BodyResult> =>
  readBody(req, body?.limitBytes ?? defaultBodyLimitBytes, body?.orForm === true ? (body.jsonFields ?? []) : undefined)

const grantFor = async (
  deps: Pick<BinderDeps, 'authorizer'>,
  route: Route,
  req: IncomingMessage,
  context: RequestContext,
): Promise<Either<Refusal, AccessGrant | undefined>> =>
  route.access.kind === 'granted' && context.principal !== undefined
    ? authorize(deps.authorizer, context.principal, route.access, { path: pathValuesOf(req), query: context.params })
    : right(undefined)

/** Returns the version that `If-Match` names. A change without a guard refuses the header. */
const expectedVersionOf = (route: Route, header: string | undefined): Either<Refusal, number | undefined> => {
  const ifMatch = parseIfMatch(header)
  const isGuarded = route.honoursIfMatch === true || route.ok.kind === 'versioned'
  const isUnmet = ifMatch.kind === 'never' || (ifMatch.kind === 'version' && !isGuarded)
  if (isUnmet && route.method !== 'GET') {
    return left(refusal(412, 'StaleVersion', 'The object is not of the version that If-Match names; read it again.'))
  }
  return right(ifMatch.kind === 'version' ? ifMatch.version : undefined)
}
