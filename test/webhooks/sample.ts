import { sample as identity } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { defineSample, must, refusedFor } from '../support/part-sample.ts'

const form = { name: 'sample', url: 'https://hooks.example.com/moorage', events: ['contract.changed'] }

/** A webhook of the organization with a delivery; and one of the site. */
export const sample = defineSample({
  part: 'webhooks',
  prepare: async (service) => {
    const body = { ...form, is_enabled: false }
    await must('site webhook', service.send('POST', '/api/v1/admin/webhooks', { token: service.adminToken, body }))
  },
  make: async (tenant) => {
    const { service, database, org, text } = tenant
    const { owner } = await tenant.of(identity)
    const { orgId } = await tenant.of(organizations)
    const path = `/api/v1/orgs/${org}/webhooks`
    const made = await must(
      'webhook',
      service.send('POST', path, { token: owner.token, body: { ...form, name: text } }),
    )
    const { id, secret } = made.json as { readonly id: number; readonly secret: string }
    const row = {
      webhook_id: id,
      event_id: `evt_sample_${orgId}`,
      event_type: 'role.created',
      body: '{}',
      state: 'delivered',
      created_at: Date.now(),
    }
    const siteId = `evt_site_${orgId}`
    await database.query((k) => k('webhook_deliveries').insert([row, { ...row, webhook_id: 1, event_id: siteId }]))
    const [siteDelivery] = await database.query<{ readonly id: number | string }>((k) =>
      k('webhook_deliveries').where('event_id', siteId).select('id'),
    )
    const [delivery] = await database.query<{ readonly id: number | string }>((k) =>
      k('webhook_deliveries').where('event_id', row.event_id).select('id'),
    )
    return { id, secret, orgId, deliveryId: Number(delivery?.id), siteDeliveryId: Number(siteDelivery?.id) }
  },
  names: ({ id, deliveryId, siteDeliveryId }) => ({
    'webhook of an organization': { id },
    'delivery of a webhook of an organization': { id: deliveryId },
    'webhook of the site': { id: 1 },
    'delivery of a webhook of the site': { id: siteDeliveryId },
  }),
  sendsExample: (id) => id.startsWith('webhooks.'),
  secrets: ({ secret }) => [secret],
  tables: (made) => ({ webhooks: { org_id: [made.orgId] }, webhook_deliveries: { webhook_id: [made.id] } }),
  sharedTables: { webhook_cursors: 'how far the audit log was read for all webhooks' },
  refusedToOwner: refusedFor('for site admins', [
    'webhooks.listSiteWebhooks',
    'webhooks.createSiteWebhook',
    'webhooks.getSiteWebhook',
    'webhooks.changeSiteWebhook',
    'webhooks.removeSiteWebhook',
    'webhooks.rotateSiteWebhookSecret',
    'webhooks.testSiteWebhook',
    'webhooks.listSiteDeliveries',
    'webhooks.getSiteDelivery',
    'webhooks.redeliverSiteDelivery',
  ]),
})
