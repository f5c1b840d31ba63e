import * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { HeaderBag } from '../../core/kernel/exchange.ts'
import type { CookieChange, RedirectStatus } from './reply.ts'
import { NoContent, Redirect, YamlAnswer } from './reply.ts'
import type { Route } from './route.ts'
import type { SendReply, SendRequest } from './send.ts'
import { fromWireJson } from '../../core/kernel/wire-json.ts'

/** The body of every refusal. */
export const ErrorBody = t.intersection(
  [
    t.type({ message: t.string }, 'ErrorMessage'),
    t.partial({ url: t.string, code: t.string, requestId: t.string, errors: t.array(t.string) }, 'ErrorDetails'),
  ],
  'Error',
)
export type ErrorBody = t.TypeOf<typeof ErrorBody>

/** What a call came to. `value` is there exactly when the answer is the declared success. */
export type ClientReply<R> =
  | { readonly ok: true; readonly status: number; readonly headers: HeaderBag; readonly value: R; readonly text: string }
  | { readonly ok: false; readonly status: number; readonly headers: HeaderBag; readonly error: ErrorBody; readonly text: string }

/** The service answered something that its own declaration does not allow. */
export class UndeclaredAnswer extends Error {}

const refuse = (request: SendRequest, reply: SendReply, why: string): never => {
  const where = request.path.split('?')[0] ?? ''
  throw new UndeclaredAnswer(`${request.method} ${where} answered ${reply.status}: ${why}; the body begins ${reply.body.slice(0, 200)}`)
}

const parse = (request: SendRequest, reply: SendReply): unknown => {
  try {
    return fromWireJson(reply.body)
  } catch {
    return refuse(request, reply, 'the body is not JSON')
  }
}

const decode = (codec: t.Any | undefined, request: SendRequest, reply: SendReply): unknown => {
  if (codec === undefined) return refuse(request, reply, 'the route declares no body')
  const decoded = codec.decode(parse(request, reply)) as t.Validation<unknown>
  if (!isLeft(decoded)) return decoded.right
  const fields = decoded.left.slice(0, 5).map((e) => e.context.map((c) => c.key).join('.') + ' is no ' + (e.context.at(-1)?.type.name ?? '?'))
  return refuse(request, reply, `the body does not decode: ${fields.join('; ')}`)
}

const headerText = (headers: HeaderBag, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.[0]
}

const cookiesOf = (headers: HeaderBag): readonly CookieChange[] => {
  const lines = headers['set-cookie'] ?? []
  return (typeof lines === 'string' ? [lines] : lines).map((line) => {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const has = (word: string) => attributes.some((a) => a.toLowerCase() === word)
    const maxAge = attributes.find((a) => /^max-age=/i.test(a))?.slice(8)
    const path = attributes.find((a) => /^path=/i.test(a))?.slice(5)
    return {
      name,
      value: value === '' || maxAge === '0' ? undefined : value,
      httpOnly: has('httponly'),
      path: path ?? '/',
      ...(maxAge === undefined ? {} : { maxAgeSeconds: Number(maxAge) }),
    }
  })
}

const readValue = (route: Route, request: SendRequest, reply: SendReply): unknown => {
  if (route.ok.isYamlToo === true && /^application\/yaml\b/.test(headerText(reply.headers, 'content-type') ?? '')) return new YamlAnswer(reply.body)
  switch (route.ok.kind) {
    case 'json':
      return decode(route.ok.codec, request, reply)
    case 'versioned': {
      const version = /^"(\d+)-/.exec(headerText(reply.headers, 'etag') ?? '')?.[1]
      if (version === undefined) return refuse(request, reply, 'the answer lacks an ETag with its version')
      return { value: decode(route.ok.codec, request, reply), version: Number(version) }
    }
    case 'list': {
      const total = Number(headerText(reply.headers, 'x-total-count') ?? 'absent')
      if (!Number.isSafeInteger(total)) return refuse(request, reply, 'the list lacks X-Total-Count')
      const { envelope, codec } = route.ok
      const items =
        envelope === undefined
          ? decode(t.array((codec ?? t.never) as t.Mixed), request, reply)
          : (decode(envelope.codec, request, reply) as Readonly<Record<string, unknown>>)[envelope.key]
      const capped = headerText(reply.headers, 'x-total-count-capped') === 'true'
      return { items, total, ...(capped ? { totalIsCapped: true } : {}) }
    }
    case 'feed':
      return decode(t.array((route.ok.codec ?? t.never) as t.Mixed), request, reply)
    case 'text':
      return reply.body
    case 'binary':
      return { contentType: headerText(reply.headers, 'content-type') ?? '', bytes: reply.bytes ?? refuse(request, reply, 'its bytes were not kept') }
    case 'cookies':
      return cookiesOf(reply.headers)
    case 'empty':
      return reply.body === '' ? undefined : refuse(request, reply, 'the route declares no body')
  }
}

/** Reads an answer as the route declares it. Throws UndeclaredAnswer when it is something else. */
export const readReply = <R>(route: Route, request: SendRequest, reply: SendReply): ClientReply<R> => {
  const { status, headers, body: text } = reply
  if (status === route.ok.status) return { ok: true, status, headers, value: readValue(route, request, reply) as R, text }
  if (status === 204 && route.ok.isEmptyToo === true) return { ok: true, status, headers, value: new NoContent() as R, text }
  if (route.ok.redirects?.includes(status as RedirectStatus)) {
    const value = new Redirect(status as RedirectStatus, headerText(headers, 'location') ?? '')
    return { ok: true, status, headers, value: value as R, text }
  }
  if (status < 400) return refuse(request, reply, `the route declares ${route.ok.status}`)
  const error = ErrorBody.decode(parse(request, reply))
  if (isLeft(error)) return refuse(request, reply, 'the error body lacks a string message')
  return { ok: false, status, headers, error: error.right, text }
}
