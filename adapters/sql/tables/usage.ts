import type { AccountId } from '../../../core/kernel/ids.ts'
import {
  fixedBytes,
  flag,
  id,
  instant,
  int,
  long,
  longBytes,
  longText,
  nullable,
  rowId,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const usageClusters = table('usage_clusters', {
  id: rowId(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  firstHeard: long(),
  lastHeard: long(),
  carriedMonth: int(),
  displayName: withDefault(text(255)),
})

export const usageKinds = table('usage_kinds', {
  id: rowId(),
  product: text(16),
  apiGroup: text(253),
  kind: text(63),
})

export const usageObjects = table('usage_objects', {
  id: rowId(),
  clusterId: id(),
  objectUid: text(36),
  kindId: id(),
  namespace: text(63),
  namespaceUid: text(36),
  name: text(253),
  createdAt: long(),
  deletedAt: nullable(long()),
  trialEndsAt: nullable(long()),
  lastHeardDay: int(),
  sendsHeartbeats: flag(),
})

export const usageChanges = table('usage_changes', {
  objectId: id(),
  generation: long(),
  type: text(16),
  at: long(),
  milliCpu: long(),
  memoryMib: long(),
  replicas: int(),
  details: longText(),
  isTrial: flag(),
  receivedAt: instant(),
})

export const usageConflicts = table('usage_conflicts', {
  id: rowId(),
  clusterId: id(),
  eventId: text(255),
  event: longText(),
  receivedAt: instant(),
})

export const usageIntervals = table('usage_intervals', {
  month: int(),
  clusterId: id(),
  objectId: id(),
  fromAt: long(),
  toAt: long(),
  cutAt: long(),
  kindId: id(),
  milliCpu: long(),
  memoryMib: long(),
  generation: long(),
  replicas: int(),
})

export const usageModes = table('usage_modes', {
  clusterId: id(),
  at: long(),
  eventId: text(255),
  mode: text(8),
})

export const usagePresence = table('usage_presence', {
  clusterId: id(),
  month: int(),
  hours: fixedBytes(93),
})

export const usageNamespaces = table('usage_namespaces', {
  clusterId: id(),
  namespaceUid: text(36),
  namespace: text(63),
  createdAt: long(),
  labels: longText(),
  annotations: longText(),
  observedAt: long(),
})

export const usageOutages = table('usage_outages', {
  id: rowId(),
  ownerId: nullable(id<AccountId>()),
  clusterUid: withDefault(text(36)),
  fromAt: long(),
  toAt: long(),
  tags: longText(),
  comments: longText(),
  createdAt: instant(),
})

export const usageMonths = table('usage_months', {
  id: rowId(),
  ownerId: id<AccountId>(),
  month: int(),
  revision: int(),
  status: text(16),
  watermark: instant(),
  inputHash: text(64),
  codeVersion: int(),
  generatedAt: instant(),
  isPublished: nullable(flag()),
})

export const usageSegments = table('usage_segments', {
  monthId: id(),
  clusterId: id(),
  product: text(16),
  fromAt: long(),
  toAt: long(),
  mode: text(8),
  contractId: id(),
  termsNumber: withDefault(int()),
})

export const usageViews = table('usage_views', {
  id: rowId(),
  monthId: id(),
  product: text(16),
  view: text(48),
  viewType: text(16),
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
  body: longBytes(),
})

export const usageReports = table('usage_reports', {
  monthId: id(),
  piece: int(),
  size: int(),
  body: longBytes(),
})

export const usageContractMonths = table('usage_contract_months', {
  contractId: id(),
  month: int(),
  milliCpuSeconds: text(38),
  mebibyteSeconds: text(38),
  computedAt: instant(),
})

export const usageAlerts = table('usage_alerts', {
  contractId: id(),
  month: int(),
  threshold: int(),
  sentAt: instant(),
})

export const usageTrials = table('usage_trials', {
  objectId: id(),
  clusterId: id(),
  objectUid: text(36),
  kindId: id(),
  namespace: text(63),
  name: text(253),
  createdAt: long(),
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
  month: int(),
  revision: int(),
  generatedAt: instant(),
})
