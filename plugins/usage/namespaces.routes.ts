import { ClientBillingDisabled, UsageNamespaceMissing } from '../../core/usage/views/namespace-ports.ts'
import { query, requires } from '../kit/access.ts'
import { json, streamed } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { NamespacePath, namespaceExample, NamespaceUsageReport, NamespaceUsageReports } from './namespace-codecs.ts'
import { InAccount } from './view-codecs.ts'

const route = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: requires('can_view_billing', { type: 'account', name: query('org') }),
  query: InAccount,
  failures: [ClientBillingDisabled],
})
const words =
  'From what the clusters have reported, at this moment. A contract that is in force must include `enableClientBilling`, and the cluster must be bound to it. ' +
  'Databases that were deleted more than six months ago are left out. Instants are seconds since the epoch.'

export const reportNamespaces = route({
  id: 'usage.reportNamespaces',
  method: 'GET',
  path: '/dbaas/billing/reports/namespaces',
  summary: 'Get the databases of all namespaces, for the bills of their users',
  description: `${words} All namespaces with databases are in one answer.`,
  ok: streamed(NamespaceUsageReports, { generatedAt: 1781000000, items: [namespaceExample] }, []),
})

export const reportNamespace = route({
  id: 'usage.reportNamespace',
  method: 'GET',
  path: '/dbaas/billing/reports/clusters/{clusterID}/namespaces/{namespaceName}',
  summary: 'Get the databases of a namespace, for the bill of its users',
  description: words,
  params: NamespacePath,
  ok: json(200, NamespaceUsageReport, namespaceExample),
  failures: [UsageNamespaceMissing],
})
