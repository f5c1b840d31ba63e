import * as t from 'io-ts'
import { hubChangeFailures, hubReadFailures } from '../../../core/clusters/hubs/ports.ts'
import { BindingRefused } from '../../../core/hubs/clustersets/set-bindings.ts'
import { ClusterSetRefused } from '../../../core/hubs/clustersets/membership.ts'
import { ClusterSetMissing } from '../../../core/hubs/clustersets/types.ts'
import { ClusterPath, hubInPath } from '../../clusters/codecs.ts'
import { userExample } from '../../identity/codecs.ts'
import { path, requires } from '../../kit/access.ts'
import { empty, json, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import {
  AvailableSetsQuery,
  BindNamespaceOptions,
  BoundNamespaces,
  ClusterSetOptions,
  ClusterSetPath,
  ClustersResp,
  CreateClusterSetOptions,
  DeleteClusterSetOptions,
  ListClusterSetResp,
  UsersByRole,
} from './codecs.ts'

const ofHub = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterPath,
  failures: hubReadFailures,
})
const setInPath = {
  type: 'clusterset',
  account: path('owner'),
  within: { name: path('cluster') },
  name: path('clusterset'),
} as const
const ofSet = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterSetPath,
  access: requires('can_view', setInPath),
  failures: [...hubReadFailures, ClusterSetMissing],
})

export const listClusterSets = ofHub({
  id: 'clustersets.listSets',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/clustersets',
  summary: 'List the cluster sets of a hub',
  description:
    'Sorted by name. `clusters` is the number of managed clusters that the set selects, by its own labels ' +
    'or by the label of each cluster. The title is that of the profile for a set named `cp-` and a ' +
    'profile; otherwise it is empty.',
  access: requires('can_view', hubInPath),
  ok: packed(
    json(200, t.readonlyArray(ListClusterSetResp), [
      { clusterSetName: 'cp-dbaas-generic', clusterSetTitle: 'Databases', clusters: 3 },
    ]),
  ),
})

export const listAvailableClusterSets = ofHub({
  id: 'clustersets.listAvailableSets',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/available-clustersets',
  summary: 'List the names of the cluster sets of a hub',
  description:
    'With `type=client-org` only the sets, other than `default` and `global`, with a spoke that is ' +
    'accepted, imported and has the features of the profile `dbaas-client-org`. Another type is ignored.',
  access: requires('can_view', hubInPath),
  query: AvailableSetsQuery,
  ok: packed(json(200, t.readonlyArray(t.string), ['cp-dbaas-generic', 'default', 'global'])),
})

export const listMembersOfSet = ofSet({
  id: 'clustersets.listMembers',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/clustersets/{clusterset}/clusters',
  summary: 'List the clusters of a cluster set',
  description:
    'Sorted by name. `imported` says whether the owner of the hub has imported the cluster; the display ' +
    'name, the provider and the number of nodes are those of the import.',
  ok: packed(
    json(200, t.readonlyArray(ClustersResp), [
      {
        name: 'wharf',
        displayName: 'Wharf',
        clusterNode: 3,
        provider: 'Generic',
        kubernetesVersion: 'v1.34.2',
        imported: true,
      },
    ]),
  ),
})

export const listCandidatesOfSet = ofSet({
  id: 'clustersets.listCandidates',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/clustersets/{clusterset}/clusterlist',
  summary: 'List the clusters that can be added to a cluster set',
  description:
    'The names of the accepted clusters that are not in the set. Empty for a set that selects its clusters by labels.',
  ok: packed(json(200, t.readonlyArray(t.string), ['quay'])),
})

export const listUsersOfSet = ofSet({
  id: 'clustersets.listUsers',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/clustersets/{clusterset}/auth-info',
  summary: 'List the users with a role on the clusters of a cluster set',
  description:
    'For each role the users, by login. Users who no longer exist, and those whom the caller may not see, ' +
    'are omitted; members of the organization see its private members, with the scope for organizations. ' +
    'At most 500 users are shown.',
  ok: json(200, UsersByRole, { view: [userExample] }),
})

const ofManager = routesOf({
  tag: 'Multi-cluster',
  scopeCategory: 'cluster',
  params: ClusterPath,
  access: requires('can_manage_cluster_sets', hubInPath),
  failures: [...hubChangeFailures, ClusterSetRefused],
})
const example = { clusterSet: 'edge', clusters: ['wharf', 'quay'] }
const partially =
  'If some of them cannot be changed, the others are, and the answer is 422 with a line in `errors` for ' +
  'each that was not.'

export const createClusterSet = ofManager({
  id: 'clustersets.createSet',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/clustersets/create',
  summary: 'Create a cluster set on a hub',
  description:
    `The set selects clusters by the label of each that names it; \`clusters\` are added to it. A set that ` +
    `exists and is the same is used; another one is 422, and so are the names \`default\` and \`global\`. ` +
    `${partially}`,
  body: body(CreateClusterSetOptions, example),
  ok: empty(200),
})

export const deleteClusterSet = ofManager({
  id: 'clustersets.deleteSet',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/clustersets/delete',
  summary: 'Delete a cluster set of a hub',
  description:
    'A set with clusters, or one that is bound to a namespace, is 422, and so are `default` and `global`. ' +
    'Deletes the profile of the set too. Succeeds also if the set does not exist.',
  body: body(DeleteClusterSetOptions, { clusterSet: 'edge' }),
  ok: empty(200),
})

export const addToClusterSet = ofManager({
  id: 'clustersets.addClusters',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/clustersets/add',
  summary: 'Add clusters to a cluster set',
  description: `Clusters of another set leave it. A set that selects clusters by labels is 422. ${partially}`,
  body: body(ClusterSetOptions, example),
  ok: empty(200),
})

export const removeFromClusterSet = ofManager({
  id: 'clustersets.removeClusters',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/clustersets/remove',
  summary: 'Remove clusters from a cluster set',
  description:
    'Clusters that are not in the set stay as they are. A hub with a default set moves them there. A set ' +
    `that selects clusters by labels is 422. ${partially}`,
  body: body(ClusterSetOptions, example),
  ok: empty(200),
})

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterPath })
const options = body(BindNamespaceOptions, { clusterSet: 'global', namespace: 'shop' })

export const listBoundNamespaces = route({
  id: 'clustersets.listBoundNamespaces',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/bound-namespaces',
  summary: 'List the namespaces of a hub and the cluster sets bound to each',
  description:
    'A namespace without a bound cluster set has an empty list. The namespaces of spokes are omitted. A ' +
    'cluster that is not a hub is 400.',
  access: requires('can_view', hubInPath),
  ok: json(200, BoundNamespaces, { default: [], shop: ['global'] }),
  failures: hubReadFailures,
})

export const bindNamespace = route({
  id: 'clustersets.bindNamespace',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/bound-namespaces/bind',
  summary: 'Bind a cluster set to a namespace of a hub',
  description:
    'The namespace and the cluster set must exist and must not be under deletion (422). Binding the same ' +
    'pair again succeeds.',
  access: requires('can_bind_namespaces', hubInPath),
  body: options,
  ok: empty(200),
  failures: [...hubChangeFailures, BindingRefused],
})

export const unbindNamespace = route({
  id: 'clustersets.unbindNamespace',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/bound-namespaces/unbind',
  summary: 'Unbind a cluster set from a namespace of a hub',
  description: 'Succeeds also if the pair is not bound.',
  access: requires('can_bind_namespaces', hubInPath),
  body: options,
  ok: empty(200),
  failures: hubChangeFailures,
})
