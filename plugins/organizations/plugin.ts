import type { ObjectTypeDefinition, PermissionDefinition, RelationTerm } from '../../core/kernel/access.ts'
import { definePlugin } from '../kit/plugin.ts'
import { notifySecondFactor, removeExpiredInvitations } from './housekeeping.job.ts'
import { invitationGroup } from './invitations/invitations.handlers.ts'
import { memberGroup, memberViewGroup, organizationTokenGroup } from './members/members.handlers.ts'
import {
  organizationAdminGroup,
  organizationAvatarGroup,
  organizationGroup,
  policyGroup,
} from './organizations/organizations.handlers.ts'
import { robotGroup, robotTokenGroup } from './robots/robots.handlers.ts'
import { teamGroup, teamMemberGroup } from './teams/teams.handlers.ts'

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
const organizationPermissions: readonly PermissionDefinition[] = [
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
  define('delete access tokens', 'owner', 'Revoke access tokens that are confined to the organization', [
    'view access tokens',
  ]),
  define('view policies', 'read', 'View the entry requirements of the organization'),
  define('edit policies', 'owner', 'Require a second factor, and limit the life of access tokens', ['view policies']),
  define('view robot accounts', 'read', 'View the robot accounts of the organization'),
  define('manage robot accounts', 'admin', 'Create, change and delete robot accounts and their access tokens', [
    'view robot accounts',
    'view teams',
  ]),
  define('view audit log', 'owner', 'Read the audit log of the organization'),
]

const by = (action: string): readonly RelationTerm[] => [{ by: 'permission', namespace: 'org_mgmt', action }]

/** Relations of a user to an organization. Other plugins add relations for their objects in organizations. */
const organizationRelations: ObjectTypeDefinition = {
  type: 'organization',
  listed: true,
  scope: 'organization',
  reading: [
    'member',
    'owner',
    'can_view',
    'can_view_members',
    'can_list_teams',
    'can_list_tokens',
    'can_view_policies',
    'can_list_robots',
    'can_view_audit',
  ],
  relations: {
    member: [{ by: 'member' }],
    owner: [{ by: 'level', atLeast: 'owner' }],
    // Other routes return 403 to callers who may know that the organization exists, and 404 to all others.
    can_view: [{ by: 'member' }, { by: 'signed-in' }],
    can_edit: by('edit'),
    can_rename: by('rename'),
    can_delete: by('delete'),
    can_view_members: by('view members'),
    can_add_member: by('add members'),
    can_remove_member: by('remove members'),
    can_list_teams: by('view teams'),
    can_create_team: by('create teams'),
    can_list_tokens: by('view access tokens'),
    can_delete_token: by('delete access tokens'),
    can_view_policies: by('view policies'),
    can_edit_policies: by('edit policies'),
    can_list_robots: by('view robot accounts'),
    can_create_robot: by('manage robot accounts'),
    can_view_audit: by('view audit log'),
  },
}

/** Relations of a user to a team. `member` is membership of the team's organization. */
const teamRelations: ObjectTypeDefinition = {
  type: 'team',
  place: { in: 'any-account', key: 'id', rows: 'own' },
  listed: true,
  scope: 'organization',
  reading: ['member', 'can_view'],
  relations: {
    member: [{ by: 'member' }],
    can_view: by('view teams'),
    can_edit: by('edit teams'),
    can_delete: by('delete teams'),
    can_add_member: by('add team members'),
    can_remove_member: by('remove team members'),
  },
}

/** Relations of a user to a robot account of an organization. */
const robotRelations: ObjectTypeDefinition = {
  type: 'robot_ac',
  place: { in: 'account', key: 'name', rows: 'own' },
  listed: true,
  scope: 'organization',
  reading: ['can_view'],
  relations: {
    can_view: by('view robot accounts'),
    can_edit: by('manage robot accounts'),
    can_delete: by('manage robot accounts'),
    can_create_token: by('manage robot accounts'),
    can_trust_issuers: [{ by: 'level', atLeast: 'owner' }],
  },
}

/** Organizations, their members and their teams. */
export const organizationsPlugin = definePlugin({
  id: 'organizations',
  summary: 'Organizations, members and teams, invitations, policies, robot accounts',
  listener: 'api',
  gate: 'always',
  groups: [
    organizationGroup,
    organizationAvatarGroup,
    teamGroup,
    teamMemberGroup,
    memberViewGroup,
    memberGroup,
    organizationTokenGroup,
    invitationGroup,
    policyGroup,
    robotGroup,
    robotTokenGroup,
    organizationAdminGroup,
    notifySecondFactor,
    removeExpiredInvitations,
  ],
  permissions: organizationPermissions,
  objectTypes: [organizationRelations, teamRelations, robotRelations],
})
