import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import { makeAssignCluster, makeBindClusters, makeRenameBoundCluster, makeRetagBoundCluster, makeUnbindCluster } from '../../core/contracts/bindings.ts'
import { makeGetClusterStatus, makeListClusterStatuses, makeListContractClusters, makeListLicensedClusters, makeListUnboundClusters } from '../../core/contracts/cluster-status.ts'
import { BindingStoreToken, ContractStoreToken, ContractUnitOfWorkToken } from '../../core/contracts/ports.ts'
import type { ContractClusterId, ContractId } from '../../core/contracts/types.ts'
import { IdentityStoresToken } from '../../core/identity/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { toClusterInfo } from '../clusters/cluster-wire.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  assignCluster,
  bindClusters,
  getClusterStatus,
  listClusterStatuses,
  listContractClusters,
  listLicensedClusters,
  listUnboundClusters,
  renameCluster,
  retagCluster,
  unbindCluster,
} from './bindings.routes.ts'
import { toClusterStatus, toLicensedCluster } from './contract-wire.ts'

const keyOf = ({ grant, params }: { readonly grant: AccessGrant; readonly params: { readonly id: ContractId } }) => ({ ownerId: grant.ownerId, id: params.id })
const clusterKeyOf = ({ grant, params }: { readonly grant: AccessGrant; readonly params: { readonly id: ContractId; readonly ccID: ContractClusterId } }) => ({
  ...keyOf({ grant, params }),
  clusterId: params.ccID,
})

/** The clusters that are bound to contracts. */
export const bindingGroup = defineGroup({
  needs: {
    bindings: BindingStoreToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    contracts: ContractStoreToken,
    unitOfWork: ContractUnitOfWorkToken,
    identity: IdentityStoresToken,
  },
  routes: (given) => {
    const deps = { ...given, users: given.identity.users }
    return [
      handle(assignCluster, makeAssignCluster(deps), { input: ({ grant, body }) => ({ ownerId: grant.ownerId, ...body }) }),
      handle(listLicensedClusters, makeListLicensedClusters(given), { input: ({ grant, page }) => ({ ownerId: grant.ownerId, page }), reply: toLicensedCluster }),
      handle(getClusterStatus, makeGetClusterStatus(given), {
        input: ({ grant, params, query }) => ({ ownerId: grant.ownerId, cluster: params.clusterID, contractId: query.contract }),
        reply: toClusterStatus,
      }),
      handle(listClusterStatuses, makeListClusterStatuses(given), {
        input: ({ grant, body, query }) => ({ ownerId: grant.ownerId, clusters: body.clusters, contractId: query.contract }),
        reply: (found) => found.map(toClusterStatus),
      }),
      handle(listContractClusters, makeListContractClusters(given), { input: ({ grant, params, page }) => ({ ...keyOf({ grant, params }), page }), reply: toClusterStatus }),
      handle(bindClusters, makeBindClusters(deps), { input: ({ grant, params, body }) => ({ ...keyOf({ grant, params }), clusters: body }), reply: (bound) => bound.map(toClusterStatus) }),
      handle(listUnboundClusters, makeListUnboundClusters(given), { input: keyOf, reply: (clusters) => clusters.map((cluster) => toClusterInfo(cluster, given.clock.now())) }),
      handle(unbindCluster, makeUnbindCluster(deps), { input: clusterKeyOf }),
      handle(renameCluster, makeRenameBoundCluster(deps), { input: ({ grant, params, body }) => ({ ...clusterKeyOf({ grant, params }), name: body.clusterName }) }),
      handle(retagCluster, makeRetagBoundCluster(deps), { input: ({ grant, params, body }) => ({ ...clusterKeyOf({ grant, params }), tags: body.tags }) }),
    ]
  },
})
