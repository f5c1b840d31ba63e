import type { PermissionDefinition } from '../../core/kernel/access.ts'

const namespace = 'org_mgmt'

const define = (
  action: string,
  level: PermissionDefinition['level'],
  description: string,
  needs: readonly string[] = [],
): PermissionDefinition => ({
  namespace,
  action,
  level,
  description,
  ...(needs.length > 0 ? { associated: needs.map((needed) => ({ namespace, action: needed, required: true })) } : {}),
})

/** Permissions on organizations, members and teams that a custom role can carry. */
export const organizationPermissions: readonly PermissionDefinition[] = [
  define('view', 'read', 'View the profile of the organization'),
  define('edit', 'admin', 'Change the profile of the organization', ['view']),
  define('rename', 'owner', 'Rename the organization', ['view', 'edit']),
  define('delete', 'owner', 'Delete the organization', ['view']),
  define('view members', 'read', 'View all members, including private ones'),
  define('add members', 'admin', 'Make users members of the organization', ['view members']),
  define('remove members', 'owner', 'Remove members from the organization', ['view members']),
  define('view teams', 'read', 'View the teams and their members'),
  define('create teams', 'admin', 'Create teams', ['view teams']),
  define('edit teams', 'admin', 'Change the name, level and roles of teams', ['view teams']),
  define('delete teams', 'admin', 'Delete teams', ['view teams']),
  define('add team members', 'admin', 'Add users to teams', ['view teams', 'add members']),
  define('remove team members', 'admin', 'Remove users from teams', ['view teams']),
  define('view access tokens', 'admin', 'View the access tokens that are confined to the organization'),
  define('delete access tokens', 'owner', 'Revoke access tokens that are confined to the organization', ['view access tokens']),
  define('view policies', 'read', 'View the entry requirements of the organization'),
  define('edit policies', 'owner', 'Require a second factor, and limit the life of access tokens', ['view policies']),
  define('view robot accounts', 'read', 'View the robot accounts of the organization'),
  define('manage robot accounts', 'admin', 'Create, change and delete robot accounts and their access tokens', ['view robot accounts', 'view teams']),
  define('view audit log', 'owner', 'Read the audit log of the organization'),
]
