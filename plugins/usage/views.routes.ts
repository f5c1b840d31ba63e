import type * as t from 'io-ts'
import { UsageReportMissing } from '../../core/usage/reports/month-report.ts'
import type { UsageProduct, UsageViewName } from '../../core/usage/types.ts'
import { ClientBillingDisabled, UsageNamespaceMissing, UsageViewMissing } from '../../core/usage/views/ports.ts'
import { query, requires } from '../kit/access.ts'
import { json, packed, streamed, streamedFile } from '../kit/reply.ts'
import { routesOf } from '../kit/route.ts'
import type { ViewQuery } from './view-codecs.ts'
import {
  ClusterItem,
  ContractItem,
  InAccount,
  KindItem,
  ModeItem,
  MonthObjectPath,
  MonthPath,
  NamespaceItem,
  ObjectHistoryView,
  ObjectItem,
  ObjectPath,
  QuotaItem,
  ReportQuery,
  viewOf,
  viewQuery,
} from './view-codecs.ts'
import { NamespacePath, NamespaceUsageReport, NamespaceUsageReports, namespaceExample } from './namespace-codecs.ts'

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
const termsExample = {
  number: 1,
  ...intervalExample,
  product: 'database',
  features: ['database-enterprise'],
  start: '2026-01-01T00:00:00Z',
  end: '2027-01-01T00:00:00Z',
  quota: { metric: 'cpu_core_month', limit: 10 },
}
const occupied = { ...intervalExample, milliCPU: 1500, memMiB: 6144, replicas: 3, generation: 2 }
const cluster = { clusterUID: objectExample.clusterUID, displayName: 'production' }
const kind = { group: objectExample.group, kind: objectExample.kind }
const counted = { objectCount: 1, ...amounts }
const summaryExample = (value: number) => ({ min: value, max: value, mean: value })
const quotaItem = {
  ...objectExample,
  milliCPU: summaryExample(1500),
  memMiB: summaryExample(6144),
  segments: [occupied],
}

const items: Readonly<Record<UsageViewName, unknown>> = {
  'objects-usage-view': {
    ...objectExample,
    createdAt: '2026-05-20T09:30:00Z',
    deletedAt: null,
    dailyEvents: [0, 0, 1, ...Array.from({ length: 27 }, () => 0)],
    ...amounts,
  },
  'clusters-usage-view': {
    ...cluster,
    modes: [{ ...intervalExample, mode: 'prod' }],
    contractIDs: [42],
    clusterHours: 720,
    ...counted,
    kinds: [{ ...kind, ...counted, contracts: [{ contractID: 42, ...counted }] }],
  },
  'namespaces-usage-view': {
    clusterUID: objectExample.clusterUID,
    namespace: objectExample.namespace,
    namespaceUID: objectExample.namespaceUID,
    clientOrg: '',
    ...counted,
  },
  'gks-usage-view': { ...kind, ...counted, matrix: Array.from({ length: 30 }, () => ({ cpu: 0.05, memory: 0.2 })) },
  'contracts-usage-view': {
    contractID: 42,
    name: 'Databases',
    product: 'database',
    features: ['database-enterprise'],
    start: '2026-01-01T00:00:00Z',
    end: '2027-01-01T00:00:00Z',
    quota: { metric: 'cpu_core_month', limit: 10, billed: 1.5, excess: 0, usedPercent: 15 },
    terms: [termsExample],
    ...counted,
  },
  'object-quota-history-summaries-view': quotaItem,
  'objects-cluster-mode-usage-view': {
    ...objectExample,
    ...amounts,
    segments: [{ ...intervalExample, mode: 'prod', ...amounts }],
  },
}

/** Returns an answer with one item. */
const viewExample = (view: UsageViewName): unknown => ({
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

const historyExample = { ...objectExample, months: ['2026-06'], segments: [occupied] }

/** Site admins alone hold the relation. */
const summaryAccess = requires('can_view_usage_analytics', { type: 'account', name: query('org') })

const monthRoute = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: summaryAccess,
  failures: [UsageViewMissing],
})

export const getObjectHistory = monthRoute({
  id: 'usage.getObjectHistory',
  method: 'GET',
  path: '/dashboard/summary/object-quota-history/clusters/{clusterUID}/objects/{objectID}',
  summary: 'Get what an object occupied in all generated months',
  description: 'From the newest revision of each month. Intervals that continue in the next month are one.',
  params: ObjectPath,
  query: InAccount,
  badPathAs: 400,
  ok: packed(json(200, ObjectHistoryView, historyExample)),
})

/** A view that a route serves, with the codecs of its query and items. */
interface ServedView {
  readonly product: UsageProduct
  readonly view: UsageViewName
  readonly id: string
  readonly summary: string
  readonly query: t.Type<ViewQuery, unknown, unknown>
  readonly item: t.Any
}

const typedQuery = viewQuery('UsageTypedViewQuery', 'view_type')
const ofClusterQuery = viewQuery('UsageOfClusterViewQuery', 'view_type', 'clusterUID')
const plainQuery = viewQuery('UsageViewQuery')

const served: readonly ServedView[] = [
  {
    product: 'dbProduct',
    view: 'objects-usage-view',
    id: 'DatabaseObjects',
    summary: 'the use of each database',
    query: viewQuery('UsageObjectsViewQuery', 'view_type', 'group', 'kind', 'clusterUID', 'namespace', 'namespaceUID'),
    item: ObjectItem,
  },
  {
    product: 'dbProduct',
    view: 'clusters-usage-view',
    id: 'DatabaseClusters',
    summary: 'the use of databases by cluster',
    query: viewQuery('UsageDatabaseClustersViewQuery', 'view_type', 'group', 'kind', 'contractID'),
    item: ClusterItem,
  },
  {
    product: 'dbProduct',
    view: 'namespaces-usage-view',
    id: 'DatabaseNamespaces',
    summary: 'the use of databases by namespace',
    query: ofClusterQuery,
    item: NamespaceItem,
  },
  {
    product: 'dbProduct',
    view: 'gks-usage-view',
    id: 'DatabaseKinds',
    summary: 'the use of databases by kind and day',
    query: ofClusterQuery,
    item: KindItem,
  },
  {
    product: 'dbProduct',
    view: 'contracts-usage-view',
    id: 'DatabaseContracts',
    summary: 'the use of databases by contract',
    query: typedQuery,
    item: ContractItem,
  },
  {
    product: 'dbProduct',
    view: 'object-quota-history-summaries-view',
    id: 'DatabaseQuotas',
    summary: 'what each database occupied',
    query: plainQuery,
    item: QuotaItem,
  },
  {
    product: 'dbProduct',
    view: 'objects-cluster-mode-usage-view',
    id: 'DatabaseModes',
    summary: 'the use of each database by mode of its cluster',
    query: plainQuery,
    item: ModeItem,
  },
  ...(
    [
      ['backupProduct', 'Backup'],
      ['vaultProduct', 'Vault'],
      ['ingressProduct', 'Ingress'],
    ] as const
  ).flatMap(([product, name]): readonly ServedView[] => [
    {
      product,
      view: 'clusters-usage-view',
      id: `${name}Clusters`,
      summary: `the use of ${product} by cluster`,
      query: viewQuery('UsageClustersViewQuery', 'view_type', 'contractID'),
      item: ClusterItem,
    },
    {
      product,
      view: 'contracts-usage-view',
      id: `${name}Contracts`,
      summary: `the use of ${product} by contract`,
      query: typedQuery,
      item: ContractItem,
    },
  ]),
]

const csvType = 'text/csv; charset=utf-8; header=present'
const viewWords =
  'From the stored revision of the month; the ETag is that of the revision. Filters are combined, and the ' +
  'totals of a filtered view are the sums of its items. ' +
  '`Accept: text/csv` or `format=csv` returns the items as CSV with the same figures; each row begins with ' +
  'account, month, revision and status. A text that begins with `=`, `+`, `-`, `@`, an apostrophe, ' +
  'a tab or a line break has an apostrophe in front, so that a spreadsheet does not take it for a formula: ' +
  'remove one apostrophe in front to get the text.'

const pathOf = (product: UsageProduct, view: UsageViewName) =>
  `/dashboard/summary/{year}/{month}/usage-report/products/${product}/views/${view}`

const replyOf = ({ view, item, id }: ServedView) =>
  streamed(viewOf(item, `UsageView${id}`), viewExample(view), [csvType])

/** The routes of views, each with what it serves. They differ by product, view and filters alone. */
export const viewRoutes = served.map((about) => ({
  ...about,
  route: monthRoute({
    id: `usage.get${about.id}`,
    method: 'GET',
    path: pathOf(about.product, about.view),
    summary: `Get ${about.summary}, in a month`,
    description: viewWords,
    params: MonthPath,
    query: about.query,
    badPathAs: 400,
    ok: replyOf(about),
  }),
}))

const ofObjects: readonly UsageViewName[] = ['object-quota-history-summaries-view', 'objects-cluster-mode-usage-view']

/** The routes of one object in a view. */
export const objectRoutes = served
  .filter(({ view }) => ofObjects.includes(view))
  .map((about) => ({
    ...about,
    route: monthRoute({
      id: `usage.get${about.id}OfObject`,
      method: 'GET',
      path: `${pathOf(about.product, about.view)}/clusters/{clusterUID}/objects/{objectID}`,
      summary: `Get ${about.summary.replace('each', 'one')}, in a month`,
      description: 'The view with this one item.',
      params: MonthObjectPath,
      query: plainQuery,
      badPathAs: 400,
      ok: replyOf(about),
    }),
  }))

const namespaceRoute = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: requires('can_view_billing', { type: 'account', name: query('org') }),
  query: InAccount,
  failures: [ClientBillingDisabled],
})
const words =
  'From what the clusters have reported, at this moment. A contract that is in force must include ' +
  '`enableClientBilling`, and the cluster must be bound to it. ' +
  'Databases that were deleted more than six months ago are left out. Instants are seconds since the epoch.'

export const reportNamespaces = namespaceRoute({
  id: 'usage.reportNamespaces',
  method: 'GET',
  path: '/dbaas/billing/reports/namespaces',
  summary: 'Get the databases of all namespaces, for the bills of their users',
  description: `${words} All namespaces with databases are in one answer.`,
  ok: streamed(NamespaceUsageReports, { generatedAt: 1781000000, items: [namespaceExample] }, []),
})

export const reportNamespace = namespaceRoute({
  id: 'usage.reportNamespace',
  method: 'GET',
  path: '/dbaas/billing/reports/clusters/{clusterID}/namespaces/{namespaceName}',
  summary: 'Get the databases of a namespace, for the bill of its users',
  description: words,
  params: NamespacePath,
  ok: json(200, NamespaceUsageReport, namespaceExample),
  failures: [UsageNamespaceMissing],
})

const reportRoute = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: summaryAccess,
  failures: [UsageReportMissing],
})

export const downloadReport = reportRoute({
  id: 'usage.downloadReport',
  method: 'GET',
  path: '/dashboard/summary/{year}/{month}/download',
  summary: 'Download the usage report of a month',
  description: 'As it was written when the month was generated, with the figures of the views of the same revision.',
  params: MonthPath,
  query: ReportQuery,
  badPathAs: 400,
  ok: streamedFile(['application/pdf'], 'The report as PDF'),
})
