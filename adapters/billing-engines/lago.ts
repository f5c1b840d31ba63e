import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { SendResult, UsageRecord, UsageSink } from '../../core/rating/sinks/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { nothingSent, postToEngine, reasonOf, resultLater, sendInOrder } from './engine-request.ts'

/** The errors of a batch by the position of the event. A batch with an error is not stored at all. */
const Refusal = t.type({ error_details: t.record(t.string, t.record(t.string, t.array(t.string))) })

const eventOf = ({
  ref,
  externalId,
  meter,
  value,
  datedAt,
  contractId,
  product,
  measure,
  use,
  month,
}: UsageRecord) => ({
  transaction_id: ref,
  external_subscription_id: externalId,
  code: meter,
  timestamp: Math.floor(datedAt.getTime() / 1000),
  properties: { value, contract_id: contractId, product, measure, use, month },
})

const isKnownAlready = (errors: Readonly<Record<string, readonly string[]>>): boolean =>
  Object.keys(errors).length === 1 &&
  errors['transaction_id']?.length === 1 &&
  errors['transaction_id'][0] === 'value_already_exist'

const errorsIn = (text: string): Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> => {
  try {
    const decoded = Refusal.decode(JSON.parse(text))
    return isLeft(decoded) ? {} : decoded.right.error_details
  } catch {
    return {}
  }
}

/** Lago. It keeps the ids of events of a subscription for ever. */
export const makeLago = (fetch: GuardedFetch): UsageSink => {
  const send: UsageSink['send'] = async (to, records, signal): Promise<SendResult> => {
    const refs = records.map(({ ref }) => ref)
    const posted = await postToEngine(
      fetch,
      {
        url: `${to.address}/api/v1/events/batch`,
        key: to.key,
        contentType: 'application/json',
        body: toWireJson({ events: records.map(eventOf) }),
      },
      signal,
    )
    if ('later' in posted) return resultLater(posted.later, refs)
    const { answer } = posted
    if (answer.status < 300) return { ...nothingSent, accepted: refs }
    const errors = errorsIn(answer.text)
    const named = records.flatMap(({ ref }, index) => {
      const error = errors[String(index)]
      return error === undefined ? [] : [{ ref, error }]
    })
    if (named.length === 0) {
      if (records.length === 1) return { ...nothingSent, refused: new Map(refs.map((ref) => [ref, reasonOf(answer)])) }
      return sendInOrder(records, (each) => send(to, [each], signal))
    }
    const isNamed = new Set(named.map(({ ref }) => ref))
    const rest = records.filter(({ ref }) => !isNamed.has(ref))
    const about: SendResult = {
      accepted: named.filter(({ error }) => isKnownAlready(error)).map(({ ref }) => ref),
      refused: new Map(
        named
          .filter(({ error }) => !isKnownAlready(error))
          .map(({ ref, error }) => [ref, reasonOf({ ...answer, text: toWireJson(error) })]),
      ),
      later: undefined,
    }
    return sendInOrder(
      [about, undefined],
      async (part) => part ?? (rest.length === 0 ? nothingSent : send(to, rest, signal)),
    )
  }
  return { batch: 100, knowsIdsSeconds: undefined, oldestSeconds: undefined, send }
}
