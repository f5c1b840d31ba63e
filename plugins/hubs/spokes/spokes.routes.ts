import * as t from 'io-ts'
import { hubChangeFailures, hubReadFailures } from '../../../core/clusters/hubs/ports.ts'
import {
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterChanged,
  ClusterInUse,
  ClusterMismatch,
  ClusterNameTaken,
} from '../../../core/clusters/ports.ts'
import { SpokesNotAccepted } from '../../../core/hubs/spokes/acceptance.ts'
import { BootstrapMissing, JoinCommandRefused } from '../../../core/hubs/spokes/join-command.ts'
import { SpokeRefused } from '../../../core/hubs/spokes/spoke-names.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../../core/tasks/ports.ts'
import { ClusterPath, hubInPath, ImportOptions, ownerInPath, OwnerPath } from '../../clusters/codecs.ts'
import { read, requires, signedIn, write } from '../../kit/access.ts'
import { FreeObjectCodec, ResponseIdQuery } from '../../kit/codecs.ts'
import { empty, json, orJsonText, packed } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import {
  AcceptOptions,
  AccountSync,
  ClusterOptions,
  HubCluster,
  InstallerQuery,
  ManagedClusterInfo,
  RemoveClusterOptions,
  SpokeCommand,
  SpokeImportOptions,
} from './codecs.ts'

const tag = 'Multi-cluster'
const ownerRoute = routesOf({ tag, scopeCategory: 'cluster', params: OwnerPath })
const route = routesOf({
  tag,
  scopeCategory: 'cluster',
  params: ClusterPath,
  access: requires('can_view', hubInPath),
  failures: hubReadFailures,
})

const hub = {
  name: 'ace',
  ownerName: 'acme',
  displayName: 'ace',
  hubClusterUID: '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11',
  spokeClusters: 2,
  addOns: 0,
  clusterNode: 1,
  provider: 'Generic',
  hubType: 'OCM',
  locations: '',
  age: '43m',
  createdAt: '2026-07-05T06:49:31.000Z',
}
const clusters = (spoke: object) =>
  json(200, t.readonlyArray(ManagedClusterInfo), [{ name: 'shop-fra', clusterURL: '', clusterUID: '', ...spoke }])
const member = {
  clusterURL: 'https://10.2.0.168:6443',
  clusterUID: '5d3f1c1e-0c51-4f4b-a3c5-8d1f5f8f0a77',
  clusterSet: 'default',
}

export const listHubs = ownerRoute({
  id: 'spokes.listHubs',
  method: 'GET',
  path: '/clusters/{owner}/hubs',
  summary: 'List the hubs of an account',
  description:
    'By name; only hubs that you may view. Each hub is asked for its counts. A hub that does not answer ' +
    'within 3 seconds is listed ' +
    'with the counts that are stored. `hubType` is `OCM-MC` for a hub without workloads.',
  access: requires('can_list_clusters', ownerInPath),
  ok: packed(json(200, t.readonlyArray(HubCluster), [hub])),
})

export const listAllHubs = defineRoute({
  id: 'spokes.listAllHubs',
  method: 'GET',
  path: '/clustersv2/all-hubs',
  summary: 'List your hubs',
  description:
    'The hubs of your own account and of every organization in which you may list clusters, as `GET ' +
    '/clusters/{owner}/hubs` lists them.',
  tag,
  access: signedIn,
  scope: read('cluster'),
  ok: packed(json(200, t.readonlyArray(HubCluster), [hub])),
  failures: [],
})

export const readManagedClusters = route({
  id: 'spokes.readManagedClusters',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/managed-clusters',
  summary: 'Get the list of managed clusters as the hub has it',
  description:
    'Returns the ManagedClusterList of the Kubernetes API. The items are not changed. A cluster that is ' +
    'not a hub is 400.',
  ok: orJsonText(
    json(200, FreeObjectCodec, {
      apiVersion: 'cluster.open-cluster-management.io/v1',
      kind: 'ManagedClusterList',
      metadata: { resourceVersion: '8191' },
      items: [],
    }),
  ),
})

export const listNotAccepted = route({
  id: 'spokes.listNotAccepted',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/not-accepted-clusters',
  summary: 'List the clusters that ask to join a hub',
  description: 'By name. Clusters that are being deleted are omitted. A cluster that is not a hub is 400.',
  ok: packed(clusters({})),
})

export const listAccepted = route({
  id: 'spokes.listAccepted',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/accepted-clusters',
  summary: 'List the spokes of a hub',
  description: 'By name. A spoke that is being deleted is listed until it is gone. A cluster that is not a hub is 400.',
  ok: packed(clusters(member)),
})

export const listAvailable = route({
  id: 'spokes.listAvailable',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/available-clusters',
  summary: 'List the spokes of a hub that you may use',
  description:
    'All accepted clusters if you may connect to the hub. Otherwise those on which a ' +
    'ManagedClusterRoleBinding or ManagedClusterSetRoleBinding ' +
    'of the hub gives you a role, and those that another account imported whose clusters you may list.',
  ok: packed(clusters(member)),
})

const acceptanceRoute = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterPath,
  failures: hubChangeFailures,
})

export const acceptSpokes = acceptanceRoute({
  id: 'spokes.acceptSpokes',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/accept-spoke',
  summary: 'Accept clusters that ask to join a hub',
  description:
    'Approves the certificate requests of the agents of each cluster, and accepts it. A request is ' +
    'approved if its subject is an agent ' +
    'of the cluster and it was sent with a bootstrap identity of the hub; `skipApproveCheck` omits only ' +
    'the second check. If several ' +
    'agents ask to join with one name, `requesters` names the common names to approve. Clusters that ' +
    'cannot be accepted are 422 with ' +
    'the reason of each in `errors`; the others of the request are accepted all the same. Accepting a ' +
    'spoke again succeeds.',
  access: requires('can_accept_spokes', hubInPath),
  body: body(AcceptOptions, {
    clusters: ['shop-fra'],
    skipApproveCheck: false,
    requesters: ['system:open-cluster-management:shop-fra:67b75'],
  }),
  ok: empty(200),
  failures: [SpokesNotAccepted],
})

export const getJoinCommand = acceptanceRoute({
  id: 'spokes.getJoinCommand',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/spoke-command',
  summary: 'Get the command with which a cluster asks to join a hub',
  description:
    'Run it in a POSIX shell with kubectl connected to the cluster. It contains a new token that is valid ' +
    'for one hour and can only ask ' +
    'to join. `hubCluster…` must be the hub in the path, as far as it is stated. `hostCluster…` describes ' +
    'the host of a virtual cluster; ' +
    'it becomes annotations of the ManagedCluster. `installer` is `clusteradm` (the default) or `helm`.',
  access: requires('can_import_spokes', hubInPath),
  query: InstallerQuery,
  body: body(ClusterOptions, { clusterName: 'shop-fra' }),
  ok: json(200, SpokeCommand, {
    spoke: 'clusteradm join --hub-token eyJh… --hub-apiserver https://hub.example.com:6443 --cluster-name shop-fra',
  }),
  failures: [BootstrapMissing, JoinCommandRefused],
})

export const syncAccounts = acceptanceRoute({
  id: 'spokes.syncAccounts',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/sync-accounts',
  summary: 'Write the accounts of the members to a hub',
  description:
    'Each person who is a member of the account has an Account on the hub, named by id, with the teams of ' +
    'the person. Accounts of former members ' +
    'are removed. Accounts of other origin are not changed: if one has the name of a member’s, the ' +
    'response is 409 with the names in `errors`. An Account gives no right on a spoke: ' +
    'the response says that no role binding was made.',
  access: requires('can_sync_accounts', hubInPath),
  ok: json(200, AccountSync, { applied: 3, removed: 0, message: 'The accounts give no right on any spoke.' }),
})

/** Failures of accepting work on a spoke as a task. */
const spokeTaskFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const

export const removeManagedCluster = defineRoute({
  id: 'spokes.removeManagedCluster',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/remove-managed-cluster',
  summary: 'Remove a spoke from a hub',
  description:
    'Accepts the removal; a task does it: the spoke leaves its cluster set, then its add-ons and works are ' +
    'removed while its agent is alive, ' +
    'then the agent if the account has a credential of the spoke, and then the spoke itself. The progress ' +
    'is published on the bus under the ' +
    '`response-id` of the query, and at `/tasks/{id}`. A repeated request joins the unfinished task; after ' +
    'a failure it continues. A spoke ' +
    'that does not exist is removed already. `force` gives up works that the agent does not remove: what ' +
    'they applied stays on the spoke. A spoke that client organizations use is 409 with their names; with `force` it ' +
    'leaves the hub, and they keep their namespaces and rights on it until they are removed from it.',
  tag: 'Multi-cluster',
  access: requires('can_remove_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(RemoveClusterOptions, { clusterName: 'shop-fra' }),
  ok: empty(200, 'The removal is accepted, or done already'),
  failures: [...hubReadFailures, ...spokeTaskFailures, ClusterInUse],
})

const example = {
  basicInfo: { name: 'shop-fra', displayName: 'Shop, Frankfurt' },
  provider: { name: 'Generic', accessConfig: 'apiVersion: v1\nkind: Config\n...' },
}
const failures = [
  ...hubReadFailures,
  ...spokeTaskFailures,
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterChanged,
  ClusterMismatch,
  ClusterNameTaken,
  SpokeRefused,
] as const

export const importSpoke = defineRoute({
  id: 'spokes.importSpoke',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/import-spoke',
  summary: 'Import a cluster into a hub',
  description:
    'Records the cluster and accepts the import; a task does it. With `provider.accessConfig` (as in the ' +
    'route `import`) it installs the agents on ' +
    'the cluster. Without one it waits up to 30 minutes until the command of `spoke-command` is run on the ' +
    'cluster, and accepts the cluster ' +
    'then. `components.clusterProfile` puts the spoke into the set `cp-<profile>`. ' +
    '`components.gitopsEngine` adds the add-on of the GitOps engine, unless the hub places it by itself. ' +
    'Features are not installed on one spoke but on its cluster set, by ' +
    '`install-featureset`: for `featureSets`, `allFeatures` and `monitoringClusterName` the task has a ' +
    'warning. The progress is published ' +
    'on the bus under the `response-id` of the query, and at `/tasks/{id}`. A repeated request joins the ' +
    'unfinished task; one that asks for another profile, ' +
    'another component or another way to join is 409. After a failure the same request continues. The name ' +
    'has at most 57 characters, and the access config the ' +
    'rights of an administrator.',
  tag: 'Multi-cluster',
  access: requires('can_import_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(SpokeImportOptions, example),
  ok: empty(200, 'The import is accepted'),
  failures,
})

export const convertToSpoke = defineRoute({
  id: 'spokes.convertToSpoke',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/convert/spoke',
  summary: 'Make an imported cluster a spoke of a hub',
  description:
    'Finds the cluster by `basicInfo.clusterUID` or `basicInfo.name` in the account of the hub, and uses ' +
    'its stored access config, so you must be able to connect ' +
    'to it. The work is that of `import-spoke`. A cluster that is a spoke of this hub already stays as it ' +
    'is; a spoke of another hub is refused, and so is the hub itself.',
  tag: 'Multi-cluster',
  access: requires('can_import_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(ImportOptions, { basicInfo: { name: 'shop-fra' } }),
  ok: empty(200, 'The conversion is accepted, or done already'),
  failures,
})
