import { signal } from '@preact/signals-core'
import { fill, texts } from '../texts.js'
import { api } from './address.js'

/**
 * @import { Answer, Input, Method, Output, PathOf } from 'api-shapes'
 */

/** A refusal of the API, or the lack of an answer (status 0). Its message is for people. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {{ code?: string, errors?: string[], requestId?: string }} [details]
   */
  constructor(status, message, { code = '', errors = [], requestId = '' } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
    this.requestId = requestId
  }
}

/** Returns an error as one of the API. @param {unknown} error @returns {ApiError} */
export const asApiError = (error) =>
  error instanceof ApiError ? error : new ApiError(0, error instanceof Error ? error.message : String(error))

/** Whether the session has ended. Requests wait until the user has signed in again. */
export const isSignedOut = signal(false)

/** The question about what the caller may do. */
export const rightsPath = '/authz/objects/allowed-permissions'

/** Counts changes that the API refused to the caller: what was known of their rights may be out of date. */
export const refusals = signal(0)

/** Whether the last request got no answer. */
export const isOffline = signal(false)

/** Returns the value that a change with the session cookie must carry. */
const csrfToken = () => {
  for (const cookie of document.cookie.split('; '))
    if (cookie.startsWith('_csrf=')) return decodeURIComponent(cookie.slice(6))
  return undefined
}

/** @param {string} text @returns {any} */
const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the refusal that an answer carries. @param {Response} reply */
export const refusalOf = async (reply) => {
  const text = await reply.text()
  const json = parsed(text) ?? {}
  const message =
    typeof json.message === 'string' && json.message !== ''
      ? json.message
      : fill(texts.client.noMessage, { status: reply.status })
  return new ApiError(reply.status, message, {
    code: typeof json.code === 'string' ? json.code : '',
    errors: Array.isArray(json.errors) ? json.errors.map(String) : [],
    requestId: typeof json.requestId === 'string' ? json.requestId : '',
  })
}

/** @param {string | null} link */
const nextOf = (link) => {
  const found = /<[^>]*\?([^>]*)>;\s*rel="next"/.exec(link ?? '')
  return found?.[1]
}

/** @param {string} template @param {Record<string, string | number>} [values] */
const filled = (template, values = {}) =>
  template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name] ?? '')))

/** @param {Record<string, unknown>} [query] */
const queryText = (query = {}) => {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') words.set(name, String(value))
  const text = words.toString()
  return text === '' ? '' : `?${text}`
}

/** Returns a key that no other request has. `randomUUID` does not exist on plain http. */
export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Reports whether a 401 is about the session, and not that of a cluster, or of a password that was asked for again. */
const hasSessionEnded = async () => {
  const reply = await fetch(`${api}/user`, { cache: 'no-store', headers: { Accept: 'application/json' } }).catch(
    () => undefined,
  )
  return reply?.status === 401
}

/** Resolves when the user has signed in again. */
const signedInAgain = () =>
  new Promise((resolve) => {
    const stop = isSignedOut.subscribe((isOut) => {
      if (!isOut) queueMicrotask(() => (stop(), resolve(undefined)))
    })
  })

/**
 * Sends a request below the root of the API. A 401 opens the dialog that asks to sign in again, and the request is sent
 * once more afterwards: what was typed stays. A change that got no answer may be sent again with the same key.
 *
 * @param {string} method
 * @param {string} path with its query
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, waitsForSignIn?: boolean }} [options]
 * @returns {Promise<Response>}
 */
export const send = async (method, path, options = {}) => {
  const { body, headers = {}, signal: aborted, waitsForSignIn = true } = options
  /** @type {Record<string, string>} */
  const all = { Accept: 'application/json', ...headers }
  const token = csrfToken()
  if (token !== undefined) all['X-Csrf-Token'] = token
  if (body !== undefined) all['Content-Type'] = 'application/json'
  /** @type {Response} */
  let reply
  try {
    reply = await fetch(api + path, {
      method,
      headers: all,
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(aborted === undefined ? {} : { signal: aborted }),
    })
  } catch (error) {
    if (aborted?.aborted === true) throw error
    isOffline.value = true
    throw new ApiError(0, method === 'GET' ? texts.client.noAnswer : texts.client.noAnswerToChange)
  }
  isOffline.value = false
  if (reply.status === 401 && waitsForSignIn && (await hasSessionEnded())) {
    isSignedOut.value = true
    await signedInAgain()
    return send(method, path, options)
  }
  return reply
}

/**
 * Calls a route of the API. Rejects with `ApiError` if it is refused.
 *
 * @template {Method} M
 * @template {PathOf<M>} P
 * @param {M} method
 * @param {P} path
 * @param {Input<M, P>} input
 * @returns {Promise<Answer<Output<M, P>>>}
 */
export const call = async (method, path, input) => {
  /** @type {{ path?: Record<string, string | number>, query?: Record<string, unknown>, body?: unknown, ifMatch?: string, signal?: AbortSignal, idempotencyKey?: string }} */
  const { path: values, query, body, ifMatch, signal: aborted, idempotencyKey } = /** @type {any} */ (input)
  /** @type {Record<string, string>} */
  const headers = {}
  if (ifMatch !== undefined) headers['If-Match'] = ifMatch
  if (method !== 'get') headers['Idempotency-Key'] = idempotencyKey ?? newKey()
  const reply = await send(method.toUpperCase(), filled(path, values) + queryText(query), {
    body,
    headers,
    ...(aborted === undefined ? {} : { signal: aborted }),
  })
  // The question about rights is no change: after its refusal it would be asked again and again.
  if (reply.status === 403 && method !== 'get' && path !== rightsPath) refusals.value++
  if (!reply.ok) throw await refusalOf(reply)
  const text = await reply.text()
  const total = reply.headers.get('X-Total-Count')
  return {
    data: text === '' ? undefined : parsed(text),
    etag: reply.headers.get('ETag') ?? undefined,
    total: total === null ? undefined : Number(total),
    next: nextOf(reply.headers.get('Link')),
  }
}

/**
 * @template {PathOf<'get'>} P
 * @param {P} path
 * @param {Input<'get', P>} input
 */
export const get = (path, input) => call('get', path, input)
