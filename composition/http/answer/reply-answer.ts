import type * as t from 'io-ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import type { Binary, CookieChange, Streamed, Versioned } from '../../../plugins/kit/reply.ts'
import { JsonText, NoContent, Redirect, YamlAnswer } from '../../../plugins/kit/reply.ts'
import type { Route } from '../../../plugins/kit/route.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { entityTag, noneMatch } from '../request/conditional.ts'
import { setCookieHeader } from '../request/cookies.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import { pageHeaders } from '../request/paging.ts'
import type { RequestContext } from '../request/request-context.ts'
import { streamedAnswer } from './streamed-answer.ts'
import type { Answer } from './write-answer.ts'

const jsonType = { 'Content-Type': 'application/json; charset=utf-8' }

/** Returns JSON, with an entity tag on reads so that a poller transfers the bytes once. A read that creates a token has no tag. */
const tagged = (route: Route, value: unknown, version: number | undefined, headers: Record<string, string>, makesToken = false): Answer => {
  const body = value instanceof JsonText ? value.text : toWireJson(value)
  if ((route.method !== 'GET' && version === undefined) || makesToken) return { status: route.ok.status, headers: { ...jsonType, ...headers }, body }
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

/** Returns bytes with a strong tag. A client that holds them revalidates each time, and usually gets 304. */
const binaryAnswer = ({ contentType, bytes, headers: own }: Binary): Answer => {
  const etag = entityTag(bytes)
  const headers = { 'Cache-Control': 'no-cache', ...own, 'Content-Type': contentType, ETag: etag }
  return {
    status: 200,
    headers,
    body: bytes,
    notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : { status: 304, headers: { ETag: etag }, body: undefined }),
  }
}

const yamlType = { 'Content-Type': 'application/yaml; charset=utf-8' }

/** Returns YAML in the same way as JSON, with a tag of its own bytes on reads. */
const yamlAnswer = (route: Route, { text }: YamlAnswer): Answer => {
  if (route.method !== 'GET') return { status: route.ok.status, headers: yamlType, body: text }
  const etag = entityTag(text)
  return {
    status: route.ok.status,
    headers: { ...yamlType, ETag: etag },
    body: text,
    notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : { status: 304, headers: { ETag: etag }, body: undefined }),
  }
}

/** Returns the listener's root of a path that matches the template of the route. */
const rootOf = (route: Route, path: string): string => path.split('/').slice(0, 1 - route.path.split('/').length).join('/')

/** Redirects by path alone, so that the client keeps the scheme and host that it used. */
const redirected = (route: Route, context: RequestContext, { status, path }: Redirect): Answer => ({
  status,
  headers: { Location: rootOf(route, context.path) + path },
  body: undefined,
})

/** Returns the function that converts a handler's result to an answer, as the route declares it. */
export const makeReply = (
  route: Route,
  deps: Pick<BinderDeps, 'secureCookies'>,
): ((result: unknown, context: RequestContext, request: PageRequest) => Answer) => {
  const answer = makeDeclaredReply(route, deps)
  const { redirects, isYamlToo, isJsonTextToo, isEmptyToo } = route.ok
  if (redirects === undefined && isYamlToo !== true && isJsonTextToo !== true && isEmptyToo !== true) return answer
  return (result, context, request) => {
    if (result instanceof Redirect) return redirected(route, context, result)
    if (result instanceof JsonText) return tagged(route, result, undefined, {})
    if (result instanceof NoContent) return { status: 204, headers: {}, body: undefined }
    return result instanceof YamlAnswer ? yamlAnswer(route, result) : answer(result, context, request)
  }
}

const makeDeclaredReply = (
  route: Route,
  deps: Pick<BinderDeps, 'secureCookies'>,
): ((result: unknown, context: RequestContext, request: PageRequest) => Answer) => {
  const { ok } = route
  const encode = (value: unknown): unknown => (ok.codec as t.Any).encode(value)
  switch (ok.kind) {
    case 'json':
      return (result, context) => tagged(route, encode(result), undefined, {}, context.makesToken)
    case 'versioned':
      return (result) => {
        const { value, version } = result as Versioned<unknown>
        return tagged(route, encode(value), version, {})
      }
    case 'list':
      return (result, context, request) => {
        const page = result as Page<unknown>
        const items = page.items.map(encode)
        const value = ok.envelope === undefined ? items : { ...ok.envelope.constants, [ok.envelope.key]: items }
        return tagged(route, value, undefined, pageHeaders(context.ownAddress.url + context.path, context.params, request, page))
      }
    case 'cookies':
      return (result, context) => {
        const secure = deps.secureCookies || context.isEncrypted
        const headers = { 'Set-Cookie': (result as readonly CookieChange[]).map((change) => setCookieHeader(change, secure)) }
        return { status: ok.status, headers, body: undefined }
      }
    case 'binary':
      return (result) => binaryAnswer(result as Binary)
    case 'streamed':
      return (result) => streamedAnswer(result as Streamed)
    case 'text':
      return (result) => ({ status: ok.status, headers: { 'Content-Type': ok.contentType ?? 'text/plain; charset=utf-8' }, body: result as string })
    case 'feed':
      throw new Error(`${route.id} answers a feed, which has a binding of its own`)
    case 'empty':
      return () => ({ status: ok.status, headers: {}, body: undefined })
  }
}
