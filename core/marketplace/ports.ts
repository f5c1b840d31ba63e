import type { Either } from 'fp-ts/lib/Either.js'
import type { ContractLifecycle } from '../contracts/ports.ts'
import type { ContractId } from '../contracts/types.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { MailOutbox } from '../mail/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type {
  Binding,
  Claim,
  Installer,
  InstallerId,
  InstallerPlan,
  Lifecycle,
  Marketplace,
  Plan,
  ProviderError,
  Subscription,
  SubscriptionEvent,
  SubscriptionId,
} from './types.ts'

/** The notification does not prove that it is from the marketplace, or names a subscription that is not known. */
export const NotificationRefused = defineFailure(
  'NotificationRefused',
  'Forbidden',
  'The sender is not proven, or the subscription or the installer must not be changed by it.',
)
/** The notification does not have the form of one, or contradicts what is known. */
export const NotificationInvalid = defineFailure(
  'NotificationInvalid',
  'Invalid',
  'The notification is not understood, or contradicts what is known about the installer.',
)
/** What proves the sender of a message could not be read, or the provider did not take a confirmation. */
export const MessageUndecided = defineFailure(
  'MessageUndecided',
  'Unavailable',
  'The provider of the message did not answer; the message may be sent again.',
)
/** No subscription of the marketplace has this id. */
export const SubscriptionMissing = defineFailure(
  'SubscriptionMissing',
  'NotFound',
  'The marketplace has no subscription with this id.',
)
/** The installation of a subscription does not take reports of usage. */
export const ConsoleNotReady = defineFailure(
  'ConsoleNotReady',
  'Invalid',
  'The address of the installation is not known, or it does not answer that it takes reports of usage.',
)
/** The address or the token of an installation is not one. */
export const ConsoleInvalid = defineFailure(
  'ConsoleInvalid',
  'Unprocessable',
  'The address is no origin, or a token is missing, or the marketplace takes no usage from installations.',
)
/** Too many notifications that are refused came from an address, or too many binds of one installer. */
export const TooManyNotifications = defineFailure(
  'TooManyNotifications',
  'Backoff',
  'Too many notifications were refused to this address, or name this installer; wait as `Retry-After` says.',
)
/** No installer has this id. */
export const InstallerMissing = defineFailure('InstallerMissing', 'NotFound', 'No installer has this id.')
/** The installer is not valid as it is requested. */
export const InstallerInvalid = defineFailure(
  'InstallerInvalid',
  'Unprocessable',
  'The account, a product or the archive of the installer is not valid.',
)
/** The link to an archive has expired or was changed. */
export const ArchiveLinkRefused = defineFailure(
  'ArchiveLinkRefused',
  'Forbidden',
  'The link to the archive is not valid, or it has expired.',
)
/** There is no claim with this id. */
export const ClaimMissing = defineFailure('ClaimMissing', 'NotFound', 'There is no claim with this id.')
/** The claim is taken. */
export const ClaimTaken = defineFailure('ClaimTaken', 'Conflict', 'The claim is already taken, or not allowed yet.')
/** The rules were asked a moment ago. */
export const ClaimCheckTooSoon = defineFailure(
  'ClaimCheckTooSoon',
  'Backoff',
  'The claim was checked a moment ago, or the address asks too often.',
)
/** The organization that is to take over a claim does not exist. */
export const ClaimantMissing = defineFailure(
  'ClaimantMissing',
  'Unprocessable',
  'The organization that the claim is for does not exist.',
)

/** Proves the senders of notifications. */
export interface NotificationSenders {
  /** Reports whether the address is one from which installers of cloud A send. */
  isInstallerAddress(address: string): boolean
  /** Reports whether the texts are exactly one, and equal to a secret that is in force. Takes constant time. */
  isSecret(given: readonly string[]): boolean
  /** Reports whether the installer is the one that may test notifications of cloud C without the secret. */
  isTestInstaller(installerRef: string): boolean
}
export const NotificationSendersPort = portKey<NotificationSenders>('marketplace.NotificationSenders')

/** A message of a topic of cloud A whose signature was verified. */
export interface TopicMessage {
  readonly type: 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation'
  /** The same for each repetition. */
  readonly id: string
  readonly topic: string
  readonly text: string
  /** Of a confirmation: a GET of it confirms; else empty. */
  readonly confirmUrl: string
}

/** Verifies messages of topics of cloud A (SNS). */
export interface TopicMessages {
  /** Left: why the message is refused, for people. Throws if the certificate cannot be requested. */
  verify(message: unknown, signal: AbortSignal): Promise<Either<string, TopicMessage>>
  /**
   * Confirms the subscription of a verified `SubscriptionConfirmation`, at an address of the provider only. Reports
   * whether the provider has taken it. Throws if the provider cannot be asked.
   */
  confirm(message: TopicMessage, signal: AbortSignal): Promise<boolean>
}
export const TopicMessagesPort = portKey<TopicMessages>('marketplace.TopicMessages')

/** Verifies the tokens with which subscriptions of cloud C (Pub/Sub) push messages. */
export interface PushTokens {
  /**
   * Reports whether the header is a token of the provider for this service and the configured service account. Throws
   * if the keys of the provider cannot be requested.
   */
  isProven(authorization: string | undefined): Promise<boolean>
}
export const PushTokensPort = portKey<PushTokens>('marketplace.PushTokens')

/** Counts messages of providers since the start of this process. */
export interface ProviderMessageCounters {
  count(marketplace: Marketplace, action: string): void
}
export const ProviderMessageCountersPort = portKey<ProviderMessageCounters>('marketplace.ProviderMessageCounters')

/** What of the settings of this deployment must be corrected, or will soon be. */
export interface MarketplaceFaults {
  /** One sentence for each. */
  list(): readonly string[]
}
export const MarketplaceFaultsPort = portKey<MarketplaceFaults>('marketplace.Faults')

/** The digest of a notification, by which it is known when it is sent again: 32 bytes. */
export type NotificationKey = Uint8Array
/** Returns the digest of texts: of other texts, it is another. */
export type NotificationDigest = (...texts: readonly string[]) => NotificationKey
export const NotificationDigestPort = portKey<NotificationDigest>('marketplace.NotificationDigest')

/** The stored answer to a notification. It has no secret: a link is made from the installer. */
export interface NotificationAnswer {
  readonly status: 200 | 403
  readonly message: string
  /** The installer whose archive the answer links to; empty if it has no link. */
  readonly installerRef: string
}

/** The notifications that were answered. */
export interface NotificationInbox {
  find(key: NotificationKey): Promise<NotificationAnswer | undefined>
  /** Returns false if there is an answer to the notification: the transaction must then be rolled back. */
  add(key: NotificationKey, marketplace: Marketplace, answer: NotificationAnswer, at: Date): Promise<boolean>
  /** Removes what was answered before an instant. Returns how many; at most `limit`. */
  removeBefore(at: Date, limit: number): Promise<number>
}
export const NotificationInboxPort = portKey<NotificationInbox>('marketplace.NotificationInbox')

/** What identifies a subscription for its provider. */
export interface SubscriptionKey {
  readonly marketplace: Marketplace
  /** Cloud B: see `applicationKey`; else the reference of the installer. */
  readonly text: string
}

export interface NewSubscription {
  readonly key: SubscriptionKey
  readonly ref: string
  readonly applicationId: string
}

/** What a notification or a site admin changes. Absent fields stay. */
export interface SubscriptionChanges {
  readonly lifecycle?: Lifecycle
  readonly plan?: Plan
  readonly resourceUsageId?: string
  readonly error?: ProviderError | undefined
  readonly clusterId?: string
  readonly accountId?: Subscription['accountId']
  readonly claimedBy?: UserId
  readonly contractIds?: readonly ContractId[]
  readonly alertedAt?: Date
  /** Counts a report. */
  readonly reportedAt?: Date
}

/** What the provider says of an application. */
export type SubscriptionContent = Pick<Subscription, 'plan' | 'resourceUsageId' | 'error'>

/** Where an installation takes reports of usage. */
export interface HostedConsole {
  /** An origin; empty to remove what is stored. */
  readonly url: string
  /** An access token of a site admin there. */
  readonly token: Secret | undefined
}

/** Asks an installation of a customer whether it takes reports of usage. */
export interface HostedConsoles {
  /** Returns why it does not; undefined if it does. Never rejects. It returns within ten seconds. */
  faultOf(marketplace: Marketplace, console: HostedConsole, signal: AbortSignal): Promise<string | undefined>
}
export const HostedConsolesPort = portKey<HostedConsoles>('marketplace.HostedConsoles')

/** Subscriptions and their history. */
export interface SubscriptionStore {
  /** Returns the subscriptions, the newest first. Tombstones are not among them. */
  list(page: PageRequest): Promise<Page<Subscription>>
  find(marketplace: Marketplace, ref: string): Promise<Subscription | undefined>
  findById(id: SubscriptionId): Promise<Subscription | undefined>
  /** Locks the subscription until the transaction ends. */
  lock(key: SubscriptionKey): Promise<Subscription | undefined>
  lockByRef(marketplace: Marketplace, ref: string): Promise<Subscription | undefined>
  lockById(id: SubscriptionId): Promise<Subscription | undefined>
  /**
   * Inserts the subscription unless there is one with this key, and locks it. Of two transactions at once, one waits
   * for the other.
   */
  obtain(subscription: NewSubscription, lifecycle: Lifecycle, at: Date): Promise<Subscription>
  /** Inserts a subscription, which is locked then. Returns undefined if there is one with its key. */
  insert(
    subscription: NewSubscription,
    lifecycle: Lifecycle,
    content: SubscriptionContent,
    at: Date,
  ): Promise<Subscription | undefined>
  /**
   * Begins a subscription under the key of a locked one that is deleted. The former keeps its reference, its history
   * and its contracts, and is no longer found by the key. Returns the new one, which is locked.
   */
  begin(
    former: Pick<Subscription, 'id' | 'ref' | 'lastTicks'>,
    subscription: NewSubscription,
    lifecycle: Lifecycle,
    content: SubscriptionContent,
    at: Date,
  ): Promise<Subscription>
  /** Sets what an event of the provider leaves of a locked subscription. */
  apply(id: SubscriptionId, lifecycle: Lifecycle, content: SubscriptionContent, at: Date): Promise<void>
  /** Returns the subscriptions that are bound or running, the oldest first; at most `limit`. */
  live(marketplace: Marketplace, limit: number): Promise<readonly Subscription[]>
  /** Changes a locked subscription. */
  update(id: SubscriptionId, changes: SubscriptionChanges, at: Date): Promise<void>
  /** Sets where a locked subscription takes reports of usage. The token is sealed. */
  setConsole(subscription: Pick<Subscription, 'id' | 'ref'>, console: HostedConsole, at: Date): Promise<void>
  /** Returns the token of `setConsole`; undefined if there is none. */
  meteringToken(subscription: Pick<Subscription, 'id' | 'ref'>): Promise<Secret | undefined>
  /** Adds to the history. */
  record(id: SubscriptionId, event: Omit<SubscriptionEvent, 'id'>): Promise<void>
  /** Returns the history, the oldest first; at most `limit` of the newest events. */
  history(id: SubscriptionId, limit: number): Promise<readonly SubscriptionEvent[]>
  /** Removes tombstones that were not changed since an instant. Returns how many; at most `limit`. */
  removeTombstones(unchangedSince: Date, limit: number): Promise<number>
}
export const SubscriptionStorePort = portKey<SubscriptionStore>('marketplace.SubscriptionStore')

export interface NewInstaller extends InstallerPlan {
  readonly ref: string
  readonly marketplace: Marketplace
  readonly expiresAt: Date
  readonly archive: Uint8Array
}

/** Installers, with their archives. */
export interface InstallerStore {
  /** Returns the installers, the newest first. */
  list(page: PageRequest): Promise<Page<Installer>>
  find(ref: string): Promise<Installer | undefined>
  findById(id: InstallerId): Promise<Installer | undefined>
  /** Locks the installer until the transaction ends. */
  lock(ref: string): Promise<Installer | undefined>
  insert(installer: NewInstaller, at: Date): Promise<InstallerId>
  /** Returns the archive; undefined if there is no such installer. */
  archive(ref: string): Promise<Uint8Array | undefined>
  /** Binds a locked installer. */
  bind(
    installer: Pick<Installer, 'id' | 'ref'>,
    subscriptionId: SubscriptionId,
    binding: Omit<Binding, 'installerRef'>,
    adminUsername: string,
    when: { readonly at: Date; readonly linkUntil: Date },
  ): Promise<void>
  /** Moves the end of the link, unless another request has done so: then nothing changes. */
  renewLink(id: InstallerId, from: Date, to: Date): Promise<void>
  /** Erases passwords that an earlier release sealed with binds before an instant. Returns how many. */
  erasePasswordsBefore(at: Date): Promise<number>
}
export const InstallerStorePort = portKey<InstallerStore>('marketplace.InstallerStore')

/** Claims. */
export interface ClaimStore {
  insert(claim: Pick<Claim, 'ref' | 'installerId'>, at: Date): Promise<void>
  find(ref: string): Promise<Claim | undefined>
  /** Locks the claim until the transaction ends. */
  lock(ref: string): Promise<Claim | undefined>
  /** Returns the oldest claim that is claimable and not taken. */
  oldestClaimable(): Promise<Claim | undefined>
  /**
   * Counts an attempt and moves the next check. Returns false if another caller has done so since the claim was read:
   * one evaluates the rules.
   */
  reserveCheck(claim: Pick<Claim, 'ref' | 'attempts'>, nextCheckAt: Date): Promise<boolean>
  setClaimable(ref: string): Promise<void>
  /** Ends the wait before the rules are asked again about the claim of an installer. */
  endWait(installerId: InstallerId, at: Date): Promise<void>
  /** Takes a locked claim. */
  take(ref: string, by: UserId, orgId: OrgId | undefined, at: Date): Promise<void>
}
export const ClaimStorePort = portKey<ClaimStore>('marketplace.ClaimStore')

/** Decides which claims may be taken. */
export interface ClaimRules {
  /**
   * Reports whether what this service already knows allows the claim. It is asked at each question, also while the rules
   * wait, so it must cost no more than a look into the database. Rules without it are asked after their wait only.
   */
  isKnownClaimable?(claim: Claim): Promise<boolean>
  /** May ask other systems; throws if they do not answer. It is not called in a transaction. */
  isClaimable(claim: Claim): Promise<boolean>
}
export const ClaimRulesPort = portKey<ClaimRules>('marketplace.ClaimRules')

/** Bounds how often an address asks whether a claim may be taken. */
export interface ClaimAllowance {
  /** Returns the seconds to wait; undefined if the address may ask now. */
  take(address: string): Promise<number | undefined>
}
export const ClaimAllowancePort = portKey<ClaimAllowance>('marketplace.ClaimAllowance')

/** What an archive is made from. */
export interface ArchiveContent {
  readonly installerRef: string
  readonly claimRef: string
  readonly marketplace: Marketplace
  /** Where the installer sends its bind. */
  readonly notificationUrl: string
  readonly claimableUrl: string
  readonly products: InstallerPlan['products']
  /** The chart that the scripts install, with its version; each is empty if the customer names it. */
  readonly chart: string
  readonly chartVersion: string
  /** YAML of values for the chart, which go before those of the service. */
  readonly values: string
  readonly createdAt: Date
}

/** Builds the archive of an installer: scripts and values for the customer's cluster, and a signature over them. */
export interface InstallerArchive {
  /** Returns why the values are not usable; undefined if they are. */
  faultOf(content: Pick<ArchiveContent, 'chart' | 'values'>): string | undefined
  /** Returns a gzipped tar file. */
  build(content: ArchiveContent): Promise<Uint8Array>
  /** Returns the key that verifies the signatures, in PEM. */
  publicKey(): Promise<string>
}
export const InstallerArchivePort = portKey<InstallerArchive>('marketplace.InstallerArchive')

/**
 * Bounds notifications that have no effect. A sender that is proven is never counted among those that are refused, so
 * that others behind its address cannot stop it.
 */
export interface NotificationLimits {
  /** Counts a notification that is refused. Returns the seconds to wait if its address has sent too many. */
  refused(address: string): number | undefined
  /** Counts a bind that was not answered before. Returns the seconds to wait if its installer was named too often. */
  bind(installerRef: string): number | undefined
}
export const NotificationLimitsPort = portKey<NotificationLimits>('marketplace.NotificationLimits')

/** Bounds how many notifications are carried out, and wait, at the same time. Networks of senders take turns. */
export interface NotificationLimiter {
  /**
   * Runs the work when its turn comes. Throws `Busy`, and does nothing, at once if too many of the sender wait already,
   * or if the turn does not come in time.
   */
  run<A>(work: () => Promise<A>): Promise<A>
}
export const NotificationLimiterPort = portKey<NotificationLimiter>('marketplace.NotificationLimiter')

/** A link to an archive, as a request has it. */
export interface ArchiveLink {
  readonly installerRef: string
  /** From this instant on, in milliseconds since the epoch, the link is refused. */
  readonly expires: number
  readonly signature: string
}

/** Makes and checks links to archives, which need no other credential. */
export interface ArchiveLinks {
  /** Of the same installer and instant, the link is the same. */
  make(installerRef: string, until: Date): string
  isSigned(link: ArchiveLink): boolean
}
export const ArchiveLinksPort = portKey<ArchiveLinks>('marketplace.ArchiveLinks')

/** The key that signs archives. */
export interface SigningKeyStore {
  /**
   * Returns the key, PKCS#8 in PEM; makes it by `make` if there is none. Of several callers at once, all get one key.
   */
  obtain(make: () => Promise<Secret>): Promise<Secret>
}

/** Who is notified of faults, and where clients reach the service. */
export interface MarketplaceSettings {
  /** Undefined if this deployment is of no marketplace. */
  readonly marketplace: Marketplace | undefined
  /** A mail address; empty if there is none. */
  readonly alertsTo: string
  /** Returns how senders reach the listener of notifications: an origin, such as `https://hooks.example.com`. */
  listenerUrl(): string
}
export const MarketplaceSettingsPort = portKey<MarketplaceSettings>('marketplace.Settings')

/** The stores that a change to a subscription needs, in one transaction. */
export interface MarketplaceStores {
  readonly inbox: NotificationInbox
  readonly subscriptions: SubscriptionStore
  readonly installers: InstallerStore
  readonly claims: ClaimStore
  readonly contracts: ContractLifecycle
  readonly mail: MailOutbox
  readonly audit: AuditTrail
}
export type MarketplaceUnitOfWork = UnitOfWork<MarketplaceStores>
export const MarketplaceUnitOfWorkPort = portKey<MarketplaceUnitOfWork>('marketplace.UnitOfWork')
