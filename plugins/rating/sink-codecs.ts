import * as t from 'io-ts'
import type { SinkEventId } from '../../core/rating/sinks/ports.ts'
import { sinkKinds, waitingStates } from '../../core/rating/sinks/ports.ts'
import { measures } from '../../core/rating/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import {
  answer,
  described,
  freeText,
  Instant,
  naming,
  oneOf,
  optional,
  pathId,
  patternText,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { Month, Slug } from './codecs.ts'

const sinkName = described(naming(Slug, 'usage sink', 'name'), 'The name of the sink, in lower case.')
export const SinkPath = request({ sink: sinkName }, 'UsageSinkPath')
export const SinkEventPath = request(
  { sink: sinkName, eventID: described(pathId<SinkEventId>('usage sink event'), 'The id of the event.') },
  'UsageSinkEventPath',
)

const sinkFields = {
  kind: described(oneOf(...sinkKinds), 'The billing engine. It never changes.'),
  address: described(freeText(2000, 1), 'Where the engine is, such as https://api.stripe.com.'),
  from: described(Month, 'The first month that is sent.'),
  enabled: described(t.boolean, 'Whether usage is sent. What is due waits otherwise.'),
}
export const SinkInput = request(
  {
    ...sinkFields,
    key: described(
      optional(patternText(/^[\x21-\x7e]+$/, 1000, 'a key of visible ASCII characters')),
      'The API key, sealed and never shown. Without one, the present key is kept if the address stays.',
    ),
  },
  'UsageSinkInput',
)

const count = (what: string) => described(SafeInteger, what)
export const SinkAnswer = answer(
  {
    name: described(t.string, 'The name of the sink, in lower case.'),
    ...sinkFields,
    nextAttemptAt: described(Instant, 'Nothing is sent before.'),
    failures: count('Attempts that have failed since the last one that did not.'),
    lastError: described(t.string, 'Why the last attempt failed; empty if it did not.'),
    pending: count('Events that are sent next.'),
    unmapped: count('Events of accounts that have no customer at the engine.'),
    refused: count('Events that the engine does not accept.'),
    unknown: count('Events of which it is unknown whether the engine has them.'),
  },
  'UsageSink',
)

export const SinkCustomer = request(
  {
    externalID: described(
      patternText(/^[\x21-\x7e]+$/, 255, 'an id of visible ASCII characters'),
      'The customer at Stripe, the subject at OpenMeter, the external id of the subscription at Lago.',
    ),
  },
  'UsageSinkCustomer',
)

export const SinkEvent = answer(
  {
    id: described(SafeInteger, 'The id of the event.'),
    eventID: described(t.string, 'The id that the engine gets. It is the same at each attempt.'),
    account: described(t.string, 'The login of the account; empty if it is gone.'),
    month: described(Month, 'The month of the usage.'),
    revision: described(SafeInteger, 'The revision of the month.'),
    contractID: described(SafeInteger, 'The contract.'),
    product: described(oneOf(...usageProducts), 'The product.'),
    measure: described(oneOf(...measures), 'What was measured.'),
    use: described(oneOf('prod', 'non-prod'), 'In production, or other use.'),
    value: described(t.string, 'The quantity, or the difference of a new revision, with three decimals.'),
    state: described(
      oneOf(...waitingStates, 'sent'),
      '`unmapped`: the account has no customer. `pending`: it is sent next. `refused`: the engine does not accept it. ' +
        '`unknown`: the answer was lost, and the engine no longer detects a repeated event.',
    ),
    reason: described(t.string, 'Why it is held; may be empty.'),
    createdAt: described(Instant, 'When the event was made.'),
  },
  'UsageSinkEvent',
)

export const Resolution = request(
  {
    as: described(
      oneOf('sent', 'send-again'),
      '`sent`: the engine has it, or is not to get it. `send-again`: it is sent as if for the first time.',
    ),
  },
  'UsageSinkEventResolution',
)
