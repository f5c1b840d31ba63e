import type { HubKind } from '../clusters/hubs/ports.ts'

/** In the namespace of a spoke on its hub. */
export const addOnKind: HubKind = { apiVersion: 'addon.open-cluster-management.io/v1alpha1', kind: 'ManagedClusterAddOn', plural: 'managedclusteraddons' }

/** What a hub knows about an add-on. */
export const addOnDefinitionKind: HubKind = { apiVersion: 'addon.open-cluster-management.io/v1alpha1', kind: 'ClusterManagementAddOn', plural: 'clustermanagementaddons' }

/** On a spoke: what the agents report to the hub as `status.clusterClaims`. */
export const clusterClaimKind: HubKind = { apiVersion: 'cluster.open-cluster-management.io/v1alpha1', kind: 'ClusterClaim', plural: 'clusterclaims' }
/** On a spoke: what the agent of a hub has applied. */
export const appliedWorkKind: HubKind = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'AppliedManifestWork', plural: 'appliedmanifestworks' }
export const definitionKind: HubKind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions' }
export const deploymentKind: HubKind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' }
export const clusterRoleBindingKind: HubKind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' }

/** On objects that this service makes on hubs and spokes. */
export const managedByLabel = 'app.kubernetes.io/managed-by'
export const managedByValue = 'moorage'

/** The order in which the objects of a spoke are removed: lower numbers first; 0 by default. */
export const cleanupPriority = 'open-cluster-management.io/cleanup-priority'
/** Held by the agent of the spoke until it has removed what the work has applied. */
export const workFinalizer = 'cluster.open-cluster-management.io/manifest-work-cleanup'
