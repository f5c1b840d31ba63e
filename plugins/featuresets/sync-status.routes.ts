import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClusterSetMissing } from '../../core/clustersets/types.ts'
import { FeatureMissing } from '../../core/featuresets/sync-status.ts'
import { ClusterSetPath } from '../clustersets/codecs.ts'
import { requires } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { clusterSetInPath, FeaturePath, SyncStatus, SyncStatuses } from './codecs.ts'

const route = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterSetPath,
  access: requires('can_view', clusterSetInPath),
  failures: [...hubReadFailures, ClusterSetMissing],
})
const prefix = '/clusters/{owner}/{cluster}/clustersets/{clusterset}/sync-status'
const status = { insyncClusters: ['harbour'], outOfSyncClusters: ['quay'] }
const rules =
  'A spoke is in sync if it has enabled the feature that is installed on the set, in its version, and its release is not reported as not ready. ' +
  'One that does not report its features is out of sync, as is one that has a feature which is not installed on the set.'

export const listSyncStatuses = route({
  id: 'featuresets.listSyncStatuses',
  method: 'GET',
  path: `${prefix}/all-features`,
  summary: 'List which spokes of a cluster set are in sync, by feature set and feature',
  description: `Lists the features that are installed on the set, and those of the catalogue that any of its spokes has enabled. ${rules}`,
  ok: json(200, SyncStatuses, { backup: { 'backup-operator': status } }),
})

export const getSyncStatus = route({
  id: 'featuresets.getSyncStatus',
  method: 'GET',
  path: `${prefix}/{feature}`,
  summary: 'List which spokes of a cluster set are in sync in one feature',
  description: `${rules} A feature that is neither in the catalogue nor installed on the set is 404.`,
  params: FeaturePath,
  ok: json(200, SyncStatus, status),
  failures: [FeatureMissing],
})
