import { definePlugin } from '../kit/plugin.ts'
import { featureSetObjectTypes, featureSetPermissions } from './relations.ts'

export const featureSetsPlugin = definePlugin({
  id: 'featuresets',
  summary: 'Feature sets of hubs: what is installed on cluster sets, and which spokes are in step',
  listener: 'api',
  gate: 'always',
  permissions: featureSetPermissions,
  objectTypes: featureSetObjectTypes,
  groups: [],
})
