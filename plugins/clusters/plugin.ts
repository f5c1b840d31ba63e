import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import { definePlugin, heldBy } from '../kit/plugin.ts'
import { accountClusterGroup, accountHubGroup, clusterGroup, recordTaskGroup } from './clusters.handlers.ts'
import { proxyGroup } from './proxy.handlers.ts'

const namespace = 'cluster_mgmt'
const withView = [{ namespace, action: 'view clusters', required: true }]

/** Permissions on clusters that a custom role can carry. */
const clusterPermissions: readonly PermissionDefinition[] = [
  {
    namespace,
    action: 'view clusters',
    level: 'read',
    description: 'View the clusters of the organization and their status.',
  },
  {
    namespace,
    action: 'connect to clusters',
    level: 'write',
    description: 'Access the Kubernetes API of the clusters of the organization.',
    associated: withView,
  },
  {
    namespace,
    action: 'view accessconfig',
    level: 'write',
    description: 'Download a client configuration for a cluster. It does not contain the stored credential.',
    associated: [...withView, { namespace, action: 'connect to clusters', required: false }],
  },
  {
    namespace,
    action: 'import clusters',
    level: 'admin',
    description: 'Import clusters into the organization.',
    associated: withView,
  },
  {
    namespace,
    action: 'reconfigure clusters',
    level: 'admin',
    description: 'Change the name, components and stored credential of a cluster.',
    associated: withView,
  },
  {
    namespace,
    action: 'remove clusters',
    level: 'admin',
    description: 'Remove clusters from the organization.',
    associated: withView,
  },
  {
    namespace,
    action: 'view hubs',
    level: 'read',
    description: 'View the spokes, cluster sets and feature sets of the hubs of the organization.',
    associated: withView,
  },
]

const held = heldBy(namespace)

const clusterRelations: ObjectTypeDefinition = {
  type: 'cluster',
  place: { in: 'account', key: 'name', rows: 'own' },
  listed: true,
  scope: 'cluster',
  reading: ['can_view', 'can_view_accessconfig'],
  relations: {
    can_view: held('view clusters', 'read', ['viewer', 'editor']),
    can_connect: held('connect to clusters', 'write', ['editor']),
    can_view_accessconfig: held('view accessconfig', 'write', ['editor']),
    can_edit: held('reconfigure clusters', 'admin', ['editor']),
    can_reconfigure: held('reconfigure clusters', 'admin', ['editor']),
    can_remove: held('remove clusters', 'admin'),
    can_delete: held('remove clusters', 'admin'),
  },
}

/** A hub is named by the record of its cluster. Parts that change hubs contribute the relations of their own. */
const hubRelations: ObjectTypeDefinition = {
  type: 'hub',
  place: { in: 'account', key: 'name', rows: 'own' },
  listed: false,
  scope: 'cluster',
  reading: ['can_view'],
  relations: { can_view: held('view hubs', 'read') },
}

/** Relations of an organization, or of a user in the own account, to the clusters of the account. */
const accountRelations: ObjectTypeDefinition = {
  type: 'organization',
  listed: true,
  scope: 'cluster',
  reading: ['can_list_clusters'],
  relations: {
    can_list_clusters: held('view clusters', 'read'),
    can_import_clusters: held('import clusters', 'admin'),
  },
}

const clusterObjectTypes: readonly ObjectTypeDefinition[] = [clusterRelations, hubRelations, accountRelations]

export const clustersPlugin = definePlugin({
  id: 'clusters',
  summary: 'Imported clusters and access to their Kubernetes API',
  listener: 'api',
  gate: 'always',
  permissions: clusterPermissions,
  objectTypes: clusterObjectTypes,
  groups: [accountClusterGroup, accountHubGroup, clusterGroup, recordTaskGroup, proxyGroup],
})
