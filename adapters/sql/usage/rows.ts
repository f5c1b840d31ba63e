import type { AccountId } from '../../../core/kernel/ids.ts'
import type { ObservedNamespace } from '../../../core/usage/events/types.ts'
import type {
  MonthKey,
  UnixSeconds,
  UsageClusterId,
  UsageKind,
  UsageMonth,
  UsageMonthId,
  UsageMonthStatus,
  UsageObject,
  UsageObjectId,
  UsageProduct,
} from '../../../core/usage/types.ts'
import type { Num } from '../kit/statement.ts'

/** A revision as statements on `usage_months as m` select it. */
export interface MonthRow {
  readonly month_id: Num
  readonly owner_id: Num
  readonly month: number
  readonly revision: number
  readonly status: string
  readonly generated_at: Num
  readonly input_hash: string
}

export const monthColumns = [
  'm.id as month_id',
  'm.owner_id',
  'm.month',
  'm.revision',
  'm.status',
  'm.generated_at',
  'm.input_hash',
] as const

export const monthOf = (row: MonthRow): UsageMonth => ({
  id: Number(row.month_id) as UsageMonthId,
  ownerId: Number(row.owner_id) as AccountId,
  month: row.month as MonthKey,
  revision: row.revision,
  status: row.status as UsageMonthStatus,
  generatedAt: new Date(Number(row.generated_at)),
  inputHash: row.input_hash,
})

/** What was observed of a namespace, as statements on `usage_namespaces` select it. */
export interface NamespaceRow {
  readonly namespace_uid: string
  readonly namespace: string
  readonly created_at: Num
  readonly labels: string
  readonly annotations: string
  readonly observed_at: Num
}

export const namespaceColumns = [
  'namespace_uid',
  'namespace',
  'created_at',
  'labels',
  'annotations',
  'observed_at',
] as const

export const namespaceOf = (row: NamespaceRow): ObservedNamespace => ({
  uid: row.namespace_uid,
  name: row.namespace,
  createdAt: Number(row.created_at) as UnixSeconds,
  labels: row.labels,
  annotations: row.annotations,
  observedAt: Number(row.observed_at) as UnixSeconds,
})

/** An object as statements on `usage_objects as o` select it. */
export interface ObjectRow {
  readonly id: Num
  readonly cluster_id: Num
  readonly object_uid: string
  readonly namespace: string
  readonly namespace_uid: string
  readonly name: string
  readonly created_at: Num
  readonly deleted_at: Num | null
  readonly trial_ends_at: Num | null
}

export const objectColumns = [
  'o.id',
  'o.cluster_id',
  'o.object_uid',
  'o.namespace',
  'o.namespace_uid',
  'o.name',
  'o.created_at',
  'o.deleted_at',
  'o.trial_ends_at',
] as const

/** A kind as statements on `usage_kinds as k` select it. */
export interface KindRow {
  readonly product: string
  readonly api_group: string
  readonly kind: string
}

export const kindColumns = ['k.product', 'k.api_group', 'k.kind'] as const

export const kindOf = ({ product, api_group: group, kind }: KindRow): UsageKind => ({
  product: product as UsageProduct,
  group,
  kind,
})

const secondsOf = (value: Num | null): UnixSeconds | undefined =>
  value === null ? undefined : (Number(value) as UnixSeconds)

export const objectOf = (row: ObjectRow, { product, group, kind }: UsageKind): UsageObject => ({
  id: Number(row.id) as UsageObjectId,
  clusterId: Number(row.cluster_id) as UsageClusterId,
  uid: row.object_uid,
  product,
  group,
  kind,
  namespace: row.namespace,
  namespaceUid: row.namespace_uid,
  name: row.name,
  createdAt: Number(row.created_at) as UnixSeconds,
  deletedAt: secondsOf(row.deleted_at),
  trialEndsAt: secondsOf(row.trial_ends_at),
})
