import { anyTurn } from '../../../../core/kernel/clock.ts'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../../../core/authz/ports.ts'
import type { AccessGrant, ObjectKey, ObjectLocator } from '../../../../core/kernel/access.ts'
import { definedFields } from '../../../../core/kernel/json.ts'
import type { Principal } from '../../../../core/kernel/principal.ts'
import type { Access, GrantedAccess, KeyRef, ObjectRef, ParamRef } from '../../../../plugins/kit/access.ts'
import { paramsOf } from '../../../../plugins/kit/access.ts'
import { changesCookies } from '../../../../plugins/kit/reply.ts'
import type { Admission, Route, RouteInput } from '../../../../plugins/kit/route.ts'
import type { Refusal } from '../failure-response.ts'
import { noSuchPath, refusal, refusalOf } from '../failure-response.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { makeAuthenticate } from './authenticate.ts'
import type { BodyResult } from './body.ts'
import { readBody } from './body.ts'
import { parseIfMatch } from './conditional.ts'
import { cookieValueOf, hostCookieName } from './credentials.ts'
import { crossSiteSignInRefusal } from './cross-site.ts'
import { decodeBody, decodeParams, decodeQuery, isStrict, sentenceOf } from './decode.ts'
import { pageRequest, tooDeepPage } from './paging.ts'
import { spendRate, spendRefused } from './rate-limit.ts'
import type { RequestContext } from './request-context.ts'
import { pathValuesOf } from './request-context.ts'
import { makeFindIgnored } from './query-names.ts'

const defaultBodyLimitBytes = 1_048_576
/**
 * Milliseconds. The caller is proven again when the body takes longer, since the rights of the caller may have been
 * revoked in between.
 */
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
export const makeCheckRequest = (deps: BinderDeps, route: Route, admission?: Admission) => {
  const { authenticate, spendCode } = deps.readsCredentials === false ? withoutCredentials : makeAuthenticate(deps)
  const authenticated = {
    access: route.access,
    scope: route.scope,
    refusesSudo: route.refusesSudo === true,
    loads: route.loads,
    ...reachOf(route),
  }

  // A sender that names no user may have parameters of its own.
  const findIgnored = admission === undefined ? makeFindIgnored(route, deps.names) : undefined

  const authenticateAgain = async (req: IncomingMessage, context: RequestContext): ReturnType<typeof grantFor> => {
    context.principal = undefined
    const proven = await authenticate(req, context, authenticated)
    return isLeft(proven) ? proven : grantFor(deps, route, req, context)
  }

  return async (
    req: IncomingMessage,
    context: RequestContext,
    isAgain = false,
  ): Promise<Either<Refusal, CheckedRequest>> => {
    const rateLimit = isAgain ? undefined : deps.rateLimit
    const crossSite = changesCookies(route.ok) ? crossSiteSignInRefusal(req, context, deps) : undefined
    if (crossSite !== undefined) return left(spendRefused(rateLimit, context, crossSite))
    const proven = await authenticate(req, context, authenticated)
    if (isLeft(proven)) return left(spendRefused(rateLimit, context, proven.left))
    const rate = spendRate(rateLimit, context)
    if (rate.refused !== undefined) return left(rate.refused)
    const admitted = await admit(route, admission, req, context)
    if (isLeft(admitted)) return admitted
    const params = decodeParams(route, pathValuesOf(req))
    if (isLeft(params)) return params
    const query = decodeQuery(route, context.params)
    if (isLeft(query)) {
      const unproven = admitted.right ? undefined : refusedByBody(route, admission, context, left(noSuchPath))
      return unproven === undefined ? query : left(unproven)
    }
    const parameters = findIgnored?.(context.query, isStrict(context.params))
    if (parameters !== undefined && parameters.refused.length > 0) {
      const { refused: errors } = parameters
      return left(refusal(400, 'InvalidQuery', sentenceOf('The query is not valid', errors), { errors }))
    }
    const grant = await grantFor(deps, route, req, context)
    if (isLeft(grant)) return grant
    const page = pageRequest(context.params, route.ok.isPaged !== true)
    const tooDeep = route.ok.isKeyed === true && !context.params.has('before') ? tooDeepPage(page) : undefined
    if (tooDeep !== undefined) return left(refusal(400, 'InvalidQuery', tooDeep))
    const expectedVersion = expectedVersionOf(route, req.headers)
    if (isLeft(expectedVersion)) return expectedVersion
    const provenAtMs = performance.now()
    const turn = deps.pauseInLongTurn(anyTurn)
    if (turn !== undefined) {
      await turn
      // The client may have left while its account waited.
      context.clientSignal?.throwIfAborted()
    }
    const read = await readRouteBody(req, route)
    if (!read.ok) {
      const unproven = admitted.right ? undefined : refusedByBody(route, admission, context, left(noSuchPath))
      return left(unproven ?? refusal(read.refusal.status, read.refusal.code, read.refusal.message))
    }
    context.bytesIn = read.text?.length ?? 0
    const body = decodeBody(route, read.text, context.params, deps.names)
    const stillRefused = admitted.right ? undefined : refusedByBody(route, admission, context, body)
    if (stillRefused !== undefined) return left(stillRefused)
    if (isLeft(body)) return body
    context.ignoredFields = body.right.ignored.map(({ path }) => path)
    if (parameters !== undefined) context.ignoredParameters = parameters.ignored
    const current = performance.now() - provenAtMs > provenForMs ? await authenticateAgain(req, context) : grant
    if (isLeft(current)) return current
    const unspent = await spendCode(req, context, route.access)
    if (unspent !== undefined) return left(unspent)
    return right({
      input: {
        params: params.right,
        query: query.right,
        body: body.right.value,
        grant: current.right as never,
        page,
        expectedVersion: expectedVersion.right,
        ...(context.makesToken === true ? { makesToken: true } : {}),
        ...cookieInput(deps, route, req, context),
      },
      bodyText: read.text,
      rateHeaders: rate.headers,
    })
  }
}

/** Returns the cookie that the route reads. Its name is the one with which it was set. */
const cookieInput = (
  { secureCookies }: Pick<BinderDeps, 'secureCookies'>,
  { readsCookie }: Route,
  req: IncomingMessage,
  { isEncrypted }: RequestContext,
): Pick<AnyRouteInput, 'cookie'> =>
  readsCookie === undefined
    ? {}
    : definedFields({ cookie: cookieValueOf(req, hostCookieName(readsCookie, secureCookies || isEncrypted)) })

/** On a listener that reads no credentials, no caller is known. */
const withoutCredentials: Pick<ReturnType<typeof makeAuthenticate>, 'authenticate' | 'spendCode'> = {
  authenticate: async () => right(undefined),
  spendCode: async () => undefined,
}

/** Returns whether the sender is admitted before the body is known. */
const admit = async (
  route: Route,
  admission: Admission | undefined,
  { headers: { authorization } }: IncomingMessage,
  { sourceIp, params }: Pick<RequestContext, 'sourceIp' | 'params'>,
): Promise<Either<Refusal, boolean>> => {
  if (admission === undefined) return right(true)
  const decided = await admission.bySender({ sourceIp, authorization }, (name) => params.getAll(name))
  return isLeft(decided) ? left(refusalOf(decided.left, route)) : decided
}

const refusedByBody = (
  route: Route,
  admission: Admission | undefined,
  context: Pick<RequestContext, 'sourceIp'>,
  body: ReturnType<typeof decodeBody>,
): Refusal | undefined => {
  const decided = admission?.byBody?.(isLeft(body) ? undefined : body.right.value, context)
  return decided !== undefined && isLeft(decided) ? refusalOf(decided.left, route) : undefined
}

/** Reads the body of the request, if the route accepts one. A body can be read only once. */
export const readRouteBody = (req: IncomingMessage, { body }: Route): Promise<BodyResult> =>
  readBody(req, body?.limitBytes ?? defaultBodyLimitBytes, {
    jsonFields: body?.orForm === true ? (body.jsonFields ?? []) : undefined,
    takesPlainText: body?.orPlainText === true,
    takesUrlEncoded: body?.orUrlEncoded === true,
  })

const grantFor = async (
  deps: Pick<BinderDeps, 'authorizer'>,
  route: Route,
  req: IncomingMessage,
  context: RequestContext,
): Promise<Either<Refusal, AccessGrant | undefined>> =>
  route.access.kind === 'granted' && context.principal !== undefined
    ? authorize(deps.authorizer, context.principal, route.access, { path: pathValuesOf(req), query: context.params })
    : right(undefined)

/**
 * Returns the version that `If-Match` names. A change without a guard refuses the header, and each change refuses
 * `If-None-Match`.
 */
const expectedVersionOf = (
  route: Route,
  headers: Pick<IncomingHttpHeaders, 'if-match' | 'if-none-match'>,
): Either<Refusal, number | undefined> => {
  if (headers['if-none-match'] !== undefined && route.method !== 'GET') {
    return left(refusal(412, 'StaleVersion', 'Nothing was done: a change cannot depend on If-None-Match.'))
  }
  const ifMatch = parseIfMatch(headers['if-match'])
  const isGuarded = route.honoursIfMatch === true || route.ok.kind === 'versioned'
  const isUnmet = ifMatch.kind === 'never' || (ifMatch.kind === 'version' && !isGuarded)
  if (isUnmet && route.method !== 'GET') {
    return left(refusal(412, 'StaleVersion', 'The object is not of the version that If-Match names; read it again.'))
  }
  return right(ifMatch.kind === 'version' ? ifMatch.version : undefined)
}

/** The named values of the request that an object reference can refer to. */
export interface NamedValues {
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** The values of one caller, who has an account. */
interface CallerValues extends NamedValues {
  readonly ownName: string
}

const valueOf = (ref: ParamRef, values: CallerValues): string | undefined => {
  if (ref.in === 'path') return values.path[ref.name]
  return values.query.get(ref.name) ?? (ref.orOwn === true ? values.ownName : undefined)
}

const idOf = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

const keyOf = (key: KeyRef, values: CallerValues): ObjectKey | undefined => {
  if ('name' in key) {
    const name = valueOf(key.name, values)
    return name === undefined || name === '' ? undefined : { name }
  }
  const id = idOf(valueOf(key.id, values))
  return id === undefined ? undefined : { id }
}

/** Returns the locator that a reference names in this request, or undefined when the values name no object. */
const locatorOf = (object: ObjectRef, values: CallerValues): ObjectLocator | undefined => {
  const key = keyOf(object, values)
  const account = object.account === undefined ? undefined : valueOf(object.account, values)
  const within = object.within === undefined ? undefined : keyOf(object.within, values)
  const isComplete =
    (object.account === undefined || account !== undefined) && (object.within === undefined || within !== undefined)
  return key === undefined || !isComplete
    ? undefined
    : { type: object.type, ...key, ...definedFields({ account, within }) }
}

const hidden = ({ hiddenAs, object }: GrantedAccess, message: string): Refusal =>
  hiddenAs === 'forbidden'
    ? refusal(403, 'AccessDenied', `You have no access to this ${object.type}.`)
    : refusal(404, 'NotFound', message)

/** Returns the name of the query parameter that an object reference requires, when the request lacks it. */
const missingQuery = (object: ObjectRef, values: CallerValues): string | undefined =>
  paramsOf(object).find((ref) => ref.in === 'query' && (valueOf(ref, values) ?? '') === '')?.name

/**
 * Decides on the relation of a route, for a caller who was proven just before. A caller who may not see the object
 * learns nothing else about it.
 */
export const authorize = async (
  authorizer: Authorizer,
  principal: Principal,
  access: GrantedAccess,
  named: NamedValues,
): Promise<Either<Refusal, AccessGrant>> => {
  const values = { ...named, ownName: principal.login }
  const missing = missingQuery(access.object, values)
  if (missing !== undefined)
    return left(refusal(400, 'MissingParameter', `The query parameter "${missing}" is required.`))
  const locator = locatorOf(access.object, values)
  if (locator === undefined)
    return left(hidden(access, `The ${access.object.type} does not exist, or you may not see it.`))
  const { relation, demands } = access
  const decided = await authorizer.authorize(principal, locator, relation, demands, principal.provenAt)
  if (!isLeft(decided)) return decided
  const { tag, message, about } = decided.left
  return left(tag === 'ObjectHidden' ? hidden(access, message) : refusal(403, tag, message, definedFields({ about })))
}
