import type * as t from 'io-ts'
import { stringifySetCookie } from 'cookie'
import type { Page, PageRequest } from '../../core/kernel/page.ts'
import type { CookieChange, Versioned } from '../../plugins/kit/reply.ts'
import { Redirect } from '../../plugins/kit/reply.ts'
import type { Route } from '../../plugins/kit/route.ts'
import type { BinderDeps } from './binder-deps.ts'
import { entityTag, noneMatch } from './conditional.ts'
import { toWireJson } from '../../plugins/kit/wire-json.ts'
import { pageHeaders } from './paging.ts'
import type { RequestContext } from './request-context.ts'
import type { Answer } from './write-answer.ts'

const jsonType = { 'Content-Type': 'application/json; charset=utf-8' }

const cookieHeader = (change: CookieChange, secure: boolean): string =>
  stringifySetCookie(change.hostPrefix === true && secure ? `__Host-${change.name}` : change.name, change.value ?? '', {
    path: change.path,
    httpOnly: change.httpOnly,
    sameSite: 'lax',
    secure,
    ...(change.value === undefined ? { maxAge: 0 } : change.maxAgeSeconds === undefined ? {} : { maxAge: change.maxAgeSeconds }),
  })

/** JSON with an entity tag on reads, so that a poller pays for the bytes once. */
const tagged = (route: Route, value: unknown, version: number | undefined, headers: Record<string, string>): Answer => {
  const body = toWireJson(value)
  if (route.method !== 'GET' && version === undefined) return { status: route.ok.status, headers: { ...jsonType, ...headers }, body }
  const etag = entityTag(body, version)
  const all = { ...jsonType, ETag: etag, ...headers }
  return {
    status: route.ok.status,
    headers: all,
    body,
    ...(route.method === 'GET'
      ? { notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : { status: 304, headers: { ETag: etag }, body: undefined }) }
      : {}),
  }
}

/** The listener's root, from a path that the route's template matched. */
const rootOf = (route: Route, path: string): string => path.split('/').slice(0, 1 - route.path.split('/').length).join('/')

const redirected = (route: Route, baseUrl: string, context: RequestContext, { status, path }: Redirect): Answer => ({
  status,
  headers: { Location: baseUrl + rootOf(route, context.path) + path },
  body: undefined,
})

/** Makes the function that turns a handler's result into an answer, as the route declares it. */
export const makeReply = (
  route: Route,
  deps: Pick<BinderDeps, 'baseUrl' | 'secureCookies'>,
): ((result: unknown, context: RequestContext, request: PageRequest) => Answer) => {
  const answer = makeDeclaredReply(route, deps)
  return route.ok.redirects === undefined
    ? answer
    : (result, context, request) =>
        result instanceof Redirect ? redirected(route, deps.baseUrl, context, result) : answer(result, context, request)
}

const makeDeclaredReply = (
  route: Route,
  deps: Pick<BinderDeps, 'baseUrl' | 'secureCookies'>,
): ((result: unknown, context: RequestContext, request: PageRequest) => Answer) => {
  const { ok } = route
  const encode = (value: unknown): unknown => (ok.codec as t.Any).encode(value)
  switch (ok.kind) {
    case 'json':
      return (result) => tagged(route, encode(result), undefined, {})
    case 'versioned':
      return (result) => {
        const { value, version } = result as Versioned<unknown>
        return tagged(route, encode(value), version, {})
      }
    case 'list':
      return (result, context, request) => {
        const page = result as Page<unknown>
        return tagged(route, page.items.map(encode), undefined, pageHeaders(deps.baseUrl + context.path, context.params, request, page))
      }
    case 'cookies':
      return (result) => ({
        status: ok.status,
        headers: { 'Set-Cookie': (result as readonly CookieChange[]).map((change) => cookieHeader(change, deps.secureCookies)) },
        body: undefined,
      })
    case 'text':
      return (result) => ({ status: ok.status, headers: { 'Content-Type': ok.contentType ?? 'text/plain; charset=utf-8' }, body: result as string })
    case 'empty':
      return () => ({ status: ok.status, headers: {}, body: undefined })
  }
}
