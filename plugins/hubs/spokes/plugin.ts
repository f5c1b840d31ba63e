import type { ObjectTypeDefinition, PermissionDefinition } from '../../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../../kit/plugin.ts'
import { acceptanceGroup, importGroup, importTaskGroup, managedClusterGroup, removalGroup } from './spokes.handlers.ts'

const namespace = 'cluster_mgmt'
const held = heldBy(namespace)
const withView = [{ namespace, action: 'view hubs', required: true }]

/**
 * Permissions on the spokes of hubs. Each step of a spoke's life has its own, so that who accepts spokes need not
 * remove them.
 */
const spokePermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'accept spokes',
    level: 'admin',
    description: 'Accept clusters that ask to join a hub.',
    associated: withView,
  },
  {
    namespace,
    action: 'import spokes',
    level: 'admin',
    description:
      'Import clusters into a hub, and read the command with which a cluster joins it. The command ' +
      'contains a credential of the hub.',
    associated: [...withView, { namespace, action: 'import clusters', required: false }],
  },
  {
    namespace,
    action: 'remove spokes',
    level: 'admin',
    description: 'Remove clusters from a hub.',
    associated: [...withView, { namespace, action: 'remove clusters', required: false }],
  },
  {
    namespace,
    action: 'sync accounts',
    level: 'admin',
    description: 'Write the accounts of the members of the organization to a hub.',
    associated: withView,
  },
]

const spokeObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'hub',
    listed: false,
    scope: 'cluster',
    reading: [],
    relations: {
      can_accept_spokes: held('accept spokes', 'admin'),
      can_import_spokes: held('import spokes', 'admin'),
      can_remove_spokes: held('remove spokes', 'admin'),
      can_sync_accounts: held('sync accounts', 'admin'),
    },
  },
]

export const spokesPlugin = definePlugin({
  id: 'spokes',
  summary: 'Hubs and their spokes: lists, acceptance, import and removal',
  listener: 'api',
  gate: 'always',
  permissions: spokePermissions,
  objectTypes: spokeObjectTypes,
  groups: [managedClusterGroup, acceptanceGroup, removalGroup, importGroup, importTaskGroup],
})
