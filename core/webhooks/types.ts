import type { Brand, OrgId } from '../kernel/ids.ts'

export type WebhookId = Brand<number, 'WebhookId'>
export type WebhookDeliveryId = Brand<number, 'WebhookDeliveryId'>

/** The form of a body: that of Standard Webhooks, or a CloudEvents 1.0 event in structured JSON. */
export const webhookFormats = ['standard', 'cloudevents'] as const
export type WebhookFormat = (typeof webhookFormats)[number]

/** Whose events a webhook receives. The events of the site are those of all accounts. */
export type WebhookOwner = OrgId | undefined

/** A webhook without its secrets. */
export interface Webhook {
  readonly id: WebhookId
  readonly orgId: WebhookOwner
  readonly name: string
  readonly url: string
  /** Event types; `*` stands for all of them. */
  readonly events: readonly string[]
  readonly format: WebhookFormat
  readonly isEnabled: boolean
  /** Why the service disabled it; empty otherwise. */
  readonly disabledReason: string
  /** The first failure since the last success. */
  readonly failingSince: Date | undefined
  /** Failed attempts since the last success. */
  readonly failures: number
  /** Until when the former secret signs too. */
  readonly formerUntil: Date | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly version: number
}

/** What its owner sets. */
export type WebhookContent = Pick<Webhook, 'name' | 'url' | 'events' | 'format' | 'isEnabled'>

/** The sealed secrets of a webhook, and until when the former one signs too. */
export interface StoredSecrets {
  /** What the box is bound to. A new one with each box, so that an older box cannot replace it. */
  readonly ref: string
  readonly box: Uint8Array
  readonly formerUntil: Date | undefined
}

export type StoredWebhook = Webhook & StoredSecrets

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** What came of an attempt. */
export interface Attempt {
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined
  /** The beginning of the answer's body. */
  readonly answer: string
  /** Why there is no answer; empty otherwise. */
  readonly problem: string
  readonly durationMs: number
}

/** One event for one webhook, with its last attempt. */
export interface Delivery {
  readonly id: WebhookDeliveryId
  readonly webhookId: WebhookId
  /** The same for each attempt: the header `webhook-id`. */
  readonly eventId: string
  readonly eventType: string
  readonly body: string
  readonly state: DeliveryState
  readonly attempts: number
  /** When the next attempt is due; undefined if there is none. */
  readonly dueAt: Date | undefined
  readonly createdAt: Date
  readonly attemptedAt: Date | undefined
  readonly status: number | undefined
  readonly answer: string
  readonly problem: string
  readonly durationMs: number
}

export type NewDelivery = Pick<Delivery, 'webhookId' | 'eventId' | 'eventType' | 'body'>
