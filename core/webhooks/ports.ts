import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { portKey } from '../kernel/port-key.ts'
import type { Secret } from '../kernel/secret.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { MailOutbox } from '../mail/ports.ts'
import type {
  Attempt,
  Delivery,
  NewDelivery,
  StoredSecrets,
  StoredWebhook,
  WebhookContent,
  WebhookDeliveryId,
  WebhookFormat,
  WebhookId,
  WebhookOwner,
} from './types.ts'

export const WebhookMissing = defineFailure('WebhookMissing', 'NotFound', 'The webhook does not exist.')
export const WebhookRefused = defineFailure(
  'WebhookRefused',
  'Unprocessable',
  'A field of the webhook is not accepted.',
)
export const WebhookChanged = defineFailure('WebhookChanged', 'Conflict', 'Another request changed the webhook.')
export const WebhookDisabled = defineFailure('WebhookDisabled', 'Conflict', 'The webhook is disabled.')
export const DeliveryMissing = defineFailure('DeliveryMissing', 'NotFound', 'The delivery does not exist.')

/** Webhooks. Each read and change is limited to one owner. */
export interface WebhookStore {
  /** By id. */
  list(owner: WebhookOwner, page: PageRequest): Promise<Page<StoredWebhook>>
  find(owner: WebhookOwner, id: WebhookId): Promise<StoredWebhook | undefined>
  /** Returns the number of webhooks of the owner, whose row stays locked until the transaction ends. */
  lockCount(owner: WebhookOwner): Promise<number>
  /** The first webhook of all starts to follow the audit log at its present end. */
  insert(owner: WebhookOwner, content: WebhookContent, secrets: StoredSecrets, at: Date): Promise<WebhookId>
  /**
   * Changes the webhook if it still has the version. One that is enabled again begins without failures. Returns false
   * otherwise.
   */
  replace(before: StoredWebhook, content: WebhookContent, at: Date): Promise<boolean>
  /** Returns false if the webhook has another version. */
  replaceSecrets(before: StoredWebhook, secrets: StoredSecrets, at: Date): Promise<boolean>
  /** Returns false if the webhook is disabled already. */
  disable(id: WebhookId, reason: string, at: Date): Promise<boolean>
  /** Removes the webhook with its deliveries. */
  remove(owner: WebhookOwner, id: WebhookId): Promise<boolean>
  /** Adds a delivery that is due now. */
  add(delivery: NewDelivery, at: Date): Promise<WebhookDeliveryId>
  /** Makes a delivery due now, as if it had not been attempted. */
  repeat(id: WebhookDeliveryId, at: Date): Promise<void>
}
export const WebhookStorePort = portKey<WebhookStore>('webhooks.WebhookStore')

/** What became of an attempt for its delivery. */
export interface AttemptOutcome extends Attempt {
  readonly state: Delivery['state']
  readonly attempts: number
  readonly at: Date
  readonly dueAt: Date | undefined
}

/** The condition of a receiver after attempts. */
export interface ReceiverHealth {
  readonly failures: number
  readonly failingSince: Date | undefined
  /** Nothing is sent before; undefined: at once. */
  readonly pausedUntil: Date | undefined
}

/** The deliveries of all webhooks. */
export interface DeliveryQueue {
  /** Newest first. */
  list(webhookId: WebhookId, page: PageRequest): Promise<Page<Delivery>>
  find(webhookId: WebhookId, id: WebhookDeliveryId): Promise<Delivery | undefined>
  /** Returns the id of the last audit row that was read; undefined while no webhook was ever created. */
  cursor(): Promise<number | undefined>
  /** Returns the enabled webhooks of these owners. */
  listEnabled(owners: readonly WebhookOwner[]): Promise<readonly StoredWebhook[]>
  /**
   * Adds deliveries and moves the cursor, in one transaction. Returns false, and changes nothing, if another instance
   * has moved it.
   */
  advance(from: number, to: number, deliveries: readonly NewDelivery[], at: Date): Promise<boolean>
  /** Returns at most `limit` enabled webhooks that have a delivery due, those that waited longest first. */
  listDueWebhooks(at: Date, limit: number): Promise<readonly StoredWebhook[]>
  /** Returns at most `limit` deliveries of a webhook that are due, in the order of their events. */
  listDue(webhookId: WebhookId, at: Date, limit: number): Promise<readonly Delivery[]>
  saveAttempt(id: WebhookDeliveryId, outcome: AttemptOutcome): Promise<void>
  saveHealth(id: WebhookId, health: ReceiverHealth, at: Date): Promise<void>
  /** Returns the number of deliveries removed. */
  removeBefore(before: Date, limit: number): Promise<number>
  /** Returns the number of deliveries that are due, counted up to 10,000, and the age of the oldest in seconds. */
  lag(at: Date): Promise<{ readonly count: number; readonly oldestSeconds: number }>
}
export const DeliveryQueuePort = portKey<DeliveryQueue>('webhooks.DeliveryQueue')

export interface SignedMessage {
  readonly url: string
  readonly eventId: string
  readonly at: Date
  readonly body: string
  readonly format: WebhookFormat
  /** Each signs. */
  readonly secrets: readonly Secret[]
}

/** Sends messages with the headers of Standard Webhooks. */
export interface WebhookSender {
  /** Follows no redirect, and reaches what the egress policy allows. Never throws, and ends within its time limit. */
  send(message: SignedMessage, signal: AbortSignal): Promise<Attempt>
}
export const WebhookSenderPort = portKey<WebhookSender>('webhooks.WebhookSender')

/** The people who answer for a webhook. */
export interface WebhookOwners {
  /** Returns the primary addresses of at most 20 owners of the organization, or of site admins. */
  listAddresses(owner: WebhookOwner): Promise<readonly string[]>
}
export const WebhookOwnersPort = portKey<WebhookOwners>('webhooks.WebhookOwners')

export interface WebhookStores {
  readonly webhooks: WebhookStore
  readonly audit: AuditTrail
  readonly mail: MailOutbox
}
export const WebhookUnitOfWorkPort = portKey<UnitOfWork<WebhookStores>>('webhooks.UnitOfWork')

/** Returns the address of the API, which events name as their source. */
export type EventSource = () => string
export const EventSourcePort = portKey<EventSource>('webhooks.EventSource')

/** Counts attempts, for the metrics. */
export interface DeliveryCounters {
  attempt(outcome: 'delivered' | 'failed'): void
}
export const DeliveryCountersPort = portKey<DeliveryCounters>('webhooks.DeliveryCounters')
