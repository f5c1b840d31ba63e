import * as t from 'io-ts'
import { clusterPhases, phaseReasons } from '../../core/clusters/types.ts'
import { path } from '../kit/access.ts'
import {
  answer,
  FreeObjectCodec,
  freeText,
  Instant,
  int32,
  listOf,
  noted,
  oneOf,
  optional,
  PathName,
  patternText,
  queryIntFrom,
  request,
  ResponseId,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** The limit is in characters; the parser limits the bytes of a kubeconfig. */
const AccessConfig = textLines(256 * 1024)
const Label = patternText(/^[a-z0-9]?[a-z0-9-]{0,62}$/, 63, 'a DNS label of at most 63 characters, or nothing')
const Identifier = patternText(/^[\x21-\x7e]*$/, 64, 'an identifier of at most 64 visible characters, or nothing')

export const OwnerPath = request({ owner: PathName }, 'OwnerPath')
export const ownerInPath = { type: 'account', name: path('owner') } as const
export const ClusterIdPath = request({ clusterID: PathName }, 'ClusterIdPath')
export const ClusterPath = request({ owner: PathName, cluster: PathName }, 'ClusterPath')
export const clusterInPath = { type: 'cluster', account: path('owner'), name: path('cluster') } as const
/** The cluster as a hub, with the relations of hubs. */
export const hubInPath = { type: 'hub', account: path('owner'), name: path('cluster') } as const

/** An access config is part of the body, so its faults are faults of the body: 422, not the 500 of a stored cluster. */
export const accessConfigFaults = { ClusterUnreachable: 422, CredentialRefused: 422 } as const

export const basicInfoProps = {
  displayName: optional(freeText(255)),
  ownerID: optional(SafeInteger),
  managerID: optional(SafeInteger),
  userID: optional(SafeInteger),
  clusterUID: optional(Identifier),
  hubClusterID: optional(Identifier),
  infraNamespace: optional(Label),
  impersonateUsers: optional(t.boolean),
}
const BasicInfo = request({ name: optional(freeText(255)), ...basicInfoProps }, 'BasicInfo')

export const ProviderOptions = request(
  {
    name: optional(freeText(64)),
    credential: optional(freeText(253)),
    managedAuthMode: optional(oneOf('IRSA', 'PodIdentity')),
    clusterID: optional(patternText(/^[\x20-\x7e]*$/, 255, 'text of visible characters')),
    project: optional(freeText(128)),
    region: optional(freeText(128)),
    resourceGroup: optional(freeText(128)),
    accessConfig: optional(AccessConfig),
  },
  'ProviderOptions',
)

const FeatureSet = request({ name: optional(freeText(253)), features: optional(listOf(freeText(253), 500)) }, 'FeatureSet')

export const ComponentOptions = request(
  {
    gitopsEngine: optional(t.boolean),
    featureSets: optional(listOf(FeatureSet, 100)),
    allFeatures: optional(t.boolean),
    clusterProfile: optional(freeText(253)),
    monitoringClusterName: optional(freeText(253)),
    spokeComponent: optional(t.boolean),
  },
  'ComponentOptions',
)

export const CheckOptions = request({ basicInfo: optional(BasicInfo), provider: optional(ProviderOptions) }, 'CheckOptions')
export const ImportOptions = request(
  { basicInfo: optional(BasicInfo), provider: optional(ProviderOptions), components: optional(ComponentOptions) },
  'ImportOptions',
)
export const ConnectOptions = request(
  {
    name: optional(freeText(255)),
    credential: optional(freeText(253)),
    accessConfig: optional(AccessConfig),
    // The spelling of other clients of this interface.
    kubeConfig: optional(AccessConfig),
    kubeconfig: optional(AccessConfig),
  },
  'ConnectOptions',
)
export const ReconfigureOptions = request({ basicInfo: optional(BasicInfo), components: optional(ComponentOptions) }, 'ReconfigureOptions')
export const RemovalOptions = request({ name: optional(freeText(255)), components: optional(ComponentOptions) }, 'RemovalOptions')
export const ImportClusterOption = request(
  { displayName: optional(freeText(255)), name: optional(freeText(255)), provider: freeText(64), accessConfig: AccessConfig },
  'ImportClusterOption',
)

export const ClientConfigQuery = request(
  {
    // The query of every route can carry an access token under this name, so any text is accepted.
    token: optional(noted(freeText(4096), { description: '`none` for a kubeconfig with a placeholder instead of a token.' })),
    expirationSeconds: optional(noted(queryIntFrom(60, 604_800), { description: 'A shorter life for the token than the configured one.' })),
  },
  'ClientConfigQuery',
)
export const HubInfoQuery = request(
  { token: optional(noted(freeText(4096), { description: '`none` for addresses without tokens.' })) },
  'HubInfoQuery',
)
export const ClusterListQuery = request({ provider: optional(freeText(64)) }, 'ClusterListQuery')
export const UserClustersQuery = request({ all: optional(freeText(16)) }, 'UserClustersQuery')
export const OperationQuery = request({ operation: optional(freeText(64)) }, 'OperationQuery')
export const RemoveQuery = request({ 'response-id': optional(ResponseId), notify: optional(freeText(16)) }, 'RemoveQuery')

const Response = answer({ phase: oneOf(...clusterPhases), reason: optional(oneOf(...phaseReasons)), message: optional(t.string) }, 'ClusterStatusResponse')
const ClusterInfoStatus = answer(
  {
    phase: oneOf(...clusterPhases),
    reason: optional(oneOf(...phaseReasons)),
    message: optional(t.string),
    clusterManagers: t.array(t.string),
    clusterAPI: FreeObjectCodec,
    response: Response,
  },
  'ClusterInfoStatus',
)

const flat = {
  id: SafeInteger,
  displayName: t.string,
  name: t.string,
  uid: t.string,
  ownerID: SafeInteger,
  managerID: SafeInteger,
  externalID: t.string,
  hubClusterName: t.string,
  hubClusterUID: t.string,
  hubClusterOwnerName: t.string,
  clusterSetName: t.string,
  ownerName: t.string,
  provider: t.string,
  vendor: t.string,
  infraNamespace: t.string,
  isMonitoringCluster: t.boolean,
  endpoint: t.string,
  location: t.string,
  project: t.string,
  kubernetesVersion: t.string,
  nodeCount: int32(0),
  createdAt: Instant,
  age: t.string,
  clusterManagers: t.array(t.string),
  isCapiClusterUpgradeable: t.boolean,
  status: ClusterInfoStatus,
}

/** One element of a list: the flat form. */
export const ClusterInfo = answer(flat, 'ClusterInfo')
/** A single cluster: the flat form and the orchestrator's form of the same facts. */
export const ClusterInfoModel = answer({ ...flat, metadata: FreeObjectCodec, spec: FreeObjectCodec }, 'ClusterInfoModel')

const FieldValidation = answer({ valid: t.boolean, reason: t.string }, 'FieldValidation')
export const ClusterMetadata = answer(
  {
    uid: t.string,
    name: t.string,
    displayName: t.string,
    provider: t.string,
    ownerID: t.string,
    ownerType: t.string,
    apiEndpoint: t.string,
    caBundle: t.string,
    managerID: t.string,
    hubClusterID: t.string,
    cloudServiceAuthMode: t.string,
    mode: oneOf('prod', 'qa', 'staging', 'dev'),
  },
  'ClusterMetadata',
)
export const ValidationResponse = answer(
  {
    alreadyImported: t.boolean,
    displayName: FieldValidation,
    clusterId: FieldValidation,
    gitopsEngine: FreeObjectCodec,
    message: t.string,
    availableFeatureSets: FreeObjectCodec,
    clusterAPI: FreeObjectCodec,
    clusterMetadata: ClusterMetadata,
    monitoringClusterList: t.array(t.string),
  },
  'ValidationResponse',
)
export const ClusterExists = answer({ exist: t.boolean }, 'ClusterExists')
export const WhetherHub = answer({ 'has-hub': t.boolean }, 'WhetherHub')

/** A cluster as lists show it. */
export const listedCluster = {
  id: 31,
  displayName: 'Production, Frankfurt',
  name: 'prod-fra',
  uid: '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11',
  ownerID: 7,
  managerID: 0,
  externalID: '',
  hubClusterName: '',
  hubClusterUID: '',
  hubClusterOwnerName: '',
  clusterSetName: '',
  ownerName: 'acme',
  provider: 'Generic',
  vendor: '',
  infraNamespace: '',
  isMonitoringCluster: false,
  endpoint: 'https://k8s.example.com:6443',
  location: '',
  project: '',
  kubernetesVersion: 'v1.34.1',
  nodeCount: 3,
  createdAt: '2026-05-01T08:00:00.000Z',
  age: '12d',
  clusterManagers: [],
  isCapiClusterUpgradeable: false,
  status: { phase: 'Active', clusterManagers: [], clusterAPI: {}, response: { phase: 'Active' } },
}

export const singleCluster = {
  ...listedCluster,
  metadata: { name: 'prod-fra', uid: listedCluster.uid, creationTimestamp: '2026-05-01T08:00:00.000Z' },
  spec: {
    displayName: 'Production, Frankfurt',
    name: 'prod-fra',
    uid: listedCluster.uid,
    ownerID: 7,
    externalID: '',
    ownerName: 'acme',
    provider: 'Generic',
    endpoint: 'https://k8s.example.com:6443',
    location: '',
    project: '',
    kubernetesVersion: 'v1.34.1',
    nodeCount: 3,
    createdAt: 1777622400,
    age: '12d',
  },
}

export const importExample = {
  basicInfo: { name: 'prod-fra', displayName: 'Production, Frankfurt' },
  provider: { name: 'Generic', accessConfig: 'apiVersion: v1\nkind: Config\n...' },
  components: { gitopsEngine: false, allFeatures: false, featureSets: [] },
}

export const validationExample = {
  alreadyImported: false,
  displayName: { valid: true, reason: '' },
  clusterId: { valid: true, reason: '' },
  gitopsEngine: {},
  message: 'The cluster can be imported.',
  availableFeatureSets: {},
  clusterAPI: {},
  clusterMetadata: {
    uid: listedCluster.uid,
    name: 'prod-fra',
    displayName: 'Production, Frankfurt',
    provider: 'Generic',
    ownerID: '7',
    ownerType: 'org',
    apiEndpoint: 'https://k8s.example.com:6443',
    caBundle: '',
    managerID: '',
    hubClusterID: '',
    cloudServiceAuthMode: '',
    mode: 'prod',
  },
  monitoringClusterList: [],
}
