import * as t from 'io-ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { parseMonthNumber } from '../../core/usage/month.ts'
import { monthNames, usageClasses, usageViewTypes } from '../../core/usage/types.ts'
import {
  answer,
  described,
  Float,
  freeText,
  InstantText,
  Int64,
  naming,
  noted,
  oneOf,
  optional,
  pathId,
  pathName,
  patternText,
  plainValue,
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
  { type: 'string', pattern: '^[0-9]{4}$', description: 'The year of the month, in four digits.' },
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
  {
    type: 'string',
    pattern: '^(0?[1-9]|1[0-2]|[A-Za-z]{3,9})$',
    description: 'An English name in any case, as `generated-months` lists them, or 1 to 12.',
  },
)

const month = { year: naming(Year, 'usage month', 'year'), month: naming(Month, 'usage month', 'month') }
/** A UID in a path. One that no object has is 404. */
export const Uid = freeText(253, 1)

export const MonthPath = request(month, 'UsageMonthPath')
const objectInUrl = {
  clusterUID: described(naming(Uid, 'metered object', 'cluster'), 'The UID of the cluster of the object.'),
  objectID: described(naming(Uid, 'metered object', 'uid'), 'The UID of the object.'),
}
export const MonthObjectPath = request({ ...month, ...objectInUrl }, 'UsageMonthObjectPath')
export const ObjectPath = request(objectInUrl, 'UsageObjectPath')

const org = { org: noted(pathName('account'), { description: 'The login of the account that is meant.' }) }
export const InAccount = request(org, 'UsageAccountQuery')

const revision = noted(optional(queryIntFrom(1, 2 ** 31 - 1)), {
  description: 'A revision of the month; the newest without it.',
})
export const ReportQuery = request({ ...org, revision }, 'UsageReportQuery')

const filterText = (what: string, object?: string) =>
  described(
    optional(object === undefined ? plainValue(freeText(253)) : naming(freeText(253), object, 'uid')),
    `Only items of this ${what}; all if it is empty.`,
  )
const filters = {
  view_type: noted(optional(oneOf(...usageViewTypes)), {
    description: '`total` (the default) or `billable`: divided into production, other and free use.',
  }),
  group: filterText('API group'),
  kind: filterText('kind'),
  clusterUID: filterText('UID of a cluster', 'cluster'),
  namespace: filterText('namespace'),
  namespaceUID: filterText('UID of a namespace'),
  contractID: noted(optional(pathId('contract')), { description: 'Only what was used for this contract.' }),
}

/** What the routes of views accept, all together. */
export interface ViewQuery extends Partial<t.TypeOf<t.TypeC<typeof filters>>> {
  readonly org: string
  readonly revision: number | undefined
  readonly format: 'json' | 'csv' | undefined
}

/** Returns the codec of the query of a view with some of the filters. */
export const viewQuery = (
  name: string,
  ...accepted: readonly (keyof typeof filters)[]
): t.Type<ViewQuery, unknown, unknown> => {
  const props: t.Props = {
    ...org,
    ...Object.fromEntries(accepted.map((filter) => [filter, filters[filter]])),
    revision,
    format: described(
      optional(oneOf('json', 'csv')),
      'The format of the answer; by default that of the header `Accept`, else JSON.',
    ),
  }
  return request(props, name) as unknown as t.Type<ViewQuery, unknown, unknown>
}

const used = {
  cpu: noted(Float, { description: 'Core-months.' }),
  memory: noted(Float, { description: 'GiB-months.' }),
}
export const UsedPair = answer(used, 'UsedAmounts')
const FreePairs = answer(
  {
    trial: described(UsedPair, 'What trials used.'),
    freeContract: described(UsedPair, 'What was used without a contract.'),
  },
  'FreeUsedAmounts',
)
/** The classes of what was used. */
export const billablePairs = {
  prod: described(UsedPair, 'Production use, which is billed.'),
  nonProd: described(UsedPair, 'Other use that is billed.'),
  free: described(FreePairs, 'Use that is not billed.'),
}
const measures = {
  ...used,
  prod: described(optional(UsedPair), 'Production use, which is billed. Of view type `billable` only.'),
  nonProd: described(optional(UsedPair), 'Other use that is billed. Of view type `billable` only.'),
  free: described(optional(FreePairs), 'Use that is not billed. Of view type `billable` only.'),
}
const clusterUid = described(t.string, 'The UID of the cluster.')
export const apiGroup = described(t.string, 'The API group of the kind.')
const kindName = described(t.string, 'The kind of the object, or of the objects.')
const objects = described(SafeInteger, 'How many objects ran in the month.')
const object = {
  clusterUID: clusterUid,
  objectID: described(t.string, 'The UID of the object.'),
  group: apiGroup,
  kind: kindName,
  namespace: described(t.string, 'The namespace of the object.'),
  namespaceUID: described(t.string, 'The UID of that namespace.'),
  name: described(t.string, 'The name of the object.'),
}
const interval = {
  from: described(InstantText, 'The first second.'),
  to: noted(InstantText, { description: 'Just after the last second.' }),
}
const orNull = (codec: t.Mixed): t.Any => t.union([codec, t.null])
const list = (codec: t.Any): t.Any => t.readonlyArray(codec as t.Mixed)
const Summary = answer(
  {
    min: described(SafeInteger, 'The least, at any time in the month.'),
    max: described(SafeInteger, 'The most, at any time in the month.'),
    mean: described(Float, 'The mean over the time in which the object ran.'),
  },
  'OccupiedSummary',
)

const ObjectUse = answer(
  {
    contractID: noted(SafeInteger, { description: '0 for what was used without a contract.' }),
    class: noted(oneOf(...usageClasses), {
      description: '`prod` and `non-prod` are billed, `trial` and `free` are not.',
    }),
    ...used,
  },
  'UseOfObject',
)
export const ObjectItem = answer(
  {
    ...object,
    createdAt: described(InstantText, 'When the object was created.'),
    deletedAt: described(orNull(InstantText), 'When the object was deleted; null if it was not.'),
    dailyEvents: described(
      list(SafeInteger),
      'One for each day of the month in UTC, day 1 first: how often the object was created, resized or ' +
        'deleted on it, by the times of these events. Heartbeats do not count.',
    ),
    ...measures,
    uses: described(
      optional(list(ObjectUse)),
      'The parts by contract and class, which add up to the figures of the object. Of view type `billable` only.',
    ),
  },
  'UsageOfObject',
)
const ContractShare = answer(
  {
    contractID: described(SafeInteger, 'The id of the contract; 0 for what was used without one.'),
    objectCount: objects,
    ...measures,
  },
  'UsageOfContractInKind',
)
const KindShare = answer(
  {
    group: apiGroup,
    kind: kindName,
    objectCount: objects,
    ...measures,
    contracts: described(list(ContractShare), 'The parts by contract, which add up to the figures of the kind.'),
  },
  'UsageOfKindInCluster',
)
export const ClusterItem = answer(
  {
    clusterUID: clusterUid,
    displayName: described(t.string, 'The last name of the cluster in the month.'),
    modes: described(
      list(
        answer({ ...interval, mode: described(t.string, 'The mode: `prod` or `non-prod`.') }, 'ClusterModeInterval'),
      ),
      'The modes of the cluster in the month, in the order of time.',
    ),
    contractIDs: described(
      list(SafeInteger),
      'The ids of the contracts to which the cluster was bound in the month, ascending.',
    ),
    clusterHours: noted(Float, {
      description:
        'Hours for which the cluster counts: those in which it was heard, the silences of up to 35 days ' +
        'between them, and recorded outages. Without use they are not billed.',
    }),
    objectCount: objects,
    ...measures,
    kinds: described(list(KindShare), 'The parts by kind, which add up to the figures of the cluster.'),
  },
  'UsageOfCluster',
)
export const NamespaceItem = answer(
  {
    clusterUID: clusterUid,
    namespace: described(t.string, 'The name of the namespace.'),
    namespaceUID: described(t.string, 'The UID of the namespace.'),
    clientOrg: noted(t.string, { description: 'The client organization of the namespace; empty if it is of none.' }),
    objectCount: objects,
    ...measures,
  },
  'UsageOfNamespace',
)
export const KindItem = answer(
  {
    group: apiGroup,
    kind: kindName,
    objectCount: objects,
    ...measures,
    matrix: noted(list(answer(measures, 'UsageOfDay')), { description: 'One for each day of the month.' }),
  },
  'UsageOfKind',
)
const metric = described(t.string, 'What is limited: `memory_gib_month` or `cpu_core_month`.')
const QuotaOfTerms = answer(
  { metric, limit: described(Float, 'The included quantity of a whole month, in the unit of the metric.') },
  'QuotaOfTerms',
)
const TermsOfMonth = answer(
  {
    number: noted(SafeInteger, { description: 'Of the version, as in `GET /contracts/{id}/terms`.' }),
    ...interval,
    product: described(t.string, 'The product of the contract, as these terms have it.'),
    features: described(list(t.string), 'The features of the contract, as these terms have them.'),
    start: described(InstantText, 'The first instant of the contract, as these terms have it.'),
    end: described(InstantText, 'The instant just before which the contract ends, as these terms have it.'),
    quota: described(orNull(QuotaOfTerms), 'What these terms include in a calendar month; null without a limit.'),
  },
  'TermsOfMonth',
)
export const UsedQuota = answer(
  {
    metric,
    limit: noted(Float, {
      description:
        'The quantity that is included in the month, in the unit of the metric: a limit that was changed ' +
        'in it counts by the seconds of each.',
    }),
    billed: noted(Float, { description: 'Production and other use: what counts against the limit.' }),
    excess: noted(Float, { description: 'What was billed beyond the limit.' }),
    usedPercent: noted(Float, { description: 'What was billed, in percent of the limit.' }),
  },
  'UsedQuota',
)
export const ContractItem = answer(
  {
    contractID: noted(SafeInteger, { description: '0 for what was used without a contract.' }),
    name: described(t.string, 'The name of the contract; empty without one.'),
    product: described(t.string, 'The product of the contract; empty without one.'),
    features: described(list(t.string), 'The features of the contract.'),
    start: noted(orNull(InstantText), { description: 'From when the contract is in force; null without a contract.' }),
    end: noted(orNull(InstantText), {
      description: 'Until just before when it is in force: its end or its revocation.',
    }),
    quota: noted(orNull(UsedQuota), { description: 'Null without a quota.' }),
    terms: noted(list(TermsOfMonth), {
      description:
        'The versions of the terms that were in force in the month and cover the product, in the order of time.',
    }),
    objectCount: objects,
    ...measures,
  },
  'UsageOfContract',
)
const OccupiedSegment = answer(
  {
    ...interval,
    milliCPU: described(SafeInteger, 'What all replicas occupied together, in thousandths of a core.'),
    memMiB: described(SafeInteger, 'What all replicas occupied together, in MiB.'),
    replicas: described(SafeInteger, 'How many replicas there were.'),
    generation: described(Int64, 'The generation of the object.'),
  },
  'OccupiedSegment',
)
const segments = described(list(OccupiedSegment), 'The intervals in which it occupied the same, in the order of time.')
export const QuotaItem = answer(
  {
    ...object,
    milliCPU: described(Summary, 'What it occupied, in thousandths of a core.'),
    memMiB: described(Summary, 'What it occupied, in MiB.'),
    segments,
  },
  'OccupiedByObject',
)
const UsedInMode = answer(
  { ...interval, mode: described(t.string, 'The mode of the cluster: `prod` or `non-prod`.'), ...used },
  'UsedInMode',
)
export const ModeItem = answer(
  {
    ...object,
    ...used,
    segments: described(
      list(UsedInMode),
      'The intervals in which its cluster had the same mode, in the order of time.',
    ),
  },
  'UsageOfObjectByMode',
)

const Totals = answer(
  {
    cpu: optional(used.cpu),
    memory: optional(used.memory),
    prod: measures.prod,
    nonProd: measures.nonProd,
    free: measures.free,
    objectCount: objects,
    clusterHours: described(optional(Float), 'The hours of all clusters. Of the view of clusters only.'),
  },
  'UsageTotals',
)

const Units = answer(
  {
    cpu: described(t.string, 'The unit of `cpu`: `core-month`.'),
    memory: described(t.string, 'The unit of `memory`: `GiB-month`.'),
  },
  'UsageUnits',
)

const viewHead = {
  revision: described(SafeInteger, 'The revision of the month, from 1.'),
  status: described(oneOf('provisional', 'final'), 'Figures of a `final` revision do not change any more.'),
  generatedAt: described(InstantText, 'When the revision was computed.'),
  product: described(t.string, 'The product that the view is of.'),
  view: described(t.string, 'The name of the view.'),
  viewType: described(
    oneOf(...usageViewTypes),
    'Whether the figures are divided into classes (`billable`) or not (`total`).',
  ),
  year: described(SafeInteger, 'The year of the month.'),
  month: described(t.string, 'The English name of the month.'),
  timezone: described(t.literal('UTC'), 'The time zone of the month and its days.'),
  units: described(Units, 'The units of the figures.'),
}

/** Returns the codec of a view with these items. */
export const viewOf = (item: t.Any, name: string): t.Any =>
  answer(
    {
      ...viewHead,
      items: described(list(item), 'The items of the view.'),
      totals: noted(Totals, { description: 'The sums of the figures of the items.' }),
    },
    name,
  )

export const ObjectHistoryView = answer(
  {
    ...object,
    months: described(
      list(patternText(/^\d{4}-\d{2}$/, 7, 'a month')),
      'The generated months in which the object ran, ascending.',
    ),
    segments,
  },
  'ObjectQuotaHistory',
) as unknown as t.Type<FreeObject, unknown>
