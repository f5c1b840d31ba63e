import type { ObjectTypeDefinition, RelationTerm } from '../../core/kernel/access.ts'

const by = (action: string): readonly RelationTerm[] => [{ by: 'permission', namespace: 'org_mgmt', action }]

/** Relations of a user to an organization. Other plugins add relations for their objects in organizations. */
export const organizationRelations: ObjectTypeDefinition = {
  type: 'organization',
  listed: true,
  scope: 'organization',
  reading: ['member', 'owner', 'can_view', 'can_view_members', 'can_list_teams', 'can_list_tokens', 'can_view_policies', 'can_list_robots', 'can_view_audit'],
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
export const teamRelations: ObjectTypeDefinition = {
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
export const robotRelations: ObjectTypeDefinition = {
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
  },
}
