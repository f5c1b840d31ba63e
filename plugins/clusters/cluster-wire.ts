import type * as t from 'io-ts'
import { shortAge } from '../../core/kernel/clock.ts'
import type { ImportJudgement, ClusterClaim } from '../../core/clusters/imports.ts'
import type { RequestedCluster } from '../../core/clusters/clusters.ts'
import { noRequest, providerNamed } from '../../core/clusters/clusters.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { Instant } from '../kit/codecs.ts'
import type { ClusterInfo, ClusterInfoModel, ClusterMetadata, ValidationResponse } from './cluster-info-wire.ts'
import type { ImportClusterOption, ImportOptions, ReconfigureOptions } from './codecs.ts'

const statusOf = ({ status: { phase, reason, message }, managers }: Cluster) => ({
  phase,
  reason,
  message: message === '' ? undefined : message,
  clusterManagers: [...managers],
  clusterAPI: {},
  response: { phase, reason, message: message === '' ? undefined : message },
})

/** Returns the flat form of a cluster. */
export const toClusterInfo = (cluster: Cluster, now: Date): t.TypeOf<typeof ClusterInfo> => ({
  id: cluster.id,
  displayName: cluster.displayName,
  name: cluster.name,
  uid: cluster.uid,
  ownerID: cluster.ownerId,
  managerID: 0,
  externalID: cluster.externalId,
  hubClusterName: cluster.hubClusterName,
  hubClusterUID: cluster.hubClusterUid,
  hubClusterOwnerName: cluster.hubClusterName === '' ? '' : cluster.ownerName,
  clusterSetName: cluster.clusterSetName,
  ownerName: cluster.ownerName,
  provider: cluster.provider,
  vendor: cluster.vendor,
  infraNamespace: cluster.infraNamespace,
  isMonitoringCluster: false,
  endpoint: cluster.endpoint,
  location: cluster.location,
  project: cluster.project,
  kubernetesVersion: cluster.kubernetesVersion,
  nodeCount: cluster.nodeCount,
  createdAt: cluster.createdAt,
  age: shortAge(cluster.createdAt, now),
  clusterManagers: [...cluster.managers],
  isCapiClusterUpgradeable: false,
  status: statusOf(cluster),
})

/** Returns the flat form and the orchestrator's form of a single cluster. Clients of either form read it. */
export const toClusterInfoModel = (cluster: Cluster, now: Date): t.TypeOf<typeof ClusterInfoModel> => ({
  ...toClusterInfo(cluster, now),
  metadata: { name: cluster.name, uid: cluster.uid, creationTimestamp: Instant.encode(cluster.createdAt) },
  spec: {
    displayName: cluster.displayName,
    name: cluster.name,
    uid: cluster.uid,
    ownerID: cluster.ownerId,
    externalID: cluster.externalId,
    ownerName: cluster.ownerName,
    provider: cluster.provider,
    endpoint: cluster.endpoint,
    location: cluster.location,
    project: cluster.project,
    kubernetesVersion: cluster.kubernetesVersion,
    nodeCount: cluster.nodeCount,
    createdAt: unixSeconds(cluster.createdAt),
    age: shortAge(cluster.createdAt, now),
  },
})

/** Returns what identifies a cluster. The authority of its API server is public. */
export const toClusterMetadata = (cluster: Cluster, authorityPem: string): t.TypeOf<typeof ClusterMetadata> => ({
  uid: cluster.uid,
  name: cluster.name,
  displayName: cluster.displayName,
  provider: cluster.provider,
  ownerID: String(cluster.ownerId),
  ownerType: cluster.ownerIsOrganization ? 'org' : 'user',
  apiEndpoint: cluster.endpoint,
  caBundle: authorityPem,
  managerID: '',
  hubClusterID: cluster.hubClusterUid,
  cloudServiceAuthMode: '',
  mode: 'prod',
})

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

export const toClaim = (
  grant: AccessGrant,
  options: Omit<t.TypeOf<typeof ImportOptions>, 'components'>,
): ClusterClaim => ({
  ownerId: grant.ownerId,
  ownerName: grant.objectName,
  name: options.basicInfo?.name,
  displayName: options.basicInfo?.displayName,
  provider: providerNamed(options.provider?.name),
  accessConfig: options.provider?.accessConfig,
  externalId: options.provider?.clusterID ?? '',
  project: options.provider?.project ?? '',
  location: options.provider?.region ?? '',
  hubClusterUid: options.basicInfo?.hubClusterID ?? '',
  infraNamespace: options.basicInfo?.infraNamespace ?? '',
  impersonatesUsers: options.basicInfo?.impersonateUsers ?? false,
  // Clients send 0 for an unknown owner.
  claimedOwnerId: options.basicInfo?.ownerID === 0 ? undefined : options.basicInfo?.ownerID,
  claimedUid: given(options.basicInfo?.clusterUID),
})

export const requestedUpdate = (options: t.TypeOf<typeof ImportClusterOption>): RequestedCluster => ({
  ...noRequest,
  name: options.name,
  displayName: options.displayName,
  provider: providerNamed(options.provider),
  accessConfig: options.accessConfig,
})

/** Returns the names of the components that a request asks for. */
export const componentsOf = ({ components }: Pick<t.TypeOf<typeof ImportOptions>, 'components'>): readonly string[] => [
  ...(components?.gitopsEngine === true ? ['the GitOps engine'] : []),
  ...(components?.allFeatures === true ? ['all features'] : []),
  ...(components?.featureSets ?? []).flatMap(({ name }) =>
    name === undefined || name === '' ? [] : [`the feature set ${name}`],
  ),
]

export const requestedChange = ({ basicInfo }: t.TypeOf<typeof ReconfigureOptions>): RequestedCluster => ({
  ...noRequest,
  name: basicInfo?.name,
  displayName: basicInfo?.displayName,
  infraNamespace: basicInfo?.infraNamespace,
  impersonatesUsers: basicInfo?.impersonateUsers,
  claimedOwnerId: basicInfo?.ownerID === 0 ? undefined : basicInfo?.ownerID,
  claimedUid: given(basicInfo?.clusterUID),
})

export const toValidationResponse = (
  judged: ImportJudgement,
  claim: ClusterClaim,
  ownerIsOrganization: boolean,
): t.TypeOf<typeof ValidationResponse> => {
  const { credential, facts } = judged.identified
  return {
    alreadyImported: judged.alreadyImported,
    displayName: judged.name,
    clusterId: judged.uid,
    gitopsEngine: {},
    message: judged.message,
    availableFeatureSets: {},
    clusterAPI: {},
    clusterMetadata: {
      uid: facts.uid,
      name: claim.name ?? '',
      displayName: claim.displayName ?? claim.name ?? '',
      provider: claim.provider ?? facts.provider,
      ownerID: String(claim.ownerId),
      ownerType: ownerIsOrganization ? 'org' : 'user',
      apiEndpoint: credential.server,
      caBundle: credential.authorityPem ?? '',
      managerID: '',
      hubClusterID: claim.hubClusterUid,
      cloudServiceAuthMode: '',
      mode: 'prod',
    },
    monitoringClusterList: [],
  }
}
