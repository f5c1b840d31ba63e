import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Call } from '../../kernel/principal.ts'
import { hex } from '../../kernel/secret.ts'
import type {
  ArchiveLinks,
  InstallerStore,
  MarketplaceSettings,
  MarketplaceStores,
  MarketplaceUnitOfWork,
  NotificationAnswer,
  NotificationDigest,
  NotificationInbox,
  NotificationKey,
  NotificationLimits,
} from '../ports.ts'
import { NotificationInvalid, NotificationRefused, TooManyNotifications } from '../ports.ts'
import type { Marketplace } from '../types.ts'
import type { BindFailure, BindingInfo, ParsedBinding } from './bindings.ts'
import { bindNow, linkMilliseconds, linked, mayBind, parseBinding, unknownInstaller } from './bindings.ts'
import { parseTicks } from './event-times.ts'

export interface NotificationDeps {
  readonly clock: Clock
  readonly digest: NotificationDigest
  readonly inbox: Pick<NotificationInbox, 'find'>
  readonly installers: Pick<InstallerStore, 'find' | 'renewLink'>
  readonly limits: Pick<NotificationLimits, 'bind'>
  readonly links: ArchiveLinks
  readonly log: Log
  readonly newRef: () => string
  readonly settings: MarketplaceSettings
  readonly unitOfWork: MarketplaceUnitOfWork
}

/** The answer to a notification: the link to the archive of an installer, or undefined for none. */
export type Notified = string | undefined

/** When the sender says that the event happened. */
export interface EventTime {
  /** As sent; empty if it was not sent. */
  readonly text: string
  /** In units of 100 ns since the epoch; undefined if it was not sent. */
  readonly ticks: bigint | undefined
}

/** Returns the time of an event. Left: the text is no instant. */
export const parseEventTime = (text: string | undefined): Either<Failure<'NotificationInvalid'>, EventTime> => {
  if (text === undefined || text === '') return right({ text: '', ticks: undefined })
  const ticks = parseTicks(text)
  return ticks === undefined
    ? left(NotificationInvalid('The notification is not valid: eventTime must be an RFC 3339 date-time.'))
    : right({ text, ticks })
}

const wrongDeployment = (marketplace: Marketplace): Failure<'NotificationRefused'> =>
  NotificationRefused(`This deployment takes no notifications of ${marketplace}.`)

/** Returns the failure of a notification of a marketplace that is not the one of this deployment. */
export const refusalOfDeployment = (
  settings: Pick<MarketplaceSettings, 'marketplace'>,
  marketplace: Marketplace,
): Failure<'NotificationRefused'> | undefined =>
  settings.marketplace === marketplace ? undefined : wrongDeployment(marketplace)

/** Refuses a sender that is not proven. It is counted after it was judged, so that the right secret always admits. */
export const refuseSender = (
  limits: Pick<NotificationLimits, 'refused'>,
  sourceIp: string,
  refused: Failure<'NotificationRefused'>,
): Either<Failure<'NotificationRefused'> | Failure<'TooManyNotifications'>, never> => {
  const wait = limits.refused(sourceIp)
  return left(
    wait === undefined
      ? refused
      : TooManyNotifications('Too many notifications from this address were refused; wait and try again.', {
          retryAfterSeconds: wait,
        }),
  )
}

/** Returns the link to an archive. A link that has ended is replaced: the sender has proven the same as before. */
const linkTo = async (
  { clock, installers, links }: Pick<NotificationDeps, 'clock' | 'installers' | 'links'>,
  ref: string,
): Promise<string> => {
  const installer = await installers.find(ref)
  if (installer?.linkExpiresAt === undefined) throw new Error('An installer that was bound is not found.')
  const now = clock.now()
  if (now.getTime() < installer.linkExpiresAt.getTime()) return links.make(ref, installer.linkExpiresAt)
  await installers.renewLink(installer.id, installer.linkExpiresAt, new Date(now.getTime() + linkMilliseconds))
  const renewed = await installers.find(ref)
  if (renewed?.linkExpiresAt === undefined) throw new Error('An installer that was bound is not found.')
  return links.make(ref, renewed.linkExpiresAt)
}

/** Another request has answered the same notification in the same moment. No client sees it. */
const NotificationRepeated = defineFailure('NotificationRepeated', 'Conflict', 'The notification was answered before.')
export const repeated = (): Failure<'NotificationRepeated'> =>
  NotificationRepeated('The notification was answered before.')
type WorkFailure = BindFailure | Failure<'NotificationRepeated'>

/** What a notification does in its transaction. The answer is stored with it; a Left stores nothing. */
export type Work = (stores: MarketplaceStores, key: NotificationKey) => Outcome<WorkFailure, NotificationAnswer>

/** Stores and returns the answer. Left: there is one, and the work is undone. */
export const answerWith = async (
  { inbox }: Pick<MarketplaceStores, 'inbox'>,
  key: NotificationKey,
  marketplace: Marketplace,
  answer: NotificationAnswer,
  at: Date,
): Outcome<WorkFailure, NotificationAnswer> =>
  (await inbox.add(key, marketplace, answer, at)) ? right(answer) : left(repeated())

/** A notification that is not answered, and may be sent again. */
export type NotifyFailure = BindFailure | Failure<'TooManyNotifications'>

/**
 * Runs work of one subject after that before it, and the same work once: repetitions that arrive before its end get its
 * result. The database decides; this spares it copies, and connections that wait for each other's locks.
 */
const makeLimiter = <A>() => {
  const running = new Map<string, Promise<A>>()
  const last = new Map<string, Promise<unknown>>()
  const run = async (subject: string, key: string, work: () => Promise<A>): Promise<A> => {
    const before = last.get(subject)
    const own = (before ?? Promise.resolve()).then(work, work)
    running.set(key, own)
    last.set(subject, own)
    try {
      return await own
    } finally {
      running.delete(key)
      if (last.get(subject) === own) last.delete(subject)
    }
  }
  return (subject: string, key: string, work: () => Promise<A>): Promise<A> =>
    running.get(key) ?? run(subject, key, work)
}

/** Of a notification: what it is about, and all that makes it another one than those before. */
export interface NotificationIdentity {
  readonly marketplace: Marketplace
  readonly subject: string
  readonly rest: readonly string[]
  readonly time: EventTime
  /** The installer that a bind names. */
  readonly boundRef?: string | undefined
}

/**
 * Answers a notification once: the answer is stored in the transaction of its work, and is given to each repetition. Of
 * several at once, one does the work. Without a time a notification cannot be distinguished from a later one, so it is
 * always carried out, which changes nothing the second time.
 */
export const makeAnswerOnce = (deps: NotificationDeps) => {
  const turn = makeLimiter<Either<NotifyFailure, Notified>>()
  const answered = async (answer: NotificationAnswer): Outcome<BindFailure, Notified> => {
    if (answer.status === 403) return left(NotificationRefused(answer.message))
    return right(answer.installerRef === '' ? undefined : await linkTo(deps, answer.installerRef))
  }
  const answer = async (
    call: Call<NotificationAnswer>,
    key: NotificationKey,
    boundRef: string | undefined,
    work: Work,
  ): Outcome<NotifyFailure, Notified> => {
    const known = await deps.inbox.find(key)
    if (known !== undefined) return answered(known)
    const wait = boundRef === undefined ? undefined : deps.limits.bind(boundRef)
    if (wait !== undefined)
      return left(
        TooManyNotifications('The installer is named by too many notifications; wait and try again.', {
          retryAfterSeconds: wait,
        }),
      )
    const done = await deps.unitOfWork.run<WorkFailure, NotificationAnswer>(call, (stores) => work(stores, key))
    if (!isLeft(done)) return answered(done.right)
    if (done.left.tag !== 'NotificationRepeated') return left(done.left)
    const other = await deps.inbox.find(key)
    if (other === undefined) throw new Error('An answer that exists is not found.')
    return answered(other)
  }
  return (
    { keyed: _, ...call }: Call<never>,
    { marketplace, subject, rest, time, boundRef }: NotificationIdentity,
    work: Work,
  ): Outcome<NotifyFailure, Notified> => {
    const unique = time.ticks === undefined ? [deps.newRef()] : []
    const key = deps.digest(marketplace, subject, ...rest, time.text, ...unique)
    return turn(`${marketplace} ${subject}`, hex(key), () => answer(call, key, boundRef, work))
  }
}

/** A notification of cloud A or cloud C: an installation is to be bound. The type of the event is not defined. */
export interface BindNotification {
  readonly marketplace: 'CloudA' | 'CloudC'
  readonly eventType: string | undefined
  readonly eventTime: string | undefined
  readonly bindingInfo: BindingInfo | undefined
}

const bindWork =
  (deps: NotificationDeps, { marketplace, eventType }: BindNotification, binding: ParsedBinding): Work =>
  async (stores, key) => {
    const at = deps.clock.now()
    const installer = await stores.installers.lock(binding.installerRef)
    if (installer === undefined || installer.marketplace !== marketplace) return left(unknownInstaller())
    const known = await stores.inbox.find(key)
    if (known !== undefined) return right(known)
    const allowed = mayBind(installer, binding, at)
    if (isLeft(allowed)) return allowed
    const answer = linked(installer.ref)
    if (allowed.right === 'fresh') {
      const next = {
        state: 'Bounded',
        installerRef: installer.ref,
        isProvisioned: false,
        lastTicks: undefined,
        isTombstone: false,
      } as const
      const subscription = await stores.subscriptions.obtain(
        { key: { marketplace, text: installer.ref }, ref: deps.newRef(), applicationId: '' },
        next,
        at,
      )
      const operation = `BIND ${(eventType ?? '').slice(0, 64)}`.trim()
      await bindNow(stores, deps.links, { installer, subscription, binding, next, operation, at })
    }
    return answerWith(stores, key, marketplace, answer, at)
  }

/** Receives a notification of cloud A or cloud C. Returns the link to the archive of the installer. */
export const makeReceiveBind = (deps: NotificationDeps) => {
  const answerOnce = makeAnswerOnce(deps)
  return async (call: Call<never>, notification: BindNotification): Outcome<NotifyFailure, Notified> => {
    const { marketplace, eventType = '' } = notification
    const time = parseEventTime(notification.eventTime)
    if (isLeft(time)) return time
    const binding = parseBinding(notification.bindingInfo, marketplace)
    if (isLeft(binding)) return binding
    const { installerRef, clusterId, cloudAccountId } = binding.right
    deps.log.info({ marketplace, eventType: eventType.slice(0, 64) }, 'a notification of a marketplace arrived')
    const rest = [eventType, clusterId, cloudAccountId]
    const identity = { marketplace, subject: installerRef, rest, time: time.right, boundRef: installerRef }
    return answerOnce(call, identity, bindWork(deps, notification, binding.right))
  }
}
