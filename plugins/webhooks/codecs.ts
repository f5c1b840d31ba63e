import * as t from 'io-ts'
import { eventTypes, everyType } from '../../core/webhooks/event-types.ts'
import type { WebhookDeliveryId, WebhookId } from '../../core/webhooks/types.ts'
import { deliveryStates, webhookFormats } from '../../core/webhooks/types.ts'
import {
  answer,
  described,
  freeText,
  FreeObjectCodec,
  Instant,
  listOf,
  oneOf,
  optional,
  OrgPathName,
  pathId,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

const webhookId = (object: string) => described(pathId<WebhookId>(object), 'The id of the webhook, from 1.')
const deliveryId = (object: string) => described(pathId<WebhookDeliveryId>(object), 'The id of the delivery, from 1.')

export const OrgWebhooksPath = request({ orgname: OrgPathName }, 'OrgWebhooksPath')
export const OrgWebhookPath = request(
  { orgname: OrgPathName, id: webhookId('webhook of an organization') },
  'OrgWebhookPath',
)
export const OrgDeliveryPath = request(
  {
    orgname: OrgPathName,
    id: webhookId('webhook of an organization'),
    delivery: deliveryId('delivery of a webhook of an organization'),
  },
  'OrgDeliveryPath',
)
export const SiteWebhookPath = request({ id: webhookId('webhook of the site') }, 'SiteWebhookPath')
export const SiteDeliveryPath = request(
  { id: webhookId('webhook of the site'), delivery: deliveryId('delivery of a webhook of the site') },
  'SiteDeliveryPath',
)

const fields = {
  name: described(freeText(100, 1), 'The name that people see.'),
  url: described(
    freeText(2_000, 1),
    'Where events are sent by POST: https, at a public address; or what the operator allows. Redirects are not followed.',
  ),
  events: described(
    listOf(oneOf(everyType, ...eventTypes.map(({ type }) => type)), 100, 1),
    'The event types that are sent, such as `role.created`; `*` for all.',
  ),
  format: described(
    oneOf(...webhookFormats),
    'The form of the body: `standard` for that of Standard Webhooks, `cloudevents` for CloudEvents 1.0 in structured JSON.',
  ),
  is_enabled: described(t.boolean, 'Whether events are recorded and sent.'),
}

export const WebhookOption = request(
  {
    name: fields.name,
    url: fields.url,
    events: described(optional(fields.events), 'The event types that are sent; `*`, all of them, by default.'),
    format: described(optional(fields.format), 'The form of the body; `standard` by default.'),
    is_enabled: described(optional(fields.is_enabled), 'Whether events are recorded and sent; true by default.'),
  },
  'WebhookOption',
)

export const WebhookChange = request(
  {
    name: described(optional(fields.name), 'The name that people see. Absent: unchanged.'),
    url: described(optional(fields.url), 'Where events are sent by POST. Absent: unchanged.'),
    events: described(optional(fields.events), 'The event types that are sent. Absent: unchanged.'),
    format: described(optional(fields.format), 'The form of the body. Absent: unchanged.'),
    is_enabled: described(optional(fields.is_enabled), 'Whether events are recorded and sent. Absent: unchanged.'),
  },
  'WebhookChange',
)

const webhookFields = {
  id: described(SafeInteger, 'The id, from 1.'),
  name: described(t.string, 'The name that people see.'),
  url: described(t.string, 'Where events are sent.'),
  events: described(t.readonlyArray(t.string), 'The event types that are sent; `*` stands for all.'),
  format: fields.format,
  is_enabled: fields.is_enabled,
  disabled_reason: described(t.string, 'Why the service disabled it; empty otherwise.'),
  failures: described(SafeInteger, 'Attempts that failed since the last success.'),
  failing_since: described(optional(Instant), 'When the first of them was made; absent if there is none.'),
  former_secret_until: described(optional(Instant), 'Until when the former secret signs too; absent if there is none.'),
  created_at: described(Instant, 'When it was created, RFC 3339 in UTC.'),
  updated_at: described(Instant, 'When it was changed, RFC 3339 in UTC.'),
}

export const WebhookAnswer = answer(webhookFields, 'Webhook')

export const CreatedWebhookAnswer = answer(
  {
    ...webhookFields,
    secret: described(t.string, 'The signing secret, `whsec_` and base64. It is never shown again.'),
  },
  'CreatedWebhook',
)

const summaryFields = {
  id: described(SafeInteger, 'The id, from 1.'),
  event_id: described(t.string, 'The id of the event, the same in each attempt: the header `webhook-id`.'),
  event_type: described(t.string, 'The event type.'),
  state: described(oneOf(...deliveryStates), 'Whether an attempt follows, one succeeded, or all have failed.'),
  attempts: described(SafeInteger, 'Attempts so far.'),
  response_status: described(SafeInteger, 'The status of the last answer; 0 if there was none.'),
  problem: described(t.string, 'Why the last attempt has no answer; empty otherwise.'),
  duration_ms: described(SafeInteger, 'How long the last attempt took, in milliseconds.'),
  due_at: described(optional(Instant), 'When the next attempt is due; absent if none follows.'),
  attempted_at: described(optional(Instant), 'When the last attempt ended; absent before the first.'),
  created_at: described(Instant, 'When the event was recorded for the webhook.'),
}

export const DeliverySummary = answer(summaryFields, 'WebhookDeliverySummary')

export const DeliveryAnswer = answer(
  {
    ...summaryFields,
    request_body: described(t.string, 'The body that is sent.'),
    response_body: described(t.string, 'The first 2,000 bytes of the last answer.'),
  },
  'WebhookDelivery',
)

export const TestEvent = answer({ event_id: described(t.string, 'The id of the event.') }, 'WebhookTestEvent')

export const EventTypeAnswer = answer(
  {
    type: described(t.string, 'The name, which filters and events have.'),
    summary: described(t.string, 'When such an event occurs.'),
    schema: described(FreeObjectCodec, 'The JSON Schema of the body in the format `standard`.'),
  },
  'WebhookEventType',
)
