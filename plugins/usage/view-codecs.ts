import * as t from 'io-ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { parseMonthNumber } from '../../core/usage/month.ts'
import { monthNames, usageViewTypes } from '../../core/usage/types.ts'
import { answer, Float, freeText, InstantText, Int64, noted, oneOf, optional, PathId, patternText, PathName, queryIntFrom, request, SafeInteger } from '../kit/codecs.ts'

/** A year in a path: four digits. */
const Year = noted(
  new t.Type<number, string, unknown>(
    'a year of four digits',
    (u): u is number => typeof u === 'number',
    (u, c) => (typeof u === 'string' && /^\d{4}$/.test(u) ? t.success(Number(u)) : t.failure(u, c)),
    (year) => String(year).padStart(4, '0'),
  ),
  { type: 'string', pattern: '^\\d{4}$' },
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
  { type: 'string', description: 'An English name in any case, as `generated-months` lists them, or 1 to 12.' },
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

const filterText = noted(optional(freeText(253)), { description: 'Only items with this value; all if it is empty.' })
const filters = {
  view_type: noted(optional(oneOf(...usageViewTypes)), { description: '`total` (the default) or `billable`: divided into production, other and free use.' }),
  group: filterText,
  kind: filterText,
  clusterUID: filterText,
  namespace: filterText,
  namespaceUID: filterText,
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

export const GeneratedDates = answer({ yearMonthList: t.record(t.string, t.readonlyArray(t.string)) }, 'GeneratedDates')

const used = { cpu: noted(Float, { description: 'Core-months.' }), memory: noted(Float, { description: 'GiB-months.' }) }
const UsedPair = answer(used, 'UsedAmounts')
const measures = {
  ...used,
  prod: noted(optional(UsedPair), { description: 'Of view type `billable`, as `nonProd` and `free`.' }),
  nonProd: optional(UsedPair),
  free: optional(answer({ trial: UsedPair, freeContract: UsedPair }, 'FreeUsedAmounts')),
}
const object = { clusterUID: t.string, objectID: t.string, group: t.string, kind: t.string, namespace: t.string, namespaceUID: t.string, name: t.string }
const interval = { from: InstantText, to: noted(InstantText, { description: 'Just after the last second.' }) }
const orNull = (codec: t.Mixed): t.Any => t.union([codec, t.null])
const list = (codec: t.Any): t.Any => t.readonlyArray(codec as t.Mixed)
const summary = answer({ min: SafeInteger, max: SafeInteger, mean: Float }, 'OccupiedSummary')

export const ObjectItem = answer({ ...object, createdAt: InstantText, deletedAt: orNull(InstantText), dailyEvents: list(SafeInteger), ...measures }, 'UsageOfObject')
const ContractShare = answer({ contractID: SafeInteger, objectCount: SafeInteger, ...measures }, 'UsageOfContractInKind')
const KindShare = answer({ group: t.string, kind: t.string, objectCount: SafeInteger, ...measures, contracts: list(ContractShare) }, 'UsageOfKindInCluster')
export const ClusterItem = answer(
  {
    clusterUID: t.string,
    displayName: t.string,
    modes: list(answer({ ...interval, mode: t.string }, 'ClusterModeInterval')),
    contractIDs: list(SafeInteger),
    clusterHours: noted(Float, { description: 'In which the cluster was heard.' }),
    objectCount: SafeInteger,
    ...measures,
    kinds: list(KindShare),
  },
  'UsageOfCluster',
)
export const NamespaceItem = answer({ clusterUID: t.string, namespace: t.string, namespaceUID: t.string, objectCount: SafeInteger, ...measures }, 'UsageOfNamespace')
export const KindItem = answer(
  { group: t.string, kind: t.string, objectCount: SafeInteger, ...measures, matrix: noted(list(answer(measures, 'UsageOfDay')), { description: 'One for each day of the month.' }) },
  'UsageOfKind',
)
export const ContractItem = answer(
  {
    contractID: noted(SafeInteger, { description: '0 for what was used without a contract.' }),
    name: t.string,
    quota: orNull(answer({ metric: t.string, limit: Float, usedPercent: Float }, 'UsedQuota')),
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
