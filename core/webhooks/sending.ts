import { right } from 'fp-ts/lib/Either.js'
import type { AuditLog } from '../audit/ports.ts'
import type { AuditEvent } from '../audit/types.ts'
import type { Clock, Pause } from '../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../kernel/clock.ts'
import type { OwnCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { bodyOf, eventOfRow, everyType, typeOf } from './event-types.ts'
import type {
  DeliveryCounters,
  DeliveryQueue,
  EventSource,
  ReceiverHealth,
  WebhookOwners,
  WebhookSender,
  WebhookStores,
} from './ports.ts'
import type { WebhookSecrets } from './secrets.ts'
import type { Attempt, Delivery, NewDelivery, StoredWebhook, WebhookId } from './types.ts'
import { auditOfWebhook } from './webhooks.ts'

/** Rows of the audit log that are read at once. */
const rowsAtATime = 500

interface CollectDeps {
  readonly queue: Pick<DeliveryQueue, 'cursor' | 'listEnabled' | 'advance'>
  readonly auditLog: Pick<AuditLog, 'listAfter'>
  readonly clock: Clock
  readonly source: EventSource
}

const wants = (webhook: StoredWebhook, row: AuditEvent, type: string): boolean =>
  (webhook.orgId === undefined || webhook.orgId === row.tenantId) &&
  (webhook.events.includes(everyType) || webhook.events.includes(type))

/**
 * Makes deliveries of the rows of the audit log that are new. A row is written in the transaction of its change, so no
 * event is lost; the cursor moves in the transaction that adds the deliveries, so none is added twice.
 */
export const makeCollectEvents = ({ queue, auditLog, clock, source }: CollectDeps) => {
  const deliveriesOf = async (rows: readonly AuditEvent[]): Promise<readonly NewDelivery[]> => {
    const events = rows.flatMap((row) => {
      const type = typeOf(row)
      return type === undefined ? [] : [{ row, type }]
    })
    if (events.length === 0) return []
    const tenants = new Set(events.map(({ row }) => row.tenantId))
    tenants.delete(0)
    const webhooks = await queue.listEnabled([undefined, ...(tenants as Set<StoredWebhook['orgId']>)])
    return events.flatMap(({ row, type }) =>
      webhooks
        .filter((webhook) => wants(webhook, row, type))
        .map((webhook) => {
          const event = eventOfRow(row, type)
          const body = bodyOf(event, webhook.format, source())
          return { webhookId: webhook.id, eventId: event.id, eventType: type, body }
        }),
    )
  }

  return async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const from = await queue.cursor()
      if (from === undefined) return
      const rows = await auditLog.listAfter({}, from, rowsAtATime)
      const last = rows.at(-1)
      if (last === undefined) return
      if (!(await queue.advance(from, last.id, await deliveriesOf(rows), clock.now()))) return
    }
  }
}

/** Seconds before each further attempt: the schedule of Standard Webhooks, about three days in all. @internal */
export const retrySeconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const

/** After a failure a receiver is left alone: 5 seconds, doubled each time, at most five minutes. @internal */
export const pauseSeconds = (failures: number): number => Math.min(300, 5 * 2 ** Math.min(failures - 1, 10))

/** Days of failures after which a webhook is disabled. */
const failingDays = 5
/** Receivers that are served at the same time, one message at a time each. */
const lanes = 16
/** Messages to one receiver before others are looked for. */
const messagesAtATime = 10
const pollMs = 500

const isTaken = ({ status }: Attempt): boolean => status !== undefined && status >= 200 && status <= 299
/** The receiver says that it is gone for good. */
const goneStatus = 410

interface DeliverDeps {
  readonly queue: Pick<DeliveryQueue, 'listDueWebhooks' | 'listDue' | 'saveAttempt' | 'saveHealth'>
  readonly sender: WebhookSender
  readonly secrets: Pick<WebhookSecrets, 'open'>
  readonly owners: WebhookOwners
  readonly unitOfWork: UnitOfWork<WebhookStores>
  readonly ownCall: OwnCall
  readonly clock: Clock
  readonly pause: Pause
  readonly counters: DeliveryCounters
}

const saveAttempt = async (
  { queue, clock, counters }: DeliverDeps,
  { id, attempts: before }: Delivery,
  attempt: Attempt,
): Promise<void> => {
  const at = clock.now()
  const attempts = before + 1
  const wait = retrySeconds[before]
  counters.attempt(isTaken(attempt) ? 'delivered' : 'failed')
  if (isTaken(attempt) || wait === undefined || attempt.status === goneStatus) {
    const state = isTaken(attempt) ? 'delivered' : 'failed'
    await queue.saveAttempt(id, { ...attempt, state, attempts, at, dueAt: undefined })
  } else await queue.saveAttempt(id, { ...attempt, state: 'pending', attempts, at, dueAt: laterBySeconds(at, wait) })
}

/** Disables a webhook, and mails its owners why. */
const disable = async (
  { unitOfWork, owners, ownCall, clock }: DeliverDeps,
  { id, orgId, name, url }: StoredWebhook,
  reason: string,
): Promise<void> => {
  const addresses = await owners.listAddresses(orgId)
  await unitOfWork.run<never, void>(ownCall('webhooks.deliver'), async ({ webhooks, audit, mail }) => {
    if (!(await webhooks.disable(id, reason, clock.now()))) return right(undefined)
    await audit.record(auditOfWebhook({ id, orgId, name }, 'webhook.disabled', { reason }))
    for (const to of addresses)
      await mail.post({
        to,
        subject: `The webhook ${name} was disabled`,
        paragraphs: [
          `The webhook ${name}, which sends events to ${new URL(url).host}, was disabled: ${reason}`,
          'Repair the receiver and set is_enabled of the webhook to true. Events that are still pending are sent then; ' +
            'events since now are not recorded for it.',
        ],
        ...(orgId === undefined ? {} : { accountId: orgId }),
      })
    return right(undefined)
  })
}

/** Sends what is due to one receiver, until an attempt fails. */
const serve = async (deps: DeliverDeps, webhook: StoredWebhook, signal: AbortSignal): Promise<void> => {
  const { queue, sender, secrets, clock } = deps
  let health: ReceiverHealth = {
    failures: webhook.failures,
    failingSince: webhook.failingSince,
    pausedUntil: undefined,
  }
  let last: Attempt | undefined
  for (const delivery of await queue.listDue(webhook.id, clock.now(), messagesAtATime)) {
    if (signal.aborted || health.pausedUntil !== undefined) break
    const at = clock.now()
    const { url, format } = webhook
    const { eventId, body } = delivery
    const signing = await secrets.open(webhook, at)
    last = await sender.send({ url, format, eventId, at, body, secrets: signing }, signal)
    // An attempt that was interrupted is made again by the next run.
    if (signal.aborted) return
    await saveAttempt(deps, delivery, last)
    const failures = isTaken(last) ? 0 : health.failures + 1
    health =
      failures === 0
        ? { failures, failingSince: undefined, pausedUntil: undefined }
        : {
            failures,
            failingSince: health.failingSince ?? at,
            pausedUntil: laterBySeconds(clock.now(), pauseSeconds(failures)),
          }
  }
  await queue.saveHealth(webhook.id, health, clock.now())
  if (last?.status === goneStatus) await disable(deps, webhook, 'its receiver answered 410 (Gone).')
  else if (health.failingSince !== undefined && health.failingSince < laterByDays(clock.now(), -failingDays))
    await disable(deps, webhook, `its receiver has failed for ${failingDays} days.`)
}

/**
 * Sends the deliveries that are due, each at least once: an attempt is recorded after its answer. Receivers are served
 * side by side, each with one message at a time; one that hangs occupies one lane until its time limit, and is then left
 * alone for longer and longer.
 */
export const makeDeliverEvents = (deps: DeliverDeps) => {
  const { queue, clock, pause } = deps
  return async (signal: AbortSignal): Promise<void> => {
    const active = new Map<WebhookId, Promise<void>>()
    const errors: unknown[] = []
    while (!signal.aborted && errors.length === 0) {
      const due = await queue.listDueWebhooks(clock.now(), lanes + active.size)
      for (const webhook of due.filter(({ id }) => !active.has(id)).slice(0, lanes - active.size)) {
        const served = serve(deps, webhook, signal)
          .catch((error: unknown) => void errors.push(error))
          .finally(() => active.delete(webhook.id))
        active.set(webhook.id, served)
      }
      if (active.size === 0) break
      await Promise.race([...active.values(), pause(pollMs, signal)])
    }
    await Promise.all(active.values())
    if (errors.length > 0) throw errors[0]
  }
}

/** Days that a delivery is kept. The schedule of attempts ends earlier. */
const keptDays = 7
const removedAtATime = 500

/** Removes deliveries that are older than a week, in batches. */
export const makeRemoveOldDeliveries =
  ({ queue, clock }: { readonly queue: Pick<DeliveryQueue, 'removeBefore'>; readonly clock: Clock }) =>
  async (signal: AbortSignal): Promise<void> => {
    const before = laterByDays(clock.now(), -keptDays)
    while (!signal.aborted && (await queue.removeBefore(before, removedAtATime)) === removedAtATime);
  }
