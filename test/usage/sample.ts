import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { IntakeSumsPort } from '../../core/usage/events/intake.ts'
import { sample as clusters } from '../clusters/sample.ts'
import { sample as contracts } from '../contracts/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { plantedUsage, plantUsage } from '../support/plant-usage.ts'
import { defineSample, isOfMarketplace, refusedFor, type Tenant } from '../support/part-sample.ts'

const heartbeatOf = (tenant: Tenant): object => ({
  clusterUID: tenant.key('cluster', 'uid'),
  events: [{ id: '1', type: 'cluster.heartbeat', time: new Date().toISOString() }],
})

const outageOf = (tenant: Tenant): object => ({
  accountName: tenant.org,
  clusterID: tenant.key('cluster', 'uid'),
  start: '2026-11-01T00:00:00Z',
  end: '2026-11-01T01:00:00Z',
})

const idsIn = async (
  database: SqlDatabase,
  table: string,
  column: string,
  of: readonly number[],
): Promise<readonly number[]> =>
  (
    await database.query<{ id: number }>((k) =>
      k(table)
        .whereIn(column, [...of])
        .select('id'),
    )
  ).map(({ id }) => id)

/** A month of usage with its report, and a database that a cluster has reported. */
export const sample = defineSample({
  part: 'usage',
  isServed: (service) => !isOfMarketplace(service),
  make: async (tenant) => {
    const { service, database, org, text } = tenant
    const { orgId } = await tenant.of(organizations)
    const { kubernetes } = await tenant.of(clusters)
    await tenant.of(contracts)
    await plantUsage(service, { name: org, id: orgId, clusterUid: kubernetes.uid, text })
    await service.running.container.resolve(IntakeSumsPort).flush()
    const clusterIds = await idsIn(database, 'usage_clusters', 'owner_id', [orgId])
    const monthIds = await idsIn(database, 'usage_months', 'owner_id', [orgId])
    return {
      clusterIds,
      objectIds: await idsIn(database, 'usage_objects', 'cluster_id', clusterIds),
      monthIds,
      viewIds: await idsIn(database, 'usage_views', 'month_id', monthIds),
    }
  },
  names: () => ({
    'usage month': { year: plantedUsage.year, month: plantedUsage.month },
    'metered object': { cluster: plantedUsage.clusterUid, uid: plantedUsage.objectUid },
    namespace: { name: plantedUsage.namespace },
  }),
  bodies: {
    'usage.reportEvents': (mine, theirs) => ({ own: heartbeatOf(mine), clusterUID: heartbeatOf(theirs) }),
    'usage.recordOutage': (mine, theirs) => ({
      own: outageOf(mine),
      accountName: { ...outageOf(mine), accountName: theirs.org },
      clusterID: { ...outageOf(mine), clusterID: theirs.key('cluster', 'uid') },
    }),
  },
  tables: ({ clusterIds, objectIds, monthIds, viewIds }, tenant) => {
    const ofAccounts = { owner_id: accountIds(tenant) }
    const ofClusters = { cluster_id: clusterIds }
    const ofContracts = { contract_id: [tenant.of(contracts).contractId] }
    return {
      usage_clusters: ofAccounts,
      usage_months: ofAccounts,
      usage_final_months: ofAccounts,
      usage_intake: ofAccounts,
      usage_outages: ofAccounts,
      usage_refused: ofAccounts,
      usage_alerts: ofContracts,
      usage_contract_months: ofContracts,
      usage_changes: { object_id: objectIds },
      usage_conflicts: ofClusters,
      usage_intervals: ofClusters,
      usage_modes: ofClusters,
      usage_namespaces: ofClusters,
      usage_objects: ofClusters,
      usage_presence: ofClusters,
      usage_segments: ofClusters,
      usage_trials: ofClusters,
      usage_reports: { month_id: monthIds },
      usage_views: { month_id: monthIds },
      usage_view_pieces: { view_id: viewIds },
    }
  },
  sharedTables: { usage_kinds: 'the kinds of resources, for all accounts' },
  harmless: {
    'usage.reportEvents [body clusterUID]': {
      why: 'a cluster that an own contract is bound to: two accounts with one UID count separately',
      says: /^\{"results":\[\{"id":"1","result":"(accepted|repeated)"\}\]\}$/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'usage.listGeneratedMonths',
      'usage.getObjectHistory',
      'usage.getDatabaseObjects',
      'usage.getDatabaseClusters',
      'usage.getDatabaseNamespaces',
      'usage.getDatabaseKinds',
      'usage.getDatabaseContracts',
      'usage.getDatabaseQuotas',
      'usage.getDatabaseModes',
      'usage.getBackupClusters',
      'usage.getBackupContracts',
      'usage.getVaultClusters',
      'usage.getVaultContracts',
      'usage.getIngressClusters',
      'usage.getIngressContracts',
      'usage.getDatabaseQuotasOfObject',
      'usage.getDatabaseModesOfObject',
      'usage.downloadReport',
      'usage.listIntake',
      'usage.listRefusedEvents',
      'usage.getRunningMonth',
      'usage.closeMonth',
      'usage.reopenMonth',
      'usage.listCustomers',
      'usage.recordOutage',
      'usage.getOutageReport',
    ]),
    'usage.getBusCredentials []': 'the service of this test has no NATS',
  },
})
