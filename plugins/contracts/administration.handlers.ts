import type * as t from 'io-ts'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import {
  makeCreateContracts,
  makeDeleteContract,
  makeExtendContract,
  makeGetAnyContract,
  makeListAllContracts,
  makeOnAnyAccount,
  makeOnAnyContract,
  makeRevokeContract,
  makeUpdateContract,
} from '../../core/contracts/administration.ts'
import {
  makeBindClusters,
  makeRenameBoundCluster,
  makeRetagBoundCluster,
  makeUnbindCluster,
} from '../../core/contracts/bindings.ts'
import {
  makeGetClusterStatus,
  makeListClusterStatuses,
  makeListContractClusters,
  makeListUnboundClusters,
} from '../../core/contracts/cluster-status.ts'
import {
  DocumentRemovalsPort,
  DocumentScannerPort,
  DocumentStorePort,
  BindingStorePort,
  ContractEventsPort,
  ContractStorePort,
  ContractUnitOfWorkPort,
  LicenseStorePort,
} from '../../core/contracts/ports.ts'
import { makeWithDocument, makeWithUpload, type Upload } from '../../core/contracts/documents.ts'
import { makeListContractEvents, makeListTerms } from '../../core/contracts/contracts.ts'
import type { Effective } from '../../core/contracts/terms.ts'
import { makeListProducts, ProductsPort } from '../../core/contracts/contract-rules.ts'
import { makeListLicenses, makeRevokeLicense } from '../../core/contracts/authorities.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import type { Contract } from '../../core/contracts/types.ts'
import { IdentityStoresPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { MembershipStorePort } from '../../core/organizations/ports.ts'
import { toClusterInfo } from '../clusters/cluster-wire.ts'
import { draftOf } from '../kit/fields.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { contractFields, instantOf } from './contract-fields.ts'
import type { ContractParams } from './terms-codecs.ts'
import {
  bindAnyClusters,
  createContracts,
  deleteContract,
  extendContract,
  getAnyClusterStatus,
  getAnyContract,
  listAllContracts,
  listAnyClusterStatuses,
  listAnyContractAudit,
  listAnyContractClusters,
  listAnyContractTerms,
  listAnyLicenses,
  listAnyUnboundClusters,
  listProducts,
  renameAnyCluster,
  retagAnyCluster,
  revokeContract,
  revokeLicense,
  unbindAnyCluster,
  updateContract,
} from './administration.routes.ts'
import {
  toAdministeredContract,
  toClusterStatus,
  toContractAudit,
  toIssuedLicense,
  toPlans,
  toTermsVersion,
} from './contract-wire.ts'

const uploadOf = ({
  document,
  fileName = '',
}: {
  readonly document?: Uint8Array | undefined
  readonly fileName?: string | undefined
}): Upload | undefined => (document === undefined ? undefined : { bytes: document, fileName })

const effectiveOf = ({
  effectiveFrom,
  reopen = false,
}: Pick<t.TypeOf<typeof ContractParams>, 'effectiveFrom' | 'reopen'>): Effective => ({
  from: effectiveFrom === undefined ? undefined : instantOf(effectiveFrom),
  reopens: reopen,
})

/** The contracts of all accounts, for site admins. */
export const contractAdministrationGroup = defineGroup({
  needs: {
    bindings: BindingStorePort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    contracts: ContractStorePort,
    documents: DocumentStorePort,
    entropy: EntropyPort,
    events: ContractEventsPort,
    identity: IdentityStoresPort,
    licenses: LicenseStorePort,
    log: LogPort,
    memberships: MembershipStorePort,
    products: ProductsPort,
    removals: DocumentRemovalsPort,
    scanner: DocumentScannerPort,
    unitOfWork: ContractUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = {
      ...given,
      users: given.identity.users,
      withUpload: makeWithUpload({ ...given, newRef: () => given.entropy.uuid() }),
    }
    const onAny = makeOnAnyContract(given)
    const onAccount = makeOnAnyAccount(given)
    const statusOfAny = onAccount(makeGetClusterStatus(given))
    const statusesOfAny = onAccount(makeListClusterStatuses(given))
    const shown = (contract: Contract) => toAdministeredContract(contract, given.clock.now())
    return [
      handle(listAllContracts, makeListAllContracts(given), {
        input: ({ query, page }) => ({ owner: query.org, page }),
        reply: shown,
      }),
      handle(createContracts, makeCreateContracts(deps), {
        input: ({ body: { orgOrUser, products, ...terms } }) => ({
          owner: orgOrUser,
          products,
          draft: draftOf(contractFields, terms),
          upload: uploadOf(terms),
        }),
        reply: (created) => created.map(shown),
      }),
      handle(getAnyContract, makeGetAnyContract(given), { input: ({ params }) => params.id, reply: shown }),
      handle(updateContract, makeUpdateContract(deps), {
        input: ({ params, body }) => ({
          id: params.id,
          draft: draftOf(contractFields, body),
          effective: effectiveOf(body),
          upload: uploadOf(body),
        }),
        reply: shown,
      }),
      handle(deleteContract, makeWithDocument(given)(makeDeleteContract(deps)), { input: ({ params }) => params.id }),
      handle(extendContract, makeExtendContract(deps), {
        input: ({ params, body }) => ({
          id: params.id,
          endsAt: instantOf(body.end),
          effective: effectiveOf(body),
        }),
        reply: shown,
      }),
      handle(revokeContract, makeRevokeContract(deps), { input: ({ params }) => params.id }),
      handle(listAnyLicenses, onAny(makeListLicenses(given)), {
        input: ({ params, page }) => ({ ...params, page }),
        reply: toIssuedLicense,
      }),
      handle(revokeLicense, onAny(makeRevokeLicense(deps)), { input: ({ params }) => params }),
      handle(listProducts, makeListProducts(given), { reply: toPlans }),
      handle(getAnyClusterStatus, statusOfAny, {
        input: ({ params, query }) => ({ owner: query.org, cluster: params.clusterID, contractId: query.contract }),
        reply: toClusterStatus,
      }),
      handle(listAnyClusterStatuses, statusesOfAny, {
        input: ({ body, query }) => ({ owner: query.org, clusters: body.clusters, contractId: query.contract }),
        reply: (found) => found.map(toClusterStatus),
      }),
      handle(listAnyContractAudit, onAny(makeListContractEvents(given)), {
        input: ({ params, page }) => ({ ...params, page }),
        reply: toContractAudit,
      }),
      handle(listAnyContractTerms, onAny(makeListTerms(given)), {
        input: ({ params, page }) => ({ ...params, page }),
        reply: toTermsVersion,
      }),
      handle(listAnyContractClusters, onAny(makeListContractClusters(given)), {
        input: ({ params, page }) => ({ ...params, page }),
        reply: toClusterStatus,
      }),
      handle(bindAnyClusters, onAny(makeBindClusters(deps)), {
        input: ({ params, body }) => ({ ...params, clusters: body }),
        reply: (bound) => bound.map(toClusterStatus),
      }),
      handle(listAnyUnboundClusters, onAny(makeListUnboundClusters(given)), {
        input: ({ params }) => params,
        reply: (clusters) => clusters.map((cluster) => toClusterInfo(cluster, given.clock.now())),
      }),
      handle(unbindAnyCluster, onAny(makeUnbindCluster(deps)), {
        input: ({ params: { id, ccID } }) => ({ id, clusterId: ccID }),
      }),
      handle(renameAnyCluster, onAny(makeRenameBoundCluster(deps)), {
        input: ({ params: { id, ccID }, body }) => ({ id, clusterId: ccID, name: body.clusterName }),
      }),
      handle(retagAnyCluster, onAny(makeRetagBoundCluster(deps)), {
        input: ({ params: { id, ccID }, body }) => ({ id, clusterId: ccID, tags: body.tags }),
      }),
    ]
  },
})
