import { makeUserFetch } from '../../adapters/outbound/user-fetch.ts'
import { makeSqlDeliveryQueue, makeSqlWebhookOwners } from '../../adapters/sql/webhooks/delivery-queue.ts'
import { webhooksMigrations } from '../../adapters/sql/webhooks/migrations.ts'
import { makeSqlWebhookStore } from '../../adapters/sql/webhooks/webhook-store.ts'
import { makeHttpWebhookSender } from '../../adapters/webhooks/sender.ts'
import { IdentitySettingsPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { portKey } from '../../core/kernel/port-key.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import {
  DeliveryCountersPort,
  DeliveryQueuePort,
  EventSourcePort,
  WebhookOwnersPort,
  WebhookSenderPort,
  WebhookStorePort,
  WebhookUnitOfWorkPort,
} from '../../core/webhooks/ports.ts'
import { makeWebhookSecrets, WebhookSecretsPort } from '../../core/webhooks/secrets.ts'
import { webhooksPlugin } from '../../plugins/webhooks/plugin.ts'
import { bind, lazily } from '../part/binding.ts'
import type { Counts } from '../part/gauges.ts'
import { defineGauges, makeCounts } from '../part/gauges.ts'
import { definePart } from '../part/part.ts'
import { spansOf } from '../part/spans.ts'
import { bindMailingUnitOfWork } from './units-of-work.ts'

const CountsPort = portKey<Counts>('webhooks.Counts')

/** Events for other systems. */
export const part = definePart({
  plugin: webhooksPlugin,
  spans: [spansOf(WebhookSenderPort, { send: { name: 'send event', kind: 'client' } })],
  migrations: webhooksMigrations,
  provide(boot) {
    const { database } = boot
    const store = lazily(() => makeSqlWebhookStore(database))
    return [
      bind(WebhookStorePort, {}, () => store()(database)),
      bind(DeliveryQueuePort, {}, () => makeSqlDeliveryQueue(database)),
      bind(WebhookOwnersPort, {}, () => makeSqlWebhookOwners(database)),
      bind(WebhookSenderPort, {}, () => makeHttpWebhookSender(makeUserFetch(boot))),
      bind(WebhookSecretsPort, { entropy: EntropyPort, secretBox: SecretBoxPort }, makeWebhookSecrets),
      bind(
        EventSourcePort,
        { identity: IdentitySettingsPort },
        ({ identity }) =>
          () =>
            `${identity.baseUrl()}/api/v1`,
      ),
      bind(CountsPort, {}, () => makeCounts(['outcome'], 2)),
      bind(DeliveryCountersPort, { counts: CountsPort }, ({ counts }) => ({
        attempt: (outcome) => counts.add(outcome),
      })),
      bindMailingUnitOfWork(database, WebhookUnitOfWorkPort, () => (tx) => ({ webhooks: store()(tx) })),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_webhook_attempts_total: {
          type: 'counter',
          help: 'Attempts to send an event to a webhook, by outcome: delivered or failed.',
          label: ['outcome'],
        },
        moorage_webhook_deliveries_due: { help: 'Deliveries of webhooks that are due, counted up to 10,000.' },
        moorage_webhook_oldest_due_seconds: {
          help: 'For how long the oldest delivery of a webhook has been due; 0 without one.',
        },
      },
      { clock: ClockPort, counts: CountsPort, queue: DeliveryQueuePort },
      ({ clock, counts, queue }) =>
        async () => {
          const { count, oldestSeconds } = await queue.lag(clock.now())
          return {
            moorage_webhook_attempts_total: counts.samples(),
            moorage_webhook_deliveries_due: count,
            moorage_webhook_oldest_due_seconds: oldestSeconds,
          }
        },
    ),
  ],
})
