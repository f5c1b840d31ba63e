import { toWireJson } from '../../core/kernel/json.ts'
import type { SendResult, UsageRecord, UsageSink } from '../../core/rating/sinks/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { nothingSent, postToEngine, reasonOf, resultLater, sendInOrder } from './engine-request.ts'

/** A CloudEvent. OpenMeter detects a repeated one by its id and source. */
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
  specversion: '1.0',
  id: ref,
  source: 'moorage',
  type: meter,
  subject: externalId,
  time: datedAt.toISOString(),
  datacontenttype: 'application/json',
  data: { value, contractID: contractId, product, measure, use, month },
})

/** OpenMeter. A bad event refuses the whole batch, whose events are then sent one by one. */
export const makeOpenMeter = (fetch: GuardedFetch): UsageSink => {
  const send: UsageSink['send'] = async (to, records, signal): Promise<SendResult> => {
    const refs = records.map(({ ref }) => ref)
    const posted = await postToEngine(
      fetch,
      {
        url: `${to.address}/api/v1/events`,
        key: to.key,
        contentType: 'application/cloudevents-batch+json',
        body: toWireJson(records.map(eventOf)),
      },
      signal,
    )
    if ('later' in posted) return resultLater(posted.later, refs)
    const { answer } = posted
    if (answer.status < 300) return { ...nothingSent, accepted: refs }
    if (records.length > 1) return sendInOrder(records, (each) => send(to, [each], signal))
    return { ...nothingSent, refused: new Map(refs.map((ref) => [ref, reasonOf(answer)])) }
  }
  // By default it keeps ids for a day; the hour less is for a request on its way.
  return { batch: 100, knowsIdsSeconds: 23 * 3600, oldestSeconds: undefined, send }
}
