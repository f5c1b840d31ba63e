import { sample as clusters } from '../clusters/sample.ts'
import { sample as identity } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { defineSample, must } from '../support/part-sample.ts'

const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]

/** A role of the organization, named alike in both tenants, which a team has. */
export const sample = defineSample({
  part: 'authz',
  make: async (tenant) => {
    const { owner } = await tenant.of(identity)
    const { teamId } = await tenant.of(organizations)
    const { clusterId } = await tenant.of(clusters)
    const body = {
      name: 'lookout',
      description: tenant.text,
      permissions: [...permissions, { namespace: 'org_mgmt', action: 'view teams' }],
      teamIDs: [teamId],
    }
    const path = `/api/v1/authz/roles?org=${tenant.org}`
    const { json } = await must('role', tenant.service.send('POST', path, { token: owner.token, body }))
    return { roleId: json.id as number, clusterId }
  },
  names: ({ roleId, clusterId }) => ({ role: { id: roleId }, object: { type: 'cluster', id: clusterId } }),
  bodies: {
    'authz.listAllowedPermissions': (mine, theirs) => ({
      own: [{ objectType: 'cluster', objectID: mine.id('cluster') }],
      'cluster id': [{ objectType: 'cluster', objectID: theirs.id('cluster') }],
      'team id': [{ objectType: 'team', objectID: theirs.id('team') }],
      'organization id': [{ objectType: 'organization', objectID: theirs.id('organization') }],
      'user id': [{ objectType: 'user', objectID: theirs.id('user') }],
      'token id': [{ objectType: 'token', objectID: theirs.id('token') }],
      'robot id': [{ objectType: 'robot_ac', objectID: theirs.id('robot_ac') }],
      mixed: [
        { objectType: 'cluster', objectID: mine.id('cluster') },
        { objectType: 'cluster', objectID: theirs.id('cluster') },
      ],
    }),
    'authz.createRole': (mine, theirs) => ({
      own: { name: 'second', permissions },
      teamIDs: { name: 'second', permissions, teamIDs: [theirs.id('team')] },
      both: { name: 'second', permissions, teamIDs: [mine.id('team'), theirs.id('team')] },
    }),
    'authz.updateRole': (mine, theirs) => ({
      own: { description: 'Changed' },
      teamIDs: { teamIDs: [theirs.id('team')] },
      both: { teamIDs: [mine.id('team'), theirs.id('team')] },
    }),
  },
  tables: ({ roleId }, tenant) => {
    const orgIds = [tenant.of(organizations).orgId]
    return {
      roles: { org_id: orgIds },
      role_permissions: { role_id: [roleId] },
      team_roles: { org_id: orgIds },
      object_grants: { org_id: orgIds },
    }
  },
  harmless: {
    'authz.getAllowedPermissions [path objID]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body cluster id]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body team id]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body organization id]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body token id]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body robot id]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
    'authz.listAllowedPermissions [body mixed]': {
      why: 'an object that is not of this organization: no permissions',
      says: /"allowedPermissions":\[\]\}\]?$/,
    },
  },
})
