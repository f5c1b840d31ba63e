import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { right } from 'fp-ts/lib/Either.js'
import { makeArchiveLinks, makeInstallerArchive } from '../../../adapters/marketplace/installer-archive.ts'
import { makeClaimAllowance, makeNotificationLimits } from '../../../adapters/marketplace/claim-allowance.ts'
import { makeHostedConsoles } from '../../../adapters/marketplace/hosted-consoles.ts'
import { makeNotificationSenders, notificationDigest } from '../../../adapters/marketplace/notification-senders.ts'
import type { SourceRanges } from '../../../adapters/marketplace/source-ranges.ts'
import { makeSourceRanges } from '../../../adapters/marketplace/source-ranges.ts'
import { makeAccountLimiter } from '../../../adapters/outbound/account-limiter.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeSqlBindingStore } from '../../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractEvents, makeSqlContractStore } from '../../../adapters/sql/contracts/contract-store.ts'
import { makeSqlLicenseStore } from '../../../adapters/sql/contracts/license-store.ts'
import type { SqlRunner } from '../../../adapters/sql/kit/statement.ts'
import { marketplaceMigrations } from '../../../adapters/sql/marketplace/migrations.ts'
import { makeSqlClaimStore } from '../../../adapters/sql/marketplace/claim-store.ts'
import { makeSqlInstallerStore } from '../../../adapters/sql/marketplace/installer-store.ts'
import {
  makeSqlNotificationInbox,
  makeSqlSigningKeyStore,
} from '../../../adapters/sql/marketplace/notification-inbox.ts'
import { makeSqlSubscriptionStore } from '../../../adapters/sql/marketplace/subscription-store.ts'
import { writeWhole } from '../../../adapters/system/files.ts'
import { makeContractLifecycle } from '../../../core/contracts/contracts.ts'
import type { ContractLifecycle } from '../../../core/contracts/ports.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { EntropyPort, secret, SecretBoxPort } from '../../../core/kernel/secret.ts'
import type { AuditTrail } from '../../../core/kernel/unit-of-work.ts'
import { MeteredSubscriptionsPort } from '../../../core/marketplace/metering/ports.ts'
import { makeMeteredSubscriptions } from '../../../core/marketplace/subscriptions/subscriptions.ts'
import { makeClaimRules } from '../../../core/marketplace/claims/claims.ts'
import { CreateInstallerPort, makeCreateInstaller } from '../../../core/marketplace/installers/installers.ts'
import type { NotificationLimiter } from '../../../core/marketplace/ports.ts'
import {
  ArchiveLinksPort,
  ClaimAllowancePort,
  ClaimRulesPort,
  ClaimStorePort,
  HostedConsolesPort,
  InstallerArchivePort,
  InstallerStorePort,
  MarketplaceFaultsPort,
  MarketplaceSettingsPort,
  MarketplaceUnitOfWorkPort,
  NotificationDigestPort,
  NotificationInboxPort,
  NotificationLimitsPort,
  NotificationSendersPort,
  NotificationLimiterPort,
  SubscriptionStorePort,
} from '../../../core/marketplace/ports.ts'
import type { Lifecycle, Plan, Marketplace } from '../../../core/marketplace/types.ts'
import { MembershipStorePort } from '../../../core/organizations/ports.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { marketplacePlugin } from '../../../plugins/marketplace/plugin.ts'
import type { Binding } from '../../part/binding.ts'
import { bind } from '../../part/binding.ts'
import type { DemoSeeder } from '../../part/part.ts'
import { operatorCall } from '../../part/operator.ts'
import type { Boot } from '../../part/boot.ts'
import type { ValuesOf } from '../../part/setting.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import { addressUrl, matching, origin, secretWords } from '../../part/setting-type.ts'
import { definePart } from '../../part/part.ts'
import { bindMailingUnitOfWork } from '../units-of-work.ts'

const settings = {
  marketplaceSecret: absentUnlessSet(
    'MOORAGE_MARKETPLACE_SECRET',
    secretWords,
    'Secret in the query of notifications of clouds B and C. Without one, they are all refused.',
    { after: 'MOORAGE_EXTIDP_AUDIENCE' },
  ),
  marketplacePreviousSecret: absentUnlessSet(
    'MOORAGE_MARKETPLACE_PREVIOUS_SECRET',
    secretWords,
    'The secret before MOORAGE_MARKETPLACE_SECRET, which is accepted too while senders change to the new one.',
  ),
  marketplaceBaseUrl: absentUnlessSet(
    'MOORAGE_MARKETPLACE_BASE_URL',
    origin,
    'How marketplaces and installers reach the listener of notifications; written into installers.',
    { fallbackText: 'MOORAGE_BASE_URL, or from MOORAGE_MARKETPLACE_LISTEN' },
  ),
  marketplaceAlerts: absentUnlessSet(
    'MOORAGE_MARKETPLACE_ALERTS',
    matching(/^[^\s<>@]{1,64}@[^\s<>@]{1,189}$/, 'a mail address'),
    'Mail address that is notified when the provider cannot delete an application of a subscription.',
  ),
  cloudAIpRanges: withDefault(
    'MOORAGE_CLOUD_A_IP_RANGES',
    matching(/^(?:off|https?:\/\/[^\s@]+)$/, 'a URL, or off'),
    'https://ip-ranges.amazonaws.com/ip-ranges.json',
    'Where the address ranges of cloud A are published, from which its installers send. They are asked for every ' +
      'hour; off uses those of this release.',
  ),
  cloudCTestInstaller: absentUnlessSet(
    'MOORAGE_CLOUD_C_TEST_INSTALLER',
    matching(/^[0-9a-fA-F]{32}$/, 'the id of an installer'),
    'The installer that may send a notification of cloud C without the secret, to test the installation.',
  ),
}

type MarketplaceBoot = Boot<ValuesOf<typeof settings>>

/** The ranges of cloud A; of other clouds there are none. */
interface KnownRanges {
  readonly ranges: SourceRanges | undefined
}
const KnownRangesPort = portKey<KnownRanges>('marketplace.KnownRanges')

/** Stores that are bound to the database or to a transaction. */
interface Stores {
  readonly subscriptions: ReturnType<typeof makeSqlSubscriptionStore>
  readonly installers: ReturnType<typeof makeSqlInstallerStore>
  readonly claims: ReturnType<typeof makeSqlClaimStore>
  readonly inbox: ReturnType<typeof makeSqlNotificationInbox>
  /** Contracts that begin and end with subscriptions. */
  readonly contracts: (tx: SqlRunner, audit: AuditTrail) => ContractLifecycle
}
const StoresPort = portKey<Stores>('marketplace.Stores')

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
const anywhere = { hasHost: () => true, hasPort: () => false, hasAddress: () => true }

const rangesOf = (boot: MarketplaceBoot): SourceRanges => {
  const { settings: values, log, resolver, readings } = boot
  return makeSourceRanges({
    url: values.cloudAIpRanges === 'off' ? undefined : new URL(values.cloudAIpRanges),
    fetch: makeGuardedFetch(makeUserUrlPolicy(anywhere, resolver.lookup), readings),
    folder: join(values.dataDir, 'marketplace'),
    log,
    write: writeWhole,
    chance: Math.random,
    nowMs: () => boot.clock.now().getTime(),
  })
}

/** Older ranges miss new regions of the provider. */
const oldRangesDays = 30

const faultsOf = (boot: MarketplaceBoot, marketplace: Marketplace | undefined, ranges: SourceRanges | undefined) => {
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
const contractsIn = ({ database }: Pick<Boot, 'database'>, clock: Clock): Stores['contracts'] => {
  const contracts = makeSqlContractStore(database, clock)
  const bindings = makeSqlBindingStore(database, clock)
  const events = makeSqlContractEvents(database)
  const licenses = makeSqlLicenseStore(database)
  return (tx, audit) =>
    makeContractLifecycle(
      { contracts: contracts(tx), bindings: bindings(tx), events: events(tx), licenses: licenses(tx), audit },
      clock,
    )
}

/** As many as one account may have of the connections of a process to the database. */
const notificationsAtOnce = 8
/** A slow machine answers 60 a second: those that wait longer than four seconds there are not admitted. */
const waitingNotifications = 256
/** With the work after it, an answer comes within five seconds. */
const notificationWaitMilliseconds = 4_000

const limiterOf = ({ pools, readings }: Pick<Boot, 'pools' | 'readings'>): NotificationLimiter => {
  const pool = 'notifications'
  const limiter = makeAccountLimiter({
    pool,
    inAll: notificationsAtOnce,
    perAccount: notificationsAtOnce,
    waitingPerAccount: waitingNotifications,
    waitMilliseconds: notificationWaitMilliseconds,
  })
  pools.watch(pool, limiter.load)
  return { run: (work) => limiter.run({ account: readings.account(), signal: readings.signal() }, work) }
}

/** The senders of notifications, which depend on the cloud. */
const senderBindings = (boot: MarketplaceBoot): readonly Binding[] => {
  const marketplace = marketplaceOf(boot)
  const { settings: values } = boot
  return [
    bind(
      KnownRangesPort,
      {},
      () => ({ ranges: marketplace === 'CloudA' ? rangesOf(boot) : undefined }),
      ({ ranges }) => ranges?.stop(),
    ),
    bind(NotificationSendersPort, { known: KnownRangesPort }, ({ known }) =>
      makeNotificationSenders({
        ranges: known.ranges,
        isDevelopment: boot.deployment.runMode === 'development',
        secrets: [values.marketplaceSecret, values.marketplacePreviousSecret].filter((each) => each !== undefined),
        testInstaller: values.cloudCTestInstaller,
      }),
    ),
    bind(MarketplaceFaultsPort, { known: KnownRangesPort }, ({ known }) => ({
      list: faultsOf(boot, marketplace, known.ranges),
    })),
    bind(NotificationLimiterPort, {}, () => limiterOf(boot)),
    bind(NotificationDigestPort, {}, () => notificationDigest),
    bind(NotificationLimitsPort, { caches: CachesPort }, ({ caches }) => makeNotificationLimits(caches)),
    bind(HostedConsolesPort, {}, () => {
      const reached = makeUserUrlPolicy(makeEgressAllowance(values.egressAllow), boot.resolver.lookup)
      return makeHostedConsoles(makeGuardedFetch(reached, boot.readings))
    }),
    bind(
      MeteredSubscriptionsPort,
      {
        clock: ClockPort,
        entropy: EntropyPort,
        settings: MarketplaceSettingsPort,
        subscriptions: SubscriptionStorePort,
        unitOfWork: MarketplaceUnitOfWorkPort,
      },
      makeMeteredSubscriptions,
    ),
  ]
}

const storeBindings = (boot: MarketplaceBoot, database = boot.database): readonly Binding[] => [
  bind(StoresPort, { clock: ClockPort, secretBox: SecretBoxPort }, ({ clock, secretBox }) => ({
    subscriptions: makeSqlSubscriptionStore(database, secretBox),
    installers: makeSqlInstallerStore(database),
    claims: makeSqlClaimStore(database),
    inbox: makeSqlNotificationInbox(database),
    contracts: contractsIn({ database }, clock),
  })),
  bind(SubscriptionStorePort, { stores: StoresPort }, ({ stores }) => stores.subscriptions(database)),
  bind(InstallerStorePort, { stores: StoresPort }, ({ stores }) => stores.installers(database)),
  bind(ClaimStorePort, { stores: StoresPort }, ({ stores }) => stores.claims(database)),
  bind(NotificationInboxPort, { stores: StoresPort }, ({ stores }) => stores.inbox(database)),
  bindMailingUnitOfWork(
    database,
    MarketplaceUnitOfWorkPort,
    ({ stores }) =>
      (tx, audit) => ({
        subscriptions: stores.subscriptions(tx),
        installers: stores.installers(tx),
        claims: stores.claims(tx),
        inbox: stores.inbox(tx),
        contracts: stores.contracts(tx, audit),
      }),
    { stores: StoresPort },
  ),
  bind(MarketplaceSettingsPort, {}, () => ({
    marketplace: marketplaceOf(boot),
    alertsTo: boot.settings.marketplaceAlerts ?? '',
    listenerUrl: () =>
      boot.settings.marketplaceBaseUrl ?? boot.settings.baseUrl ?? addressUrl(boot.settings.marketplaceListen),
  })),
]

const installerBindings = ({ database, keys, baseUrl }: MarketplaceBoot): readonly Binding[] => [
  bind(ArchiveLinksPort, {}, () =>
    makeArchiveLinks({
      key: secret(new Uint8Array(hkdfSync('sha256', keys.csrf.reveal(), '', 'moorage links to archives', 32))),
      routeUrl: () => `${baseUrl()}/api/v1/marketplace-archives`,
    }),
  ),
  bind(InstallerArchivePort, { secretBox: SecretBoxPort }, ({ secretBox }) =>
    makeInstallerArchive(makeSqlSigningKeyStore(database, secretBox)),
  ),
  bind(
    CreateInstallerPort,
    {
      archive: InstallerArchivePort,
      clock: ClockPort,
      entropy: EntropyPort,
      memberships: MembershipStorePort,
      settings: MarketplaceSettingsPort,
      stores: StoresPort,
      unitOfWork: MarketplaceUnitOfWorkPort,
    },
    ({ stores, ...deps }) =>
      makeCreateInstaller({ ...deps, contracts: stores.contracts(database, { record: async () => undefined }) }),
  ),
  bind(ClaimAllowancePort, {}, () => makeClaimAllowance()),
  bind(ClaimRulesPort, { installers: InstallerStorePort, subscriptions: SubscriptionStorePort }, makeClaimRules),
]

/** A subscription of each customer: the first one runs, the others wait for their installation. */
const seedSubscriptions: DemoSeeder = async ({ container, customers, idOf, now, tell }) => {
  const { marketplace } = container.resolve(MarketplaceSettingsPort)
  if (marketplace === undefined) return
  const entropy = container.resolve(EntropyPort)
  for (const [n, { name, clusters }] of customers.entries()) {
    tell(`subscription of ${name}`)
    const accountId = (await idOf(name)) as AccountId
    const ref = entropy.uuid()
    const state = n === 0 ? 'Running' : 'Pending'
    const lifecycle: Lifecycle = {
      state,
      installerRef: undefined,
      isProvisioned: n === 0,
      lastTicks: undefined,
      isTombstone: false,
    }
    await container.resolve(MarketplaceUnitOfWorkPort).run(operatorCall('demo.seed'), async ({ subscriptions }) => {
      const applicationId = `demo-${name}`
      const made = await subscriptions.obtain(
        { key: { marketplace, text: applicationId }, ref, applicationId },
        lifecycle,
        now,
      )
      const plan: Plan = { publisher: 'demo', product: 'databases', name: 'standard', version: '1.0.0' }
      await subscriptions.update(made.id, { plan, accountId, clusterId: clusters[0]?.uid ?? '' }, now)
      const description = 'Made by moorage demo seed'
      await subscriptions.record(made.id, { at: now, operation: 'demo', outcome: 'Succeeded', description, state })
      return right(undefined)
    })
  }
}

/** Subscriptions, installers, claims and notifications of cloud marketplaces. */
export const part = definePart({
  plugin: marketplacePlugin,
  settings,
  migrations: marketplaceMigrations,
  tags: [
    {
      name: 'Marketplace',
      description: 'Cloud-marketplace notifications and metered usage.',
      after: 'Platform Upgrade',
    },
  ],
  demo: seedSubscriptions,
  provide: (boot) => [...senderBindings(boot), ...storeBindings(boot), ...installerBindings(boot)],
})
