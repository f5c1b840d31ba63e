import * as t from 'io-ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { parseMonthNumber } from '../../core/usage/month.ts'
import type { UsageViewName } from '../../core/usage/types.ts'
import { monthNames, usageClasses, usageViewTypes } from '../../core/usage/types.ts'
import type { NamespaceReport } from '../../core/usage/views/namespace-reports.ts'
import {
  answer,
  described,
  Float,
  freeText,
  InstantText,
  Int64,
  noted,
  oneOf,
  optional,
  PathId,
  PathName,
  patternText,
  queryIntFrom,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

/** A year in a path: four digits. */
const Year = noted(
  new t.Type<number, string, unknown>(
    'a year of four digits',
    (u): u is number => typeof u === 'number',
    (u, c) => (typeof u === 'string' && /^\d{4}$/.test(u) ? t.success(Number(u)) : t.failure(u, c)),
    (year) => String(year).padStart(4, '0'),
  ),
  { type: 'string', pattern: '^[0-9]{4}$' },
)

const Month = noted(
  new t.Type<number, string, unknown>(
    'an English name of a month, or its number',
    (u): u is number => typeof u === 'number',
    (u, c) => {
      const month = typeof u === 'string' ? parseMonthNumber(u) : 0
      return month === 0 ? t.failure(u, c) : t.success(month)
    },
    (month) => monthNames[month - 1] ?? '',
  ),
  { type: 'string', pattern: '^(0?[1-9]|1[0-2]|[A-Za-z]{3,9})$', description: 'An English name in any case, as `generated-months` lists them, or 1 to 12.' },
)

const month = { year: Year, month: Month }
/** A UID in a path. One that no object has is 404. */
const Uid = freeText(253, 1)

export const MonthPath = request(month, 'UsageMonthPath')
export const MonthObjectPath = request({ ...month, clusterUID: Uid, objectID: Uid }, 'UsageMonthObjectPath')
export const ObjectPath = request({ clusterUID: Uid, objectID: Uid }, 'UsageObjectPath')

const org = { org: noted(PathName, { description: 'The account whose usage is shown.' }) }
export const InAccount = request(org, 'UsageAccountQuery')

const revision = noted(optional(queryIntFrom(1, 2 ** 31 - 1)), { description: 'A revision of the month; the newest without it.' })
export const ReportQuery = request({ ...org, revision }, 'UsageReportQuery')

const filterText = (what: string) => described(optional(freeText(253)), `Only items of this ${what}; all if it is empty.`)
const filters = {
  view_type: noted(optional(oneOf(...usageViewTypes)), { description: '`total` (the default) or `billable`: divided into production, other and free use.' }),
  group: filterText('API group'),
  kind: filterText('kind'),
  clusterUID: filterText('UID of a cluster'),
  namespace: filterText('namespace'),
  namespaceUID: filterText('UID of a namespace'),
  contractID: noted(optional(PathId), { description: 'Only what was used for this contract.' }),
}

/** What the routes of views accept, all together. */
export interface ViewQuery extends Partial<t.TypeOf<t.TypeC<typeof filters>>> {
  readonly org: string
  readonly revision: number | undefined
  readonly format: 'json' | 'csv' | undefined
}

/** Returns the codec of the query of a view with some of the filters. */
export const viewQuery = (name: string, ...accepted: readonly (keyof typeof filters)[]): t.Type<ViewQuery, unknown, unknown> => {
  const props: t.Props = {
    ...org,
    ...Object.fromEntries(accepted.map((filter) => [filter, filters[filter]])),
    revision,
    format: optional(oneOf('json', 'csv')),
  }
  return request(props, name) as unknown as t.Type<ViewQuery, unknown, unknown>
}

const used = { cpu: noted(Float, { description: 'Core-months.' }), memory: noted(Float, { description: 'GiB-months.' }) }
export const UsedPair = answer(used, 'UsedAmounts')
const FreePairs = answer({ trial: UsedPair, freeContract: UsedPair }, 'FreeUsedAmounts')
/** The classes of what was used. */
export const billablePairs = { prod: UsedPair, nonProd: UsedPair, free: FreePairs }
const measures = {
  ...used,
  prod: noted(optional(UsedPair), { description: 'Of view type `billable`, as `nonProd` and `free`.' }),
  nonProd: optional(UsedPair),
  free: optional(FreePairs),
}
const object = { clusterUID: t.string, objectID: t.string, group: t.string, kind: t.string, namespace: t.string, namespaceUID: t.string, name: t.string }
const interval = { from: InstantText, to: noted(InstantText, { description: 'Just after the last second.' }) }
const orNull = (codec: t.Mixed): t.Any => t.union([codec, t.null])
const list = (codec: t.Any): t.Any => t.readonlyArray(codec as t.Mixed)
const summary = answer({ min: SafeInteger, max: SafeInteger, mean: Float }, 'OccupiedSummary')

const ObjectUse = answer(
  {
    contractID: noted(SafeInteger, { description: '0 for what was used without a contract.' }),
    class: noted(oneOf(...usageClasses), { description: '`prod` and `non-prod` are billed, `trial` and `free` are not.' }),
    ...used,
  },
  'UseOfObject',
)
export const ObjectItem = answer({ ...object, createdAt: InstantText, deletedAt: orNull(InstantText), dailyEvents: noted(list(SafeInteger), { description: 'One for each day of the month in UTC, day 1 first: how often the object was created, resized or deleted on it, by the times of these events. Heartbeats do not count.' }), ...measures, uses: optional(list(ObjectUse)) }, 'UsageOfObject')
const ContractShare = answer({ contractID: SafeInteger, objectCount: SafeInteger, ...measures }, 'UsageOfContractInKind')
const KindShare = answer({ group: t.string, kind: t.string, objectCount: SafeInteger, ...measures, contracts: list(ContractShare) }, 'UsageOfKindInCluster')
export const ClusterItem = answer(
  {
    clusterUID: t.string,
    displayName: t.string,
    modes: list(answer({ ...interval, mode: t.string }, 'ClusterModeInterval')),
    contractIDs: list(SafeInteger),
    clusterHours: noted(Float, { description: 'Hours for which the cluster counts: those in which it was heard, the silences of up to 35 days between them, and recorded outages. Without use they are not billed.' }),
    objectCount: SafeInteger,
    ...measures,
    kinds: list(KindShare),
  },
  'UsageOfCluster',
)
export const NamespaceItem = answer(
  {
    clusterUID: t.string,
    namespace: t.string,
    namespaceUID: t.string,
    clientOrg: noted(t.string, { description: 'The client organization of the namespace; empty if it is of none.' }),
    objectCount: SafeInteger,
    ...measures,
  },
  'UsageOfNamespace',
)
export const KindItem = answer(
  { group: t.string, kind: t.string, objectCount: SafeInteger, ...measures, matrix: noted(list(answer(measures, 'UsageOfDay')), { description: 'One for each day of the month.' }) },
  'UsageOfKind',
)
const TermsOfMonth = answer(
  {
    number: noted(SafeInteger, { description: 'Of the version, as in `GET /contracts/{id}/terms`.' }),
    ...interval,
    product: t.string,
    features: list(t.string),
    start: InstantText,
    end: InstantText,
    quota: orNull(answer({ metric: t.string, limit: Float }, 'QuotaOfTerms')),
  },
  'TermsOfMonth',
)
export const UsedQuota = answer(
  {
    metric: t.string,
    limit: noted(Float, { description: 'The quantity that is included in the month, in the unit of the metric: a limit that was changed in it counts by the seconds of each.' }),
    billed: noted(Float, { description: 'Production and other use: what counts against the limit.' }),
    excess: noted(Float, { description: 'What was billed beyond the limit.' }),
    usedPercent: noted(Float, { description: 'What was billed, in percent of the limit.' }),
  },
  'UsedQuota',
)
export const ContractItem = answer(
  {
    contractID: noted(SafeInteger, { description: '0 for what was used without a contract.' }),
    name: t.string,
      product: t.string,
      features: list(t.string),
      start: noted(orNull(InstantText), { description: 'From when the contract is in force; null without a contract.' }),
      end: noted(orNull(InstantText), { description: 'Until just before when it is in force: its end or its revocation.' }),
      quota: noted(orNull(UsedQuota), { description: 'Null without a quota.' }),
      terms: noted(list(TermsOfMonth), { description: 'The versions of the terms that were in force in the month and cover the product, in the order of time.' }),
    objectCount: SafeInteger,
    ...measures,
  },
  'UsageOfContract',
)
const OccupiedSegment = answer({ ...interval, milliCPU: SafeInteger, memMiB: SafeInteger, replicas: SafeInteger, generation: Int64 }, 'OccupiedSegment')
export const QuotaItem = answer({ ...object, milliCPU: summary, memMiB: summary, segments: list(OccupiedSegment) }, 'OccupiedByObject')
export const ModeItem = answer({ ...object, ...used, segments: list(answer({ ...interval, mode: t.string, ...used }, 'UsedInMode')) }, 'UsageOfObjectByMode')

const Totals = answer({ cpu: optional(used.cpu), memory: optional(used.memory), prod: measures.prod, nonProd: measures.nonProd, free: measures.free, objectCount: SafeInteger, clusterHours: optional(Float) }, 'UsageTotals')

/** Returns the codec of a view with these items. */
export const viewOf = (item: t.Any, name: string): t.Any =>
  answer(
    {
      revision: SafeInteger,
      status: oneOf('provisional', 'final'),
      generatedAt: InstantText,
      product: t.string,
      view: t.string,
      viewType: oneOf(...usageViewTypes),
      year: SafeInteger,
      month: t.string,
      timezone: t.literal('UTC'),
      units: answer({ cpu: t.string, memory: t.string }, 'UsageUnits'),
      items: list(item),
      totals: noted(Totals, { description: 'The sums of the figures of the items.' }),
    },
    name,
  )

export const ObjectHistoryView = answer({ ...object, months: list(patternText(/^\d{4}-\d{2}$/, 7, 'a month')), segments: list(OccupiedSegment) }, 'ObjectQuotaHistory') as unknown as t.Type<FreeObject, unknown>

export const NamespacePath = request({ clusterID: noted(Uid, { description: 'The UID of the cluster.' }), namespaceName: Uid }, 'UsageNamespacePath')

const seconds = noted(SafeInteger, { description: 'Seconds since the epoch, UTC.' })
const secondsOrNull = t.union([seconds, t.null])
const size = noted(t.string, { description: 'A quantity of Kubernetes: `10Gi`.' })
const texts = t.record(t.string, t.string)

const PodDetails = answer({ flavor: answer({ cpu: t.string, memory: size }, 'PodFlavor'), count: SafeInteger, age: noted(SafeInteger, { description: 'Seconds.' }) }, 'PodDetails')
const VolumeDetails = answer(
  { name: t.string, initialSize: size, expansions: t.readonlyArray(answer({ size, at: seconds }, 'VolumeExpansion')), createdAt: seconds, deletedAt: secondsOrNull },
  'VolumeDetails',
)
const DatabaseUsageReport = answer(
  {
    databaseInfo: answer({ kind: t.string, group: t.string, product: t.string, name: t.string, uid: t.string, createdAt: seconds, deletedAt: secondsOrNull }, 'DatabaseInfo'),
    podDetails: t.readonlyArray(PodDetails),
    volumeDetails: t.readonlyArray(VolumeDetails),
  },
  'DatabaseUsageReport',
)
export const NamespaceUsageReport: t.Type<NamespaceReport, unknown> = answer(
  {
    clusterInfo: answer({ uid: t.string, name: t.string, kubernetesVersion: t.string, provider: t.string, capacity: answer({ nodes: SafeInteger }, 'ClusterCapacity') }, 'ReportedClusterInfo'),
    namespaceInfo: answer({ name: t.string, uid: t.string, labels: texts, annotations: texts, createdAt: secondsOrNull }, 'ReportedNamespaceInfo'),
    databases: t.readonlyArray(DatabaseUsageReport),
  },
  'NamespaceUsageReport',
)
export const NamespaceUsageReports = answer({ generatedAt: seconds, items: t.readonlyArray(NamespaceUsageReport) }, 'NamespaceUsageReports')

export const namespaceExample = {
  clusterInfo: { uid: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44', name: 'production', kubernetesVersion: 'v1.35.0', provider: 'EKS', capacity: { nodes: 5 } },
  namespaceInfo: { name: 'shop', uid: '6f2e5a0c-7e54-4f0c-9a86-b8a10b7a54f5', labels: { team: 'shop' }, annotations: {}, createdAt: 1779262200 },
  databases: [
    {
      databaseInfo: { kind: 'Postgres', group: 'kubedb.com', product: 'dbProduct', name: 'orders', uid: '5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1', createdAt: 1779262200, deletedAt: null },
      podDetails: [{ flavor: { cpu: '500m', memory: '2Gi' }, count: 3, age: 86400 }],
      volumeDetails: [{ name: 'data-orders-0', initialSize: '10Gi', expansions: [{ size: '20Gi', at: 1781000000 }], createdAt: 1779262200, deletedAt: null }],
    },
  ],
}

const amounts = { cpu: 1.5, memory: 6 }
const objectExample = {
  clusterUID: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44',
  objectID: '5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1',
  group: 'kubedb.com',
  kind: 'Postgres',
  namespace: 'shop',
  namespaceUID: '6f2e5a0c-7e54-4f0c-9a86-b8a10b7a54f5',
  name: 'orders',
}
const intervalExample = { from: '2026-06-01T00:00:00Z', to: '2026-07-01T00:00:00Z' }
const termsExample = { number: 1, ...intervalExample, product: 'database', features: ['database-enterprise'], start: '2026-01-01T00:00:00Z', end: '2027-01-01T00:00:00Z', quota: { metric: 'cpu_core_month', limit: 10 } }
const occupied = { ...intervalExample, milliCPU: 1500, memMiB: 6144, replicas: 3, generation: 2 }
const cluster = { clusterUID: objectExample.clusterUID, displayName: 'production' }
const kind = { group: objectExample.group, kind: objectExample.kind }
const counted = { objectCount: 1, ...amounts }
const summaryExample = (value: number) => ({ min: value, max: value, mean: value })
const quotaItem = { ...objectExample, milliCPU: summaryExample(1500), memMiB: summaryExample(6144), segments: [occupied] }

const items: Readonly<Record<UsageViewName, unknown>> = {
  'objects-usage-view': { ...objectExample, createdAt: '2026-05-20T09:30:00Z', deletedAt: null, dailyEvents: [0, 0, 1, ...Array.from({ length: 27 }, () => 0)], ...amounts },
  'clusters-usage-view': {
    ...cluster, modes: [{ ...intervalExample, mode: 'prod' }], contractIDs: [42], clusterHours: 720, ...counted, kinds: [{ ...kind, ...counted, contracts: [{ contractID: 42, ...counted }] }],
  },
  'namespaces-usage-view': { clusterUID: objectExample.clusterUID, namespace: objectExample.namespace, namespaceUID: objectExample.namespaceUID, clientOrg: '', ...counted },
  'gks-usage-view': { ...kind, ...counted, matrix: Array.from({ length: 30 }, () => ({ cpu: 0.05, memory: 0.2 })) },
  'contracts-usage-view': {
    contractID: 42, name: 'Databases', product: 'database', features: ['database-enterprise'], start: '2026-01-01T00:00:00Z', end: '2027-01-01T00:00:00Z',
    quota: { metric: 'cpu_core_month', limit: 10, billed: 1.5, excess: 0, usedPercent: 15 }, terms: [termsExample], ...counted,
  },
  'object-quota-history-summaries-view': quotaItem,
  'objects-cluster-mode-usage-view': { ...objectExample, ...amounts, segments: [{ ...intervalExample, mode: 'prod', ...amounts }] },
}

/** Returns an answer with one item. */
export const viewExample = (view: UsageViewName): unknown => ({
  revision: 1,
  status: 'final',
  generatedAt: '2026-07-04T00:30:00.000Z',
  product: 'dbProduct',
  view,
  viewType: 'total',
  year: 2026,
  month: 'June',
  timezone: 'UTC',
  units: { cpu: 'core-month', memory: 'GiB-month' },
  items: [items[view]],
  totals: { ...(view === 'object-quota-history-summaries-view' ? {} : amounts), objectCount: 1 },
})

export const historyExample = { ...objectExample, months: ['2026-06'], segments: [occupied] }
