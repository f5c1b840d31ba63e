import { LRUCache } from 'lru-cache'
import { networkOf } from '../../../../adapters/system/allowances.ts'
import type { Topic } from '../../../part/boot.ts'
import type { Refusal } from '../failure-response.ts'
import { refusal } from '../failure-response.ts'
import type { RequestContext } from './request-context.ts'

/** The bucket of one caller. It is refilled continuously, and each request takes one token. */
interface Bucket {
  tokens: number
  atMs: number
}

export interface RateDecision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Seconds until the bucket is full; on refusal, until one request is allowed. */
  readonly resetSeconds: number
}

/**
 * Above this number the least recently used buckets are dropped. A dropped bucket starts full, which only favours the
 * caller.
 */
const maxBuckets = 50_000

/** What callers spent in this process since the last message, by key. */
export type Spent = Readonly<Record<string, number>>

/** How long a process collects what its callers spend before it tells the others of the instance. */
const toldEveryMs = 10
/** A message is sent earlier if it names this many callers. */
const toldCallers = 1_000

/** Returns a function that notes a request, and tells the other processes soon. */
const makeTelling = ({ send }: Pick<Topic<Spent>, 'send'>): ((key: string) => void) => {
  const spent = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  const tell = (): void => {
    clearTimeout(timer)
    timer = undefined
    send(Object.fromEntries(spent))
    spent.clear()
  }
  return (key) => {
    spent.set(key, (spent.get(key) ?? 0) + 1)
    if (spent.size >= toldCallers) tell()
    else timer ??= setTimeout(tell, toldEveryMs).unref()
  }
}

/**
 * Returns a rate limit with a token bucket for each caller: the configured limit is per instance
 * (docs/decisions/rate-limits.md). The processes of an instance tell `others` what their callers spend.
 */
export const makeRateLimit = (
  perMinute: number,
  nowMs: () => number,
  others?: Topic<Spent>,
): ((key: string) => RateDecision) | undefined => {
  if (perMinute <= 0) return undefined
  const perMs = perMinute / 60_000
  const buckets = new LRUCache<string, Bucket>({ max: maxBuckets })
  const bucketOf = (key: string): Bucket => {
    const now = nowMs()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: perMinute, atMs: now }
      buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(perMinute, bucket.tokens + (now - bucket.atMs) * perMs)
    bucket.atMs = now
    return bucket
  }
  const tell = others === undefined ? undefined : makeTelling(others)
  others?.onMessage((spent) => {
    for (const [key, count] of Object.entries(spent)) {
      const bucket = bucketOf(key)
      // Below zero, so that requests that several processes took at the same moment count as well.
      bucket.tokens = Math.max(-perMinute, bucket.tokens - count)
    }
  })
  return (key) => {
    const bucket = bucketOf(key)
    const allowed = bucket.tokens >= 1
    if (allowed) {
      bucket.tokens -= 1
      tell?.(key)
    }
    const missing = allowed ? perMinute - bucket.tokens : 1 - bucket.tokens
    return {
      allowed,
      limit: perMinute,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      resetSeconds: Math.ceil(missing / perMs / 1000),
    }
  }
}

/**
 * Takes one request from the caller's rate. Returns the headers with the remaining rate, and the refusal when none
 * remains.
 */
export const spendRate = (
  rateLimit: ReturnType<typeof makeRateLimit>,
  context: RequestContext,
): { readonly headers: Readonly<Record<string, string>>; readonly refused: Refusal | undefined } => {
  const decision = rateLimit?.(
    context.principal === undefined ? `ip:${networkOf(context.sourceIp)}` : `user:${context.principal.userId}`,
  )
  if (decision === undefined) return { headers: {}, refused: undefined }
  const { allowed, limit, remaining, resetSeconds } = decision
  const headers = {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  }
  if (allowed) return { headers, refused: undefined }
  const aliases = Object.fromEntries(Object.entries(headers).map(([name, value]) => [`X-${name}`, value]))
  return {
    headers,
    refused: refusal(429, 'RateLimited', 'Too many requests; wait and try again.', {
      headers: { ...headers, ...aliases, 'Retry-After': String(resetSeconds) },
    }),
  }
}

/**
 * Spends one request of the rate for a request that was refused before its caller was known, so that guessing
 * credentials is limited.
 */
export const spendRefused = (
  rateLimit: ReturnType<typeof makeRateLimit>,
  context: RequestContext,
  refused: Refusal,
): Refusal => spendRate(rateLimit, context).refused ?? refused
