import type { HubKind } from '../clusters/hubs/ports.ts'

const work = 'work.open-cluster-management.io/v1'
const vendorRights = 'authorization.k8s.appscode.com/v1alpha1'

/** Kinds in the namespace of a spoke on its hub. */
export const addOnKind: HubKind = { apiVersion: 'addon.open-cluster-management.io/v1alpha1', kind: 'ManagedClusterAddOn', plural: 'managedclusteraddons' }
export const workKind: HubKind = { apiVersion: work, kind: 'ManifestWork', plural: 'manifestworks' }
export const profileBindingKind: HubKind = { apiVersion: 'profile.k8s.appscode.com/v1alpha1', kind: 'ManagedClusterProfileBinding', plural: 'managedclusterprofilebindings' }
export const spokeRoleBindingKind: HubKind = { apiVersion: vendorRights, kind: 'ManagedClusterRoleBinding', plural: 'managedclusterrolebindings' }


/** Kinds on the spoke. */
export const klusterletKind: HubKind = { apiVersion: 'operator.open-cluster-management.io/v1', kind: 'Klusterlet', plural: 'klusterlets' }
/** What the agents report to the hub as `status.clusterClaims`. */
export const clusterClaimKind: HubKind = { apiVersion: 'cluster.open-cluster-management.io/v1alpha1', kind: 'ClusterClaim', plural: 'clusterclaims' }
export const appliedWorkKind: HubKind = { apiVersion: work, kind: 'AppliedManifestWork', plural: 'appliedmanifestworks' }
export const definitionKind: HubKind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions' }
export const deploymentKind: HubKind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' }
export const secretKind: HubKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
export const serviceAccountKind: HubKind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' }
export const clusterRoleBindingKind: HubKind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' }

/** The order in which the objects of a spoke are removed: lower numbers first; 0 by default. */
export const cleanupPriority = 'open-cluster-management.io/cleanup-priority'
/** Held by the agent of the spoke until it has removed what the work has applied. */
export const workFinalizer = 'cluster.open-cluster-management.io/manifest-work-cleanup'

/** Where the operator of the agents is on a spoke, and the bootstrap account on a hub. */
export const operatorNamespace = 'open-cluster-management'
/** Where the agents are, unless their Klusterlet says otherwise. */
export const agentNamespace = 'open-cluster-management-agent'
export const bootstrapSecret = 'bootstrap-hub-kubeconfig'
