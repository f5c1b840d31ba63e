import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import type {
  MarketplaceStores,
  NewSubscription,
  NotificationAnswer,
  NotificationKey,
  SubscriptionContent,
  SubscriptionKey,
} from '../ports.ts'
import { NotificationInvalid } from '../ports.ts'
import type { LifecycleEvent, Transition } from '../subscriptions/states.ts'
import { transition } from '../subscriptions/states.ts'
import { endContracts, subscriptionAudit } from '../subscriptions/subscriptions.ts'
import type { ApplicationParts, Lifecycle, Plan, ProviderError, Subscription } from '../types.ts'
import type { BindFailure, BindingInfo, ParsedBinding } from './bindings.ts'
import { bindNow, linked, mayBind, parseBinding, unknownInstaller } from './bindings.ts'
import { ticksOf } from './event-times.ts'
import type { EventTime, NotificationDeps, Notified, NotifyFailure, Work } from './notifications.ts'
import { answerWith, makeAnswerOnce, parseEventTime, repeated } from './notifications.ts'

/** A notification of cloud B about a managed application. */
export interface ApplicationNotification {
  readonly eventType: string | undefined
  readonly applicationId: string | undefined
  readonly eventTime: string | undefined
  readonly provisioningState: string | undefined
  readonly resourceUsageId: string | undefined
  /** Fields that were not sent keep what is known. */
  readonly plan: Readonly<Record<keyof Plan, string | undefined>> | undefined
  readonly error: ProviderError | undefined
  readonly bindingInfo: BindingInfo | undefined
}

type ProviderEvent = LifecycleEvent & { readonly kind: 'put' | 'delete' }
type Event =
  | { readonly kind: 'bind'; readonly binding: ParsedBinding }
  /** A change of tags and the like, which changes no subscription. */
  | { readonly kind: 'patch' }
  | ProviderEvent

const invalid = (message: string): Either<Failure<'NotificationInvalid'>, never> => left(NotificationInvalid(message))

const parseEvent = (
  { eventType = '', provisioningState: outcome = '', bindingInfo }: ApplicationNotification,
  time: EventTime,
  now: Date,
): Either<Failure<'NotificationInvalid'>, Event> => {
  // An event without a time counts as if it had just happened.
  const ticks = time.ticks ?? ticksOf(now)
  if (eventType === 'BIND') {
    const binding = parseBinding(bindingInfo, 'CloudB')
    return isLeft(binding) ? binding : right({ kind: 'bind', binding: binding.right })
  }
  if (eventType === 'PUT')
    return outcome === 'Accepted' || outcome === 'Succeeded' || outcome === 'Failed'
      ? right({ kind: 'put', outcome, ticks, isUndated: time.ticks === undefined })
      : invalid('The event type is unknown: provisioningState of PUT must be Accepted, Succeeded or Failed.')
  if (eventType === 'DELETE')
    return outcome === 'Deleting' || outcome === 'Deleted' || outcome === 'Failed'
      ? right({ kind: 'delete', outcome, ticks })
      : invalid('The event type is unknown: provisioningState of DELETE must be Deleting, Deleted or Failed.')
  if (eventType === 'PATCH') return right({ kind: 'patch' })
  return invalid('The event type is unknown: it must be PUT, PATCH, DELETE or BIND.')
}

const fresh: Lifecycle = {
  state: 'Pending',
  installerRef: undefined,
  isProvisioned: false,
  lastTicks: undefined,
  isTombstone: false,
}

const done: NotificationAnswer = { status: 200, message: '', installerRef: '' }
const unknownSubscription: NotificationAnswer = {
  status: 403,
  message: 'The subscription does not exist.',
  installerRef: '',
}

const reasons: Readonly<Record<(Transition & { readonly kind: 'unchanged' })['reason'], string>> = {
  stale: 'A later event was applied before.',
  ended: 'The subscription has ended.',
  undecided:
    'The subscription has ended, and no later deletion is known: it may be a new purchase. An operator decides.',
  repeated: 'Nothing had to be changed.',
}

const sentPlan = (known: Plan, plan: ApplicationNotification['plan']): Plan => {
  const cut = (text: string): string => text.slice(0, 255)
  return {
    publisher: cut(plan?.publisher ?? known.publisher),
    product: cut(plan?.product ?? known.product),
    name: cut(plan?.name ?? known.name),
    version: cut(plan?.version ?? known.version),
  }
}

interface Alert {
  readonly subject: string
  readonly paragraphs: readonly string[]
}

const notDeleted = ({ ref }: Subscription): Alert => ({
  subject: 'A marketplace subscription could not be deleted',
  paragraphs: [
    `The provider could not delete the application of the subscription ${ref}.`,
    'Its contracts are revoked.',
  ],
})

const maybeBought = ({ ref, state }: Subscription, operation: string): Alert => ({
  subject: 'A marketplace application may have been bought again',
  paragraphs: [
    `The provider sent ${operation} for the application of the subscription ${ref}, which is ${state}.`,
    'It was ignored: whether it is a new purchase cannot be decided. Ask the provider. After a dated DELETE Deleted, a later PUT begins a new subscription.',
  ],
})

/** Alerts about one subscription that may be repeated have at least this distance. */
const alertMilliseconds = 24 * 3600 * 1000

const alert = async (
  { settings }: NotificationDeps,
  stores: MarketplaceStores,
  subscription: Subscription,
  { subject, paragraphs }: Alert,
  at: Date,
): Promise<void> => {
  if (settings.alertsTo !== '') await stores.mail.post({ to: settings.alertsTo, subject, paragraphs })
  await stores.subscriptions.update(subscription.id, { alertedAt: at }, at)
}

interface Received {
  readonly notification: ApplicationNotification
  readonly operation: string
  readonly at: Date
}

const noPlan: Plan = { publisher: '', product: '', name: '', version: '' }

/** What an event leaves of a subscription. */
const contentAfter = (
  known: Pick<Subscription, 'plan' | 'resourceUsageId' | 'error'> | undefined,
  event: ProviderEvent,
  { plan, resourceUsageId, error }: ApplicationNotification,
): SubscriptionContent => ({
  plan: sentPlan(known?.plan ?? noPlan, plan),
  resourceUsageId: resourceUsageId?.slice(0, 255) ?? known?.resourceUsageId ?? '',
  error: event.outcome === 'Failed' ? (error ?? { code: '', message: '' }) : known?.error,
})

interface Changed {
  readonly subscription: Subscription
  readonly change: Transition
  /** It was inserted as the event leaves it. */
  readonly isNew: boolean
}

const newOf = (
  { newRef }: NotificationDeps,
  key: SubscriptionKey,
  notification: ApplicationNotification,
): NewSubscription => ({ key, ref: newRef(), applicationId: applicationIdOf(notification) })

/** Records in both histories that an application was bought again. */
const recordRenewal = async (
  subscriptions: MarketplaceStores['subscriptions'],
  { id, ref, state }: Subscription,
  next: Subscription,
  at: Date,
): Promise<void> => {
  const event = { at, operation: 'repurchase', outcome: 'Succeeded' } as const
  await subscriptions.record(id, { ...event, description: `Bought again as the subscription ${next.ref}.`, state })
  const description = `Begins after the deletion of the subscription ${ref}.`
  await subscriptions.record(next.id, { ...event, description, state: next.state })
}

/** Returns the locked subscription of an event, and what the event changes. One that is not known is inserted. */
const changedBy = async (
  deps: NotificationDeps,
  { subscriptions }: MarketplaceStores,
  key: SubscriptionKey,
  event: ProviderEvent,
  { notification, at }: Received,
): Promise<Changed> => {
  const of = (subscription: Subscription): Changed => ({
    subscription,
    change: transition(subscription, event),
    isNew: false,
  })
  const known = await subscriptions.lock(key)
  if (known !== undefined) {
    const found = of(known)
    if (found.change.kind !== 'begins-again') return found
    const { next } = found.change
    const content = contentAfter(undefined, event, notification)
    const renewed = await subscriptions.begin(known, newOf(deps, key, notification), next, content, at)
    await recordRenewal(subscriptions, known, renewed, at)
    return {
      subscription: renewed,
      change: { kind: 'applied', next, revokesContracts: false, alerts: false },
      isNew: true,
    }
  }
  const change = transition(undefined, event)
  const lifecycle = change.kind === 'applied' ? change.next : change.kind === 'unknown' ? change.tombstone : fresh
  const content = contentAfter(undefined, event, notification)
  const inserted = await subscriptions.insert(newOf(deps, key, notification), lifecycle, content, at)
  if (inserted !== undefined) return { subscription: inserted, change, isNew: true }
  const other = await subscriptions.lock(key)
  if (other === undefined) throw new Error('A subscription that exists is not found.')
  return of(other)
}

/** Applies an event of the provider to its subscription, and records it. */
const applyProviderEvent = async (
  deps: NotificationDeps,
  stores: MarketplaceStores,
  key: SubscriptionKey,
  event: ProviderEvent,
  received: Received,
  inboxKey: NotificationKey,
): Promise<NotificationAnswer | 'answered'> => {
  const { notification, operation, at } = received
  const { subscription, change, isNew } = await changedBy(deps, stores, key, event, received)
  const { id } = subscription
  // What was answered before changes nothing: an event counts once.
  const known = change.kind === 'applied' || isNew ? undefined : await stores.inbox.find(inboxKey)
  if (known !== undefined) return 'answered'
  const record = (outcome: 'Succeeded' | 'Ignored' | 'Refused', description: string, state = subscription.state) =>
    stores.subscriptions.record(id, { at, operation, outcome, description, state })
  if (change.kind === 'unknown') {
    if (!isNew) await stores.subscriptions.update(id, { lifecycle: change.tombstone }, at)
    await record('Refused', 'The subscription does not exist.')
    return unknownSubscription
  }
  if (change.kind !== 'applied') {
    await record('Ignored', change.kind === 'unchanged' ? reasons[change.reason] : '')
    const isUndecided = change.kind === 'unchanged' && change.reason === 'undecided'
    const last = subscription.alertedAt?.getTime() ?? -Infinity
    if (isUndecided && at.getTime() - last >= alertMilliseconds) {
      deps.log.warn({ subscription: subscription.ref, operation }, 'an application may have been bought again')
      await alert(deps, stores, subscription, maybeBought(subscription, operation), at)
    }
    return done
  }
  const { next } = change
  const lacksUsageId =
    event.kind === 'put' && event.outcome === 'Succeeded' && notification.resourceUsageId === undefined
  if (lacksUsageId)
    deps.log.warn({ subscription: subscription.ref }, 'a provisioned application has no resourceUsageId')
  if (!isNew) await stores.subscriptions.apply(id, next, contentAfter(subscription, event, notification), at)
  if (change.revokesContracts) await endContracts(stores, subscription, `marketplace ${operation}`)
  if (change.alerts) await alert(deps, stores, subscription, notDeleted(subscription), at)
  await record('Succeeded', lacksUsageId ? 'The notification has no resourceUsageId.' : '', next.state)
  if (next.state !== (isNew ? fresh.state : subscription.state))
    await stores.audit.record(subscriptionAudit(subscription, 'subscription.changed', { state: next.state }))
  return done
}

/** Binds an installer to a locked subscription. */
const applyBind = async (
  deps: NotificationDeps,
  stores: MarketplaceStores,
  subscription: Subscription,
  binding: ParsedBinding,
  { operation, at }: Received,
  { identity, ticks }: { readonly identity: NewSubscription; readonly ticks: bigint | undefined },
): Outcome<BindFailure, NotificationAnswer> => {
  const installer = await stores.installers.lock(binding.installerRef)
  if (installer === undefined || installer.marketplace !== 'CloudB') return left(unknownInstaller())
  const change = transition(subscription, { kind: 'bind', installerRef: installer.ref, ticks })
  if (change.kind === 'refused' || change.kind === 'unknown')
    return invalid(
      change.kind === 'refused' && change.reason === 'other-installer'
        ? 'The binding info is not valid: another installer is bound to the subscription.'
        : 'The binding info is not valid: the subscription has failed or ended.',
    )
  const allowed = mayBind(installer, binding, at)
  if (isLeft(allowed)) return allowed
  if (change.kind === 'unchanged') return right(linked(installer.ref))
  if (allowed.right === 'repeated')
    return invalid('The binding info is not valid: the installer is bound to another subscription.')
  const bound = { installer, binding, next: change.next, operation, at }
  if (change.kind === 'applied') await bindNow(stores, deps.links, { ...bound, subscription })
  else {
    const content = { plan: noPlan, resourceUsageId: '', error: undefined }
    const renewed = await stores.subscriptions.begin(subscription, identity, change.next, content, at)
    await recordRenewal(stores.subscriptions, subscription, renewed, at)
    await bindNow(stores, deps.links, { ...bound, subscription: renewed })
  }
  return right(linked(installer.ref))
}

const applicationIdOf = ({ applicationId = '' }: ApplicationNotification): string => applicationId.slice(0, 512)

const operationOf = ({ eventType = '', provisioningState = '' }: ApplicationNotification): string =>
  `${eventType} ${provisioningState}`.slice(0, 64).trim()

/** Its subscription is locked before the answers are searched: a repetition is not refused. */
const bindWork =
  (
    deps: NotificationDeps,
    key: SubscriptionKey,
    binding: ParsedBinding,
    { notification, ticks }: { readonly notification: ApplicationNotification; readonly ticks: bigint | undefined },
  ): Work =>
  async (stores, inboxKey) => {
    const at = deps.clock.now()
    const identity = newOf(deps, key, notification)
    const subscription =
      (await stores.subscriptions.lock(key)) ?? (await stores.subscriptions.obtain(identity, fresh, at))
    const known = await stores.inbox.find(inboxKey)
    if (known !== undefined) return right(known)
    const received: Received = { notification, operation: operationOf(notification), at }
    const answer = await applyBind(deps, stores, subscription, binding, received, { identity, ticks })
    if (isLeft(answer)) return answer
    return answerWith(stores, inboxKey, 'CloudB', answer.right, at)
  }

/** An event that changes something was not answered before. */
const eventWork =
  (deps: NotificationDeps, key: SubscriptionKey, event: ProviderEvent, notification: ApplicationNotification): Work =>
  async (stores, inboxKey) => {
    const at = deps.clock.now()
    const received: Received = { notification, operation: operationOf(notification), at }
    const answer = await applyProviderEvent(deps, stores, key, event, received, inboxKey)
    return answer === 'answered' ? left(repeated()) : answerWith(stores, inboxKey, 'CloudB', answer, at)
  }

/** Records a notification that changes nothing in the history of its subscription, if there is one. */
const patchWork =
  (deps: NotificationDeps, key: SubscriptionKey, notification: ApplicationNotification): Work =>
  async (stores, inboxKey) => {
    const at = deps.clock.now()
    const known = await stores.subscriptions.lock(key)
    if (known !== undefined && !known.isTombstone) {
      const description = 'A PATCH changes nothing of a subscription.'
      const event = { at, operation: operationOf(notification), outcome: 'Ignored', description } as const
      await stores.subscriptions.record(known.id, { ...event, state: known.state })
    }
    return answerWith(stores, inboxKey, 'CloudB', done, at)
  }

/** Receives a notification of cloud B. Returns a link after a bind only. */
export const makeReceiveApplication = (deps: NotificationDeps) => {
  const answerOnce = makeAnswerOnce(deps)
  return async (call: Call<never>, notification: ApplicationNotification): Outcome<NotifyFailure, Notified> => {
    const parts = parseApplicationId(notification.applicationId ?? '')
    if (parts === undefined) return invalid('The subscription ID is not valid: applicationId names no application.')
    const time = parseEventTime(notification.eventTime)
    if (isLeft(time)) return time
    const event = parseEvent(notification, time.right, deps.clock.now())
    if (isLeft(event)) return event
    const key: SubscriptionKey = { marketplace: 'CloudB', text: applicationKey(parts) }
    const { eventType = '', provisioningState = '' } = notification
    const bound = event.right.kind === 'bind' ? event.right.binding : undefined
    const about = bound === undefined ? [] : [bound.installerRef, bound.clusterId, bound.cloudAccountId]
    const rest = [eventType, provisioningState, ...about]
    const subject = { marketplace: key.marketplace, subject: key.text }
    const identity = { ...subject, rest, time: time.right, boundRef: bound?.installerRef }
    const work =
      event.right.kind === 'bind'
        ? bindWork(deps, key, event.right.binding, { notification, ticks: time.right.ticks })
        : event.right.kind === 'patch'
          ? patchWork(deps, key, notification)
          : eventWork(deps, key, event.right, notification)
    return answerOnce(call, identity, work)
  }
}

/** Resource groups have 1 to 90 characters, applications 3 to 64. Case varies, and so does the first slash. */
const form =
  /^\/?subscriptions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/resourceGroups\/([\p{L}\p{N}._()-]{1,90})\/providers\/(Microsoft\.Solutions)\/applications\/([A-Za-z0-9._-]{3,64})$/iu

/** Returns the parts of the id of a managed application; undefined if the text is none. */
export const parseApplicationId = (text: string): ApplicationParts | undefined => {
  const [, clientSubscriptionId, resourceGroup, provider, application] = form.exec(text) ?? []
  return clientSubscriptionId === undefined ||
    resourceGroup === undefined ||
    provider === undefined ||
    application === undefined
    ? undefined
    : { clientSubscriptionId, resourceGroup, provider, application }
}

/**
 * Returns the text by which ids of applications are compared: the provider changes case and the first slash.
 *
 * @internal
 */
export const applicationKey = ({ clientSubscriptionId, resourceGroup, application }: ApplicationParts): string =>
  [clientSubscriptionId, resourceGroup, application].join('/').toLowerCase()
