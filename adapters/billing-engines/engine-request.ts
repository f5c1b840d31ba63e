import { definedFields } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { SendResult } from '../../core/rating/sinks/ports.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'

export interface EngineAnswer {
  readonly status: number
  readonly text: string
}
type Later = Omit<NonNullable<SendResult['later']>, 'unsure'> & { readonly mayHaveArrived: boolean }

const limitBytes = 1024 * 1024
const timeoutMilliseconds = 25_000

/** Errors before the first byte was sent. */
const unsentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

const isUnsent = (error: unknown): boolean => {
  let at = error
  for (let depth = 0; at instanceof Error && depth < 8; depth += 1) {
    if (at instanceof EgressRefused || unsentCodes.has(String((at as { readonly code?: unknown }).code))) return true
    at = at.cause
  }
  return false
}

type Headers = Readonly<Record<string, string>>

/** A date is compared with the engine's own clock. */
const retryAfterOf = ({ 'retry-after': text, date }: Headers): number => {
  if (text === undefined) return 0
  const isSeconds = /^\d{1,6}$/.test(text)
  const seconds = isSeconds ? Number(text) : Math.ceil((Date.parse(text) - Date.parse(date ?? '')) / 1000)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 86_400) : 0
}

/** Why a batch is sent later, if the status says so. It is not the fault of its events. */
const laterOf = (status: number, headers: Headers): Later | undefined => {
  const at = { retryAfterSeconds: retryAfterOf(headers), mayHaveArrived: false }
  if (status === 401 || status === 403) return { ...at, reason: `The engine refused the key (status ${status}).` }
  if (status === 404 || status === 405)
    return { ...at, reason: `The address has no such interface (status ${status}).` }
  if (status === 409 || status === 429) return { ...at, reason: `The engine wants it later (status ${status}).` }
  if (status >= 500 || status === 408)
    return { ...at, reason: `The engine failed (status ${status}).`, mayHaveArrived: true }
  if (status >= 300 && status < 400) return { ...at, reason: `The address redirects (status ${status}).` }
  return undefined
}

export interface EngineRequest {
  readonly url: string
  readonly key: Secret
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Posts to an engine. Returns its answer if that is about the events, and why to try later otherwise. */
export const postToEngine = async (
  fetch: GuardedFetch,
  { url, key, contentType, body, headers }: EngineRequest,
  signal: AbortSignal,
): Promise<{ readonly answer: EngineAnswer } | { readonly later: Later }> => {
  try {
    const {
      status,
      bytes,
      headers: received,
      release,
    } = await fetch(
      {
        url: new URL(url),
        post: body,
        headers: { 'content-type': contentType, accept: 'application/json', ...definedFields({ ...headers }) },
        secrets: { authorization: `Bearer ${key.reveal()}` },
        limitBytes,
        timeoutMilliseconds,
      },
      signal,
    )
    const text = new TextDecoder().decode(bytes)
    release?.()
    const later = laterOf(status, received)
    return later === undefined ? { answer: { status, text } } : { later }
  } catch (error) {
    if (!(error instanceof FetchFailed || error instanceof EgressRefused)) throw error
    return { later: { reason: error.message, retryAfterSeconds: 0, mayHaveArrived: !isUnsent(error) } }
  }
}

export const resultLater = ({ mayHaveArrived, ...later }: Later, refs: readonly string[]): SendResult => ({
  accepted: [],
  refused: new Map(),
  later: { ...later, unsure: mayHaveArrived ? refs : [] },
})

const joinedWith = (a: SendResult, b: SendResult): SendResult => ({
  accepted: [...a.accepted, ...b.accepted],
  refused: new Map([...a.refused, ...b.refused]),
  later: b.later,
})

export const nothingSent: SendResult = { accepted: [], refused: new Map(), later: undefined }

/** Sends parts one after the other, until one is to be sent later. */
export const sendInOrder = async <P>(
  parts: readonly P[],
  send: (part: P) => Promise<SendResult>,
): Promise<SendResult> => {
  let result = nothingSent
  for (const part of parts) {
    result = joinedWith(result, await send(part))
    if (result.later !== undefined) break
  }
  return result
}

const mostReason = 500

/** Returns why an engine refused an event, as far as it said so, within what is stored. */
export const reasonOf = ({ status, text }: EngineAnswer): string =>
  `Status ${status}: ${text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').trim()}`.slice(0, mostReason)
