import * as t from 'io-ts'
import { clusterPhases, phaseReasons } from '../../core/clusters/types.ts'
import { answer, described, FreeObjectCodec, Instant, int32, oneOf, optional, SafeInteger } from '../kit/codecs.ts'

const phase = {
  phase: described(
    oneOf(...clusterPhases),
    'The state: `Active` answers and is ready, `NotReady` answers but is not ready, `NotConnected` is not ' +
      'reachable or refuses the credential, `Lost` is another cluster at the same address, `Registered` waits to be ' +
      'joined or has no credential, `NotImported` has no record, `Inactive` is not known.',
  ),
  reason: described(
    optional(oneOf(...phaseReasons)),
    'Why the phase is not `Active`, as a word for programs; absent if there is no reason.',
  ),
  message: described(
    optional(t.string),
    'Why the phase is not `Active`, for people; absent if there is nothing to say.',
  ),
}
const Response = described(
  answer(phase, 'ClusterStatusResponse'),
  'The result of the last check of the cluster: the phase, reason and message of the status.',
)
const ClusterInfoStatus = described(
  answer(
    {
      ...phase,
      clusterManagers: described(
        t.array(t.string),
        'What manages the cluster, or what it manages, as found at the last check: `OCMHub` and `OCMSpoke` are a ' +
          'hub and a spoke.',
      ),
      clusterAPI: described(FreeObjectCodec, 'Always an empty object: the facts of Cluster API are not read.'),
      response: Response,
    },
    'ClusterInfoStatus',
  ),
  'The state of the cluster at its last check.',
)

const flat = {
  id: described(SafeInteger, 'The id of the record of the cluster, from 1; 0 if the cluster is not imported.'),
  displayName: described(t.string, 'The name of the cluster for people.'),
  name: described(t.string, 'The name of the cluster in its account, a DNS label; empty in a check without a name.'),
  uid: described(
    t.string,
    'The UID of the namespace kube-system of the cluster; empty if the cluster was never reached.',
  ),
  ownerID: described(SafeInteger, 'The id of the account that owns the cluster.'),
  managerID: described(SafeInteger, 'Always 0.'),
  externalID: described(
    t.string,
    'The id of the cluster at its hosting provider, as stated at the import; empty if it was not stated.',
  ),
  hubClusterName: described(
    t.string,
    'The name of the hub that manages the cluster, in the same account; empty if the account has no such hub.',
  ),
  hubClusterUID: described(t.string, 'The UID of the hub that manages the cluster; empty if no hub does.'),
  hubClusterOwnerName: described(t.string, 'The name of the account of the hub; empty if `hubClusterName` is.'),
  clusterSetName: described(
    t.string,
    'The cluster set of the hub in which the cluster was last seen; empty if it is in none or was not seen yet.',
  ),
  ownerName: described(t.string, 'The name of the account that owns the cluster.'),
  provider: described(t.string, 'The hosting provider, `Generic` if it is not known.'),
  vendor: described(t.string, 'Always empty.'),
  infraNamespace: described(
    t.string,
    'The namespace of the infrastructure of the cluster, as stated by its owner; empty if it was not stated.',
  ),
  isMonitoringCluster: described(t.boolean, 'Always false.'),
  endpoint: described(
    t.string,
    'The address of the API server of the cluster, from its access config; empty if there is none.',
  ),
  location: described(t.string, 'The region of the cluster at its hosting provider; empty if it is not known.'),
  project: described(t.string, 'The project of the cluster at its hosting provider; empty if it is not known.'),
  kubernetesVersion: described(
    t.string,
    'The version of Kubernetes at the last check, as `v1.34.1`; empty if the cluster was never reached.',
  ),
  nodeCount: described(int32(0), 'The number of nodes at the last check.'),
  createdAt: described(
    Instant,
    'The time of the import, RFC 3339; the time of the request for a cluster that is not imported.',
  ),
  age: described(t.string, 'The time since the import in its largest whole unit, as `12d`, `43m` or `8s`.'),
  clusterManagers: described(
    t.array(t.string),
    'What manages the cluster, or what it manages: the same list as in `status`.',
  ),
  isCapiClusterUpgradeable: described(t.boolean, 'Always false.'),
  status: ClusterInfoStatus,
}

/** One element of a list: the flat form. */
export const ClusterInfo = answer(flat, 'ClusterInfo')
/** A single cluster: the flat form and the orchestrator's form of the same facts. */
export const ClusterInfoModel = answer(
  {
    ...flat,
    metadata: described(
      FreeObjectCodec,
      'Name, UID and time of creation (RFC 3339), in the form of a Kubernetes object.',
    ),
    spec: described(
      FreeObjectCodec,
      'Facts of the flat form again, in the form of a Kubernetes object; `createdAt` is in seconds since 1970.',
    ),
  },
  'ClusterInfoModel',
)

const FieldValidation = described(
  answer(
    {
      valid: described(t.boolean, 'Whether the field permits the import.'),
      reason: described(t.string, 'Why it does not, for people; empty if it does.'),
    },
    'FieldValidation',
  ),
  'Whether one field of the request permits the import, and if not, why.',
)
export const ClusterMetadata = described(
  answer(
    {
      uid: described(t.string, 'The UID of the namespace kube-system of the cluster.'),
      name: described(t.string, 'The name of the cluster in its account; empty if the request does not state one.'),
      displayName: described(t.string, 'The name of the cluster for people.'),
      provider: described(t.string, 'The hosting provider, `Generic` if it is not known.'),
      ownerID: described(t.string, 'The id of the account that owns the cluster, in decimal digits.'),
      ownerType: described(t.string, 'The type of that account: `org` or `user`.'),
      apiEndpoint: described(t.string, 'The address of the API server of the cluster.'),
      caBundle: described(
        t.string,
        'The certificates of the authority of the API server, in PEM; empty if a public authority signs its ' +
          'certificate.',
      ),
      managerID: described(t.string, 'Always empty.'),
      hubClusterID: described(
        t.string,
        'The UID of the hub that manages the cluster; empty if none does or it is not known.',
      ),
      cloudServiceAuthMode: described(t.string, 'Always empty.'),
      mode: described(oneOf('prod', 'qa', 'staging', 'dev'), 'Always `prod`.'),
    },
    'ClusterMetadata',
  ),
  'What identifies a cluster.',
)
export const ValidationResponse = answer(
  {
    alreadyImported: described(t.boolean, 'Whether the account has the cluster already, under any name.'),
    displayName: FieldValidation,
    clusterId: FieldValidation,
    gitopsEngine: described(FreeObjectCodec, 'Always an empty object.'),
    message: described(t.string, 'The result for people: that the cluster can be imported, or why not.'),
    availableFeatureSets: described(
      FreeObjectCodec,
      'Always an empty object: a cluster without a hub has no feature sets.',
    ),
    clusterAPI: described(FreeObjectCodec, 'Always an empty object.'),
    clusterMetadata: ClusterMetadata,
    monitoringClusterList: described(t.array(t.string), 'Always empty.'),
  },
  'ValidationResponse',
)
export const ClusterExists = answer(
  {
    exist: described(t.boolean, 'Whether the account has a cluster with the name.'),
  },
  'ClusterExists',
)
export const WhetherHub = answer(
  {
    'has-hub': described(t.boolean, 'Whether at least one cluster of the account was a hub at its last check.'),
  },
  'WhetherHub',
)

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
