import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { shortAge } from '../../core/clusters/age.ts'
import type { ImportJudgement, ClusterClaim } from '../../core/clusters/imports.ts'
import type { ClusterWish } from '../../core/clusters/clusters.ts'
import { AccessConfigRefused } from '../../core/clusters/ports.ts'
import { hostingProviders, type Cluster, type HostingProvider } from '../../core/clusters/types.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import type { ClusterInfo, ClusterInfoModel, ConnectOptions, ImportClusterOption, ImportOptions, ReconfigureOptions, ValidationResponse } from './codecs.ts'

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
  hubClusterName: '',
  hubClusterUID: cluster.hubClusterUid,
  hubClusterOwnerName: '',
  clusterSetName: '',
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
  createdAt: cluster.createdAt.toISOString(),
  age: shortAge(cluster.createdAt, now),
  clusterManagers: [...cluster.managers],
  isCapiClusterUpgradeable: false,
  status: statusOf(cluster),
})

/** Returns the flat form and the orchestrator's form of a single cluster. Clients of either form read it. */
export const toClusterInfoModel = (cluster: Cluster, now: Date): t.TypeOf<typeof ClusterInfoModel> => ({
  ...toClusterInfo(cluster, now),
  metadata: { name: cluster.name, uid: cluster.uid, creationTimestamp: cluster.createdAt.toISOString() },
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

/**
 * Returns the hosting provider with this name, without regard to case. An unknown name returns undefined and leaves the
 * provider to detection.
 */
export const providerNamed = (name: string | undefined): HostingProvider | undefined =>
  hostingProviders.find((provider) => provider.toLowerCase() === name?.toLowerCase())

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

export const toClaim = (grant: AccessGrant, options: Omit<t.TypeOf<typeof ImportOptions>, 'components'>): ClusterClaim => ({
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

const nothing: ClusterWish = {
  name: undefined,
  displayName: undefined,
  provider: undefined,
  infraNamespace: undefined,
  impersonatesUsers: undefined,
  accessConfig: undefined,
}

/** Returns what the body asks for. The access config can be under any of the names that clients use. */
export const connectWish = (options: t.TypeOf<typeof ConnectOptions>): Either<Failure<'AccessConfigRefused'>, ClusterWish> => {
  const sent = [options.accessConfig, options.kubeConfig, options.kubeconfig].filter((text) => text !== undefined && text !== '')
  const [accessConfig, ...others] = [...new Set(sent)]
  if (others.length > 0) return left(AccessConfigRefused('accessConfig and kubeConfig are names of the same field and must not differ.'))
  if ((options.credential ?? '') !== '') {
    return left(AccessConfigRefused('credential: a stored credential cannot connect a cluster. Send a kubeconfig as accessConfig and omit credential.'))
  }
  return right({ ...nothing, name: options.name, accessConfig })
}

export const updateWish = (options: t.TypeOf<typeof ImportClusterOption>): ClusterWish => ({
  ...nothing,
  name: options.name,
  displayName: options.displayName,
  provider: providerNamed(options.provider),
  accessConfig: options.accessConfig,
})

export const reconfigureWish = ({ basicInfo }: t.TypeOf<typeof ReconfigureOptions>): ClusterWish => ({
  ...nothing,
  name: basicInfo?.name,
  displayName: basicInfo?.displayName,
  infraNamespace: basicInfo?.infraNamespace,
  impersonatesUsers: basicInfo?.impersonateUsers,
  claimedOwnerId: basicInfo?.ownerID === 0 ? undefined : basicInfo?.ownerID,
  claimedUid: given(basicInfo?.clusterUID),
})

export const toValidationResponse = (judged: ImportJudgement, claim: ClusterClaim, ownerIsOrganization: boolean): t.TypeOf<typeof ValidationResponse> => {
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
