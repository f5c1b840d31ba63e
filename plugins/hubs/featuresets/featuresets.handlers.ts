import { AuthorizerPort } from '../../../core/authz/ports.ts'
import { HubsPort, SpokeSuppliesPort } from '../../../core/clusters/hubs/ports.ts'
import { ClusterStorePort, ClusterUnitOfWorkPort } from '../../../core/clusters/ports.ts'
import type { FeatureSetState } from '../../../core/hubs/featuresets/catalogue.ts'
import {
  makeDisableFeatureSet,
  makeInstallFeatureSet,
  makeListFeatureSets,
  makeUpdateFeatureSet,
} from '../../../core/hubs/featuresets/feature-sets.ts'
import { FeatureClaimsPort, SpokeSlicesPort, VersionInRangePort } from '../../../core/hubs/featuresets/ports.ts'
import { makeValidateProfile } from '../../../core/hubs/featuresets/profiles.ts'
import { makeCheckAutoUpdate, makeGetSuiteVersions, makeStartAutoUpdate } from '../../../core/hubs/featuresets/suite.ts'
import { makeGetSyncStatus, makeListSyncStatuses } from '../../../core/hubs/featuresets/sync-status.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import {
  checkAutoUpdate,
  disableFeatureSet,
  getSuiteVersions,
  getSyncStatus,
  installFeatureSet,
  listFeatureSets,
  listSyncStatuses,
  startAutoUpdate,
  updateFeatureSet,
  validateProfile,
} from './featuresets.routes.ts'

const infoOf = ({
  name,
  title,
  description,
  isRecommended,
  isInstalled,
  requiredFeatures,
  features,
}: FeatureSetState) => ({
  name,
  title,
  description,
  recommended: isRecommended,
  installed: isInstalled,
  requiredFeatures,
  features: features.map((feature) => ({
    name: feature.name,
    title: feature.title,
    description: feature.description,
    recommended: feature.isRecommended,
    installed: feature.isInstalled,
    featureBlock: feature.featureBlock,
  })),
})

export const featureSetGroup = defineGroup({
  needs: {
    clusters: ClusterStorePort,
    hubs: HubsPort,
    supplies: SpokeSuppliesPort,
    unitOfWork: ClusterUnitOfWorkPort,
  },
  routes: (given) => [
    handle(listFeatureSets, makeListFeatureSets(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
      reply: (states) => states.map(infoOf),
    }),
    handle(installFeatureSet, makeInstallFeatureSet(given), {
      input: ({ grant, params, body }) => ({ grant, clusterSet: params.clusterset, model: body }),
      reply: (unservedClusters) => ({ unservedClusters }),
    }),
    handle(disableFeatureSet, makeDisableFeatureSet(given), {
      input: ({ grant, params, body: { clusterSet, featureSet, features } }) => ({
        grant,
        clusterSet: params.clusterset,
        namedSet: clusterSet,
        featureSet,
        features: features ?? [],
      }),
    }),
    handle(updateFeatureSet, makeUpdateFeatureSet(given), {
      input: ({ grant, params, body }) => ({
        grant,
        clusterSet: params.clusterset,
        spoke: params.managedCluster,
        model: body,
      }),
    }),
  ],
})

const usualProfile = 'dbaas-generic'

export const profileGroup = defineGroup({
  needs: { hubs: HubsPort, claims: FeatureClaimsPort, clusters: ClusterStorePort, authorizer: AuthorizerPort },
  routes: (given) => [
    handle(validateProfile, makeValidateProfile(given), {
      input: ({ grant, query }) => ({ grant, profile: query.profile ?? usualProfile }),
      reply: (missing) =>
        missing.length === 0
          ? { valid: 'true', 'recommended-features': undefined }
          : { valid: 'false', 'recommended-features': missing },
    }),
  ],
})

export const suiteGroup = defineGroup({
  needs: { hubs: HubsPort, unitOfWork: ClusterUnitOfWorkPort },
  routes: (given) => [
    handle(getSuiteVersions, makeGetSuiteVersions(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
    }),
    handle(checkAutoUpdate, makeCheckAutoUpdate(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
    }),
    handle(startAutoUpdate, makeStartAutoUpdate(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
    }),
  ],
})

export const syncStatusGroup = defineGroup({
  needs: { hubs: HubsPort, claims: FeatureClaimsPort, isInRange: VersionInRangePort, slices: SpokeSlicesPort },
  routes: (given) => [
    handle(listSyncStatuses, makeListSyncStatuses(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
    }),
    handle(getSyncStatus, makeGetSyncStatus(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset, feature: params.feature }),
    }),
  ],
})
