import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import type { FeatureSetState } from '../../core/featuresets/catalogue.ts'
import { makeListFeatureSets } from '../../core/featuresets/feature-sets.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { listFeatureSets } from './featuresets.routes.ts'

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
  needs: { hubs: HubsToken },
  routes: (given) => [
    handle(listFeatureSets, makeListFeatureSets(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
      reply: (states) => states.map(infoOf),
    }),
  ],
})
