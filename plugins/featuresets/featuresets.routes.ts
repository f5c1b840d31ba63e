import * as t from 'io-ts'
import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { FeatureTargetMissing } from '../../core/featuresets/cluster-set.ts'
import { requires } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { ClusterSetPath, clusterSetInPath, FeatureSetInfo } from './codecs.ts'

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterSetPath })
const prefix = '/clusters/{owner}/{cluster}/clustersets/{clusterset}'

export const listFeatureSets = route({
  id: 'featuresets.list',
  method: 'GET',
  path: `${prefix}/featuresets`,
  summary: 'List the feature sets of a hub and what is installed of each on a cluster set',
  description:
    'A feature is installed if the profile of the cluster set has it. A feature set is installed if all its required features are, or any feature if none is required. ' +
    'Disabled feature sets and features are omitted.',
  access: requires('can_view', clusterSetInPath),
  ok: json(200, t.readonlyArray(FeatureSetInfo), [
    {
      name: 'backup',
      title: 'Backup',
      description: 'Backs up volumes and databases.',
      recommended: true,
      installed: false,
      requiredFeatures: ['backup-operator'],
      features: [
        { name: 'backup-operator', title: 'Backup operator', description: 'Runs backups on a schedule.', recommended: true, installed: false, featureBlock: 'Operators' },
      ],
    },
  ]),
  failures: [...hubReadFailures, FeatureTargetMissing],
})
