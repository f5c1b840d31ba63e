import { definePlugin } from '../kit/plugin.ts'
import { featureSetGroup } from './featuresets.handlers.ts'
import { profileGroup } from './profiles.handlers.ts'
import { featureSetObjectTypes, featureSetPermissions } from './relations.ts'
import { suiteGroup } from './suite.handlers.ts'
import { syncStatusGroup } from './sync-status.handlers.ts'

export const featureSetsPlugin = definePlugin({
  id: 'featuresets',
  summary: 'Feature sets of hubs: what is installed on cluster sets, and which spokes are in step',
  listener: 'api',
  gate: 'always',
  permissions: featureSetPermissions,
  objectTypes: featureSetObjectTypes,
  // suite-features-version is a literal in the place of a feature's name.
  groups: [featureSetGroup, suiteGroup, syncStatusGroup, profileGroup],
})
