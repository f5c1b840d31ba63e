import { definePlugin } from '../kit/plugin.ts'
import { contractAdministrationGroup } from './administration.handlers.ts'
import { bindingGroup } from './bindings.handlers.ts'
import { contractGroup } from './contracts.handlers.ts'
import { documentGroup } from './documents.handlers.ts'
import { documentRemovalGroup } from './documents.job.ts'
import { licenseGroup } from './licenses.handlers.ts'
import { reminderGroup } from './reminders.job.ts'
import { contractObjectTypes, contractPermissions } from './relations.ts'

export const contractsPlugin = definePlugin({
  id: 'contracts',
  summary: 'Contracts, the clusters that are bound to them, and their licenses',
  listener: 'api',
  gate: 'vendor-hosted',
  permissions: contractPermissions,
  objectTypes: contractObjectTypes,
  groups: [contractGroup, bindingGroup, contractAdministrationGroup, documentGroup, licenseGroup, reminderGroup, documentRemovalGroup],
})
