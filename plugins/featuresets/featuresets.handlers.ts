import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterUnitOfWorkToken } from '../../core/clusters/ports.ts'
import type { FeatureSetState } from '../../core/featuresets/catalogue.ts'
import { makeDisableFeatureSet, makeInstallFeatureSet, makeListFeatureSets, makeUpdateFeatureSet } from '../../core/featuresets/feature-sets.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { disableFeatureSet, installFeatureSet, listFeatureSets, updateFeatureSet } from './featuresets.routes.ts'

const infoOf = ({ name, title, description, isRecommended, isInstalled, requiredFeatures, features }: FeatureSetState) => ({
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
  needs: { hubs: HubsToken, unitOfWork: ClusterUnitOfWorkToken },
  routes: (given) => [
    handle(listFeatureSets, makeListFeatureSets(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
      reply: (states) => states.map(infoOf),
    }),
    handle(installFeatureSet, makeInstallFeatureSet(given), { input: ({ grant, params, body }) => ({ grant, clusterSet: params.clusterset, model: body }) }),
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
      input: ({ grant, params, body }) => ({ grant, clusterSet: params.clusterset, spoke: params.managedCluster, model: body }),
    }),
  ],
})
