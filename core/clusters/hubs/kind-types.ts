import type { HubKind } from './ports.ts'

/** Kinds of Kubernetes and of Open Cluster Management that several parts use on hubs and spokes. Those of one part are in that part. */
export const configMapKind: HubKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
export const secretKind: HubKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
export const serviceAccountKind: HubKind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' }
/** On a spoke: the agents of one hub. */
export const klusterletKind: HubKind = { apiVersion: 'operator.open-cluster-management.io/v1', kind: 'Klusterlet', plural: 'klusterlets' }
/** The objects that a hub sends to a spoke, in the namespace of the spoke, and what the spoke reports of them. */
export const manifestWorkKind: HubKind = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'ManifestWork', plural: 'manifestworks' }

/** Where the operator of the agents is on a spoke, and the bootstrap account on a hub. */
export const operatorNamespace = 'open-cluster-management'
/** Where the agents are on a spoke, unless their Klusterlet says otherwise. */
export const agentNamespace = 'open-cluster-management-agent'
/** The kubeconfig with which agents ask to join, in their namespace. */
export const bootstrapSecret = 'bootstrap-hub-kubeconfig'
/** What a hub publishes for clusters that join it. */
export const publicNamespace = 'kube-public'
