import type { ObjectTypeDefinition, PermissionDefinition } from '../../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../../kit/plugin.ts'
import { featureSetGroup, profileGroup, suiteGroup, syncStatusGroup } from './featuresets.handlers.ts'

const namespace = 'cluster_mgmt'
const held = heldBy(namespace)

/** Permissions on the feature sets of cluster sets and spokes. */
const featureSetPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'manage feature sets',
    level: 'admin',
    description: 'Install, update and disable feature sets on the cluster sets of hubs.',
    associated: [{ namespace, action: 'view hubs', required: true }],
  },
]

/** A spoke, as its hub knows it, is not in the database: authorization finds the hub. */
const featureSetObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'hub',
    listed: false,
    scope: 'cluster',
    reading: [],
    relations: { can_manage_feature_sets: held('manage feature sets', 'admin') },
  },
  {
    type: 'clusterset',
    listed: false,
    scope: 'cluster',
    reading: [],
    relations: { can_manage_feature_sets: [{ by: 'container', relation: 'can_manage_feature_sets' }] },
  },
  {
    type: 'managedcluster',
    place: { in: { type: 'hub' }, key: 'name', rows: 'container' },
    listed: false,
    scope: 'cluster',
    reading: ['can_view'],
    relations: {
      can_view: [{ by: 'container', relation: 'can_view' }],
      can_manage_feature_sets: [{ by: 'container', relation: 'can_manage_feature_sets' }],
    },
  },
]

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
