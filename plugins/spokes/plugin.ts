import { definePlugin } from '../kit/plugin.ts'
import { acceptanceGroup } from './acceptance.handlers.ts'
import { importGroup, importTaskGroup } from './imports.handlers.ts'
import { managedClusterGroup } from './managed-clusters.handlers.ts'
import { removalGroup } from './removal.handlers.ts'
import { spokeObjectTypes, spokePermissions } from './relations.ts'

export const spokesPlugin = definePlugin({
  id: 'spokes',
  summary: 'Hubs and their spokes: lists, acceptance, import and removal',
  listener: 'api',
  gate: 'always',
  permissions: spokePermissions,
  objectTypes: spokeObjectTypes,
  groups: [managedClusterGroup, acceptanceGroup, removalGroup, importGroup, importTaskGroup],
})
