import { right } from 'fp-ts/lib/Either.js'
import { AuditLogPort } from '../../core/audit/ports.ts'
import { ClockPort, PausePort } from '../../core/kernel/clock.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import type { EventType } from '../../core/webhooks/event-types.ts'
import { eventTypes, schemaOf } from '../../core/webhooks/event-types.ts'
import {
  DeliveryCountersPort,
  DeliveryQueuePort,
  EventSourcePort,
  WebhookOwnersPort,
  WebhookSenderPort,
  WebhookUnitOfWorkPort,
} from '../../core/webhooks/ports.ts'
import { WebhookSecretsPort } from '../../core/webhooks/secrets.ts'
import { makeCollectEvents, makeDeliverEvents, makeRemoveOldDeliveries } from '../../core/webhooks/sending.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { listEventTypes } from './webhooks.routes.ts'

/** What can be sent. */
export const eventTypeGroup = defineGroup({
  needs: {},
  routes: () => [
    handle(
      listEventTypes,
      async (_call: SignedInCall<never>, page: PageRequest) => right(pageWithin(eventTypes, page)),
      {
        input: ({ page }) => page,
        reply: (each: EventType) => ({ type: each.type, summary: each.summary, schema: schemaOf(each) }),
      },
    ),
  ],
})

/** How events reach their receivers. */
export const sendingGroup = defineGroup({
  needs: {
    auditLog: AuditLogPort,
    clock: ClockPort,
    counters: DeliveryCountersPort,
    entropy: EntropyPort,
    owners: WebhookOwnersPort,
    pause: PausePort,
    queue: DeliveryQueuePort,
    secrets: WebhookSecretsPort,
    sender: WebhookSenderPort,
    source: EventSourcePort,
    unitOfWork: WebhookUnitOfWorkPort,
  },
  jobs: (given) => [
    {
      id: 'webhooks.collect',
      summary: 'Record the changes of the audit log as events for webhooks',
      everySeconds: 2,
      run: makeCollectEvents(given),
    },
    {
      id: 'webhooks.deliver',
      summary: 'Send events to the receivers of webhooks',
      everySeconds: 2,
      run: makeDeliverEvents({ ...given, ownCall: makeOwnCall(given.entropy) }),
    },
    {
      id: 'webhooks.removeOld',
      summary: 'Remove deliveries of webhooks after a week',
      everySeconds: 600,
      run: makeRemoveOldDeliveries(given),
    },
  ],
})
