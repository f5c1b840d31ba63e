import type { OrgId } from '../../../core/kernel/ids.ts'
import type { DeliveryState, WebhookDeliveryId, WebhookFormat, WebhookId } from '../../../core/webhooks/types.ts'
import {
  flag,
  id,
  instant,
  int,
  json,
  largeText,
  long,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const webhooks = table('webhooks', {
  id: rowId<WebhookId>(),
  orgId: nullable(id<OrgId>()),
  ownerKey: long(),
  name: text(100),
  url: text(2000),
  events: json<readonly string[]>(),
  format: text<WebhookFormat>(16),
  isEnabled: flag(),
  disabledReason: withDefault(text(255)),
  ref: text(36),
  sealedSecrets: sealed(),
  formerUntil: nullable(instant()),
  failures: withDefault(int()),
  failingSince: nullable(instant()),
  pausedUntil: nullable(instant()),
  servedAt: withDefault(instant()),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

export const webhookDeliveries = table('webhook_deliveries', {
  id: rowId<WebhookDeliveryId>(),
  webhookId: id<WebhookId>(),
  eventId: text(64),
  eventType: text(64),
  body: largeText(),
  state: withDefault(text<DeliveryState>(16)),
  attempts: withDefault(int()),
  dueAt: nullable(instant()),
  createdAt: instant(),
  attemptedAt: nullable(instant()),
  status: nullable(int()),
  answer: withDefault(text(2000)),
  problem: withDefault(text(500)),
  durationMs: withDefault(int()),
})

export const webhookCursors = table('webhook_cursors', {
  id: long(),
  afterId: long(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    webhooks: typeof import('./webhooks.ts')
  }
}
