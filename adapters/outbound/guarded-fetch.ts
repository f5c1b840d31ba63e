import { Agent, request, type Dispatcher } from 'undici'
import type { UserUrlPolicy } from './egress-policy.ts'
import { EgressRefused, notReached } from './egress-policy.ts'
import { definedFields } from '../../core/kernel/json.ts'

/** Secrets sent to one origin only: a redirect to another origin does not get them. PEM texts. */
export interface OriginSecrets {
  readonly authorization?: string
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: string
}

export interface GuardedRequest {
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  readonly secrets?: OriginSecrets
  /** The origin of the secrets; the origin of the request by default. */
  readonly secretsOrigin?: string
  /** The maximum number of bytes that are read of the answer. */
  readonly limitBytes: number
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
}

/** The server did not answer, or not within the limits. The message is for people and repeats nothing of the request. */
export class FetchFailed extends Error {}
/** No server answered. For the caller this is the same as a refused address. */
export class NotReached extends FetchFailed {}

/** Requests URLs that users entered. Throws EgressRefused and FetchFailed. */
export type GuardedFetch = (what: GuardedRequest, signal: AbortSignal) => Promise<GuardedAnswer>

const maxRedirects = 3
const defaultTimeoutMilliseconds = 30_000
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const headersOf = (headers: Dispatcher.ResponseData['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]])))

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

const failedAt = (error: unknown, host: string): FetchFailed =>
  /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(codeOf(error))
    ? new FetchFailed(`The certificate of ${host} is not trusted.`, { cause: error })
    : new NotReached(notReached(host), { cause: error })

const readBody = async (body: Dispatcher.ResponseData['body'], limitBytes: number): Promise<Uint8Array<ArrayBuffer>> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > limitBytes) throw new FetchFailed(`The answer is larger than ${Math.round(limitBytes / 1024 / 1024)} MiB.`)
    parts.push(part)
  }
  return new Uint8Array(Buffer.concat(parts))
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
  return new Agent({ connect: { ...tls, lookup: policy.lookupFor(url), timeout: 5_000 }, connections: 1, headersTimeout: 15_000, bodyTimeout: 15_000, maxHeaderSize: 32 * 1024 })
}

const hop = async (policy: UserUrlPolicy, url: URL, what: GuardedRequest, signal: AbortSignal): Promise<Hop> => {
  const isOwn = url.origin === (what.secretsOrigin ?? what.url.origin)
  const secrets = isOwn ? (what.secrets ?? {}) : {}
  const agent = agentFor(url, policy, secrets)
  try {
    const answer = await request(url, {
      dispatcher: agent,
      method: 'GET',
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
    const next = redirects.has(answer.statusCode) && location !== undefined && URL.canParse(location, url.href) ? new URL(location, url.href) : undefined
    if (next !== undefined) return { next, answer: { status: answer.statusCode, headers, bytes: new Uint8Array(), url } }
    return { next, answer: { status: answer.statusCode, headers, bytes: await readBody(answer.body, what.limitBytes), url } }
  } finally {
    await agent.destroy()
  }
}

/** Ignores proxies of the environment. Each redirect is checked like the first address. */
export const makeGuardedFetch = (policy: UserUrlPolicy): GuardedFetch => async (what, signal) => {
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(what.timeoutMilliseconds ?? defaultTimeoutMilliseconds)])
  let url = what.url
  for (let at = 0; at <= maxRedirects; at += 1) {
    const refused = policy.refusal(url)
    if (refused !== undefined) throw new EgressRefused(refused)
    try {
      const { answer, next } = await hop(policy, url, what, stopped)
      if (next === undefined) return answer
      url = next
    } catch (error) {
      const refusal = causes(error).find((each) => each instanceof EgressRefused)
      if (refusal !== undefined) throw refusal
      if (error instanceof FetchFailed) throw error
      if (stopped.aborted) throw new FetchFailed(`${url.hostname} did not answer in time.`, { cause: error })
      throw failedAt(error, url.hostname)
    }
  }
  throw new FetchFailed(`${what.url.hostname} redirects more than ${maxRedirects} times.`)
}
