import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { makeListDeliveries, makeRedeliver, makeShowDelivery, makeTestWebhook } from '../../core/webhooks/deliveries.ts'
import {
  DeliveryQueuePort,
  EventSourcePort,
  WebhookStorePort,
  WebhookUnitOfWorkPort,
} from '../../core/webhooks/ports.ts'
import { WebhookSecretsPort } from '../../core/webhooks/secrets.ts'
import type { Delivery, Webhook, WebhookContent } from '../../core/webhooks/types.ts'
import type { CreatedWebhook } from '../../core/webhooks/webhooks.ts'
import {
  makeChangeWebhook,
  makeCreateWebhook,
  makeListWebhooks,
  makeRemoveWebhook,
  makeRotateWebhookSecret,
  makeShowWebhook,
} from '../../core/webhooks/webhooks.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  changeOrgWebhook,
  changeSiteWebhook,
  createOrgWebhook,
  createSiteWebhook,
  getOrgDelivery,
  getOrgWebhook,
  getSiteDelivery,
  getSiteWebhook,
  listOrgDeliveries,
  listOrgWebhooks,
  listSiteDeliveries,
  listSiteWebhooks,
  redeliverOrgDelivery,
  redeliverSiteDelivery,
  removeOrgWebhook,
  removeSiteWebhook,
  rotateOrgWebhookSecret,
  rotateSiteWebhookSecret,
  testOrgWebhook,
  testSiteWebhook,
} from './webhooks.routes.ts'

const needs = {
  clock: ClockPort,
  deliveries: DeliveryQueuePort,
  entropy: EntropyPort,
  secrets: WebhookSecretsPort,
  source: EventSourcePort,
  unitOfWork: WebhookUnitOfWorkPort,
  webhooks: WebhookStorePort,
} as const

const webhookWire = (webhook: Webhook) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  format: webhook.format,
  is_enabled: webhook.isEnabled,
  disabled_reason: webhook.disabledReason,
  failures: webhook.failures,
  failing_since: webhook.failingSince,
  former_secret_until: webhook.formerUntil,
  created_at: webhook.createdAt,
  updated_at: webhook.updatedAt,
})

interface SentWebhook extends Partial<Omit<WebhookContent, 'isEnabled'>> {
  readonly is_enabled?: boolean | undefined
}

const formOf = (sent: { readonly [K in keyof SentWebhook]: SentWebhook[K] | undefined }) => ({
  name: sent.name,
  url: sent.url,
  events: sent.events,
  format: sent.format,
  isEnabled: sent.is_enabled,
})

const summaryWire = (delivery: Delivery) => ({
  id: delivery.id,
  event_id: delivery.eventId,
  event_type: delivery.eventType,
  state: delivery.state,
  attempts: delivery.attempts,
  response_status: delivery.status ?? 0,
  problem: delivery.problem,
  duration_ms: delivery.durationMs,
  due_at: delivery.dueAt,
  attempted_at: delivery.attemptedAt,
  created_at: delivery.createdAt,
})

const shown = { reply: webhookWire }
const made = {
  reply: ({ webhook, secret }: CreatedWebhook) => ({ ...webhookWire(webhook), secret: secret.reveal() }),
}
const deliveryWire = {
  reply: (delivery: Delivery) => ({
    ...summaryWire(delivery),
    request_body: delivery.body,
    response_body: delivery.answer,
  }),
}
const tested = { reply: (eventId: string) => ({ event_id: eventId }) }

/** The webhooks of organizations. */
export const orgWebhookGroup = defineGroup({
  needs,
  routes: (given) => [
    handle(listOrgWebhooks, makeListWebhooks(given), {
      input: ({ grant, page }) => ({ owner: orgOf(grant), page }),
      ...shown,
    }),
    handle(createOrgWebhook, makeCreateWebhook(given), {
      input: ({ grant, body }) => ({ owner: orgOf(grant), form: formOf(body) }),
      ...made,
    }),
    handle(getOrgWebhook, makeShowWebhook(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
      ...shown,
    }),
    handle(changeOrgWebhook, makeChangeWebhook(given), {
      input: ({ grant, params, body }) => ({ owner: orgOf(grant), id: params.id, form: formOf(body) }),
      ...shown,
    }),
    handle(removeOrgWebhook, makeRemoveWebhook(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
    }),
    handle(rotateOrgWebhookSecret, makeRotateWebhookSecret(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
      ...made,
    }),
    handle(testOrgWebhook, makeTestWebhook(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
      ...tested,
    }),
    handle(listOrgDeliveries, makeListDeliveries(given), {
      input: ({ grant, params, page }) => ({ owner: orgOf(grant), id: params.id, page }),
      reply: summaryWire,
    }),
    handle(getOrgDelivery, makeShowDelivery(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id, deliveryId: params.delivery }),
      ...deliveryWire,
    }),
    handle(redeliverOrgDelivery, makeRedeliver(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id, deliveryId: params.delivery }),
    }),
  ],
})

/** The webhooks of the site. */
export const siteWebhookGroup = defineGroup({
  needs,
  routes: (given) => [
    handle(listSiteWebhooks, makeListWebhooks(given), { input: ({ page }) => ({ owner: undefined, page }), ...shown }),
    handle(createSiteWebhook, makeCreateWebhook(given), {
      input: ({ body }) => ({ owner: undefined, form: formOf(body) }),
      ...made,
    }),
    handle(getSiteWebhook, makeShowWebhook(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
      ...shown,
    }),
    handle(changeSiteWebhook, makeChangeWebhook(given), {
      input: ({ params, body }) => ({ owner: undefined, id: params.id, form: formOf(body) }),
      ...shown,
    }),
    handle(removeSiteWebhook, makeRemoveWebhook(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
    }),
    handle(rotateSiteWebhookSecret, makeRotateWebhookSecret(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
      ...made,
    }),
    handle(testSiteWebhook, makeTestWebhook(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
      ...tested,
    }),
    handle(listSiteDeliveries, makeListDeliveries(given), {
      input: ({ params, page }) => ({ owner: undefined, id: params.id, page }),
      reply: summaryWire,
    }),
    handle(getSiteDelivery, makeShowDelivery(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id, deliveryId: params.delivery }),
      ...deliveryWire,
    }),
    handle(redeliverSiteDelivery, makeRedeliver(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id, deliveryId: params.delivery }),
    }),
  ],
})
