/** The ways in which a relation is held. `level` is the lowest team level that gives it; `-` when none does. */
export interface ExpectedWays {
  readonly level: 'read' | 'write' | 'admin' | 'owner' | '-'
  readonly permission?: string
  readonly grants?: readonly string[]
  readonly owner?: true
  readonly self?: true
  readonly member?: true
  readonly signedIn?: true
}

/** Who is to hold what, kept by hand: a relation that is new or changed must be thought about here as well. */
export const expectedWays: Readonly<Record<string, ExpectedWays>> = {
  'organization.member': { level: '-', member: true },
  'organization.owner': { level: 'owner' },
  'organization.can_view': { level: '-', member: true, signedIn: true },
  'organization.can_edit': { level: 'admin', permission: 'org_mgmt/edit' },
  'organization.can_rename': { level: 'owner', permission: 'org_mgmt/rename' },
  'organization.can_delete': { level: 'owner', permission: 'org_mgmt/delete' },
  'organization.can_view_members': { level: 'read', permission: 'org_mgmt/view members' },
  'organization.can_add_member': { level: 'admin', permission: 'org_mgmt/add members' },
  'organization.can_remove_member': { level: 'owner', permission: 'org_mgmt/remove members' },
  'organization.can_list_teams': { level: 'read', permission: 'org_mgmt/view teams' },
  'organization.can_create_team': { level: 'admin', permission: 'org_mgmt/create teams' },
  'organization.can_list_tokens': { level: 'admin', permission: 'org_mgmt/view access tokens' },
  'organization.can_delete_token': { level: 'owner', permission: 'org_mgmt/delete access tokens' },
  'organization.can_view_audit': { level: 'owner', permission: 'org_mgmt/view audit log' },
  'organization.can_view_policies': { level: 'read', permission: 'org_mgmt/view policies' },
  'organization.can_edit_policies': { level: 'owner', permission: 'org_mgmt/edit policies' },
  'organization.can_list_robots': { level: 'read', permission: 'org_mgmt/view robot accounts' },
  'organization.can_create_robot': { level: 'admin', permission: 'org_mgmt/manage robot accounts' },
  'robot_ac.can_view': { level: 'read', permission: 'org_mgmt/view robot accounts' },
  'robot_ac.can_edit': { level: 'admin', permission: 'org_mgmt/manage robot accounts' },
  'robot_ac.can_delete': { level: 'admin', permission: 'org_mgmt/manage robot accounts' },
  'robot_ac.can_create_token': { level: 'admin', permission: 'org_mgmt/manage robot accounts' },
  'team.member': { level: '-', member: true },
  'team.can_view': { level: 'read', permission: 'org_mgmt/view teams' },
  'team.can_edit': { level: 'admin', permission: 'org_mgmt/edit teams' },
  'team.can_delete': { level: 'admin', permission: 'org_mgmt/delete teams' },
  'team.can_add_member': { level: 'admin', permission: 'org_mgmt/add team members' },
  'team.can_remove_member': { level: 'admin', permission: 'org_mgmt/remove team members' },
  'cluster.can_view': { level: 'read', owner: true, permission: 'cluster_mgmt/view clusters', grants: ['viewer', 'editor'] },
  'cluster.can_connect': { level: 'write', owner: true, permission: 'cluster_mgmt/connect to clusters', grants: ['editor'] },
  'cluster.can_view_accessconfig': { level: 'write', owner: true, permission: 'cluster_mgmt/view accessconfig', grants: ['editor'] },
  'cluster.can_edit': { level: 'admin', owner: true, permission: 'cluster_mgmt/reconfigure clusters', grants: ['editor'] },
  'cluster.can_reconfigure': { level: 'admin', owner: true, permission: 'cluster_mgmt/reconfigure clusters', grants: ['editor'] },
  'cluster.can_remove': { level: 'admin', owner: true, permission: 'cluster_mgmt/remove clusters' },
  'cluster.can_delete': { level: 'admin', owner: true, permission: 'cluster_mgmt/remove clusters' },
  'organization.can_list_clusters': { level: 'read', owner: true, permission: 'cluster_mgmt/view clusters' },
  'organization.can_view_tasks': { level: 'write', owner: true, permission: 'cluster_mgmt/connect to clusters' },
  'organization.can_cancel_tasks': { level: 'admin', owner: true, permission: 'cluster_mgmt/reconfigure clusters' },
  'organization.can_import_clusters': { level: 'admin', owner: true, permission: 'cluster_mgmt/import clusters' },
  'organization.can_list_chart_repositories': { level: 'read', owner: true, permission: 'cluster_mgmt/view clusters' },
  'organization.can_manage_chart_repositories': { level: 'admin', owner: true, permission: 'cluster_mgmt/manage chart repositories' },
  'role.can_view': { level: '-', member: true },
  'role.can_edit': { level: 'admin', permission: 'org_mgmt/edit roles' },
  'role.can_delete': { level: 'admin', permission: 'org_mgmt/delete roles' },
  'organization.can_create_role': { level: 'admin', permission: 'org_mgmt/create roles' },
  'user.can_view': { level: '-', self: true },
  'user.can_edit': { level: '-', self: true },
  'token.can_view': { level: '-', owner: true },
  'token.can_delete': { level: '-', owner: true },
}
