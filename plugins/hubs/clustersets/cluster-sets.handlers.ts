import { HubsPort } from '../../../core/clusters/hubs/ports.ts'
import { ClusterStorePort, ClusterUnitOfWorkPort } from '../../../core/clusters/ports.ts'
import {
  makeBindNamespace,
  makeListBoundNamespaces,
  makeListUsersOfSet,
  makeUnbindNamespace,
} from '../../../core/hubs/clustersets/set-bindings.ts'
import {
  makeListAvailableClusterSets,
  makeListCandidatesOfSet,
  makeListClusterSets,
  makeListMembersOfSet,
  makeCreateClusterSet,
  makeDeleteClusterSet,
} from '../../../core/hubs/clustersets/cluster-sets.ts'
import { makeAddToClusterSet, makeRemoveFromClusterSet } from '../../../core/hubs/clustersets/membership.ts'
import { ProfileJudgePort } from '../../../core/hubs/clustersets/ports.ts'
import { IdentitySettingsPort, IdentityStoresPort } from '../../../core/identity/ports.ts'
import { MembershipStorePort } from '../../../core/organizations/ports.ts'
import { placeOf, userWire, viewerOf } from '../../identity/accounts/user-wire.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import {
  addToClusterSet,
  bindNamespace,
  createClusterSet,
  deleteClusterSet,
  listAvailableClusterSets,
  listBoundNamespaces,
  listCandidatesOfSet,
  listClusterSets,
  listMembersOfSet,
  listUsersOfSet,
  removeFromClusterSet,
  unbindNamespace,
} from './cluster-sets.routes.ts'

export const clusterSetGroup = defineGroup({
  needs: { hubs: HubsPort, clusters: ClusterStorePort, profiles: ProfileJudgePort },
  routes: (given) => [
    handle(listClusterSets, makeListClusterSets(given), {
      input: ({ grant }) => grant,
      reply: (sets) =>
        sets.map(({ name, title, clusters }) => ({ clusterSetName: name, clusterSetTitle: title, clusters })),
    }),
    handle(listAvailableClusterSets, makeListAvailableClusterSets(given), {
      input: ({ grant, query }) => ({ grant, eligibleFor: query.type === 'client-org' ? query.type : undefined }),
    }),
    handle(listMembersOfSet, makeListMembersOfSet(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
      reply: (members) =>
        members.map(({ nodeCount, isImported, ...shown }) => ({
          ...shown,
          clusterNode: nodeCount,
          imported: isImported,
        })),
    }),
    handle(listCandidatesOfSet, makeListCandidatesOfSet(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }),
    }),
  ],
})

export const usersOfSetGroup = defineGroup({
  needs: {
    hubs: HubsPort,
    identity: IdentityStoresPort,
    memberships: MembershipStorePort,
    settings: IdentitySettingsPort,
  },
  routes: ({ hubs, identity: { users }, memberships, settings }) => [
    handle(listUsersOfSet, makeListUsersOfSet({ hubs, memberships, users }), {
      input: ({ grant, params, call }) => ({ grant, clusterSet: params.clusterset, viewer: viewerOf(call.principal) }),
      reply: (byRole, { call }) =>
        Object.fromEntries(
          Object.entries(byRole).map(([role, users]) => [
            role,
            users.map((user) => userWire(placeOf(settings, call), viewerOf(call.principal), user)),
          ]),
        ),
    }),
  ],
})

export const clusterSetChangeGroup = defineGroup({
  needs: { hubs: HubsPort, clusters: ClusterStorePort, unitOfWork: ClusterUnitOfWorkPort },
  routes: (given) => [
    handle(createClusterSet, makeCreateClusterSet(given), {
      input: ({ grant, body: { clusterSet, clusters = [] } }) => ({ grant, clusterSet, clusters }),
    }),
    handle(deleteClusterSet, makeDeleteClusterSet(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
    handle(addToClusterSet, makeAddToClusterSet(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
    handle(removeFromClusterSet, makeRemoveFromClusterSet(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
  ],
})

export const boundNamespaceGroup = defineGroup({
  needs: { hubs: HubsPort, unitOfWork: ClusterUnitOfWorkPort },
  routes: (given) => [
    handle(listBoundNamespaces, makeListBoundNamespaces(given), { input: ({ grant }) => grant }),
    handle(bindNamespace, makeBindNamespace(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
    handle(unbindNamespace, makeUnbindNamespace(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
  ],
})
