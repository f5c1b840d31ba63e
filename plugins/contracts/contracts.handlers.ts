import { ClusterStorePort } from '../../core/clusters/ports.ts'
import {
  makeAssignCluster,
  makeBindClusters,
  makeRenameBoundCluster,
  makeRetagBoundCluster,
  makeUnbindCluster,
} from '../../core/contracts/bindings.ts'
import {
  makeGetClusterStatus,
  makeListClusterStatuses,
  makeListContractClusters,
  makeListLicensedClusters,
  makeListUnboundClusters,
} from '../../core/contracts/cluster-status.ts'
import {
  makeGetContract,
  makeListContractEvents,
  makeListContracts,
  makeListTerms,
  makeUpdatePreferences,
} from '../../core/contracts/contracts.ts'
import {
  BindingStorePort,
  ContractEventsPort,
  ContractStorePort,
  ContractUnitOfWorkPort,
} from '../../core/contracts/ports.ts'
import type { Contract, ContractClusterId, ContractId } from '../../core/contracts/types.ts'
import { IdentityStoresPort } from '../../core/identity/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import { toClusterInfo } from '../clusters/cluster-wire.ts'
import { objectIdOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { toClusterStatus, toContract, toContractAudit, toLicensedCluster, toTermsVersion } from './contract-wire.ts'
import {
  assignCluster,
  bindClusters,
  getClusterStatus,
  getContract,
  listActiveOfflineContracts,
  listClusterStatuses,
  listContractAudit,
  listContractClusters,
  listContracts,
  listContractsOfCluster,
  listContractsWithoutCluster,
  listContractTerms,
  listLicensedClusters,
  listUnboundClusters,
  renameCluster,
  retagCluster,
  unbindCluster,
  updatePreferences,
} from './contracts.routes.ts'

interface Granted {
  readonly grant: AccessGrant
}
const keyOf = ({ grant }: Granted) => ({ ownerId: grant.ownerId, id: objectIdOf<ContractId>(grant) })
const activeOf = ({ grant, page }: Granted & { readonly page: PageRequest }, offlineOnly: boolean) => ({
  ownerId: grant.ownerId,
  activeOnly: true,
  offlineOnly,
  page,
})

/** The contracts of an account. */
export const contractGroup = defineGroup({
  needs: {
    clock: ClockPort,
    contracts: ContractStorePort,
    events: ContractEventsPort,
    unitOfWork: ContractUnitOfWorkPort,
    identity: IdentityStoresPort,
  },
  routes: (given) => {
    const shown = (contract: Contract) => toContract(contract, given.clock.now())
    const list = makeListContracts(given)
    return [
      handle(listContracts, list, {
        input: ({ grant, page }) => ({ ownerId: grant.ownerId, activeOnly: false, offlineOnly: false, page }),
        reply: shown,
      }),
      handle(listActiveOfflineContracts, list, { input: (asked) => activeOf(asked, true), reply: shown }),
      handle(listContractsOfCluster, list, {
        input: ({ grant, page, params, query }) => ({
          ...activeOf({ grant, page }, query.onlyOffline === true),
          cluster: { uid: params.clusterID.toLowerCase(), bound: 'with' as const },
        }),
        reply: shown,
      }),
      handle(listContractsWithoutCluster, list, {
        input: ({ grant, page, params }) => ({
          ...activeOf({ grant, page }, false),
          cluster: { uid: params.clusterID.toLowerCase(), bound: 'without' as const },
        }),
        reply: shown,
      }),
      handle(getContract, makeGetContract(given), { input: keyOf, reply: shown }),
      handle(updatePreferences, makeUpdatePreferences({ ...given, users: given.identity.users }), {
        input: ({ grant, body }) => ({
          ...keyOf({ grant }),
          bindsNewClusters: body.autoAssignCluster ?? undefined,
          usageAlertClient: body.usageAlertClient ?? undefined,
        }),
        reply: shown,
      }),
      handle(listContractTerms, makeListTerms(given), {
        input: ({ grant, page }) => ({ ...keyOf({ grant }), page }),
        reply: toTermsVersion,
      }),
      handle(listContractAudit, makeListContractEvents(given), {
        input: ({ grant, page }) => ({ ...keyOf({ grant }), page }),
        reply: toContractAudit,
      }),
    ]
  },
})

const contractKeyOf = ({
  grant,
  params,
}: {
  readonly grant: AccessGrant
  readonly params: { readonly id: ContractId }
}) => ({ ownerId: grant.ownerId, id: params.id })
const clusterKeyOf = ({
  grant,
  params,
}: {
  readonly grant: AccessGrant
  readonly params: { readonly id: ContractId; readonly ccID: ContractClusterId }
}) => ({
  ...contractKeyOf({ grant, params }),
  clusterId: params.ccID,
})

/** The clusters that are bound to contracts. */
export const bindingGroup = defineGroup({
  needs: {
    bindings: BindingStorePort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    contracts: ContractStorePort,
    unitOfWork: ContractUnitOfWorkPort,
    identity: IdentityStoresPort,
  },
  routes: (given) => {
    const deps = { ...given, users: given.identity.users }
    return [
      handle(assignCluster, makeAssignCluster(deps), {
        input: ({ grant, body }) => ({ ownerId: grant.ownerId, ...body }),
      }),
      handle(listLicensedClusters, makeListLicensedClusters(given), {
        input: ({ grant, page }) => ({ ownerId: grant.ownerId, page }),
        reply: toLicensedCluster,
      }),
      handle(getClusterStatus, makeGetClusterStatus(given), {
        input: ({ grant, params, query }) => ({
          ownerId: grant.ownerId,
          cluster: params.clusterID,
          contractId: query.contract,
        }),
        reply: toClusterStatus,
      }),
      handle(listClusterStatuses, makeListClusterStatuses(given), {
        input: ({ grant, body, query }) => ({
          ownerId: grant.ownerId,
          clusters: body.clusters,
          contractId: query.contract,
        }),
        reply: (found) => found.map(toClusterStatus),
      }),
      handle(listContractClusters, makeListContractClusters(given), {
        input: ({ grant, params, page }) => ({ ...contractKeyOf({ grant, params }), page }),
        reply: toClusterStatus,
      }),
      handle(bindClusters, makeBindClusters(deps), {
        input: ({ grant, params, body }) => ({ ...contractKeyOf({ grant, params }), clusters: body }),
        reply: (bound) => bound.map(toClusterStatus),
      }),
      handle(listUnboundClusters, makeListUnboundClusters(given), {
        input: contractKeyOf,
        reply: (clusters) => clusters.map((cluster) => toClusterInfo(cluster, given.clock.now())),
      }),
      handle(unbindCluster, makeUnbindCluster(deps), { input: clusterKeyOf }),
      handle(renameCluster, makeRenameBoundCluster(deps), {
        input: ({ grant, params, body }) => ({ ...clusterKeyOf({ grant, params }), name: body.clusterName }),
      }),
      handle(retagCluster, makeRetagBoundCluster(deps), {
        input: ({ grant, params, body }) => ({ ...clusterKeyOf({ grant, params }), tags: body.tags }),
      }),
    ]
  },
})
