import {
  DeliveryMissing,
  WebhookChanged,
  WebhookDisabled,
  WebhookMissing,
  WebhookRefused,
} from '../../core/webhooks/ports.ts'
import { path, requires, signedIn, siteAdmin } from '../kit/access.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  CreatedWebhookAnswer,
  DeliveryAnswer,
  DeliverySummary,
  EventTypeAnswer,
  OrgDeliveryPath,
  OrgWebhookPath,
  OrgWebhooksPath,
  SiteDeliveryPath,
  SiteWebhookPath,
  TestEvent,
  WebhookAnswer,
  WebhookChange,
  WebhookOption,
} from './codecs.ts'

const ofOrg = {
  tag: 'Identity - Organizations & Teams',
  access: requires('owner', { type: 'organization', name: path('orgname') }),
  scopeCategory: 'organization',
} as const
const ofSite = { tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' } as const

const orgWebhooks = routesOf({ ...ofOrg, params: OrgWebhooksPath })
const orgWebhook = routesOf({ ...ofOrg, params: OrgWebhookPath, failures: [WebhookMissing] })
const orgDelivery = routesOf({ ...ofOrg, params: OrgDeliveryPath, failures: [WebhookMissing, DeliveryMissing] })
const siteWebhooks = routesOf(ofSite)
const siteWebhook = routesOf({ ...ofSite, params: SiteWebhookPath, failures: [WebhookMissing] })
const siteDelivery = routesOf({ ...ofSite, params: SiteDeliveryPath, failures: [WebhookMissing, DeliveryMissing] })

const orgRoot = '/orgs/{orgname}/webhooks'
const siteRoot = '/admin/webhooks'

const sent = { name: 'ticket system', url: 'https://hooks.example.com/moorage', events: ['contract.revoked'] }
const example = {
  id: 3,
  ...sent,
  format: 'standard',
  is_enabled: true,
  disabled_reason: '',
  failures: 0,
  created_at: '2026-11-26T00:00:00.000Z',
  updated_at: '2026-11-26T00:00:00.000Z',
}
const created = { ...example, secret: 'whsec_c2hvd24gb25seSBpbiB0aGlzIGFuc3dlciwgb25jZQ==' }
const summary = {
  id: 41,
  event_id: 'evt_90871',
  event_type: 'contract.revoked',
  state: 'delivered',
  attempts: 1,
  response_status: 204,
  problem: '',
  duration_ms: 38,
  attempted_at: '2026-11-26T09:12:02.040Z',
  created_at: '2026-11-26T09:12:01.000Z',
}
const delivery = {
  ...summary,
  request_body: '{"type":"contract.revoked","timestamp":"2026-11-26T09:12:00.000Z","data":{}}',
  response_body: '',
}

const createText =
  'The answer has the signing secret, which is never shown again. Changes from now on are sent, in the order in which ' +
  'they were made; an attempt that fails is repeated by the schedule of Standard Webhooks. At most 20 for each owner.'
const changeText =
  'What the body leaves out stays. A webhook that is enabled again sends what is still pending; changes while it was ' +
  'disabled are not recorded for it.'
const rotateText = 'The former secret signs too for a day: each message has two signatures, so that none is refused.'
const testText = 'An event of the type `webhook.test`, whatever the filter is. The list of deliveries shows the answer.'
const listText = 'Newest first. Deliveries are kept for a week.'
const redeliverText = 'With the same id and body, and from the beginning of the schedule.'
const removeText = 'Its deliveries are removed too, and what is pending is not sent.'

export const listEventTypes = routesOf({
  tag: 'Identity - Organizations & Teams',
  access: signedIn,
  scopeCategory: 'organization',
})({
  id: 'webhooks.listEventTypes',
  method: 'GET',
  path: '/webhook-event-types',
  summary: 'List the types of events that webhooks send',
  description: 'In the order of their names, each with the JSON Schema of its body.',
  ok: list(EventTypeAnswer, {
    type: 'role.created',
    summary: 'A role was created.',
    schema: { title: 'role.created', type: 'object' },
  }),
})

export const listOrgWebhooks = orgWebhooks({
  id: 'webhooks.listOrgWebhooks',
  method: 'GET',
  path: orgRoot,
  summary: 'List the webhooks of an organization',
  description: 'For owners. In the order of their ids, without secrets.',
  ok: list(WebhookAnswer, example),
})

export const createOrgWebhook = orgWebhooks({
  id: 'webhooks.createOrgWebhook',
  method: 'POST',
  path: orgRoot,
  summary: 'Create a webhook of an organization',
  description: createText,
  refusesSudo: true,
  body: body(WebhookOption, sent),
  failures: [WebhookRefused],
  ok: json(201, CreatedWebhookAnswer, created, 'Created'),
})

export const getOrgWebhook = orgWebhook({
  id: 'webhooks.getOrgWebhook',
  method: 'GET',
  path: `${orgRoot}/{id}`,
  summary: 'Get a webhook of an organization',
  description: 'For owners. The secret is never returned.',
  ok: json(200, WebhookAnswer, example),
})

export const changeOrgWebhook = orgWebhook({
  id: 'webhooks.changeOrgWebhook',
  method: 'PATCH',
  path: `${orgRoot}/{id}`,
  summary: 'Change a webhook of an organization',
  description: changeText,
  refusesSudo: true,
  body: body(WebhookChange, { is_enabled: true }),
  failures: [WebhookRefused, WebhookChanged],
  ok: json(200, WebhookAnswer, example),
})

export const removeOrgWebhook = orgWebhook({
  id: 'webhooks.removeOrgWebhook',
  method: 'DELETE',
  path: `${orgRoot}/{id}`,
  summary: 'Remove a webhook of an organization',
  description: removeText,
  ok: empty(204),
})

export const rotateOrgWebhookSecret = orgWebhook({
  id: 'webhooks.rotateOrgWebhookSecret',
  method: 'POST',
  path: `${orgRoot}/{id}/rotate-secret`,
  summary: 'Make a new secret of a webhook of an organization',
  description: rotateText,
  refusesSudo: true,
  failures: [WebhookChanged],
  ok: json(200, CreatedWebhookAnswer, created),
})

export const testOrgWebhook = orgWebhook({
  id: 'webhooks.testOrgWebhook',
  method: 'POST',
  path: `${orgRoot}/{id}/test`,
  summary: 'Send a test event to a webhook of an organization',
  description: testText,
  failures: [WebhookDisabled],
  ok: json(202, TestEvent, { event_id: 'evt_test_5f0c' }, 'Accepted'),
})

export const listOrgDeliveries = orgWebhook({
  id: 'webhooks.listOrgDeliveries',
  method: 'GET',
  path: `${orgRoot}/{id}/deliveries`,
  summary: 'List the deliveries of a webhook of an organization',
  description: listText,
  ok: list(DeliverySummary, summary),
})

export const getOrgDelivery = orgDelivery({
  id: 'webhooks.getOrgDelivery',
  method: 'GET',
  path: `${orgRoot}/{id}/deliveries/{delivery}`,
  summary: 'Get a delivery of a webhook of an organization',
  description: 'For owners. With the body that is sent, and the last answer.',
  ok: json(200, DeliveryAnswer, delivery),
})

export const redeliverOrgDelivery = orgDelivery({
  id: 'webhooks.redeliverOrgDelivery',
  method: 'POST',
  path: `${orgRoot}/{id}/deliveries/{delivery}/redeliver`,
  summary: 'Send a delivery of a webhook of an organization again',
  description: redeliverText,
  failures: [WebhookDisabled],
  ok: empty(202),
})

export const listSiteWebhooks = siteWebhooks({
  id: 'webhooks.listSiteWebhooks',
  method: 'GET',
  path: siteRoot,
  summary: 'List the webhooks of the site',
  description: 'For site admins. In the order of their ids, without secrets.',
  ok: list(WebhookAnswer, example),
})

export const createSiteWebhook = siteWebhooks({
  id: 'webhooks.createSiteWebhook',
  method: 'POST',
  path: siteRoot,
  summary: 'Create a webhook of the site',
  description: createText,
  refusesSudo: true,
  body: body(WebhookOption, sent),
  failures: [WebhookRefused],
  ok: json(201, CreatedWebhookAnswer, created, 'Created'),
})

export const getSiteWebhook = siteWebhook({
  id: 'webhooks.getSiteWebhook',
  method: 'GET',
  path: `${siteRoot}/{id}`,
  summary: 'Get a webhook of the site',
  description: 'For site admins. The secret is never returned.',
  ok: json(200, WebhookAnswer, example),
})

export const changeSiteWebhook = siteWebhook({
  id: 'webhooks.changeSiteWebhook',
  method: 'PATCH',
  path: `${siteRoot}/{id}`,
  summary: 'Change a webhook of the site',
  description: changeText,
  refusesSudo: true,
  body: body(WebhookChange, { is_enabled: true }),
  failures: [WebhookRefused, WebhookChanged],
  ok: json(200, WebhookAnswer, example),
})

export const removeSiteWebhook = siteWebhook({
  id: 'webhooks.removeSiteWebhook',
  method: 'DELETE',
  path: `${siteRoot}/{id}`,
  summary: 'Remove a webhook of the site',
  description: removeText,
  ok: empty(204),
})

export const rotateSiteWebhookSecret = siteWebhook({
  id: 'webhooks.rotateSiteWebhookSecret',
  method: 'POST',
  path: `${siteRoot}/{id}/rotate-secret`,
  summary: 'Make a new secret of a webhook of the site',
  description: rotateText,
  refusesSudo: true,
  failures: [WebhookChanged],
  ok: json(200, CreatedWebhookAnswer, created),
})

export const testSiteWebhook = siteWebhook({
  id: 'webhooks.testSiteWebhook',
  method: 'POST',
  path: `${siteRoot}/{id}/test`,
  summary: 'Send a test event to a webhook of the site',
  description: testText,
  failures: [WebhookDisabled],
  ok: json(202, TestEvent, { event_id: 'evt_test_5f0c' }, 'Accepted'),
})

export const listSiteDeliveries = siteWebhook({
  id: 'webhooks.listSiteDeliveries',
  method: 'GET',
  path: `${siteRoot}/{id}/deliveries`,
  summary: 'List the deliveries of a webhook of the site',
  description: listText,
  ok: list(DeliverySummary, summary),
})

export const getSiteDelivery = siteDelivery({
  id: 'webhooks.getSiteDelivery',
  method: 'GET',
  path: `${siteRoot}/{id}/deliveries/{delivery}`,
  summary: 'Get a delivery of a webhook of the site',
  description: 'For site admins. With the body that is sent, and the last answer.',
  ok: json(200, DeliveryAnswer, delivery),
})

export const redeliverSiteDelivery = siteDelivery({
  id: 'webhooks.redeliverSiteDelivery',
  method: 'POST',
  path: `${siteRoot}/{id}/deliveries/{delivery}/redeliver`,
  summary: 'Send a delivery of a webhook of the site again',
  description: redeliverText,
  failures: [WebhookDisabled],
  ok: empty(202),
})
