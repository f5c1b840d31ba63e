import { Agent, request, type Dispatcher } from 'undici'
import type { UserUrlPolicy } from './egress-policy.ts'
import { EgressRefused, notReached } from './egress-policy.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { Reading, ReadingBudgets } from './reading-budgets.ts'
import { makeReadingBudgets, OverBudget } from './reading-budgets.ts'

/** Secrets sent to one origin only: a redirect to another origin does not get them. PEM texts. */
export interface OriginSecrets {
  readonly authorization?: string
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: string
}

export interface GuardedRequest {
  readonly url: URL
  /** What is sent by POST. A redirect of such a request is its answer: it is not followed. By default GET is sent. */
  readonly post?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly secrets?: OriginSecrets
  /** The origin of the secrets; the origin of the request by default. */
  readonly secretsOrigin?: string
  /** The maximum number of bytes that are read of the answer. */
  readonly limitBytes: number
  /** A larger answer is cut. By default it is refused. */
  readonly isCut?: boolean
  /** For the whole request, including redirects. */
  readonly timeoutMilliseconds?: number
}

export interface GuardedAnswer {
  readonly status: number
  /** By lower-case name; repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The URL after redirects. */
  readonly url: URL
  /**
   * Called when the bytes are no longer kept. Until then, or until the end of the surrounding request, they count for
   * its account.
   */
  readonly release?: () => void
}

/**
 * The server did not answer, or not within the limits. The message is for people and repeats nothing of the request.
 */
export class FetchFailed extends Error {}
/** No server answered. For the caller this is the same as a refused address. */
export class NotReached extends FetchFailed {}

/** Requests URLs that users entered. Throws EgressRefused and FetchFailed. */
export type GuardedFetch = (what: GuardedRequest, signal: AbortSignal) => Promise<GuardedAnswer>

const maxRedirects = 3
const defaultTimeoutMilliseconds = 30_000
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const headersOf = (headers: Dispatcher.ResponseData['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

const causes = (error: unknown): readonly unknown[] => {
  const found: unknown[] = []
  for (let at = error; at instanceof Error && found.length < 8; at = at.cause) {
    found.push(at)
    if (at instanceof AggregateError) found.push(...(at.errors as readonly unknown[]))
  }
  return found
}

const codeOf = (error: unknown): string => {
  const codes = causes(error).map((each) => (each as { readonly code?: unknown }).code)
  return codes.find((code): code is string => typeof code === 'string') ?? ''
}

/** Returns what is wrong with a certificate; undefined for an error that is about none. */
const certificateProblem = (code: string): string | undefined => {
  if (code === 'CERT_HAS_EXPIRED') return 'has expired'
  if (code === 'CERT_NOT_YET_VALID') return 'is not valid yet'
  return /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code) ? 'is not trusted' : undefined
}

const failedAt = (error: unknown, host: string): FetchFailed => {
  const problem = certificateProblem(codeOf(error))
  return problem === undefined
    ? new NotReached(notReached(host), { cause: error })
    : new FetchFailed(`The certificate of ${host} ${problem}.`, { cause: error })
}

const joined = (parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const readBody = async (
  body: Dispatcher.ResponseData['body'],
  { limitBytes, isCut = false }: Pick<GuardedRequest, 'limitBytes' | 'isCut'>,
  reading: Reading,
): Promise<Uint8Array<ArrayBuffer>> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Uint8Array>) {
    if (isCut && size + part.length >= limitBytes) {
      const rest = part.subarray(0, limitBytes - size)
      return joined([...parts, rest], size + rest.length)
    }
    size += part.length
    if (size > limitBytes)
      throw new FetchFailed(`The answer is larger than ${Math.round(limitBytes / 1024 / 1024)} MiB.`)
    reading.take(part.length)
    parts.push(part)
  }
  return joined(parts, size)
}

interface Hop {
  readonly answer: GuardedAnswer
  readonly next: URL | undefined
}

/** Returns an agent for a single request: no connection is kept that another caller's request could use. */
const agentFor = (url: URL, policy: UserUrlPolicy, secrets: OriginSecrets): Agent => {
  const { authorityPem, certificatePem, keyPem } = secrets
  const tls = {
    ...definedFields({ ca: authorityPem }),
    ...(certificatePem === undefined || keyPem === undefined ? {} : { cert: certificatePem, key: keyPem }),
  }
  return new Agent({
    connect: { ...tls, lookup: policy.lookupFor(url), timeout: 5_000 },
    connections: 1,
    headersTimeout: 15_000,
    bodyTimeout: 15_000,
    maxHeaderSize: 32 * 1024,
  })
}

const hop = async (
  policy: UserUrlPolicy,
  reading: Reading,
  url: URL,
  what: GuardedRequest,
  signal: AbortSignal,
): Promise<Hop> => {
  const isOwn = url.origin === (what.secretsOrigin ?? what.url.origin)
  const secrets = isOwn ? (what.secrets ?? {}) : {}
  const agent = agentFor(url, policy, secrets)
  try {
    const answer = await request(url, {
      dispatcher: agent,
      method: what.post === undefined ? 'GET' : 'POST',
      ...definedFields({ body: what.post }),
      signal,
      headers: {
        'user-agent': 'moorage',
        'accept-encoding': 'identity',
        ...what.headers,
        ...definedFields({ authorization: secrets.authorization }),
      },
    })
    const headers = headersOf(answer.headers)
    const location = headers['location']
    const next =
      what.post === undefined &&
      redirects.has(answer.statusCode) &&
      location !== undefined &&
      URL.canParse(location, url.href)
        ? new URL(location, url.href)
        : undefined
    if (next !== undefined)
      return { next, answer: { status: answer.statusCode, headers, bytes: new Uint8Array(), url } }
    return {
      next,
      answer: { status: answer.statusCode, headers, bytes: await readBody(answer.body, what, reading), url },
    }
  } finally {
    await agent.destroy()
  }
}

/** Returns what a failed request is for its caller. */
const asFetchError = (error: unknown, host: string, isLate: boolean): Error => {
  const refusal = causes(error).find((each) => each instanceof EgressRefused)
  if (refusal !== undefined) return refusal
  if (error instanceof OverBudget) return new FetchFailed(`${host} ${error.message}`, { cause: error })
  if (error instanceof FetchFailed) return error
  return isLate ? new FetchFailed(`${host} did not answer in time.`, { cause: error }) : failedAt(error, host)
}

/**
 * Ignores proxies of the environment. Each redirect is checked like the first address.
 * @param budgets those of the service; by default this client has its own.
 */
export const makeGuardedFetch = (
  policy: UserUrlPolicy,
  budgets: ReadingBudgets = makeReadingBudgets(),
): GuardedFetch => {
  const follow = async (what: GuardedRequest, reading: Reading, signal: AbortSignal): Promise<GuardedAnswer> => {
    let url = what.url
    for (let at = 0; at <= maxRedirects; at += 1) {
      const refused = policy.refusal(url)
      if (refused !== undefined) throw new EgressRefused(refused)
      try {
        const { answer, next } = await hop(policy, reading, url, what, signal)
        if (next === undefined) return answer
        url = next
      } catch (error) {
        throw asFetchError(error, url.hostname, signal.aborted)
      }
    }
    throw new FetchFailed(`${what.url.hostname} redirects more than ${maxRedirects} times.`)
  }

  return async (what, signal) => {
    const reading = openFor(budgets, what.url)
    try {
      const answer = await follow(
        what,
        reading,
        AbortSignal.any([signal, AbortSignal.timeout(what.timeoutMilliseconds ?? defaultTimeoutMilliseconds)]),
      )
      return { ...answer, release: reading.keep() }
    } catch (error) {
      reading.end()
      throw error
    }
  }
}

const openFor = (budgets: ReadingBudgets, { hostname }: URL): Reading => {
  try {
    return budgets.open()
  } catch (error) {
    throw asFetchError(error, hostname, false)
  }
}
