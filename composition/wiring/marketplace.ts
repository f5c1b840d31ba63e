import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { makeArchiveLinks } from '../../adapters/marketplace/archive-links.ts'
import { makeClaimAllowance } from '../../adapters/marketplace/claim-allowance.ts'
import { makeInstallerArchive } from '../../adapters/marketplace/installer-archive.ts'
import { makeNotificationSenders, notificationDigest } from '../../adapters/marketplace/notification-senders.ts'
import type { SourceRanges } from '../../adapters/marketplace/source-ranges.ts'
import { makeTopicMessages } from '../../adapters/marketplace/topic-messages.ts'
import { makeSourceRanges } from '../../adapters/marketplace/source-ranges.ts'
import { makeUserUrlPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractEvents, makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { makeSqlLicenseStore } from '../../adapters/sql/contracts/license-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlClaimStore } from '../../adapters/sql/marketplace/claim-store.ts'
import { makeSqlInstallerStore } from '../../adapters/sql/marketplace/installer-store.ts'
import { makeSqlNotificationInbox, makeSqlSigningKeyStore } from '../../adapters/sql/marketplace/notification-inbox.ts'
import { makeSqlSubscriptionStore } from '../../adapters/sql/marketplace/subscription-store.ts'
import { writeWhole } from '../../adapters/system/whole-files.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { makeContractLifecycle } from '../../core/contracts/lifecycle.ts'
import type { ContractLifecycle } from '../../core/contracts/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken, secret, SecretBoxToken } from '../../core/kernel/secret.ts'
import type { AuditTrail } from '../../core/kernel/unit-of-work.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import { makeClaimRules } from '../../core/marketplace/claims/claims.ts'
import { CreateInstallerToken, makeCreateInstaller } from '../../core/marketplace/installers/installers.ts'
import {
  ArchiveLinksToken,
  ClaimAllowanceToken,
  ClaimRulesToken,
  ClaimStoreToken,
  InstallerArchiveToken,
  InstallerStoreToken,
  MarketplaceFaultsToken,
  MarketplaceSettingsToken,
  MarketplaceUnitOfWorkToken,
  NotificationDigestToken,
  NotificationInboxToken,
  NotificationSendersToken,
  SubscriptionStoreToken,
  TopicMessagesToken,
} from '../../core/marketplace/ports.ts'
import type { Marketplace } from '../../core/marketplace/types.ts'
import { MembershipStoreToken } from '../../core/organizations/ports.ts'
import type { Boot, Provide } from '../boot.ts'
import type { Resolve } from '../container.ts'
import { BindMailOutboxToken } from './mail.ts'

const marketplaceOf = ({ deployment }: Pick<Boot, 'deployment'>): Marketplace | undefined => {
  switch (deployment.type) {
    case 'CloudAMarketplaceDeployment':
      return 'CloudA'
    case 'CloudBMarketplaceDeployment':
      return 'CloudB'
    case 'CloudCMarketplaceDeployment':
      return 'CloudC'
    default:
      return undefined
  }
}

/** A URL that the operator has configured is intended, at any address. */
const anywhere = { hasHost: () => true, hasAddress: () => true }

const rangesOf = (boot: Boot): SourceRanges => {
  const { settings, log, resolver, readings } = boot
  const ranges = makeSourceRanges({
    url: settings.cloudAIpRanges === 'off' ? undefined : new URL(settings.cloudAIpRanges),
    fetch: makeGuardedFetch(makeUserUrlPolicy(anywhere, resolver.lookup), readings),
    folder: join(settings.dataDir, 'marketplace'),
    log,
    write: writeWhole,
    chance: Math.random,
    nowMs: () => boot.clock.now().getTime(),
  })
  boot.onStop('address ranges of cloud A', () => ranges.stop())
  return ranges
}

/** Older ranges miss new regions of the provider. */
const oldRangesDays = 30

const faultsOf = (boot: Boot, marketplace: Marketplace | undefined, ranges: SourceRanges | undefined) => {
  const { marketplaceSecret, marketplacePreviousSecret, marketplaceAlerts, runMode } = boot.settings
  return (): readonly string[] => {
    const found: string[] = []
    if (marketplace === 'CloudB' || marketplace === 'CloudC') {
      if (marketplaceSecret === undefined)
        found.push('MOORAGE_MARKETPLACE_SECRET is not set: every notification is refused.')
      if (marketplacePreviousSecret !== undefined)
        found.push('MOORAGE_MARKETPLACE_PREVIOUS_SECRET is set: remove it once all senders have the new secret.')
    }
    const age = ranges?.ageSeconds()
    if (ranges !== undefined && age === undefined)
      found.push('No address ranges of cloud A are known: every notification is refused.')
    if (age !== undefined && age > oldRangesDays * 86_400)
      found.push(
        `The address ranges of cloud A are ${Math.floor(age / 86_400)} days old: see MOORAGE_CLOUD_A_IP_RANGES.`,
      )
    if (marketplace === 'CloudA' && runMode === 'development')
      found.push('MOORAGE_RUN_MODE is development: notifications are accepted from every address.')
    if (marketplaceAlerts === undefined)
      found.push('MOORAGE_MARKETPLACE_ALERTS is not set: no mail is sent about a deletion that failed.')
    return found
  }
}

/** Returns what begins and ends contracts in a transaction. */
const contractsIn = (boot: Boot, resolve: Resolve): ((tx: SqlRunner, audit: AuditTrail) => ContractLifecycle) => {
  const clock = resolve(ClockToken)
  const contracts = makeSqlContractStore(boot.database, clock)
  const bindings = makeSqlBindingStore(boot.database, clock)
  const events = makeSqlContractEvents(boot.database)
  const licenses = makeSqlLicenseStore(boot.database)
  return (tx, audit) =>
    makeContractLifecycle(
      { contracts: contracts(tx), bindings: bindings(tx), events: events(tx), licenses: licenses(tx), audit },
      clock,
    )
}

/** Provides the senders of notifications, which depend on the cloud. */
const provideSenders: Provide = (container, boot) => {
  const marketplace = marketplaceOf(boot)
  const { settings } = boot
  let made: SourceRanges | undefined
  const ranges = (): SourceRanges | undefined => (marketplace === 'CloudA' ? (made ??= rangesOf(boot)) : undefined)
  container.provide(NotificationSendersToken, () =>
    makeNotificationSenders({
      ranges: ranges(),
      isDevelopment: boot.deployment.runMode === 'development',
      secrets: [settings.marketplaceSecret, settings.marketplacePreviousSecret].filter((each) => each !== undefined),
      testInstaller: settings.cloudCTestInstaller,
    }),
  )
  container.provide(TopicMessagesToken, (resolve) =>
    makeTopicMessages({
      topics: settings.cloudASnsTopics,
      fetch: makeGuardedFetch(makeUserUrlPolicy(anywhere, boot.resolver.lookup), boot.readings),
      clock: resolve(ClockToken),
    }),
  )
  container.provide(MarketplaceFaultsToken, () => ({ list: faultsOf(boot, marketplace, ranges()) }))
}

/** Provides subscriptions, installers, claims and notifications of cloud marketplaces. */
export const provideMarketplace: Provide = (container, boot) => {
  const { database, settings, keys, baseUrl } = boot
  provideSenders(container, boot)
  const subscriptions = makeSqlSubscriptionStore(database)
  const installers = makeSqlInstallerStore(database, boot.secretBox)
  const claims = makeSqlClaimStore(database)
  const inbox = makeSqlNotificationInbox(database)
  container.provide(SubscriptionStoreToken, () => subscriptions(database))
  container.provide(InstallerStoreToken, () => installers(database))
  container.provide(ClaimStoreToken, () => claims(database))
  container.provide(NotificationInboxToken, () => inbox(database))
  container.provideValue(NotificationDigestToken, notificationDigest)
  container.provide(ClaimAllowanceToken, () => makeClaimAllowance())
  container.provideValue(MarketplaceSettingsToken, {
    marketplace: marketplaceOf(boot),
    alertsTo: settings.marketplaceAlerts ?? '',
    baseUrl: () => baseUrl(),
  })
  container.provide(ClaimRulesToken, (resolve) =>
    makeClaimRules({ installers: resolve(InstallerStoreToken), subscriptions: resolve(SubscriptionStoreToken) }),
  )
  container.provide(ArchiveLinksToken, () =>
    makeArchiveLinks({
      key: secret(new Uint8Array(hkdfSync('sha256', keys.csrf.reveal(), '', 'moorage links to archives', 32))),
      routeUrl: () => `${baseUrl()}/api/v1/marketplace-archives`,
    }),
  )
  container.provide(InstallerArchiveToken, (resolve) =>
    makeInstallerArchive(makeSqlSigningKeyStore(database, resolve(SecretBoxToken))),
  )
  container.provide(MarketplaceUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const contracts = contractsIn(boot, resolve)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({
        subscriptions: subscriptions(tx),
        installers: installers(tx),
        claims: claims(tx),
        inbox: inbox(tx),
        contracts: contracts(tx, audit),
        mail: outbox(tx),
        audit,
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(CreateInstallerToken, (resolve) =>
    makeCreateInstaller({
      archive: resolve(InstallerArchiveToken),
      clock: resolve(ClockToken),
      contracts: contractsIn(boot, resolve)(database, { record: async () => undefined }),
      entropy: resolve(EntropyToken),
      memberships: resolve(MembershipStoreToken),
      settings: resolve(MarketplaceSettingsToken),
      unitOfWork: resolve(MarketplaceUnitOfWorkToken),
    }),
  )
}
