import { makeGetContract, makeListContractEvents, makeListContracts, makeUpdatePreferences } from '../../core/contracts/contracts.ts'
import { ContractEventsToken, ContractStoreToken, ContractUnitOfWorkToken } from '../../core/contracts/ports.ts'
import type { Contract, ContractId } from '../../core/contracts/types.ts'
import { IdentityStoresToken } from '../../core/identity/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import { objectIdOf } from '../kit/grant.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { toContract, toContractAudit } from './contract-wire.ts'
import {
  getContract,
  listActiveOfflineContracts,
  listContractAudit,
  listContracts,
  listContractsOfCluster,
  listContractsWithoutCluster,
  updatePreferences,
} from './contracts.routes.ts'

interface Granted {
  readonly grant: AccessGrant
}
const keyOf = ({ grant }: Granted) => ({ ownerId: grant.ownerId, id: objectIdOf<ContractId>(grant) })
const activeOf = ({ grant, page }: Granted & { readonly page: PageRequest }, offlineOnly: boolean) => ({ ownerId: grant.ownerId, activeOnly: true, offlineOnly, page })

/** The contracts of an account. */
export const contractGroup = defineGroup({
  needs: { clock: ClockToken, contracts: ContractStoreToken, events: ContractEventsToken, unitOfWork: ContractUnitOfWorkToken, identity: IdentityStoresToken },
  routes: (given) => {
    const shown = (contract: Contract) => toContract(contract, given.clock.now())
    const list = makeListContracts(given)
    return [
      handle(listContracts, list, { input: ({ grant, page }) => ({ ownerId: grant.ownerId, activeOnly: false, offlineOnly: false, page }), reply: shown }),
      handle(listActiveOfflineContracts, list, { input: (asked) => activeOf(asked, true), reply: shown }),
      handle(listContractsOfCluster, list, {
        input: ({ grant, page, params, query }) => ({ ...activeOf({ grant, page }, query.onlyOffline === true), cluster: { uid: params.clusterID.toLowerCase(), bound: 'with' as const } }),
        reply: shown,
      }),
      handle(listContractsWithoutCluster, list, {
        input: ({ grant, page, params }) => ({ ...activeOf({ grant, page }, false), cluster: { uid: params.clusterID.toLowerCase(), bound: 'without' as const } }),
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
      handle(listContractAudit, makeListContractEvents(given), { input: ({ grant, page }) => ({ ...keyOf({ grant }), page }), reply: toContractAudit }),
    ]
  },
})
