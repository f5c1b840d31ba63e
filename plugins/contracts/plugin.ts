import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../kit/plugin.ts'
import { contractAdministrationGroup } from './administration.handlers.ts'
import { bindingGroup, contractGroup } from './contracts.handlers.ts'
import { documentRemovalGroup, reminderGroup } from './contracts.job.ts'
import { documentGroup } from './documents.handlers.ts'
import { licenseGroup } from './licenses.handlers.ts'

const namespace = 'contract_mgmt'
const held = heldBy(namespace)
const withView = [{ namespace, action: 'view contracts', required: true }]

/** Permissions on the contracts of an account that a custom role can carry. */
const contractPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'view contracts',
    level: 'read',
    description: 'View the contracts of the organization, their clusters, history and documents.',
  },
  {
    namespace,
    action: 'update preferences',
    level: 'admin',
    description: 'Change the preferences of contracts.',
    associated: withView,
  },
  {
    namespace,
    action: 'add clusters',
    level: 'admin',
    description: 'Bind clusters to contracts, and change their names and tags.',
    associated: withView,
  },
  {
    namespace,
    action: 'remove clusters',
    level: 'admin',
    description: 'Remove clusters from contracts.',
    associated: withView,
  },
  {
    namespace,
    action: 'issue licenses',
    level: 'admin',
    description: 'Issue licenses for the clusters of contracts.',
    associated: withView,
  },
]

/** Relations to one contract, and to the contracts of an account as a whole. */
const contractObjectTypes: readonly ObjectTypeDefinition[] = [
  {
    type: 'contract',
    place: { in: 'account', key: 'id', rows: 'own' },
    listed: true,
    scope: 'contract',
    reading: ['can_view'],
    relations: {
      can_view: held('view contracts', 'read'),
      can_update_preferences: held('update preferences', 'admin'),
      can_add_cluster: held('add clusters', 'admin'),
      can_remove_cluster: held('remove clusters', 'admin'),
      can_issue_license: held('issue licenses', 'admin'),
    },
  },
  {
    type: 'organization',
    listed: true,
    scope: 'contract',
    reading: ['can_view_contracts'],
    relations: {
      can_view_contracts: held('view contracts', 'read'),
      can_add_contract_clusters: held('add clusters', 'admin'),
      can_issue_contract_licenses: held('issue licenses', 'admin'),
    },
  },
]

export const contractsPlugin = definePlugin({
  id: 'contracts',
  summary: 'Contracts, the clusters that are bound to them, and their licenses',
  listener: 'api',
  gate: 'vendor-or-marketplace',
  permissions: contractPermissions,
  objectTypes: contractObjectTypes,
  groups: [
    contractGroup,
    bindingGroup,
    contractAdministrationGroup,
    documentGroup,
    licenseGroup,
    reminderGroup,
    documentRemovalGroup,
  ],
})
