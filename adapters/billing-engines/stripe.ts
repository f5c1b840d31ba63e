import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { UsageRecord, UsageSink } from '../../core/rating/sinks/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { EngineAnswer } from './engine-request.ts'
import { nothingSent, postToEngine, reasonOf, resultLater, sendInOrder } from './engine-request.ts'

const apiVersion = '2025-04-30.basil'

const Refusal = t.type({ error: t.partial({ code: t.string, message: t.string }) })

/** A repeated identifier is refused. Some answers say so in the message only. */
const isKnownAlready = ({ status, text }: EngineAnswer): boolean => {
  if (status !== 400) return false
  try {
    const decoded = Refusal.decode(JSON.parse(text))
    if (isLeft(decoded)) return false
    const { code, message = '' } = decoded.right.error
    return code === 'duplicate_meter_event' || /already exists with identifier/i.test(message)
  } catch {
    return false
  }
}

const formOf = ({ ref, externalId, meter, value, datedAt }: UsageRecord): string =>
  new URLSearchParams({
    event_name: meter,
    'payload[stripe_customer_id]': externalId,
    'payload[value]': value,
    identifier: ref,
    timestamp: String(Math.floor(datedAt.getTime() / 1000)),
  }).toString()

/**
 * Meter events of Stripe, one a request. No Idempotency-Key is sent: Stripe would answer with the stored failure of an
 * earlier attempt, and the identifier does the same.
 */
export const makeStripe = (fetch: GuardedFetch): UsageSink => ({
  batch: 20,
  // Both are an hour less than the interface says, for a request on its way and for clocks that differ.
  knowsIdsSeconds: 23 * 3600,
  oldestSeconds: 35 * 86_400 - 3600,
  send: (to, records, signal) => {
    const end = AbortSignal.any([signal, AbortSignal.timeout(60_000)])
    return sendInOrder(records, async (each) => {
      const posted = await postToEngine(
        fetch,
        {
          url: `${to.address}/v1/billing/meter_events`,
          key: to.key,
          contentType: 'application/x-www-form-urlencoded',
          body: formOf(each),
          headers: { 'stripe-version': apiVersion },
        },
        end,
      )
      if ('later' in posted) return resultLater(posted.later, [each.ref])
      const { answer } = posted
      if (answer.status < 300 || isKnownAlready(answer)) return { ...nothingSent, accepted: [each.ref] }
      return { ...nothingSent, refused: new Map([[each.ref, reasonOf(answer)]]) }
    })
  },
})
