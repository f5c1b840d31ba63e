import type { ContractId } from '../../../core/contracts/types.ts'
import type { AccountId, OrgId, UserId } from '../../../core/kernel/ids.ts'
import type {
  InstallerId,
  InstallerProduct,
  Marketplace,
  Plan,
  ProviderError,
  SubscriptionEvent,
  SubscriptionId,
  SubscriptionState,
} from '../../../core/marketplace/types.ts'
import {
  exact,
  fixedBytes,
  flag,
  id,
  instant,
  int,
  json,
  long,
  longBytes,
  longText,
  named,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'
import type { MeteredHour } from '../../../core/marketplace/metering/hours/ports.ts'
import type { MeteredCloud, MeteringCall, UsageKey, UsageState } from '../../../core/marketplace/metering/types.ts'

export const marketplaceSubscriptions = table('marketplace_subscriptions', {
  id: rowId<SubscriptionId>(),
  ref: text(36),
  marketplace: text<Marketplace>(8),
  keyHash: fixedBytes(32),
  state: text<SubscriptionState>(16),
  installerRef: withDefault(text(32)),
  isProvisioned: flag(),
  isTombstone: flag(),
  lastTicks: nullable(exact()),
  applicationId: text(512),
  resourceUsageId: withDefault(text(255)),
  plan: json<Plan>(),
  error: nullable(json<ProviderError>()),
  contractIds: json<readonly ContractId[]>(),
  accountId: nullable(id<AccountId>()),
  claimedBy: nullable(id<UserId>()),
  clusterId: withDefault(text(255)),
  alerts: withDefault(int()),
  alertedAt: nullable(instant()),
  createdAt: instant(),
  updatedAt: instant(),
  consoleUrl: withDefault(text(512)),
  meteringToken: nullable(sealed()),
  reports: withDefault(int()),
  reportedAt: nullable(instant()),
  formerRef: withDefault(text(36)),
  floorTicks: nullable(exact()),
})

export const marketplaceEvents = table('marketplace_events', {
  id: rowId(),
  subscriptionId: id<SubscriptionId>(),
  at: instant(),
  operation: text(80),
  outcome: text<SubscriptionEvent['outcome']>(16),
  description: text(512),
  state: text<SubscriptionState>(16),
})

export const marketplaceInstallers = table('marketplace_installers', {
  id: rowId<InstallerId>(),
  ref: text(32),
  marketplace: text<Marketplace>(8),
  accountId: nullable(id<AccountId>()),
  products: json<readonly InstallerProduct[]>(),
  contractDays: int(),
  contact: text(254),
  createdAt: instant(),
  expiresAt: instant(),
  boundAt: nullable(instant()),
  clusterId: withDefault(text(255)),
  cloudAccountId: withDefault(text(12)),
  subscriptionId: nullable(id<SubscriptionId>()),
  linkExpiresAt: nullable(instant()),
  adminUsername: withDefault(text(255)),
  adminPassword: nullable(sealed()),
  archive: longBytes(),
})

export const marketplaceClaims = table('marketplace_claims', {
  id: rowId(),
  ref: text(32),
  installerId: id<InstallerId>(),
  isClaimable: flag(),
  attempts: int(),
  nextCheckAt: instant(),
  claimedAt: nullable(instant()),
  claimedBy: nullable(id<UserId>()),
  orgId: nullable(id<OrgId>()),
  createdAt: instant(),
})

export const marketplaceInbox = table('marketplace_inbox', {
  id: rowId(),
  keyHash: fixedBytes(32),
  marketplace: text<Marketplace>(8),
  status: int<200 | 403>(),
  message: text(255),
  installerRef: text(32),
  answeredAt: instant(),
})

export const marketplaceSigningKeys = table('marketplace_signing_keys', {
  id: int(),
  ref: text(36),
  sealedKey: sealed(),
})

export const meteringUsage = table('metering_usage', {
  id: rowId(),
  key: named('usage_key', text<UsageKey>(36)),
  cloud: text<MeteredCloud>(8),
  scope: text(64),
  start: named('start_at', instant()),
  end: named('end_at', instant()),
  state: text<UsageState>(8),
  answer: longText(),
  changedAt: instant(),
  claimedUntil: withDefault(instant()),
  product: withDefault(text(255)),
  dimension: withDefault(text(512)),
  quantity: withDefault(text(64)),
  consumer: withDefault(text(255)),
  subscriptionRef: withDefault(text(36)),
})

export const meteringScopes = table('metering_scopes', {
  scope: text(64),
  usedAt: instant(),
})

export const meteringCalls = table('metering_calls', {
  id: rowId(),
  key: named('usage_key', text<UsageKey>(36)),
  cloud: text<MeteredCloud>(8),
  at: instant(),
  askedBy: text(255),
  outcome: text<MeteringCall['outcome']>(8),
  code: text(64),
  answer: longText(),
  attempts: int(),
  milliseconds: int(),
})

export const meteringHours = table('metering_hours', {
  dimension: text(255),
  hour: named('hour_at', instant()),
  state: text<MeteredHour['state']>(8),
  quantity: long(),
  rest: long(),
  reason: text(64),
  changedAt: instant(),
  subscriptionRef: withDefault(text(36)),
  unit: withDefault(long()),
  seen: nullable(long()),
  counted: withDefault(long()),
  late: withDefault(long()),
  lost: withDefault(long()),
  difference: withDefault(long()),
  differences: withDefault(int()),
  added: withDefault(long()),
  isMailed: withDefault(flag()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    marketplace: typeof import('./marketplace.ts')
  }
}
