import { definePlugin } from '../kit/plugin.ts'
import { viewGroup } from './views.handlers.ts'
import { usageObjectTypes, usagePermissions } from './relations.ts'

export const usagePlugin = definePlugin({
  id: 'usage',
  summary: 'The usage of products on clusters, reports on it and their documents',
  listener: 'api',
  gate: 'billing-enabled',
  permissions: usagePermissions,
  objectTypes: usageObjectTypes,
  groups: [viewGroup],
})
