import { clusterRoleBindings, clusterRoles, roleBindings } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { removeFinalizer } from '../api/object-changes.ts'
import { clusterNameLabel, groupOf, workCleanupFinalizer } from '../api/ocm-names.ts'

const rbac = 'rbac.authorization.k8s.io'
const roleName = (cluster: string): string => `open-cluster-management:managedcluster:${cluster}`
const sharedRegistrationRole = 'open-cluster-management:managedcluster:registration'
const sharedWorkRole = 'open-cluster-management:managedcluster:work'

/** The agents of a cluster, by certificate, and by a token. */
const agentsOf = (cluster: string) =>
  [groupOf(cluster), `open-cluster-management:${cluster}`].map((name) => ({ kind: 'Group', apiGroup: rbac, name }))
const labelsOf = (cluster: string) => ({ [clusterNameLabel]: cluster })

const reading = ['get', 'list', 'watch']

/**
 * 'What a hub then does: ... ClusterRole/Binding `open-cluster-management:managedcluster:<c>`, RoleBindings
 * `...:registration` and `...:work`' (note §5, accept-spoke). The binding for works keeps its finalizer as long as
 * works remain (note §3, Keys).
 */
export const grantAgentRights = async (client: KubeClient, cluster: string): Promise<void> => {
  const name = roleName(cluster)
  await applyClusterRole(client, cluster, true)
  await client.createIfMissing(clusterRoleBindings, {
    metadata: { name, labels: labelsOf(cluster) },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: agentsOf(cluster),
  })
  for (const [suffix, role, finalizers] of [
    ['registration', sharedRegistrationRole, []],
    ['work', sharedWorkRole, [workCleanupFinalizer]],
  ] as const) {
    await client.createIfMissing(roleBindings, {
      metadata: { name: `${name}:${suffix}`, namespace: cluster, labels: labelsOf(cluster), finalizers },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
      subjects: agentsOf(cluster),
    })
  }
}

/** What an agent may do in the hub: everything of its own cluster when accepted, otherwise it may only see it. */
export const applyClusterRole = async (client: KubeClient, cluster: string, isAccepted: boolean): Promise<void> => {
  const own = { apiGroups: ['cluster.open-cluster-management.io'], resourceNames: [cluster] }
  const rules = isAccepted
    ? [
        {
          apiGroups: ['certificates.k8s.io'],
          resources: ['certificatesigningrequests'],
          verbs: ['create', ...reading],
        },
        {
          apiGroups: ['register.open-cluster-management.io'],
          resources: ['managedclusters/clientcertificates'],
          verbs: ['renew'],
        },
        { ...own, resources: ['managedclusters'], verbs: [...reading, 'update'] },
        { ...own, resources: ['managedclusters/status'], verbs: ['patch', 'update'] },
      ]
    : [{ ...own, resources: ['managedclusters'], verbs: reading }]
  const role = { metadata: { name: roleName(cluster), labels: labelsOf(cluster) }, rules }
  if (isAccepted && (await client.createIfMissing(clusterRoles, role))) return
  await client.patch(clusterRoles, role, role)
}

/** 'Hub controllers gc ... RBAC' (note §5, remove-managed-cluster): the role and its binding at once. */
export const revokeClusterRole = async (client: KubeClient, cluster: string): Promise<void> => {
  await client.remove(clusterRoles, { metadata: { name: roleName(cluster) } })
  await client.remove(clusterRoleBindings, { metadata: { name: roleName(cluster) } })
}

/** The bindings in the cluster's namespace; that for works remains, being deleted, until `releaseWorkBinding`. */
export const revokeNamespaceRights = async (client: KubeClient, cluster: string): Promise<void> => {
  for (const suffix of ['registration', 'work'])
    await client.remove(roleBindings, { metadata: { name: `${roleName(cluster)}:${suffix}`, namespace: cluster } })
}

/** Lets the binding for works go, after the last ManifestWork of the cluster is gone. */
export const releaseWorkBinding = async (client: KubeClient, cluster: string): Promise<void> => {
  const binding = await client.get(roleBindings, `${roleName(cluster)}:work`, cluster)
  if (binding !== undefined) await removeFinalizer(client, roleBindings, binding, workCleanupFinalizer)
}

/** The roles that the bindings of all clusters refer to. */
export const installSharedRoles = async (client: KubeClient): Promise<void> => {
  await client.createIfMissing(clusterRoles, {
    metadata: { name: sharedRegistrationRole, labels: labelsOf('') },
    rules: [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...reading, 'update'] },
      { apiGroups: ['addon.open-cluster-management.io'], resources: ['managedclusteraddons'], verbs: reading },
      {
        apiGroups: ['addon.open-cluster-management.io'],
        resources: ['managedclusteraddons/status'],
        verbs: ['patch', 'update'],
      },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
    ],
  })
  await client.createIfMissing(clusterRoles, {
    metadata: { name: sharedWorkRole, labels: labelsOf('') },
    rules: [
      { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
      {
        apiGroups: ['work.open-cluster-management.io'],
        resources: ['manifestworks'],
        verbs: [...reading, 'update', 'patch'],
      },
      {
        apiGroups: ['work.open-cluster-management.io'],
        resources: ['manifestworks/status'],
        verbs: ['patch', 'update'],
      },
    ],
  })
}
