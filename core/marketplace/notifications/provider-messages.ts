import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { decodedText, parseJson, textAt } from '../../kernel/json.ts'
import type { Log } from '../../kernel/log.ts'
import type { Call } from '../../kernel/principal.ts'
import type {
  MarketplaceSettings,
  MarketplaceUnitOfWork,
  NotificationDigest,
  NotificationInbox,
  NotificationLimits,
  NotificationLimiter,
  ProviderMessageCounters,
  PushTokens,
  TopicMessage,
  TopicMessages,
} from '../ports.ts'
import { MessageUndecided, NotificationInvalid, NotificationRefused } from '../ports.ts'
import { refuseSender, repeated } from './notifications.ts'

interface MessageDeps {
  readonly clock: Clock
  readonly digest: NotificationDigest
  readonly inbox: Pick<NotificationInbox, 'find'>
  readonly log: Log
  readonly settings: Pick<MarketplaceSettings, 'alertsTo'>
  readonly counters: ProviderMessageCounters
  readonly limiter: NotificationLimiter
  readonly unitOfWork: MarketplaceUnitOfWork
}

type MessageFailure =
  | Failure<'MessageUndecided'>
  | Failure<'NotificationInvalid'>
  | Failure<'NotificationRefused'>
  | Failure<'TooManyNotifications'>

/** A message of a provider about a customer, whose sender is proven. */
interface ProviderMessage {
  readonly marketplace: 'CloudA' | 'CloudC'
  /** The topic or the subscription that sent it. */
  readonly source: string
  /** The same for each repetition. */
  readonly id: string
  readonly action: string
  /** What the provider says of the customer, by the names that the provider uses. */
  readonly details: Readonly<Record<string, string>>
}

/** Returns an identifier of a provider as mails, logs and metrics show it. */
const shown = (text: string): string => text.slice(0, 128).replace(/[^\w:./@-]/g, '?')

const paragraphsOf = ({ marketplace, action, details }: ProviderMessage): readonly string[] => [
  `The marketplace ${marketplace} sent the message ${action}.`,
  Object.entries(details)
    .map(([name, value]) => `${name}: ${value === '' ? 'not sent' : value}`)
    .join(', '),
  'No subscription was changed: the message does not name an installation, and subscriptions do not store these ' +
    'identifiers. Find out at the marketplace which customer it is about. If the customer has cancelled, revoke the ' +
    'subscription with: moorage marketplace subscriptions revoke ID',
]

/** What is done for a message once. */
interface MessageWork {
  /** Right(false): the message is not accepted, and may be sent again. */
  readonly before?: () => Outcome<Failure<'MessageUndecided'>, boolean>
  readonly mail?: { readonly to: string; readonly message: ProviderMessage }
}

/** Runs work for a message once: a repetition does nothing. Returns whether it was run now. */
const makeOnce =
  ({ clock, digest, inbox, limiter, unitOfWork }: MessageDeps) =>
  async (
    { keyed: _, ...call }: Call<never>,
    { marketplace, source, id }: Pick<ProviderMessage, 'marketplace' | 'source' | 'id'>,
    work: MessageWork,
  ): Outcome<Failure<'MessageUndecided'>, boolean> => {
    const key = digest(marketplace, 'message', source, id)
    if ((await inbox.find(key)) !== undefined) return right(false)
    const prepared = work.before === undefined ? right(true) : await work.before()
    if (isLeft(prepared)) return prepared
    if (!prepared.right) return left(MessageUndecided('The provider did not take the confirmation.'))
    const done = await limiter.run(() =>
      unitOfWork.run<Failure<'NotificationRepeated'>, boolean>(call, async (stores) => {
        const answer = { status: 200, message: '', installerRef: '' } as const
        if (!(await stores.inbox.add(key, marketplace, answer, clock.now()))) return left(repeated())
        if (work.mail !== undefined) {
          const { to, message } = work.mail
          const subject = `Message of a marketplace: ${message.action}`
          await stores.mail.post({ to, subject, paragraphs: paragraphsOf(message) })
        }
        return right(true)
      }),
    )
    return right(!isLeft(done))
  }

/** Reports a message to the operator once: by mail, in the log and in the metrics. It changes no subscription. */
const makeReportMessage = (deps: MessageDeps) => {
  const once = makeOnce(deps)
  const { log, settings, counters } = deps
  return async (call: Call<never>, message: ProviderMessage): Outcome<MessageFailure, void> => {
    if (message.action === '') return left(NotificationInvalid('The message does not say what happened.'))
    const mail = settings.alertsTo === '' ? {} : { mail: { to: settings.alertsTo, message } }
    const reported = await once(call, message, mail)
    if (isLeft(reported)) return reported
    if (!reported.right) return right(undefined)
    const { marketplace, id, action, details } = message
    counters.count(marketplace, action)
    log.warn(
      { marketplace, messageId: shown(id), action, ...details },
      'a marketplace sent a message about a customer, which an operator must act on',
    )
    return right(undefined)
  }
}

/** Returns what a provider answers. Left: it could not be asked; the reason is logged and not sent. */
const asked = async <A>(log: Log, work: () => Promise<A>): Outcome<Failure<'MessageUndecided'>, A> => {
  try {
    return right(await work())
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'the provider of a marketplace could not be asked about a message')
    return left(MessageUndecided('The provider could not be asked about the message; send it again.'))
  }
}

const jsonOf = (text: string): unknown => {
  const parsed = parseJson(text)
  return parsed.ok ? parsed.value : undefined
}

const customerOf = ({ topic, id, text, type }: TopicMessage): ProviderMessage => {
  const content = type === 'Notification' ? jsonOf(text) : { action: type }
  return {
    marketplace: 'CloudA',
    source: topic,
    id,
    action: shown(textAt(content, 'action')),
    details: {
      'customer-identifier': shown(textAt(content, 'customer-identifier')),
      'product-code': shown(textAt(content, 'product-code')),
    },
  }
}

/** Receives a message of a topic of cloud A (SNS): verifies it, confirms a subscription, or reports the message. */
export const makeReceiveTopicMessage = (
  deps: MessageDeps & { readonly messages: TopicMessages; readonly limits: Pick<NotificationLimits, 'refused'> },
) => {
  const { messages, limits, log } = deps
  const once = makeOnce(deps)
  const report = makeReportMessage(deps)
  return async (call: Call<never>, sent: unknown): Outcome<MessageFailure, void> => {
    const verified = await asked(log, () => messages.verify(sent, call.signal))
    if (isLeft(verified)) return verified
    if (isLeft(verified.right)) return refuseSender(limits, call.sourceIp, NotificationRefused(verified.right.left))
    const message = verified.right.right
    if (message.type !== 'SubscriptionConfirmation') return report(call, customerOf(message))
    const { topic, id } = message
    const confirmed = await once(
      call,
      { marketplace: 'CloudA', source: topic, id },
      { before: () => asked(log, () => messages.confirm(message, call.signal)) },
    )
    if (isLeft(confirmed)) return confirmed
    if (confirmed.right) log.info({ topic }, 'the subscription of a topic of cloud A is confirmed')
    return right(undefined)
  }
}

/** A message that a subscription of cloud C (Pub/Sub) pushes. `data` is JSON in base64. */
export interface PushedMessage {
  readonly subscription: string
  readonly messageId: string
  readonly data: string
}

/** Reports whether the sender of a pushed message is proven by its token. */
export const makeAdmitPush =
  ({ tokens, limits, log }: { tokens: PushTokens; limits: Pick<NotificationLimits, 'refused'>; log: Log }) =>
  async (sourceIp: string, authorization: string | undefined): Outcome<MessageFailure, boolean> => {
    const proven = await asked(log, () => tokens.isProven(authorization))
    if (isLeft(proven) || proven.right) return proven
    return refuseSender(limits, sourceIp, NotificationRefused('The token does not prove the sender of the message.'))
  }

/** Receives a message that a subscription of cloud C (Pub/Sub) pushes, whose sender is proven, and reports it. */
export const makeReceivePushedMessage = (deps: MessageDeps) => {
  const report = makeReportMessage(deps)
  return (call: Call<never>, { subscription, messageId, data }: PushedMessage): Outcome<MessageFailure, void> => {
    const content = jsonOf(decodedText(data))
    return report(call, {
      marketplace: 'CloudC',
      source: subscription,
      id: messageId,
      action: shown(textAt(content, 'eventType')),
      details: {
        'entitlement.id': shown(textAt(content, 'entitlement', 'id')),
        'account.id': shown(textAt(content, 'account', 'id')),
      },
    })
  }
}
