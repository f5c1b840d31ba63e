import * as t from 'io-ts'
import type { ClusterOrder, ClusterSelection } from '../../core/clusters/ports.ts'
import { clusterOrders } from '../../core/clusters/ports.ts'
import { clusterPhases } from '../../core/clusters/types.ts'
import { path } from '../kit/access.ts'
import {
  described,
  freeText,
  listOf,
  naming,
  oneOf,
  optional,
  PathName,
  pathName,
  patternText,
  plainValue,
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

/** Parts of paths that lead to a cluster. */
export const inOwner = {
  owner: described(pathName('account'), 'The user or organization that owns the cluster, by name.'),
}
export const inCluster = {
  ...inOwner,
  cluster: described(pathName('cluster'), 'The name of the cluster in the account of its owner.'),
}
export const OwnerPath = request(inOwner, 'OwnerPath')
export const ownerInPath = { type: 'account', name: path('owner') } as const
export const ClusterIdPath = request(
  {
    clusterID: described(naming(PathName, 'cluster', 'uid'), 'The UID of the namespace kube-system of the cluster.'),
  },
  'ClusterIdPath',
)
export const ClusterPath = request(inCluster, 'ClusterPath')
export const clusterInPath = { type: 'cluster', account: path('owner'), name: path('cluster') } as const
/** The cluster as a hub, with the relations of hubs. */
export const hubInPath = { type: 'hub', account: path('owner'), name: path('cluster') } as const

/** An access config is part of the body, so its faults are faults of the body: 422, not the 500 of a stored cluster. */
export const accessConfigFaults = { ClusterUnreachable: 422, CredentialRefused: 422 } as const

export const basicInfoProps = {
  displayName: described(
    optional(freeText(255)),
    'The name of the cluster for people, at most 255 characters; an import takes `name` if it is absent or empty, ' +
      'a change keeps the present one.',
  ),
  ownerID: described(
    optional(SafeInteger),
    'The id of the account in the path; absent or 0 if it is not stated, and refused if it is another account.',
  ),
  managerID: described(optional(SafeInteger), 'Accepted for compatibility and ignored.'),
  userID: described(optional(SafeInteger), 'Accepted for compatibility and ignored.'),
  clusterUID: described(
    optional(Identifier),
    'The UID of the namespace kube-system of the cluster; absent or empty if it is not stated, and refused if the ' +
      'cluster has another one.',
  ),
  hubClusterID: described(
    optional(Identifier),
    'The UID of the hub that manages the cluster; absent or empty if none does or it is not known.',
  ),
  infraNamespace: described(
    optional(Label),
    'The namespace of the infrastructure of the cluster, a DNS label of at most 63 characters; empty by default ' +
      'at an import, unchanged if absent from a change.',
  ),
  impersonateUsers: described(
    optional(t.boolean),
    'Whether each request through the proxy impersonates the caller; false by default at an import, unchanged if ' +
      'absent from a change.',
  ),
}
const BasicInfo = request(
  {
    name: described(
      optional(freeText(255)),
      'The name of the cluster in its account, a DNS label of at most 63 characters; required for an import, and ' +
        'the present name or absent in a change.',
    ),
    ...basicInfoProps,
  },
  'BasicInfo',
)

export const ProviderOptions = request(
  {
    name: described(
      optional(freeText(64)),
      'The hosting provider, a value of `provider` of an answer in any case; if it is absent or unknown, it is ' +
        'found by what the nodes of the cluster say.',
    ),
    credential: described(
      optional(freeText(253)),
      'The name of a stored cloud credential; accepted for compatibility and ignored.',
    ),
    managedAuthMode: described(
      optional(oneOf('IRSA', 'PodIdentity')),
      'The way in which workloads get rights at the cloud provider; accepted for compatibility and ignored.',
    ),
    clusterID: described(
      optional(patternText(/^[\x20-\x7e]*$/, 255, 'text of visible characters')),
      'The id of the cluster at its provider, at most 255 characters; empty by default.',
    ),
    project: described(
      optional(freeText(128)),
      'The project or subscription of the cluster at its provider; if it is absent or empty, it is found by what ' +
        'the nodes of the cluster say.',
    ),
    region: described(
      optional(freeText(128)),
      'The location of the cluster at its provider; if it is absent or empty, it is found by what the nodes of ' +
        'the cluster say.',
    ),
    resourceGroup: described(
      optional(freeText(128)),
      'The resource group of the cluster at its provider; accepted for compatibility and ignored.',
    ),
    accessConfig: described(
      optional(AccessConfig),
      'The text of a kubeconfig with a token or a client certificate inline, at most 262,144 characters; it is ' +
        'encrypted at rest and never returned.',
    ),
  },
  'ProviderOptions',
)

const FeatureSet = request(
  {
    name: described(optional(freeText(253)), 'The name of the feature set.'),
    features: described(
      optional(listOf(freeText(253), 500)),
      'The names of the features of the set, at most 500; none by default.',
    ),
  },
  'FeatureSet',
)

export const ComponentOptions = request(
  {
    gitopsEngine: described(
      optional(t.boolean),
      'Whether to add the add-on of the GitOps engine to a spoke; false by default. Without a hub nothing is ' +
        'installed, and the task says so.',
    ),
    featureSets: described(
      optional(listOf(FeatureSet, 100)),
      'The feature sets that are asked for, at most 100; none by default. They are not installed by this request, ' +
        'and the task says so.',
    ),
    allFeatures: described(
      optional(t.boolean),
      'Whether all features are asked for; false by default. They are not installed by this request, and the task ' +
        'says so.',
    ),
    clusterProfile: described(
      optional(freeText(253)),
      'The profile of a spoke, 1 to 60 characters: the spoke is put into the cluster set `cp-` and the profile. ' +
        'No set if it is absent or empty; ignored without a hub.',
    ),
    monitoringClusterName: described(
      optional(freeText(253)),
      'The cluster that monitors the new one; it is not used, and the import of a spoke warns if it is sent.',
    ),
    spokeComponent: described(
      optional(t.boolean),
      'Whether a removed cluster leaves its hub first; false by default, and ignored by other requests than a removal.',
    ),
  },
  'ComponentOptions',
)

export const CheckOptions = request(
  {
    basicInfo: described(optional(BasicInfo), 'What the caller states of the cluster.'),
    provider: described(
      optional(ProviderOptions),
      'The hosting provider of the cluster, and the access config with which the cluster is read.',
    ),
  },
  'CheckOptions',
)
export const ImportOptions = request(
  {
    basicInfo: described(optional(BasicInfo), 'The name of the cluster, and what else the caller states of it.'),
    provider: described(
      optional(ProviderOptions),
      'The hosting provider of the cluster, and the access config; a conversion to a spoke uses the stored access ' +
        'config instead.',
    ),
    components: described(optional(ComponentOptions), 'The components that are asked for; none by default.'),
  },
  'ImportOptions',
)
export const ConnectOptions = request(
  {
    name: described(
      optional(freeText(255)),
      'The name of the cluster in the path; absent or empty if it is not stated.',
    ),
    credential: described(
      optional(freeText(253)),
      'The name of a stored cloud credential, which is refused unless it is absent or empty: it cannot connect a ' +
        'cluster.',
    ),
    accessConfig: described(
      optional(AccessConfig),
      'The text of a kubeconfig that leads to this cluster, at most 262,144 characters; if it is absent or empty, ' +
        'the stored credential is tried again.',
    ),
    // The spelling of other clients of this interface.
    kubeConfig: described(
      optional(AccessConfig),
      'Another name of `accessConfig`; if several are sent, they must be equal.',
    ),
    kubeconfig: described(
      optional(AccessConfig),
      'Another name of `accessConfig` in lower case; if several are sent, they must be equal.',
    ),
  },
  'ConnectOptions',
)
export const ReconfigureOptions = request(
  {
    basicInfo: described(optional(BasicInfo), 'The fields to change; absent fields keep their value.'),
    components: described(
      optional(ComponentOptions),
      'The components that are asked for; none is installed, and the task says so.',
    ),
  },
  'ReconfigureOptions',
)
export const RemovalOptions = request(
  {
    name: described(
      optional(freeText(255)),
      'The name of the cluster in the path; absent or empty if it is not stated, and refused if it is another name.',
    ),
    components: described(optional(ComponentOptions), 'What else is removed: only `spokeComponent` is used.'),
  },
  'RemovalOptions',
)
export const ImportClusterOption = request(
  {
    displayName: described(
      optional(freeText(255)),
      'The name of the cluster for people, at most 255 characters; unchanged if it is absent or empty.',
    ),
    name: described(
      optional(freeText(255)),
      'The name of the cluster in the path; absent or empty if it is not stated, and refused if it is another name.',
    ),
    provider: described(
      freeText(64),
      'The hosting provider, a value of `provider` of an answer in any case; the present one is kept if it is unknown.',
    ),
    accessConfig: described(
      AccessConfig,
      'The text of a kubeconfig that leads to this cluster, at most 262,144 characters; it replaces the stored one.',
    ),
  },
  'ImportClusterOption',
)

export const ClientConfigQuery = request(
  {
    // The query of every route can carry an access token under this name, so any text is accepted.
    token: described(
      optional(plainValue(freeText(4096))),
      '`none` for a kubeconfig with a placeholder instead of a token; by default a token is created, and any other ' +
        'text is the access token of the request.',
    ),
    expirationSeconds: described(
      optional(queryIntFrom(60, 604_800)),
      'A shorter life of the token than the configured one, in seconds, 60 to 604,800; the configured life by default.',
    ),
  },
  'ClientConfigQuery',
)
export const HubInfoQuery = request(
  {
    token: described(
      optional(plainValue(freeText(4096))),
      '`none` for addresses without tokens; by default a token is created for each hub, and any other text is the ' +
        'access token of the request.',
    ),
  },
  'HubInfoQuery',
)
type Descending = `-${ClusterOrder}`
const descendingOrders = clusterOrders.map((order): Descending => `-${order}`)

export const ClusterListQuery = request(
  {
    provider: described(
      optional(plainValue(freeText(64))),
      'Only clusters of this hosting provider, in any case; all clusters if it is absent or empty, and none if it ' +
        'is unknown.',
    ),
    phase: described(
      optional(plainValue(oneOf('', ...clusterPhases))),
      'Only clusters in this phase, as it was last seen; all clusters if it is absent or empty.',
    ),
    q: described(
      optional(plainValue(freeText(255))),
      'Only clusters with this text in the name, the shown name, the UID or the address, in any case.',
    ),
    sort: described(
      optional(plainValue(oneOf(...clusterOrders, ...descendingOrders))),
      'The order, with `-` in front for the reverse; `name` by default.',
    ),
  },
  'ClusterListQuery',
)

/** Returns what the query of a list of clusters selects. */
export const selectionOf = ({
  phase,
  q,
  sort = 'name',
}: t.TypeOf<typeof ClusterListQuery>): Omit<ClusterSelection, 'provider'> => ({
  phase: phase === '' ? undefined : phase,
  text: q === '' ? undefined : q,
  order: clusterOrders.find((order) => sort === order || sort === `-${order}`) ?? 'name',
  isDescending: sort.startsWith('-'),
})
export const UserClustersQuery = request(
  {
    all: described(
      optional(plainValue(freeText(16))),
      '`true` to list also the clusters of every organization in which you may view them; any other value is the ' +
        'default, your own account only.',
    ),
  },
  'UserClustersQuery',
)
export const OperationQuery = request(
  {
    operation: described(
      optional(plainValue(freeText(64))),
      'The purpose of the request, as `re-connect`; accepted for compatibility and ignored.',
    ),
  },
  'OperationQuery',
)
export const RemoveQuery = request(
  {
    'response-id': described(
      optional(ResponseId),
      'The name of the task that the request starts, chosen by the client: the last word of `subject`, 1 to 64 ' +
        'characters; a new UUID by default.',
    ),
    notify: described(optional(plainValue(freeText(16))), 'Whether to notify the members; accepted and ignored.'),
  },
  'RemoveQuery',
)
