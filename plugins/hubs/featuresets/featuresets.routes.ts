import * as t from 'io-ts'
import { hubChangeFailures, hubReadFailures } from '../../../core/clusters/hubs/ports.ts'
import { ClusterSetMissing } from '../../../core/hubs/clustersets/types.ts'
import { ClaimUnreadable } from '../../../core/hubs/featuresets/claims.ts'
import { SpokeMissing } from '../../../core/hubs/featuresets/feature-sets.ts'
import { FeaturesRefused } from '../../../core/hubs/featuresets/rules.ts'
import { ProfileMissing } from '../../../core/hubs/featuresets/profiles.ts'
import { AutoUpdateImpossible } from '../../../core/hubs/featuresets/suite.ts'
import { FeatureMissing } from '../../../core/hubs/featuresets/sync-status.ts'
import { ClusterPath, hubInPath } from '../../clusters/codecs.ts'
import { ClusterSetPath } from '../clustersets/codecs.ts'
import { read, requires } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { empty, json, packed } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import {
  AutoUpdateCheck,
  clusterSetInPath,
  EnableFeatureOptions,
  FeaturePath,
  FeatureSetInfo,
  FeatureSetInstalled,
  managedClusterInPath,
  ProfileQuery,
  ProfileValidity,
  SetMemberPath,
  SyncStatus,
  SyncStatuses,
  VersionSync,
} from './codecs.ts'

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterSetPath })
const prefix = '/clusters/{owner}/{cluster}/clustersets/{clusterset}'

export const listFeatureSets = route({
  id: 'featuresets.list',
  method: 'GET',
  path: `${prefix}/featuresets`,
  summary: 'List the feature sets of a hub and what is installed of each on a cluster set',
  description:
    'A feature is installed if the profile of the cluster set has it. A feature set is installed if all ' +
    'its required features are, or any feature if none is required. ' +
    'Disabled feature sets and features are omitted.',
  access: requires('can_view', clusterSetInPath),
  ok: packed(
    json(200, t.readonlyArray(FeatureSetInfo), [
      {
        name: 'backup',
        title: 'Backup',
        description: 'Backs up volumes and databases.',
        recommended: true,
        installed: false,
        requiredFeatures: ['backup-operator'],
        features: [
          {
            name: 'backup-operator',
            title: 'Backup operator',
            description: 'Runs backups on a schedule.',
            recommended: true,
            installed: false,
            featureBlock: 'Operators',
          },
        ],
      },
    ]),
  ),
  failures: [...hubReadFailures, ClusterSetMissing],
})

/** The values of the editor of a feature set. */
const model = body(FreeObjectCodec, {
  metadata: { release: { name: 'backup', namespace: 'features' } },
  resources: {
    helmToolkitFluxcdIoHelmRelease_backup_operator: {
      spec: {
        chart: {
          spec: {
            chart: 'backup-operator',
            version: '1.2.3',
            sourceRef: { kind: 'HelmRepository', name: 'charts', namespace: 'features' },
          },
        },
        targetNamespace: 'backup',
        install: { createNamespace: true },
        values: { replicas: 2 },
      },
    },
  },
})
const modelRules =
  'The body has the values of the editor of a feature set: `metadata.release.name` is the feature set, and ' +
  '`resources` has a release for each feature, under ' +
  '`helmToolkitFluxcdIoHelmRelease_` and the name of the feature with `_` for `-`. Of a release these ' +
  'fields count: `chart.spec`, `targetNamespace`, ' +
  '`install.createNamespace`, `values` and `valuesFrom`. Features that they need are installed too, as the ' +
  'catalogue has them. ' +
  '422 lists all reasons: an unknown or disabled feature, a feature of another set, a missing required ' +
  'feature, a need that cannot be met, and features that exclude each other.'

export const installFeatureSet = route({
  id: 'featuresets.install',
  method: 'POST',
  path: `${prefix}/install-featureset`,
  summary: 'Install features of a feature set on a cluster set',
  description:
    `${modelRules} The values of an installed feature are replaced as a whole; features that the body does ` +
    'not name stay as they are. A set with a cluster that is in ' +
    'another set with features is 422. `unservedClusters` has the clusters of the set to which the hub ' +
    'does not give the feature set, with the reasons: a set without the core features; a cluster without the claim ' +
    '`features.ace.info`, which gets the core feature set only; a cluster without the claim ' +
    '`cluster.ace.info`, which is written on it where the account has an access config.',
  access: requires('can_manage_feature_sets', clusterSetInPath),
  body: model,
  ok: json(200, FeatureSetInstalled, {
    unservedClusters: [
      {
        name: 'quay',
        reason: 'Its agent does not report the claim cluster.ace.info, and it could not be written on the cluster.',
      },
    ],
  }),
  failures: [...hubChangeFailures, ClusterSetMissing, FeaturesRefused],
})

export const disableFeatureSet = route({
  id: 'featuresets.disable',
  method: 'POST',
  path: `${prefix}/disable-featureset`,
  summary: 'Disable features of a feature set on a cluster set',
  description:
    'Without `features`, all installed features of the set are disabled. Disabling a feature that is not ' +
    'installed succeeds. 422 for a required feature of the core ' +
    'feature set while other features are installed, and for a feature that another installed one needs. ' +
    'With the last feature the profile of the cluster set is deleted, ' +
    'and the hub removes its features from the spokes. `clusterSet` must be that of the path.',
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
  description:
    `${modelRules} The values replace those of the cluster set on this spoke. 422 if the spoke is not in the ` +
    'set, or has no profile yet.',
  access: requires('can_manage_feature_sets', managedClusterInPath),
  params: SetMemberPath,
  body: model,
  ok: empty(200),
  failures: [...hubChangeFailures, ClusterSetMissing, SpokeMissing, FeaturesRefused],
})

export const validateProfile = defineRoute({
  id: 'featuresets.validateProfile',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/validate-profile',
  summary: 'Get whether a cluster has the features that a cluster profile requires',
  description:
    'The profile is that of the cluster, or a built-in one; another name is 404. The features are those of ' +
    'the objects of the cluster, or those that a spoke reports to its hub. ' +
    'A feature that is disabled is not missing, nor is one whose exclusion group has an enabled feature. ' +
    '`valid` is the text `true` or `false`.',
  tag: 'Multi-cluster',
  scope: read('cluster'),
  access: requires('can_view', hubInPath),
  params: ClusterPath,
  query: ProfileQuery,
  ok: json(200, ProfileValidity, { valid: 'false', 'recommended-features': ['cert-manager', 'keda'] }),
  failures: [...hubReadFailures, ProfileMissing, ClaimUnreadable],
})

const suiteRoute = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterSetPath,
  failures: [...hubReadFailures, ClusterSetMissing],
})
const reading = requires('can_view', clusterSetInPath)

export const getSuiteVersions = suiteRoute({
  id: 'featuresets.getSuiteVersions',
  method: 'GET',
  path: `${prefix}/sync-status/suite-features-version`,
  summary: 'Get the version of the suite on a cluster set and on each of its spokes',
  description:
    'The suite is the feature that carries the catalogue. A version is empty if it is not installed or not ' +
    'known: `reason` says why a spoke that should have one does not report it.',
  access: reading,
  ok: json(200, VersionSync, {
    clusterSetVersion: 'v2026.9.15',
    clusters: [{ name: 'harbour', version: 'v2026.9.15' }],
  }),
})

export const checkAutoUpdate = suiteRoute({
  id: 'featuresets.checkAutoUpdate',
  method: 'GET',
  path: `${prefix}/auto-update/check`,
  summary: 'Get whether the spokes of a cluster set can follow its version of the suite',
  description:
    'Possible if the set has spokes, and all of them have the version of the suite that the hub itself ' +
    'has. Otherwise `reason` says why not.',
  access: reading,
  ok: json(200, AutoUpdateCheck, {
    possible: false,
    reason: 'These spokes are not on the latest version 2026.9.15 of the suite: quay.',
  }),
})

export const startAutoUpdate = suiteRoute({
  id: 'featuresets.startAutoUpdate',
  method: 'POST',
  path: `${prefix}/auto-update`,
  summary: 'Make the spokes of a cluster set follow its version of the suite',
  description:
    'The set gets the version of the suite that the hub has, and no spoke stays at a version of its own. ' +
    '400 where the check says that it is not possible.',
  access: requires('can_manage_feature_sets', clusterSetInPath),
  ok: empty(200),
  failures: [...hubChangeFailures, AutoUpdateImpossible],
})

const statusRoute = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterSetPath,
  access: requires('can_view', clusterSetInPath),
  failures: [...hubReadFailures, ClusterSetMissing],
})
const statusPrefix = '/clusters/{owner}/{cluster}/clustersets/{clusterset}/sync-status'
const status = {
  insyncClusters: ['harbour'],
  outOfSyncClusters: ['quay'],
  reasons: { quay: 'It does not have the feature.' },
}
const rules =
  'A spoke is in sync if the hub sees it as available, it has applied what the hub has sent last, has ' +
  'enabled the feature that is installed on the set, in its ' +
  'version, and its release is not reported as not ready. One that does not report its features is out of ' +
  'sync, as is one that has a feature which is not installed on the set. ' +
  '`reasons` says why, for at most 50 clusters of a feature; it also names clusters that the hub cannot ' +
  'serve, since it does not know their identity.'

export const listSyncStatuses = statusRoute({
  id: 'featuresets.listSyncStatuses',
  method: 'GET',
  path: `${statusPrefix}/all-features`,
  summary: 'List which spokes of a cluster set are in sync, by feature set and feature',
  description:
    'Lists the features that are installed on the set, and those of the catalogue that any of its spokes has ' +
    `enabled. ${rules}`,
  ok: json(200, SyncStatuses, { backup: { 'backup-operator': status } }),
})

export const getSyncStatus = statusRoute({
  id: 'featuresets.getSyncStatus',
  method: 'GET',
  path: `${statusPrefix}/{feature}`,
  summary: 'List which spokes of a cluster set are in sync in one feature',
  description: `${rules} A feature that is neither in the catalogue nor installed on the set is 404.`,
  params: FeaturePath,
  ok: json(200, SyncStatus, status),
  failures: [FeatureMissing],
})
