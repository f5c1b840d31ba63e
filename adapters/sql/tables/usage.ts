import type { ObjectChangeType } from '../../../core/usage/events/types.ts'
import type { OutageId } from '../../../core/usage/outages/ports.ts'
import type {
  ClusterMode,
  MonthKey,
  UnixSeconds,
  UsageClusterId,
  UsageKindId,
  UsageMonthId,
  UsageMonthStatus,
  UsageObjectId,
  UsageProduct,
  UsageViewType,
} from '../../../core/usage/types.ts'
import type { UsageViewKey } from '../../../core/usage/views/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Column } from '../kit/columns.ts'
import {
  coded,
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
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

/** A number that may be greater than a BIGINT, as its decimal digits. */
const decimalDigits = (): Column<bigint, 'text', false> =>
  coded(text(38), { encode: (value: bigint) => value.toString(), decode: BigInt })

export const usageClusters = table('usage_clusters', {
  id: rowId<UsageClusterId>(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  firstHeard: long<UnixSeconds>(),
  lastHeard: long<UnixSeconds>(),
  carriedMonth: int<MonthKey>(),
  displayName: withDefault(text(255)),
})

export const usageKinds = table('usage_kinds', {
  id: rowId<UsageKindId>(),
  product: text<UsageProduct>(16),
  group: named('api_group', text(253)),
  kind: text(63),
})

export const usageObjects = table('usage_objects', {
  id: rowId<UsageObjectId>(),
  clusterId: id<UsageClusterId>(),
  uid: named('object_uid', text(36)),
  kindId: id<UsageKindId>(),
  namespace: text(63),
  namespaceUid: text(36),
  name: text(253),
  createdAt: long<UnixSeconds>(),
  deletedAt: nullable(long<UnixSeconds>()),
  trialEndsAt: nullable(long<UnixSeconds>()),
  lastHeardDay: int(),
  sendsHeartbeats: flag(),
})

export const usageChanges = table('usage_changes', {
  objectId: id<UsageObjectId>(),
  generation: long(),
  type: text<ObjectChangeType>(16),
  at: long<UnixSeconds>(),
  milliCpu: long(),
  memoryMib: long(),
  replicas: int(),
  details: longText(),
  isTrial: flag(),
  receivedAt: instant(),
})

export const usageConflicts = table('usage_conflicts', {
  id: rowId(),
  clusterId: id<UsageClusterId>(),
  eventId: text(255),
  event: longText(),
  receivedAt: instant(),
})

export const usageIntervals = table('usage_intervals', {
  month: int<MonthKey>(),
  clusterId: id<UsageClusterId>(),
  objectId: id<UsageObjectId>(),
  from: named('from_at', long<UnixSeconds>()),
  to: named('to_at', long<UnixSeconds>()),
  cut: named('cut_at', long<UnixSeconds>()),
  kindId: id<UsageKindId>(),
  milliCpu: long(),
  memoryMib: long(),
  generation: long(),
  replicas: int(),
})

export const usageModes = table('usage_modes', {
  clusterId: id<UsageClusterId>(),
  at: long<UnixSeconds>(),
  eventId: text(255),
  mode: text<ClusterMode>(8),
})

export const usagePresence = table('usage_presence', {
  clusterId: id<UsageClusterId>(),
  month: int<MonthKey>(),
  hours: fixedBytes(93),
})

export const usageNamespaces = table('usage_namespaces', {
  clusterId: id<UsageClusterId>(),
  uid: named('namespace_uid', text(36)),
  name: named('namespace', text(63)),
  createdAt: long<UnixSeconds>(),
  labels: longText(),
  annotations: longText(),
  observedAt: long<UnixSeconds>(),
})

export const usageOutages = table('usage_outages', {
  id: rowId<OutageId>(),
  ownerId: nullable(id<AccountId>()),
  clusterUid: withDefault(text(36)),
  from: named('from_at', long<UnixSeconds>()),
  to: named('to_at', long<UnixSeconds>()),
  tags: json<readonly string[]>(),
  comments: longText(),
  createdAt: instant(),
})

export const usageMonths = table('usage_months', {
  id: rowId<UsageMonthId>(),
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  revision: int(),
  status: text<UsageMonthStatus>(16),
  watermark: instant(),
  inputHash: text(64),
  codeVersion: int(),
  generatedAt: instant(),
  /** Readers see the revision; null until it is published. */
  isPublished: withDefault(nullable(flag())),
})

export const usageSegments = table('usage_segments', {
  monthId: id<UsageMonthId>(),
  clusterId: id<UsageClusterId>(),
  product: text<UsageProduct>(16),
  from: named('from_at', long<UnixSeconds>()),
  to: named('to_at', long<UnixSeconds>()),
  mode: text<ClusterMode>(8),
  contractId: id(),
  termsNumber: withDefault(int()),
})

export const usageViews = table('usage_views', {
  id: rowId(),
  monthId: id<UsageMonthId>(),
  product: text<UsageProduct>(16),
  view: text<UsageViewKey['view']>(48),
  viewType: text<UsageViewType>(16),
  head: longText(),
  tail: longText(),
  itemCount: int(),
  pieceCount: int(),
})

export const usageViewPieces = table('usage_view_pieces', {
  viewId: id(),
  piece: int(),
  firstKey: text(80),
  crc32: long(),
  size: int(),
  deflated: named('body', longBytes()),
})

export const usageReports = table('usage_reports', {
  monthId: id<UsageMonthId>(),
  piece: int(),
  size: int(),
  body: longBytes(),
})

export const usageContractMonths = table('usage_contract_months', {
  contractId: id(),
  month: int<MonthKey>(),
  milliCpuSeconds: decimalDigits(),
  mebibyteSeconds: decimalDigits(),
  computedAt: instant(),
})

export const usageAlerts = table('usage_alerts', {
  contractId: id(),
  month: int<MonthKey>(),
  threshold: int(),
  sentAt: instant(),
})

export const usageTrials = table('usage_trials', {
  objectId: id<UsageObjectId>(),
  clusterId: id<UsageClusterId>(),
  uid: named('object_uid', text(36)),
  kindId: id<UsageKindId>(),
  namespace: text(63),
  name: text(253),
  createdAt: long<UnixSeconds>(),
})

export const usageIntake = table('usage_intake', {
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  day: int(),
  accepted: long(),
  repeated: long(),
  refused: long(),
  late: long(),
})

export const usageRefused = table('usage_refused', {
  id: rowId(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  eventId: text(255),
  type: text(64),
  reason: text(32),
  message: longText(),
  receivedAt: instant(),
})

export const usageFinalMonths = table('usage_final_months', {
  id: rowId(),
  ownerId: id<AccountId>(),
  month: int<MonthKey>(),
  revision: int(),
  generatedAt: instant(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    usage: typeof import('./usage.ts')
  }
}
