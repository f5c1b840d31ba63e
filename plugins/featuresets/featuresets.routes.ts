import * as t from 'io-ts'
import { hubChangeFailures, hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClusterSetMissing } from '../../core/clustersets/types.ts'
import { SpokeMissing } from '../../core/featuresets/feature-sets.ts'
import { FeaturesRefused } from '../../core/featuresets/model.ts'
import { ClusterSetPath } from '../clustersets/codecs.ts'
import { requires } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { empty, json } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { clusterSetInPath, EnableFeatureOptions, FeatureSetInfo, managedClusterInPath, SetMemberPath } from './codecs.ts'

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
  failures: [...hubReadFailures, ClusterSetMissing],
})

/** The values of the editor of a feature set. */
const model = body(FreeObjectCodec, {
  metadata: { release: { name: 'backup', namespace: 'features' } },
  resources: {
    helmToolkitFluxcdIoHelmRelease_backup_operator: {
      spec: {
        chart: { spec: { chart: 'backup-operator', version: '1.2.3', sourceRef: { kind: 'HelmRepository', name: 'charts', namespace: 'features' } } },
        targetNamespace: 'backup',
        install: { createNamespace: true },
        values: { replicas: 2 },
      },
    },
  },
})
const modelRules =
  'The body has the values of the editor of a feature set: `metadata.release.name` is the feature set, and `resources` has a release for each feature, under ' +
  '`helmToolkitFluxcdIoHelmRelease_` and the name of the feature with `_` for `-`. Of a release these fields count: `chart.spec`, `targetNamespace`, ' +
  '`install.createNamespace`, `values` and `valuesFrom`. Features that they need are installed too, as the catalogue has them. ' +
  '422 lists all reasons: an unknown or disabled feature, a feature of another set, a missing required feature, a need that cannot be met, and features that exclude each other.'

export const installFeatureSet = route({
  id: 'featuresets.install',
  method: 'POST',
  path: `${prefix}/install-featureset`,
  summary: 'Install features of a feature set on a cluster set',
  description: `${modelRules} The values of an installed feature are replaced as a whole; features that the body does not name stay as they are.`,
  access: requires('can_manage_feature_sets', clusterSetInPath),
  body: model,
  ok: empty(200),
  failures: [...hubChangeFailures, ClusterSetMissing, FeaturesRefused],
})

export const disableFeatureSet = route({
  id: 'featuresets.disable',
  method: 'POST',
  path: `${prefix}/disable-featureset`,
  summary: 'Disable features of a feature set on a cluster set',
  description:
    'Without `features`, all installed features of the set are disabled. Disabling a feature that is not installed succeeds. 422 for a required feature of the core ' +
    'feature set, and for a feature that another installed one needs. `clusterSet` must be that of the path.',
  access: requires('can_manage_feature_sets', clusterSetInPath),
  body: body(EnableFeatureOptions, { clusterSet: 'global', featureSet: 'backup', features: ['backup-operator'] }),
  ok: empty(200),
  failures: [...hubChangeFailures, ClusterSetMissing, FeaturesRefused],
})

export const updateFeatureSet = route({
  id: 'featuresets.update',
  method: 'POST',
  path: `${prefix}/{managedCluster}/update-featureset`,
  summary: 'Set the values of features on one spoke of a cluster set',
  description: `${modelRules} The values replace those of the cluster set on this spoke. 422 if the spoke is not in the set, or has no profile yet.`,
  access: requires('can_manage_feature_sets', managedClusterInPath),
  params: SetMemberPath,
  body: model,
  ok: empty(200),
  failures: [...hubChangeFailures, ClusterSetMissing, SpokeMissing, FeaturesRefused],
})
