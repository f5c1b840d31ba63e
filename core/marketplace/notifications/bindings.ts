import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { secret } from '../../kernel/secret.ts'
import type { ArchiveLinks, MarketplaceStores, NotificationAnswer } from '../ports.ts'
import { NotificationInvalid, NotificationRefused } from '../ports.ts'
import type { Binding, Installer, Lifecycle, Marketplace, Subscription } from '../types.ts'
import { beginContracts, subscriptionAudit } from '../subscriptions/subscriptions.ts'

/** The part of a binding info that is used, as sent. The password is not: see the decision marketplace-installers. */
export interface BindingInfo {
  readonly marketplace: string | undefined
  readonly installerId: string | undefined
  readonly clusterId: string | undefined
  readonly cloudAAccountID: string | undefined
  readonly adminUsername: string | undefined
}

/** A bind that has the form of one. */
export interface ParsedBinding extends Binding {
  /** The name of the first account of the installation; empty if none was sent. */
  readonly adminUsername: string
}

const refused = (what: string): Either<Failure<'NotificationInvalid'>, never> =>
  left(NotificationInvalid(`The binding info is not valid: ${what}.`))

/** Returns the installation that a notification of a marketplace names. */
export const parseBinding = (
  info: BindingInfo | undefined,
  marketplace: Marketplace,
): Either<Failure<'NotificationInvalid'>, ParsedBinding> => {
  if (info === undefined) return refused('it is missing')
  const { installerId = '', clusterId = '', cloudAAccountID = '', adminUsername = '' } = info
  if (info.marketplace !== marketplace) return refused(`marketplace must be ${marketplace}`)
  if (installerId.trim() === '') return refused('installerId must not be empty')
  if (clusterId.trim() === '') return refused('clusterId must not be empty')
  if (cloudAAccountID !== '' && !/^\d{12}$/.test(cloudAAccountID)) return refused('cloudAAccountID must be 12 digits')
  return right({
    installerRef: installerId.trim().toLowerCase(),
    clusterId: clusterId.trim(),
    cloudAccountId: cloudAAccountID,
    adminUsername,
  })
}

export type BindFailure = Failure<'NotificationInvalid'> | Failure<'NotificationRefused'>

/** The life of a link to an archive, in milliseconds. An installer uses it at once. */
export const linkMilliseconds = 24 * 3600 * 1000

/** Returns the answer with the link to the archive of an installer. */
export const linked = (installerRef: string): NotificationAnswer => ({ status: 200, message: '', installerRef })

export const unknownInstaller = (): Failure<'NotificationInvalid'> =>
  NotificationInvalid('The binding info is not valid: there is no such installer.')

/** What is bound, to what. */
interface Bind {
  readonly installer: Installer
  readonly subscription: Subscription
  readonly binding: ParsedBinding
  readonly next: Lifecycle
  readonly operation: string
  readonly at: Date
}

/**
 * Binds a locked installer to a locked subscription: the contracts begin, and the contact of the installer is notified.
 */
export const bindNow = async (
  stores: MarketplaceStores,
  links: ArchiveLinks,
  { installer, subscription, binding, next, operation, at }: Bind,
): Promise<void> => {
  const { clusterId, cloudAccountId, adminUsername } = binding
  const linkUntil = new Date(at.getTime() + linkMilliseconds)
  await stores.installers.bind(installer, subscription.id, { clusterId, cloudAccountId }, adminUsername, {
    at,
    linkUntil,
  })
  await stores.subscriptions.update(subscription.id, { lifecycle: next, clusterId }, at)
  await stores.claims.endWait(installer.id, at)
  const { accountId } = installer
  if (accountId !== undefined)
    await beginContracts(stores, { ...subscription, clusterId }, { installer, accountId, at })
  const description = `The installer was bound to the cluster ${clusterId}.`
  const { state } = next
  await stores.subscriptions.record(subscription.id, { at, operation, outcome: 'Succeeded', description, state })
  await stores.audit.record(subscriptionAudit(subscription, 'subscription.bound', { cluster: clusterId }))
  if (installer.contact === '') return
  await stores.mail.post({
    to: installer.contact,
    subject: 'Your installer was used',
    paragraphs: [
      `The installer ${installer.ref} was bound to the cluster ${clusterId}.`,
      'The link leads to the archive with the scripts and values of the installation. It ends after 24 hours.',
    ],
    action: { label: 'Download the archive', url: secret(links.make(installer.ref, linkUntil)) },
  })
}

const isSame = (bound: NonNullable<Installer['binding']>, binding: ParsedBinding): boolean =>
  bound.clusterId === binding.clusterId && bound.cloudAccountId === binding.cloudAccountId

/**
 * Returns whether a locked installer may be bound: `fresh`, or `repeated` if it is bound to the same installation. An
 * installer of cloud C is bound by one notification only.
 */
export const mayBind = (
  installer: Installer,
  binding: ParsedBinding,
  at: Date,
): Either<BindFailure, 'fresh' | 'repeated'> => {
  const bound = installer.binding
  if (bound === undefined)
    return at.getTime() < installer.expiresAt.getTime()
      ? right('fresh')
      : left(NotificationInvalid('The binding info is not valid: the installer has expired.'))
  if (installer.marketplace === 'CloudC') return left(NotificationRefused('The installer is already bound.'))
  return isSame(bound, binding)
    ? right('repeated')
    : left(NotificationInvalid('The binding info is not valid: the installer is bound to another installation.'))
}
