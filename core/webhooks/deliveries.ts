import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { bodyOf, testType } from './event-types.ts'
import type { DeliveryQueue, EventSource, WebhookStore, WebhookStores } from './ports.ts'
import { DeliveryMissing, WebhookDisabled } from './ports.ts'
import type { Delivery, WebhookDeliveryId } from './types.ts'
import type { OwnedWebhook } from './webhooks.ts'
import { auditOfWebhook, webhookMissing } from './webhooks.ts'

const deliveryMissing = (): Failure<'DeliveryMissing'> => DeliveryMissing('The delivery does not exist.')
const disabled = (): Failure<'WebhookDisabled'> =>
  WebhookDisabled('The webhook is disabled. Set is_enabled to true first.')

interface ReadDeps {
  readonly webhooks: Pick<WebhookStore, 'find'>
  readonly deliveries: Pick<DeliveryQueue, 'list' | 'find'>
}

/** Lists the deliveries of a webhook, newest first. */
export const makeListDeliveries =
  ({ webhooks, deliveries }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { owner, id, page }: OwnedWebhook & { readonly page: PageRequest },
  ): Outcome<Failure<'WebhookMissing'>, Page<Delivery>> =>
    (await webhooks.find(owner, id)) === undefined ? left(webhookMissing()) : right(await deliveries.list(id, page))

export interface OwnedDelivery extends OwnedWebhook {
  readonly deliveryId: WebhookDeliveryId
}

type ReadFailure = Failure<'WebhookMissing'> | Failure<'DeliveryMissing'>

export const makeShowDelivery =
  ({ webhooks, deliveries }: ReadDeps) =>
  async (_call: SignedInCall<never>, { owner, id, deliveryId }: OwnedDelivery): Outcome<ReadFailure, Delivery> => {
    if ((await webhooks.find(owner, id)) === undefined) return left(webhookMissing())
    const delivery = await deliveries.find(id, deliveryId)
    return delivery === undefined ? left(deliveryMissing()) : right(delivery)
  }

interface SendDeps {
  readonly unitOfWork: UnitOfWork<WebhookStores>
  readonly deliveries: Pick<DeliveryQueue, 'find'>
  readonly entropy: Entropy
  readonly clock: Clock
  readonly source: EventSource
}

type TestFailure = Failure<'WebhookMissing'> | Failure<'WebhookDisabled'>

/** Sends an event of the type `webhook.test`, whatever the filter of the webhook is. Returns the id of the event. */
export const makeTestWebhook =
  ({ unitOfWork, entropy, clock, source }: SendDeps) =>
  async (call: SignedInCall<string>, { owner, id }: OwnedWebhook): Outcome<TestFailure, string> =>
    unitOfWork.run<TestFailure, string>(call, async ({ webhooks, audit }) => {
      const webhook = await webhooks.find(owner, id)
      if (webhook === undefined) return left(webhookMissing())
      if (!webhook.isEnabled) return left(disabled())
      const now = clock.now()
      const event = {
        id: `evt_test_${hex(entropy.bytes(16))}`,
        type: testType,
        at: now,
        data: {
          account_id: owner ?? 0,
          object: { type: 'webhook', id, name: webhook.name },
          actor: { id: call.principal.userId, login: call.principal.login },
          details: {},
        },
      }
      const body = bodyOf(event, webhook.format, source())
      await webhooks.add({ webhookId: id, eventId: event.id, eventType: event.type, body }, now)
      await audit.record(auditOfWebhook(webhook, 'webhook.tested'))
      return right(event.id)
    })

type RedeliverFailure = ReadFailure | Failure<'WebhookDisabled'>

/** Sends a delivery again, with the same id and body, from the beginning of the schedule. */
export const makeRedeliver =
  ({ unitOfWork, deliveries, clock }: SendDeps) =>
  async (call: SignedInCall<void>, { owner, id, deliveryId }: OwnedDelivery): Outcome<RedeliverFailure, void> => {
    // A delivery never moves to another webhook, so that it may be read before the transaction.
    const delivery = await deliveries.find(id, deliveryId)
    return unitOfWork.run<RedeliverFailure, void>(call, async ({ webhooks, audit }) => {
      const webhook = await webhooks.find(owner, id)
      if (webhook === undefined) return left(webhookMissing())
      if (delivery === undefined) return left(deliveryMissing())
      if (!webhook.isEnabled) return left(disabled())
      await webhooks.repeat(deliveryId, clock.now())
      await audit.record(auditOfWebhook(webhook, 'webhook.redelivered', { event: delivery.eventId }))
      return right(undefined)
    })
  }
