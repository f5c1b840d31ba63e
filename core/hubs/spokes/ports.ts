import type { HubKind } from '../../clusters/hubs/ports.ts'
import type { AccountId, UserId } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'

/** The subject of a certificate request. A name that occurs several times in it is not readable. */
export interface RequestSubject {
  readonly commonName: string
  /** Every organization, also of those that are in one set. */
  readonly organizations: readonly string[]
}

/**
 * Reads certificate requests (PKCS#10). Bounded in size, and never rejects: what it reads comes from clusters that only
 * ask to join.
 */
export interface CertificateRequestReader {
  /**
   * Reads `spec.request` of a CertificateSigningRequest: base64 of exactly one PEM block. Returns undefined if it is
   * anything else, or larger than 16 KiB.
   */
  subjectOf(request: string): Promise<RequestSubject | undefined>
}
export const CertificateRequestReaderPort = portKey<CertificateRequestReader>('spokes.CertificateRequestReader')

/** A person of an account, as hubs know them. */
export interface HubMember {
  readonly userId: UserId
  readonly login: string
  /** The teams of the account that the person is in, by name. */
  readonly teams: readonly string[]
}

/** The people of accounts. */
export interface HubMembers {
  /**
   * Returns the members of an organization who may sign in, or the user if the account is one, by id. Robot accounts
   * are omitted. One statement, so that the result is the state of one instant.
   */
  listOf(accountId: AccountId): Promise<readonly HubMember[]>
}
export const HubMembersPort = portKey<HubMembers>('spokes.HubMembers')

/** The images of the agents that an import installs on a spoke. */
export interface AgentImages {
  /** `registry.example.com/path`, without a trailing slash. */
  readonly registry: string
  /**
   * The tag of all images. Undefined: the operator of the agents is installed by other means, and imports install none.
   */
  readonly version: string | undefined
}
export const AgentImagesPort = portKey<AgentImages>('spokes.AgentImages')

/** In the namespace of a spoke on its hub. */
export const addOnKind: HubKind = {
  apiVersion: 'addon.open-cluster-management.io/v1alpha1',
  kind: 'ManagedClusterAddOn',
  plural: 'managedclusteraddons',
}

/** What a hub knows about an add-on. */
export const addOnDefinitionKind: HubKind = {
  apiVersion: 'addon.open-cluster-management.io/v1alpha1',
  kind: 'ClusterManagementAddOn',
  plural: 'clustermanagementaddons',
}

/** On a spoke: what the agent of a hub has applied. */
export const appliedWorkKind: HubKind = {
  apiVersion: 'work.open-cluster-management.io/v1',
  kind: 'AppliedManifestWork',
  plural: 'appliedmanifestworks',
}
export const definitionKind: HubKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
}
export const deploymentKind: HubKind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' }
export const clusterRoleBindingKind: HubKind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
}

/** The order in which the objects of a spoke are removed: lower numbers first; 0 by default. */
export const cleanupPriority = 'open-cluster-management.io/cleanup-priority'
/** Held by the agent of the spoke until it has removed what the work has applied. */
export const workFinalizer = 'cluster.open-cluster-management.io/manifest-work-cleanup'
