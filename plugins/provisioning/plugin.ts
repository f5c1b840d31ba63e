import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../kit/plugin.ts'
import { discoveryGroup } from './discovery.handlers.ts'
import { provisionedGroupGroup } from './groups.handlers.ts'
import { provisionedUserGroup } from './users.handlers.ts'

const namespace = 'org_mgmt'

const provisioningPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'provision accounts',
    level: 'owner',
    description: 'Create, change and delete the users and groups of the directory of the organization',
  },
]

const provisioningRelations: ObjectTypeDefinition = {
  type: 'organization',
  listed: true,
  scope: 'provisioning',
  reading: [],
  relations: { can_provision_accounts: heldBy(namespace)('provision accounts', 'owner') },
}

/** Users and groups that the directory of an organization manages, by SCIM 2.0. */
export const provisioningPlugin = definePlugin({
  id: 'provisioning',
  summary: 'Users and groups that directories of organizations manage, by SCIM 2.0',
  listener: 'api',
  gate: 'always',
  // Directories and their tests expect SCIM below the root of the host (RFC 7644 §1.3).
  names: { hostPaths: ['/scim'], paths: [], fields: {} },
  groups: [discoveryGroup, provisionedUserGroup, provisionedGroupGroup],
  permissions: provisioningPermissions,
  objectTypes: [provisioningRelations],
})
